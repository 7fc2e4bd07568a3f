"""The graphs of a function that was traced again and again -> what differs between its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...trace.source_map import SourceMap, parse_shapes

if TYPE_CHECKING:
    from .run import Run

MOST_SHAPES = 3
"""So many are named."""


@dataclass(frozen=True)
class TraceCause:
    """Why one call needs another graph than the one before."""

    kind: Literal["shape", "value", "object", ""]
    """Its tensors have other shapes; they have not, so that what is no tensor is another one; it is another function object;
    or nobody can tell."""
    shapes: tuple[str, ...] = ()
    """Of one tensor, those that it has in the graphs: `64x32`."""


def trace_cause(run: Run, function: str, n_traces: int) -> TraceCause:
    """Find it.

    Args:
        run: the run.
        function: the name of the function.
        n_traces: how many calls of it traced.
    """
    table = run.results.tf_functions
    # TensorFlow counts the traces of each object by itself.
    if int(table.loc[table["function"] == function, "tracing_count"].max()) < n_traces:
        return TraceCause("object")
    source_map = run.results.source_map
    if source_map is None:
        return TraceCause("")
    graphs = np.flatnonzero((source_map.functions["graph"] == function).to_numpy())
    if len(graphs) < 2:
        return TraceCause("")
    shapes = _other_shapes(source_map, graphs)
    return TraceCause("shape", shapes) if shapes else TraceCause("value")


def _other_shapes(source_map: SourceMap, graphs: np.ndarray) -> tuple[str, ...]:
    """The shapes of the first input that differs from graph to graph, of those that have the op; empty where none does."""
    details = source_map.details
    ops = source_map.ops.iloc[details["op"].to_numpy()].reset_index(drop=True)
    told = ops.assign(shapes=details["input_shapes"].to_numpy())[["graph", "op", "shapes"]]
    told = told[told["graph"].isin(graphs) & (told["shapes"] != "")]
    varied = told.groupby("op", sort=False)["shapes"].unique()
    for found in varied[varied.map(len) > 1]:  # the first that differs in a dimension
        slots = zip(*(text.split(";") for text in found), strict=False)
        for slot in slots:
            if len(distinct := dict.fromkeys(slot)) > 1 and all(shape for shape in parse_shapes(";".join(distinct))):
                return tuple(distinct)[:MOST_SHAPES]
    return ()
