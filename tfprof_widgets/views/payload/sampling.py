"""All events -> those that a first picture needs: the longest of each row and bin of time."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Float64, Int64, Trace
from .positions import Positions
from .tiles import Tiles

_BINS = 2048
"""Over a span; more are never seen at once."""
_BLOCK_EVENTS = 2**18
"""Looked at together, so that nothing is as long as the trace."""
_HOME_SHARE = 0.5
"""Of the sample, for the typical steps that the reader sees first."""


def sample_events(tiles: Tiles, home_ps: tuple[float, float], *, n_wanted: int) -> Int64:
    """Choose some `n_wanted` positions, ascending.

    Each row is cut into equal bins of time, as many as the wanted number allows, and each bin keeps its longest event: a row
    that has events is not empty, and a gap wider than a bin stays a gap. The span that is seen first gets bins of its own.
    To those come the events that cross an edge of a tile, which the tile that shows their end does not hold.

    Args:
        tiles: what to choose from.
        home_ps: the span that is seen first.
        n_wanted: how many; a few more where events cross edges. Of more rows than that the longest events are kept.
    """
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
