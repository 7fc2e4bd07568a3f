"""Trace -> the graph of what made what: nesting within a line plus links across threads and devices.

Source: semantics 2.3. XProf 2.24.2 also adds an event `ThreadpoolListener::Region` per piece of thread-pool work
(semantics 2.2), but without its context, so that it leads nowhere; those are not made here. Of XLA's programs on a CPU the
pieces are linked all the same, see `program_calls.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ...trace.nesting import nest
from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int32, Int64, StatKind, Trace
from .event_names import by_ends, once
from .host_events import GET_NEXT, KNOWN_HOST_EVENTS
from .matching import distinct, same_key
from .op_names import OpCategory, OpNames
from .program_calls import pool_links

Integers = TypeVar("Integers", Int32, Int64)

_CROWD = 64
"""A context with this many producers and this many consumers links nothing (semantics 2.3)."""


@dataclass(frozen=True)
class EventGraph:
    """A forest of enclosing events plus links; nodes are the events of the trace."""

    up: Int32
    """For each event the innermost event of its line that includes it, -1 for none. Both ends inclusive, as in XProf."""
    link_from: Int64
    link_to: Int64
    """Links across lines: event `link_from[k]` makes event `link_to[k]`."""

    def reach(self, seeds: Int64, labels: Int64, *, nearest: bool) -> Int32:
        """Label every event that a seed leads to.

        Args:
            seeds: events, unique.
            labels: one label >= 0 per seed, below 2**31.
            nearest: keep the label of the nearest seed; otherwise the smallest label of all seeds that lead there.

        Returns:
            One label per event, -1 where no seed leads; a seed's own label is its own.
        """
        n_nodes = len(self.up)
        is_entry = np.zeros(n_nodes, np.bool_)
        is_entry[seeds] = True
        is_entry[self.link_to] = True
        anchor = nearest_marked(self.up, is_entry)
        entries = np.flatnonzero(is_entry)
        above = np.where(self.up[entries] >= 0, anchor[self.up[entries]], -1)
        source = np.concatenate([above, anchor[self.link_from]])
        target = np.concatenate([entries, self.link_to])
        known = source >= 0
        label = np.full(n_nodes + 1, -1, np.int32)
        label[seeds] = labels
        _spread(label, seeds, source[known], target[known], nearest=nearest)
        reached: Int32 = label[anchor]
        return reached


def _spread(label: Int32, seeds: Int64, source: Int64, target: Int64, *, nearest: bool) -> None:
    """Carry labels along edges until nothing changes. One round is one hop between threads; each edge is used a few times."""
    order = np.argsort(source, kind="stable")
    source, target = source[order], target[order]
    front = distinct(seeds)  # ascending, so that the search stays in cache
    while len(front):
        low = np.searchsorted(source, front)
        count = np.searchsorted(source, front, side="right") - low
        reached, new = target[ranges(low, count)], np.repeat(label[front], count)
        better = label[reached] < 0 if nearest else (label[reached] < 0) | (new < label[reached])
        reached, new = reached[better], new[better]
        # Written in falling order of the label, so that of several the smallest stays.
        falling = np.argsort(-new, kind="stable")
        label[reached[falling]] = new[falling]
        front = distinct(reached)


def nearest_marked(up: Integers, marked: Bool) -> Integers:
    """For each node of a forest itself or its nearest ancestor that is marked, -1 for none, by doubling jumps."""
    at = np.where(marked, np.arange(len(up), dtype=up.dtype), up)
    moving = np.flatnonzero((at >= 0) & ~marked[at])
    while len(moving):
        reached = at[at[moving]]
        at[moving] = reached
        moving = moving[(reached >= 0) & ~marked[reached]]
    return at


def build_graph(trace: Trace) -> EventGraph:
    """Connect all events of a trace: nesting, producer/consumer contexts and kernel launches."""
    made, used, key = context_ends(trace)
    left, right = _join(key[: len(made)], key[len(made) :])
    links = [(made[left], used[right]), *_fetch_links(trace), launch_links(trace), pool_links(trace)]
    return EventGraph(
        up=_enclosing(trace),
        link_from=np.concatenate([a for a, _ in links]),
        link_to=np.concatenate([b for _, b in links]),
    )


def _enclosing(trace: Trace) -> Int32:
    """For each event the innermost earlier event of its line that includes it, both ends inclusive; -1 for none.

    Events with `_a` (asynchronous) neither enclose nor are enclosed.
    """
    is_async = trace.int_stat("_a") != 0 if "_a" in trace.string_ids else np.zeros(trace.n_events, np.bool_)
    if not is_async.any():
        return _touching(trace.nesting.parent, trace.line_id, trace.start_ps, trace.duration_ps)
    rows = np.flatnonzero(~is_async)
    line, start, duration = trace.line_id[rows], trace.start_ps[rows], trace.duration_ps[rows]
    inner = _touching(nest(line, start, duration).parent, line, start, duration)
    parent = np.full(trace.n_events, -1, np.int32)
    parent[rows] = np.where(inner >= 0, rows[inner], -1)
    return parent


def _touching(parent: Int32, line: Int32, start: Int64, duration: Int64) -> Int32:
    """Move zero-length events that lie exactly on the end of an earlier one into it: `Nesting` is half-open, XProf is not."""
    result = parent.copy()
    moving = np.flatnonzero(duration[1:] == 0) + 1
    moving = moving[line[moving - 1] == line[moving]]
    at = moving - 1
    while len(moving):
        outside = start[at] + duration[at] < start[moving]
        result[moving[~outside]] = at[~outside]
        moving, at = moving[outside], parent[at[outside]]
        result[moving[at < 0]] = -1
        moving, at = moving[at >= 0], at[at >= 0]
    return result


def context_ends(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """Events that produce (`_pt`, `_p`), events that consume (`_ct`, `_c`), and a key of those, then of these.

    Of equal key are those of the same context within a session and process.
    """
    pid = np.array([_process_id(trace, plane) for plane in range(len(trace.planes))], np.int64)
    made = np.flatnonzero(trace.has_stat("_p") & trace.has_stat("_pt"))
    used = np.flatnonzero(trace.has_stat("_c") & trace.has_stat("_ct"))
    both = np.concatenate([made, used])
    own_pid = pid[trace.plane_id[both]]
    used_pid = int_stat_at(trace, "_pid", used, default=own_pid[len(made) :])
    key = same_key(
        np.concatenate([int_stat_at(trace, "_p", made), int_stat_at(trace, "_c", used)]),
        trace.session_id[both],
        np.concatenate([int_stat_at(trace, "_pt", made), int_stat_at(trace, "_ct", used)]),
        np.concatenate([own_pid[: len(made)], used_pid]),
    )
    return made, used, key


def int_stat_at(trace: Trace, key: str, events: Int64, *, default: Int64 | int = 0) -> Int64:
    """`Trace.int_stat` of some events alone, which spares a column as long as the trace; `default` where it is missing."""
    found = trace.keyed_stats(key)
    event, value = found.event, found.bits.view(np.int64)
    is_whole = (found.kind == StatKind.INT64) | (found.kind == StatKind.UINT64)
    if not is_whole.all():
        event, value = event[is_whole], value[is_whole]
    if not len(event):
        return np.zeros(len(events), np.int64) + default
    if np.array_equal(event, events):
        return value
    at = np.maximum(np.searchsorted(event, events, side="right") - 1, 0)  # of several of one event the last
    return np.where(event[at] == events, value[at], default)


def _process_id(trace: Trace, plane: int) -> int:
    value = trace.planes[plane].stats.get("process_id", 0)
    # An unsigned one beyond an int64 wraps, as it does in the stats of events.
    return (value + 2**63) % 2**64 - 2**63 if isinstance(value, int) else 0


def _fetch_links(trace: Trace) -> list[tuple[Int64, Int64]]:
    """`ExecutorState::Process` to the iterator kernel it runs; of equal keys the last parent wins."""
    links = []
    process = np.flatnonzero(trace.names_matching(["ExecutorState::Process"]))
    made = [int_stat_at(trace, key, process) for key in ("id", "iter_num")]
    for name in GET_NEXT:
        fetch = np.flatnonzero(trace.names_matching([name]))
        both = np.concatenate([process, fetch])
        id_, number = (
            np.concatenate([own, int_stat_at(trace, key, fetch)])
            for own, key in zip(made, ("id", "iter_num"), strict=True)
        )
        key = same_key(id_, trace.session_id[both], number)
        links.append(_last_parent(process, fetch, key))
    return links


@once
def launch_links(trace: Trace) -> tuple[Int64, Int64]:
    """Kernel launches to the kernels they enqueue, by `correlation_id`; of equal keys the last launch wins."""
    on_device = np.array([plane.is_device for plane in trace.planes], np.bool_)
    rows = distinct(trace.keyed_stats("correlation_id").event)
    rows = rows[~_recognised(trace)[trace.name_id[rows]]] if len(rows) else rows
    device = on_device[trace.plane_id[rows]]
    launch, kernel = rows[~device], rows[device]
    both = np.concatenate([launch, kernel])
    key = same_key(trace.int_stat("correlation_id")[both], trace.session_id[both])
    return _last_parent(launch, kernel, key)


@once
def _recognised(trace: Trace) -> Bool:
    """Whether each name means something else than a kernel launch or a kernel (semantics 1.5, 1.2.5), for those of events."""

    def known(names: list[str], parsed: OpNames) -> Bool:
        listed = np.array([name in KNOWN_HOST_EVENTS for name in names], np.bool_)
        return np.logical_or(listed, np.isin(parsed.category, (OpCategory.TENSORFLOW, OpCategory.TFDATA)))

    return by_ends(trace, known, np.bool_)


def _last_parent(parents: Int64, children: Int64, key: Int64) -> tuple[Int64, Int64]:
    own, theirs = key[: len(parents)], key[len(parents) :]
    order = np.argsort(own, kind="stable")
    last = np.append(own[order][1:] != own[order][:-1], True)[: len(order)]
    left, right = _join(own[order[last]], theirs)
    parents = parents[order[last]]
    return parents[left], children[right]


def _join(left: Int64, right: Int64) -> tuple[Int64, Int64]:
    """All pairs of rows of equal key (small integers), except those of keys crowded on both sides."""
    n_keys = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    n_left, n_right = np.bincount(left, minlength=n_keys), np.bincount(right, minlength=n_keys)
    first = np.cumsum(n_left) - n_left
    crowded = (n_left >= _CROWD) & (n_right >= _CROWD)
    count = np.where(crowded, 0, n_left)[right]
    pairs = ranges(first[right], count)
    return np.argsort(left, kind="stable")[pairs], np.repeat(np.arange(len(right)), count)
