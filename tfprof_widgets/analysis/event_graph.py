"""Trace -> the graph of what made what: nesting within a line plus links across threads and devices.

    build_graph(trace) -> EventGraph
    graph.reach(seeds, labels) -> label of every event that a seed leads to

Source: semantics 2.3. XProf 2.24.2 also adds an event `ThreadpoolListener::Region` per piece of thread-pool work (2.2), but
without its context, so that it leads nowhere; those are not made here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.nesting import nest
from ..store.trace import Bool, Int32, Int64, Trace
from .event_names import by_name
from .host_events import GET_NEXT, KNOWN_HOST_EVENTS
from .ops.op_names import OpCategory, parse_op_names

_CROWD = 64
"""A context with this many producers and this many consumers links nothing (semantics 2.3)."""


@dataclass(frozen=True)
class EventGraph:
    """A forest of enclosing events plus links; nodes are the events of the trace."""

    up: Int64
    """For each event the innermost event of its line that includes it, -1 for none. Both ends inclusive, as in XProf."""
    link_from: Int64
    link_to: Int64
    """Links across lines: event `link_from[k]` makes event `link_to[k]`."""

    def reach(self, seeds: Int64, labels: Int64, *, nearest: bool) -> Int64:
        """Label every event that a seed leads to.

        Args:
            seeds: events, unique.
            labels: one label >= 0 per seed.
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
        label = np.full(n_nodes + 1, -1, np.int64)
        label[seeds] = labels
        _spread(label, seeds, source[known], target[known], nearest=nearest)
        return label[anchor]


def _spread(label: Int64, seeds: Int64, source: Int64, target: Int64, *, nearest: bool) -> None:
    """Carry labels along edges until nothing changes. One round is one hop between threads; each edge is used a few times."""
    order = np.argsort(source, kind="stable")
    target = target[order]
    offsets = np.append(0, np.cumsum(np.bincount(source, minlength=len(label))))
    front = seeds
    while len(front):
        low, count = offsets[front], offsets[front + 1] - offsets[front]
        edges = np.repeat(low - (np.cumsum(count) - count), count) + np.arange(count.sum())
        reached, new = target[edges], np.repeat(label[front], count)
        better = label[reached] < 0 if nearest else (label[reached] < 0) | (new < label[reached])
        reached, new = reached[better], new[better]
        # Written in falling order of the label, so that of several the smallest stays.
        falling = np.argsort(-new, kind="stable")
        label[reached[falling]] = new[falling]
        front = np.unique(reached)


def nearest_marked(up: Int64, marked: Bool) -> Int64:
    """For each node of a forest itself or its nearest ancestor that is marked, -1 for none, by doubling jumps."""
    at = np.where(marked, np.arange(len(up)), up)
    moving = np.flatnonzero((at >= 0) & ~marked[at])
    while len(moving):
        reached = at[at[moving]]
        at[moving] = reached
        moving = moving[(reached >= 0) & ~marked[reached]]
    return at


def build_graph(trace: Trace) -> EventGraph:
    """Connect all events of a trace: nesting, producer/consumer contexts and kernel launches."""
    links = [_context_links(trace), *_stat_links(trace)]
    return EventGraph(
        up=_enclosing(trace),
        link_from=np.concatenate([a for a, _ in links]),
        link_to=np.concatenate([b for _, b in links]),
    )


def _enclosing(trace: Trace) -> Int64:
    """For each event the innermost earlier event of its line that includes it, both ends inclusive; -1 for none.

    Events with `_a` (asynchronous) neither enclose nor are enclosed.
    """
    is_async = trace.int_stat("_a") != 0 if "_a" in trace.string_ids else np.zeros(trace.n_events, np.bool_)
    if not is_async.any():
        return _touching(trace.nesting.parent.astype(np.int64), trace.line_id, trace.start_ps, trace.end_ps)
    rows = np.flatnonzero(~is_async)
    line, start, duration = trace.line_id[rows], trace.start_ps[rows], trace.duration_ps[rows]
    inner = _touching(nest(line, start, duration).parent.astype(np.int64), line, start, start + duration)
    parent = np.full(trace.n_events, -1, np.int64)
    parent[rows] = np.where(inner >= 0, rows[inner], -1)
    return parent


def _touching(parent: Int64, line: Int32, start: Int64, end: Int64) -> Int64:
    """Move zero-length events that lie exactly on the end of an earlier one into it: `Nesting` is half-open, XProf is not."""
    result = parent.copy()
    moving = np.flatnonzero((start == end) & (np.arange(len(start)) > 0))
    moving = moving[line[moving - 1] == line[moving]]
    at = moving - 1
    while len(moving):
        outside = end[at] < end[moving]
        result[moving[~outside]] = at[~outside]
        moving, at = moving[outside], parent[at[outside]]
        result[moving[at < 0]] = -1
        moving, at = moving[at >= 0], at[at >= 0]
    return result


