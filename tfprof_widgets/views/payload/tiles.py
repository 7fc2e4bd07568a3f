"""Positions -> tiles: windows of time that hold some 75,000 events each, the pieces in which events travel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...trace.stat_shapes import ranges
from ...trace.trace import Float64, Int64, Trace
from .positions import Positions

TILE_EVENTS = 75_000
"""3 MB before compression, 1 MB after."""
_FEW_EVENTS = 10_000
"""Travel together, and a page keeps them all."""
_SAMPLES_PER_TILE = 1000
"""Of the starts of events, from which the edges are taken: exact to a thousandth of a tile, at no cost."""


@dataclass(frozen=True, eq=False, repr=False)
class Tiles:
    """Windows of time that follow each other; an event belongs to the one in which it starts."""

    trace: Trace
    positions: Positions
    edges_ps: Float64
    """Tile `k` is from `edges_ps[k]` to before `edges_ps[k + 1]`, in the numbers of the browser; the last one holds its end."""

    @property
    def n(self) -> int:
        """How many tiles there are, 0 without events."""
        return max(0, len(self.edges_ps) - 1)

    def bounds(self, tile: int) -> tuple[Int64, Int64]:
        """For each row the first position in a tile and the one after its last."""
        return self._row_bounds(tile), self._row_bounds(tile + 1)

    def positions_in(self, tile: int) -> Int64:
        """The positions of the events of a tile, ascending."""
        low, high = self.bounds(tile)
        return ranges(low, high - low)

    def overlapping(self, span_ps: tuple[float, float]) -> tuple[int, int]:
        """The first tile that a span overlaps and the one after the last; equal where there are no tiles."""
        if not self.n:
            return 0, 0
        inner = self.edges_ps[1:-1]
        low = int(np.searchsorted(inner, span_ps[0], side="right"))
        return low, max(low, int(np.searchsorted(inner, span_ps[1], side="left"))) + 1

    def counts(self) -> Int64:
        """How many events each tile holds."""
        return self._counts

    @cached_property
    def _counts(self) -> Int64:
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
        """For each row the first position that does not begin before a tile: a binary search in all rows at once."""
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
    """Cut the capture at quantiles of the starts of the events that travel, and around what is kept of a capture of many."""
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
