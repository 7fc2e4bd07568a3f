"""Executor threads of a machine with devices -> when they launched kernels, and when they ran ops on the CPU instead."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, SmallInt, Trace, UInt8
from ..base.event_names import by_ends
from ..base.innermost import innermost
from ..base.op_names import OpCategory
from .step_spans import SpanType, on_host


def launch_pieces(trace: Trace, types: UInt8, member: SmallInt) -> tuple[Int64, Int64, Int64]:
    """Stretches of kernel launching that belong to a step.

    `ExecutorState::Process` spans every op that its thread runs, one that launches a kernel as well as one that computes on
    the CPU. The latter is host compute, and the executor's span has a hole there.

    Args:
        trace: the trace.
        types: the result of `classify`.
        member: for each event the step whose work it is, -1 for none.

    Differs from XProf: there host compute inside the executor counts as kernel launch, on the releases that count host
    events of a GPU step at all (semantics 3.4).
    """
    launches = (types == SpanType.KERNEL_LAUNCH) & (member >= 0) & (trace.duration_ps > 0)
    if not launches.any():
        none = np.empty(0, np.int64)
        return none, none, none
    on_cpu = (types == SpanType.HOST_COMPUTE) & (member >= 0) & _is_op(trace) & ~launches_below(trace)
    event, start, end = innermost(trace, launches | on_cpu)
    kept = launches[event]
    return event[kept], start[kept], end[kept]


def _is_op(trace: Trace) -> Bool:
    is_op = by_ends(trace, lambda _, parsed: parsed.category == OpCategory.TENSORFLOW, np.bool_)
    found: Bool = is_op[trace.name_id]
    return found


def launches_below(trace: Trace) -> Bool:
    """For each event whether it is, or encloses on its thread, a call of the device's driver."""
    found = on_host(trace) & trace.has_stat("correlation_id")
    at = np.flatnonzero(found)
    while len(at):  # bounded by the depth of nesting
        at = np.unique(trace.nesting.parent[at])
        at = at[at >= 0]
        at = at[~found[at]]
        found[at] = True
    return found
