"""Functions that ran -> their graphs: the live ones, or, where these are gone, made anew of what the runtime has."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .graph_details import VARIABLE_READS
from .held_functions import debug_info_of, definition_of, functions_that_ran, traced_name
from .keras_layers import alive
from .live_objects import function_graph_class, graph_classes, plain_function
from .source_files import is_user_file, text_of

Place = tuple[str, int, str]
"""File, line and name of a Python function; "" and 0 where it is not known, or not the user's."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RanGraph:
    """A graph whose ops may be in the trace."""

    name: str
    graph: Any
    place: Place = ("", 0, "")
    """The Python function that it was traced from."""
    traces: Mapping[str, Any] | None = None
    """Tracebacks by the names of ops, of a graph that was made anew, whose ops have none."""

    @property
    def has_lost_variables(self) -> bool:
        """Whether it reads variables and nobody knows which: those that live functions read are known by their captures."""
        return self.traces is not None and any(one.type in VARIABLE_READS for one in self.graph.get_operations())

    def traceback(self, operation: Any) -> Any:
        """Where the op was made; None where nobody knows."""
        return operation.traceback if self.traces is None else tuple(self.traces.get(operation.name, ()))


def ran_graphs(
    objects: list[Any], held: frozenset[str] | None, mentioned: set[str], *, until_ns: int, last_number: int
) -> tuple[list[RanGraph], int]:
    """The graphs of a captured program.

    Args:
        objects: live objects.
        held: names of the functions of the runtime that there were at the end of the capture; None where it does not tell:
            then all that live are taken.
        mentioned: names of functions in the trace.
        until_ns: Unix time of that end; later texts are not those that ran.
        last_number: what TensorFlow had counted up to then, 0 where it does not count.

    Returns:
        The graphs of the functions that ran, and those that are no function's, which sessions run. Those that came later than
        the capture are not among them, whatever their names. And how many functions ran of which nothing is left.
    """
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
        traced = traced_name(name)
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
    """A number that grows from each graph to the next, as `serial_number` of variables; 0 where it is not known."""
    found = re.search(r"\d+", str(getattr(graph, "_graph_key", "")))
    return int(found[0]) if found else 0


def _made_anew(name: str) -> tuple[Any, Mapping[str, Any]] | None:
    """The graph of a function whose Python objects are gone, and its tracebacks; None where the runtime has it no more."""
    from tensorflow.python.framework import function_def_to_graph
    from tensorflow.python.util import tf_stack

    definition = definition_of(name)
    if definition is None:
        return None
    try:
        graph = function_def_to_graph.function_def_to_graph(definition)
        return graph, tf_stack.LoadTracesFromDebugInfo(debug_info_of(name))
    except Exception:  # functions that it calls may be gone; what is left is worth having
        _logger.info("the graph of %s is not known", name, exc_info=True)
        return None


def _places(functions: list[Any], held: frozenset[str]) -> dict[str, Place]:
    """Name of a graph -> the Python function that it was traced from, where it is the user's and was traced before the end."""
    places: dict[str, Place] = {}
    for function in functions:
        plain = plain_function(getattr(function, "python_function", None))
        code = None if plain is None else plain.__code__
        if code is not None and is_user_file(code.co_filename) and not held.isdisjoint(_traced_by(function)):
            places[code.co_name.strip("<>")] = (code.co_filename, code.co_firstlineno, code.co_name)
    return places


def _place_in(traces: Mapping[str, Any], function: str, until_ns: int) -> Place:
    """Where the Python function of that name begins, by the tracebacks of its ops: at the last `def` of it before them."""
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
