"""Loops within the graph of a step -> advice on those whose ops are so small that calling them is the cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.wording import number
from ..steps.averaged_steps import MIN_STEPS
from .advice import HIGH_GAIN, Advice, advise
from .call_fixes import FIXED, LARGER_BATCH, compiled
from .code_places import last_part, title_of
from .fix import Fix
from .graph_loops import GraphLoops, graph_loops
from .step_facts import StepPart, usual_step

if TYPE_CHECKING:
    from ...trace.trace import Float64
    from .run import Run
    from .traced_ops import TracedOps

HARDLY_MS = 0.1
"""Work of less than this has no figure."""
LITTLE = 0.1
"""Of the costliest loop: what takes less is not spoken of."""


def graph_loop(run: Run) -> Iterator[Advice]:
    """A loop of TensorFlow runs small ops one after the other.

    Gain: of the share of the step time that loops take what their ops do not compute; of a device that in which it waits for
    their kernels to be launched.
    """
    steps, traced = run.steps, run.traced_ops
    if len(steps) < MIN_STEPS or run.eager.is_hot or traced is None:
        return
    loops = graph_loops(run, traced)
    if loops is None or (steps.has_device and run.is_compiled):
        return
    each_ms = _launch_ms(loops) if steps.has_device else loops.next_ms
    chosen = np.flatnonzero((each_ms > 0) & (each_ms >= LITTLE * each_ms.max())).tolist()
    if not chosen:
        return
    top = int(each_ms.argmax())
    ms, op_ms = (float(each_ms[chosen].sum()), 0.0) if steps.has_device else loops.time(chosen)
    part = StepPart("loop", ms - op_ms, usual_step(steps.time_ms, steps.category_ms("input")).step_ms)
    if part.ratio < (HIGH_GAIN if steps.has_device else FIXED):  # on a CPU, XLA makes loops of larger ops no faster
        return
    name, row, n_iterations = loops.name[top].removesuffix("/while"), loops.row[top], loops.n_iterations(top)
    place = _place(traced, int(traced.source_map.ops["frame"].iloc[row])) if row >= 0 else ""
    times = f" of at least {n_iterations:,} iterations" if n_iterations else ""
    told = f"{name}{f' ({place})' if place else ''}{times}"
    others = " and other loops" if len(chosen) > 1 else ""
    yield advise(
        "graph_loop",
        f"The {steps.device} waits {part} between the kernels of the loop {told}{others}: they are launched one by one."
        if steps.has_device
        else f"The loop {told}{others} {'take' if others else 'takes'} about {number(ms)} of {number(part.step_ms)} ms a step; "
        f"{'their' if others else 'its'} ops compute {_how_long(op_ms)}, the rest is running them one by one.",
        evidence=part.evidence
        | {"op_ms": op_ms, "loop": name}
        | ({"iterations": n_iterations} if n_iterations else {})
        | ({"line": place} if place else {}),
        fix=_without_loop(run),
        selection=steps.usual(steps.time_ms, view="timeline"),
        gain_ratio=part.ratio,
    )


def _without_loop(run: Run) -> Fix:
    more = (
        []
        if run.has_layers
        else ["Where an iteration needs nothing of those before, tf.vectorized_map in place of tf.map_fn has no loop."]
    )
    more.append(LARGER_BATCH)
    if run.can_be_compiled:
        return compiled(run, "one program, the loop with it").also(" ".join(more))
    return Fix(" ".join(more))


def _launch_ms(loops: GraphLoops) -> Float64:
    """How long devices wait for launches of the kernels of each loop in a usual step."""
    run = loops.run
    shares, waits = run.results.op_shares, run.waits
    names = [
        {shares.name[op] for op in shares.dominant[loops.of_unit == loop].tolist()} for loop in range(len(loops.name))
    ]
    return np.array([waits.launch_ms_before(some) for some in names], np.float64)


def _how_long(ms: float) -> str:
    return f"for {number(ms)} ms" if ms >= HARDLY_MS else "next to nothing"


def _place(traced: TracedOps, frame: int) -> str:
    """The user's innermost line in a traceback."""
    frames, files = traced.source_map.frames, traced.source_map.files
    while frame >= 0:  # a parent is always an earlier row
        file = int(frames["file"].iloc[frame])
        if file >= 0 and files["is_user"].iloc[file]:
            return f"{last_part(title_of(traced.source_map, file))}:{frames['line'].iloc[frame]}"
        frame = int(frames["parent"].iloc[frame])
    return ""
