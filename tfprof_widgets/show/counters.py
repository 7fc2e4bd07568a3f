"""Events and counters -> what the timeline draws: positions, tiles, samples and outlines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..analysis.analysis import Analysis
from ..analysis.timeline import Counter, Counters
from ..trace.arrays import Float64, Int32, Int64, UInt8
from ..trace.stats import ranges
from ..trace.trace import Trace
from .pack import Rows, Table

MAX_LINES = 4096
"""More tracks than anybody looks through; the busiest are sent, and the view says of how many."""
MAX_ROWS = 32_768
"""Of all lines together: a deeper trace loses its innermost events, and the view says so."""
_POSITION_BLOCK = 2**20
"""Lines are ordered together up to so many events."""
_FILLED_RATIO = 0.95
"""From this share on the children say all that their parents could; `js/src/data/events.ts` folds such rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Positions:
    """The order of the events that are sent: row `r`, of one line and depth by start, has positions from `row_offsets[r]` on."""

    lines: Int32
    """The lines that are sent, as rows of `Trace.lines`, ascending."""
    order: Int32
    row_line: Int32
    """For each row its line, an index into `lines`."""
    row_depth: Int32
    row_offsets: Int64
    row_is_filled: UInt8
    """Whether the events one level deeper fill those that have any inside by 95 % or more."""

    @property
    def n_events(self) -> int:
        return len(self.order)

    @property
    def n_rows(self) -> int:
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
    # Depths of each line; 0 for one without events
    offsets = trace.line_offsets
    found = np.zeros(len(trace.lines), np.int64)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        found[filled] = np.maximum.reduceat(trace.nesting.depth, offsets[filled]).astype(np.int64) + 1
    n_depths = found[lines]
    limit = max(even_share(n_depths, MAX_ROWS, at_most=int(n_depths.max(initial=0))), min(1, len(n_depths)))
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


def _blocks(trace: Trace, lines: Int32) -> list[slice]:
    """Neighbouring lines, taken together as long as they are small."""
    counts = np.diff(trace.line_offsets)[lines].tolist()
    blocks, begin, n = [], 0, 0
    for i, count in enumerate(counts):
        if i > begin and n + count > _POSITION_BLOCK:
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


@dataclass(frozen=True)
class _Block:
    """Some lines' events in order, and by row their number and whether their children fill them."""

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
    covered = np.bincount(row, weights=span, minlength=n_rows + 1)
    # A child follows its parent in the order of the trace, and a line begins at depth 0.
    has_child = np.append(depth[1:] > depth[:-1], np.zeros(min(1, len(depth)), np.bool_))
    parents = np.bincount(row[has_child], weights=span[has_child], minlength=n_rows)
    is_filled = np.asarray(covered[1 : n_rows + 1] >= _FILLED_RATIO * parents, np.bool_) & ~is_last
    return _Block(
        order=(order + low if chosen is None else chosen[order]).astype(np.int32),
        count=np.bincount(row, minlength=n_rows).astype(np.int64)[travels],
        is_filled=is_filled[travels].astype(np.uint8),
    )


def even_share(wanted: Int64, most: int, *, at_most: int) -> int:
    """How much of what it wants each may have, up to `at_most`, so that all have no more than `most` together."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if int(np.minimum(wanted, middle).sum()) <= most else (low, middle - 1)
    return low


TILE_EVENTS = 75_000
"""3 MB before compression, 1 MB after."""
_FEW_EVENTS = 10_000
"""Sent together, and whole in a page."""
_SAMPLES_PER_TILE = 1000
"""Starts of events that give the edges: exact to a thousandth of a tile, at no cost."""


@dataclass(frozen=True, eq=False, repr=False)
class Tiles:
    """Windows of time that follow each other; an event belongs to the one in which it starts."""

    trace: Trace
    positions: Positions
    edges_ps: Float64
    """Tile `k` is from `edges_ps[k]` to before `edges_ps[k + 1]`, in the browser's numbers; the last one includes its end."""

    @property
    def n(self) -> int:
        """How many tiles there are, 0 without events."""
        return max(0, len(self.edges_ps) - 1)

    def bounds(self, tile: int) -> tuple[Int64, Int64]:
        """For each row the first position in a tile and the one after its last."""
        return self._row_bounds(tile), self._row_bounds(tile + 1)

    def positions_in(self, tile: int) -> Int64:
        low, high = self.bounds(tile)
        return ranges(low, high - low)

    def overlapping(self, span_ps: tuple[float, float]) -> tuple[int, int]:
        """The first tile that a span overlaps and the one after the last; equal where there are no tiles."""
        if not self.n:
            return 0, 0
        inner = self.edges_ps[1:-1]
        low = int(np.searchsorted(inner, span_ps[0], side="right"))
        return low, max(low, int(np.searchsorted(inner, span_ps[1], side="left"))) + 1

    @cached_property
    def counts(self) -> Int64:
        """How many events each tile holds."""
        before = [int((self._row_bounds(tile) - self.positions.row_offsets[:-1]).sum()) for tile in range(self.n + 1)]
        return np.asarray(np.diff(before), np.int64)

    def crossing(self) -> Int64:
        """The positions of the events that begin before an edge between tiles and end after it, ascending."""
        found = [np.empty(0, np.int64)]
        for tile in range(1, self.n):
            last = self._row_bounds(tile) - 1
            last = last[last >= self.positions.row_offsets[:-1]]
            found.append(last[self._ends(last) > self.edges_ps[tile]])
        return np.unique(np.concatenate(found))

    def _row_bounds(self, tile: int) -> Int64:
        """For each row the first position that does not begin before a tile, by a binary search in all rows at once."""
        low, high = self.positions.row_offsets[:-1].copy(), self.positions.row_offsets[1:].copy()
        if tile <= 0:
            return low
        if tile >= self.n:
            return high
        edge = self.edges_ps[tile]
        open_rows = np.flatnonzero(low < high)
        while len(open_rows):
            middle = (low[open_rows] + high[open_rows]) // 2
            is_before = self._starts(middle) < edge
            low[open_rows[is_before]] = middle[is_before] + 1
            high[open_rows[~is_before]] = middle[~is_before]
            open_rows = open_rows[low[open_rows] < high[open_rows]]
        return low

    def _starts(self, positions: Int64) -> Float64:
        return self.trace.start_ps[self.positions.order[positions]].astype(np.float64)

    def _ends(self, positions: Int64) -> Float64:
        rows = self.positions.order[positions]
        return (self.trace.start_ps[rows] + self.trace.duration_ps[rows]).astype(np.float64)


