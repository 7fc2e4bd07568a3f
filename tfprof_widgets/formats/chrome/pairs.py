"""Begins and ends of a Chrome trace -> durations; ends of arrows -> the stats by which an XSpace links events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np

from ...trace.nesting import nest
from ...trace.string_table import StatRow, StringTable
from ...trace.trace import Int32, Int64, StatKind
from .events import LONGEST_PS, Collected, Edge, FlowEnd

_GENERIC_CONTEXT = 0
"""The type of contexts that say nothing of who handed work to whom. Source: semantics 2.3."""


def match_edges(found: Collected) -> int:
    """Fill in the durations of spans told by two events, and give the stats of the end to the span.

    Returns:
        How many ends had no begin. Begins without an end stay unfinished.
    """
    by_track: defaultdict[Hashable, list[Edge]] = defaultdict(list)
    for edge in found.edges:
        by_track[edge.track].append(edge)
    n_ends = 0
    for edges in by_track.values():  # one round per event of these kinds
        edges.sort(key=lambda edge: edge.time_ps)  # stable: at one time the order of the file counts
        waiting: list[Edge] = []
        for edge in edges:
            if edge.row >= 0:
                waiting.append(edge)
            elif waiting:
                begin = waiting.pop()
                found.duration_ps[begin.row] = min(edge.time_ps - begin.time_ps, LONGEST_PS)
                found.add_stats(begin.row, edge.stats)
            else:
                n_ends += 1
    found.edges.clear()
    return n_ends


def link_flows(
    found: Collected,
    strings: StringTable,
    *,
    start_ps: Int64,
    duration_ps: Int64,
    line: Int32,
    line_of_track: Int32,
    shift_ps: int,
) -> int:
    """Give events the stats `_p` and `_c`, by which arrows between them are found again.

    Args:
        found: has the flows; takes the stats.
        strings: takes the names of the stats.
        start_ps: start of each event of `found`, after the shift.
        duration_ps: duration of each.
        line: line of each.
        line_of_track: line of each track of `found`.
        shift_ps: what was subtracted from times.

    Returns:
        How many arrows are lost: their ends lie in no event, or an event has several arrows into it.
    """
    places = _Places(start_ps, duration_ps, line)
    chains: defaultdict[Hashable, list[FlowEnd]] = defaultdict(list)
    for end in found.flows:
        chains[end.flow].append(end)
    links = _Links(found, strings)
    n_lost = 0
    for chain in chains.values():  # one round per arrow
        chain.sort(key=lambda end: (end.time_ps, "stf".index(end.phase)))
        rows = [
            places.find(int(line_of_track[end.track]), end.time_ps - shift_ps, is_enclosed=end.is_enclosed)
            for end in chain
        ]
        n_lost += sum(not links.add(source, target) for source, target in pairwise(rows))
    found.flows.clear()
    return n_lost


class _Links:
    """Gives events the stats of contexts: what an event hands on is one context, and it takes from one."""

    def __init__(self, found: Collected, strings: StringTable) -> None:
        self._found = found
        self._strings = strings
        self._context: dict[int, int] = {}
        self._consumers: set[int] = set()

    def add(self, source: int, target: int) -> bool:
        """Link two events; whether that was possible."""
        if source < 0 or target < 0 or source == target or target in self._consumers:
            return False
        if source not in self._context:
            self._context[source] = len(self._context)
            self._found.add_stats(source, _link(self._strings, "_pt", "_p", self._context[source]))
        self._consumers.add(target)
        self._found.add_stats(target, _link(self._strings, "_ct", "_c", self._context[source]))
        return True


def _link(strings: StringTable, type_name: str, id_name: str, number: int) -> Sequence[StatRow]:
    return (
        (strings.id_of(type_name), StatKind.INT64, _GENERIC_CONTEXT),
        (strings.id_of(id_name), StatKind.INT64, number),
    )


class _Places:
    """Which event of a line is on top at a time."""

    def __init__(self, start_ps: Int64, duration_ps: Int64, line: Int32) -> None:
        self._order = np.lexsort((-duration_ps, start_ps, line))
        self._line = line[self._order]
        self._start = start_ps[self._order]
        self._end = self._start + duration_ps[self._order]
        self._parent = nest(self._line, self._start, self._end - self._start).parent

    def find(self, line: int, time_ps: int, *, is_enclosed: bool) -> int:
        """The event around a time, or the one that starts next; -1 for none."""
        time_ps = max(-LONGEST_PS, min(time_ps, LONGEST_PS))  # as far as any event can lie, and what 64 bits hold
        low, high = np.searchsorted(self._line, [line, line + 1])
        starts = self._start[low:high]
        if not is_enclosed:
            at = int(low + np.searchsorted(starts, time_ps))
            return int(self._order[at]) if at < high else -1
        at = int(low + np.searchsorted(starts, time_ps, side="right")) - 1
        if at < low:
            return -1
        while at >= 0 and self._end[at] < time_ps:
            at = int(self._parent[at])
        return int(self._order[at]) if at >= 0 else -1
