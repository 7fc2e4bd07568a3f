"""A trace -> the same run many times over: real nesting, names and stats at any size."""

from __future__ import annotations

import dataclasses

import numpy as np

from tfprof_widgets.trace import Session, Trace, ranges


def repeated(trace: Trace, n_times: int) -> Trace:
    """Each line's events `n_times` in a row, each time later by the length of the capture."""
    period = int(trace.end_ps.max()) + 1
    offsets = trace.line_offsets
    counts = np.diff(offsets)
    rows = ranges(np.repeat(offsets[:-1], n_times), np.repeat(counts, n_times))
    later = np.repeat(np.tile(np.arange(n_times), len(counts)), np.repeat(counts, n_times)) * period
    columns = {name: getattr(trace, name)[rows] for name in PER_EVENT}
    return dataclasses.replace(
        trace,
        **columns,
        start_ps=trace.start_ps[rows] + later,
        stats=trace.stats.taken(rows),
        sessions=tuple(Session(s.host, s.start_ps, s.stop_ps + period * (n_times - 1)) for s in trace.sessions),
    )


PER_EVENT = ("duration_ps", "name_id", "line_id", "metadata_id", "session_id", "n_occurrences")
