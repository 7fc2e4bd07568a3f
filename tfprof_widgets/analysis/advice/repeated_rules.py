"""Graphs that compute the same several times -> advice to compute it once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Bool
from ..base.wording import plural
from .advice import MEDIUM_GAIN, Advice, advise
from .code_text import remark
from .op_rules import costliest, op_line, part_of_ops, side_ops
from .traced_ops import TracedOps

if TYPE_CHECKING:
    from .run import Run

_MOST_OPS = 200_000
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
    ops = side_ops(run)
    part = part_of_ops(run, "repeated", again)
    if part.ratio < MEDIUM_GAIN:
        return
    top = int(np.where(again & ops.side, ops.us, -1.0).argmax())
    places = list(dict.fromkeys(place for place in (op_line(run, top), op_line(run, of_first[top])) if place))
    where = f" ({' and '.join(places)})" if places else ""
    n = int((again & ops.side).sum())
    yield advise(
        "repeated_work",
        f"{plural(n, 'op')} of the step compute{'s' if n == 1 else ''} again what another one did, of the same tensors and "
        f"weights: {run.results.op_shares.type[top]}{where} above all. That takes {part}.",
        evidence=part.evidence | {"n_repeated_ops": n} | ({"line": places[0]} if places else {}),
        fix=remark(", ".join(places))
        + "prediction = model(x, training=True)  # once: its result is for the loss, the metrics and whatever else\n"
        "gradients = tape.gradient(loss, variables)  # once, of one tape, for all variables",
        selection=steps.usual(steps.time_ms, view="op_table", op_names=costliest(run, again & ops.side)),
        gain_ratio=part.ratio,
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
    value = _values(traced, np.flatnonzero(graphs.to_numpy()))
    first_of: dict[int, int] = {}
    op_of_row = {int(row): op for op, row in reversed(list(enumerate(own.tolist()))) if row >= 0}
    earlier: dict[int, int] = {}
    for row in ran.tolist():  # one turn an op that ran
        first = first_of.setdefault(value[row], row)
        if first != row:
            earlier[row] = first
    if not any(_reads_weight(traced, row) for row in earlier):
        return none, {}
    again = np.isin(own, list(earlier))
    return again, {op: op_of_row[earlier[int(own[op])]] for op in np.flatnonzero(again).tolist()}


def _reads_weight(traced: TracedOps, row: int) -> bool:
    """Whether an op of the forward pass reads a variable that is trained."""
    trainable = traced.source_map.variables["trainable"]
    sources = [traced.behind(row, slot) for slot in (0, 1)]
    variables = {traced.variable(source) for source in sources if source >= 0} - {-1}
    if not any(trainable.iloc[one] for one in variables):
        return False
    op = int(np.flatnonzero(traced.row.to_numpy() == row)[0])
    return int(traced.of_row[op]) == row  # a gradient stands for another op


def _values(traced: TracedOps, rows: np.ndarray) -> dict[int, int]:
    """A number for each op of some graphs, equal where ops compute the same: by type, shapes, and what they read.

    What is not told makes an op unlike all others: an input that is unknown, a variable that others may have changed meanwhile
    (those that are trained change once, at the end), and anything random reads such a one; a constant of the user's lines.
    """
    source_map = traced.source_map
    edges, details = source_map.edges, source_map.details.drop_duplicates("op").set_index("op")
    data = edges[edges["source_output"] >= 0].sort_values(["op", "slot"], kind="stable")
    reads: dict[int, list[tuple[int, int, int]]] = {}
    for op, slot, source, output in zip(*(data[key].tolist() for key in data.columns), strict=True):
        reads.setdefault(op, []).append((slot, source, output))
    trained = {row for row, is_one in enumerate(source_map.variables["trainable"].tolist()) if is_one}
    known = details.reindex(rows)
    number: dict[Hashable, int] = {}
    value: dict[int, int] = {}
    columns = (known["input_shapes"].fillna(""), known["output_shapes"].fillna(""), known["variable"].fillna(-1))
    names, graphs = source_map.ops["op"].tolist(), source_map.ops["graph"].tolist()
    is_given = _is_given(source_map)
    for row, before, after, variable in zip(rows.tolist(), *(column.tolist() for column in columns), strict=True):
        inputs, kind = reads.get(row, []), traced.type[row]
        n_inputs = before.count(";") + 1 if before else 0
        key: Hashable = (
            graphs[row],
            kind,
            after,
            tuple((slot, value.get(source, -1 - output), output) for slot, source, output in inputs),
        )
        if int(variable) in trained:
            key = graphs[row], kind, after, int(variable)
        elif kind == "Const":
            key = (graphs[row], kind, after, names[row].rpartition("/")[2]) if is_given[row] else row
        elif len(inputs) < n_inputs or not n_inputs:
            key = row
        value[row] = number.setdefault(key, len(number))
    return value


def _is_given(source_map: SourceMap) -> list[bool]:
    """For each op whether, as a constant, it follows from what an op or a layer is: made by a library's code, or a gradient's."""
    files, frames = source_map.files["is_user"].to_numpy(bool), source_map.frames["file"].to_numpy(int)
    is_user = np.append(np.append(files, False)[frames], True)
    told = ~is_user[source_map.ops["frame"].to_numpy(int)]
    given: list[bool] = (
        told | source_map.ops["op"].str.contains("gradient_tape/", regex=False).to_numpy(bool)
    ).tolist()
    return given
