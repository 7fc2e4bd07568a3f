"""Functions of TensorFlow's runtime -> the graphs that ran: nodes, shapes, flops, call stacks."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import os
import re
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .frames import Columns, alive, function_graph_class, graph_classes, is_user_file, plain_function, text_of

_RESHAPES = frozenset(("Reshape", "ExpandDims", "Squeeze"))
_ARGUMENTS = frozenset(("Placeholder", "IteratorGetNext", "OptionalGetValue"))
"""Types of ops that bring a batch into a function."""
_MAX_DEPTH = 50
"""How far an unknown dimension is followed to its origin."""

Shape = tuple[int, ...] | None


@dataclass
class StaticShapes:
    """Shapes of tensors of one look, by the `id` of the tensor, which its graph keeps alive."""

    _texts: dict[int, str] = field(default_factory=dict)
    _text_of: dict[Shape, str] = field(default_factory=dict)
    _shapes: dict[int, Shape] = field(default_factory=dict)
    _whole: dict[int, Shape] = field(default_factory=dict)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Types of ops that have statistics; none where TensorFlow no longer registers any."""
        try:
            from tensorflow.python.framework import ops
            from tensorflow.python.profiler.internal import flops_registry  # noqa: F401 -- it registers them

            names = [name.split(",") for name in ops._stats_registry.list()]
        except (ImportError, AttributeError):
            _logger.info("float operations are not known", exc_info=True)
            return frozenset()
        return frozenset(name[0] for name in names if name[1:] == ["flops"])

    @cached_property
    def tools(self) -> tuple[Any, Any]:
        """TensorFlow's function that counts, and its class of shapes."""
        from tensorflow import TensorShape
        from tensorflow.python.framework import ops

        return ops.get_stats_for_node_def, TensorShape

    def of(self, tensor: Any) -> Shape:
        """The shape of a tensor as its graph knows it: -1 for an unknown dimension, None for an unknown rank."""
        key = id(tensor)
        if key not in self._shapes:
            shape = tensor.shape
            self._shapes[key] = None if shape.rank is None else tuple([-1 if d is None else d for d in shape.as_list()])
        return self._shapes[key]

    def text(self, tensor: Any) -> str:
        """The shape as the sidecar has it, see `parse_shapes` of its reader."""
        key = id(tensor)
        text = self._texts.get(key)
        if text is None:
            shape = self.of(tensor)
            if shape not in self._text_of:
                self._text_of[shape] = "?" if shape is None else "x".join(map(str, shape)) if shape else "()"
            text = self._texts[key] = self._text_of[shape]
        return text

    def whole(self, tensor: Any, batch_size: int, depth: int = 0) -> Shape:
        """The shape for batches of `batch_size`, or None: an unknown dimension is the input's, a reshape's, or the batch."""
        key, shape = id(tensor), self.of(tensor)
        if shape is None or shape.count(-1) > 1 or (-1 in shape and (depth > _MAX_DEPTH or not batch_size)):
            return None
        if -1 not in shape:
            return shape
        if key not in self._whole:
            self._whole[key] = None  # a loop finds nothing
            size = self._unknown(tensor.op, shape, batch_size, depth)
            self._whole[key] = None if size is None else tuple(size if d < 0 else d for d in shape)
        return self._whole[key]

    def _unknown(self, operation: Any, shape: tuple[int, ...], batch_size: int, depth: int) -> int | None:
        if operation.type in _ARGUMENTS:
            return batch_size if shape[0] < 0 else None
        inputs = list(operation.inputs)
        if operation.type in _RESHAPES:
            known = self.whole(inputs[0], batch_size, depth + 1) if inputs else None
            rest = math.prod(d for d in shape if d >= 0)
            return None if known is None or not rest else math.prod(known) // rest
        for tensor in inputs:
            own = self.of(tensor)
            if own is None or -1 not in own:
                continue
            known = self.whole(tensor, batch_size, depth + 1)
            if known is not None:
                return known[own.index(-1)]
        return None


