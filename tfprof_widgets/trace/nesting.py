"""Sorted (line, start, duration) columns -> how events nest: depth, parent and self time of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_PIECE_EVENTS = 2**17
_MAX_SMALL_DEPTH = 2**14
"""Deeper than this needs 32 bits; there is room above it, so that adding one to an int16 never wraps."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Nesting:
    """How events nest within their line; arrays of one entry per event, in the order of the input."""

    depth: npt.NDArray[np.int16] | Int32
    """How many events enclose it, 0 for the outermost; int16 unless events nest deeper than that."""
    parent: Int32
    """Row of the innermost enclosing event, -1 for the outermost."""
    span_ps: Int64
    """Its duration, cut where a later event starts inside it and outlives it: the part in which it can be on top."""
    self_ps: Int64
    """`span_ps` minus the `span_ps` of its direct children: at every instant one event of a line is charged."""

    def __post_init__(self) -> None:
        """Make the columns read-only, as those of the trace are."""
        freeze((self.depth, self.parent, self.span_ps, self.self_ps))


def freeze(values: Iterable[object]) -> None:
    """Make the arrays among some values read-only."""
    for value in values:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


def nest(line_id: Int32, start_ps: Int64, duration_ps: Int64) -> Nesting:
    """Nest events that are sorted by (line, start, longest first).

    Intervals are half-open: an event that starts where another ends is its sibling, not its child. Of two events with
    the same start the longer is the parent (the earlier row when they are equal), and events without duration never
    have children. An event that starts inside another and outlives it ends the other's span and becomes its sibling.

    Args:
        line_id: line of each event, ascending.
        start_ps: start of each event.
        duration_ps: duration of each event, not negative; `start_ps + duration_ps` must fit in an int64.

    Returns:
        Arrays as long as the input; `span_ps` is a view of `duration_ps` where no event is cut. The `self_ps` of a line
        add up to the time that the line's events cover.

    Differs from XProf: a child that ends exactly with its parent, or overlaps its end, loses nothing (D4).
    """
    n = len(line_id)
    depth, parent = np.empty(n, np.int16), np.empty(n, np.int32)
    span_ps, self_ps = duration_ps.view(), np.empty(n, np.int64)
    is_cut = False
    for rows in _pieces(line_id):
        part_depth, part_parent, part_span = _nest_lines(line_id[rows], start_ps[rows], duration_ps[rows])
        if part_depth.max() > _MAX_SMALL_DEPTH:
            depth = depth.astype(np.int32)
        depth[rows] = part_depth
        if part_span is not None:
            span_ps, is_cut = (span_ps if is_cut else span_ps.copy()), True
            span_ps[rows] = part_span
        has_parent = np.flatnonzero(part_parent >= 0)
        own = self_ps[rows]
        own[:] = span_ps[rows]
        np.subtract.at(own, part_parent[has_parent], span_ps[rows][has_parent])
        part_parent[has_parent] += rows.start
        parent[rows] = part_parent
    return Nesting(depth=depth, parent=parent, span_ps=span_ps, self_ps=self_ps)


def _pieces(line_id: Int32) -> list[slice]:
    """The rows cut between lines into pieces that hold one long line or many short ones: they fit in a cache."""
    if not len(line_id):
        return []
    ends = [*(np.flatnonzero(line_id[1:] != line_id[:-1]) + 1).tolist(), len(line_id)]
    pieces, low = [], 0
    for end, next_end in zip(ends, [*ends[1:], 2 * len(line_id) + _PIECE_EVENTS], strict=True):
        if next_end - low > _PIECE_EVENTS:
            pieces.append(slice(low, end))
            low = end
    return pieces


def _nest_lines(line_id: Int32, start_ps: Int64, duration_ps: Int64) -> tuple[Int32, Int32, Int64 | None]:
    """Depth, parent and span of the events of some lines; None for the span where it is the duration throughout."""
    start, end = _line_time_keys(line_id, start_ps, start_ps + duration_ps)
    depth, parent = _nested(start, end, duration_ps > 0)
    inner = np.flatnonzero(parent >= 0)
    outlives = inner[end[inner] > end[parent[inner]]]
    if not len(outlives):
        return depth, parent, None
    # Nothing reaches over an event at depth 0: what stands between two of them nests, or does not, by itself.
    stretch = np.cumsum(depth == 0)
    does_overlap = np.zeros(stretch[-1] + 1, np.bool_)
    does_overlap[stretch[outlives]] = True
    rows = np.flatnonzero(does_overlap[stretch])
    own_start, own_end, span_ps = start[rows], end[rows], duration_ps.copy()
    outlived, by = _outlived(own_start, own_end)
    span_ps[rows[outlived]] = start_ps[rows[by]] - start_ps[rows[outlived]]
    own_end[outlived] = own_start[by]
    depth[rows], own_parent = _nested(own_start, own_end, duration_ps[rows] > 0)
    parent[rows] = np.where(own_parent >= 0, rows[own_parent], -1)
    return depth, parent, span_ps


