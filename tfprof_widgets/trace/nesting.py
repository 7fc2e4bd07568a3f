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
    end_ps = start_ps + duration_ps
    depth = _count_enclosing(line_id, start_ps, end_ps)
    parent = _latest_one_level_up(depth, duration_ps > 0)
    inner = np.flatnonzero(parent >= 0)
    outlives = inner[end_ps[inner] > end_ps[parent[inner]]]
    if not len(outlives):
        return depth, parent, None
    span_ps = duration_ps.copy()
    # Nothing reaches over an event at depth 0: what stands between two of them nests, or does not, by itself.
    stretch = np.cumsum(depth == 0)
    does_overlap = np.zeros(stretch[-1] + 1, np.bool_)
    does_overlap[stretch[outlives]] = True
    overlapping = np.flatnonzero(does_overlap[stretch])
    for line in np.unique(line_id[outlives]).tolist():
        rows = overlapping[slice(*np.searchsorted(line_id[overlapping], [line, line + 1]))]
        depth[rows], line_parent, span_ps[rows] = _nest_overlapping(start_ps[rows], end_ps[rows])
        parent[rows] = np.where(line_parent >= 0, rows[line_parent], -1)
    return depth, parent, span_ps


def _count_enclosing(line_id: Int32, start_ps: Int64, end_ps: Int64) -> Int32:
    """Per event: how many events of its line stand before it minus how many of those had ended when it started.

    Events without duration enclose nothing; leaving them out makes "ended by then" imply "came before".
    """
    can_enclose = end_ps > start_ps
    start_key, end_key = _line_time_keys(line_id, start_ps, end_ps)
    n_started: Int64 = np.cumsum(can_enclose) - can_enclose
    # Ends are nearly in order, of which only the stable sort makes use; so are most columns of times.
    n_ended = np.searchsorted(np.sort(end_key[can_enclose], kind="stable"), start_key, side="right")
    return (n_started - n_ended).astype(np.int32)


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


def _nest_overlapping(start_ps: Int64, end_ps: Int64) -> tuple[Int32, Int32, Int64]:
    """Depth, parent (which of them, -1 none) and span of some events of one line: a loop over them with a stack."""
    depth, parent, span_end = [], [], end_ps.tolist()
    stack: list[int] = []
    for row, (start, end) in enumerate(zip(start_ps.tolist(), end_ps.tolist(), strict=True)):
        while stack and span_end[stack[-1]] <= start:
            stack.pop()
        while stack and span_end[stack[-1]] < end:
            span_end[stack.pop()] = start  # outlived: from here on the later event is on top
        depth.append(len(stack))
        parent.append(stack[-1] if stack else -1)
        if end > start:
            stack.append(row)
    span_ps = np.array(span_end, np.int64) - start_ps
    return np.array(depth, np.int32), np.array(parent, np.int32), span_ps