def _filled(tensors: dict[str, Any], shapes: StaticShapes, batch_size: int) -> Any:
    """A graph whose tensors have no unknown dimension, as far as statistics ask."""

    def get_tensor_by_name(name: str) -> Any:
        shape = shapes.tools[1](shapes.whole(tensors[name], batch_size))
        return SimpleNamespace(get_shape=lambda: shape)

    return SimpleNamespace(get_tensor_by_name=get_tensor_by_name)


def count_float_ops(operation: Any, shapes: StaticShapes, batch_size: int) -> int:
    """The float operations of an op; 0 where it has no statistics or a shape is unknown."""
    get_stats, _ = shapes.tools
    try:
        tensors = {tensor.name: tensor for tensor in (*operation.inputs, *operation.outputs)}
        if any(shapes.whole(tensor, batch_size) is None for tensor in tensors.values()):
            return 0  # most statistics raise then, which takes time
        found = get_stats(_filled(tensors, shapes, batch_size), operation.node_def, "flops").value
        return min(max(int(found or 0), 0), 2**62)
    except Exception:  # a shape that does not fit, an attribute that is missing: anybody's statistics may fail
        return 0


@contextlib.contextmanager
def without_deprecations() -> Iterator[None]:
    """Without TensorFlow's advice on what its own statistics call."""
    from tensorflow.python.util import deprecation

    silence = getattr(deprecation, "silence", None)
    with contextlib.nullcontext() if silence is None else silence():
        yield


MAX_EDGES = 400_000
"""A graph op has about two."""
VARIABLE_READS = frozenset(
    ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp", "VariableV2", "Variable")
)
"""Types of ops that read a variable in functions, or hold it in graphs of sessions."""
_MAX_CALLS = 100
"""Nested functions through which a captured tensor is followed, which may go in a circle."""

_logger = logging.getLogger(__name__)


class GraphDetails:
    """Details and edges of the ops so far; rows are those of the table of ops."""

    def __init__(self) -> None:
        self.details = Columns("op", "device", "float_ops", "input_shapes", "output_shapes", "variable", "dtype")
        self.edges = Columns("op", "slot", "source", "source_output")
        self.failure = ""
        """What went wrong, as a sentence; "" for nothing."""
        self.n_edges_missed = 0
        self.forget()

    def begin(self, graphs: list[Any], of_handle: dict[int, int]) -> None:
        """Begin: `of_handle` is the row of the variable by the `id` of its handle."""
        self.forget()
        self._of_handle |= of_handle
        for graph in graphs:
            for outer, inner in getattr(graph, "captures", None) or ():
                self._outer[id(inner)] = outer
            for at, argument in enumerate(getattr(graph, "inputs", None) or ()):
                if argument.dtype.name != "resource":  # a variable, which is told by itself
                    self._argument[id(argument)] = at

    def add(self, noted: list[tuple[Any, int]], row_of: dict[str, int]) -> None:
        """Note ops of one graph, each with its row, -1 for those that are not in the table; `row_of` their rows by name."""
        try:
            kinds = self._shapes.kinds if noted else frozenset()
            for operation, row in noted:
                if row >= 0:
                    self._add(operation, row, row_of, is_counted=operation.type in kinds)
        except Exception as error:  # names and lines of the ops are worth having without
            _logger.warning("edges and shapes of graph ops are not known", exc_info=True)
            self.failure = f"Edges and shapes of graph ops are not known in full: {type(error).__name__}: {error}."

    def _add(self, operation: Any, row: int, row_of: dict[str, int], *, is_counted: bool) -> None:
        inputs = operation.inputs
        sources = [(row_of.get(tensor.op.name, -1), self._output(tensor)) for tensor in inputs]
        sources += [(row_of.get(source.name, -1), -1) for source in operation.control_inputs]
        # The type of what an op makes first; of one that makes nothing, such as an assignment, of what it reads last
        tensors = [*operation.inputs[-1:], *operation.outputs[:1]]
        at = self.details.add(
            row,
            operation.device or "",
            0,
            ";".join(map(self._shapes.text, inputs)),
            ";".join(map(self._shapes.text, operation.outputs)),
            self._variable(operation) if operation.type in VARIABLE_READS else -1,
            str(tensors[-1].dtype.base_dtype.name) if tensors else "",
        )
        for slot, (source, output) in enumerate(sources):
            if source < 0 and output < 0:  # a variable, or what is not in the table
                continue
            if self.edges.n_rows < MAX_EDGES:
                self.edges.add(row, slot, source, output)
            else:
                self.n_edges_missed += 1
        if is_counted:
            self._uncounted.append((operation, at))

    def _output(self, tensor: Any) -> int:
        """Which output of its op a tensor is; without a row for the op which argument of the function, -1 for none."""
        if tensor.op.type == "Placeholder":
            return self._argument.get(id(tensor), -1)
        return int(tensor.value_index)

    def count(self, batch_size: int) -> None:
        """Count the float operations of the ops so far."""
        with without_deprecations():
            for operation, at in self._uncounted:
                self.details["float_ops"][at] = count_float_ops(operation, self._shapes, batch_size)

    def forget(self) -> None:
        """Let go of what holds TensorFlow's objects or their ids."""
        self._shapes = StaticShapes()
        self._uncounted: list[tuple[Any, int]] = []
        self._outer: dict[int, Any] = {}
        self._of_handle: dict[int, int] = {}
        self._argument: dict[int, int] = {}

    def _variable(self, operation: Any) -> int:
        """The row of the variable that an op stands for, -1 for none."""
        handle = operation.inputs[0] if len(operation.inputs) else operation.outputs[0]
        for _ in range(_MAX_CALLS):
            found = self._of_handle.get(id(handle))
            if found is not None:
                return found
            handle = self._outer.get(id(handle))
            if handle is None:
                break
        return -1


