"""The graph of ops and its trees -> what a browser draws: ops with their figures, and the scope, call and inputs of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.op_graph import OpGraph
from ..facts.totals import Totals
from .captured_names import name_ops
from .tree import build_tree
from .tree_options import FIGURES, make_tree_options

MOST_OPS = 20_000
"""Of more ops those that cost most are named; the others are summed, one sum for each of the outermost scopes."""
MOST_EDGES = 60_000
COUNTS = ("occurrence", "run_count")
"""How many ops a row stands for, and how often they ran."""


@dataclass(frozen=True, eq=False)
class ShownStructure:
    """The ops of a profile and the places of each; rows refer to each other by position. All tables may be empty."""

    ops: pd.DataFrame
    """`name`, `type`, `device`, `shape` (of its first output, such as "32x10"; "" where unknown), `scope` (row of `scopes`),
    `frame` (row of `frames`, 0 where its call is unknown), the `FIGURES` and the `COUNTS` of each op itself; sums of ops that are
    not named come last."""
    scopes: pd.DataFrame
    """Name scopes as a tree: `name` (the last part of its path), `parent` (-1 for row 0, which is all ops)."""
    frames: pd.DataFrame
    """Calls as a tree: `file`, `line`, `function`, `text` (the code of the line), `parent` (-1 for row 0)."""
    edges: pd.DataFrame
    """`source` and `op` (rows of `ops`), `n` (tensors from one to the other; 0 where one only waits for the other)."""
    of_framework_op: np.ndarray
    """For each framework op of `OpShares` its row of `ops`; -1 for none."""
    n_ops: int
    """Of the whole graph."""
    n_named: int
    """Of those the ones that `ops` names: its first rows."""
    n_edges: int
    """Between two different ops of the whole graph."""
    is_per_step: bool
    """Whether figures are means over steps, else sums over the capture."""
    n_steps: int


def compute_shown_structure(graph: OpGraph, of_framework_op: np.ndarray, *, most_ops: int = MOST_OPS) -> ShownStructure:
    """Lay the ops of a graph out for the views by structure.

    Args:
        graph: of the profile.
        of_framework_op: for each framework op of the trace its row of `graph.ops`, -1 for none; see `framework_ops`.
        most_ops: how many ops are named at most. The figures of all ops are in the result, whatever it is.
    """
    details = ("occurrence", "input_shapes", "device", "op_types")
    options = make_tree_options(select=(*FIGURES, *details))
    tree = build_tree(graph, "scope", options).frame
    scopes, scope_of_row = _scopes(tree)
    is_op = tree["op"].to_numpy() >= 0
    nodes = tree.loc[is_op].assign(scope=scope_of_row[is_op]).reset_index(drop=True)
    kept = np.zeros(len(nodes), bool)
    kept[np.argsort(-_weight(nodes), kind="stable")[:most_ops]] = True
    op = nodes["op"].to_numpy()
    frames, frame_of_op = _frames(graph, op[kept])
    named = _named(graph, nodes.loc[kept])
    named["frame"] = frame_of_op
    rest = _rest(nodes.loc[~kept], scopes)
    number = np.full(len(graph.ops) + 1, -1)  # the last entry is what row -1 finds
    number[op[kept]] = np.arange(int(kept.sum()))
    edges, n_edges = _edges(graph, number)
    return ShownStructure(
        ops=pd.concat([named, rest], ignore_index=True) if len(rest) else named,
        scopes=scopes,
        frames=frames,
        edges=edges,
        of_framework_op=number[of_framework_op],
        n_ops=len(nodes),
        n_named=len(named),
        n_edges=n_edges,
        is_per_step=graph.counts_steps and len(graph.steps) > 0,
        n_steps=len(graph.steps),
    )


def framework_ops(facts: Totals, graph: OpGraph) -> np.ndarray:
    """For each framework op of a trace the row of its `graph` that it is, -1 for none; of a file by name, which it shares."""
    if facts.stored_graph is None:
        return name_ops(facts).of_framework_op
    rows = pd.Series(np.arange(len(graph.ops)), index=graph.ops["name"])
    return rows.reindex(pd.Index(facts.op_shares.name), fill_value=-1).to_numpy()


def _scopes(tree: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows with something below them, and what is no op -> scopes, and for each row of the tree the scope that holds it."""
    parent = tree["parent"].to_numpy(np.int64)
    is_scope = (tree["op"].to_numpy() < 0) | np.isin(np.arange(len(tree)), parent)
    number = np.where(is_scope, np.cumsum(is_scope) - 1, -1)
    names = tree["name"].astype(str).to_numpy(object)
    above = names[np.maximum(parent, 0)]
    leafs = [
        name[len(over) + 1 :] if name.startswith(f"{over}/") else name
        for name, over in zip(names[is_scope], above[is_scope], strict=True)
    ]
    if leafs:
        leafs[0] = ""
    outer = np.where(parent >= 0, number[np.maximum(parent, 0)], -1)
    scopes = pd.DataFrame({"name": pd.Series(leafs, dtype=object), "parent": outer[is_scope]})
    return scopes, np.where(is_scope, number, outer)


