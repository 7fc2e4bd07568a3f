"""Nested events -> at every instant the innermost one: stretches of one event each, without overlap."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from .event_graph import nearest_marked


def innermost(trace: Trace, chosen: Bool) -> tuple[Int64, Int64, Int64]:
    """Stretches in which an event is the innermost of the chosen ones on its line.

    Args:
        trace: the trace.
        chosen: for each event whether it counts; the others are looked through.

    Returns:
        Event, start and end of each stretch, by line, then time.
    """
    parent = trace.nesting.parent
    span_ps = trace.nesting.span_ps
    rows = np.flatnonzero(chosen & (span_ps > 0))
    above = np.append(nearest_marked(parent, chosen), -1)[parent[rows]]
    time = np.concatenate([trace.start_ps[rows], trace.start_ps[rows] + span_ps[rows]])
    line = np.concatenate([trace.line_id[rows]] * 2)
    is_start = np.arange(len(time)) < len(rows)
    top = np.concatenate([rows, above])
    # At one instant what ends goes first, the innermost before what is around it; then what starts, from the outside in.
    depth = np.concatenate([trace.nesting.depth[rows], -trace.nesting.depth[rows]])
    order = np.lexsort((depth, is_start, time, line))
    time, line, top = time[order], line[order], top[order]
    kept = np.flatnonzero((line[1:] == line[:-1]) & (time[1:] > time[:-1]) & (top[:-1] >= 0))
    return top[kept], time[kept], time[kept + 1]
