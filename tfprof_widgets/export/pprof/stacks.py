"""The nodes of a tree -> stacks of places for pprof's format, and whole values of which the sums are those of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...analysis.graph.op_graph import GRADIENT

if TYPE_CHECKING:
    from ...analysis.graph.tree import Tree
    from .messages import Tables

NOT_SHOWN = "<not shown>"
"""The place of what the root counts and no node below it shows."""


def own_values(tree: Tree, figure: str) -> NDArray[np.int64]:
    """What each node counts less what the nodes below it count: its own, and of nodes that options hide what is below it.

    Whole numbers of which the sum is that of the root, rounded; the sum of a node and all below it is less than 1 off. So
    rounding goes from node to node, down first: ops of a tenth of a microsecond count as 1 in every tenth of them, and are
    not all lost, as they would be if each were rounded by itself.
    """
    total = tree.column(figure, is_total=True)
    below = np.zeros_like(total)
    np.add.at(below, tree.parent[1:], total[1:])
    if not np.issubdtype(total.dtype, np.floating):
        return (total - below).astype(np.int64)
    reached = np.maximum.accumulate(np.cumsum(total - below))
    reached[-1:] = total[:1]
    return np.diff(np.rint(reached), prepend=0).astype(np.int64)


class Stacks:
    """The stacks of the nodes of one tree."""

    def __init__(self, tables: Tables, tree: Tree, *, of_root: str = NOT_SHOWN) -> None:
        """Stacks of `tree`; their places go into `tables`. What the root alone counts is at the place `of_root`."""
        self._tables, self._view, self._names, self._of_root = tables, tree.view, tree.names, of_root
        self._parent: list[int] = tree.parent.tolist()
        self._frame: list[int] = tree.stack_frame.tolist()
        self._lines = tree.graph.frames
        self._place: dict[int, int] = {}

    def places(self, row: int) -> list[int]:
        """Ids of the places of a node, its own first, the outermost last."""
        if row == 0:
            return [self._tables.place(self._of_root)]
        if self._view == "op":
            return [self._at(row)]
        found = []
        while row > 0:
            found.append(self._at(row))
            row = self._parent[row]
        return found

    def _at(self, row: int) -> int:
        if row not in self._place:
            self._place[row] = self._line(row) if self._view == "code" else self._part(row)
        return self._place[row]

    def _part(self, row: int) -> int:
        """An op, an op type, or what a scope adds to the name of the one around it."""
        name = self._names[row]
        above = f"{self._names[self._parent[row]]}/"
        shown = name.removeprefix(above) if self._view == "scope" and self._parent[row] > 0 else name
        return self._tables.place(shown, system_name=name)

    def _line(self, row: int) -> int:
        """A line of code; what has none stands by its name."""
        if self._frame[row] < 0:
            return self._tables.place(self._names[row])
        line = self._lines.iloc[self._frame[row]]
        function = str(line["function"]) or self._names[row]
        return self._tables.place(
            f"{function}{GRADIENT}" if self._names[row].endswith(GRADIENT) else function,
            file=str(line["file"]),
            line=int(line["line"]),
            start_line=int(line["function_line"]),
        )
