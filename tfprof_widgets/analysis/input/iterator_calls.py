"""Trace -> every GetNext call of every tf.data iterator, and the forest of which call waited for which, across threads.

Source: semantics 8.1 and 8.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.event_graph import nearest_marked
from ..base.event_names import by_name
from ..base.iterator_names import ASYNC_STAGES
from ..base.matching import dense_codes, match_in_time

PREFIX = "Iterator:"
GENERATOR = "Iterator::Prefetch::Generator"
"""The iterator through which a device fetches from its host pipeline."""
MAKES_ITERATOR = ("MakeIterator::RootDataset", "EagerLocalExecute: MakeIterator")
"""Events that begin an epoch: a new iterator object for a dataset."""
PRODUCE = tuple(stage + "Produce" for stage in ASYNC_STAGES)
"""Events in which an asynchronous stage makes an element ahead."""
CONSUME = tuple(stage + "Consume" for stage in ASYNC_STAGES)
"""Events in which its consumer takes it."""
FILE_READERS = ("TFRecord", "TextLine", "FixedLengthRecord", "SSTable", "RecordIO", "ArrayRecord")


@dataclass(frozen=True)
class IteratorCalls:
    """All calls as columns of equal length, in trace order."""

    event: Int64
    """Row in the trace."""
    iterator: Int64
    """Which iterator object was called: a number from 0, unique over sessions."""
    is_root: Bool
    """Whether it is a call of the outermost iterator of a pipeline."""
    parent: Int64
    """The call that waited for this one, an index into these columns; -1 for none."""
    is_extra_link: Bool
    """Whether XProf has no link here: see `find_calls`."""
    relative: Int64
    """A call of the iterator that consumes this one's: the parent, else the one nearest in time; -1 for none."""


@dataclass(frozen=True)
class _Columns:
    """What the events say, one entry per call."""

    event: Int64
    session: Int64
    start_ps: Int64
    key: Int64
    parent_key: Int64
    has_parent_key: Bool


def find_calls(trace: Trace) -> IteratorCalls:
    """Find the calls and link each to its consumer.

    A call is linked to the iterator call that directly encloses it on its thread, or, when an asynchronous stage made
    it ahead (`...Produce`), to the call in which its element was taken (`...Consume` of the same element).

    Differs from XProf: of a produce event every iterator child is linked, not only the first, so that all the inputs of
    a parallel batch count; a call that an unrelated event separates from its consumer on the same thread is linked by
    its `parent_id`; a call whose element nobody took is linked to the consumer's call that was going on when it ended; an
    element is linked to one consumer. The first three carry `is_extra_link`.
    """
    is_host = trace.on_planes([plane.is_host for plane in trace.planes])
    event = np.flatnonzero(is_host & trace.has_stat("id"))
    is_name = by_name(trace, lambda names: [name.startswith(PREFIX) for name in names], np.bool_, among=event)
    event = event[is_name[trace.name_id[event]]]
    columns = _Columns(
        event=event,
        session=trace.session_id[event].astype(np.int64),
        start_ps=trace.start_ps[event],
        key=trace.int_stat("id")[event],
        parent_key=trace.int_stat("parent_id")[event],
        has_parent_key=trace.has_stat("parent_id")[event],
    )
    parent, is_extra = _link(trace, columns)
    is_root = by_name(trace, lambda names: [is_root_name(name) for name in names], np.bool_, among=event)
    is_root = is_root[trace.name_id[event]]
    epoch = np.where(is_root, _epochs(trace, columns), 0)
    return IteratorCalls(
        event=event,
        iterator=dense_codes(columns.session, columns.key, epoch)[0],
        is_root=is_root,
        parent=parent,
        is_extra_link=is_extra,
        relative=np.where(is_root, -1, _relatives(columns, parent)),
    )


def _epochs(trace: Trace, calls: _Columns) -> Int64:
    """How many iterators had been made in the session before each call.

    An iterator's id is a hash of its address, and the iterator of the next epoch is often made at the address of the
    last one: the id alone would take two epochs, or training and evaluation, for one.
    """
    epoch, made = np.zeros(len(calls.event), np.int64), np.flatnonzero(trace.names_matching(MAKES_ITERATOR))
    for session in np.unique(trace.session_id[made]).tolist():  # one turn per session
        own = np.sort(trace.start_ps[made[trace.session_id[made] == session]])
        rows = np.flatnonzero(calls.session == session)
        epoch[rows] = np.searchsorted(own, calls.start_ps[rows], side="right")
    return epoch


