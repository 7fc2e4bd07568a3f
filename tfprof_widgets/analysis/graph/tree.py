"""An `OpGraph` and options -> a `Tree`: one of tfprof's four views with its figures, and what a browser draws of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...trace.arrays import Int64
from ...trace.op_graph import OpGraph
from ..facts import Facts
from ..table import table
from .nodes import (
    COLUMN,
    NUMBERS,
    ROOT,
    SCOPE_TYPE,
    TIMES,
    Figures,
    Nodes,
    accounted,
    code_nodes,
    depths,
    graph_nodes,
    lets_through,
    matches,
    name_ranks,
    op_figures,
    preorder,
    scope_nodes,
    subtree_ends,
)
from .op_graph import name_ops
from .options import EVERYTHING, FIGURES, TreeOptions, TreeView, check_view, make_tree_options


def _with_all_nodes(view: TreeView, results: Any) -> pd.DataFrame:
    return build_tree(results.op_graph, view, make_tree_options()).frame


TREE = table(
    """
    tree(view): a node of the tree, down first, the root first; figures are its own, `total_...` with all below it
        name          text    of the scope, op, op type or line of code
        depth         int     how far from the root
        parent        int     its row, -1 of the root
        op            int     number of the op, -1 where the node is none
        *figures
        total_*figures
        input_shapes  object  shapes of the inputs of its own ops
        device        text    devices of its own ops, apart by `|`
        op_types      object  types of its own ops
    """,
    files={f"tree_{view}": partial(_with_all_nodes, view) for view in get_args(TreeView)},
)

_MOST = 2.0**62
"""The limit of running sums."""


@dataclass(frozen=True, eq=False)
class Accounts:
    """The figures of every node of a view, in its order; without meaning for nodes that are left out."""

    own: Figures
    total: Figures
    is_accounted: NDArray[np.bool_]
    """Whether the node's own op, or one of its ops, is counted."""
    is_kept: NDArray[np.bool_]
    parent: Int64
    """The node's parent among the nodes that stay."""
    is_counted_op: NDArray[np.bool_]
    """Per op, whether its figures are in the own figures of its node."""


def account(
    view: TreeView, nodes: Nodes, op_types: list[tuple[str, ...]], figures: Figures, options: TreeOptions
) -> Accounts:
    """Count what `account_type_regexes` says, an op of two matching types once. Differs from tfprof: there the code view counts
    it as often as expressions match. Source: Account() in tensorflow/core/profiler/internal."""
    regexes = options.account_type_regexes
    is_counted_op = accounted(op_types, regexes)
    if view == "code":
        is_placed = is_counted_op & (nodes.node_of_op >= 0)
        own = np.zeros((len(nodes), figures.shape[1]), figures.dtype)
        np.add.at(own, nodes.node_of_op[is_placed], figures[is_placed])
        is_accounted = own[:, COLUMN["occurrence"]] > 0
        is_accounted |= bool(accounted([()], regexes)[0])
    else:
        is_placed = nodes.node_of_op >= 0
        own = np.vstack((figures, np.zeros((1, figures.shape[1]), figures.dtype)))[nodes.op]
        own[nodes.op < 0, COLUMN["occurrence"]] = 1
        is_accounted = np.append(is_counted_op, accounted([(SCOPE_TYPE,)], regexes))[nodes.op]
    own[0], is_accounted[0] = 0, False
    ends = subtree_ends(nodes.parent)
    if view == "graph":
        is_kept = is_accounted.copy()
    else:
        n_before = np.concatenate(([0], np.cumsum(is_accounted)))
        is_kept = n_before[ends] > n_before[:-1]
    is_kept[0] = True
    parent = _nearest_kept(nodes.parent, is_kept)
    return Accounts(own, totals(np.where(is_kept[:, None], own, 0), ends), is_accounted, is_kept, parent, is_placed)


