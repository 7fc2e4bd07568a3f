"""The steps of a session, or a tfprof ProfileProto (`profile.context`) -> the `OpGraph` that tfprof would make."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ...errors import EmptyTraceError, TraceError
from ...trace.capture_facts import decoded
from ...trace.op_graph import GRAPH_TABLES, OpGraph, make_op_graph, sane_float_ops
from ..protobuf import Messages, describe_damage
from .run_metadata import CALL_STACK, RECEIVED, Execution, FrameTable, GraphNode, GraphNodes, OpLog, StepStats, frame_of

_CANONICAL = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+")
_GPU = re.compile(r"gpu:\d+")
_NO_OPS = (RECEIVED, "_SOURCE")
_PARTITION_SUFFIX = re.compile(r"(?:/_\d+|_S\d+)$")
"""The runtime's suffix of tensors that it passes between devices, and of copies of constants."""


def is_canonical(device: str) -> bool:
    """Whether ops are placed on a device, in lower case, rather than that it is one of a GPU's streams."""
    return _CANONICAL.fullmatch(device) is not None


def host_of(device: str) -> str:
    """The host device beside a device, in lower case."""
    return _GPU.sub("cpu:0", device, count=1)


@dataclass
class _Op:
    node: GraphNode
    types: set[str]
    device: str = ""
    host_device: str = ""
    runs: dict[int, list[int]] = field(default_factory=dict)
    """By step `[n_runs, start_us, end_us]`."""


class _Builder:
    def __init__(self, graph: GraphNodes | None) -> None:
        self.ops = {name: _Op(node, {node.type}) for name, node in (graph or {}).items()}
        self._has_graph = graph is not None
        self.times: list[tuple[Any, ...]] = []
        self.memory: list[tuple[Any, ...]] = []

    def add(self, one: Execution) -> None:
        op = self.ops.get(one.name)
        if op is None:
            if one.name in _NO_OPS or "MEMCPY" in one.name:
                return
            # tfprof knows no type of what is not in its graph; without any graph the label's is better than none.
            kind = one.name if self._has_graph else one.op or one.name
            op = self.ops[one.name] = _Op(GraphNode(one.name, kind), {kind})
        if not self._has_graph:
            _learn(op, one)
        device = one.device.lower()
        if is_canonical(device):
            if op.device and op.device != device:
                return
            if not op.device:
                op.device, op.host_device = device, host_of(device)
                op.types.add(device)
        run = op.runs.setdefault(one.step, [0, 0, 0])
        self._add_time(run, device, one)
        if device == op.device and one.start_us > 0:
            self.memory.append((one.name, *_memory_of(one, device)))

    def _add_time(self, run: list[int], device: str, one: Execution) -> None:
        if one.start_us <= 0:
            return
        duration_us = one.end_rel_us or 1  # what is quicker than a microsecond counts as one
        run[1] = min(run[1], one.start_us) if run[1] > 0 else one.start_us
        run[2] = max(run[2], one.start_us + duration_us)
        is_kernel = "stream:all" in device
        if is_kernel or is_canonical(device):
            self.times.append((one.name, one.step, device, is_kernel, one.start_us, duration_us))
            run[0] += not is_kernel

    def graph(self, log: OpLog) -> OpGraph:
        row = {name: i for i, name in enumerate(self.ops)}
        ops = list(self.ops.values())
        for op in ops:
            op.types.update(log.types.get(op.node.name, ()))
        inputs = [
            (target, slot, row[known], output)
            for target, op in enumerate(ops)
            for slot, (source, output) in enumerate(op.node.inputs)
            if (known := known_source(source, row))
        ]
        return make_op_graph(
            {
                "ops": {
                    "name": [op.node.name for op in ops],
                    "type": [op.node.type for op in ops],
                    "op_types": [tuple(sorted(op.types)) for op in ops],
                    "device": [op.device for op in ops],
                    "host_device": [op.host_device for op in ops],
                    "float_ops": [log.float_ops.get(op.node.name, 0) for op in ops],
                    "shape": [op.node.shape for op in ops],
                    "frame": [log.frame.get(op.node.name, -1) for op in ops],
                    "dtype": [op.node.dtype for op in ops],
                },
                "inputs": _columns("inputs", inputs),
                "shapes": _columns("shapes", _shapes(ops, inputs)),
                "frames": log.frames.columns(),
                "runs": _columns(
                    "runs", [(i, step, *run) for i, op in enumerate(ops) for step, run in op.runs.items()]
                ),
                "times": _columns("times", [(row[name], *rest) for name, *rest in self.times]),
                "memory": _columns("memory", [(row[name], *rest) for name, *rest in self.memory]),
            }
        )


def _learn(op: _Op, one: Execution) -> None:
    """Take edges and shapes from an execution where no graph has them."""
    if one.inputs and not op.node.inputs:
        op.node = replace(op.node, inputs=one.inputs)
    if op.node.output_shapes is None and one.outputs and all(tensor.shape is not None for tensor in one.outputs):
        op.node = replace(op.node, output_shapes=tuple(tensor.shape or (1,) for tensor in one.outputs))


