"""Steps and rows -> what the timeline shows before any event has come: its first window, and how busy the capture is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...analysis.facts.totals import Totals
from ...trace.trace import Float64, Int32, Session, Trace
from .positions import Positions

N_STEPS = 8
"""In which a reader sees who waits for whom."""
_MARGIN = 0.05
_MIN_SPAN_PS = 1000.0
N_BINS = 512
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
    # Steps of several hosts run at the same time: eight of a hundred hosts would be less than one.
    of_one = facts.steps.frame["host"].to_numpy() == facts.steps.frame["host"].iloc[:1].to_numpy()
    steps = facts.steps.frame[of_one]
    few = typical_steps(facts.is_averaged[of_one], steps["session"].to_numpy())
    if few is not None:
        start = float(steps["start_ps"].iloc[few[0]])
        end = float(steps["start_ps"].iloc[few[1]] + steps["duration_ps"].iloc[few[1]])
        is_most = bounds[1] - bounds[0] < 2 * (end - start)
        return bounds if is_most else _fitted((start, end), bounds)
    sessions = facts.trace.sessions
    if len(sessions) > 1 and _captured_ps(sessions, bounds) < (bounds[1] - bounds[0]) / _SPARSE:
        return _fitted((float(sessions[0].start_ps), float(sessions[0].stop_ps)), bounds)
    return bounds


def _captured_ps(sessions: Sequence[Session], bounds: Span) -> float:
    """Time within the bounds that is not between two sessions."""
    ordered = sorted(sessions, key=lambda session: session.start_ps)
    between, reached = 0.0, ordered[0].stop_ps
    for session in ordered[1:]:
        between += max(0.0, min(session.start_ps, bounds[1]) - reached)
        reached = max(reached, session.stop_ps)
    return bounds[1] - bounds[0] - between


def typical_steps(is_averaged: np.ndarray, session: np.ndarray) -> tuple[int, int] | None:
    """First and last of at most `N_STEPS` neighbouring usual steps of the session in the middle; None without usual steps."""
    usual = np.flatnonzero(is_averaged)
    if not len(usual):
        return None
    first = last = int(usual[max(0, (len(usual) - N_STEPS) // 2)])
    like = np.asarray(is_averaged, np.bool_) & (session == session[first])
    while last - first + 1 < N_STEPS and last + 1 < len(like) and like[last + 1]:
        last += 1
    while last - first + 1 < N_STEPS and first > 0 and like[first - 1]:
        first -= 1
    return first, last


def _fitted(span: Span, bounds: Span) -> Span:
    """A span with a margin on both sides, moved and cut so that it lies within the bounds."""
    pad = max(_MIN_SPAN_PS, (span[1] - span[0]) * _MARGIN)
    length = min(bounds[1] - bounds[0], span[1] - span[0] + 2 * pad)
    start = min(max(span[0] - pad, bounds[0]), bounds[1] - length)
    return start, start + length


def activity(trace: Trace, positions: Positions, bounds: Span) -> dict[str, list[float]]:
    """Share of each of 512 equal bins of the capture in which lines are busy, 0 to 1, the mean over the lines.

    By `host` and `device`: all lines of such planes that have events and are not derived; none where there are no such lines.
    """
    edges = np.linspace(bounds[0], bounds[1], N_BINS + 1)
    first_rows = np.flatnonzero(positions.row_depth == 0)
    lines = positions.lines[positions.row_line[first_rows]].tolist()
    found: dict[str, list[Float64]] = {"host": [], "device": []}
    for row, number in zip(first_rows.tolist(), lines, strict=True):
        line = trace.lines[number]
        plane = trace.planes[line.plane]
        if line.is_derived or not (plane.is_host or plane.is_device):
            continue
        events = positions.order[positions.row_offsets[row] : positions.row_offsets[row + 1]]
        found["host" if plane.is_host else "device"].append(_busy(trace, events, edges))
    return {
        kind: [round(share, 4) for share in np.mean(shares, axis=0).tolist()] if shares else []
        for kind, shares in found.items()
    }


def _busy(trace: Trace, events: Int32, edges: Float64) -> Float64:
    """Share of each bin that the events of one row cover."""
    start = trace.start_ps[events].astype(np.float64)
    span = trace.nesting.span_ps[events].astype(np.float64)
    before = np.searchsorted(start, edges, side="right")
    covered = np.concatenate([[0.0], np.cumsum(span)])
    last = np.maximum(before - 1, 0)
    beyond = np.where(before > 0, np.maximum(start[last] + span[last] - edges, 0), 0)
    return np.asarray(np.clip(np.diff(covered[before] - beyond) / np.diff(edges), 0, 1), np.float64)
