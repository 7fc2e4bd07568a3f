"""The call stacks of a graph's ops -> the nodes of the code view: below each line the lines it called."""

from __future__ import annotations

import numpy as np

from ...trace.op_graph import OpGraph
from .names import ROOT
from .nodes import Nodes, in_preorder

GRADIENT = " (gradient)"
"""Behind the text of a line that made an op, for the ops that compute its gradient, as tfprof shows it."""
NO_STACK = "<no call stack>"
"""The node of a capture's ops of which no line is known."""


def code_nodes(graph: OpGraph) -> Nodes:
    """One node per line of a call stack that made an op, and per stack; gradients are at the lines of what they are of.

    As in tfprof, ops without a call stack, and gradients of ops that are not there, are left out of its own files. Of a
    capture they are kept, so that the totals are those of the other views: gradients at their own lines, the rest at one
    node `NO_STACK`.

    Source: TFCode in tensorflow/core/profiler/internal/tfprof_code.cc.
    """
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
    """The name of the op of which `name` computes the gradient, by TensorFlow 1's naming; None if it computes none.

    `gradients/dense/MatMul_grad/MatMul_1` is of `dense/MatMul`.
    """
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
        """The node of the stack whose innermost frame is `frame`."""
        missing = []
        while frame >= 0 and (frame, suffix) not in self._made:
            missing.append(frame)
            frame = self.caller[frame]
        node = self._made[frame, suffix] if frame >= 0 else 0
        for row in reversed(missing):
            node = self._made[row, suffix] = self.child(node, self.texts[row] + suffix, row)
        return node

    def child(self, parent: int, text: str, frame: int) -> int:
        """The node of this text below `parent`."""
        found = self._children.get((parent, text))
        if found is None:
            found = self._children[parent, text] = len(self.names)
            self.names.append(text)
            self.parent.append(parent)
            self.frame.append(frame)
        return found
