"""The bytes of RunMetadata, GraphDef and OpLogProto -> `StepStats`, `GraphNodes` and `OpLog`: what ran when."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import EmptyTraceError, TraceError
from ...trace.capture_facts import decoded
from ...trace.op_graph import sane_float_ops
from ...trace.trace import dtype_number
from ..protobuf import Messages

CALL_STACK = """
Frame: lineno 2 int32, func_start_line 5 int32, file_id 6 int64, function_id 7 int64, line_id 8 int64
Stack: traces 1 Frame repeated
IdToString: key 1 int64, value 2 bytes
"""
"""Where an op was made, and its frames' texts by number; of an OpLogProto and a ProfileProto."""

_MESSAGES = Messages(
    "tfprof_widgets.first_profiler",
    CALL_STACK
    + """
Dim: size 1 int64
Shape: dim 2 Dim repeated, unknown_rank 3 bool
Allocation: requested_bytes 1 int64, allocated_bytes 2 int64, allocator_name 3 bytes
Tensor: dtype 1 int32, shape 2 Shape, allocation_description 4 Allocation
Output: slot 1 int32, tensor_description 3 Tensor
AllocationRecord: alloc_micros 1 int64, alloc_bytes 2 int64
Allocator: allocator_name 1 bytes, total_bytes 2 int64, peak_bytes 3 int64, live_bytes 4 int64,
    allocator_bytes_in_use 5 int64, allocation_records 6 AllocationRecord repeated
MemoryStats: temp_memory_size 1 int64, persistent_memory_size 3 int64
Node: node_name 1 bytes, all_start_micros 2 int64, op_end_rel_micros 4 int64, all_end_rel_micros 5 int64,
    memory 6 Allocator repeated, output 7 Output repeated, timeline_label 8 bytes, thread_id 10 uint32,
    memory_stats 12 MemoryStats, all_start_nanos 13 int64, op_end_rel_nanos 15 int64
ThreadName: key 1 uint32, value 2 bytes
Device: device 1 bytes, node_stats 2 Node repeated, thread_names 3 ThreadName repeated
StepStats: dev_stats 1 Device repeated
RunMetadata: step_stats 1 StepStats, partition_graphs 3 GraphDef repeated
ShapeList: shape 7 Shape repeated
Attr: list 1 ShapeList, type 6 int32, shape 7 Shape
AttrEntry: key 1 bytes, value 2 Attr
NodeDef: name 1 bytes, op 2 bytes, input 3 bytes repeated, device 4 bytes, attr 5 AttrEntry repeated
GraphDef: node 1 NodeDef repeated
LogEntry: name 1 bytes, float_ops 2 int64, types 3 bytes repeated, code_def 4 Stack
OpLog: log_entries 1 LogEntry repeated, id_to_string 2 IdToString repeated
""",
)


def step_message(name: str) -> Any:
    """The protobuf class of one message of the schema: `RunMetadata`, `GraphDef`, `OpLog`, ..."""
    return _MESSAGES[name]


Shape = tuple[int, ...]
_DTYPE = re.compile(r"\btype: (DT_\w+)")
"""A dtype in a graph as text; the messages here have its number, as they declare no enums."""


@dataclass(frozen=True)
class GraphNode:
    name: str
    type: str
    inputs: tuple[tuple[str, int], ...] = ()
    """`(name, its output)`; -1 as output for a control edge."""
    shape: Shape | None = None
    """Of what a variable or a placeholder holds."""
    output_shapes: tuple[Shape, ...] | None = None
    """As tfprof counts them: (1,) for a scalar, () for an unknown rank, -1 for an unknown dimension; None where unknown."""
    dtype: int = 0
    """The number of TensorFlow's `DataType` that its attribute `dtype` says; 0 for none."""


GraphNodes = dict[str, GraphNode]
"""The nodes of a graph by name; of several of one name the first counts."""


def read_graph_def(content: bytes, *, source: str = "") -> GraphNodes:
    """Read the bytes of a GraphDef, as text (`.pbtxt`) or as a message."""
    from google.protobuf.message import DecodeError

    from ..protobuf import FileKind, break_of, kind_of

    where = source or "The graph"
    if not content:
        return {}
    kind = kind_of(content)
    if kind not in (FileKind.GRAPH, FileKind.UNKNOWN):
        raise TraceError(f"{where} is {kind.value}, not a GraphDef.")
    if content.lstrip()[:4] in (b"node", b"vers", b"libr"):
        return graph_nodes([_parse_text(content, where)])
    try:
        return graph_nodes([step_message("GraphDef").FromString(content)])
    except DecodeError as error:
        raise TraceError(f"{where} is no whole GraphDef: {break_of(content)}") from error


