"""Trace -> every GetNext call of every tf.data iterator, and the forest of which call waited for which, across threads.

    find_calls(trace) -> IteratorCalls

Source: semantics 8.1 and 8.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.trace import Bool, Int64, Trace
from .event_graph import nearest_marked

PREFIX = "Iterator:"
GENERATOR = "Iterator::Prefetch::Generator"
"""The iterator through which a device fetches from its host pipeline."""
_VERSION = re.compile(r"V\d+\Z")
_ASYNC_STAGES = ("Prefetch", "ParallelInterleave", "ParallelMap", "MapAndBatch", "ParseExample", "ParallelBatch")
_PRODUCE = tuple(stage + "Produce" for stage in _ASYNC_STAGES)
_CONSUME = tuple(stage + "Consume" for stage in _ASYNC_STAGES)


@dataclass(frozen=True)
class IteratorCalls:
    """All calls as columns of equal length, in trace order."""

    event: Int64
    """Row in the trace."""
    iterator: Int64
    """Which iterator object was called: a number from 0, unique over sessions."""
    parent: Int64
    """The call that waited for this one, an index into these columns; -1 for none. Never a cycle up to 100 levels."""
    is_extra_link: Bool
    """Whether XProf has no link here: see `find_calls`."""
    iterator_key: Int64
    """For each iterator its TensorFlow id (`id` stat)."""
    iterator_parent_key: Int64
    """For each iterator the id of the one that consumes it."""
    has_parent_key: Bool


def find_calls(trace: Trace) -> IteratorCalls:
    """Find the calls and link each to its consumer.

    A call is linked to the iterator call that directly encloses it on its thread, or, when an asynchronous stage made
    it ahead (`...Produce`), to the call in which its element was taken (`...Consume` of the same element).

    Differs from XProf: of a produce event every iterator child is linked, not only the first, so that all the inputs of
    a parallel batch count; a call that an unrelated event separates from its consumer on the same thread is linked by
    its `parent_id`; an element is linked to one consumer. The first two carry `is_extra_link`.
    """
    is_host = np.array([plane.is_host for plane in trace.planes], np.bool_)
    is_name = np.array([text.startswith(PREFIX) for text in trace.strings], np.bool_)
    if not trace.n_events or not is_name.any():
        return _no_calls()
    candidate = is_name[trace.name_id] & is_host[trace.plane_id] & trace.has_stat("id")
    event = np.flatnonzero(candidate)
    if not len(event):
        return _no_calls()
    key = trace.int_stat("id")[event]
    parent_key, has_parent_key = trace.int_stat("parent_id")[event], trace.has_stat("parent_id")[event]
    session = trace.session_id[event].astype(np.int64)
    iterator, n_iterators = dense_codes(session, key)
    parent, is_extra = _link(trace, event, session, key, np.where(has_parent_key, parent_key, 0), has_parent_key)
    first = np.full(n_iterators, len(event), np.int64)
    told = np.flatnonzero(has_parent_key)
    any_call = np.zeros(n_iterators, np.int64)
    any_call[iterator[::-1]] = np.arange(len(event))[::-1]
    np.minimum.at(first, iterator[told], told)
    has_parent = first < len(event)
    return IteratorCalls(
        event=event,
        iterator=iterator,
        parent=parent,
        is_extra_link=is_extra,
        iterator_key=key[any_call],
        iterator_parent_key=np.where(has_parent, parent_key[np.minimum(first, len(event) - 1)], 0),
        has_parent_key=has_parent,
    )


def _no_calls() -> IteratorCalls:
    none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
    return IteratorCalls(none, none, none, no, none, none, no)


def _link(
    trace: Trace, event: Int64, session: Int64, key: Int64, parent_key: Int64, has_parent_key: Bool
) -> tuple[Int64, Bool]:
    """For each call the call that waited for it (-1 for none), and whether XProf would not link them."""
    call_of_event = np.full(trace.n_events + 1, -1, np.int64)  # the last entry answers for row -1
    call_of_event[event] = np.arange(len(event))
    above = trace.nesting.parent.astype(np.int64)
    direct = call_of_event[above[event]]
    has_element = trace.has_stat("element_id")
    is_produce = trace.names_matching(_PRODUCE) & has_element
    # The innermost enclosing event that says who asked: an iterator call or a produce event.
    marked = is_produce.copy()
    marked[event] = True
    enclosing = nearest_marked(above, marked)
    asked_by = np.where(above[event] >= 0, enclosing[above[event]], -1)
    caller = call_of_event[asked_by]
    is_related = (caller >= 0) & has_parent_key & (key[caller] == parent_key)
    parent = np.where(direct >= 0, direct, np.where(is_related, caller, -1))
    is_extra = (direct < 0) & (parent >= 0)

    made = np.flatnonzero(has_parent_key & (asked_by >= 0) & (caller < 0))
    consumer = _consumers(trace, call_of_event, session, key, made, asked_by, parent_key)
    found = consumer >= 0
    parent[made[found]] = consumer[found]
    first_child = np.zeros(len(event), np.bool_)
    first_child[made[np.unique(asked_by[made], return_index=True)[1]]] = True
    is_direct = above[event] == asked_by
    is_extra[made[found]] = ~(first_child & is_direct)[made[found]]
    parent[parent == np.arange(len(event))] = -1
    return parent, is_extra


def _consumers(
    trace: Trace,
    call_of_event: Int64,
    session: Int64,
    key: Int64,
    made: Int64,
    asked_by: Int64,
    parent_key: Int64,
) -> Int64:
    """For each call made ahead, the call in which its element was consumed; -1 when that was not captured.

    The key is (session, the asynchronous iterator's id, element). Where a trace repeats element ids the first
    consumption after the production counts, the last one when there is none.
    """
    element = trace.int_stat("element_id")
    consume = np.flatnonzero(trace.names_matching(_CONSUME) & trace.has_stat("element_id"))
    taker = call_of_event[trace.nesting.parent[consume]]
    consume, taker = consume[taker >= 0], taker[taker >= 0]
    if not len(consume) or not len(made):
        return np.full(len(made), -1, np.int64)
    produce = asked_by[made]
    code, _ = dense_codes(
        np.concatenate([session[made], session[taker]]),
        np.concatenate([parent_key[made], key[taker]]),
        np.concatenate([element[produce], element[consume]]),
    )
    # One sortable number from (key, time), so that a single search finds the first consumption at or after each start.
    times = np.concatenate([trace.start_ps[produce], trace.start_ps[consume]])
    moment = np.unique(times, return_inverse=True)[1].reshape(-1)
    place = code * (len(times) + 1) + moment
    wanted, offered = place[: len(made)], place[len(made) :]
    order = np.argsort(offered, kind="stable")
    at = np.searchsorted(offered[order], wanted, side="left")
    offered_code = code[len(made) :][order]
    after, before = np.minimum(at, len(order) - 1), np.maximum(at - 1, 0)
    wanted_code = code[: len(made)]
    pick = np.where(offered_code[after] == wanted_code, after, before)
    found = offered_code[pick] == wanted_code
    return np.where(found, taker[order][pick], -1)


def dense_codes(*columns: npt.NDArray[np.integer]) -> tuple[Int64, int]:
    """Number the distinct rows of equally long integer columns from 0; also how many there are."""
    code = np.zeros(len(columns[0]), np.int64)
    n = 1 if len(code) else 0
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        code = code * len(values) + inverse.reshape(-1)
        distinct, inverse = np.unique(code, return_inverse=True)
        code, n = inverse.reshape(-1).astype(np.int64), len(distinct)
    return code, n


def children_of(parent: Int64) -> tuple[Int64, Int64]:
    """For a parent column the rows ordered by parent and, for each row, where its children begin in that order."""
    order = np.argsort(parent, kind="stable")
    offsets = np.searchsorted(parent[order], np.arange(len(parent) + 1)).astype(np.int64)
    return order, offsets


def rows_below(order: Int64, offsets: Int64, rows: Int64) -> Int64:
    """The children of some rows, given what `children_of` returned."""
    n = offsets[rows + 1] - offsets[rows]
    within = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
    below: Int64 = order[np.repeat(offsets[rows], n) + within]
    return below


def short_name(long_name: str) -> str:
    """The text after the last `::`, without an index: `Iterator::Root::FlatMap[3]` is a `FlatMap`."""
    return long_name.rsplit("::", 1)[-1].split("[", 1)[0]


def base_name(name: str) -> str:
    """A short name without its version: `ParallelMapV2` is a `ParallelMap`."""
    return _VERSION.sub("", name)


def is_root_name(long_name: str) -> bool:
    """Whether it names the outermost iterator of a pipeline: `Iterator::X`."""
    return long_name.startswith("Iterator::") and len(long_name.split("::")) == 2
