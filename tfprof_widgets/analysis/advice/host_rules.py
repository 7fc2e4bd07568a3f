"""What the host does around the computation -> advice on saves, copies back, stragglers and small batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Float64
from ..base.wording import number, percent, plural
from ..steps.averaged_steps import MIN_STEPS
from .advice import MEDIUM_GAIN, Advice, advise, step_highlight
from .call_fixes import FIXED, QUICK, fewer_calls, several_in_one_call
from .callback_rules import is_usual
from .called_work import MOST_OF_STALL
from .code_text import one_line
from .device_copies import copy_events
from .fix import Fix
from .input_rules import input_bound, works_ahead
from .op_work import OP_OVERHEAD_MS
from .python_gaps import CodeLine, top_line
from .run import event_names
from .step_facts import usual_step

if TYPE_CHECKING:
    from .run import Run

STRAGGLER = 3.0
"""Medians from which on a step is a straggler: the bound from which a first step is left out of averages, too."""
MIN_STRAGGLERS = 2
"""A single slow step may be anything that the machine did; nobody can tell how often it comes again."""
MIN_EXCESS_MS = 50.0
"""A thread that loses its core to other programs waits for some time slices of 3 to 10 ms each: stalls of 20 to 40 ms were seen
on a busy machine. That much says nothing of this program."""
MIN_DEVIATIONS = 8.0
"""Median absolute deviations above the median: on a busy machine all steps differ, and a long one is no exception."""
MOST_STRAGGLERS = 0.25
"""Where more steps than this are slow, there are two kinds of steps rather than stragglers."""


def output_bound(run: Run) -> Iterator[Advice]:
    """Copies from the device to the host that nothing hides.

    Gain: the share of the step time in which only such a copy ran; results that stay on the device need none.
    """
    steps = run.steps
    if not steps.has_device:
        return
    copies = steps.wait_ms("output")
    output = steps.part("output", float(copies.mean()))
    if output.ratio < MEDIUM_GAIN or (run.is_keras_loop and run.takes_several):  # metrics are fetched once a call
        return
    rows = copy_events(run, "d2h")
    n = int((run.entry[rows] >= 0).sum()) / len(steps)
    several = several_in_one_call(run) if run.is_keras_loop else None
    yield advise(
        "output_bound",
        f"Copies back to the host take {output}, {number(n)} copies a step.",
        evidence=output.evidence | {"copies_per_step": n},
        fix=several.also("Metrics are then fetched once for 32 steps.")
        if several
        else Fix(
            "Read results, as float(loss) and .numpy() do, every hundredth step: until then they stay on the device."
        ),
        selection=steps.stretch(copies, "output", view="timeline", op_names=event_names(run, rows)),
        gain_ratio=output.ratio,
    )


def checkpoint_stall(run: Run) -> Iterator[Advice]:
    """Steps that wait until weights are written.

    Gain: by how much the steps that save are longer than the usual ones, of the time of all steps; a save that runs beside the
    training costs none of it.
    """
    steps, saves = run.steps, run.saves
    n = int(saves.is_saving.sum())
    if not n or len(steps) < MIN_STEPS or not steps.mean_ms:
        return
    gain = float(saves.stall_ms.sum() / steps.time_ms.sum())
    if gain < MEDIUM_GAIN or _reads_for_others(run):
        return
    at = int(saves.stall_ms.argmax())
    saving = steps.pieces[np.isin(steps.pieces["step"].to_numpy(), steps.row[saves.is_saving])]
    line = top_line(run.trace, run.results.source_map, saving[saving["category"] == "other"])
    line = line if line and line.writes else None
    where = f" in {line.function} ({line.place})" if line else ""
    stall_ms = float(saves.stall_ms[saves.is_saving].mean())
    yield advise(
        "checkpoint_stall",
        f"Saving weights{where} stalls {n} of {plural(len(steps), 'step')} by {number(stall_ms)} ms each: "
        f"{percent(gain)} of the time.",
        evidence={
            "stall_ms": stall_ms,
            "n_saving_steps": n,
            "n_steps": len(steps),
            "step_time_ms": steps.median_ms,
            "stall_ratio": gain,
            **({"line": line.place, "code": line.code} if line else {}),
        },
        fix=Fix(
            f"Save once an epoch instead of every few steps{_at(line)}, as ModelCheckpoint does with "
            f'save_freq="epoch"; or beside the '
            "training, by tf.train.CheckpointOptions(enable_async=True) for checkpoint.save."
        ),
        selection=step_highlight(
            steps.frame,
            at,
            view="timeline",
            op_names=run.known(*(f"eager/{one}" for one in (*saves.op_types, "ReadVariableOp"))),
        ),
        gain_ratio=gain,
    )


def _reads_for_others(run: Run) -> bool:
    """Whether a function of the user's that saves nothing read the variables, such as one that evaluates or logs norms."""
    saving = run.saves.is_saving
    return not run.saves.op_types and any(one.ms[saving].any() and not one.line.writes for one in run.called)