_RUNTIME = "tensorflow.python.eager.polymorphic_function.atomic_function"
_MENTION = re.compile(rb'__(?:inference|forward)_[^\x00-\x1f\x7f":]{1,1000}?_\d{1,18}(?![\w])')
"""A function in the bytes of a trace; behind a name comes a tag or an end, and never a letter."""
_DATASET = "__inference_Dataset_"
"""Functions of tf.data run within iterators, and no event of the trace is called like them."""
_TRACED = re.compile(r"__(?:inference|forward)_(.+)_\d+")


class HeldFunctions:
    """The functions that one capture holds. It does nothing in a forked child, whose runtime it must not touch."""

    _n_releases = 0

    def __init__(self) -> None:
        self._keys: set[tuple[int, bytes]] = set()
        self._seen = -1, 0
        """Number of functions at the last look, and of captures that had let go."""
        self._lock = threading.Lock()
        self._pid = os.getpid()
        _all.add(self)

    def hold(self) -> None:
        """Hold what was made since the last call; where nothing was, it costs nothing."""
        counts = _counts()
        # What captures hold stays: as many functions as then are the same ones.
        seen = -1 if counts is None else len(counts), HeldFunctions._n_releases
        if counts is None or seen == self._seen or os.getpid() != self._pid:
            return
        with self._lock:
            others = _n_holders()
            for key in set(counts) - self._keys:
                try:
                    if counts[key] == others[key]:  # gone but for other captures, which would never end
                        continue
                    counts[key] += 1
                except KeyError:  # it went just now: the garbage collector ran, or another thread
                    continue
                self._keys.add(key)
            self._seen = seen

    @property
    def names(self) -> frozenset[str] | None:
        """Names of the functions that are held; None where TensorFlow has no counts, so that none can be."""
        return (
            None if _counts() is None and not self._keys else frozenset(name.decode() for _, name in tuple(self._keys))
        )

    @property
    def n_bytes(self) -> int:
        """How much memory the definitions take of functions that nothing but this holds."""
        counts, context = _counts(), _context()
        if counts is None or context is None or os.getpid() != self._pid:
            return 0
        holders = _n_holders()
        alone = [key[1] for key in tuple(self._keys) if counts.get(key) == holders[key]]
        return sum(definition.ByteSize() for definition in map(definition_of, alone) if definition is not None)

    def release(self) -> None:
        """Release all; what has no other holder leaves the runtime."""
        if sys.is_finalizing() or os.getpid() != self._pid:
            return
        with self._lock:
            keys, self._keys, self._seen = self._keys, set(), (-1, 0)
        HeldFunctions._n_releases += 1
        counts, context = _counts(), _context()
        if counts is None or context is None:
            return
        for key in keys & counts.keys():
            counts[key] -= 1
            if not counts[key]:
                del counts[key]
                if key[0] == context.function_scope_id:  # not of a runtime that was reset since
                    with contextlib.suppress(Exception):  # a reset one whose id is given anew; as `definition_of`
                        context.remove_function(key[1])


