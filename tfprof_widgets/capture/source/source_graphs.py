"""Live TensorFlow graphs -> columns of ops and frames, none of which holds anything of TensorFlow."""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import time
import weakref
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType
from typing import Any

from .graph_details import GraphDetails
from .live_variables import variable_classes
from .source_files import is_user_file

MAX_OPS = 200_000
"""How many graph ops are noted; a large model has some ten thousand."""
MAX_WRAPPERS = 100
"""How many decorators of a function are looked through; they may go in a circle."""

_mro = type.__dict__["__mro__"].__get__
"""The bases of a class, whatever its metaclass makes of attributes."""


@dataclass
class FrameTable:
    """Frames of tracebacks as trees: a frame below the same callers is one row."""

    parent: list[int] = field(default_factory=list)
    file: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    function: list[str] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    """Path -> row of the table of files."""
    _rows: dict[tuple[int, str, int, str], int] = field(default_factory=dict)

    def add(self, parent: int, filename: str, line: int, function: str) -> int:
        """The row of a frame below the row `parent`, -1 for the outermost."""
        key = (parent, filename, line, function)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.parent)
            self.parent.append(parent)
            self.file.append(self.file_row(filename))
            self.line.append(line)
            self.function.append(function)
        return row

    def file_row(self, filename: str) -> int:
        """The row of a file."""
        return self.files.setdefault(filename, len(self.files))

    def columns(self) -> dict[str, list[Any]]:
        """The table as lists."""
        return {"parent": self.parent, "file": self.file, "line": self.line, "function": self.function}


@dataclass
class GraphTable:
    """Graphs and their ops noted so far."""

    frames: FrameTable
    names: list[str] = field(default_factory=list)
    places: list[tuple[int, int, str]] = field(default_factory=list)
    """For each graph where its Python function was defined: file, line, function."""
    graph: list[int] = field(default_factory=list)
    op: list[str] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    frame: list[int] = field(default_factory=list)
    n_missed: int = 0
    """How many ops more the graphs had that were alive when it looked last."""
    details: GraphDetails = field(default_factory=GraphDetails)
    _row_of_traceback: dict[Any, int] = field(default_factory=dict)
    """Row of the innermost frame of each traceback met in this look; thousands of ops have some hundred."""
    _known: weakref.WeakKeyDictionary[Any, tuple[int, int]] = field(default_factory=weakref.WeakKeyDictionary)
    """Graph -> its row and how many of its ops are noted; weak, so that no graph lives longer for it."""

    def add_live_graphs(
        self,
        objects: list[Any],
        deadline_s: float,
        *,
        of_handle: dict[int, int] | None = None,
        batch_size: int = 0,
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
        graphs = [thing for thing in objects if issubclass(type(thing), graph_class)]
        self.n_missed = 0
        places = _definitions([thing for thing in objects if issubclass(type(thing), function_class)])
        self._row_of_traceback = {}
        try:
            self.details.begin(graphs, of_handle or {})
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
            row = len(self.names)
            name = str(getattr(graph, "name", "") or "graph")
            self.names.append(name)
            filename, line, function = places.get(name, ("", 0, ""))
            self.places.append((self.frames.file_row(filename) if filename else -1, line, function))
        noted: list[tuple[Any, int]] = []
        row_of = self._rows_of(row) if n_noted else {}
        for operation in operations[n_noted:]:
            if len(self.op) >= MAX_OPS or time.thread_time() > deadline_s:
                break
            n_noted += 1
            kind = operation.type
            if kind == "Placeholder":  # an argument, which is never executed; a third of the ops
                noted.append((operation, -1))
                continue
            row_of[operation.name] = len(self.op)
            noted.append((operation, len(self.op)))
            self.graph.append(row)
            self.op.append(operation.name)
            self.type.append(kind)
            self.frame.append(self._frame(operation))
        self.n_missed += len(operations) - n_noted
        self._known[graph] = (row, n_noted)
        self.details.add(noted, row_of)

    def _rows_of(self, graph: int) -> dict[str, int]:
        """The rows of the ops of a graph that has grown since it was noted, by name."""
        return {name: row for row, (of, name) in enumerate(zip(self.graph, self.op, strict=True)) if of == graph}

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
            row = self.frames.add(row, frame.filename, frame.lineno, frame.name)
        self._row_of_traceback[frames] = row
        return row

    def functions(self) -> dict[str, list[Any]]:
        """The table of graphs as lists."""
        return {
            "graph": self.names,
            "file": [place[0] for place in self.places],
            "line": [place[1] for place in self.places],
            "function": [place[2] for place in self.places],
        }

    def ops(self) -> dict[str, list[Any]]:
        """The table of ops as lists."""
        return {"graph": self.graph, "op": self.op, "type": self.type, "frame": self.frame}


def live_objects() -> list[Any]:
    """Live graphs, functions of `tf.function`, variables, Keras layers and optimizers; hold them no longer than needed."""
    bases = (*_graph_classes(), *_keras_classes(), *(kind for kind in variable_classes() if kind is not None))
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


def _keras_classes() -> list[type]:
    """The classes of layers and optimizers, of the versions of Keras that the program has loaded."""
    found = []
    for name in ("keras", "tf_keras"):
        for part, kind in (("layers", "Layer"), ("optimizers", "Optimizer")):
            base = getattr(getattr(sys.modules.get(name), part, None), kind, None)
            if isinstance(base, type):
                found.append(base)
    return found


def _definitions(functions: list[Any]) -> dict[str, tuple[str, int, str]]:
    """Name of a graph -> file, line and name of the Python function that it was traced from, where these are the user's."""
    places: dict[str, tuple[str, int, str]] = {}
    for function in functions:
        code = _code_of(getattr(function, "python_function", None))
        if code is not None and is_user_file(code.co_filename):
            places[code.co_name.strip("<>")] = (code.co_filename, code.co_firstlineno, code.co_name)
    return places


def _code_of(function: Any) -> CodeType | None:
    """The code of what was decorated; None for callables that are no functions, which may answer anything when asked."""
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
            return function.__code__  # type: ignore[no-any-return]
    return None