def totals(own: Figures, ends: Int64) -> Figures:
    """The figures of each row with all below it, of rows that are down first, in whole picoseconds or larger units."""
    unit = np.ones(own.shape[1])
    if own.dtype != np.int64:
        unit[[name in TIMES for name in NUMBERS]] = 10**6
        unit = np.minimum(unit, _MOST / np.maximum(np.abs(own).sum(axis=0), 1))
    whole = np.rint(own * unit).astype(np.int64)
    sums = np.vstack((np.zeros((1, own.shape[1]), np.int64), np.cumsum(whole, axis=0)))
    total: Figures = sums[ends] - sums[:-1]
    return total if own.dtype == np.int64 else np.asarray(total / unit)


def _nearest_kept(parent: Int64, is_kept: NDArray[np.bool_]) -> Int64:
    """The nearest node that stays above each node."""
    nearest = parent.tolist()
    kept = is_kept.tolist()
    for row in range(1, len(nearest)):  # one step per node; what is above was looked up before
        if not kept[nearest[row]]:
            nearest[row] = nearest[nearest[row]]
    return np.array(nearest, np.int64)


_OWN_LIMITS = {"params", "float_ops"}
"""Figures whose limits are of a node's own value in the scope and graph views."""


def shown_nodes(view: TreeView, nodes: Nodes, accounts: Accounts, options: TreeOptions) -> tuple[Int64, Int64, Figures]:
    """The nodes to show, down first, their parents and totals. Source: ShouldShow(), SearchRoot() and PrintScope() in
    tensorflow/core/profiler/internal."""
    nodes_shown, parent = _walk(view, nodes, accounts, options)
    total = accounts.total[nodes_shown]
    if options.account_displayed_op_only and view != "code":
        own = accounts.own[nodes_shown]
        own[0, COLUMN["occurrence"]] = 1  # as in tfprof, where the root now counts itself
        total = totals(own, subtree_ends(parent))
    if options.order_by in FIGURES:
        key = -total[:, COLUMN[options.order_by]]
    elif options.order_by == "occurrence" and view == "code":
        key = -accounts.own[nodes_shown, COLUMN["occurrence"]]
    else:
        key = name_ranks([nodes.names[row] for row in nodes_shown])
    by_key = np.argsort(key, kind="stable")
    by_key = np.concatenate(([0], by_key[by_key != 0]))  # the root is first whatever its name
    place = np.empty(len(parent) + 1, np.int64)
    place[by_key], place[-1] = np.arange(len(by_key)), -1
    order = by_key[preorder(place[parent[by_key]])]
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    return nodes_shown[order], place[parent[order]], total[order]


def passes_limits(figures_of: dict[str, Figures], options: TreeOptions) -> NDArray[np.bool_]:
    """Which rows reach every `min_...` option; `figures_of` has the values of each of `FIGURES`."""
    limits = [figures_of[name] >= getattr(options, f"min_{name}") for name in FIGURES]
    return np.asarray(np.logical_and.reduce(limits), np.bool_)


def passes_names(names: list[str], options: TreeOptions) -> NDArray[np.bool_]:
    return lets_through(names, options.show_name_regexes) & ~matches(names, options.hide_name_regexes)


def _may_show(view: TreeView, nodes: Nodes, accounts: Accounts, options: TreeOptions) -> NDArray[np.bool_]:
    """Which nodes have a name and figures to be shown, wherever they are."""
    of_own = _OWN_LIMITS if view != "code" else set()
    figures_of = {name: (accounts.own if name in of_own else accounts.total)[:, COLUMN[name]] for name in FIGURES}
    found = passes_limits(figures_of, options) & passes_names(list(nodes.names), options)
    if view != "code":
        found &= accounts.own[:, COLUMN["run_count"]] >= options.min_occurrence
    return found