def compute_tiles(trace: Trace, positions: Positions, kept_ps: tuple[float, float]) -> Tiles:
    """Cut the capture at quantiles of the starts of its events, and around what a page has of many."""
    n = positions.n_events
    if not n:
        return Tiles(trace, positions, np.empty(0))
    n_tiles = -(-n // TILE_EVENTS)
    stride = max(1, n // (n_tiles * _SAMPLES_PER_TILE))
    starts = np.sort(trace.start_ps[positions.order[::stride]].astype(np.float64))
    inner = starts[np.arange(1, n_tiles) * len(starts) // n_tiles]
    first, last = min(0.0, float(trace.start_ps.min())), max(float(trace.end_ps.max()), starts[-1]) + 1
    if n > _FEW_EVENTS:
        inner = np.append(inner, kept_ps)
    edges = np.unique(np.concatenate([[first], inner[(inner > first) & (inner < last)], [last]]))
    return Tiles(trace, positions, edges)


_BINS = 2048
"""Over a span; more are never seen at once."""
_BLOCK_EVENTS = 2**18
"""Processed together, so that nothing is as long as the trace."""
_HOME_SHARE = 0.5
"""Of the sample, for the typical steps that are shown first."""


def sample_events(tiles: Tiles, home_ps: tuple[float, float], *, n_wanted: int) -> Int64:
    """Choose some `n_wanted` positions: the longest event of each row and bin of time, and those across a tile's edge."""
    trace, positions = tiles.trace, tiles.positions
    if positions.n_events <= n_wanted:
        return np.arange(positions.n_events)
    whole = float(tiles.edges_ps[0]), float(tiles.edges_ps[-1])
    near = _longest(trace, positions, home_ps, n_wanted=int(n_wanted * _HOME_SHARE))
    far = _longest(trace, positions, whole, n_wanted=n_wanted - len(near))
    crossing = tiles.crossing()
    longest = np.argsort(-trace.duration_ps[positions.order[crossing]], kind="stable")[:n_wanted]
    return np.unique(np.concatenate([near, far, crossing[longest]]))


def _longest(trace: Trace, positions: Positions, span_ps: tuple[float, float], *, n_wanted: int) -> Int64:
    """Positions of the longest events that begin in a span by row and bin."""
    blocks = range(0, positions.n_events, _BLOCK_EVENTS)
    binned = [_binned(trace, positions, begin, span_ps) for begin in blocks]
    chosen, key = (np.concatenate(columns) for columns in zip(*binned, strict=True))
    duration = trace.duration_ps[positions.order[chosen]]
    kept = longest_of_runs(key, duration)  # blocks may end within a bin
    chosen, key, duration = chosen[kept], key[kept], duration[kept]
    n_bins = _BINS
    while len(chosen) > n_wanted and n_bins > 1:
        n_bins //= 2
        key = key // 2
        kept = longest_of_runs(key, duration)
        chosen, key, duration = chosen[kept], key[kept], duration[kept]
    if len(chosen) > n_wanted:  # more rows than wanted
        chosen = np.sort(chosen[np.argsort(-duration, kind="stable")[:n_wanted]])
    return chosen


def _binned(trace: Trace, positions: Positions, begin: int, span_ps: tuple[float, float]) -> tuple[Int64, Int64]:
    """The longest of each row and bin among some positions from `begin` on, with their keys (row, bin) as one number."""
    events = positions.order[begin : begin + _BLOCK_EVENTS]
    start = trace.start_ps[events].astype(np.float64)
    inside = np.flatnonzero((start >= span_ps[0]) & (start < span_ps[1]))
    row_bounds = np.searchsorted(inside, positions.row_offsets - begin)  # rows are far fewer than positions
    row = np.repeat(np.arange(positions.n_rows), np.diff(row_bounds))
    width = max(1.0, span_ps[1] - span_ps[0])
    bins = np.minimum((start[inside] - span_ps[0]) * (_BINS / width), _BINS - 1).astype(np.int64)
    key = row * _BINS + bins
    kept = longest_of_runs(key, trace.duration_ps[events[inside]])
    return inside[kept] + begin, key[kept]


def longest_of_runs(key: Int64, duration_ps: Int64 | Float64) -> Int64:
    """For each run of equal keys the index of the longest duration or largest value, of equals the first; ascending."""
    if not len(key):
        return np.empty(0, np.int64)
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    longest = np.maximum.reduceat(duration_ps, first)
    is_longest = np.flatnonzero(duration_ps == np.repeat(longest, np.diff(np.append(first, len(key)))))
    return is_longest[np.searchsorted(is_longest, first)]


MAX_COUNTERS = 200
"""Of more only so many are drawn, and the timeline says of how many."""
SAMPLE_ROWS = 8_000
"""In the first pack; some 100 KB."""
_KEPT_OF_BIN = 4
_NEVER = np.iinfo(np.int64).max


def counter_meta(results: Analysis) -> dict[str, Any]:
    """`counters`: name, unit, kind, extremes and first value of each; `n_counters`: how many the capture has."""
    counters = results.counters.counters
    return {
        "counters": [
            {
                "name": counter.name,
                "unit": counter.unit,
                "kind": counter.kind,
                "min": float(counter.value.min()),
                "max": float(counter.value.max()),
                "before": None if math.isnan(counter.before) else counter.before,
            }
            for counter in counters[:MAX_COUNTERS]
        ],
        "n_counters": len(counters),
    }


def counter_table(counters: Counters, rows: Rows = slice(None)) -> Table:
    """Every value: `counter` (index into the meta object's `counters`), `time_ps`, `value`; by counter, then time."""
    owner, time, value = _columns(counters, rows)
    return Table({"counter": (owner, "u2"), "time_ps": (time.astype(np.float64), "f8"), "value": (value, "f8")})


def counter_intervals(counters: Counters) -> tuple[Int64, Int64]:
    """From when to when each value of `counter_table` held: until the next of its counter."""
    owner, time, _ = _columns(counters)
    until = np.append(time[1:], _NEVER)[: len(time)]
    return time, np.where(np.append(owner[1:] == owner[:-1], [False])[: len(time)], until, _NEVER)


def n_counter_rows(counters: Counters) -> int:
    """How many values the counters that are drawn have."""
    return int(counters.offsets[min(MAX_COUNTERS, len(counters.counters))])


def _columns(
    counters: Counters, rows: Rows = slice(None)
) -> tuple[npt.NDArray[np.integer], Int64, npt.NDArray[np.float64]]:
    """Number of the counter, time and value of some ascending rows, without columns as long as all values."""
    at = np.arange(n_counter_rows(counters))[rows] if isinstance(rows, slice) else rows
    # Those of a counter are one slice.
    offsets = counters.offsets[: min(MAX_COUNTERS, len(counters.counters)) + 1]
    edges = np.searchsorted(at, offsets)
    shown = [
        (counter, at[low:high] - begin)
        for counter, begin, low, high in zip(counters.counters, offsets[:-1], edges[:-1], edges[1:], strict=False)
        if high > low
    ]
    time = np.concatenate([np.empty(0, np.int64), *(counter.time_ps[own] for counter, own in shown)])
    value = np.concatenate([np.empty(0), *(_sent(counter, own) for counter, own in shown)])
    return np.repeat(np.arange(len(offsets) - 1), np.diff(edges)), time, value


def _sent(counter: Counter, rows: Rows) -> Float64:
    """Values to a thousandth where the machine was sampled: more digits keep the bytes of all others from being whole numbers."""
    return np.round(counter.value[rows], 3) if counter.kind == "system" else counter.value[rows]


def sample_rows(counters: Counters, *, n_wanted: int = SAMPLE_ROWS) -> Int64:
    """At most some `n_wanted` rows, ascending: of each bin of time the first, last, smallest and largest value, its outline."""
    n_rows, n_counters = n_counter_rows(counters), min(MAX_COUNTERS, len(counters.counters))
    if n_rows <= n_wanted:
        return np.arange(n_rows)
    owner, time, value = _columns(counters)
    sizes = np.diff(counters.offsets[: n_counters + 1])
    is_long = sizes > n_wanted // n_counters
    n_bins = max(1, (n_wanted - int(sizes[~is_long].sum())) // (_KEPT_OF_BIN * int(is_long.sum())))
    begin, end = int(time.min()), int(time.max())
    key = owner * n_bins + (time - begin) // max(1, -(-(end - begin + 1) // n_bins))
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    ends = np.append(starts[1:], n_rows) - 1
    return np.unique(np.concatenate([starts, ends, longest_of_runs(key, value), longest_of_runs(key, -value)]))
