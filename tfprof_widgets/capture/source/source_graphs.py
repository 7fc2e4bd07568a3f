"""Live TensorFlow graphs -> columns of ops and frames, none of which holds anything of TensorFlow."""

from __future__ import annotations

import functools
import gc
import itertools
import time
import weakref
from types import FunctionType, MethodType
from typing import Any

from .columns import Columns
from .graph_details import GraphDetails
from .keras_layers import alive, keras_class
from .live_variables import variable_classes
from .source_files import is_user_file

MAX_OPS = 200_000
"""How many graph ops are noted; a large model has some ten thousand."""
MAX_WRAPPERS = 100
"""How many decorators of a function are looked through; they may go in a circle."""

_mro = type.__dict__["__mro__"].__get__
"""The bases of a class, whatever its metaclass makes of attributes."""


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
        """How many ops more the graphs had that were alive when it looked last."""
        self.details = GraphDetails()
        self._frames = frames
        self._row_of_traceback: dict[Any, int] = {}
        """Row of the innermost frame of each traceback met in this look; thousands of ops have some hundred."""
        self._known: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()
        """Graph -> its row and how many of its ops are noted; weak, so that no graph lives longer for it."""

    def add_live_graphs(
        self,
        objects: list[Any],
        deadline_s: float,
        *,
        of_handle: dict[int, int],
        batch_size: int,
    ) -> None:
        """Note what is new in the graphs among `objects`, until `time.thread_time()` is `deadline_s`.

        What `tf.function` and tf.data trace ends in `FuncGraph`s, which live as long as the function does.

        Args:
            objects: live objects.
            deadline_s: when to end.
            of_handle: rows of variables by the `id` of their handles.
            batch_size: how many samples are in a batch, 0 where it is not known, to count float operations with.
        """
        graph_class, function_class = _graph_classes()
        graphs = alive(objects, graph_class)
        self.n_missed = 0
        places = _definitions(alive(objects, function_class))
        self._row_of_traceback = {}
        try:
            self.details.begin(graphs, of_handle)
            for graph in graphs:
                self._add_graph(graph, places, deadline_s)
            self.details.count(deadline_s, batch_size)
        finally:
            self._row_of_traceback = {}
            self.details.forget()

    def _add_graph(self, graph: Any, places: dict[str, tuple[str, int, str]], deadline_s: float) -> None:
        operations = graph.get_operations()
        row, n_noted = self._known.get(graph, (-1, 0))
        if len(operations) <= n_noted:
            return
        if row < 0:
            name = str(getattr(graph, "name", "") or "graph")
            filename, line, function = places.get(name, ("", 0, ""))
            file = self._frames.file_row(filename) if filename else -1
            row = self.functions.add(name, file, line, function)
        noted: list[tuple[Any, int]] = []
        row_of = self._rows_of(row) if n_noted else {}
        for operation in operations[n_noted:]:
            if self.ops.n_rows >= MAX_OPS or time.thread_time() > deadline_s:
                break
            n_noted += 1
            kind = operation.type
            if kind == "Placeholder":  # an argument, which is never executed; a third of the ops
                noted.append((operation, -1))
                continue
            row_of[operation.name] = self.ops.add(row, operation.name, kind, self._frame(operation))
            noted.append((operation, row_of[operation.name]))
        self.n_missed += len(operations) - n_noted
        self._known[graph] = (row, n_noted)
        self.details.add(noted, row_of)

    def _rows_of(self, graph: int) -> dict[str, int]:
        """The rows of the ops of a graph that has grown since it was noted, by name."""
        return {
            name: row
            for row, (of, name) in enumerate(zip(self.ops["graph"], self.ops["op"], strict=True))
            if of == graph
        }

    def _frame(self, operation: Any) -> int:
        traceback = operation.traceback
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


def live_objects() -> list[Any]:
    """Live graphs, functions of `tf.function`, variables, Keras layers and optimizers; hold them no longer than needed."""
    keras = [
        keras_class(module, part, name)
        for module in ("keras", "tf_keras")
        for part, name in (("layers", "Layer"), ("optimizers", "Optimizer"))
    ]
    bases = [kind for kind in (*_graph_classes(), *keras, *variable_classes()) if kind is not None]
    objects = gc.get_objects()
    # By their types first: a process has some 10,000 of these and some 1,000,000 objects. By the types' ids, and not with
    # issubclass(): a metaclass of the user's may do anything to tell a hash or a subclass.
    kinds = dict(zip(map(id, map(type, objects)), map(type, objects), strict=True))
    wanted_bases = set(map(id, bases))
    wanted = {key for key, kind in kinds.items() if not wanted_bases.isdisjoint(map(id, _mro(kind)))}
    return list(itertools.compress(objects, map(wanted.__contains__, map(id, map(type, objects)))))


def _graph_classes() -> tuple[type, type]:
    """The class of graphs, and of what `tf.function` returns."""
    # Private modules: no public name leads from a function to its graphs.
    from tensorflow.python.eager.polymorphic_function import polymorphic_function
    from tensorflow.python.framework import ops

    return ops.Graph, polymorphic_function.Function


def _definitions(functions: list[Any]) -> dict[str, tuple[str, int, str]]:
    """Name of a graph -> file, line and name of the Python function that it was traced from, where these are the user's."""
    places: dict[str, tuple[str, int, str]] = {}
    for function in functions:
        plain = plain_function(getattr(function, "python_function", None))
        code = None if plain is None else plain.__code__
        if code is not None and is_user_file(code.co_filename):
            places[code.co_name.strip("<>")] = (code.co_filename, code.co_firstlineno, code.co_name)
    return places


def plain_function(function: Any) -> FunctionType | None:
    """The function that was decorated; None for callables that are no functions, which may answer anything when asked."""
    for _ in range(MAX_WRAPPERS):
        kind = type(function)
        if kind is MethodType:
            function = function.__func__
        elif kind is functools.partial:
            function = function.func
        elif kind is not FunctionType:
            return None
        elif "__wrapped__" in function.__dict__:
            function = function.__dict__["__wrapped__"]
        else:
            return function  # type: ignore[no-any-return]
    return None
