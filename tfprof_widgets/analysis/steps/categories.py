"""What step time is made of: the categories of this package, and the nine of XProf's guide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ...trace.arrays import Bool, Int64, SmallInt, UInt8
from ...trace.stats import ranges
from ...trace.trace import StatKind, Trace
from ..common import moments_of
from ..events import compute_launches, find_exchanges, innermost, nearest_marked, torch_ops
from ..grouping import within_data
from ..names import OpCategory, by_ends
from .spans import Pieces, SpanType, StepTable, on_host, resolve, sessions_with_device

STEP_CATEGORIES = (
    *("input", "copy_to_device", "host_compute", "dispatch", "kernel_launch", "sync", "device_compute"),
    *("device_to_device", "device_collectives", "output", "compile", "checkpoint", "other"),
)
"""What step time is made of, a category's code being its place; a stack has input at the bottom, on the common baseline."""
CATEGORY_LABELS = (
    *("Input", "Copy to device", "Host compute", "Python, dispatch", "Kernel launch", "Synchronising"),
    *("Device compute", "Device to device", "Communication", "Output", "Compilation", "Checkpoint", "Other"),
)
"""What a screen calls the categories."""
GUIDE_CATEGORIES = (
    *("input", "host_compute", "kernel_launch", "device_compute", "device_to_device", "device_collectives"),
    *("output", "compile", "other"),
)
"""The categories of TensorFlow's guide to its profiler, as XProf charges them."""
GUIDE_PREFIX = "guide_"
"""Before the names of their columns in `Steps.frame`."""

_GUIDE_OF_TYPE = {
    SpanType.OTHER: "other",
    SpanType.HOST_COMPUTE: "host_compute",
    SpanType.COMPILE: "compile",
    SpanType.HOST_TO_HOST: "other",
    SpanType.HOST_TO_DEVICE: "input",
    SpanType.KERNEL_LAUNCH: "kernel_launch",
    SpanType.COLLECTIVES: "device_collectives",
    SpanType.WAIT_INPUT: "input",
    SpanType.DEVICE_TO_DEVICE: "device_to_device",
    SpanType.DEVICE_TO_HOST: "output",
    SpanType.COMPUTE_32: "device_compute",
    SpanType.COMPUTE_16: "device_compute",
}
GUIDE_CODE = np.array([GUIDE_CATEGORIES.index(_GUIDE_OF_TYPE[SpanType(kind)]) for kind in range(12)], np.uint8)
"""From each `SpanType` to the place of its category in `GUIDE_CATEGORIES`."""


class Part(IntEnum):
    """What an instant of a step goes to; of several that are present the largest (semantics 3.7)."""

    OTHER = 0
    DISPATCH = 1
    HOST_COMPUTE = 2
    KERNEL_LAUNCH = 3
    OWN_DISPATCH = 4
    """What begins with `OWN` is done by the thread that launches what the device runs next."""
    SYNC = 5
    LATENCY = 6
    """What the device runs next was launched while it idled, and has not begun."""
    QUEUED = 7
    """What the device runs next was launched before it fell idle."""
    CHECKPOINT = 8
    COMPILE = 9
    EXCHANGE = 10
    """Waiting for other hosts."""
    INPUT = 11
    OWN_HOST_COMPUTE = 12
    OWN_KERNEL_LAUNCH = 13
    OWN_SYNC = 14
    OWN_CHECKPOINT = 15
    OWN_COMPILE = 16
    OWN_INPUT = 17
    COPY_TO_DEVICE = 18
    OUTPUT = 19
    DEVICE_TO_DEVICE = 20
    COLLECTIVES = 21
    COMPUTE = 22


_CATEGORY_OF_PART = {
    Part.EXCHANGE: "device_collectives",
    Part.LATENCY: "kernel_launch",
    Part.QUEUED: "other",
    Part.COLLECTIVES: "device_collectives",
    Part.COMPUTE: "device_compute",
}
"""Of those that are not called as their category."""
CATEGORY_CODE = np.array(
    [
        STEP_CATEGORIES.index(_CATEGORY_OF_PART.get(part, part.name.lower().removeprefix("own_")))
        for part in sorted(Part)
    ],
    np.uint8,
)
"""From each `Part` to the place of its category in `STEP_CATEGORIES`."""
OWN = np.array(
    [Part[f"OWN_{part.name}"] if f"OWN_{part.name}" in Part.__members__ else part for part in sorted(Part)], np.uint8
)
"""From each `Part` of hosts to that of the thread that launches."""

