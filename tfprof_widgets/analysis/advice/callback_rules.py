"""Python of the user's around the computations of steps -> advice on callbacks, and on what prepares a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.wording import number, percent, plural
from ..steps.averaged_steps import MIN_STEPS
from .advice import MEDIUM_GAIN, Advice, advise, step_highlight
from .called_work import MOST_OF_STALL
from .code_text import one_line
from .fix import Fix
from .python_gaps import MIN_SAMPLES, CodeLine, top_line
from .step_facts import StepPart

if TYPE_CHECKING:
    from .called_work import CalledWork
    from .run import Run

LONG_STEP = 3.0
"""A step that takes so many times the median is worth a word."""
BESIDE = 0.5
"""Of what a thread could hide behind the rest of the step: both need Python's lock. 0.2 to 0.9 were seen."""


def host_callback(run: Run) -> Iterator[Advice]:
    """Python code of the user's runs between the computations, in most steps.

    Gain: the share of the step time in the long stretches in which no op runs and the device idles. Code that runs on another
    thread, or every hundredth step, takes none of it. On a machine without a device, where ops of the step and Python take turns,
    it is the share of the samples at that code where that is more. Of code whose result is needed it is no more than the rest of
    the step, beside which it could run.
    """
    steps, gap = run.steps, run.gap
    if not _is_judged(run) or _is_in_calls(run):
        return
    if not is_usual(run):
        yield from _now_and_then(run.with_compiling)  # what they call may trace
        yield from _once(run)
        return
    line = gap.lines[0] if gap.is_named else None
    if line is None and not run.is_keras_loop and _is_between_calls(run):
        line = top_line(run.trace, run.results.source_map, gap.pieces)
    idle_ratio = float(gap.ms.mean()) / steps.mean_ms
    share = max(idle_ratio, 0.0 if steps.has_device or line is None else gap.sampled_ratio)
    is_needed = line is not None and line.is_needed
    idle = f"the {steps.device} idles and no op runs" if steps.has_device else "no op runs"
    yield advise(
        "host_callback",
        f"Python in {line.where} takes {number(share * steps.mean_ms)} of {number(steps.mean_ms)} ms a step "
        f"({percent(share)}), {'' if share == idle_ratio else 'mostly '}while {idle}."
        if line
        else _without_line(run, steps.part("gap", float(gap.ms.mean())), idle),
        evidence={
            "gap_ms": float(gap.ms.mean()),
            "longest_gap_ms": gap.usual_ms,
            "step_time_ms": steps.mean_ms,
            "gap_ratio": idle_ratio,
            "n_samples": gap.n_samples,
            **({"line": line.place, "function": line.function, "code": line.code} if line else {}),
            **({"estimate": "half of what could run beside the rest of the step"} if is_needed else {}),
        },
        fix=_less_often(line) if line or _is_of_hooks(run) else _NOT_YOURS if gap.n_samples else _NOT_SAMPLED,
        selection=steps.stretch(gap.ms, "other", view="source_view" if line else "timeline"),
        # What each batch needs can run beside the rest of the step, which hides no more than it takes itself.
        gain_ratio=BESIDE * min(share, 1 - share) if is_needed else share,
    )


def slow_call(run: Run) -> Iterator[Advice]:
    """Calling a function takes long before it runs any op: Python goes through what it is given, or waits for its lock.

    Gain: the share of the step time in the long stretches without an op that lie there.
    """
    if not _is_judged(run) or not _is_in_calls(run):
        return
    steps, calls = run.steps, run.call_gaps
    part = steps.part("calling", float(calls.ms.mean()))
    yield advise(
        "slow_call",
        f"Calling {calls.functions[0]} takes {part} before its first op runs.",
        evidence=part.evidence | {"function": calls.functions[0]},
        fix=_FEWER_ARGUMENTS,
        selection=steps.stretch(run.gap.ms, "other", view="timeline"),
        gain_ratio=part.ratio,
    )


_FEWER_ARGUMENTS = Fix(
    "Each call goes through all of its arguments in Python: pass a few large tensors, or keep them in variables. Where another "
    "thread of yours runs Python meanwhile, the call waits for the interpreter's lock."
)
_NOT_SAMPLED = Fix(
    "Capture it with tfprof.profile(), which samples your code: the line that takes it then has its name here."
)
_NOT_YOURS = Fix(
    "Do what your loop, a library or another thread does in Python meanwhile less often, or in another process."
)


def _is_judged(run: Run) -> bool:
    """Whether no other rule owns Python's time."""
    return len(run.steps) >= MIN_STEPS and not run.runs_eagerly and not np.median(run.traced.cost_ms) > 0


def _is_in_calls(run: Run) -> bool:
    """Whether the usual stretches of Python are at no known line, and mostly in calls of functions that run nothing yet."""
    gap, calls = run.gap, run.call_gaps
    return is_usual(run) and not gap.is_named and float(calls.ms.sum()) >= MOST_OF_STALL * float(gap.ms.sum())