def _weight(nodes: pd.DataFrame) -> np.ndarray:
    """Of each op the sum of its shares of all figures, so that none is dropped that stands out in any of them."""
    weight = np.zeros(len(nodes))
    for figure in (*FIGURES, "run_count"):
        values = nodes[figure].to_numpy(np.float64)
        weight += values / max(1.0, values.sum())
    return weight


def _named(graph: OpGraph, nodes: pd.DataFrame) -> pd.DataFrame:
    op = nodes["op"].to_numpy()
    shapes = graph.shapes.loc[graph.shapes["is_output"]].drop_duplicates("op").set_index("op")["shape"]
    own = graph.ops["shape"].to_numpy(object)
    texts = [_shape_text(own[row] if own[row] is not None else shapes.get(row)) for row in op]
    return pd.DataFrame(
        {
            "name": nodes["name"].astype(str).to_numpy(object),
            "type": graph.ops["type"].to_numpy(object)[op],
            "device": graph.ops["device"].to_numpy(object)[op],
            "shape": pd.Series(texts, dtype=object),
            "scope": nodes["scope"].to_numpy(),
            "frame": 0,
            **{key: nodes[key].to_numpy() for key in (*FIGURES, *COUNTS)},
        }
    )


def _shape_text(shape: object) -> str:
    if not isinstance(shape, tuple | list):
        return ""
    return "x".join("?" if size is None or size < 0 else str(size) for size in shape) or "scalar"


def _rest(nodes: pd.DataFrame, scopes: pd.DataFrame) -> pd.DataFrame:
    """The ops that are not named, summed by their outermost scope."""
    if nodes.empty:
        return pd.DataFrame()
    outermost = np.arange(len(scopes))
    for row, parent in enumerate(scopes["parent"].tolist()):
        # A scope comes after the one around it.
        if parent > 0:
            outermost[row] = outermost[parent]
    place = outermost[nodes["scope"].to_numpy()]
    sums = nodes[[*FIGURES, *COUNTS]].groupby(place).sum()
    n_ops = pd.Series(place).value_counts()
    sums.insert(0, "name", [f"{n_ops[scope]:,} ops that cost least" for scope in sums.index])
    texts = {"type": "", "device": "", "shape": ""}
    return sums.assign(**texts, scope=sums.index.to_numpy(), frame=0).reset_index(drop=True)


def _frames(graph: OpGraph, op: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """The calls that made the ops as one tree below a root, and for each op its innermost call."""
    table = graph.frames
    columns = [table[key].tolist() for key in ("parent", "file", "line", "function", "text")]
    innermost = graph.ops["frame"].to_numpy(np.int64)[op]
    rows: list[tuple[str, int, str, str, int]] = [("", 0, "", "", -1)]
    known: dict[tuple[int, str, int, str], int] = {}
    row_of: dict[int, int] = {-1: 0}
    for start in np.unique(innermost).tolist():
        stack = []
        at = start
        while at not in row_of:
            stack.append(at)
            at = columns[0][at]
        for frame in reversed(stack):
            parent, file, line, function, text = (column[frame] for column in columns)
            key = (row_of[parent], file, line, function)
            if key not in known:
                known[key] = len(rows)
                rows.append((file, line, function, text, row_of[parent]))
            row_of[frame] = known[key]
    frames = pd.DataFrame(rows, columns=["file", "line", "function", "text", "parent"])
    return frames, np.array([row_of[frame] for frame in innermost.tolist()], np.int64)


def _edges(graph: OpGraph, number: np.ndarray) -> tuple[pd.DataFrame, int]:
    """Edges between named ops, one for all tensors from one op to another, and how many such there are in the graph.

    Args:
        graph: of all ops.
        number: for each of them its number among those that are named, -1 for none.
    """
    inputs = graph.inputs.loc[graph.inputs["op"] != graph.inputs["source"]]
    n = (inputs["source_output"] >= 0).groupby([inputs["source"], inputs["op"]], sort=True).sum()
    pairs = n.rename("n").reset_index()
    shown = pairs.assign(source=number[pairs["source"].to_numpy(np.int64)], op=number[pairs["op"].to_numpy(np.int64)])
    shown = shown.loc[(shown["source"] >= 0) & (shown["op"] >= 0)].head(MOST_EDGES)
    return shown.astype("int64").reset_index(drop=True), len(pairs)
