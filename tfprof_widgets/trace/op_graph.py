"""What a reader or a capture knows of a program's ops -> `OpGraph`: definitions, edges, shapes, call stacks, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .source_map import declared

_DECLARED = declared("""
ops: name object, type object, op_types object, device object, host_device object, float_ops int64, shape object, \
frame int64, dtype int64 optional
inputs: op int64, slot int64, source int64, source_output int64
shapes: op int64, is_output bool, slot int64, shape object
frames: parent int64, file object, line int64, function object, function_line int64, text object
runs: op int64, step int64, n_runs int64, start_us float64, end_us float64
times: op int64, step int64, device object, is_accelerator bool, start_us float64, duration_us float64
memory: op int64, step int64, time_us int64, requested_bytes int64, peak_bytes int64, residual_bytes int64, \
output_bytes int64 optional, accelerator_temp_bytes int64 optional, host_temp_bytes int64 optional, \
accelerator_persistent_bytes int64 optional, host_persistent_bytes int64 optional, in_use_bytes int64
""")
GRAPH_TABLES = {name: {column: dtype for column, (dtype, *_) in own.items()} for name, own in _DECLARED.items()}
_OPTIONAL = {name: tuple(column for column, told in own.items() if told[1:]) for name, own in _DECLARED.items()}
"""Columns that few sources know; 0 where they are not given."""
MOST_FLOAT_OPS = 2**50
"""The most float operations of an execution: far more than a device does in a second, and 2^13 times that fits 64 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class OpGraph:
    """The ops of a program and what running them cost. All tables may be empty; rows refer to each other by position."""

    ops: pd.DataFrame
    """One row per op, names unique: `name`, `type`, `op_types` (tuple of texts: the op's type and what else accounts for it,
    such as `_trainable_variables`), `device` and `host_device` ("" where it never ran), `float_ops` (0 where unknown),
    `shape` (tuple of ints: of a variable, -1 for an unknown dimension; None for none), `frame` (innermost row of `frames`
    of the call that made it, -1 for none), `dtype` (of a variable: its number among TensorFlow's `DataType`; 0 where unknown)."""
    inputs: pd.DataFrame
    """One row per edge: output `source_output` of op `source` is input `slot` of `op`; -1 as output for a control edge."""
    shapes: pd.DataFrame
    """Shapes of inputs and outputs, where known: `op`, `is_output`, `slot`, `shape` (tuple of ints)."""
    frames: pd.DataFrame
    """Trees of call stacks: `parent` (the caller's row, always an earlier one; -1 for the outermost), `file`, `line`,
    `function`, `function_line` (where it begins), `text` (the line's code)."""
    runs: pd.DataFrame
    """One row per op and step in which it ran: `op`, `step` (the file's or the training's number), `n_runs`, `start_us`
    of the first and `end_us` of the last, on one clock."""
    times: pd.DataFrame
    """Executions: `op`, `step` (-1 outside of any), `device`, `is_accelerator`, `start_us`, `duration_us`; those of one
    op, step and device may be summed."""
    memory: pd.DataFrame
    """One row per scheduling of an op in a step whose memory was recorded; bytes, and `time_us`."""
    is_whole: bool = True
    """Whether times are whole microseconds, as in TensorFlow's old files, whose averages are whole, too."""
    counts_steps: bool = True
    """Whether figures are per step by default, as of old files, else of the whole capture."""

    def __repr__(self) -> str:
        return f"OpGraph({len(self.ops)} ops, {len(self.inputs)} edges, {len(self.steps)} steps)"

    @property
    def steps(self) -> list[int]:
        """The numbers of the steps in which something ran, sorted."""
        found = np.unique(self.runs["step"].to_numpy(np.int64))
        return [int(step) for step in found[found >= 0]]

    @property
    def is_empty(self) -> bool:
        """Whether no op is known."""
        return not len(self.ops)


def sane_float_ops(value: int) -> int:
    """Float operations of an execution in a file, where possible at all, so that sums fit 64 bits."""
    return max(0, min(value, MOST_FLOAT_OPS))


def make_op_graph(
    tables: Mapping[str, Mapping[str, Any]], *, is_whole: bool = True, counts_steps: bool = True
) -> OpGraph:
    """A graph of columns by table, as in `TABLES`; what is missing is empty."""
    if unknown := set(tables) - set(GRAPH_TABLES):
        raise KeyError(f"no tables of an OpGraph: {sorted(unknown)}")
    frames = {name: _frame(name, tables.get(name, {})) for name in GRAPH_TABLES}
    return OpGraph(**frames, is_whole=is_whole, counts_steps=counts_steps)


