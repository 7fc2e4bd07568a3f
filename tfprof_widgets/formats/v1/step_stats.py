"""The bytes of a RunMetadata or StepStats of each step -> `StepStats`: what ran where and when, and what it allocated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import EmptyTraceError, TraceError
from ...trace.bounds import decoded
from .graph_def import source_of
from .step_stats_messages import step_message
from .tensor_tracks import TensorLife

_LABEL = re.compile(r"(?:\[[^\]]*\] )*(.*) = ([^ (]*)\((.*)\)", re.DOTALL)
_TRANSFER = re.compile(r"(?:\[[^\]]*\] )*(\S+) from (/\S+) to (/\S+)")
_KERNEL = re.compile(r"@@([^#]*)#?")
_MOST = 2**52
RECEIVED = "RecvTensor"
"""How the runtime calls the arrival of a tensor of another task, which is no op of the graph."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One output of an execution."""

    slot: int
    dtype: int
    shape: tuple[int, ...] | None
    """None where the file does not say."""
    requested_bytes: int
    allocated_bytes: int
    allocator: str
    is_described: bool
    """Whether the file tells its allocation."""


@dataclass(frozen=True, slots=True)
class AllocatorUse:
    """What one execution did to one allocator."""

    name: str
    total_bytes: int
    peak_bytes: int
    live_bytes: int
    in_use_bytes: int
    records: tuple[tuple[int, int], ...]
    """`(Unix time in us, bytes)`, negative bytes for what was given back."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of an op as one device tells it."""

    step: int
    device: str
    node: str
    """What ran, as the file has it."""
    name: str
    """The name of the op."""
    op: str
    """The op's type, "" where the label does not tell it."""
    inputs: tuple[tuple[str, int], ...]
    """`(op, its output)` of the tensors that it took; see `source_of`."""
    start_us: int
    end_rel_us: int
    start_ns: int
    duration_ns: int
    thread: int = 0
    label: str = ""
    sent_from: str = ""
    """The device that a received tensor came from; "" for all others."""
    temp_bytes: int = 0
    persistent_bytes: int = 0
    outputs: tuple[Tensor, ...] = ()
    allocators: tuple[AllocatorUse, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocatorValue:
    """Bytes of an allocator at one time, as a timeline draws them."""

    step: int
    allocator: str
    time_ns: int
    n_bytes: float


@dataclass(frozen=True)
class StepStats:
    """All executions of some steps."""

    executions: list[Execution] = field(default_factory=list)
    """In the order of the steps, then of the file."""
    steps: list[int] = field(default_factory=list)
    thread_names: dict[tuple[str, int], str] = field(default_factory=dict)
    """Of the threads of each device that have one."""
    partitions: list[Any] = field(default_factory=list)
    """GraphDef messages of what each device ran; empty unless the session was asked for them."""
    tensors: list[TensorLife] = field(default_factory=list)
    """When tensors lived, where a file tells it."""
    counters: list[AllocatorValue] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_step_stats(steps: Mapping[int, bytes], *, source: str = "") -> StepStats:
    """Read the messages of some steps.

    Args:
        steps: from the number of a step to the bytes of its RunMetadata or its bare StepStats.
        source: what to call the file in an error message.

    Raises:
        EmptyTraceError: a message is empty, or nothing ran in any of the steps.
        TraceError: the bytes are none of both; the message says at which byte.
    """
    where = source or "The RunMetadata"
    found = StepStats()
    for step, content in steps.items():
        name = where if len(steps) == 1 else f"{where}, step {step},"
        stats, partitions = _parse(content, name)
        found.steps.append(int(step))
        found.partitions.extend(partitions)
        for device in stats.dev_stats:
            device_name = decoded(device.device)
            for thread in device.thread_names:
                found.thread_names[device_name, thread.key] = decoded(thread.value)
            # Messages have no columns; this loop is what makes them.
            found.executions.extend(_execution(step, device_name, node) for node in device.node_stats)
    if not found.executions:
        raise EmptyTraceError(
            f"{where} holds no step stats: run the session with "
            "tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)."
        )
    return found


def _parse(content: bytes, name: str) -> tuple[Any, Any]:
    """The StepStats of a message, and the graphs of its partitions."""
    from google.protobuf.message import DecodeError

    from ..wire.file_kind import FileKind, kind_of
    from ..wire.wire_walk import break_of

    if not content:
        raise EmptyTraceError(f"{name} is empty (0 bytes): write it again.")
    kind = kind_of(content)
    try:
        if kind is FileKind.STEP_STATS:
            return step_message("StepStats").FromString(content), ()
        run = step_message("RunMetadata").FromString(content)
    except DecodeError as error:
        raise TraceError(f"{name} is no whole RunMetadata or StepStats: {break_of(content)}") from error
    if kind not in (FileKind.RUN_METADATA, FileKind.UNKNOWN):
        raise TraceError(f"{name} is {kind.value}, not a RunMetadata or StepStats.")
    return run.step_stats, run.partition_graphs


def _sane(value: int) -> int:
    """A time or a number of bytes as far as any machine has them, so that sums of many fit 64 bits."""
    return max(-_MOST, min(value, _MOST))


def _execution(step: int, device: str, node: Any) -> Execution:
    label = decoded(node.timeline_label)
    name, op, inputs, sent_from = _told(decoded(node.node_name), label, device)
    start_us, end_us = _sane(node.all_start_micros), _sane(node.op_end_rel_micros)
    # Times in nanoseconds are there since TensorFlow 1.9; those of received tensors and kernels still are not.
    has_ns = node.all_start_nanos > 0
    return Execution(
        step=step,
        device=device,
        node=name,
        name=name.partition(":")[0],
        op=op,
        inputs=inputs,
        start_us=start_us,
        end_rel_us=end_us,
        start_ns=node.all_start_nanos if has_ns else start_us * 1000,
        duration_ns=max(1, node.op_end_rel_nanos if has_ns else end_us * 1000),
        thread=node.thread_id,
        label=label,
        sent_from=sent_from,
        temp_bytes=_sane(node.memory_stats.temp_memory_size),
        persistent_bytes=_sane(node.memory_stats.persistent_memory_size),
        outputs=tuple(_tensor(output) for output in node.output),
        allocators=tuple(_allocator(one) for one in node.memory),
    )


def _told(name: str, label: str, device: str) -> tuple[str, str, tuple[tuple[str, int], ...], str]:
    """Name, op type, inputs and the sending device that a name and a label tell."""
    if name == RECEIVED:
        transfer = _TRANSFER.search(label)
        return name, RECEIVED, (), transfer[2] if transfer else "elsewhere"
    if is_kernel_device(device):
        kernel = _KERNEL.search(label)
        full = kernel[1] if kernel and kernel[1] else name
        return full, full.partition(":")[2].partition(":")[0], (), ""
    match = _LABEL.fullmatch(label)
    if match is None:
        return name, "", (), ""
    return name, match[2], tuple(map(source_of, match[3].split(", "))) if match[3] else (), ""


def is_kernel_device(device: str) -> bool:
    """Whether a device stands for kernels or copies on an accelerator rather than for what schedules them."""
    return "/stream:" in device or "/memcpy" in device


def _tensor(output: Any) -> Tensor:
    tensor = output.tensor_description
    allocation = tensor.allocation_description
    return Tensor(
        slot=output.slot,
        dtype=tensor.dtype,
        shape=tuple(dim.size for dim in tensor.shape.dim) if tensor.HasField("shape") else None,
        requested_bytes=_sane(allocation.requested_bytes),
        allocated_bytes=_sane(allocation.allocated_bytes),
        allocator=decoded(allocation.allocator_name),
        is_described=output.HasField("tensor_description") and tensor.HasField("allocation_description"),
    )


def _allocator(one: Any) -> AllocatorUse:
    return AllocatorUse(
        name=decoded(one.allocator_name),
        total_bytes=_sane(one.total_bytes),
        peak_bytes=_sane(one.peak_bytes),
        live_bytes=_sane(one.live_bytes),
        in_use_bytes=_sane(one.allocator_bytes_in_use),
        records=tuple((_sane(record.alloc_micros), _sane(record.alloc_bytes)) for record in one.allocation_records),
    )
