"""The ops of a graph -> the nodes of the scope, graph and code views in a tree, and the figures of every op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...trace.arrays import Int64
from ...trace.op_graph import OpGraph
from .op_graph import GRADIENT, n_params
from .options import EVERYTHING, FIGURES, TreeOptions, pattern

ROOT = "_TFProfRoot"


def matches(names: Sequence[str], regexes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which of `names` one of `regexes` matches as a whole; none where there is no regular expression."""
    patterns = [pattern(regex) for regex in regexes]
    found = (any(compiled.fullmatch(name) for compiled in patterns) for name in names)
    return np.fromiter(found, np.bool_, len(names))


def lets_through(names: Sequence[str], regexes: tuple[str, ...]) -> NDArray[np.bool_]:
    """As `matches`, but `EVERYTHING` lets every name through, whatever is in it."""
    return np.ones(len(names), np.bool_) if regexes == EVERYTHING else matches(names, regexes)


def accounted(op_types: Sequence[tuple[str, ...]], regexes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which ops are counted: those with a type that one of `regexes` matches."""
    if regexes == EVERYTHING:
        return np.ones(len(op_types), np.bool_)
    types = sorted({text for texts in op_types for text in texts})
    counted = {text for text, is_match in zip(types, matches(types, regexes), strict=True) if is_match}
    return np.fromiter((not counted.isdisjoint(texts) for texts in op_types), np.bool_, len(op_types))


def name_ranks(names: Sequence[str]) -> NDArray[np.int64]:
    """The place of each name in the order of all different ones, by code point."""
    _, ranks = np.unique(np.asarray(pd.Series(names, dtype=object), dtype=object), return_inverse=True)
    return np.asarray(ranks, np.int64).reshape(-1)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one view in the order of a walk that goes down first: parents before children. Row 0 is the root."""

    names: Sequence[str]
    parent: Int64
    """-1 for the root."""
    op: Int64
    """Row of `graph.ops` that the node is; -1 where it is none."""
    node_of_op: Int64
    """The node at which an op's own figures are; -1 where the view leaves the op out."""
    frame: Int64
    """Row of `graph.frames` that the node is, the first of those alike; -1 where it is none."""

    def __len__(self) -> int:
        return len(self.parent)


def preorder(parent: Int64) -> Int64:
    """The rows of a tree in the order of a walk that goes down first; siblings stay in order of rows."""
    siblings = np.argsort(parent, kind="stable")
    first = np.searchsorted(parent[siblings], np.arange(len(parent) + 1))
    waiting, order = [0], []
    while waiting:
        row = waiting.pop()
        order.append(row)
        waiting += siblings[first[row] : first[row + 1]][::-1].tolist()
    return np.array(order, np.int64)


def in_preorder(names: Sequence[str], parent: Int64, op: Int64, node_of_op: Int64, frame: Int64 | None = None) -> Nodes:
    """Nodes in any order, the root first -> `Nodes`."""
    order = preorder(parent)
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    frame = np.full(len(order), -1, np.int64) if frame is None else frame
    return Nodes([names[row] for row in order], place[parent[order]], op[order], place[node_of_op], frame[order])


def depths(parent: Int64) -> Int64:
    """How far each row is from the root; parents come before children."""
    parents = parent.tolist()
    found = [0] * len(parents)
    for row in range(1, len(parents)):  # one step per node; a parent's depth is known before its children's
        found[row] = found[parents[row]] + 1
    return np.array(found, np.int64)


def subtree_ends(parent: Int64) -> Int64:
    """Of a tree whose rows are down first, the row behind the last one below each row."""
    parents = parent.tolist()
    found = list(range(1, len(parents) + 1))
    for row in range(len(parents) - 1, 0, -1):  # one step per node; the last below a node was seen before the node
        found[parents[row]] = max(found[parents[row]], found[row])
    return np.array(found, np.int64)


SCOPE_TYPE = "_kTFScopeParent"
"""The one type of a scope that is no op, by which `account_type_regexes` can count it."""


def scope_nodes(graph: OpGraph) -> Nodes:
    """A node per op and per prefix of its name before a slash. Source: TFScope in tensorflow/.../internal/tfprof_scope.cc."""
    op_of: dict[str, int] = {name: row for row, name in enumerate(graph.ops["name"])}
    found = dict.fromkeys(op_of)
    for name in op_of:
        while "/" in name and (name := name.rpartition("/")[0]) not in found:
            found[name] = None
    names = sorted(found)
    row_of = {name: row for row, name in enumerate(names, 1)}
    parent = [row_of[name.rpartition("/")[0]] if "/" in name else 0 for name in names]
    op = np.array([-1, *(op_of.get(name, -1) for name in names)], np.int64)
    node_of_op = np.array([row_of[name] for name in op_of], np.int64)
    return in_preorder([ROOT, *names], np.array([-1, *parent], np.int64), op, node_of_op)


def graph_nodes(graph: OpGraph) -> Nodes:
    """A node per op, below the first that a walk finds to feed it. Differs from tfprof: cycles that nothing leads out of stay,
    the first op by name at the top. Source: TFGraph in tfprof_graph.cc."""
    names = graph.ops["name"].tolist()
    by_name = sorted(range(len(names)), key=names.__getitem__)
    sources = _sources(graph)
    feeds = np.zeros(len(names), np.bool_)
    feeds[graph.inputs["source"].to_numpy(np.int64)] = True
    order: list[int] = []
    parent_op = np.full(len(names), -1, np.int64)
    seen = [False] * len(names)
    for start in (*(op for op in by_name if not feeds[op]), *by_name):
        for found, above in _fed_by(start, sources, seen):
            order.append(found)
            parent_op[found] = above
    op = np.array([-1, *order], np.int64)
    row_of = np.zeros(len(names) + 1, np.int64)  # and that of op -1, which is no op, is the root
    row_of[order] = np.arange(1, len(op))
    parent = np.concatenate(([-1], row_of[parent_op[order]]))
    return in_preorder([ROOT, *(names[row] for row in order)], parent, op, row_of[:-1])


def _sources(graph: OpGraph) -> list[Int64]:
    """What feeds each op, by slot."""
    op, slot, source = (graph.inputs[key].to_numpy(np.int64) for key in ("op", "slot", "source"))
    order = np.lexsort((slot, op))
    return np.split(source[order], np.searchsorted(op[order], np.arange(1, len(graph.ops))))


def _fed_by(start: int, sources: list[Int64], seen: list[bool]) -> Iterator[tuple[int, int]]:
    """Every op not seen yet that feeds `start`, itself first, and the op through which it was found; down first."""
    waiting: list[tuple[int, Iterator[int]]] = [(-1, iter((start,)))]
    while waiting:
        parent, more = waiting[-1]
        for op in more:
            if not seen[op]:
                seen[op] = True
                yield op, parent
                waiting.append((op, iter(sources[op].tolist())))
                break
        else:
            waiting.pop()


NO_STACK = "<no call stack>"
"""The node of a capture's ops of which no line is known."""


def code_nodes(graph: OpGraph) -> Nodes:
    """A node per line and stack that made an op, gradients at the lines of what they are of. A capture also has ops without one,
    at `NO_STACK`. Source: TFCode in tensorflow/core/profiler/internal/tfprof_code.cc."""
    stacks = _Stacks(graph)
    names, frame = graph.ops["name"].tolist(), graph.ops["frame"].tolist()
    by_name = sorted(range(len(names)), key=names.__getitem__)
    forward_of = [forward_name(name) for name in names]
    node_of_op = np.full(len(names), -1, np.int64)
    forward: dict[str, int] = {}
    gradients: dict[str, list[int]] = {}
    for op in by_name:
        if frame[op] < 0:
            continue
        if (made_by := forward_of[op]) is not None:
            gradients.setdefault(made_by, []).append(op)
            continue
        forward[names[op]] = op
        node_of_op[op] = stacks.node(frame[op], "")
    for name in sorted(gradients):
        if name in forward:
            node_of_op[gradients[name]] = stacks.node(frame[forward[name]], GRADIENT)
    if not graph.counts_steps:
        for op in by_name:
            if node_of_op[op] < 0:
                node_of_op[op] = stacks.node(frame[op], "") if frame[op] >= 0 else stacks.child(0, NO_STACK, -1)
    n_nodes = len(stacks.names)
    parent, of_frame = np.array(stacks.parent, np.int64), np.array(stacks.frame, np.int64)
    return in_preorder(stacks.names, parent, np.full(n_nodes, -1, np.int64), node_of_op, of_frame)


def forward_name(name: str) -> str | None:
    """The op whose gradient `name` is by TensorFlow 1's naming: `a/MatMul` of `gradients/a/MatMul_grad/MatMul_1`; else None."""
    begin, end = name.find("gradients/"), name.find("_grad/")
    if begin < 0 or end < 0:
        return None
    begin += len("gradients/")
    if end == begin:
        return None
    return name[begin:end] if end > begin else name[begin:]


def frame_text(file: str, line: int, function: str) -> str:
    """A line of code in tfprof's short form, such as `model.py:12:build`."""
    shown = function if len(function) < 20 else f"{function[:17]}..."
    return f"{file.rpartition('/')[2]}:{line}:{shown}"


class _Stacks:
    """The nodes made so far; lines of the same text below the same node are one."""

    def __init__(self, graph: OpGraph) -> None:
        frames = graph.frames
        self.caller: list[int] = frames["parent"].tolist()
        rows = zip(frames["file"], frames["line"], frames["function"], strict=True)
        # A capture's graph has copies of the frames whose gradients ran, marked behind the text of the line.
        is_gradient = [not graph.counts_steps and text.endswith(GRADIENT) for text in frames["text"]]
        self.texts = [frame_text(*row) + GRADIENT * of for row, of in zip(rows, is_gradient, strict=True)]
        self.names, self.parent, self.frame = [ROOT], [-1], [-1]
        self._children: dict[tuple[int, str], int] = {}
        self._made: dict[tuple[int, str], int] = {}

    def node(self, frame: int, suffix: str) -> int:
        missing = []
        while frame >= 0 and (frame, suffix) not in self._made:
            missing.append(frame)
            frame = self.caller[frame]
        node = self._made[frame, suffix] if frame >= 0 else 0
        for row in reversed(missing):
            node = self._made[row, suffix] = self.child(node, self.texts[row] + suffix, row)
        return node

    def child(self, parent: int, text: str, frame: int) -> int:
        found = self._children.get((parent, text))
        if found is None:
            found = self._children[parent, text] = len(self.names)
            self.names.append(text)
            self.parent.append(parent)
            self.frame.append(frame)
        return found


NUMBERS = (*FIGURES, "occurrence", "run_count")
"""The columns of the arrays of figures: `occurrence` is a number of ops, `run_count` how often they ran."""
Figures = NDArray[Any]
"""One row per op or node, the columns `NUMBERS`; int64, or float64 where the graph's times are not whole."""
COLUMN = {name: i for i, name in enumerate(NUMBERS)}
TIMES = FIGURES[:3]
_MOST_FIGURE = 2**53
_MEMORY = {
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
}


def op_figures(graph: OpGraph, options: TreeOptions) -> Figures:
    """The figures of each row of `graph.ops`. Source: ExecStep and TFGraphNode in tensorflow/.../internal/tfprof_node.h."""
    step = options.step
    if step >= 0 and step not in (steps := graph.steps):
        first = ", ".join(map(str, steps[:20])) or "none"
        rest = f" (the first 20 of {len(steps)})" if len(steps) > 20 else ""
        raise ValueError(f"step {step} is not among the steps that were recorded: {first}{rest}. Use -1 for all.")
    figures = np.zeros((len(graph.ops), len(NUMBERS)), np.int64 if graph.is_whole else np.float64)
    _add_times(figures, _of_step(graph.times, step))
    memory = _of_step(graph.memory, step)
    for name, source in _MEMORY.items():
        _add(figures, name, memory["op"], memory[source])
    runs = _of_step(graph.runs, step)
    _add(figures, "run_count", runs["op"], runs["n_runs"])
    is_average = graph.counts_steps if options.average is None else options.average
    if step < 0 and is_average:
        _average(figures, graph)
    figures[:, COLUMN["occurrence"]] = 1
    figures[:, COLUMN["params"]] = [n_params(shape) for shape in graph.ops["shape"]]
    figures[:, COLUMN["float_ops"]] = graph.ops["float_ops"].to_numpy(np.int64)
    has_run = np.isin(np.arange(len(graph.ops)), graph.runs["op"].to_numpy(np.int64))
    _multiply(figures[:, COLUMN["float_ops"]], figures[:, COLUMN["run_count"]], has_run)
    return figures


def _multiply(float_ops: Figures, n_runs: Figures, has_run: NDArray[np.bool_]) -> None:
    """Float operations of all runs, in place; of damaged files at most 2**53 for an op, so that sums stay in 64 bits."""
    is_huge = float_ops.astype(np.float64) * n_runs > _MOST_FIGURE
    float_ops[has_run] *= n_runs[has_run]
    float_ops[has_run & is_huge] = _MOST_FIGURE


def _of_step(table: pd.DataFrame, step: int) -> pd.DataFrame:
    return table if step < 0 else table[table["step"] == step]


def _add(figures: Figures, name: str, op: pd.Series, value: pd.Series) -> None:
    """Add to the figures of ops; of damaged files at most 2**53 at once, so that sums stay in 64 bits."""
    known = value.to_numpy(np.float64).clip(-_MOST_FIGURE, _MOST_FIGURE)
    np.add.at(figures[:, COLUMN[name]], op.to_numpy(np.int64), known.astype(figures.dtype))


def _add_times(figures: Figures, times: pd.DataFrame) -> None:
    for name, is_accelerator in (("accelerator_micros", True), ("cpu_micros", False)):
        rows = times[times["is_accelerator"].to_numpy(bool) == is_accelerator]
        _add(figures, name, rows["op"], rows["duration_us"])
    figures[:, COLUMN["micros"]] = figures[:, COLUMN["accelerator_micros"]] + figures[:, COLUMN["cpu_micros"]]


def _average(figures: Figures, graph: OpGraph) -> None:
    """Divide by the number of steps in which the op ran, whole numbers to whole numbers."""
    n_steps = np.bincount(graph.runs["op"].to_numpy(np.int64), minlength=len(graph.ops)).clip(1)
    for name, column in COLUMN.items():
        if name in TIMES and not graph.is_whole:
            figures[:, column] /= n_steps
        else:
            figures[:, column] //= n_steps
