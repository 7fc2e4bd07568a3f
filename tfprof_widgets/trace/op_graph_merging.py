"""Graphs of ops of several files (steps of one program, or its tasks) -> one graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .op_graph import TABLES, OpGraph, make_op_graph


def merge_op_graphs(graphs: Sequence[OpGraph]) -> OpGraph:
    """One graph with the executions of all.

    Ops of equal name are one op, defined by the first graph that names it: its edges, shapes and call stack count. What
    ran in a step of the same number in several graphs counts together.

    Args:
        graphs: at least one.
    """
    if len(graphs) == 1:
        return graphs[0]
    names = pd.Index(pd.unique(np.concatenate([graph.ops["name"].to_numpy(object) for graph in graphs])), dtype=object)
    known = np.zeros(len(names), np.bool_)
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
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
    """One row per op and step."""
    if not runs.duplicated(["op", "step"]).any():
        return runs
    started = runs["start_us"].where(runs["start_us"] > 0, np.inf)
    united = (
        runs.assign(start_us=started)
        .groupby(["op", "step"], as_index=False, sort=False)
        .agg(n_runs=("n_runs", "sum"), start_us=("start_us", "min"), end_us=("end_us", "max"))
    )
    return united.assign(start_us=united["start_us"].where(np.isfinite(united["start_us"]), 0.0))