def straggler_step(run: Run) -> Iterator[Advice]:
    """Some steps take several times as long as the others, and no other rule says why.

    Gain: what those steps take beyond the median, each as much as the usual one of them, of the time of all steps less what
    one takes beyond that: that a step stalls may come again, that it stalls as long as the longest was chance. Nothing in the
    program is known to cause it, so `ranked` puts it behind what every step has.
    """
    steps = run.steps
    if len(steps) < 4 * MIN_STRAGGLERS:
        return
    excess = steps.time_ms - steps.median_ms
    spread = float(np.median(np.abs(excess)))
    slow = excess > max((STRAGGLER - 1) * steps.median_ms, MIN_DEVIATIONS * spread, MIN_EXCESS_MS)
    # The step after a save waits for the disk, too.
    slow &= ~run.saves.is_saving & ~np.append(False, run.saves.is_saving[:-1]) & (run.traced.cost_ms == 0)
    slow &= run.called_ms < MOST_OF_STALL * excess
    n = int(slow.sum())
    usual_ms = float(np.sort(excess[slow])[(n - 1) // 2]) if n else 0.0
    above_ms = np.maximum(excess[slow] - usual_ms, 0.0)
    lost_ms = float((excess[slow] - above_ms).sum())
    gain = lost_ms / float(steps.time_ms.sum() - above_ms.sum())
    if not MIN_STRAGGLERS <= n <= MOST_STRAGGLERS * len(steps) or gain < MEDIUM_GAIN:
        return
    parts = {name: float((steps.category_ms(name)[slow] - np.median(steps.category_ms(name))).sum()) for name in _PARTS}
    part = max(parts, key=parts.__getitem__)
    if part == "compile":  # `compilation` tells it
        return
    if part == "input" and (run.shuffle_fill is not None or next(input_bound(run), None) is not None):
        return
    others = run.load.others if run.load is not None and run.load.is_busy else 0.0
    at = int(np.where(slow, excess, -1.0).argmax())
    numbers = ", ".join(str(row) for row in steps.row[slow][:5].tolist()) + (", ..." if n > 5 else "")
    yield advise(
        "straggler_step",
        f"{n} of {plural(len(steps), 'step')} (steps {numbers}) take over {number(STRAGGLER)} times the median of "
        f"{number(steps.median_ms)} ms: {percent(gain)} of the time, most of it {part.replace('_', ' ')}"
        f"{f'; other programs took {number(others)} cores meanwhile' if others else ''}.",
        evidence={
            "n_stragglers": n,
            "n_steps": len(steps),
            "median_step_time_ms": steps.median_ms,
            "longest_step_time_ms": float(steps.time_ms.max()),
            "excess_ratio": gain,
            "part": part,
            **({"other_cores": others} if others else {}),
        },
        fix=Fix("Compare the slowest of these steps, which the evidence selects, with a usual one in the timeline."),
        selection=step_highlight(steps.frame, at, view="step_chart"),
        # Where others take the cores, no change of this program wins that.
        gain_ratio=0.0 if others else gain,
    )


_PARTS = ("input", "host_compute", "kernel_launch", "device_compute", "output", "compile", "other")


def small_batch(run: Run) -> Iterator[Advice]:
    """On a machine without a device, most of a step is the same for any batch.

    Gain: the share of the time of all steps that neither grows with the batch (what the ops of the model, but not of the
    optimizer, take beyond the cost of running any op) nor is another rule's (waiting for data, Python of the user's, tracing).
    With ever larger batches the time per sample nears what grows, so the share is the bound. It is that of a usual step: the
    median of its own time, and what other rules own on average. Where the training waits for a
    pipeline that works ahead, that sets the pace, whatever the batch: then there is nothing to win.
    """
    steps = run.steps
    if len(steps) < MIN_STEPS or steps.has_device or run.eager.is_hot or not run.work.is_told:
        return
    if run.wait.sets_the_pace and works_ahead(run):
        return
    owned_ms = np.minimum(_owned_ms(run), steps.time_ms)
    quick_ms = float(np.quantile(steps.time_ms - owned_ms, QUICK))
    usual = usual_step(steps.time_ms, owned_ms)
    growing_ms = min(run.work.growing_ms, usual.own_ms)
    fixed_ms = usual.own_ms - growing_ms
    gain = fixed_ms / usual.step_ms if usual.step_ms else 0.0
    if run.work.growing_ms > (1 - FIXED) * quick_ms or gain < MEDIUM_GAIN:
        return
    average_us = 1e3 * float(run.work.ms[run.work.is_model | run.work.is_optimizer].sum()) / run.work.n_ops
    yield advise(
        "small_batch",
        f"{number(fixed_ms)} of the {number(usual.step_ms)} ms of a usual step ({percent(gain)}) are the same for any batch: "
        f"{number(run.work.n_ops)} ops of {number(average_us)} µs on average, their scheduling, and Python around them.",
        evidence={
            "fixed_ms": fixed_ms,
            "growing_ms": growing_ms,
            "step_time_ms": usual.step_ms,
            "fixed_ratio": gain,
            "ops_per_step": run.work.n_ops,
            "avg_op_time_us": average_us,
            "op_overhead_us": 1e3 * OP_OVERHEAD_MS,
        },
        fix=fewer_calls(run),
        selection=steps.usual(steps.time_ms, view="step_chart"),
        gain_ratio=gain,
    )


def _at(line: CodeLine | None) -> str:
    return f" ({one_line(f'{line.place}: {line.code}')})" if line else ""


def _owned_ms(run: Run) -> Float64:
    """What more specific rules say of each step, in ms."""
    steps, gap = run.steps, run.gap
    owned = np.maximum(run.traced.cost_ms, steps.category_ms("compile")) + steps.category_ms("device_collectives")
    owned = owned + run.calls.converted_ms
    if run.wait.is_long or run.new_iterator_ms.any():
        owned = owned + np.maximum(run.wait.ms, run.new_iterator_ms)
    # A save is in a callback, whose time it is part of.
    return owned + np.maximum(gap.ms if is_usual(run) else run.called_ms, run.saves.stall_ms)
