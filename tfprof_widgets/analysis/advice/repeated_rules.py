"""Graphs that compute the same several times -> advice to compute it once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.source_map import SourceMap
from ...trace.trace import Bool
from ..base.wording import plural
from .advice import MEDIUM_GAIN, Advice
from .fix import Fix
from .spent_ops import SpentOps, op_line
from .traced_ops import PASSES_ON, TracedOps

if TYPE_CHECKING:
    from .run import Run

_MOST_OPS = 100_000
"""Graphs of more ops in all are not compared: it takes a second."""


def repeated_work(run: Run) -> Iterator[Advice]:
    """Ops of the step read the same and make the same as others of it.

    Gain: the share of the step time of all but the first of each.
    """
    steps, traced = run.steps, run.traced_ops
    if traced is None or not steps.mean_ms or run.eager.is_hot:
        return
    again, of_first = _again(traced)
    if not again.any():
        return
    ops = SpentOps(run, "repeated", again)
    if ops.part.ratio < MEDIUM_GAIN:
        return
    places = list(dict.fromkeys(place for place in (ops.place, op_line(run, of_first[ops.top])) if place))
    where = f" ({' and '.join(places)})" if places else ""
    n = int(ops.own.sum())
    yield ops.advise(
        "repeated_work",
        f"{plural(n, 'op')} of the step compute{'s' if n == 1 else ''} again what another one did, of the same tensors and "
        f"weights: {ops.type}{where} above all. That takes {ops.part}.",
        fix=Fix(
            "Call the model once a step, model(x, training=True): its result is for the loss, the metrics and "
            "whatever else. Ask one tape once for the gradients of all variables."
        ),
        gain_ratio=ops.part.ratio,
        n_repeated_ops=n,
    )


def _again(traced: TracedOps) -> tuple[Bool, dict[int, int]]:
    """The framework ops that compute what one before them did, and of each that one; none where no product with weights is
    among them: gradients that happen to be equal nobody can leave out."""
    none = np.zeros(len(traced.row), np.bool_)
    own = traced.row.to_numpy()
    ran = np.unique(own[own >= 0])
    ops = traced.source_map.ops
    graphs = ops["graph"].isin(np.unique(ops["graph"].to_numpy()[ran]))
    if int(graphs.sum()) > _MOST_OPS:
        return none, {}
    values = _values(traced, np.flatnonzero(graphs.to_numpy()))
    op_of_row = {int(row): op for op, row in reversed(list(enumerate(own.tolist()))) if row >= 0}
    first_of: dict[int, int] = {}
    earlier: dict[int, int] = {}
    for row in ran.tolist():  # one turn an op that ran
        first = first_of.setdefault(values.number[row], row)
        if first != row:
            earlier[row] = first
    # A gradient stands for another op.
    if not any(row in values.with_weights and int(traced.of_row[op_of_row[row]]) == row for row in earlier):
        return none, {}
    again = np.isin(own, list(earlier))
    return again, {op: op_of_row[earlier[int(own[op])]] for op in np.flatnonzero(again).tolist()}


@dataclass(frozen=True, eq=False)
class _Values:
    number: dict[int, int]
    """Of each op, equal where ops compute the same."""
    with_weights: set[int]
    """The ops that read variables that are trained, but for those that pass them on."""


def _values(traced: TracedOps, rows: np.ndarray) -> _Values:
    """Compare the ops of some graphs by type, shapes and what they read.

    What is not told makes an op unlike all others: an input that is unknown, a variable that is not trained (it may have been
    changed meanwhile, as a counter of random numbers is), a constant of the user's lines. Reads of a weight are alike where
    they wait for the same ops: one that comes after an update waits for it.
    """
    source_map = traced.source_map
    details = source_map.details.drop_duplicates("op").set_index("op").reindex(rows)
    reads = _by_op(source_map.edges[source_map.edges["source_output"] >= 0])
    waits = _by_op(source_map.edges[source_map.edges["source_output"] < 0])
    trained = {row for row, is_one in enumerate(source_map.variables["trainable"].tolist()) if is_one}
    columns = (details["input_shapes"].fillna(""), details["output_shapes"].fillna(""), details["variable"].fillna(-1))
    names, graphs, kinds = (source_map.ops[name].tolist() for name in ("op", "graph", "type"))
    is_given = _is_given(source_map)
    keys: dict[Hashable, int] = {}
    found = _Values({}, set())
    weights: set[int] = set()
    for row, before, after, variable in zip(rows.tolist(), *(column.tolist() for column in columns), strict=True):
        inputs, kind = reads.get(row, []), kinds[row]
        n_inputs = before.count(";") + 1 if before else 0
        read = tuple((slot, found.number.get(source, -1 - output), output) for slot, source, output in inputs)
        key: Hashable = graphs[row], kind, after, read
        if int(variable) in trained:
            key = graphs[row], kind, after, int(variable), tuple(sorted(source for _, source, _ in waits.get(row, [])))
            weights.add(row)
        elif kind == "Const":
            key = (graphs[row], kind, after, names[row].rpartition("/")[2]) if is_given[row] else row
        elif len(inputs) < n_inputs or not n_inputs:
            key = row
        elif any(source in weights for _, source, _ in inputs):
            (weights if kind in PASSES_ON else found.with_weights).add(row)
        found.number[row] = keys.setdefault(key, len(keys))
    return found


def _by_op(edges: pd.DataFrame) -> dict[int, list[tuple[int, int, int]]]:
    """Slot, source and output of the edges into each op, by slot."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for op, slot, source, output in edges.sort_values(["op", "slot"], kind="stable").itertuples(index=False):
        found.setdefault(op, []).append((slot, source, output))
    return found


def _is_given(source_map: SourceMap) -> list[bool]:
    """For each op whether, as a constant, it follows from what an op or a layer is: made by a library's code, or a gradient's."""
    files, frames = source_map.files["is_user"].to_numpy(bool), source_map.frames["file"].to_numpy(int)
    is_user = np.append(np.append(files, False)[frames], True)
    told = ~is_user[source_map.ops["frame"].to_numpy(int)]
    of_gradient = source_map.ops["op"].str.contains("gradient_tape/", regex=False).to_numpy(bool)
    given: list[bool] = (told | of_gradient).tolist()
    return given