def _context_links(trace: Trace) -> tuple[Int64, Int64]:
    """Producers (`_pt`, `_p`) to consumers (`_ct`, `_c`) of the same context within a session and process."""
    pid = np.array([_process_id(trace, plane) for plane in range(len(trace.planes))], np.int64)
    own_pid = pid[trace.plane_id] if len(pid) else np.empty(0, np.int64)
    made = np.flatnonzero(trace.has_stat("_p") & trace.has_stat("_pt"))
    used = np.flatnonzero(trace.has_stat("_c") & trace.has_stat("_ct"))
    used_pid = np.where(trace.has_stat("_pid"), trace.int_stat("_pid"), own_pid)[used]
    key = same_key(
        np.concatenate([trace.int_stat("_p")[made], trace.int_stat("_c")[used]]),
        np.concatenate([trace.session_id[made], trace.session_id[used]]),
        np.concatenate([trace.int_stat("_pt")[made], trace.int_stat("_ct")[used]]),
        np.concatenate([own_pid[made], used_pid]),
    )
    left, right = _join(key[: len(made)], key[len(made) :])
    return made[left], used[right]


def _process_id(trace: Trace, plane: int) -> int:
    value = trace.planes[plane].stats.get("process_id", 0)
    # An unsigned one beyond an int64 wraps, as it does in the stats of events.
    return (value + 2**63) % 2**64 - 2**63 if isinstance(value, int) else 0


def _stat_links(trace: Trace) -> list[tuple[Int64, Int64]]:
    """`ExecutorState::Process` to the iterator kernel it runs, kernel launch to kernel; of equal keys the last parent wins."""
    links = []
    process = np.flatnonzero(trace.names_matching(["ExecutorState::Process"]))
    for name in GET_NEXT:
        fetch = np.flatnonzero(trace.names_matching([name]))
        both = np.concatenate([process, fetch])
        key = same_key(trace.int_stat("id")[both], trace.session_id[both], trace.int_stat("iter_num")[both])
        links.append(_last_parent(process, fetch, key))
    on_device = np.array([plane.is_device for plane in trace.planes], np.bool_)
    rows = np.unique(trace.stat_rows("correlation_id")[0])
    rows = rows[~_recognised(trace, rows)] if len(rows) else rows
    device = on_device[trace.plane_id[rows]]
    launch, kernel = rows[~device], rows[device]
    both = np.concatenate([launch, kernel])
    key = same_key(trace.int_stat("correlation_id")[both], trace.session_id[both])
    links.append(_last_parent(launch, kernel, key))
    return links


def _recognised(trace: Trace, rows: Int64) -> Bool:
    """Whether the name of an event means something else than a kernel launch or a kernel (semantics 1.5, 1.2.5)."""

    def known(names: list[str]) -> Bool:
        category = parse_op_names(names).category
        listed = np.array([name in KNOWN_HOST_EVENTS for name in names], np.bool_)
        return np.logical_or(listed, np.isin(category, (OpCategory.TENSORFLOW, OpCategory.TFDATA)))

    return np.asarray(by_name(trace, known, np.bool_)[trace.name_id[rows]])


def _last_parent(parents: Int64, children: Int64, key: Int64) -> tuple[Int64, Int64]:
    own, theirs = key[: len(parents)], key[len(parents) :]
    order = np.argsort(own, kind="stable")
    last = np.append(own[order][1:] != own[order][:-1], True)[: len(order)]
    left, right = _join(own[order[last]], theirs)
    parents = parents[order[last]]
    return parents[left], children[right]


def same_key(first: npt.NDArray[np.int64], *others: npt.NDArray[np.integer]) -> Int64:
    """Columns -> one integer a row from 0, equal exactly where all columns are equal."""
    key = np.unique(first, return_inverse=True)[1].astype(np.int64)
    for column in others:
        values, code = np.unique(column, return_inverse=True)
        if len(values) > 1:
            key = np.unique(key * len(values) + code, return_inverse=True)[1].astype(np.int64)
    return key


def _join(left: Int64, right: Int64) -> tuple[Int64, Int64]:
    """All pairs of rows of equal key (small integers), except those of keys crowded on both sides."""
    n_keys = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    n_left, n_right = np.bincount(left, minlength=n_keys), np.bincount(right, minlength=n_keys)
    first = np.cumsum(n_left) - n_left
    crowded = (n_left >= _CROWD) & (n_right >= _CROWD)
    count = np.where(crowded, 0, n_left)[right]
    pairs = np.repeat(first[right] - (np.cumsum(count) - count), count) + np.arange(count.sum())
    return np.argsort(left, kind="stable")[pairs], np.repeat(np.arange(len(right)), count)
