"""Steps and rows -> what the timeline shows before any event has come: its first window, and how busy the capture is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...analysis.facts.totals import Totals
from ...trace.stat_shapes import ranges
from ...trace.trace import Float64, Int64, Session, Trace
from .positions import Positions

N_STEPS = 8
"""In which a reader sees who waits for whom."""
KEPT_STEPS = 3
"""Of those, in their middle: a page keeps every event of so many."""
_MARGIN = 0.05
_MIN_SPAN_PS = 1000.0
N_BINS = 512
_BLOCK_EVENTS = 2**20
_SPARSE = 10
"""Sessions that fill less than this part of the capture are shown before the time between them."""

Span = tuple[float, float]


def bounds_of(facts: Totals, duration_ps: int) -> Span:
    """The whole capture as the timeline draws it, in ps: from 0 to the end of the last event or step, at least 1 us."""
    steps = facts.steps.frame
    end = int((steps["start_ps"] + steps["duration_ps"]).max()) if len(steps) else 0
    return 0.0, float(max(1_000_000, duration_ps, end))


def first_view(facts: Totals, bounds: Span) -> Span:
    """A few typical steps; the whole capture where it is little more than those, or has no steps; its first session where
    sessions are far apart."""
    few = _span_of(facts, N_STEPS)
    if few is not None:
        is_most = bounds[1] - bounds[0] < 3 * (few[1] - few[0])
        return bounds if is_most else _fitted(few, bounds)
    sessions = facts.trace.sessions
    if len(sessions) > 1 and _captured_ps(sessions, bounds) < (bounds[1] - bounds[0]) / _SPARSE:
        return _fitted((float(sessions[0].start_ps), float(sessions[0].stop_ps)), bounds)
    return bounds


def kept_view(facts: Totals, bounds: Span) -> Span:
    """From when to when a page keeps every event: three typical steps; without steps the first view."""
    return _span_of(facts, KEPT_STEPS) or first_view(facts, bounds)


def _span_of(facts: Totals, n_steps: int) -> Span | None:
    """When at most so many typical steps of the first host begin and end."""
    # Steps of several hosts run at the same time: eight of a hundred hosts would be less than one.
    columns = (facts.steps.frame[name].to_numpy() for name in ("host", "session", "start_ps", "duration_ps"))
    host, session, start_ps, duration_ps = columns
    of_one = np.flatnonzero(host == host[:1])
    few = typical_steps(facts.is_averaged[of_one], session[of_one], n_steps)
    if few is None:
        return None
    first, last = of_one[list(few)].tolist()
    return float(start_ps[first]), float(start_ps[last] + duration_ps[last])


def _captured_ps(sessions: Sequence[Session], bounds: Span) -> float:
    """Time within the bounds that is not between two sessions."""
    ordered = sorted(sessions, key=lambda session: session.start_ps)
    between, reached = 0.0, ordered[0].stop_ps
    for session in ordered[1:]:
        between += max(0.0, min(session.start_ps, bounds[1]) - reached)
        reached = max(reached, session.stop_ps)
    return bounds[1] - bounds[0] - between


def typical_steps(is_averaged: np.ndarray, session: np.ndarray, n_steps: int = N_STEPS) -> tuple[int, int] | None:
    """First and last of at most so many neighbouring usual steps of the session in the middle; None without usual steps."""
    usual = np.flatnonzero(is_averaged)
    if not len(usual):
        return None
    first = last = int(usual[max(0, (len(usual) - n_steps) // 2)])
    like = np.asarray(is_averaged, np.bool_) & (session == session[first])
    while last - first + 1 < n_steps and last + 1 < len(like) and like[last + 1]:
        last += 1
    while last - first + 1 < n_steps and first > 0 and like[first - 1]:
        first -= 1
    return first, last


def _fitted(span: Span, bounds: Span) -> Span:
    """A span with a margin on both sides, moved and cut so that it lies within the bounds."""
    pad = max(_MIN_SPAN_PS, (span[1] - span[0]) * _MARGIN)
    length = min(bounds[1] - bounds[0], span[1] - span[0] + 2 * pad)
    start = min(max(span[0] - pad, bounds[0]), bounds[1] - length)
    return start, start + length


def activity(trace: Trace, positions: Positions, bounds: Span) -> dict[str, list[float]]:
    """Share of each of 512 equal bins of the capture in which it is busy, 0 to 1.

    By `host`: the mean over the lines of hosts. By `device`: in which any stream of a device works, the mean over the devices
    that do anything. Derived lines do not count; none where there are no others.
    """
    first_rows = np.flatnonzero(positions.row_depth == 0)
    lines = positions.lines[positions.row_line[first_rows]].tolist()
    hosts: list[Int64] = []
    devices: dict[int, list[int]] = {}
    for row, number in zip(first_rows.tolist(), lines, strict=True):
        line = trace.lines[number]
        plane = trace.planes[line.plane]
        if plane.is_host and not line.is_derived:
            hosts.append(np.array([row], np.int64))
        elif plane.is_device and not line.is_derived:
            devices.setdefault(line.plane, []).append(row)
    groups = {"host": hosts, "device": [np.array(rows, np.int64) for rows in devices.values()]}
    return {kind: _busy(trace, positions, rows, bounds) for kind, rows in groups.items()}


def _busy(trace: Trace, positions: Positions, groups: list[Int64], bounds: Span) -> list[float]:
    """Share of each bin in which an event of a group of rows is on, the mean over the groups; none without groups."""
    if not groups:
        return []
    covered, scale = np.zeros(N_BINS + 1), N_BINS / (bounds[1] - bounds[0])
    for rows in groups:  # bounded by the lines of the trace
        begin = positions.row_offsets[rows]
        chosen = ranges(begin, positions.row_offsets[rows + 1] - begin)
        start = trace.start_ps[events := positions.order[chosen]]
        end = start + trace.nesting.span_ps[events]
        if len(rows) > 1:
            start, end = _joined(start, end)
        for first in range(0, len(start), _BLOCK_EVENTS):  # by block, to spare memory
            on, off = (ps[first : first + _BLOCK_EVENTS].astype(np.float64) for ps in (start, end))
            covered += _passed((on - bounds[0]) * scale) - _passed((off - bounds[0]) * scale)
    return [round(share, 4) for share in np.clip(np.diff(covered) / len(groups), 0, 1).tolist()]


def _joined(start: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Of events that overlap each what those that began before it leave."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    return np.maximum(start, np.append(start[:1], end[:-1])), end


def _passed(times: Float64) -> Float64:
    """For each edge of the bins by how much it is after the times before it, added up; all in bins."""
    times = np.clip(times, 0, N_BINS)
    bins = times.astype(np.intp)
    n, total = (np.bincount(bins, weights, N_BINS + 1).cumsum() for weights in (None, times))
    return np.append(0.0, np.arange(1, N_BINS + 1) * n[:-1] - total[:-1])
