"""Host events -> what a step waits for while they run: computing, launching, synchronising and so on.

Source: semantics 3.7.
"""

from __future__ import annotations

import re

import numpy as np

from ...trace.trace import Bool, Trace, UInt8
from ..base.data_threads import within_data
from ..base.event_graph import nearest_marked
from ..base.event_names import by_ends
from ..base.op_names import OpCategory, OpNames
from .categories import Part
from .launch_pieces import launches_below
from .step_spans import SpanType, on_host, sessions_with_device

NONE = 255
"""Of an event that tells nothing by itself: what lies around it does, or else that the host does anything at all."""

_EXECUTOR = "ExecutorState::Process"
_CALL = "EagerLocalExecute: "
_SYNC = re.compile(r"(cu|cuda|hip)\w*Synchronize|Block\w*Until\w+|MemcpyD2H\b|EagerLocalExecute: OptionalHasValue\Z")
"""The host waits for the device: calls of the driver, and what Keras asks after each step."""
_CHECKPOINT = re.compile(r"(.*:|EagerLocalExecute: )(Save(V2|Slices)?|Restore(V2|Slice)?|MergeV2Checkpoints)\Z")
_HAND_OVER = re.compile(r".*:_?(Host)?(Send|Recv)\Z")
"""Ops that compute nothing."""
_CPU_WORK = ("ParallelFor", "ThunkExecutor::Execute", "CpuExecutable::ExecuteAsyncOnStream")
"""What threads of a CPU run for an op or a program of XLA, under names of their own."""


def host_parts(trace: Trace, types: UInt8) -> UInt8:
    """The `Part` of each host event, `NONE` where it tells nothing by itself.

    An op that encloses a call of the driver launches; any other op computes on the CPU. An eager call of TensorFlow 2.21
    leaves no event of its op: where no device is, the run of its kernel stands for it.

    Args:
        trace: the trace.
        types: the result of `classify`.
    """
    parts = np.full(trace.n_events, NONE, np.uint8)
    host = on_host(trace)
    parts[host] = by_ends(trace, _parts, np.uint8)[trace.name_id[host]]
    with_device = sessions_with_device(trace)[trace.session_id]
    parts[(parts == Part.SYNC) & ~with_device] = NONE
    is_op = (parts == Part.HOST_COMPUTE) | (host & trace.has_stat("hlo_op") & ~with_device)
    parts[is_op | (host & ~with_device & _eager_kernels(trace))] = Part.HOST_COMPUTE
    if with_device.any():
        # A device waits for a batch, and not for the ops and launches of the functions that make it.
        of_data = with_device & within_data(trace)
        parts[of_data & np.isin(parts, (Part.HOST_COMPUTE, Part.DISPATCH))] = NONE
        own = with_device & ~of_data
        parts[is_op & own & launches_below(trace)] = Part.KERNEL_LAUNCH
        launches = host & own & trace.has_stat("correlation_id")
        parts[launches & (parts != Part.SYNC)] = Part.KERNEL_LAUNCH
    parts[host & (types == SpanType.COMPILE)] = Part.COMPILE
    parts[host & np.isin(types, (SpanType.WAIT_INPUT, SpanType.HOST_TO_DEVICE))] = Part.INPUT
    return parts


def _parts(names: list[str], parsed: OpNames) -> list[int]:
    return [_part(name, category) for name, category in zip(names, parsed.category.tolist(), strict=True)]


def _part(name: str, category: int) -> int:
    if name.startswith(_EXECUTOR):
        return Part.DISPATCH
    if _CHECKPOINT.match(name):
        return Part.CHECKPOINT
    if _SYNC.match(name):
        return Part.SYNC
    is_op = category == OpCategory.TENSORFLOW and ":" in name and not _HAND_OVER.match(name)
    return Part.HOST_COMPUTE if is_op or name in _CPU_WORK else NONE


def _eager_kernels(trace: Trace) -> Bool:
    """For each event whether it runs the kernel of an eager call of an op, not of a function."""
    name = by_ends(trace, lambda names, _: [one.startswith("KernelAndDevice") for one in names], np.bool_)
    runs = name[trace.name_id]
    if not runs.any():
        return np.zeros(trace.n_events, np.bool_)
    parent = trace.nesting.parent
    execute = nearest_marked(parent, trace.names_matching(["EagerExecute"]))
    is_function = np.append(trace.int_stat("is_func", default=1, signed_only=True), 1)
    return np.asarray(runs & (is_function[execute] == 0))