def _walk(view: TreeView, nodes: Nodes, accounts: Accounts, options: TreeOptions) -> tuple[Int64, Int64]:
    """The nodes to show as the walk comes to them, and each one's parent as a row of these."""
    may_show = _may_show(view, nodes, accounts, options).tolist()
    is_trimmed = matches(nodes.names, options.trim_name_regexes).tolist()
    children = _children(accounts)
    starts = children[0]
    if options.start_name_regexes != EVERYTHING:
        starts = _found_below(children, matches(nodes.names, options.start_name_regexes).tolist())
    may_go_on = options.max_depth >= 1 and not is_trimmed[0]
    shown, parent = [0], [-1]
    waiting = [(row, 2, 0) for row in reversed(starts)] if may_go_on else []
    while waiting:
        row, depth, above = waiting.pop()
        is_cut = is_trimmed[row] or depth > options.max_depth
        if is_cut and view == "code":
            continue
        if may_show[row] and depth <= options.max_depth:
            parent.append(above)
            above = len(shown)
            shown.append(row)
        if not is_cut:
            waiting += [(child, depth + 1, above) for child in reversed(children[row])]
    return np.array(shown, np.int64), np.array(parent, np.int64)


def _children(accounts: Accounts) -> list[list[int]]:
    """The nodes that stay below each node."""
    children: list[list[int]] = [[] for _ in accounts.parent]
    kept = np.flatnonzero(accounts.is_kept)[1:]
    for row, parent in zip(kept.tolist(), accounts.parent[kept].tolist(), strict=True):
        children[parent].append(row)
    return children


def _found_below(children: list[list[int]], is_start: list[bool]) -> list[int]:
    """The first starts on every way down from the root."""
    found, waiting = [], children[0][::-1]
    while waiting:
        row = waiting.pop()
        if is_start[row]:
            found.append(row)
        else:
            waiting += reversed(children[row])
    return found


Shape = tuple[int, ...]
InputShapes = tuple[tuple[int, Shape | None], ...]
"""Slot and shape of every input of an op, by slot; None where the shape is not known."""


def _texts_by_row(texts: list[tuple[str, ...]], ops: Sequence[Int64]) -> list[tuple[str, ...]]:
    """What the ops of each group have of some texts, sorted."""
    known = {group: tuple(sorted(group)) for group in set(texts)}
    found = [{texts[op] for op in group.tolist()} for group in ops]
    return [known[next(iter(groups))] if len(groups) == 1 else tuple(sorted(set().union(*groups))) for groups in found]


def _op_input_shapes(graph: OpGraph) -> list[InputShapes]:
    """The inputs of every op: shapes at the op itself, else of the outputs that feed it. Differs from tfprof: there all inputs
    from one op have the shape of one of its outputs."""
    shapes = graph.shapes
    rows = zip(shapes["op"], shapes["is_output"], shapes["slot"], shapes["shape"], strict=True)
    known = {(op, bool(is_output), slot): shape for op, is_output, slot, shape in rows}
    found: list[dict[int, Shape | None]] = [{} for _ in range(len(graph.ops))]
    for op, slot, source, output in zip(*(graph.inputs[key] for key in graph.inputs), strict=True):
        if output >= 0:
            found[op][slot] = known.get((source, True, output))
    for (op, is_output, slot), shape in known.items():
        if not is_output:
            found[op][slot] = shape
    return [tuple(sorted(slots.items())) for slots in found]


def _shapes_by_occurrence(shapes: Sequence[tuple[InputShapes, int]]) -> tuple[tuple[Shape | None, ...], ...]:
    """The different input shapes of a group of ops, each given with its number of runs, the most often run first."""
    counts: Counter[InputShapes] = Counter()
    for shape, n_runs in shapes:
        counts[shape] += int(n_runs)
    return tuple(_plain(shape) for shape, _ in sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))


def _plain(shapes: InputShapes) -> tuple[Shape | None, ...]:
    """The shapes without their slots."""
    return tuple(shape for _, shape in shapes)


