"""Executions of some steps, a graph and a log -> the `OpGraph` that tfprof would make of them.

Source: tensorflow/core/profiler/internal/tfprof_stats.cc (AddGraph, AddRunMeta, AddOpLogProto) and tfprof_node.cc
(AddStepStat, AddTimeStats, AddMemoryStats).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ...trace.op_graph import TABLES, OpGraph, make_op_graph
from .graph_def import GraphNode, GraphNodes
from .op_log import OpLog
from .step_stats import RECEIVED, Execution, StepStats

_CANONICAL = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+")
_GPU = re.compile(r"gpu:\d+")
_NO_OPS = (RECEIVED, "_SOURCE")
_PARTITION_SUFFIX = re.compile(r"(?:/_\d+|_S\d+)$")
"""What the runtime appends to the names of tensors that it passes between devices, and of copies of constants."""


def is_accelerator_time(device: str) -> bool:
    """Whether times of a device, in lower case, are those of kernels."""
    return "stream:all" in device


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
        """Take up an execution."""
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
        is_kernel = is_accelerator_time(device)
        if is_kernel or is_canonical(device):
            self.times.append((one.name, one.step, device, is_kernel, one.start_us, duration_us))
            run[0] += not is_kernel

    def graph(self, log: OpLog) -> OpGraph:
        """All of it as tables."""
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
    """Take edges and shapes from an execution where no graph tells them."""
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
    """Columns of `memory` after the op."""
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
    """Rows as the columns of a table."""
    columns: dict[str, list[Any]] = {name: [] for name in TABLES[table]}
    lists = list(columns.values())
    for row in rows:
        for column, value in zip(lists, row, strict=True):
            column.append(value)
    return columns


def op_graph_of(stats: StepStats, graph: GraphNodes | None, log: OpLog) -> OpGraph:
    """The graph of ops of some steps.

    Args:
        stats: the executions.
        graph: the program's; None where it is not known: types and edges then come from the labels of executions.
        log: what else is known of the ops.

    Differs from tfprof: without a graph ops still have their types and inputs.
    """
    builder = _Builder(graph)
    for one in stats.executions:
        builder.add(one)
    return builder.graph(log)
