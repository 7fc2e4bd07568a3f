"""Steps -> which events count for each: those that it led to, or those that ran during it."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, SmallInt, Trace, UInt8
from .step_spans import SpanType, on_stream
from .step_table import StepTable


def device_events(trace: Trace, types: UInt8) -> Int64:
    """What ran on streams of devices; rows of the trace."""
    return np.flatnonzero(on_stream(trace) & (types != SpanType.NONE) & (trace.duration_ps > 0))


def spans_by_time(trace: Trace, events: Int64, table: StepTable, steps: Bool) -> tuple[Int64, Int64]:
    """Pair events with every one of some steps (no two of a session overlap) of their session that they overlap."""
    rows, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for session in np.unique(table.session[steps]).tolist():  # bounded by the number of sessions
        own = events[trace.session_id[events] == session]
        span, step = table.during(
            np.flatnonzero(steps & (table.session == session)), trace.start_ps[own], trace.ends(own)
        )
        rows.append(own[span])
        found.append(step)
    return np.concatenate(rows), np.concatenate(found)


def outermost_spans(trace: Trace, types: UInt8, member: SmallInt) -> Int64:
    """Events with a type and a step, less those inside an event of the same type and step, which add nothing."""
    counted = (types != SpanType.NONE) & (member >= 0) & (trace.duration_ps > 0)
    rows = np.flatnonzero(counted)
    parent = trace.nesting.parent[rows]
    repeated = (parent >= 0) & counted[parent] & (types[parent] == types[rows]) & (member[parent] == member[rows])
    outermost: Int64 = rows[~repeated]
    return outermost