def _nested(start: Int64, end: Int64, can_enclose: npt.NDArray[np.bool_]) -> tuple[Int32, Int32]:
    """Depth and parent of events of which none outlives one that it starts in; of others where they start."""
    n_started: Int64 = np.cumsum(can_enclose) - can_enclose
    # Events without duration enclose nothing; leaving them out makes "ended by then" imply "came before".
    # Ends are nearly in order, of which only the stable sort makes use; so are most columns of times.
    n_ended = np.searchsorted(np.sort(end[can_enclose], kind="stable"), start, side="right")
    depth = (n_started - n_ended).astype(np.int32)
    return depth, _latest_one_level_up(depth, can_enclose)


def _outlived(start: Int64, end: Int64) -> tuple[Int64, Int64]:
    """The events in which a later one starts that ends after them, and the first such one of each."""
    n = len(start)
    n_inside = np.searchsorted(start, end) - np.arange(n)
    by = _first_larger(end, int(n_inside.max()).bit_length())
    outlived = np.flatnonzero(np.append(start, _NEVER)[by] < end)
    return outlived, by[outlived]


def _first_larger(values: Int64, n_levels: int) -> Int64:
    """For each value the place of the first larger one behind it, if it is among the next `2**n_levels`; else one beyond those.

    Blocks of 2, 4, 8, ... values, of which the largest is known, are passed by whole: first ever larger ones, then smaller.
    """
    largest = [np.append(values, _NEVER)]
    for _ in range(n_levels):
        below = largest[-1] if len(largest[-1]) % 2 == 0 else np.append(largest[-1], _NEVER)
        largest.append(np.maximum(below[::2], below[1::2]))
    at = np.arange(1, len(values) + 1)

    def pass_by(level: int, rows: Int64) -> None:
        rows = rows[largest[level][at[rows] >> level] <= values[rows]]
        at[rows] += 1 << level

    for level in range(n_levels):
        pass_by(level, np.flatnonzero(at & ((2 << level) - 1) == 1 << level))
    for level in range(n_levels, -1, -1):
        pass_by(level, np.flatnonzero(at & ((1 << level) - 1) == 0))
    return at


def _line_time_keys(line_id: Int32, start_ps: Int64, end_ps: Int64) -> tuple[Int64, Int64]:
    """Start and end of each event as one int64 ordered by (line, time), so that an earlier line's ends come first."""
    if not len(start_ps):
        return start_ps, end_ps
    first, last = int(start_ps.min()), int(end_ps.max())
    width = last - first + 1
    line = line_id.astype(np.int64)
    if width * (int(line[-1]) + 1) < 2**63:
        base = line * width - first
        return base + start_ps, base + end_ps
    # Too wide to pack: order the times by their rank instead.
    times, rank = np.unique(np.concatenate([start_ps, end_ps]), return_inverse=True)
    base = line * len(times)
    return base + rank[: len(line)], base + rank[len(line) :]


def _latest_one_level_up(depth: Int32, can_enclose: npt.NDArray[np.bool_]) -> Int32:
    """Per event: the last row before it that is one level less deep and has a duration; -1 at level 0.

    Where a line nests properly this is the parent. Where it does not, the first event that breaks the rule still finds
    the innermost open event here, and outlives it: so one comparison of ends finds every line that does not nest.
    """
    n = len(depth)
    parent = np.full(n, -1, np.int32)
    enclosing = np.flatnonzero(can_enclose)
    enclosing = enclosing[np.argsort(depth[enclosing], kind="stable")]
    key = depth[enclosing].astype(np.int64) * n + enclosing
    inner = np.flatnonzero(depth > 0)
    inner = inner[np.argsort(depth[inner], kind="stable")]  # ascending queries keep searchsorted in cache
    found = np.searchsorted(key, (depth[inner].astype(np.int64) - 1) * n + inner) - 1
    parent[inner] = enclosing[found]
    return parent