PART_OF_TYPE = np.full(256, Part.OTHER, np.uint8)
"""From the `SpanType` of an event of a device to its `Part`."""
PART_OF_TYPE[SpanType.COMPUTE_32 : SpanType.NONE] = Part.COMPUTE
PART_OF_TYPE[SpanType.HOST_TO_DEVICE] = Part.COPY_TO_DEVICE
PART_OF_TYPE[SpanType.DEVICE_TO_HOST] = Part.OUTPUT
PART_OF_TYPE[SpanType.DEVICE_TO_DEVICE] = Part.DEVICE_TO_DEVICE
PART_OF_TYPE[SpanType.COLLECTIVES] = Part.COLLECTIVES


def launch_pieces(trace: Trace, types: UInt8, member: SmallInt) -> tuple[Int64, Int64, Int64]:
    """Stretches of kernel launching, with holes where ops compute on the CPU. Differs from XProf: no holes (semantics 3.4)."""
    launches = (types == SpanType.KERNEL_LAUNCH) & (member >= 0) & (trace.duration_ps > 0)
    if not launches.any():
        none = np.empty(0, np.int64)
        return none, none, none
    is_op = by_ends(trace, lambda _, category, *__: category == OpCategory.TENSORFLOW)
    on_cpu = (types == SpanType.HOST_COMPUTE) & (member >= 0) & is_op[trace.name_id] & ~launches_below(trace)
    event, start, end = innermost(trace, launches | on_cpu)
    kept = launches[event]
    return event[kept], start[kept], end[kept]


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


NONE = 255
"""Of an event that tells nothing by itself: what lies around it does, or else that the host does anything at all."""

_EXECUTOR = "ExecutorState::Process"
_EXECUTES = "EagerKernelExecute"
"""Within the call of a function: its graph runs. What comes before is tracing, optimizing and instantiating it."""
_CALL = "EagerLocalExecute: "
_SYNC = re.compile(r"(cu|cuda|hip)\w*Synchronize|Block\w*Until\w+|MemcpyD2H\b|EagerLocalExecute: OptionalHasValue\Z")
"""The host waits for the device: calls of the driver, and what Keras asks after each step."""
_CHECKPOINT = re.compile(r"(.*:|EagerLocalExecute: )(Save(V2|Slices)?|Restore(V2|Slice)?|MergeV2Checkpoints)\Z")
_MAKES_PIPELINE = ("MakeIterator::", "EagerLocalExecute: MakeIterator")
"""The stages of tf.data are set up before they give anything."""
_HAND_OVER = re.compile(r".*:_?(Host)?(Send|Recv)\Z")
"""Ops that compute nothing."""
_CPU_WORK = ("ParallelFor", "ThunkExecutor::Execute", "CpuExecutable::ExecuteAsyncOnStream")
"""What threads of a CPU run for an op or a program of XLA, under names of their own."""


def host_parts(trace: Trace, types: UInt8) -> UInt8:
    """The `Part` of each host event, `NONE` if unknown: an op around a driver call launches, others compute."""
    parts = np.full(trace.n_events, NONE, np.uint8)
    host = on_host(trace)
    parts[host] = by_ends(trace, _part, np.uint8)[trace.name_id[host]]
    with_device = sessions_with_device(trace)[trace.session_id]
    parts[(parts == Part.SYNC) & ~with_device] = NONE
    is_op = (parts == Part.HOST_COMPUTE) | (host & (trace.has_stat("hlo_op") | torch_ops(trace)) & ~with_device)
    parts[is_op | (host & ~with_device & _eager_kernels(trace))] = Part.HOST_COMPUTE
    if with_device.any():
        # A device waits for a batch, and not for the ops and launches of the functions that make it.
        of_data = with_device & within_data(trace)
        parts[of_data & np.isin(parts, (Part.HOST_COMPUTE, Part.DISPATCH))] = NONE
        own = with_device & ~of_data
        parts[is_op & own & launches_below(trace)] = Part.KERNEL_LAUNCH
        launches = host & own & trace.has_stat("correlation_id")
        parts[launches & (parts != Part.SYNC)] = Part.KERNEL_LAUNCH
    parts[(host & (types == SpanType.COMPILE)) | tracing(trace).calls] = Part.COMPILE
    parts[host & np.isin(types, (SpanType.WAIT_INPUT, SpanType.HOST_TO_DEVICE))] = Part.INPUT
    return parts