def _parse_text(content: bytes, where: str) -> Any:
    from google.protobuf import text_format

    graph = step_message("GraphDef")()
    try:
        text = _DTYPE.sub(lambda found: f"type: {dtype_number(found[1])}", decoded(content))
        return text_format.Parse(text, graph, allow_unknown_field=True, allow_unknown_extension=True)
    except (text_format.ParseError, ValueError, RecursionError) as error:
        raise TraceError(f"{where} is no GraphDef as text: {str(error)[:200]}.") from error


def graph_nodes(graphs: Iterable[Any]) -> GraphNodes:
    """The nodes of GraphDef messages, such as those of the devices of one step."""
    found: GraphNodes = {}
    for graph in graphs:
        for node in graph.node:  # messages have no columns; this loop is what makes them
            name = decoded(node.name)
            if name not in found:
                found[name] = _node(name, node)
    return found


def _node(name: str, node: Any) -> GraphNode:
    shape: Shape | None = None
    outputs: tuple[Shape, ...] | None = None
    dtype = 0
    for attr in node.attr:
        if attr.key == b"shape" and attr.value.HasField("shape"):
            shape = _shape(attr.value.shape) or None
        elif attr.key == b"_output_shapes" and attr.value.HasField("list"):
            outputs = tuple(_shape(one) for one in attr.value.list.shape)
        elif attr.key == b"dtype":
            dtype = attr.value.type
    return GraphNode(
        name, decoded(node.op), tuple(source_of(decoded(one)) for one in node.input), shape, outputs, dtype
    )


def source_of(text: str) -> tuple[str, int]:
    """The op and its output that a graph or a label names by a tensor (`x`, `x:1`); output -1 for a control edge (`^x`)."""
    name, _, output = text.removeprefix("^").partition(":")
    if text.startswith("^"):
        return name, -1
    return name, int(output) if output.isdecimal() and len(output) < 10 else 0


def _shape(shape: Any) -> Shape:
    """As tfprof counts: a scalar has one element, an unknown rank no dimension."""
    return (1,) if not shape.dim and not shape.unknown_rank else tuple(dim.size for dim in shape.dim)


_Frame = tuple[int, str, int, str, int, str]
_NO_TEXT = "none"
"""TensorFlow's op log has it for a line whose code could not be read."""


@dataclass
class FrameTable:
    """Grows as frames are asked for."""

    _rows: dict[_Frame, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, parent: int, file: str, line: int, function: str, function_line: int, text: str) -> int:
        """The row of a frame called by another one; -1 as `parent` for the outermost."""
        known = "" if text == _NO_TEXT else text
        return self._rows.setdefault((parent, file, line, function, function_line, known), len(self._rows))

    def columns(self) -> dict[str, list[Any]]:
        """The table `frames` of an `OpGraph`."""
        names = ("parent", "file", "line", "function", "function_line", "text")
        return {name: [frame[i] for frame in self._rows] for i, name in enumerate(names)}


@dataclass(frozen=True)
class OpLog:
    """What a log says of ops, by name."""

    float_ops: dict[str, int] = field(default_factory=dict)
    types: dict[str, list[str]] = field(default_factory=dict)
    frame: dict[str, int] = field(default_factory=dict)
    """The innermost row of `frames` of the call that made the op."""
    frames: FrameTable = field(default_factory=FrameTable)


def read_op_log(content: bytes | None, *, source: str = "") -> OpLog:
    """Read a log; an empty one for None."""
    from google.protobuf.message import DecodeError

    from ..protobuf import break_of

    found = OpLog()
    if not content:
        return found
    try:
        log = step_message("OpLog").FromString(content)
    except DecodeError as error:
        raise TraceError(f"{source or 'The op log'} is no whole OpLogProto: {break_of(content)}") from error
    texts: dict[int, str] = {}
    for entry in log.id_to_string:
        texts.setdefault(entry.key, decoded(entry.value))
    for entry in log.log_entries:
        _take(found, entry, texts)
    return found


