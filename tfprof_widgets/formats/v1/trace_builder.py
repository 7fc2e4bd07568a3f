"""Events one by one, on named lines of named planes -> a Trace, for readers of formats that have no columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...trace.assembly import assemble, session_around
from ...trace.event_metadata import event_metadata
from ...trace.event_table import EventTable, in_order
from ...trace.stat_table import packed_stats
from ...trace.string_table import StatRow, StringTable, stats_of_rows
from ...trace.times import MAX_PS
from ...trace.trace import DERIVED_LINE_BASE, Line, Plane, Trace


@dataclass
class TraceBuilder:
    """Collects events; times are picoseconds after the origin."""

    origin_ns: int = 0
    warnings: list[str] = field(default_factory=list)
    _planes: dict[tuple[str, str], int] = field(default_factory=dict)
    _lines: dict[tuple[int, str], tuple[int, bool]] = field(default_factory=dict)
    """`(plane, name)` to the line's number and whether it is derived."""
    _strings: StringTable = field(default_factory=StringTable)
    _events: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Start, duration, line and name."""
    _stats: list[list[StatRow]] = field(default_factory=list)

    def line(self, host: str, plane: str, name: str, *, is_derived: bool = False) -> int:
        """The number of a line; planes and lines come in the order in which they are asked for first."""
        plane_id = self._planes.setdefault((host, plane), len(self._planes))
        return self._lines.setdefault((plane_id, name), (len(self._lines), is_derived))[0]

    def add(self, line: int, name: str, start_ps: int, duration_ps: int, stats: Mapping[str, Any]) -> None:
        """Add an event; what lies beyond 13 days of the origin is cut to that."""
        start_ps = max(-MAX_PS, min(start_ps, MAX_PS))
        duration_ps = max(0, min(duration_ps, MAX_PS))
        self._events.append((start_ps, duration_ps, line, self._strings.id_of(name)))
        self._stats.append([self._strings.stat(key, value) for key, value in stats.items()])

    def trace(self, hosts: Iterable[str] = ()) -> Trace:
        """All of it; each host is a session of its own.

        Args:
            hosts: those that have a session even without an event.
        """
        order = sorted(self._lines, key=lambda key: key[0])  # stable: lines of one plane keep their order
        final = np.zeros(len(order), np.int32)
        for place, key in enumerate(order):
            final[self._lines[key][0]] = place
        start_ps, duration_ps, number, name_id = np.array(self._events, np.int64).reshape(-1, 4).T
        line = final[number] if order else np.empty(0, np.int32)
        keys = list(self._planes)
        plane = np.array([key[0] for key in order], np.int32)[line] if order else np.empty(0, np.int32)
        names = list(dict.fromkeys([*hosts, *(host for host, _ in keys)])) or [""]
        session_of_plane = np.array([names.index(host) for host, _ in keys] or [0], np.int32)
        metadata = event_metadata(name_id, plane)
        table = in_order(
            EventTable(
                start_ps=start_ps.copy(),
                duration_ps=duration_ps.copy(),
                line_id=line,
                metadata_id=metadata.row_of_event,
                session_id=session_of_plane[plane] if len(plane) else np.empty(0, np.int32),
                n_occurrences=np.zeros(len(line), np.int32),
                stats=packed_stats(stats_of_rows(self._stats)),
            )
        )
        return assemble(
            table,
            metadata.table,
            planes=[Plane(name, host) for host, name in keys],
            lines=[self._final_line(key, place) for place, key in enumerate(order)],
            sessions=[session_around(table, host, table.session_id == i) for i, host in enumerate(names)],
            origin_ns=self.origin_ns,
            strings=self._strings.texts,
            blobs=self._strings.blobs,
            warnings=self.warnings,
        )

    def _final_line(self, key: tuple[int, str], place: int) -> Line:
        is_derived = self._lines[key][1]
        return Line(key[0], DERIVED_LINE_BASE + 100 + place % 200 if is_derived else place + 1, key[1], "")
