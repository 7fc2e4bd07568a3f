"""The rows of a tree and the ops at each -> devices, op types and input shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...trace.op_graph import OpGraph
from .nodes import Int64

Shape = tuple[int, ...]
InputShapes = tuple[tuple[int, Shape | None], ...]
"""Slot and shape of every input of an op, by slot; None where the shape is not known."""


def ops_by_row(row_of_op: Int64, graph: OpGraph, n_rows: int) -> list[Int64]:
    """The ops of each row, by name."""
    names = graph.ops["name"].tolist()
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    order = by_name[np.argsort(row_of_op[by_name], kind="stable")]
    return np.split(order, np.searchsorted(row_of_op[order], np.arange(n_rows)))[1:]


def texts_by_row(texts: list[tuple[str, ...]], ops: Sequence[Int64]) -> list[tuple[str, ...]]:
    """What the ops of each group have of some texts, sorted."""
    known = {group: tuple(sorted(group)) for group in set(texts)}
    found = [{texts[op] for op in group.tolist()} for group in ops]
    return [known[next(iter(groups))] if len(groups) == 1 else tuple(sorted(set().union(*groups))) for groups in found]


def input_shapes(graph: OpGraph) -> list[InputShapes]:
    """The inputs of every op: shapes noted at the op itself, else those of the outputs that feed it.

    Differs from tfprof: there every input that comes from the same op has the shape of one of its outputs, in files that
    TensorFlow 2 wrote that of the first.
    """
    shapes = graph.shapes
    rows = zip(shapes["op"], shapes["is_output"], shapes["slot"], shapes["shape"], strict=True)
    known = {(op, bool(is_output), slot): shape for op, is_output, slot, shape in rows}
    found: list[dict[int, Shape | None]] = [{} for _ in range(len(graph.ops))]
    for op, slot, source, output in zip(*(graph.inputs[key] for key in graph.inputs), strict=True):
        if output >= 0:
            found[op][slot] = known.get((source, True, output))
    for (op, is_output, slot), shape in known.items():
        if not is_output:
            found[op][slot] = shape
    return [tuple(sorted(slots.items())) for slots in found]


def shapes_by_occurrence(shapes: Sequence[tuple[InputShapes, int]]) -> tuple[tuple[Shape | None, ...], ...]:
    """The different input shapes of a group of ops, each given with its number of runs, the most often run first."""
    counts: Counter[InputShapes] = Counter()
    for shape, n_runs in shapes:
        counts[shape] += int(n_runs)
    return tuple(plain(shape) for shape, _ in sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))


def plain(shapes: InputShapes) -> tuple[Shape | None, ...]:
    """The shapes without their slots."""
    return tuple(shape for _, shape in shapes)