_all: weakref.WeakSet[HeldFunctions] = weakref.WeakSet()


def _n_holders() -> Counter[tuple[int, bytes]]:
    return Counter(itertools.chain.from_iterable(tuple(one._keys) for one in tuple(_all)))


def mentioned_functions(files: Iterable[Path]) -> set[str]:
    """Names of functions in the bytes of traces."""
    return {name.decode("utf-8", "replace") for file in files for name in _MENTION.findall(file.read_bytes())}


def newest_number() -> int:
    """What TensorFlow has counted up to, which numbers functions and variables in the order in which they are made."""
    uid = getattr(sys.modules.get("tensorflow.python.framework.ops"), "uid", None)
    return 0 if uid is None else int(uid())


def functions_that_ran(held: frozenset[str], mentioned: set[str], children: dict[str, list[str]]) -> list[str]:
    """Names of the held functions that a trace mentions, those of tf.data, and all that they call, callers first."""
    begin = sorted(held & mentioned) or sorted(held)
    begin += sorted(name for name in held if name.startswith(_DATASET))
    found: dict[str, None] = {}
    while begin:
        name = begin.pop()
        if name not in found:
            found[name] = None
            begin += children[name] if name in children else _called_by(name)
    return list(found)


def definition_of(name: str | bytes) -> Any:
    """The FunctionDef of a function of the runtime; None where there is no such function."""
    context = _context()
    try:
        return None if context is None else context.get_function_def(name)
    except Exception:  # TensorFlow's errors of a name that is gone have several types
        return None


def _called_by(name: str) -> Iterator[str]:
    definition = definition_of(name)
    for node in () if definition is None else definition.node_def:
        for value in node.attr.values():
            if value.HasField("func"):
                yield value.func.name
            elif value.HasField("list"):
                yield from (one.name for one in value.list.func)


def _counts() -> dict[tuple[int, bytes], int] | None:
    """TensorFlow's counts by context and name; None where it has none, as before it is imported."""
    counts = getattr(sys.modules.get(_RUNTIME), "RUNTIME_FUNCTION_REFS", None)
    is_known = isinstance(counts, dict) and all(isinstance(key, tuple) for key in itertools.islice(counts, 1))
    return counts if is_known else None


def _context() -> Any:
    module = sys.modules.get("tensorflow.python.eager.context")
    return None if module is None else module.context()


Place = tuple[str, int, str]
"""File, line and name of a Python function; "" and 0 where unknown, or not the user's."""


@dataclass(frozen=True, eq=False)
class RanGraph:
    """A graph whose ops may be in the trace."""

    name: str
    graph: Any
    place: Place = ("", 0, "")
    traces: Mapping[str, Any] | None = None
    """Tracebacks by the names of ops, of a remade graph, whose ops have none."""

    @property
    def has_lost_variables(self) -> bool:
        """Whether it reads variables and nobody knows which: those that live functions read are known by their captures."""
        return self.traces is not None and any(one.type in VARIABLE_READS for one in self.graph.get_operations())

    def traceback(self, operation: Any) -> Any:
        """Where the op was made; None where unknown."""
        return operation.traceback if self.traces is None else tuple(self.traces.get(operation.name, ()))