def _take(found: OpLog, entry: Any, texts: dict[int, str]) -> None:
    name = decoded(entry.name)
    found.types.setdefault(name, []).extend(decoded(one) for one in entry.types)
    if n_float_ops := sane_float_ops(entry.float_ops):
        found.float_ops[name] = n_float_ops
    if entry.HasField("code_def") and name not in found.frame:
        found.frame[name] = frame_of(found.frames, entry.code_def, lambda number: texts.get(number, ""))


def frame_of(frames: FrameTable, code: Any, text_of: Callable[[int], str]) -> int:
    """The innermost frame of a CodeDef message, -1 for an empty one; `text_of` gives the text of a number."""
    row = -1
    for trace in code.traces:  # as deep as calls nest
        file, function, text = map(text_of, (trace.file_id, trace.function_id, trace.line_id))
        row = frames.row(row, file, trace.lineno, function, trace.func_start_line, text)
    return row


_LABEL = re.compile(r"(?:\[[^\]]*\] )*(.*) = ([^ (]*)\((.*)\)", re.DOTALL)
_TRANSFER = re.compile(r"(?:\[[^\]]*\] )*(\S+) from (/\S+) to (/\S+)")
_KERNEL = re.compile(r"@@([^#]*)#?")
_MOST = 2**52
RECEIVED = "RecvTensor"
"""The runtime's name for the arrival of a tensor of another task, which is no op of the graph."""


@dataclass(frozen=True, slots=True)
class TensorLife:
    step: int
    device: str
    name: str
    start_ns: int
    end_ns: int
    dtype: str
    shape: str
    n_bytes: int
    allocator: str


@dataclass(frozen=True, slots=True)
class Tensor:
    slot: int
    dtype: int
    shape: tuple[int, ...] | None
    """None where the file does not say."""
    requested_bytes: int
    allocated_bytes: int
    allocator: str
    is_described: bool
    """Whether the file has its allocation."""


@dataclass(frozen=True, slots=True)
class AllocatorUse:
    name: str
    total_bytes: int
    peak_bytes: int
    live_bytes: int
    in_use_bytes: int
    records: tuple[tuple[int, int], ...]
    """`(Unix time in us, bytes)`, negative bytes for what was given back."""


@dataclass(frozen=True, slots=True)
class Execution:
    step: int
    device: str
    node: str
    """What ran, as the file has it."""
    name: str
    op: str
    """"" where the label does not say."""
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
    executions: list[Execution] = field(default_factory=list)
    """In the order of the steps, then of the file."""
    steps: list[int] = field(default_factory=list)
    thread_names: dict[tuple[str, int], str] = field(default_factory=dict)
    partitions: list[Any] = field(default_factory=list)
    """GraphDef messages of what each device ran; empty unless the session was asked for them."""
    tensors: list[TensorLife] = field(default_factory=list)
    counters: list[AllocatorValue] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_step_stats(steps: Mapping[int, bytes], *, source: str = "") -> StepStats:
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
    from google.protobuf.message import DecodeError

    from ..protobuf import FileKind, break_of, kind_of

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
        allocators=tuple(
            AllocatorUse(
                name=decoded(one.allocator_name),
                total_bytes=_sane(one.total_bytes),
                peak_bytes=_sane(one.peak_bytes),
                live_bytes=_sane(one.live_bytes),
                in_use_bytes=_sane(one.allocator_bytes_in_use),
                records=tuple(
                    (_sane(record.alloc_micros), _sane(record.alloc_bytes)) for record in one.allocation_records
                ),
            )
            for one in node.memory
        ),
    )


def _told(name: str, label: str, device: str) -> tuple[str, str, tuple[tuple[str, int], ...], str]:
    """Name, op type, inputs and sending device in a name and a label."""
    if name == RECEIVED:
        transfer = _TRANSFER.search(label)
        return name, RECEIVED, (), transfer[2] if transfer else "elsewhere"
    if "/stream:" in device or "/memcpy" in device:
        kernel = _KERNEL.search(label)
        full = kernel[1] if kernel and kernel[1] else name
        return full, full.partition(":")[2].partition(":")[0], (), ""
    match = _LABEL.fullmatch(label)
    if match is None:
        return name, "", (), ""
    return name, match[2], tuple(map(source_of, match[3].split(", "))) if match[3] else (), ""


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
