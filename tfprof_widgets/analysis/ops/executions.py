"""Kernels and copies of devices -> which of them are one execution of their op.

An op may enqueue many kernels each time it runs: a cuDNN LSTM some for each time step. TensorFlow numbers the annotation
under which an op (under XLA a thunk) enqueues its work, anew for each execution: `scope_range_id`.

Source: semantics 4.2.5.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, SmallInt, Trace
from ..base.event_graph import int_stat_at
from ..base.launches import Launches
from ..base.matching import dense_codes

_OF_SCOPE, _OF_CALL, _OF_RUN = range(3)


def device_executions(
    trace: Trace, rows: Int64, op: Int64, *, eager: Launches, launches: Launches, group: SmallInt
) -> Int64:
    """Number the executions on streams of devices from 0.

    Args:
        trace: the trace.
        rows: the events.
        op: what each runs; different ops, and different devices, are different executions.
        eager: those that the call of an eager op enqueued; one call is one execution.
        launches: the calls of the driver that enqueued device events.
        group: for each event of the trace the step that it belongs to.

    Returns:
        For each of `rows` its execution. Where the trace numbers no annotations, those are one that one thread enqueued for
        one op and step in a row.
    """
    called, told = eager.call_of(rows), int_stat_at(trace, "scope_range_id", rows, default=-1)
    kind = np.where(called >= 0, _OF_CALL, np.where(told >= 0, _OF_SCOPE, _OF_RUN))
    number = np.where(called >= 0, called, told)
    loose = np.flatnonzero(kind == _OF_RUN)
    if len(loose):
        number[loose] = _runs(trace, rows[loose], op[loose], launches.call_of(rows[loose]), group)
    # A kernel of a CUDA graph may have the annotation under which the graph was made, the same each time it is launched.
    graph, call = (int_stat_at(trace, key, rows) for key in ("cuda_graph_id", "correlation_id"))
    launch = np.where(graph != 0, call, 0)
    return dense_codes(op, trace.session_id[rows], trace.plane_id[rows], kind, number, launch)[0]


def _runs(trace: Trace, rows: Int64, op: Int64, call: Int64, group: SmallInt) -> Int64:
    """For each event its run of events of one op, one after the other in the order in which one thread enqueued them."""
    at = np.where(call >= 0, call, rows)
    order = np.lexsort((trace.start_ps[at], trace.line_id[at]))
    is_new: Bool = np.ones(len(rows), np.bool_)
    same = [column[order][1:] == column[order][:-1] for column in (op, trace.line_id[at], group[rows])]
    is_new[1:] = ~np.logical_and.reduce(same)
    run = np.empty(len(rows), np.int64)
    run[order] = np.cumsum(is_new) - 1
    return run