def _part(name: str, category: int, _: str) -> int:
    if name.startswith(_EXECUTOR):
        return Part.DISPATCH
    if _CHECKPOINT.match(name):
        return Part.CHECKPOINT
    if _SYNC.match(name):
        return Part.SYNC
    if name.startswith(_MAKES_PIPELINE):
        return Part.INPUT
    is_op = category == OpCategory.TENSORFLOW and ":" in name and not _HAND_OVER.match(name)
    return Part.HOST_COMPUTE if is_op or name in _CPU_WORK else NONE


class Tracing(NamedTuple):
    """What of each event belongs to calls of functions that trace."""

    calls: Bool
    """The outermost calls that trace, optimize and instantiate a graph, then run it."""
    runs: Bool
    """The running of these graphs, which is no tracing."""

    def stretches(self, trace: Trace) -> tuple[Int64, Int64, Int64]:
        """The calls, as events with begin and end of each stretch, with holes where their graphs run."""
        event, start, end = innermost(trace, self.calls | self.runs)
        kept = self.calls[event]
        return event[kept], start[kept], end[kept]


def tracing(trace: Trace) -> Tracing:
    """The calls that trace, and the runs of what they traced; what an inner call runs meanwhile is tracing, too."""
    mode = trace.string_stat("tf_function_call")
    texts = [text for text in np.unique(mode[mode >= 0]).tolist() if trace.strings[text].startswith("traced")]
    calls = on_host(trace) & np.isin(mode, texts)
    if not calls.any():
        return Tracing(calls, calls)
    parent = trace.nesting.parent
    around = np.append(nearest_marked(parent, calls), -1)[parent]
    calls &= around < 0
    return Tracing(calls, trace.names_matching([_EXECUTES]) & np.append(calls, False)[around])


def _eager_kernels(trace: Trace) -> Bool:
    """For each event whether it runs the kernel of an eager call of an op, not of a function."""
    name = by_ends(trace, lambda name, *_: name.startswith("KernelAndDevice"))
    runs = name[trace.name_id]
    if not runs.any():
        return np.zeros(trace.n_events, np.bool_)
    parent = trace.nesting.parent
    execute = nearest_marked(parent, trace.names_matching(["EagerExecute"]))
    is_function = np.append(trace.int_stat("is_func", default=1, signed_only=True), 1)
    return np.asarray(runs & (is_function[execute] == 0))


@dataclass(frozen=True, eq=False, repr=False)
class DeviceWork:
    """Events of devices by owner, then start, with the calls that launched them."""

    owner: Int64
    """Among whose events the next to run is found: the number of a session, or of a device in one."""
    event: Int64
    """Rows of the trace."""
    call: Int64
    """For each the row of its call, -1 where the trace does not tell."""

    @classmethod
    def of(cls, trace: Trace, event: Int64, owner: SmallInt | Int64) -> DeviceWork:
        """Find the calls of some events of devices."""
        order = np.lexsort((trace.start_ps[event], owner))
        event = event[order]
        return cls(owner[order].astype(np.int64), event, compute_launches(trace).call_of(event))

    def where(self, chosen: Bool) -> DeviceWork:
        return DeviceWork(self.owner[chosen], self.event[chosen], self.call[chosen])

    def after(self, trace: Trace, owner: Int64, end_ps: Int64) -> Int64:
        """For each moment of an owner which of these is the first to start then or later; -1 for none."""
        start, end = moments_of((self.owner, trace.start_ps[self.event]), (owner, end_ps))
        at = np.searchsorted(start, end)
        return np.where(np.append(self.owner, -1)[at] == owner, at, -1)