@dataclass(frozen=True, eq=False)
class OpList:
    """The op types to show, the root before them."""

    names: list[str]
    own: Figures
    total: Figures
    row_of_op: Int64
    """Per op, the row that has its figures; -1 where none has."""
    n_types: int
    """How many types there are before anything is left out, root included."""


def op_list(graph: OpGraph, figures: Figures, options: TreeOptions) -> OpList:
    """The types in order (of equal figures by name), each total with all behind it. Differs from tfprof: an op of two matching
    types counts once. Source: TFOp in tfprof_op.cc."""
    types = graph.ops["type"].to_numpy(object)
    names, type_of_op = np.unique(types, return_inverse=True) if len(types) else (types, np.zeros(0, np.int64))
    is_counted = accounted(graph.ops["op_types"].tolist(), options.account_type_regexes)
    own = np.zeros((len(names), len(NUMBERS)), figures.dtype)
    np.add.at(own, type_of_op[is_counted], figures[is_counted])
    counts = np.ones(len(names), np.bool_)
    if options.account_type_regexes != EVERYTHING:
        counts = own[:, COLUMN["occurrence"]] > 0
    order = np.flatnonzero(counts)
    if options.order_by in (*FIGURES, "occurrence"):
        order = order[np.argsort(-own[order, COLUMN[options.order_by]], kind="stable")]
    total = _from_behind(own[order])
    shown = _shown_types([str(name) for name in names[order]], total, own[order], options)
    if options.account_displayed_op_only:
        sums = _from_behind(own[order[shown]])
        root_total = sums[:1]
    else:
        sums, root_total = total[shown], total[:1]
    row_of_type = np.full(len(names), -1, np.int64)
    row_of_type[order[shown]] = np.arange(1, len(shown) + 1)
    empty = np.zeros((1, len(NUMBERS)), figures.dtype)
    return OpList(
        names=[ROOT, *(str(name) for name in names[order[shown]])],
        own=np.vstack((empty, own[order[shown]])),
        total=np.vstack((root_total if len(root_total) else empty, sums)),
        row_of_op=np.where(is_counted, row_of_type[type_of_op], -1),
        n_types=len(names) + 1,
    )


def _from_behind(own: Figures) -> Figures:
    return np.cumsum(own[::-1], axis=0, dtype=own.dtype)[::-1]


def _shown_types(names: list[str], total: Figures, own: Figures, options: TreeOptions) -> Int64:
    """Which of the counted types to show: those between the first to start at and the first to stop at."""
    start = 0
    if options.start_name_regexes not in ((), EVERYTHING):
        start = _first(matches(names, options.start_name_regexes), len(names))
    is_trimmed = matches(names, options.trim_name_regexes)
    is_trimmed[:start] = False
    stop = min(_first(is_trimmed, len(names)), start + max(options.max_depth + 1, 0))
    figures_of = {name: total[:, COLUMN[name]] for name in FIGURES}
    is_shown = passes_limits(figures_of, options) & passes_names(names, options)
    is_shown &= own[:, COLUMN["occurrence"]] >= options.min_occurrence
    found = np.flatnonzero(is_shown)
    return found[(found >= start) & (found < stop)]


