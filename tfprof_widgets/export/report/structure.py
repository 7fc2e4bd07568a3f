"""`Results` -> the tables of a report on structure: the costliest op types and call stacks, and the variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from ...analysis.base.wording import number, size
from ...analysis.graph.op_graph import GRADIENT
from ...analysis.graph.options import make_tree_options
from ...analysis.graph.tree import Tree, build_tree
from ...analysis.results import AnyResults
from .markdown import code
from .part import Part, Row, file_name, part_of
from .subject import Room

_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]|^<frozen ")
"""In paths of code that is not the user's."""


def costly_types(results: AnyResults, room: Room) -> Iterator[Part]:
    """What `tf.profiler.advise` called expensive operations: op types by their time, with the rate of their arithmetic."""
    graph = results.op_graph
    if graph.is_empty:
        return
    frame = _nodes(build_tree(graph, "op", make_tree_options(order_by="micros")))
    on_device = {"on the device (ms)": "accelerator_micros"} if frame["accelerator_micros"].any() else {}
    rate = {"GFLOP/s": _rate} if (frame["float_ops"] > 0).any() else {}
    yield from part_of(
        "Expensive operations, by op type",
        'prof.tree("op", order_by="micros")',
        frame[frame["micros"] > 0],
        {
            "op type": "name",
            "time (ms)": "micros",
            **on_device,
            "of all ops (%)": "ratio",
            "ops (count)": "occurrence",
            **rate,
        },
        room=room,
        note="Averages a step." if graph.counts_steps else "Self times, sums over all threads of the capture.",
    )


def costly_stacks(results: AnyResults, room: Room) -> Iterator[Part]:
    """The lines that made the costliest ops of a file that holds call stacks; of a capture `source_lines` tells them."""
    graph = results.op_graph
    if results.stored_graph is None or not (graph.ops["frame"] >= 0).any():
        return
    frame = _by_line(build_tree(graph, "code", make_tree_options()))
    texts = {"code": "text"} if (frame["text"] != "").any() else {}
    yield from part_of(
        "Costly lines of code",
        'prof.tree("code", max_depth=100)',
        frame[frame["micros"] > 0].sort_values("micros", ascending=False, kind="stable"),
        {
            "line": lambda row: code(f"{file_name(row['file'])}:{row['line']}", room.name),
            **texts,
            "function": "function",
            "time of its ops (ms)": "micros",
            "of all ops (%)": "ratio",
            "gradients (ms)": "gradient_micros",
        },
        room=room,
        note="Averages a step; of each call stack the innermost line that is in no installed package.",
    )


def _by_line(tree: Tree) -> pd.DataFrame:
    """A code view -> one row per line of the user's: `file, line, function, text, micros, gradient_micros, ratio`."""
    frames, parent = tree.graph.frames, tree.parent.tolist()
    is_own = [not _PACKAGES.search(file) for file in frames["file"].tolist()]
    own_frame = tree.stack_frame.copy()
    for row in range(1, len(parent)):  # callers come before what they call
        if own_frame[row] >= 0 and not is_own[own_frame[row]] and own_frame[parent[row]] >= 0:
            own_frame[row] = own_frame[parent[row]]
    micros = tree.column("micros")
    is_gradient = np.array([name.endswith(GRADIENT) for name in tree.names])
    known = np.flatnonzero(own_frame >= 0)
    found = frames.iloc[own_frame[known]][["file", "line", "function", "text"]].reset_index(drop=True)
    found["text"] = found["text"].replace("none", "")  # TensorFlow's word for a file that it could not read
    found = found.assign(micros=micros[known], gradient_micros=np.where(is_gradient, micros, 0)[known])
    lines = found.groupby(["file", "line", "function", "text"], sort=False, as_index=False).sum()
    whole = float(tree.column("micros", is_total=True)[0])
    return lines.assign(ratio=lines["micros"] / whole if whole else 0.0)


def variables(results: AnyResults, room: Room) -> Iterator[Part]:
    """The largest variables first."""
    frame = results.variables
    if frame.empty:
        return
    total, trained = int(frame["n_params"].sum()), int(frame["n_params"][frame["trainable"]].sum())
    in_layers = {"layer": "layer"} if (frame["layer"] != "").any() else {}
    yield from part_of(
        "Variables",
        "prof.variables",
        frame.sort_values("n_params", ascending=False, kind="stable"),
        {
            "variable": "name",
            **in_layers,
            "shape": lambda row: code(_shape(row["shape"]), room.name),
            "parameters (count)": "n_params",
            "memory": lambda row: size(row["bytes"]) if row["bytes"] else "unknown",
            "trainable": lambda row: "yes" if row["trainable"] else "no",
        },
        room=room,
        note=f"{total:,} parameters in all, {trained:,} of them trainable.",
    )


def _nodes(tree: Tree) -> pd.DataFrame:
    """Own figures of the nodes but for the root, and the `ratio` of their time to all."""
    whole = float(tree.column("micros", is_total=True)[0])
    names = ("micros", "accelerator_micros", "float_ops", "occurrence")
    found = pd.DataFrame({"name": tree.names, **{name: tree.column(name) for name in names}})
    micros = found["micros"].to_numpy(np.float64)
    return found.assign(ratio=micros / whole if whole else 0.0).iloc[1:]


def _rate(row: Row) -> str:
    """Float operations a nanosecond, where both are known."""
    rate = row["float_ops"] / row["micros"] / 1e3
    return number(rate) if rate >= 0.001 else ""


def _shape(shape: object) -> str:
    if not isinstance(shape, tuple):
        return "unknown"
    return " x ".join("?" if one < 0 else str(one) for one in shape) or "scalar"
