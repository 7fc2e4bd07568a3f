"""Exchanges of hosts -> the part of them in which the step computed nothing, as pieces of steps."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, Trace, UInt8
from ..base.event_names import by_ends
from ..base.op_names import OpCategory, OpNames
from .exchanges import find_exchanges
from .step_pieces import resolve
from .step_spans import SpanType, on_host
from .step_table import StepTable


def exchange_pieces(trace: Trace, types: UInt8, table: StepTable) -> tuple[Int64, Int64, Int64, UInt8]:
    """The waiting of each step for other hosts: its exchanges, without the time in which an op of it computed on the host.

    A gradient may be on its way while the next one is computed; that costs nothing. The calls of the runtime around an op
    are no computation: one of them encloses the whole step.
    """
    exchanges = find_exchanges(trace)
    kept = (table.member[exchanges.event] >= 0) & (exchanges.end_ps > exchanges.start_ps)
    if not kept.any():
        none = np.empty(0, np.int64)
        return none, none, none, np.empty(0, np.uint8)
    step = table.member[exchanges.event[kept]].astype(np.int64)
    computing = np.flatnonzero(computes_on_host(trace, types) & (table.member >= 0) & (trace.duration_ps > 0))
    pieces = resolve(
        np.concatenate([step, table.member[computing]]).astype(np.int64),
        np.concatenate([exchanges.start_ps[kept], trace.start_ps[computing]]),
        np.concatenate([exchanges.end_ps[kept], trace.ends(computing)]),
        np.repeat(np.array([SpanType.HOST_COMPUTE, SpanType.COMPUTE_32], np.uint8), [len(step), len(computing)]),
        step_start_ps=table.start_ps,
        step_end_ps=table.end_ps,
    )
    waits = pieces.span_type == SpanType.HOST_COMPUTE
    kind = np.full(int(waits.sum()), SpanType.COLLECTIVES, np.uint8)
    return pieces.step[waits], pieces.start_ps[waits], pieces.end_ps[waits], kind


def computes_on_host(trace: Trace, types: UInt8) -> Bool:
    """For each event whether it is an op that computes on a host: no exchange, and no call of the runtime."""
    host = on_host(trace)
    is_op = by_ends(trace, _are_ops, np.bool_)
    found: Bool = (types == SpanType.HOST_COMPUTE) & is_op[trace.name_id] & host
    return found


def _are_ops(names: list[str], parsed: OpNames) -> list[bool]:
    """Names with a type, `dense/MatMul:MatMul`: without one, every call of the runtime would be an op."""
    kinds = zip(names, parsed.category.tolist(), strict=True)
    return [one == OpCategory.TENSORFLOW and ":" in name for name, one in kinds]