def ran_graphs(
    objects: list[Any], held: frozenset[str] | None, mentioned: set[str], *, until_ns: int, last_number: int
) -> tuple[list[RanGraph], int]:
    graph_class, function_class, atomic_class = graph_classes()
    of_functions = {id(one) for one in alive(objects, function_graph_class())}
    atomic = {_name(one): one for one in alive(objects, atomic_class)}
    held = frozenset(atomic) if held is None else held
    # A graph of a session calls its functions without an event that names them.
    plain = [one for one in alive(objects, graph_class) if id(one) not in of_functions and one.get_operations()]
    plain = [one for one in plain if not last_number or _number(one) <= last_number]
    called = {str(name) for graph in plain for name in getattr(graph, "_functions", {})}
    children = {name: [_name(child) for child in one.children] for name, one in atomic.items()}
    places = _places(alive(objects, function_class), held)
    found, n_gone = [RanGraph(str(getattr(graph, "name", "") or "graph"), graph) for graph in plain], 0
    for name in functions_that_ran(held, mentioned | called if mentioned else mentioned, children):
        graph = getattr(atomic.get(name), "_cached_graph", None)
        matched = _TRACED.fullmatch(name)
        traced = matched[1] if matched else name
        if graph is not None:
            found.append(RanGraph(str(graph.name or traced), graph, places.get(traced, ("", 0, ""))))
        elif (anew := _made_anew(name)) is not None:
            graph, traces = anew
            found.append(RanGraph(traced, graph, _place_in(traces, traced, until_ns), traces))
        elif name in held:
            n_gone += 1
    return found, n_gone


def _name(function: Any) -> str:
    name = function.name
    return name if isinstance(name, str) else str(name.decode())  # text of those that a graph was imported with


def _number(graph: Any) -> int:
    """A number that grows from graph to graph, as `serial_number` of variables; 0 where unknown."""
    found = re.search(r"\d+", str(getattr(graph, "_graph_key", "")))
    return int(found[0]) if found else 0


def _made_anew(name: str) -> tuple[Any, Mapping[str, Any]] | None:
    """The graph of a function whose Python objects are gone, and its tracebacks; None where the runtime no longer has it."""
    from tensorflow.python.framework import function_def_to_graph
    from tensorflow.python.util import tf_stack

    definition = definition_of(name)
    if definition is None:
        return None
    try:
        graph = function_def_to_graph.function_def_to_graph(definition)
        return graph, tf_stack.LoadTracesFromDebugInfo(_context().get_graph_debug_info(name))
    except Exception:  # functions that it calls may be gone; what is left is worth having
        _logger.info("the graph of %s is not known", name, exc_info=True)
        return None


def _places(functions: list[Any], held: frozenset[str]) -> dict[str, Place]:
    """Name of a graph -> the user's Python function that it was traced from, if before the end."""
    places: dict[str, Place] = {}
    for function in functions:
        plain = plain_function(getattr(function, "python_function", None))
        code = None if plain is None else plain.__code__
        if code is not None and is_user_file(code.co_filename) and not held.isdisjoint(_traced_by(function)):
            places[code.co_name.strip("<>")] = (code.co_filename, code.co_firstlineno, code.co_name)
    return places


def _place_in(traces: Mapping[str, Any], function: str, until_ns: int) -> Place:
    """Where the function of that name begins: at the last `def` of it before its ops' tracebacks."""
    lines: dict[str, int] = {}
    for trace in traces.values():
        for frame in trace:
            if frame.name == function and is_user_file(frame.filename):
                lines[frame.filename] = min(frame.lineno, lines.get(frame.filename, frame.lineno))
    for filename, last in lines.items():
        definition = re.compile(rf"\s*(?:async\s+)?def\s+{re.escape(function)}\b")
        above = text_of(filename, until_ns).split("\n")[:last]
        for number in range(len(above), 0, -1):
            if definition.match(above[number - 1]):
                return filename, number, function
    return "", 0, ""


def _traced_by(function: Any) -> list[str]:
    # Not `_list_all_concrete_functions`, which may trace one.
    cache = getattr(function, "_function_cache", None)
    return [_name(one) for one in (() if cache is None else cache.values())]


MAX_OPS = 200_000
"""A large model has some ten thousand."""


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
        return self.files.setdefault(filename, len(self.files))


class GraphTable:
    """The tables of graphs and their ops so far."""

    def __init__(self, frames: FrameTable) -> None:
        self.functions = Columns("graph", "file", "line", "function")
        """The graphs, each with where its Python function was defined."""
        self.ops = Columns("graph", "op", "type", "frame")
        self.n_missed = 0
        """Ops beyond the limit."""
        self.details = GraphDetails()
        self._frames = frames
        self._row_of_traceback: dict[Any, int] = {}
        """Row of the innermost frame of each traceback; thousands of ops have some hundred."""

    def add(self, graphs: Sequence[RanGraph], *, of_handle: dict[int, int], batch_size: int) -> None:
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
