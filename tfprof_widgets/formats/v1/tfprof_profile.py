"""The bytes of a tfprof ProfileProto (`profile.context`) -> an `OpGraph`.

Source: tensorflow/core/profiler/tfprof_log.proto; TFGraphNode::FromProto in tensorflow/core/profiler/internal/tfprof_node.h.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from ...errors import EmptyTraceError, TraceError
from ...trace.bounds import decoded
from ...trace.op_graph import TABLES, OpGraph, make_op_graph, sane_float_ops
from ..wire.messages import Messages, Schema
from ..wire.wire_walk import describe_damage
from .frame_table import FrameTable
from .op_log import frame_of
from .step_stats_messages import CALL_STACK

# Texts are bytes: one that is not UTF-8 must not cost the file. So are call stacks: most ops share theirs, and each is read
# once. Attributes, allocations and the memory of single outputs are left out.
_SCHEMA: Schema = {
    "Numbers": (("int64_values", 1, "int64 repeated"),),
    "Times": (("times", 1, "Numbers repeated"),),
    "DeviceTimes": (("key", 1, "bytes"), ("value", 2, "Times")),
    "Memory": (
        ("memory_micros", 1, "int64"),
        ("host_temp_bytes", 2, "int64"),
        ("host_persistent_bytes", 3, "int64"),
        ("accelerator_temp_bytes", 4, "int64"),
        ("accelerator_persistent_bytes", 5, "int64"),
        ("requested_bytes", 6, "int64"),
        ("peak_bytes", 7, "int64"),
        ("residual_bytes", 8, "int64"),
        ("output_bytes", 9, "int64"),
        ("allocator_bytes_in_use", 10, "int64"),
    ),
    "Exec": (
        ("run_count", 1, "int64"),
        ("all_start_micros", 2, "int64"),
        ("latest_end_micros", 3, "int64"),
        ("accelerator_execs", 4, "DeviceTimes repeated"),
        ("cpu_execs", 5, "DeviceTimes repeated"),
        ("memory_execs", 7, "Memory repeated"),
    ),
    "StepExec": (("key", 1, "int64"), ("value", 2, "Exec")),
    "SlotNode": (("key", 1, "int32"), ("value", 2, "int64")),
    "SlotShape": (("key", 1, "int32"), ("value", 2, "Numbers")),
    "NodeOutput": (("key", 1, "int64"), ("value", 2, "int32")),
    **CALL_STACK,
    "Attr": (("type", 6, "int32"),),
    "AttrEntry": (("key", 1, "bytes"), ("value", 2, "Attr")),
    "Node": (
        ("name", 1, "bytes"),
        ("inputs", 2, "SlotNode repeated"),
        ("shape", 4, "int64 repeated"),
        ("op_types", 5, "bytes repeated"),
        ("canonical_device", 6, "bytes"),
        ("host_device", 7, "bytes"),
        ("float_ops", 8, "int64"),
        ("op", 9, "bytes"),
        ("trace", 10, "bytes"),
        ("attrs", 11, "AttrEntry repeated"),
        ("execs", 12, "StepExec repeated"),
        ("src_output_index", 14, "NodeOutput repeated"),
        ("output_shapes", 15, "SlotShape repeated"),
        ("input_shapes", 16, "SlotShape repeated"),
    ),
    "IdNode": (("key", 1, "int64"), ("value", 2, "Node")),
    "Profile": (
        ("nodes", 1, "IdNode repeated"),
        ("steps", 3, "int64 repeated"),
        ("id_to_string", 4, "IdToString repeated"),
    ),
}
_MESSAGES = Messages("tfprof_widgets.tfprof_profile", _SCHEMA)
_CHILDREN = {"the file": (1, "entry"), "entry": (2, "node")}
_KIND = "a tfprof ProfileProto, such as profile.context"

_MEMORY = {"time_us": "memory_micros", "in_use_bytes": "allocator_bytes_in_use"}
_MEMORY |= {name: name for name in TABLES["memory"] if name not in (*_MEMORY, "op", "step")}


def read_profile_proto(content: bytes, *, source: str = "") -> OpGraph:
    """Read a profile that tfprof wrote: its ops, their call stacks and what every recorded step cost.

    Args:
        content: what `tf.compat.v1.profiler.Profiler.serialize_to_string()` gives, or the file of its command line.
        source: what to call the file in an error message.

    Returns:
        Ops in the order of their ids. The file cannot tell control edges from others: `source_output` is what it says.

    Raises:
        EmptyTraceError: there are no bytes.
        TraceError: the bytes are truncated, no ProfileProto, or refer to what is not in them; the message says where.
    """
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
    """Collects the rows of the tables, node by node: one step of a loop per row, as many as the file has messages."""

    def __init__(self, profile: Any) -> None:
        nodes = {entry.key: entry.value for entry in profile.nodes}
        self.nodes = [nodes[key] for key in sorted(nodes)]
        self.names = [decoded(node.name) for node in self.nodes]
        self.op_of = {key: op for op, key in enumerate(sorted(nodes))}
        self.strings = {entry.key: decoded(entry.value) for entry in profile.id_to_string}
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.frames = FrameTable()
        self.stacks: dict[bytes, int] = {b"": -1}

    def graph(self) -> OpGraph:
        if len(set(self.names)) < len(self.names):
            twice, _ = Counter(self.names).most_common(1)[0]
            raise TraceError(
                f"two of its nodes are called {twice!r}; names of ops are unique. Write the profile again."
            )
        for op, node in enumerate(self.nodes):
            self._add_op(op, node)
            self.rows["inputs"] += self._inputs(op, node)
            self.rows["shapes"] += _shapes(op, node)
            for step in node.execs:
                self._add_step(op, step.key, step.value)
        tables = {
            name: dict(zip(TABLES[name], map(list, zip(*rows, strict=True)), strict=True))
            for name, rows in self.rows.items()
            if rows
        }
        return make_op_graph(tables | {"frames": self.frames.columns()})

    def _add_op(self, op: int, node: Any) -> None:
        texts = [decoded(raw) for raw in (node.op, node.canonical_device, node.host_device)]
        types = tuple(sorted(decoded(raw) for raw in node.op_types))
        shape = tuple(node.shape) or None
        float_ops, frame = sane_float_ops(node.float_ops), self._frame(op, node.trace)
        dtype = next((attr.value.type for attr in node.attrs if attr.key == b"dtype"), 0)
        self.rows["ops"].append((self.names[op], texts[0], types, *texts[1:], float_ops, shape, frame, dtype))

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
        """The row of the innermost frame of a call stack."""
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
            values = (getattr(memory, _MEMORY[name]) for name in TABLES["memory"] if name in _MEMORY)
            self.rows["memory"].append((op, step, *values))


def _shapes(op: int, node: Any) -> Iterator[tuple[Any, ...]]:
    """The shapes that are known; an empty one is not, for a single number has the shape 1."""
    for is_output, entries in ((False, node.input_shapes), (True, node.output_shapes)):
        for entry in entries:
            if entry.value.int64_values:
                yield op, is_output, entry.key, tuple(entry.value.int64_values)
