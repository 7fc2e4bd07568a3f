"""Sections that are too big for a page -> the pack of their rows within one window of time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...trace.trace import Int64
from .sections import TableSection
from .wire import Table, pack

Span = tuple[float, float]


def window_pack(sections: Iterable[TableSection], window_ps: Span) -> bytes:
    """Pack what lies in a window.

    Args:
        sections: those that can be cut to a window.
        window_ps: from when to before when. A row belongs to it when it overlaps it, one without length when it lies inside.

    Returns:
        A pack with a table per section and in its meta object the `window`.
    """
    tables = {section.name: _cut(section, window_ps) for section in sections}
    return pack({"window": list(window_ps)}, tables)


def rows_within(section: TableSection, window_ps: Span) -> Int64:
    """The rows of a section that overlap a window, ascending."""
    if section.interval is None:
        raise ValueError(f"section {section.name!r} knows no times of its rows, so no window can be cut from it")
    start, end = section.interval()
    begins_before = start < window_ps[1]
    return np.flatnonzero(begins_before & ((end > window_ps[0]) | (start >= window_ps[0])))


def _cut(section: TableSection, window_ps: Span) -> Table:
    rows = rows_within(section, window_ps)
    table = section.build(rows)
    if not section.refers or not len(rows):
        return table
    values, dtype = table.columns[section.refers]
    place = np.minimum(np.searchsorted(rows, values), len(rows) - 1)
    inside = np.where(rows[place] == values, place, -1)  # -1 leaves as it came: no row has that number
    return Table({**table.columns, section.refers: (inside, dtype)})
