"""The bytes of a GraphDef -> `GraphNodes`: names, types, edges and shapes of its nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...errors import TraceError
from ...trace.bounds import decoded
from ...trace.dtypes import dtype_number
from .step_stats_messages import step_message

Shape = tuple[int, ...]
_DTYPE = re.compile(r"\btype: (DT_\w+)")
"""A dtype in a graph as text; messages declared here have its number, as they know no enums."""


@dataclass(frozen=True)
class GraphNode:
    """One node."""

    name: str
    type: str
    inputs: tuple[tuple[str, int], ...] = ()
    """`(name, its output)`; -1 as output for a control edge."""
    shape: Shape | None = None
    """Of what a variable or a placeholder holds; None for none."""
    output_shapes: tuple[Shape, ...] | None = None
    """As tfprof counts them: (1,) for a scalar, () for an unknown rank, -1 for an unknown dimension. None where not told."""
    dtype: int = 0
    """The number of TensorFlow's `DataType` that its attribute `dtype` says; 0 for none."""


GraphNodes = dict[str, GraphNode]
"""The nodes of a graph by name; of several of one name the first counts."""


def read_graph_def(content: bytes, *, source: str = "") -> GraphNodes:
    """Read the bytes of a GraphDef, as text (`.pbtxt`) or as a message.

    Args:
        content: best of `graph.as_graph_def(add_shapes=True)`, so that shapes are known.
        source: what to call the file in an error message.

    Raises:
        TraceError: it is none.
    """
    from google.protobuf.message import DecodeError

    from ..wire.file_kind import FileKind, kind_of
    from ..wire.wire_walk import break_of

    where = source or "The graph"
    if not content:
        return {}
    kind = kind_of(content)
    if kind not in (FileKind.GRAPH, FileKind.UNKNOWN):
        raise TraceError(f"{where} is {kind.value}, not a GraphDef.")
    if content.lstrip()[:4] in (b"node", b"vers", b"libr"):
        return graph_nodes([_parse_text(content, where)])
    try:
        return graph_nodes([step_message("GraphDef").FromString(content)])
    except DecodeError as error:
        raise TraceError(f"{where} is no whole GraphDef: {break_of(content)}") from error


def _parse_text(content: bytes, where: str) -> Any:
    from google.protobuf import text_format

    graph = step_message("GraphDef")()
    try:
        text = _DTYPE.sub(lambda found: f"type: {dtype_number(found[1])}", decoded(content))
        return text_format.Parse(text, graph, allow_unknown_field=True, allow_unknown_extension=True)
    except (text_format.ParseError, ValueError, RecursionError) as error:
        raise TraceError(f"{where} is no GraphDef as text: {str(error)[:200]}.") from error


def graph_nodes(graphs: Iterable[Any]) -> GraphNodes:
    """The nodes of GraphDef messages, such as those of the devices of one step."""
    found: GraphNodes = {}
    for graph in graphs:
        for node in graph.node:  # messages have no columns; this loop is what makes them
            name = decoded(node.name)
            if name not in found:
                found[name] = _node(name, node)
    return found


def _node(name: str, node: Any) -> GraphNode:
    shape: Shape | None = None
    outputs: tuple[Shape, ...] | None = None
    dtype = 0
    for attr in node.attr:
        if attr.key == b"shape" and attr.value.HasField("shape"):
            shape = _shape(attr.value.shape) or None
        elif attr.key == b"_output_shapes" and attr.value.HasField("list"):
            outputs = tuple(_shape(one) for one in attr.value.list.shape)
        elif attr.key == b"dtype":
            dtype = attr.value.type
    return GraphNode(
        name, decoded(node.op), tuple(source_of(decoded(one)) for one in node.input), shape, outputs, dtype
    )


def source_of(text: str) -> tuple[str, int]:
    """The op and its output that a graph or a label names by a tensor (`x`, `x:1`); output -1 for a control edge (`^x`)."""
    name, _, output = text.removeprefix("^").partition(":")
    if text.startswith("^"):
        return name, -1
    return name, int(output) if output.isdecimal() and len(output) < 10 else 0


def _shape(shape: Any) -> Shape:
    """As tfprof counts: a scalar has one element, an unknown rank no dimension."""
    if not shape.dim and not shape.unknown_rank:
        return (1,)
    return tuple(dim.size for dim in shape.dim)
