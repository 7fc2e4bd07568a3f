"""Loops within the graph of a step -> advice on those whose ops are so small that calling them is the cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Bool
from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from ..base.wording import amount, number
from ..steps.averaged_steps import MIN_STEPS
from .advice import HIGH_GAIN, Advice, advise
from .code_text import remark
from .host_rules import LARGER_BATCH
from .launch_rules import compiled
from .op_rules import op_line
from .op_work import OP_OVERHEAD_MS

if TYPE_CHECKING:
    from .run import Run

MANY_TIMES = 8
"""An op that runs so often in a step is in a loop, where neither the step nor a function in it is repeated."""


def graph_loop(run: Run) -> Iterator[Advice]:
    """A loop of TensorFlow runs small ops one after the other.

    Gain: of the share of the step time between the first and the last op of loops what their ops do not compute.
    """
    steps, work = run.steps, run.work
    if len(steps) < MIN_STEPS or steps.has_device or not work.is_told or run.eager.is_hot:
        return
    chosen = _repeated(run)
    if not chosen.any():
        return
    loop_ms = float(np.median(_extents_ms(run, chosen)))
    compute_ms = float((np.maximum(work.median_ms - OP_OVERHEAD_MS, 0.0) * work.per_step)[chosen].sum())
    part = steps.part("loop", loop_ms - compute_ms)
    if part.ratio < HIGH_GAIN:
        return
    n = float(np.max(work.per_step[chosen]))
    top = int(run.results.op_shares.dominant[np.where(chosen, work.ms, -1.0).argmax()])
    entry = run.results.layers.entries.iloc[int(run.results.layers.op_entry[top])]
    layer = str(entry["layer"]) if entry["kind"] == "layer" else ""
    place = op_line(run, top)
    where = " of " + layer if layer else ""
    yield advise(
        "graph_loop",
        f"The loop{where}{f' ({place})' if place else ''} of {amount(n)} iterations takes {number(loop_ms)} of "
        f"{number(steps.mean_ms)} ms a step; its ops compute for {number(compute_ms)} ms, the rest is calling them one by one.",
        evidence=part.evidence
        | {"iterations": n, "op_ms": compute_ms, "ops_per_step": float(work.per_step[chosen].sum())}
        | ({"layer": layer} if layer else {})
        | ({"line": place} if place else {}),
        fix=remark(place)
        + (compiled(run).replace("fewer, larger kernels", "XLA compiles the loop") if run.can_be_compiled else "")
        + "# or more samples in each iteration\n"
        + LARGER_BATCH.rstrip(),
        selection=steps.usual(
            steps.time_ms,
            view="op_table",
            op_names=run.known(*(run.facts.occurrences.name[i] for i in np.argsort(-work.ms * chosen)[:5].tolist())),
        ),
        gain_ratio=part.ratio,
    )


def _repeated(run: Run) -> Bool:
    """The units that a loop repeats; none where all of the step is repeated, as several steps in one call are."""
    work = run.work
    none = np.zeros(len(work.per_step), np.bool_)
    updates = work.per_step[work.is_optimizer & (work.per_step > 0)]
    if run.calls.n_functions >= MANY_TIMES or (len(updates) and float(np.median(updates)) > 1.5):
        return none
    is_eager = run.facts.occurrences.is_eager
    return work.is_model & ~is_eager & (work.per_step >= MANY_TIMES)


def _extents_ms(run: Run, chosen: Bool) -> np.ndarray:
    """For each step how long it is from the first to the last execution of loops, forward and backward."""
    runs = run.facts.occurrences
    is_backward = run.results.op_scopes.is_backward[run.results.op_shares.dominant]
    rows = np.flatnonzero(chosen[runs.op] & (run.entry[runs.event] >= 0))
    key = run.entry[runs.event[rows]] * 2 + is_backward[runs.op[rows]]
    n = 2 * len(run.steps)
    low, high = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(low, key, runs.start_ps[rows])
    np.maximum.at(high, key, runs.start_ps[rows] + runs.duration_ps[rows])
    known = high > 0
    stretches = Stretches.of(low[known], high[known])
    return stretches.within(run.steps.start_ps, run.steps.end_ps) / PS_PER_MS
