"""Columns of events and their stats, block by block and in any order -> one table sorted by (line, start, longest first)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .stat_table import Stats, StatTable, StatTableBuilder

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Column = npt.NDArray[Any]

_COLUMNS = {
    "start_ps": np.int64,
    "duration_ps": np.int64,
    "line_id": np.int32,
    "metadata_id": np.int32,
    "session_id": np.int32,
    "n_occurrences": np.int32,
}


@dataclass(frozen=True)
class EventTable:
    """The per-event columns of a `Trace`, and the stats of the events."""

    start_ps: Int64
    duration_ps: Int64
    line_id: Int32
    metadata_id: Int32
    session_id: Int32
    n_occurrences: Int32
    stats: StatTable


class EventTableBuilder:
    """Collects the blocks of a table, with nothing in memory twice."""

    def __init__(self, n_expected: int = 0) -> None:
        """Start with no events, and room for so many."""
        self._columns = {name: _GrowingColumn(dtype, n_expected) for name, dtype in _COLUMNS.items()}
        self._stats = StatTableBuilder()

    def add(self, columns: Mapping[str, Column], *stats: Stats) -> None:
        """Append events: their columns, and their stats in one or more parts."""
        for name, column in columns.items():
            self._columns[name].append(column)
        for part in stats:
            self._stats.add(part)

    def table(self) -> EventTable:
        """All events in the order in which they were added; to be called once."""
        return EventTable(**{name: self._columns.pop(name).taken() for name in _COLUMNS}, stats=self._stats.table())


class _GrowingColumn:
    """A column that takes no memory while all its values are equal.

    Else it has room for as many as are expected from the start, and then grows in place, an eighth at a time.
    """

    def __init__(self, dtype: type, n_expected: int) -> None:
        self._values: Column = np.empty(0, dtype)
        self._n_expected = n_expected
        self._n = 0
        self._n_constant = 0

    def append(self, values: Column) -> None:
        if not self._n and self._is_constant(values):
            self._n_constant += len(values)
            return
        if self._n_constant:
            constant, self._n_constant = np.full(self._n_constant, self._values[0]), 0
            self._append(constant)
        self._append(values)

    def _is_constant(self, values: Column) -> bool:
        if not len(values):
            return True
        if not self._n_constant:
            self._values = values[:1].astype(self._values.dtype)
        return bool((values == self._values[0]).all())

    def _append(self, values: Column) -> None:
        n = self._n + len(values)
        if not self._n:
            self._values = np.empty(max(n, self._n_expected), self._values.dtype)
        elif n > len(self._values):
            self._values.resize(n + n // 8, refcheck=False)
        self._values[self._n : n] = values
        self._n = n

    def taken(self) -> Column:
        """The column; it must not be added to any more."""
        if self._n_constant or not self._n:
            return np.broadcast_to(self._values[:1], self._n_constant) if self._n_constant else self._values[:0]
        if len(self._values) > self._n:
            self._values.resize(self._n, refcheck=False)
        return self._values


def in_order(table: EventTable) -> EventTable:
    """The table sorted by (line, start, longest first); equal rows keep their order.

    Profilers sort each line, so usually nothing moves: only lines that are out of order are sorted.
    """
    line = table.line_id
    if not (line[1:] >= line[:-1]).all():
        table = _taken(table, np.argsort(line, kind="stable"))
        line = table.line_id
    start, duration = table.start_ps, table.duration_ps
    falls_back = start[1:] == start[:-1]
    falls_back &= duration[1:] > duration[:-1]
    falls_back |= start[1:] < start[:-1]
    falls_back &= line[1:] == line[:-1]
    wrong_lines = np.unique(line[1:][falls_back])
    if not len(wrong_lines):
        return table
    order = np.arange(len(line))
    first, last = np.searchsorted(line, wrong_lines), np.searchsorted(line, wrong_lines, side="right")
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        order[low:high] = low + np.lexsort((-duration[low:high], start[low:high]))
    return _taken(table, order)


def _taken(table: EventTable, order: Int64) -> EventTable:
    """The events in the order given, each with its stats."""
    columns = {name: _moved(getattr(table, name), order) for name in _COLUMNS}
    return replace(table, stats=table.stats.taken(order), **columns)


def _moved(column: Column, order: Int64) -> Column:
    """`column[order]`; a constant column stays without memory of its own."""
    return column if column.strides == (0,) and len(order) == len(column) else column[order]
