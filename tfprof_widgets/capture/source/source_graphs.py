"""TensorFlow graphs -> columns of ops and frames, none of which holds anything of TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .columns import Columns
from .graph_details import GraphDetails
from .ran_graphs import RanGraph

MAX_OPS = 200_000
"""How many graph ops are noted; a large model has some ten thousand."""


class FrameTable:
    """Frames of tracebacks as trees: a frame below the same callers is one row."""

    def __init__(self) -> None:
        self.frames = Columns("parent", "file", "line", "function")
        self.files: dict[str, int] = {}
        """Path -> row of the table of files."""
        self._rows: dict[tuple[int, str, int, str], int] = {}

    def add(self, parent: int, filename: str, line: int, function: str) -> int:
        """The row of a frame below the row `parent`, -1 for the outermost."""
        key = (parent, filename, line, function)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self.frames.add(parent, self.file_row(filename), line, function)
        return row

    def file_row(self, filename: str) -> int:
        """The row of a file."""
        return self.files.setdefault(filename, len(self.files))


class GraphTable:
    """Graphs and their ops noted so far."""

    def __init__(self, frames: FrameTable) -> None:
        self.functions = Columns("graph", "file", "line", "function")
        """The graphs, each with where its Python function was defined."""
        self.ops = Columns("graph", "op", "type", "frame")
        self.n_missed = 0
        """How many ops more the graphs had."""
        self.details = GraphDetails()
        self._frames = frames
        self._row_of_traceback: dict[Any, int] = {}
        """Row of the innermost frame of each traceback; thousands of ops have some hundred."""

    def add(self, graphs: Sequence[RanGraph], *, of_handle: dict[int, int], batch_size: int) -> None:
        """Note the ops of graphs.

        Args:
            graphs: the graphs.
            of_handle: rows of variables by the `id` of their handles.
            batch_size: how many samples are in a batch, 0 where it is not known, to count float operations with.
        """
        try:
            self.details.begin([one.graph for one in graphs], of_handle)
            for one in graphs:
                self._add_graph(one)
            self.details.count(batch_size)
        finally:
            self._row_of_traceback = {}
            self.details.forget()

    def _add_graph(self, one: RanGraph) -> None:
        filename, line, function = one.place
        file = self._frames.file_row(filename) if filename else -1
        row = self.functions.add(one.name, file, line, function)
        operations = one.graph.get_operations()
        kept = operations[: MAX_OPS - self.ops.n_rows]
        self.n_missed += len(operations) - len(kept)
        row_of: dict[str, int] = {}
        noted: list[tuple[Any, int]] = []
        for operation in kept:
            name, kind = operation.name, operation.type
            if kind != "Placeholder":  # an argument, which is never executed; a third of the ops
                row_of[name] = self.ops.add(row, name, kind, self._frame(one.traceback(operation)))
            noted.append((operation, row_of.get(name, -1)))
        self.details.add(noted, row_of)

    def _frame(self, traceback: Any) -> int:
        if traceback is None:
            return -1
        # Without the frames inside TensorFlow, which are two thirds of them; older versions give no such choice.
        frames = traceback.get_user_frames() if hasattr(traceback, "get_user_frames") else tuple(traceback)
        known = self._row_of_traceback.get(frames)
        if known is not None:
            return known
        row = -1
        for frame in frames:
            row = self._frames.add(row, frame.filename, frame.lineno, frame.name)
        self._row_of_traceback[frames] = row
        return row