def _relatives(calls: _Columns, parent: Int64) -> Int64:
    lone = np.flatnonzero((parent < 0) & calls.has_parent_key)
    relative = parent.copy()
    relative[lone] = match_in_time(
        (calls.session[lone], calls.parent_key[lone]),
        calls.start_ps[lone],
        (calls.session, calls.key),
        calls.start_ps,
        prefers_later=False,
    )
    relative[relative == np.arange(len(relative))] = -1
    return relative


def _link(trace: Trace, calls: _Columns) -> tuple[Int64, Bool]:
    """For each call the call that waited for it (-1 for none), and whether XProf would not link them."""
    event, n = calls.event, len(calls.event)
    call_of_event = np.full(trace.n_events + 1, -1, np.int64)  # the last entry answers for row -1
    call_of_event[event] = np.arange(n)
    above = trace.nesting.parent
    direct = call_of_event[above[event]]
    # The innermost enclosing event that says who asked: an iterator call or a produce event.
    marked = trace.names_matching(PRODUCE) & trace.has_stat("element_id")
    marked[event] = True
    enclosing = np.append(nearest_marked(above, marked), -1)
    asked_by = enclosing[above[event]]
    caller = call_of_event[asked_by]
    is_related = (caller >= 0) & calls.has_parent_key & (calls.key[caller] == calls.parent_key)
    parent = np.where(direct >= 0, direct, np.where(is_related, caller, -1))
    is_extra = (direct < 0) & (parent >= 0)

    made = np.flatnonzero(calls.has_parent_key & (asked_by >= 0) & (caller < 0))
    first_child = np.zeros(n, np.bool_)
    first_child[made[np.unique(asked_by[made], return_index=True)[1]]] = True
    consumer = _consumers(trace, calls, call_of_event, made, asked_by[made])
    waiting = np.where(consumer < 0, _waiting(trace, calls, made, asked_by[made]), -1)
    parent[made] = np.where(consumer >= 0, consumer, np.where(waiting >= 0, waiting, parent[made]))
    is_extra[made] = (waiting >= 0) | ((consumer >= 0) & ~(first_child & (above[event] == asked_by))[made])
    parent[parent == np.arange(n)] = -1
    return parent, is_extra


def _consumers(trace: Trace, calls: _Columns, call_of_event: Int64, made: Int64, produce: Int64) -> Int64:
    """For each call made ahead, the call in which its element was consumed; -1 when that was not captured.

    The key is (session, the asynchronous iterator's id, element). Where a trace repeats element ids the first
    consumption after the production counts, the last one when there is none.
    """
    element = trace.int_stat("element_id")
    consume = np.flatnonzero(trace.names_matching(CONSUME) & trace.has_stat("element_id"))
    taker = call_of_event[trace.nesting.parent[consume]]
    consume, taker = consume[taker >= 0], taker[taker >= 0]
    found = match_in_time(
        (calls.session[made], calls.parent_key[made], element[produce]),
        trace.start_ps[produce],
        (calls.session[taker], calls.key[taker], element[consume]),
        trace.start_ps[consume],
        prefers_later=True,
    )
    return np.append(taker, -1)[found]


def _waiting(trace: Trace, calls: _Columns, made: Int64, produce: Int64) -> Int64:
    """For each call made ahead the consumer's call that was going on when it ended, -1 for none.

    That is who waited for the call that finds the end of the data: it makes no element for anybody to take.
    """
    ended = trace.ends(produce)
    found = match_in_time(
        (calls.session[made], calls.parent_key[made]),
        ended,
        (calls.session, calls.key),
        calls.start_ps,
        prefers_later=False,
    )
    is_going_on = (found >= 0) & (calls.start_ps[found] <= ended) & (trace.ends(calls.event[found]) >= ended)
    return np.where(is_going_on, found, -1)


def short_name(long_name: str) -> str:
    """The text after the last `::`, without an index: `Iterator::Root::FlatMap[3]` is a `FlatMap`."""
    return long_name.rsplit("::", 1)[-1].split("[", 1)[0]


def is_root_name(long_name: str) -> bool:
    """Whether it names the outermost iterator of a pipeline: `Iterator::X`."""
    return long_name.startswith("Iterator::") and len(long_name.split("::")) == 2
