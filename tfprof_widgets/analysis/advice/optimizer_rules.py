"""What the optimizer does on a machine without a device -> advice on tables updated as a whole and on many small variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...trace.source_map import parse_shapes
from ..base.wording import amount, number
from ..failure.batch_estimate import batch_size_of
from ..steps.averaged_steps import MIN_STEPS
from .advice import HIGH_GAIN, Advice, advise
from .call_fixes import FIXED, LARGER_BATCH
from .fix import Fix
from .spent_ops import SpentOps, costliest
from .step_facts import StepPart, usual_step

if TYPE_CHECKING:
    from .run import Run
    from .traced_ops import TracedOps

_GATHERS = ("GatherV2", "ResourceGather", "GatherNd", "ResourceGatherNd", "Gather")
FEW_ROWS = 0.5
"""Of the rows of a table: where a step reads more of them, updating all is no waste."""
MANY = 32
"""From so many variables on their number is worth a word."""
SMALL = 4096
"""Numbers that a variable has at most where its update is all overhead: some us of work for a dozen ops."""


def dense_update(run: Run) -> Iterator[Advice]:
    """A step changes all rows of a table of which it reads few, as optimizers do that keep a state of each row.

    Gain: the share of the step time of ops on tensors of the table's shape, but for reading rows.
    """
    steps, traced = run.steps, run.traced_ops
    if traced is None or len(steps) < MIN_STEPS or steps.has_device:
        return
    ops = run.side
    own = traced.row.to_numpy()
    picks = np.isin(own, traced.ran(*_GATHERS))
    for table, n_read in _tables(run, traced).items():  # one turn a table
        name, shape = (str(traced.source_map.variables[key].iloc[table]) for key in ("name", "shape"))
        sizes = parse_shapes(shape)[0] or (0,)
        rows = np.flatnonzero((own >= 0) & ~picks & ops.matter)
        is_of_table = np.zeros(len(own), np.bool_)
        is_of_table[rows] = [traced.has_shape(int(own[op]), sizes) for op in rows.tolist()]
        update = SpentOps(run, "update", is_of_table)
        if update.part.ratio < HIGH_GAIN or (n_read and n_read > FEW_ROWS * sizes[0]):
            continue
        read = f"to update them, and reads {n_read:,} at most" if n_read else "to update them, and reads some"
        yield update.advise(
            "dense_update",
            f"A step works on all {sizes[0]:,} rows of {name} ({shape}) {read}: {update.part}.",
            fix=Fix(
                "Keras' Adam and its kin change their own state of each row, read or not. keras.optimizers.SGD "
                "changes the rows that were read alone, and a table of fewer rows (keras.layers.Hashing) has less "
                "to change: both train differently."
            ),
            gain_ratio=update.part.ratio,
            n_rows=sizes[0],
            n_rows_read=n_read,
            variable=name,
        )


def _tables(run: Run, traced: TracedOps) -> dict[int, int]:
    """The trainable variables that steps gather rows of, and how many at most; 0 where that is not known."""
    variables, batch = traced.source_map.variables, batch_size_of(run.facts, 0)
    found: dict[int, int] = {}
    for row in traced.ran(*_GATHERS):
        table = traced.variable(row)
        source = traced.behind(row, 0)
        table = traced.variable(source) if table < 0 and source >= 0 else table
        if table < 0 or not variables["trainable"].iloc[table]:
            continue
        made = next(iter(traced.output_shapes(row)), None)
        width = int(np.prod((parse_shapes(str(variables["shape"].iloc[table]))[0] or (1,))[1:]))
        sizes = [batch or 0 if size < 0 else size for size in made or (0,)]
        found[table] = found.get(table, 0) + int(np.prod(sizes)) // max(width, 1)
    return found


def many_variables(run: Run) -> Iterator[Advice]:
    """Most ops of a step update variables, which are many and small.

    Gain: of the step's fixed share that of the optimizer's ops.
    """
    steps, work, source_map = run.steps, run.work, run.results.source_map
    if source_map is None or len(steps) < MIN_STEPS or steps.has_device or not work.is_told or run.eager.is_hot:
        return
    trained = source_map.variables[source_map.variables["trainable"].astype(bool)]
    sizes = [int(np.prod(parse_shapes(text)[0] or (0,))) for text in trained["shape"].tolist()]
    n_updates = float(work.per_step[work.is_optimizer].sum())
    if len(sizes) < MANY or float(np.median(sizes)) > SMALL or n_updates < FIXED * work.n_ops:
        return
    usual = usual_step(steps.time_ms, steps.category_ms("input") + run.traced.cost_ms)
    part = StepPart("update", (usual.own_ms - work.growing_ms) * n_updates / work.n_ops, usual.step_ms)
    if part.ratio < FIXED or float(work.ms[work.is_optimizer].max(initial=0.0)) > part.ms / 4:
        return
    yield advise(
        "many_variables",
        f"The optimizer updates {len(sizes):,} variables of {amount(float(np.median(sizes)))} numbers each, one by one: "
        f"{n_updates:,.0f} of {work.n_ops:,.0f} ops a step, about {part}.",
        evidence=part.evidence
        | {
            "n_variables": len(sizes),
            "median_size": float(np.median(sizes)),
            "optimizer_ops_per_step": n_updates,
            "ops_per_step": work.n_ops,
            "estimate": "of what no batch changes the share of the optimizer's ops",
        },
        fix=Fix(
            f"Put one layer in place of many small ones side by side: one variable of {number(sum(sizes))} numbers "
            "costs as much as one of a few. Or have fewer updates for as many samples: "
            f"{LARGER_BATCH[0].lower()}{LARGER_BATCH[1:]}"
        ),
        selection=steps.usual(
            steps.time_ms, view="op_table", op_names=costliest(run, run.results.op_scopes.is_optimizer)
        ),
        gain_ratio=part.ratio,
    )