@dataclass(frozen=True, eq=False, repr=False)
class HostWork:
    """What hosts did: on each thread, and for each step."""

    line: Int64
    start_ps: Int64
    end_ps: Int64
    part: UInt8
    """Stretches without overlap by line, then time, each a `Part` of hosts."""
    of_steps: Pieces
    """For each step at every instant the largest `Part` of what its host events do."""

    @classmethod
    def of(cls, trace: Trace, parts: UInt8, of_steps: Pieces, runs: Bool) -> HostWork:
        """What each thread does at every instant, by the parts of host events; within `runs` nothing around them tells."""
        event, start, end = innermost(trace, (parts != NONE) | runs)
        tells = parts[event] != NONE
        event, start, end = event[tells], start[tells], end[tells]
        return cls(trace.line_id[event].astype(np.int64), start, end, parts[event], of_steps)


@dataclass(frozen=True, eq=False, repr=False)
class Waits:
    """Parts of stretches of idle time, by stretch, then time, and what counts in each."""

    stretch: Int64
    line: Int64
    """The thread that is about to launch what runs next; -1 where the trace does not tell, and after its call."""
    part: UInt8
    """What counts where no host tells more: after the call that it came too late, or that nothing is to blame."""
    step: Int64
    """In whose `HostWork.of_steps` the time lies, -1 for none."""
    start_ps: Int64
    end_ps: Int64


def waits_of(
    trace: Trace, launches: DeviceWork, following: Int64, *, step: Int64, start_ps: Int64, end_ps: Int64
) -> Waits:
    """What counts in idle time: until the launching call returned what its thread did, after it that the call came too late."""
    call = np.append(launches.call, -1)[following]
    known = np.flatnonzero(call >= 0)
    called, line, part = start_ps.copy(), np.full(len(call), -1, np.int64), np.full(len(call), Part.OTHER, np.uint8)
    called[known] = np.clip(trace.ends(call[known]), start_ps[known], end_ps[known])
    line[known] = trace.line_id[call[known]]
    part[known] = np.where(called[known] > start_ps[known], Part.LATENCY, Part.QUEUED)
    stretch, is_after = np.repeat(np.arange(len(call)), 2), np.tile([False, True], len(call))
    start = np.where(is_after, called[stretch], start_ps[stretch])
    end = np.where(is_after, end_ps[stretch], called[stretch])
    kept = np.flatnonzero(start < end)
    stretch, is_after = stretch[kept], is_after[kept]
    return Waits(
        stretch=stretch,
        line=np.where(is_after, -1, line[stretch]),
        part=np.where(is_after, part[stretch], np.uint8(Part.OTHER)),
        step=step[stretch],
        start_ps=start[kept],
        end_ps=end[kept],
    )


def charge(work: HostWork, waits: Waits) -> Pieces:
    """Charge waits to what the hosts did; the `step` of the pieces is the number of the wait."""
    own, of_own = overlaps(work.line, work.start_ps, work.end_ps, waits.line, waits.start_ps, waits.end_ps)
    fallback = work.of_steps
    there, of_there = overlaps(
        fallback.step, fallback.start_ps, fallback.end_ps, waits.step, waits.start_ps, waits.end_ps
    )
    told = np.flatnonzero(waits.part != Part.OTHER)
    return resolve(
        np.concatenate([of_own, of_there, told]),
        np.concatenate([work.start_ps[own], fallback.start_ps[there], waits.start_ps[told]]),
        np.concatenate([work.end_ps[own], fallback.end_ps[there], waits.end_ps[told]]),
        np.concatenate([OWN[work.part[own]], fallback.span_type[there], waits.part[told]]),
        step_start_ps=waits.start_ps,
        step_end_ps=waits.end_ps,
    )


def overlaps(
    owner: Int64, start_ps: Int64, end_ps: Int64, of_owner: Int64, low_ps: Int64, high_ps: Int64
) -> tuple[Int64, Int64]:
    """Every pair of a stretch and a span of the same owner that overlap."""
    start, end, low, high = moments_of((owner, start_ps), (owner, end_ps), (of_owner, low_ps), (of_owner, high_ps))
    first = np.searchsorted(end, low, side="right")
    count = np.maximum(np.searchsorted(start, high, side="left") - first, 0)
    return ranges(first, count), np.repeat(np.arange(len(low_ps)), count)