def _first(is_one: np.ndarray, otherwise: int) -> int:
    return int(np.argmax(is_one)) if is_one.any() else otherwise


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
        n_rows = len(self.names)
        names = self.graph.ops["name"].tolist()
        by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        order = by_name[np.argsort(self.row_of_op[by_name], kind="stable")]
        return np.split(order, np.searchsorted(self.row_of_op[order], np.arange(n_rows)))[1:]

    @cached_property
    def devices(self) -> list[tuple[str, ...]]:
        """The devices of each node's own ops; "" among them where one never ran."""
        return _texts_by_row([(device,) for device in self.graph.ops["device"]], self.ops_by_row)

    @cached_property
    def op_types(self) -> list[tuple[str, ...]]:
        """The types of each node's own ops, and of what is no op in the scope and graph views."""
        found = _texts_by_row(self.graph.ops["op_types"].tolist(), self.ops_by_row)
        if self.view in ("scope", "graph"):
            other = (SCOPE_TYPE if self.view == "scope" else GRAPH_TYPE,)
            found = [other if op < 0 else types for op, types in zip(self.op.tolist(), found, strict=True)]
        return found

    @cached_property
    def input_shapes(self) -> list[InputShapes]:
        """The inputs of every op of `graph.ops`."""
        return _op_input_shapes(self.graph)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per node: `name`, `depth`, `parent`, `op` (-1 for none), then what `select` says, own and `total_...`."""
        chosen = [name for name in FIGURES if self.options.has(name)]
        if self.options.has("occurrence"):
            chosen += ["occurrence", "run_count"]
        columns = {"name": self.names, "depth": self.depth, "parent": self.parent, "op": self.op}
        columns |= {name: self.column(name) for name in chosen}
        columns |= {f"total_{name}": self.column(name, is_total=True) for name in chosen}
        if self.options.has("input_shapes"):
            shapes = self.input_shapes
            if self.view in ("scope", "graph"):
                found: list[tuple[object, ...]] = [_plain(shapes[op]) if op >= 0 else () for op in self.op.tolist()]
            else:
                runs = self.op_figures[:, COLUMN["run_count"]].tolist()
                rows = (ops.tolist() for ops in self.ops_by_row)
                found = [_shapes_by_occurrence([(shapes[op], runs[op]) for op in ops]) for ops in rows]
            columns["input_shapes"] = pd.Series(found, dtype=object)
        if self.options.has("device"):
            columns["device"] = ["|".join(filter(None, texts)) for texts in self.devices]
        if self.options.has("op_types"):
            columns["op_types"] = pd.Series(self.op_types, dtype=object)
        return pd.DataFrame(columns)

    def column(self, name: str, *, is_total: bool = False) -> NDArray[np.int64] | NDArray[np.float64]:
        """One of `NUMBERS`, per node; whole numbers but for times of a graph whose times are not whole."""
        found = (self.total if is_total else self.own)[:, COLUMN[name]]
        return found if name.endswith("micros") else found.astype(np.int64)


def build_tree(graph: OpGraph, view: TreeView, options: TreeOptions) -> Tree:
    """Cut the cost of a graph's ops by name scope, what feeds what, op type or call stack; without ops the root alone."""
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


MOST_OPS = 20_000
"""Of more ops those that cost most are named; the others are summed, one sum for each of the outermost scopes."""
MOST_EDGES = 60_000
COUNTS = ("occurrence", "run_count")
"""How many ops a row stands for, and how often they ran."""


@dataclass(frozen=True, eq=False)
class ShownStructure:
    """The ops of a profile and the places of each; rows refer to each other by position. All tables may be empty."""

    ops: pd.DataFrame
    """`name`, `type`, `device`, `shape` (of the first output, "" unknown), `scope` (row of `scopes`), `frame` (row of `frames`, 0
    unknown), `FIGURES`, `COUNTS`; sums of unnamed ops last."""
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
    inputs = graph.inputs.loc[graph.inputs["op"] != graph.inputs["source"]]
    n = (inputs["source_output"] >= 0).groupby([inputs["source"], inputs["op"]], sort=True).sum()
    pairs = n.rename("n").reset_index()
    shown = pairs.assign(source=number[pairs["source"].to_numpy(np.int64)], op=number[pairs["op"].to_numpy(np.int64)])
    shown = shown.loc[(shown["source"] >= 0) & (shown["op"] >= 0)].head(MOST_EDGES)
    edges, n_edges = shown.astype("int64").sort_values(["op", "source"], ignore_index=True), len(pairs)
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


def framework_ops(facts: Facts, graph: OpGraph) -> np.ndarray:
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