def known_source(name: str, known: Collection[str]) -> str:
    """The op among known ones that a label means: where a tensor was passed on, its name has a number more. "" for none."""
    if name in known:
        return name
    short = _PARTITION_SUFFIX.sub("", name)
    return short if short in known else ""


def _shapes(ops: list[_Op], inputs: list[tuple[int, int, int, int]]) -> list[tuple[int, bool, int, tuple[int, ...]]]:
    """Shapes of outputs, and of inputs as the outputs they are; none of an unknown rank."""
    rows: list[tuple[int, bool, int, tuple[int, ...]]] = [
        (i, True, slot, shape)
        for i, op in enumerate(ops)
        for slot, shape in enumerate(op.node.output_shapes or ())
        if shape
    ]
    for op, slot, source, output in inputs:
        shapes = ops[source].node.output_shapes or ()
        if 0 <= output < len(shapes) and shapes[output]:
            rows.append((op, False, slot, shapes[output]))
    return rows


def _memory_of(one: Execution, device: str) -> tuple[int, ...]:
    on_host = "cpu" in device
    temp, persistent = one.temp_bytes, one.persistent_bytes
    output = sum(max(tensor.allocated_bytes, tensor.requested_bytes) for tensor in one.outputs if tensor.is_described)
    on_gpu = [use.in_use_bytes for use in one.allocators if "GPU" in use.name]
    return (
        one.step,
        one.start_us + one.end_rel_us,
        sum(use.total_bytes for use in one.allocators) + temp + persistent,
        sum(use.peak_bytes for use in one.allocators) + temp + persistent,
        sum(use.live_bytes for use in one.allocators) + persistent,
        output,
        0 if on_host else temp,
        temp if on_host else 0,
        0 if on_host else persistent,
        persistent if on_host else 0,
        max(on_gpu, default=0),
    )


def _columns(table: str, rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in GRAPH_TABLES[table]}
    lists = list(columns.values())
    for row in rows:
        for column, value in zip(lists, row, strict=True):
            column.append(value)
    return columns


def op_graph_of(stats: StepStats, graph: GraphNodes | None, log: OpLog) -> OpGraph:
    """The graph of ops of some steps. Differs from tfprof: without a graph ops still have their types and inputs."""
    builder = _Builder(graph)
    for one in stats.executions:
        builder.add(one)
    return builder.graph(log)


# Texts are bytes: one that is not UTF-8 must not cost the file. So are call stacks: most ops share theirs, and each is read
# once. Attributes, allocations and the memory of single outputs are left out.
_MESSAGES = Messages(
    "tfprof_widgets.tfprof_profile",
    CALL_STACK
    + """
Numbers: int64_values 1 int64 repeated
Times: times 1 Numbers repeated
DeviceTimes: key 1 bytes, value 2 Times
Memory: memory_micros 1 int64, host_temp_bytes 2 int64, host_persistent_bytes 3 int64,
    accelerator_temp_bytes 4 int64, accelerator_persistent_bytes 5 int64, requested_bytes 6 int64,
    peak_bytes 7 int64, residual_bytes 8 int64, output_bytes 9 int64, allocator_bytes_in_use 10 int64
Exec: run_count 1 int64, all_start_micros 2 int64, latest_end_micros 3 int64,
    accelerator_execs 4 DeviceTimes repeated, cpu_execs 5 DeviceTimes repeated, memory_execs 7 Memory repeated
StepExec: key 1 int64, value 2 Exec
SlotNode: key 1 int32, value 2 int64
SlotShape: key 1 int32, value 2 Numbers
NodeOutput: key 1 int64, value 2 int32
Attr: type 6 int32
AttrEntry: key 1 bytes, value 2 Attr
Node: name 1 bytes, inputs 2 SlotNode repeated, shape 4 int64 repeated, op_types 5 bytes repeated,
    canonical_device 6 bytes, host_device 7 bytes, float_ops 8 int64, op 9 bytes, trace 10 bytes,
    attrs 11 AttrEntry repeated, execs 12 StepExec repeated, src_output_index 14 NodeOutput repeated,
    output_shapes 15 SlotShape repeated, input_shapes 16 SlotShape repeated
IdNode: key 1 int64, value 2 Node
Profile: nodes 1 IdNode repeated, steps 3 int64 repeated, id_to_string 4 IdToString repeated
""",
)
_CHILDREN = {"the file": (1, "entry"), "entry": (2, "node")}
_KIND = "a tfprof ProfileProto, such as profile.context"

_MEMORY = {"time_us": "memory_micros", "in_use_bytes": "allocator_bytes_in_use"}
_MEMORY |= {name: name for name in GRAPH_TABLES["memory"] if name not in (*_MEMORY, "op", "step")}


def read_profile_proto(content: bytes, *, source: str = "") -> OpGraph:
    """Read a profile that tfprof wrote: its ops, their call stacks and what every recorded step cost."""
    where = source or "The profile"
    if not content:
        raise EmptyTraceError(f"{where} is empty (0 bytes): nothing was written. Profile again.")
    try:
        return _Reader(_parsed(content)).graph()
    except TraceError as error:
        raise TraceError(f"{where}: {error}") from error.__cause__