def exchange_pieces(trace: Trace, types: UInt8, table: StepTable) -> tuple[Int64, Int64, Int64, UInt8]:
    """The waiting of each step for other hosts: its exchanges without the time in which an op of it computed on the host."""
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
    # Without a type, as in `dense/MatMul:MatMul`, every call of the runtime would be an op.
    is_op = by_ends(trace, lambda name, category, _: category == OpCategory.TENSORFLOW and ":" in name)
    found: Bool = (types == SpanType.HOST_COMPUTE) & is_op[trace.name_id] & host
    return found


_TENSOR_CORE = re.compile(r"/device:TPU:\d+")
_COLLECTIVE = re.compile(r"all-(reduce|gather|to-all)|reduce-scatter|collective|ragged-all-to-all")
_TRANSFERS = {
    "infeed": SpanType.HOST_TO_DEVICE,
    "host recv": SpanType.HOST_TO_DEVICE,
    "outfeed": SpanType.DEVICE_TO_HOST,
    "host send": SpanType.DEVICE_TO_HOST,
    "recv": SpanType.DEVICE_TO_DEVICE,
    "send": SpanType.DEVICE_TO_DEVICE,
}
_OFF_DUTY = ("infeed", "outfeed", "host send", "host recv", "async-done", "megacore fusion")


def tensor_cores(trace: Trace) -> list[int]:
    """Indices of the planes that are TensorCores; parts of them (`SparseCore`) and chips are none."""
    return [i for i, plane in enumerate(trace.planes) if _TENSOR_CORE.fullmatch(plane.name)]


def on_core_line(trace: Trace, name: str) -> Bool:
    """For each event whether it lies on the line of that name (`Steps`, `XLA Modules`, `XLA Ops`) of a TensorCore."""
    cores = set(tensor_cores(trace))
    return trace.on_lines([line.plane in cores and line.name == name for line in trace.lines])


def tpu_span_types(trace: Trace) -> UInt8:
    """The `SpanType` of each TensorCore op. Differs from XProf: collectives are a category, `host send` is output."""
    types = np.full(trace.n_events, SpanType.NONE, np.uint8)
    ops = on_core_line(trace, "XLA Ops")
    if ops.any():
        kinds = np.array([_span_type(category) for category in _categories(trace)], np.uint8)
        types[ops] = kinds[trace.metadata_id[ops]]
    return types


def on_duty(trace: Trace) -> Bool:
    """For each event whether it is a TensorCore op that keeps its core busy rather than waiting for the host."""
    ops = on_core_line(trace, "XLA Ops")
    if not ops.any():
        return ops
    busy = np.array([_without_done(category) not in _OFF_DUTY for category in _categories(trace)], np.bool_)
    return ops & busy[trace.metadata_id]


def _span_type(category: str) -> SpanType:
    kind = _TRANSFERS.get(_without_done(category))
    if kind is not None:
        return kind
    return SpanType.COLLECTIVES if _COLLECTIVE.match(category) else SpanType.COMPUTE_32


def _without_done(category: str) -> str:
    """`recv-done` is as `recv`; `async-done` is a category of its own."""
    return category if category == "async-done" else category.removesuffix("-done")


def _categories(trace: Trace) -> Iterator[str]:
    """The HLO category of each row of the metadata table; where the file does not say, the opcode in its name."""
    rows = np.flatnonzero(
        (trace.metadata_stat_key == trace.string_ids.get("hlo_category", -1))
        & (trace.metadata_stat_kind == StatKind.STRING)
    )
    text = np.full(len(trace.display_name_id), -1, np.int64)
    text[np.searchsorted(trace.metadata_stat_offsets, rows, side="right") - 1] = trace.metadata_stat_bits[rows]
    names = np.full(len(trace.display_name_id), -1, np.int32)
    names[trace.metadata_id] = trace.name_id
    for category, name in zip(text.tolist(), names.tolist(), strict=True):
        yield trace.strings[category] if category >= 0 else _opcode(trace.strings[name] if name >= 0 else "")


def _opcode(name: str) -> str:
    """`%all-reduce.3 = f32[] all-reduce(...)` -> `all-reduce`."""
    return re.sub(r"(\.\d+)+$", "", name.partition(" = ")[0].strip().lstrip("%"))
