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
    """Collects the blocks of a table."""

    def __init__(self) -> None:
        """Start with no events."""
        self._blocks: dict[str, list[Column]] = {name: [] for name in _COLUMNS}
        self._stats = StatTableBuilder()

    def add(self, columns: Mapping[str, Column], *stats: Stats) -> None:
        """Append events: their columns, and their stats in one or more parts."""
        for name, column in columns.items():
            self._blocks[name].append(_lean(column.astype(_COLUMNS[name], copy=False)))
        for part in stats:
            self._stats.add(part)

    def table(self) -> EventTable:
        """All events in the order in which they were added; to be called once."""
        return EventTable(
            **{name: _united(self._blocks.pop(name), dtype) for name, dtype in _COLUMNS.items()},
            stats=self._stats.table(),
        )


def _lean(column: Column) -> Column:
    """The column; one of equal values without memory for more than one."""
    if len(column) and column[0] == column[-1] and (column == column[0]).all():
        return np.broadcast_to(column[0], len(column))
    return column


def _united(blocks: list[Column], dtype: type) -> Column:
    """The blocks as one column, without memory where all values are equal."""
    values = {int(block[0]) if block.strides == (0,) else None for block in blocks if len(block)}
    if len(values) == 1 and None not in values:
        return np.broadcast_to(dtype(values.pop()), sum(map(len, blocks)))
    return np.concatenate([np.empty(0, dtype), *blocks])


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
