"""Columns of events and stats, block by block and in any order -> one table sorted by (line, start, longest first)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .trace import Int32, Int64, UInt8, UInt64


@dataclass(frozen=True)
class EventTable:
    """The per-event and per-stat columns of a `Trace`, with the number of stats of each event in place of offsets."""

    start_ps: Int64
    duration_ps: Int64
    line_id: Int32
    metadata_id: Int32
    session_id: Int32
    n_occurrences: Int32
    n_stats: Int64
    stat_key: Int32
    stat_kind: UInt8
    stat_bits: UInt64

    @property
    def stat_offsets(self) -> Int64:
        """The stats of event `i` are rows `stat_offsets[i]:stat_offsets[i + 1]`."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.n_stats)])


_DTYPES = {
    "start_ps": np.int64,
    "duration_ps": np.int64,
    "line_id": np.int32,
    "metadata_id": np.int32,
    "session_id": np.int32,
    "n_occurrences": np.int32,
    "n_stats": np.int64,
    "stat_key": np.int32,
    "stat_kind": np.uint8,
    "stat_bits": np.uint64,
}


class EventTableParts:
    """Tables to be joined. It holds columns, not tables, so that joining one column can release its parts."""

    def __init__(self) -> None:
        self._parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _DTYPES}

    def add(self, table: EventTable) -> None:
        """Append the rows of a table."""
        for name, parts in self._parts.items():
            parts.append(getattr(table, name))

    def joined(self) -> EventTable:
        """One table of all rows in the order they were added; to be called once."""
        columns = {}
        for name, dtype in _DTYPES.items():
            parts = self._parts.pop(name)
            columns[name] = np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype)
        return EventTable(**columns)


def in_order(table: EventTable) -> EventTable:
    """The table sorted by (line, start, longest first); equal rows keep their order.

    Profilers sort each line, so usually nothing moves: only lines that are out of order are sorted.
    """
    line = table.line_id
    if not (line[1:] >= line[:-1]).all():
        table = _taken(table, np.argsort(line, kind="stable"))
        line = table.line_id
    start, longest = table.start_ps, -table.duration_ps
    falls_back = (start[1:] < start[:-1]) | ((start[1:] == start[:-1]) & (longest[1:] < longest[:-1]))
    wrong_lines = np.unique(line[1:][falls_back & (line[1:] == line[:-1])])
    if not len(wrong_lines):
        return table
    order = np.arange(len(line))
    first, last = np.searchsorted(line, wrong_lines), np.searchsorted(line, wrong_lines, side="right")
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        order[low:high] = low + np.lexsort((longest[low:high], start[low:high]))
    return _taken(table, order)


def _taken(table: EventTable, order: npt.NDArray[np.int64]) -> EventTable:
    """The events in the order given, each with its stats."""
    old_offsets = table.stat_offsets[:-1][order]
    n_stats = table.n_stats[order]
    shift = old_offsets - (np.cumsum(n_stats) - n_stats)
    stat_order = np.arange(len(table.stat_key)) + np.repeat(shift, n_stats)
    per_event = ("start_ps", "duration_ps", "line_id", "metadata_id", "session_id", "n_occurrences")
    per_stat = ("stat_key", "stat_kind", "stat_bits")
    return replace(
        table,
        n_stats=n_stats,
        **{name: getattr(table, name)[order] for name in per_event},
        **{name: getattr(table, name)[stat_order] for name in per_stat},
    )