def _frame(name: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    dtypes = GRAPH_TABLES[name]
    if columns:
        n = len(next(iter(columns.values())))
        columns = {**dict.fromkeys(_OPTIONAL.get(name, ()), [0] * n), **columns}
    if columns and set(columns) != set(dtypes):
        raise KeyError(f"{name} has the columns {sorted(columns)}, not {sorted(dtypes)}")
    return pd.DataFrame({key: pd.Series(columns.get(key, ()), dtype=dtype) for key, dtype in dtypes.items()})


def merge_op_graphs(graphs: Sequence[OpGraph]) -> OpGraph:
    """One graph with the executions of all; the first graph that names an op defines it, steps of equal number count together."""
    if len(graphs) == 1:
        return graphs[0]
    names = pd.Index(pd.unique(np.concatenate([graph.ops["name"].to_numpy(object) for graph in graphs])), dtype=object)
    known = np.zeros(len(names), np.bool_)
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in GRAPH_TABLES}
    n_frames = 0
    for graph in graphs:
        row = names.get_indexer(pd.Index(graph.ops["name"].to_numpy(object), dtype=object))
        is_new = ~known[row]
        known[row] = True
        frames = graph.frames.assign(parent=_shifted(graph.frames["parent"], n_frames))
        parts["frames"].append(frames)
        parts["ops"].append(graph.ops.assign(frame=_shifted(graph.ops["frame"], n_frames))[is_new])
        n_frames += len(frames)
        for table in ("inputs", "shapes"):
            frame = getattr(graph, table)
            own = frame[is_new[frame["op"].to_numpy(np.int64)]] if len(frame) else frame
            moved = own.assign(op=row[own["op"].to_numpy(np.int64)])
            if table == "inputs":
                moved = moved.assign(source=row[own["source"].to_numpy(np.int64)])
            parts[table].append(moved)
        for table in ("runs", "times", "memory"):
            frame = getattr(graph, table)
            parts[table].append(frame.assign(op=row[frame["op"].to_numpy(np.int64)]))
    columns = {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}
    columns["ops"] = _in_order(columns["ops"], names, graphs)
    columns["runs"] = _united(columns["runs"])
    return make_op_graph(
        {name: {key: frame[key] for key in frame.columns} for name, frame in columns.items()},
        is_whole=all(graph.is_whole for graph in graphs),
        counts_steps=all(graph.counts_steps for graph in graphs),
    )


def _shifted(column: pd.Series[int], by: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    values = column.to_numpy(np.int64)
    return np.where(values >= 0, values + by, -1)


def _in_order(ops: pd.DataFrame, names: pd.Index, graphs: Sequence[OpGraph]) -> pd.DataFrame:
    """The ops in the order of `names`, with the device of the first graph in which one ran."""
    ops = ops.set_index("name").reindex(names).rename_axis("name").reset_index()
    devices, hosts, types = ops["device"].tolist(), ops["host_device"].tolist(), ops["op_types"].tolist()
    for graph in graphs[1:]:
        row = names.get_indexer(pd.Index(graph.ops["name"].to_numpy(object), dtype=object)).tolist()
        told = zip(row, graph.ops["device"], graph.ops["host_device"], graph.ops["op_types"], strict=True)
        for at, device, host, own_types in told:  # one turn per op of a file
            if device and not devices[at]:
                devices[at], hosts[at] = device, host
                types[at] = tuple(sorted({*types[at], *own_types}))
    return ops.assign(device=devices, host_device=hosts, op_types=pd.Series(types, dtype=object))


def _united(runs: pd.DataFrame) -> pd.DataFrame:
    if not runs.duplicated(["op", "step"]).any():
        return runs
    started = runs["start_us"].where(runs["start_us"] > 0, np.inf)
    united = (
        runs.assign(start_us=started)
        .groupby(["op", "step"], as_index=False, sort=False)
        .agg(n_runs=("n_runs", "sum"), start_us=("start_us", "min"), end_us=("end_us", "max"))
    )
    return united.assign(start_us=united["start_us"].where(np.isfinite(united["start_us"]), 0.0))
