"""A trace of several hosts -> the part of it that is of one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .trace import MAX_PS, Trace


def host_names(trace: Trace) -> tuple[str, ...]:
    """The hosts of a trace, in the order of their planes; those of sessions alone come last."""
    planes = [plane.host for plane in trace.planes]
    return tuple(dict.fromkeys(planes + [session.host for session in trace.sessions if not trace.planes]))


def of_host(trace: Trace, host: str) -> Trace:
    """The planes of one host with their events, on the clock of the whole trace; its strings stay as they are."""
    if host_names(trace) == (host,):
        return trace
    has_plane = np.array([plane.host == host for plane in trace.planes], np.bool_)
    has_line = np.array([has_plane[line.plane] for line in trace.lines], np.bool_)
    has_session = np.array([session.host == host for session in trace.sessions], np.bool_)
    events = np.flatnonzero(trace.on_lines(has_line))
    plane_of, line_of, session_of = (_numbers(kept) for kept in (has_plane, has_line, has_session))
    sessions = tuple(one for one in trace.sessions if one.host == host)
    if not sessions or (session_of[trace.session_id[events]] < 0).any():  # a session that several hosts share
        session_of, sessions = np.arange(len(trace.sessions)), trace.sessions
    planes = [plane for plane in trace.planes if plane.host == host]
    return replace(
        trace,
        planes=tuple(planes),
        lines=tuple(
            replace(line, plane=int(plane_of[line.plane]))
            for line, kept in zip(trace.lines, has_line.tolist(), strict=True)
            if kept
        ),
        sessions=sessions,
        start_ps=trace.start_ps[events],
        duration_ps=trace.duration_ps[events],
        name_id=trace.name_id[events],
        line_id=line_of[trace.line_id[events]].astype(np.int32),
        metadata_id=trace.metadata_id[events],
        session_id=session_of[trace.session_id[events]].astype(np.int32),
        n_occurrences=trace.n_occurrences[events],
        stats=trace.stats.taken(events),
        # What other hosts compiled, such as an XLA program, is nobody's here.
        metadata_plane_id=np.append(plane_of, -1)[trace.metadata_plane_id].astype(np.int32),
    )


def _numbers(kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    return np.where(kept, np.cumsum(kept) - 1, -1)


MAX_DAYS = MAX_PS / 86400e12
"""As far as times of one trace reach, in days."""


def days_from_most(origins_ns: Sequence[int]) -> tuple[float, ...]:
    """By how many days each origin is before (less than 0) or after the most of them that have a common clock."""
    told = sorted(origin for origin in origins_ns if origin)
    if not told:
        return (0.0,) * len(origins_ns)
    ends = [bisect_right(told, origin + MAX_PS // 1000) for origin in told]
    first = max(range(len(told)), key=lambda i: (ends[i] - i, i))
    low, high = told[first], told[ends[first] - 1]
    return tuple((origin - min(max(origin, low), high)) / 86400e9 if origin else 0.0 for origin in origins_ns)


def other_times(origins_ns: Sequence[int]) -> dict[int, str]:
    """Why some cannot be shown beside the others, by their number; empty where all have a common clock."""
    far = {number: days for number, days in enumerate(days_from_most(origins_ns)) if days}
    n_told = sum(1 for origin in origins_ns if origin)
    chosen = "" if 2 * len(far) < n_told else "; as no time is that of most, the latest are shown"
    return {
        number: (
            f"it starts {abs(days):.1f} days {'before' if days < 0 else 'after'} the others, more than {MAX_DAYS:.1f}: "
            f"it is of another run, or its clock is wrong{chosen}"
        )
        for number, days in far.items()
    }
