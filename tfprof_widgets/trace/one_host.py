"""A trace of several hosts -> the part of it that is of one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .trace import Trace


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
    """For each row its number among those kept, -1 for the others."""
    return np.where(kept, np.cumsum(kept) - 1, -1)