def _is_of_hooks(run: Run) -> bool:
    """Whether hooks that Keras calls may take it: nobody sampled the user's code, which else was seen in one."""
    return run.is_keras_loop and run.gap.n_samples < MIN_SAMPLES and _is_between_calls(run)


def _is_between_calls(run: Run) -> bool:
    return float(run.call_gaps.inside_ms.sum()) < (1 - MOST_OF_STALL) * float(run.gap.ms.sum())


def _without_line(run: Run, part: StepPart, idle: str) -> str:
    """Where Python takes part of a step, as far as the trace tells."""
    if _is_of_hooks(run):
        return f"Python between batches takes {part}, while {idle}."
    if run.is_keras_loop and _is_between_calls(run):
        return f"Between batches {idle} for {part}, at no line of yours: Python of a library or of another thread, or waiting."
    calls = run.call_gaps.functions
    outside = f" outside of its calls of {calls[0]}" if calls and _is_between_calls(run) else ""
    return f"{idle[:1].upper()}{idle[1:]} for {part}{outside}: Python, or waiting."


def is_usual(run: Run) -> bool:
    """Whether Python runs so long between the computations of most steps."""
    return run.gap.usual_ms >= MEDIUM_GAIN * run.steps.median_ms and run.gap.is_long


def _now_and_then(run: Run) -> Iterator[Advice]:
    """What samples tell of functions that run in some of the steps, or run ops themselves: an evaluation, a report."""
    steps = run.steps
    for one in run.called:
        gain = float(one.ms.sum() / steps.time_ms.sum())
        if gain < MEDIUM_GAIN or _is_saving(run, one):
            continue
        each_ms, n = float(one.ms.sum()) / one.n_steps, one.n_steps
        yield advise(
            "host_callback",
            f"{one.line.where} takes {number(each_ms)} ms in {n} of {plural(len(steps), 'step')}, which take "
            f"{number(steps.median_ms)} ms as a rule: {percent(gain)} of their time.",
            evidence={
                "called_ms": each_ms,
                "n_called_steps": n,
                "n_steps": len(steps),
                "step_time_ms": steps.median_ms,
                "called_ratio": gain,
                "line": one.line.place,
                "function": one.line.function,
                "code": one.line.code,
            },
            fix=_less_often(one.line),
            selection=step_highlight(steps.frame, int(one.ms.argmax()), view="source_view"),
            gain_ratio=gain,
        )


def _once(run: Run) -> Iterator[Advice]:
    """A function that made a single step much longer. Whether it comes again is not known, so nothing is promised."""
    steps = run.steps
    for one in run.called_at_all:
        at = int(one.ms.argmax())
        excess_ms = float(steps.time_ms[at]) - steps.median_ms
        is_long = excess_ms >= (LONG_STEP - 1) * steps.median_ms and one.ms[at] >= MOST_OF_STALL * excess_ms
        if one.n_steps > 1 or not is_long or run.traced.cost_ms[at] > 0 or run.saves.is_saving[at]:
            continue
        yield advise(
            "host_callback",
            f"{one.line.where} takes {number(float(one.ms[at]))} ms in one of {plural(len(steps), 'step')}, which take "
            f"{number(steps.median_ms)} ms as a rule. Whether it comes again, this capture does not tell.",
            evidence={
                "called_ms": float(one.ms[at]),
                "n_called_steps": 1,
                "n_steps": len(steps),
                "step_time_ms": steps.median_ms,
                "line": one.line.place,
                "function": one.line.function,
                "code": one.line.code,
            },
            fix=_less_often(one.line),
            selection=step_highlight(steps.frame, at, view="source_view"),
        )


def _is_saving(run: Run, one: CalledWork) -> bool:
    """Whether what a function of the user's does is to save weights: `checkpoint_stall` tells that."""
    in_saves_ms = float(one.ms[run.saves.is_saving].sum())
    return in_saves_ms >= MOST_OF_STALL * float(one.ms.sum()) and (bool(run.saves.op_types) or one.line.writes)


def _less_often(line: CodeLine | None) -> Fix:
    if line is None:
        return Fix(
            "What a callback or the loop does in Python after each batch: do it every hundredth batch, or once an epoch."
        )
    where = one_line(f"{line.place}: {line.code}")
    if line.is_needed:
        return Fix(
            f"Each batch needs it ({where}): let a map of tf.data do it, with a prefetch behind it, so that it runs "
            "while the model computes; in ops of TensorFlow, as Python shares its lock with the loop."
        )
    return Fix(
        f"Do it every hundredth batch instead of each, once an epoch, or in a thread of its own ({where}); what the "
        "training itself depends on, such as a learning rate, stays in each."
    )
