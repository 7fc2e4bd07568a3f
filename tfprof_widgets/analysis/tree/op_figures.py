"""An `OpGraph` and a step -> the figures of every op: of that step, of an average step, or of all together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...trace.op_graph import OpGraph
from .tree_options import FIGURES, TreeOptions

NUMBERS = (*FIGURES, "occurrence", "run_count")
"""The columns of the arrays of figures: `occurrence` is a number of ops, `run_count` how often they ran."""
Figures = NDArray[Any]
"""One row per op or node, the columns `NUMBERS`; int64, or float64 where the graph's times are not whole."""
COLUMN = {name: i for i, name in enumerate(NUMBERS)}
TIMES = FIGURES[:3]
"""The figures that are times, in microseconds."""
_MOST_PARAMS, _MOST_FIGURE = 2**45, 2**53
_MEMORY = {
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
}


def op_figures(graph: OpGraph, options: TreeOptions) -> Figures:
    """The figures of each row of `graph.ops`.

    Raises:
        ValueError: nothing ran in the step asked for; the message names the steps there are.

    Source: ExecStep and TFGraphNode in tensorflow/core/profiler/internal/tfprof_node.h.
    """
    step = options.step
    if step >= 0 and step not in (steps := graph.steps):
        first = ", ".join(map(str, steps[:20])) or "none"
        rest = f" (the first 20 of {len(steps)})" if len(steps) > 20 else ""
        raise ValueError(f"step {step} is not among the steps that were recorded: {first}{rest}. Use -1 for all.")
    figures = np.zeros((len(graph.ops), len(NUMBERS)), np.int64 if graph.is_whole else np.float64)
    _add_times(figures, _of_step(graph.times, step))
    memory = _of_step(graph.memory, step)
    for name, source in _MEMORY.items():
        _add(figures, name, memory["op"], memory[source])
    runs = _of_step(graph.runs, step)
    _add(figures, "run_count", runs["op"], runs["n_runs"])
    is_average = graph.counts_steps if options.average is None else options.average
    if step < 0 and is_average:
        _average(figures, graph)
    figures[:, COLUMN["occurrence"]] = 1
    figures[:, COLUMN["params"]] = [n_params(shape) for shape in graph.ops["shape"]]
    figures[:, COLUMN["float_ops"]] = graph.ops["float_ops"].to_numpy(np.int64)
    has_run = np.isin(np.arange(len(graph.ops)), graph.runs["op"].to_numpy(np.int64))
    _multiply(figures[:, COLUMN["float_ops"]], figures[:, COLUMN["run_count"]], has_run)
    return figures


def _multiply(float_ops: Figures, n_runs: Figures, has_run: NDArray[np.bool_]) -> None:
    """Float operations of all runs, in place; of damaged files at most 2**53 for an op, so that sums stay in 64 bits."""
    is_huge = float_ops.astype(np.float64) * n_runs > _MOST_FIGURE
    float_ops[has_run] *= n_runs[has_run]
    float_ops[has_run & is_huge] = _MOST_FIGURE


def _of_step(table: pd.DataFrame, step: int) -> pd.DataFrame:
    return table if step < 0 else table[table["step"] == step]


def _add(figures: Figures, name: str, op: pd.Series, value: pd.Series) -> None:
    """Add to the figures of ops; of damaged files at most 2**53 at once, so that sums stay in 64 bits."""
    known = value.to_numpy(np.float64).clip(-_MOST_FIGURE, _MOST_FIGURE)
    np.add.at(figures[:, COLUMN[name]], op.to_numpy(np.int64), known.astype(figures.dtype))


def _add_times(figures: Figures, times: pd.DataFrame) -> None:
    for name, is_accelerator in (("accelerator_micros", True), ("cpu_micros", False)):
        rows = times[times["is_accelerator"].to_numpy(bool) == is_accelerator]
        _add(figures, name, rows["op"], rows["duration_us"])
    figures[:, COLUMN["micros"]] = figures[:, COLUMN["accelerator_micros"]] + figures[:, COLUMN["cpu_micros"]]


def _average(figures: Figures, graph: OpGraph) -> None:
    """Divide by the number of steps in which the op ran, whole numbers to whole numbers."""
    n_steps = np.bincount(graph.runs["op"].to_numpy(np.int64), minlength=len(graph.ops)).clip(1)
    for name, column in COLUMN.items():
        if name in TIMES and not graph.is_whole:
            figures[:, column] /= n_steps
        else:
            figures[:, column] //= n_steps


def n_params(shape: tuple[int, ...] | None) -> int:
    """How many numbers a variable of this shape has; 0 where there is none, or a dimension is not known.

    At most 2**45, so that sums over many damaged shapes stay whole numbers of 64 bits.
    """
    return min(math.prod(shape), _MOST_PARAMS) if shape is not None and min(shape, default=1) >= 0 else 0
