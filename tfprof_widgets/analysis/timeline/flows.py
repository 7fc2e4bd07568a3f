"""Trace -> which event made which other event start: `Flows`, what the timeline draws as arrows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.stat_shapes import ranges
from ...trace.trace import Int32, Int64, StatKind, Trace, UInt8
from ..base.event_graph import context_ends, int_stat_at, launch_links, nearest_marked
from ..base.event_names import by_ends, by_name
from ..base.matching import dense_codes, match_in_time, unique_codes
from ..base.units import PS_PER_NS
from ..columns.registry import TABLES
from ..input.iterator_calls import CONSUME, PRODUCE

KINDS = ("launch", "producer", "pool", "tf_data", "send_recv")
"""What a flow's `kind` counts: the host enqueued a kernel or a copy, and the device ran it (by `correlation_id`); a call of
the runtime handed work on (`_p` to `_c`), as when an executor schedules ops; a thread pool was given work, and one of its
threads ran it; a stage of tf.data made an element, and its consumer took it; one device sent a tensor, and another got it."""

FLOWS_COLUMNS = TABLES["flows"].names

_LAUNCH, _PRODUCER, _POOL, _TF_DATA, _SEND_RECV = range(len(KINDS))
_POOL_CONTEXT = 15
"""`ThreadpoolEvent` among the types of contexts. Source: semantics 2.3."""
_ID_PREFIXES = ("_send_", "_recv_")
"""Of the two nodes that carry one tensor between graphs; their names are otherwise equal."""

_FEW_LEVELS = 32
"""Up to which a walk from level to level is quicker than a look at all events."""

Links = tuple[Int64, Int64]


@dataclass(frozen=True, eq=False, repr=False)
class Flows:
    """All flows of a trace, by `from_event`, then `to_event`; columns of equal length. None is left out.

    Differs from XProf: where several events produce and several consume in one context, its id was used again (a function
    that ran in each step), and each consumer has one flow, from the producer before it; XProf links all with all.
    """

    from_event: Int32
    """Row in the trace of the event that made the other start."""
    to_event: Int32
    kind: UInt8
    """Index into `KINDS`."""

    def __repr__(self) -> str:
        counts = np.bincount(self.kind, minlength=len(KINDS))
        return f"Flows({', '.join(f'{n} {kind}' for kind, n in zip(KINDS, counts.tolist(), strict=True))})"


def compute_flows(trace: Trace) -> Flows:
    """Find what made what start, within each session of each host: ids mean nothing beyond it."""
    producers, pools = _context_flows(trace)
    found: list[tuple[int, Links]] = [
        (_LAUNCH, launch_links(trace)),
        (_PRODUCER, producers),
        (_PRODUCER, told_links(trace)),
        (_POOL, pools),
        (_TF_DATA, _element_flows(trace)),
        (_SEND_RECV, _tensor_flows(trace)),
    ]
    # Rows fit 32 bits, and captures have a flow for every few events.
    source, target = (np.concatenate([links[end] for _, links in found]).astype(np.int32) for end in (0, 1))
    kind = np.repeat(np.array([one for one, _ in found], np.uint8), [len(links[0]) for _, links in found])
    order = np.argsort(source.astype(np.int64) << 32 | target, kind="stable")
    order = order[source[order] != target[order]]
    return Flows(from_event=source[order], to_event=target[order], kind=kind[order])


def flow_table(trace: Trace, flows: Flows) -> pd.DataFrame:
    """Flows as a table.

    Returns:
        One row per flow: categorical `kind` (one of `KINDS`), `from_event` and `to_event` (rows of `events`), `from_name`
        and `to_name` (categorical), `delay_ns` from the end of the one to the start of the other; negative where the other
        began before.
    """
    delay_ps = trace.start_ps[flows.to_event] - trace.ends(flows.from_event)
    return pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(flows.kind.astype(np.int8), categories=pd.Index(KINDS, dtype=object)),
            "from_event": flows.from_event.astype(np.int64),
            "to_event": flows.to_event.astype(np.int64),
            "from_name": _names(trace, flows.from_event),
            "to_name": _names(trace, flows.to_event),
            "delay_ns": delay_ps / PS_PER_NS,
        }
    )


def _names(trace: Trace, events: Int32) -> pd.Categorical:
    used, codes = unique_codes(trace.name_id[events])
    labels = pd.Index([trace.strings[i] for i in used.tolist()], dtype=object)
    return pd.Categorical.from_codes(codes, categories=labels)


def _context_flows(trace: Trace) -> tuple[Links, Links]:
    """Producers to consumers of the same context: those of the runtime, and those of thread pools."""
    made, used, key = context_ends(trace)
    source, target = _pairs(trace, made, used, key)
    of_pool = np.zeros(trace.n_events, np.bool_)
    of_pool[made] = int_stat_at(trace, "_pt", made) == _POOL_CONTEXT
    is_pool = of_pool[source]
    return (source[~is_pool], target[~is_pool]), (source[is_pool], target[is_pool])


def told_links(trace: Trace) -> Links:
    """Arrows that a reader found in a file: `flow_out` of an event is among the numbers in `flow_in` of the other.

    Their ids are unique in all that may be merged to one trace, so that tensors are followed from task to task.
    """
    made, taken = trace.keyed_stats("flow_out"), trace.keyed_stats("flow_in")
    if not len(made.event) or not len(taken.event):
        none = np.empty(0, np.int64)
        return none, none
    texts, place = np.unique(taken.bits[taken.kind == StatKind.STRING], return_inverse=True)
    ids = [_numbers(trace.strings[int(text)]) for text in texts.tolist()]  # one turn per distinct text
    count = np.array([len(one) for one in ids], np.int64)
    target = np.repeat(taken.event[taken.kind == StatKind.STRING], count[place])
    wanted = np.concatenate([np.empty(0, np.int64), *(ids[i] for i in place.tolist())])
    order = np.argsort(made.bits.view(np.int64), kind="stable")
    known = made.bits.view(np.int64)[order]
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    is_known = known[at] == wanted
    return made.event[order[at[is_known]]].astype(np.int64), target[is_known].astype(np.int64)


def _numbers(text: str) -> Int64:
    return np.array([int(one) for one in text.split() if one.isdecimal() and len(one) < 19], np.int64)


def _pairs(trace: Trace, made: Int64, used: Int64, key: Int64) -> Links:
    """All pairs of equal key, but where several are on both sides the last producer before each consumer, else the first.

    Args:
        trace: the trace.
        made: events that produce.
        used: events that consume.
        key: of `made`, then of `used`.
    """
    own, theirs = key[: len(made)], key[len(made) :]
    n_keys = int(key.max(initial=-1)) + 1
    n_made, n_used = np.bincount(own, minlength=n_keys), np.bincount(theirs, minlength=n_keys)
    is_reused = (n_made > 1) & (n_used > 1)
    order = np.argsort(own, kind="stable")
    first = np.cumsum(n_made) - n_made
    count = np.where(is_reused, 0, n_made)[theirs]
    source = made[order[ranges(first[theirs], count)]]
    target = np.repeat(used, count)
    own_again, their_again = np.flatnonzero(is_reused[own]), np.flatnonzero(is_reused[theirs])
    nearest = match_in_time(
        (theirs[their_again],),
        trace.start_ps[used[their_again]],
        (own[own_again],),
        trace.start_ps[made[own_again]],
        prefers_later=False,
    )
    return np.append(source, made[own_again[nearest]]), np.append(target, used[their_again])


def _element_flows(trace: Trace) -> Links:
    """From where a stage of tf.data made an element (`...Produce`) to where that element was taken (`...Consume`).

    Source: semantics 8.2. The key is (session, the stage's id, element): the stage is the parent of the iterator called
    inside the produce event, and the iterator around the consume event.
    """
    none = np.empty(0, np.int64)
    if "element_id" not in trace.string_ids:
        return none, none
    numbered = np.flatnonzero(trace.has_stat("element_id"))
    made, taken = (_named(trace, numbered, names) for names in (PRODUCE, CONSUME))
    if not len(made) or not len(taken):
        return none, none
    made, made_stage = _producing_stages(trace, made)
    taker = trace.nesting.parent[taken].astype(np.int64)
    inside = (taker >= 0) & trace.has_stat("id")[taker]
    taken, taker = taken[inside], taker[inside]
    session = trace.session_id
    found = match_in_time(
        (session[made].astype(np.int64), made_stage, int_stat_at(trace, "element_id", made)),
        trace.start_ps[made],
        (session[taken].astype(np.int64), int_stat_at(trace, "id", taker), int_stat_at(trace, "element_id", taken)),
        trace.start_ps[taken],
        prefers_later=True,
    )
    return made[found >= 0], taken[found[found >= 0]]


def _named(trace: Trace, events: Int64, names: Sequence[str]) -> Int64:
    """Those of some events that have one of some names."""
    wanted = np.zeros(len(trace.strings), np.bool_)
    wanted[[trace.string_ids[name] for name in names if name in trace.string_ids]] = True
    return events[wanted[trace.name_id[events]]]


def _producing_stages(trace: Trace, made: Int64) -> Links:
    """The produce events inside which an iterator was called, and the `parent_id` of the first one called."""
    above = trace.nesting.parent
    is_made = np.zeros(trace.n_events, np.bool_)
    is_made[made] = True
    called = np.flatnonzero(trace.has_stat("parent_id"))
    produce = above[called]
    for _ in range(_FEW_LEVELS):
        is_between = (produce >= 0) & ~is_made[produce]
        if not is_between.any():
            break
        produce[is_between] = above[produce[is_between]]
    else:  # deeper than programs nest
        produce = np.where(produce >= 0, nearest_marked(above, is_made)[produce], -1)
    called, produce = called[produce >= 0], produce[produce >= 0]
    unique, first = np.unique(produce, return_index=True)
    return unique.astype(np.int64), int_stat_at(trace, "parent_id", called[first])


def _tensor_flows(trace: Trace) -> Links:
    """From the op that sent a tensor to the op that received it.

    The two have the ops at both ends (`from`, `to`) in common, or, where a graph is fed and fetched, their name but for a
    prefix. Where both ran equally often the first belongs to the first, and so on; else those next to each other in time.
    """
    is_send = _ends_with(trace, ("Send", "HostSend"))
    is_receive = _ends_with(trace, ("Recv", "HostRecv"))
    sent, received = np.flatnonzero(is_send[trace.name_id]), np.flatnonzero(is_receive[trace.name_id])
    none = np.empty(0, np.int64)
    if not len(sent) or not len(received):
        return none, none
    both = np.concatenate([sent, received])
    start, end = (trace.string_stat(key)[both].astype(np.int64) for key in ("from", "to"))
    has_ends = (start >= 0) & (end >= 0)
    name = by_name(trace, _tensor_codes, np.int64, among=both)[trace.name_id[both]]
    key, n = dense_codes(
        trace.session_id[both].astype(np.int64),
        np.where(has_ends, start, name),
        np.where(has_ends, end, -1),
    )
    return _in_turn(trace, sent, received, key, n)


def _ends_with(trace: Trace, types: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """For each string whether it is the name of an op of one of these types."""
    endings = tuple(f":{mark}{kind}" for kind in types for mark in ("_", ""))
    return by_ends(trace, lambda names, _: [name.endswith(endings) for name in names], np.bool_)


def _tensor_codes(names: list[str]) -> Int64:
    """A number per name, equal where the names differ only in which end of the tensor they are."""
    codes: dict[str, int] = {}
    found = []
    for name in names:  # one turn per distinct name
        text = name.rsplit(":", 1)[0]
        for prefix in _ID_PREFIXES:
            text = text.removeprefix(prefix)
        found.append(codes.setdefault(text, len(codes)))
    return np.array(found, np.int64)


def _in_turn(trace: Trace, sent: Int64, received: Int64, key: Int64, n_keys: int) -> Links:
    own, theirs = key[: len(sent)], key[len(sent) :]
    is_even = np.bincount(own, minlength=n_keys) == np.bincount(theirs, minlength=n_keys)
    left, right = (_by_key_and_time(trace, rows, of, is_even) for rows, of in ((sent, own), (received, theirs)))
    odd_sent, odd_received = np.flatnonzero(~is_even[own]), np.flatnonzero(~is_even[theirs])
    found = match_in_time(
        (theirs[odd_received],),
        trace.ends(received[odd_received]),
        (own[odd_sent],),
        trace.start_ps[sent[odd_sent]],
        prefers_later=False,
    )
    matched = found >= 0
    return (
        np.append(left, sent[odd_sent[found[matched]]]),
        np.append(right, received[odd_received[matched]]),
    )


def _by_key_and_time(trace: Trace, rows: Int64, key: Int64, is_kept: npt.NDArray[np.bool_]) -> Int64:
    kept = is_kept[key]
    rows, key = rows[kept], key[kept]
    ordered: Int64 = rows[np.lexsort((trace.start_ps[rows], key))]
    return ordered
