"""What a view is made of before anything is left out: named nodes in a tree, each op at one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


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
    """The rows of a tree in the order of a walk that goes down first; siblings stay in order of rows.

    Args:
        parent: each row's parent; -1 for row 0, the root, only.
    """
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
