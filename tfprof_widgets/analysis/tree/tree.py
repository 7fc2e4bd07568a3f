"""An `OpGraph` and options -> a `Tree`: the nodes of one of tfprof's four views with their figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...trace.op_graph import OpGraph
from . import details
from .accounting import account
from .code_nodes import code_nodes
from .graph_nodes import graph_nodes
from .nodes import Int64, depths
from .op_figures import COLUMN, Figures, op_figures
from .op_list import op_list
from .scope_nodes import SCOPE_TYPE, scope_nodes
from .selection import shown_nodes
from .tree_options import FIGURES, TreeOptions, TreeView, check_view

GRAPH_TYPE = "_TFGraphParent"
"""The one type of the root of the graph view."""
_NODES = {"scope": scope_nodes, "graph": graph_nodes, "code": code_nodes}


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """One view, its nodes down first as tfprof prints them; row 0 is the root, `_TFProfRoot`."""

    graph: OpGraph
    view: TreeView
    options: TreeOptions
    names: list[str]
    """Full names of ops and scopes; op types; in the code view lines of code."""
    parent: Int64
    """-1 for the root. In the op view each row's parent is the one before it, since its total is of all behind it."""
    op: Int64
    """Row of `graph.ops`; -1 where the node is no op."""
    stack_frame: Int64
    """In the code view the row of `graph.frames` that the line is, the first of those alike; else -1."""
    own: Figures
    """The node's own figures, columns `NUMBERS`."""
    total: Figures
    """With all below it that is counted, shown or not."""
    op_figures: Figures
    """Those of every op of `graph.ops`, in this tree or not."""
    is_accounted: NDArray[np.bool_]
    """Whether `account_type_regexes` counts the node itself; tfprof's text shows dashes for its own figures where not."""
    row_of_op: Int64
    """Per row of `graph.ops` the row of this tree that has its figures as its own; -1 where none has."""
    n_nodes: int
    """How many nodes the view has before anything is left out, root included; of them `len(names)` are here."""

    def __repr__(self) -> str:
        return f"Tree({self.view!r}, {len(self.names)} of {self.n_nodes} nodes)"

    @property
    def n_ops(self) -> int:
        """How many ops are at the nodes of this tree, of `len(graph.ops)`."""
        return int((self.row_of_op >= 0).sum())

    @cached_property
    def depth(self) -> Int64:
        """How far each node is from the root."""
        return depths(self.parent)

    @cached_property
    def ops_by_row(self) -> list[Int64]:
        """Rows of `graph.ops` that each node has as its own, by name."""
        return details.ops_by_row(self.row_of_op, self.graph, len(self.names))

    @cached_property
    def devices(self) -> list[tuple[str, ...]]:
        """The devices of each node's own ops; "" among them where one never ran."""
        return details.texts_by_row([(device,) for device in self.graph.ops["device"]], self.ops_by_row)

    @cached_property
    def op_types(self) -> list[tuple[str, ...]]:
        """The types of each node's own ops, and of what is no op in the scope and graph views."""
        found = details.texts_by_row(self.graph.ops["op_types"].tolist(), self.ops_by_row)
        if self.view in ("scope", "graph"):
            other = (SCOPE_TYPE if self.view == "scope" else GRAPH_TYPE,)
            found = [other if op < 0 else types for op, types in zip(self.op.tolist(), found, strict=True)]
        return found

    @cached_property
    def input_shapes(self) -> list[details.InputShapes]:
        """The inputs of every op of `graph.ops`."""
        return details.input_shapes(self.graph)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per node.

        Columns: `name`, `depth` (the root's is 0), `parent` (row; -1 of the root), `op` (row of `graph.ops`; -1 where the
        node is no op), then what `select` says, own and `total_...`: `micros, accelerator_micros, cpu_micros` (us),
        `bytes, peak_bytes, residual_bytes, output_bytes`, `params`, `float_ops`, `occurrence` (ops), `run_count`; and of the
        node's own ops `input_shapes` (in the scope and graph views a tuple of shapes by input, None for an unknown one; in
        the others a tuple of such tuples, the most often run first), `device` (several apart by `|`), `op_types` (tuple).
        """
        chosen = [name for name in FIGURES if self.options.has(name)]
        if self.options.has("occurrence"):
            chosen += ["occurrence", "run_count"]
        columns = {"name": self.names, "depth": self.depth, "parent": self.parent, "op": self.op}
        columns |= {name: self.column(name) for name in chosen}
        columns |= {f"total_{name}": self.column(name, is_total=True) for name in chosen}
        if self.options.has("input_shapes"):
            columns["input_shapes"] = self._input_shapes()
        if self.options.has("device"):
            columns["device"] = ["|".join(filter(None, texts)) for texts in self.devices]
        if self.options.has("op_types"):
            columns["op_types"] = pd.Series(self.op_types, dtype=object)
        return pd.DataFrame(columns)

    def column(self, name: str, *, is_total: bool = False) -> NDArray[np.int64] | NDArray[np.float64]:
        """One of `NUMBERS`, per node; whole numbers but for times of a graph whose times are not whole."""
        found = (self.total if is_total else self.own)[:, COLUMN[name]]
        return found if name.endswith("micros") else found.astype(np.int64)

    def _input_shapes(self) -> pd.Series:
        shapes = self.input_shapes
        if self.view in ("scope", "graph"):
            found: list[tuple[object, ...]] = [details.plain(shapes[op]) if op >= 0 else () for op in self.op.tolist()]
        else:
            runs = self.op_figures[:, COLUMN["run_count"]].tolist()
            rows = (ops.tolist() for ops in self.ops_by_row)
            found = [details.shapes_by_occurrence([(shapes[op], runs[op]) for op in ops]) for ops in rows]
        return pd.Series(found, dtype=object)


def build_tree(graph: OpGraph, view: TreeView, options: TreeOptions) -> Tree:
    """Cut the cost of a graph's ops by name scope, by what feeds what, by op type or by call stack.

    A graph without ops gives the root alone.

    Raises:
        ValueError: there is no such view, or nothing ran in the step asked for.
    """
    check_view(view)
    figures = op_figures(graph, options)
    if view == "op":
        return _op_tree(graph, figures, options)
    nodes = _NODES[view](graph)
    accounts = account(view, nodes, graph.ops["op_types"].tolist(), figures, options)
    shown, parent, total = shown_nodes(view, nodes, accounts, options)
    row_of_node = np.full(len(nodes) + 1, -1, np.int64)
    row_of_node[shown] = np.arange(len(shown))
    return Tree(
        graph=graph,
        view=view,
        options=options,
        names=[nodes.names[row] for row in shown],
        parent=parent,
        op=nodes.op[shown],
        stack_frame=nodes.frame[shown],
        own=accounts.own[shown],
        total=total,
        op_figures=figures,
        is_accounted=accounts.is_accounted[shown],
        row_of_op=np.where(accounts.is_counted_op, row_of_node[nodes.node_of_op], -1),
        n_nodes=len(nodes),
    )


def _op_tree(graph: OpGraph, figures: Figures, options: TreeOptions) -> Tree:
    found = op_list(graph, figures, options)
    nothing = np.full(len(found.names), -1, np.int64)
    return Tree(
        graph=graph,
        view="op",
        options=options,
        names=found.names,
        parent=np.arange(-1, len(found.names) - 1),
        op=nothing,
        stack_frame=nothing,
        own=found.own,
        total=found.total,
        op_figures=figures,
        is_accounted=np.arange(len(found.names)) > 0,
        row_of_op=found.row_of_op,
        n_nodes=found.n_types,
    )
