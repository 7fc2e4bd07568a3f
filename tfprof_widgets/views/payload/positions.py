"""Trace -> the order in which the browser keeps events: by line, depth and start, so that a row is one run of positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int32, Int64, Trace, UInt8

MAX_LINES = 4096
"""More tracks than anybody looks through; the busiest are kept and the view says of how many."""
MAX_ROWS = 32_768
"""Rows of all lines together: a trace that nests deeper than they allow loses its innermost events, and the view says so."""
_BLOCK_EVENTS = 2**20
"""Lines are ordered together up to so many events."""
_FILLED_RATIO = 0.95
"""From this share on the children say all that their parents could; `js/src/data/events.ts` folds such rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Positions:
    """Which events travel and in which order. Position `p` is the event `order[p]` of the trace.

    A row holds the events of one line and depth in the order of their starts; they do not overlap, but that one may outlive
    the start of the next. Row `r` has the positions from `row_offsets[r]` to before `row_offsets[r + 1]`.
    """

    lines: Int32
    """The lines that travel, as rows of `Trace.lines`, ascending."""
    order: Int32
    row_line: Int32
    """For each row its line, an index into `lines`."""
    row_depth: Int32
    row_offsets: Int64
    row_is_filled: UInt8
    """Whether the events one level deeper fill those that have any inside by 95 % or more."""

    @property
    def n_events(self) -> int:
        """How many events travel."""
        return len(self.order)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.row_line)

    def of_trace_rows(self, n_events: int) -> Int32:
        """For each event of the trace its position, -1 where it does not travel."""
        position = np.full(n_events, -1, np.int32)
        position[self.order] = np.arange(self.n_events, dtype=np.int32)
        return position


def line_numbers(trace: Trace, lines: Int32) -> Int32:
    """For each line of the trace its number in the browser: those that travel first, the others after them."""
    travels = np.zeros(len(trace.lines), np.bool_)
    travels[lines] = True
    number = np.empty(len(trace.lines), np.int32)
    number[np.concatenate([lines, np.flatnonzero(~travels)])] = np.arange(len(number))
    return number


def compute_positions(trace: Trace) -> Positions:
    """Order the events of the busiest lines; some lines at a time, so that nothing is as long as the trace but the result."""
    lines = _busiest_lines(trace)
    n_depths = _depths(trace, lines)
    limit = _depth_limit(n_depths)
    blocks = [_order_block(trace, lines[rows], n_depths[rows], limit) for rows in _blocks(trace, lines)]
    kept = np.minimum(n_depths, limit)
    return Positions(
        lines=lines,
        order=_joined([block.order for block in blocks], np.int32),
        row_line=np.repeat(np.arange(len(lines), dtype=np.int32), kept),
        row_depth=(np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)).astype(np.int32),
        row_offsets=np.append(0, np.cumsum(_joined([block.count for block in blocks], np.int64))),
        row_is_filled=_joined([block.is_filled for block in blocks], np.uint8),
    )


def _joined(parts: list[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts])


def _depths(trace: Trace, lines: Int32) -> Int64:
    """How many depths each line has; 0 for one without events."""
    offsets = trace.line_offsets
    found = np.zeros(len(trace.lines), np.int64)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        found[filled] = np.maximum.reduceat(trace.nesting.depth, offsets[filled]).astype(np.int64) + 1
    return found[lines]


def _blocks(trace: Trace, lines: Int32) -> list[slice]:
    """Neighbouring lines, taken together as long as they are small."""
    counts = np.diff(trace.line_offsets)[lines].tolist()
    blocks, begin, n = [], 0, 0
    for i, count in enumerate(counts):
        if i > begin and n + count > _BLOCK_EVENTS:
            blocks.append(slice(begin, i))
            begin, n = i, 0
        n += count
    return [*blocks, slice(begin, len(counts))] if counts else []


def _busiest_lines(trace: Trace) -> Int32:
    n = len(trace.lines)
    if n <= MAX_LINES:
        return np.arange(n, dtype=np.int32)
    offsets = trace.line_offsets
    # Self times add up to the time that a line is busy; lines of points alone are told apart by their number of events.
    total = np.concatenate([[0], np.cumsum(trace.nesting.self_ps, dtype=np.float64)])
    busy, count = total[offsets[1:]] - total[offsets[:-1]], np.diff(offsets)
    return np.sort(np.lexsort((np.arange(n), -count, -busy))[:MAX_LINES]).astype(np.int32)


def _depth_limit(n_depths: Int64) -> int:
    """How many depths of a line travel, so that no more than `MAX_ROWS` rows do; all where that is possible."""
    return max(even_share(n_depths, MAX_ROWS, at_most=int(n_depths.max(initial=0))), min(1, len(n_depths)))


@dataclass(frozen=True)
class _Block:
    """The events of some lines in their order, and by row how many they are and whether their children fill them."""

    order: Int32
    count: Int64
    is_filled: UInt8


def _order_block(trace: Trace, lines: Int32, n_depths: Int64, limit: int) -> _Block:
    offsets = trace.line_offsets
    sizes = offsets[lines + 1] - offsets[lines]
    # Neighbouring lines are one slice, unless one between them does not travel.
    low, high = int(offsets[lines[0]]), int(offsets[lines[-1] + 1])
    chosen = None if high - low == int(sizes.sum()) else ranges(offsets[lines], sizes)
    events = slice(low, high) if chosen is None else chosen
    depth, span = trace.nesting.depth[events], trace.nesting.span_ps[events]
    first_row = np.cumsum(n_depths) - n_depths
    row = depth + np.repeat(first_row, sizes) if len(lines) > 1 else depth
    n_rows = int(n_depths.sum())
    # Few rows occur: a stable sort of 8 or 16 bits is a radix sort.
    small = row.astype(np.uint8 if n_rows <= 256 else np.uint16 if n_rows <= 65536 else np.int32)
    order = np.argsort(small, kind="stable")
    row_depth = np.arange(n_rows) - np.repeat(first_row, n_depths)
    travels = row_depth < limit
    if not travels.all():
        order = order[travels[row[order]]]
    is_last = row_depth == np.minimum(np.repeat(n_depths, n_depths), limit) - 1
    is_filled = _filled(row, depth, span, n_rows) & ~is_last
    return _Block(
        order=(order + low if chosen is None else chosen[order]).astype(np.int32),
        count=np.bincount(row, minlength=n_rows).astype(np.int64)[travels],
        is_filled=is_filled[travels].astype(np.uint8),
    )


def _filled(row: npt.NDArray[np.integer], depth: npt.NDArray[np.integer], span_ps: Int64, n_rows: int) -> Bool:
    """For each row whether the events of the next one fill those that have any inside."""
    covered = np.bincount(row, weights=span_ps, minlength=n_rows + 1)
    # A child follows its parent in the order of the trace, and a line begins at depth 0.
    has_child = np.append(depth[1:] > depth[:-1], np.zeros(min(1, len(depth)), np.bool_))
    parents = np.bincount(row[has_child], weights=span_ps[has_child], minlength=n_rows)
    return np.asarray(covered[1 : n_rows + 1] >= _FILLED_RATIO * parents, np.bool_)


def even_share(wanted: Int64, most: int, *, at_most: int) -> int:
    """How much of what it wants each may have, up to `at_most`, so that all have no more than `most` together."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if int(np.minimum(wanted, middle).sum()) <= most else (low, middle - 1)
    return low
