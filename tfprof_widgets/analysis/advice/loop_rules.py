"""Loops within the graph of a step -> advice on those whose ops are so small that calling them is the cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base.units import PS_PER_MS
from ..base.wording import number
from ..steps.averaged_steps import MIN_STEPS
from .advice import HIGH_GAIN, Advice, advise
from .code_places import last_part, title_of
from .code_text import remark
from .host_rules import FIXED, LARGER_BATCH
from .launch_rules import compiled
from .op_work import OP_OVERHEAD_MS
from .step_facts import StepPart, usual_step

if TYPE_CHECKING:
    from ...trace.trace import Bool
    from .run import Run
    from .traced_ops import TracedOps

_LOOPS = ("While", "StatelessWhile")
_PROCESSES = "ExecutorState::Process"
"""What the runtime records of each op, or few of them, also of those too cheap to be recorded themselves."""
_NO_WORK = ("Const", "NoOp")
_WITHOUT_LOOP = """\
# or without a loop, where an iteration needs nothing of those before
y = tf.vectorized_map(f, x)  # in place of tf.map_fn
"""
HARDLY_MS = 0.1
"""Work of less than this has no figure."""
MANY_TIMES = 8
"""An op that runs so often in a step is in a loop."""


@dataclass(frozen=True)
class GraphLoop:
    """The loops of a usual step."""

    ms: float
    """How long their ops run, one after the other."""
    op_ms: float
    """What these compute beyond the cost of running any op."""
    name: str
    """The scope of the first."""
    place: str
    """The line that made it; empty where nobody knows."""
    n_iterations: int
    """At least so many, as of cheap ops not each execution is recorded; 0 where no op of theirs is."""


def graph_loop(run: Run) -> Iterator[Advice]:
    """A loop of TensorFlow runs small ops one after the other.

    Gain: of the share of the step time that loops take what their ops do not compute; of a device that in which it waits for
    their kernels to be launched.
    """
    steps = run.steps
    if len(steps) < MIN_STEPS or run.eager.is_hot or run.traced_ops is None:
        return
    loop = _loop(run, run.traced_ops)
    if loop is None:
        return
    part = StepPart("loop", loop.ms - loop.op_ms, usual_step(steps.time_ms, steps.category_ms("input")).step_ms)
    if part.ratio < (HIGH_GAIN if steps.has_device else FIXED):  # on a CPU, XLA makes loops of larger ops no faster
        return
    times = f" of at least {loop.n_iterations:,} iterations" if loop.n_iterations else ""
    name = f"{loop.name}{f' ({loop.place})' if loop.place else ''}{times}"
    yield advise(
        "graph_loop",
        f"The {steps.device} waits {part} between the kernels of the loop {name}: they are launched one by one."
        if steps.has_device
        else f"The loop {name} takes about {number(loop.ms)} of {number(part.step_ms)} ms a step; its ops compute "
        f"{_how_long(loop.op_ms)}, the rest is running them one by one.",
        evidence=part.evidence
        | {"op_ms": loop.op_ms, "loop": loop.name}
        | ({"iterations": loop.n_iterations} if loop.n_iterations else {})
        | ({"line": loop.place} if loop.place else {}),
        fix=remark(loop.place)
        + (compiled(run).replace("fewer, larger kernels", "XLA compiles the loop") if run.can_be_compiled else "")
        + ("" if run.has_layers else _WITHOUT_LOOP)
        + f"# or more samples in each iteration\n{LARGER_BATCH}".rstrip(),
        selection=steps.usual(steps.time_ms, view="timeline"),
        gain_ratio=part.ratio,
    )


def _loop(run: Run, traced: TracedOps) -> GraphLoop | None:
    """The loops of the graphs that ran; None where there are none, or the runtime ran no more ops than these graphs have; of a
    device what ran many times waited for launches."""
    ops = traced.source_map.ops
    graphs = ops["graph"].isin(np.unique(ops["graph"].to_numpy()[traced.row[traced.row >= 0]]))
    loops = ops[graphs & ops["type"].isin(_LOOPS)]
    if loops.empty:
        return None
    repeated, first = _repeated(run), loops.iloc[0]
    name, place = str(first["op"]).removesuffix("/while"), _place(traced, int(first["frame"]))
    if run.steps.has_device:
        names = {run.results.op_shares.name[unit] for unit in np.flatnonzero(repeated).tolist()}
        ms = run.waits.launch_ms_before(names) if not run.is_compiled else 0.0
        return GraphLoop(ms, 0.0, name, place, _n_iterations(run, repeated))
    n_outside = int((ops["graph"].isin(loops["graph"]) & ~ops["type"].isin(_NO_WORK)).sum())
    events = run.trace.names_matching([_PROCESSES]) & (run.entry >= 0)
    n_ran = float(np.median(np.bincount(run.entry[events], minlength=len(run.steps))))
    if n_ran < 2 * n_outside:
        return None
    ms = float(np.median(run.calls.function_ms)) * (1 - n_outside / n_ran)
    return GraphLoop(ms, _op_ms(run, repeated), name, place, _n_iterations(run, repeated))


def _how_long(ms: float) -> str:
    return f"for {number(ms)} ms" if ms >= HARDLY_MS else "next to nothing"


def _n_iterations(run: Run, chosen: Bool) -> int:
    """How often the one of some units runs that runs most often, in the step in which it does; on a device, where one may run
    several kernels, how often most of them do."""
    runs = run.facts.occurrences
    rows = np.flatnonzero(chosen[runs.op] & (run.entry[runs.event] >= 0))
    count = np.bincount(runs.op[rows] * np.int64(len(run.steps)) + run.entry[runs.event[rows]])
    if run.steps.has_device and len(rows):
        return int(np.bincount(count[count > 0]).argmax())
    return int(count.max(initial=0))


def _op_ms(run: Run, chosen: Bool) -> float:
    """What some units compute in the mean step beyond the cost of running any op: on a busy machine they wait to go on, and a
    usual one of them would tell too little of what the loop takes."""
    runs, work = run.facts.occurrences, run.work
    rows = np.flatnonzero(chosen[runs.op] & (run.entry[runs.event] >= 0))
    ran_ms = float(runs.self_ps[rows].sum()) / PS_PER_MS / len(run.steps)
    return max(ran_ms - OP_OVERHEAD_MS * float(work.per_step[chosen].sum()), 0.0)


def _repeated(run: Run) -> Bool:
    """The recorded units of the model that run many times a step."""
    chosen: Bool = run.work.is_model & ~run.facts.occurrences.is_eager & (run.work.per_step >= MANY_TIMES)
    return chosen


def _place(traced: TracedOps, frame: int) -> str:
    """The user's innermost line in a traceback."""
    frames, files = traced.source_map.frames, traced.source_map.files
    while frame >= 0:  # a parent is always an earlier row
        file = int(frames["file"].iloc[frame])
        if file >= 0 and files["is_user"].iloc[file]:
            return f"{last_part(title_of(traced.source_map, file))}:{frames['line'].iloc[frame]}"
        frame = int(frames["parent"].iloc[frame])
    return ""