def _parsed(content: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        profile = _MESSAGES["Profile"].FromString(content)
    except DecodeError as error:
        damage = describe_damage(content, children=_CHILDREN, kind=_KIND)
        raise TraceError(f"Not {_KIND}: {damage}") from error
    if not any(entry.value.name for entry in profile.nodes):
        begin = content[:8].hex(" ")
        raise TraceError(f"Not {_KIND}: its {len(content)} bytes, which start with {begin}, name no op.")
    return profile


class _Reader:
    """Collects the rows of the tables, in one step of a loop per message."""

    def __init__(self, profile: Any) -> None:
        nodes = {entry.key: entry.value for entry in profile.nodes}
        self.nodes = [nodes[key] for key in sorted(nodes)]
        self.names = [decoded(node.name) for node in self.nodes]
        self.op_of = {key: op for op, key in enumerate(sorted(nodes))}
        self.strings = {entry.key: decoded(entry.value) for entry in profile.id_to_string}
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in GRAPH_TABLES}
        self.frames = FrameTable()
        self.stacks: dict[bytes, int] = {b"": -1}

    def graph(self) -> OpGraph:
        if len(set(self.names)) < len(self.names):
            twice, _ = Counter(self.names).most_common(1)[0]
            raise TraceError(
                f"two of its nodes are called {twice!r}; names of ops are unique. Write the profile again."
            )
        for op, node in enumerate(self.nodes):
            texts = [decoded(raw) for raw in (node.op, node.canonical_device, node.host_device)]
            types = tuple(sorted(decoded(raw) for raw in node.op_types))
            shape = tuple(node.shape) or None
            float_ops, frame = sane_float_ops(node.float_ops), self._frame(op, node.trace)
            dtype = next((attr.value.type for attr in node.attrs if attr.key == b"dtype"), 0)
            self.rows["ops"].append((self.names[op], texts[0], types, *texts[1:], float_ops, shape, frame, dtype))
            self.rows["inputs"] += self._inputs(op, node)
            self.rows["shapes"] += _written_shapes(op, node)
            for step in node.execs:
                self._add_step(op, step.key, step.value)
        tables = {
            name: dict(zip(GRAPH_TABLES[name], map(list, zip(*rows, strict=True)), strict=True))
            for name, rows in self.rows.items()
            if rows
        }
        return make_op_graph(tables | {"frames": self.frames.columns()})

    def _inputs(self, op: int, node: Any) -> Iterator[tuple[int, ...]]:
        outputs = {entry.key: entry.value for entry in node.src_output_index}
        for entry in sorted(node.inputs, key=lambda entry: entry.key):
            if entry.value not in self.op_of:
                raise TraceError(
                    f"input {entry.key} of op {self.names[op]!r} is node {entry.value}, which is not in the file. "
                    "Write the profile again."
                )
            yield op, entry.key, self.op_of[entry.value], outputs.get(entry.value, -1)

    def _frame(self, op: int, raw: bytes) -> int:
        from google.protobuf.message import DecodeError

        if raw not in self.stacks:
            try:
                code = _MESSAGES["Stack"].FromString(raw)
            except DecodeError as error:
                raise TraceError(f"the call stack of op {self.names[op]!r} is no CodeDef. Is it {_KIND}?") from error
            self.stacks[raw] = frame_of(self.frames, code, partial(self._string, op))
        return self.stacks[raw]

    def _string(self, op: int, number: int) -> str:
        found = self.strings.get(number)
        if found is None:
            raise TraceError(
                f"the call stack of op {self.names[op]!r} has text {number}, which is not among the {len(self.strings)} of "
                "the file. Write the profile again."
            )
        return found

    def _add_step(self, op: int, step: int, found: Any) -> None:
        self.rows["runs"].append((op, step, found.run_count, found.all_start_micros, found.latest_end_micros))
        for is_accelerator, execs in ((True, found.accelerator_execs), (False, found.cpu_execs)):
            for device in execs:
                name = decoded(device.key)
                for pair in device.value.times:
                    if len(pair.int64_values) < 2:
                        raise TraceError(
                            f"a time of op {self.names[op]!r} in step {step} has {len(pair.int64_values)} numbers, not a start "
                            f"and a duration. Is it {_KIND}?"
                        )
                    start, duration = pair.int64_values[:2]
                    self.rows["times"].append((op, step, name, is_accelerator, start, duration))
        for memory in found.memory_execs:
            values = (getattr(memory, _MEMORY[name]) for name in GRAPH_TABLES["memory"] if name in _MEMORY)
            self.rows["memory"].append((op, step, *values))


def _written_shapes(op: int, node: Any) -> Iterator[tuple[Any, ...]]:
    """The known shapes; an empty one is unknown, as a scalar has the shape 1."""
    for is_output, entries in ((False, node.input_shapes), (True, node.output_shapes)):
        for entry in entries:
            if entry.value.int64_values:
                yield op, is_output, entry.key, tuple(entry.value.int64_values)
