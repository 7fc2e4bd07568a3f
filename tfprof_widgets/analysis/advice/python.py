"""Rules on Python around the steps: callbacks, validation, and what runs between steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..card import (
    CALLED,
    HIGH_GAIN,
    IDLE,
    MEDIUM_GAIN,
    Advice,
    Claim,
    Fix,
    Highlight,
    behind,
    ns_range,
    one_line,
    only_call,
    rule,
    step_highlight,
)
from ..common import PS_PER_MS, milliseconds, number, percent, plural
from ..steps.spans import MIN_STEPS
from .calls import PYTHON_STAYS
from .facts import CodeLine, StepPart
from .python_work import MIN_LINE_SAMPLES, MOST_OF_STALL, ONE_BATCH, CalledWork, top_line, traced_function
from .run import FIXED, Run

if TYPE_CHECKING:
    from .causes import OutsideWork


BESIDE = 0.5
"""Of what a thread could hide behind the rest of the step: both need Python's lock. 0.2 to 0.9 were seen."""


@rule(
    "Run less Python around the ops",
    claims=CALLED,
    fixes={
        "JAX": "A call returns before its result is there: make the next batch meanwhile, and read the last "
        "result afterwards, every hundredth step."
    },
)
def host_callback(run: Run) -> Iterator[Advice]:
    """Python of the user's runs between the computations in most steps; gain: the share of long stretches without op and device,
    or of samples at that code if that is more, at most the rest of the step where its result is needed."""
    steps, gap = run.steps, run.gap
    if not _is_judged(run) or _is_in_calls(run):
        return
    if not is_usual(run) or _computes_itself(run):
        yield from _now_and_then(run.with_compiling)  # what they call may trace
        return
    line = _line_of(run)
    idle_ratio = float(gap.ms.mean()) / steps.mean_ms
    share = max(idle_ratio, 0.0 if steps.has_device or line is None else gap.sampled_ratio)
    waits = line is not None and line.waits_for_others
    is_needed = line is not None and line.is_needed and not waits
    where, told = line.where if line else "", steps.part("gap", share * steps.mean_ms)
    doing = (
        (f"{where} waits", " for what another thread or process makes") if waits else (f"Python in {where} takes", "")
    )
    idle = f"the {steps.device} idles and no op runs" if steps.has_device else "no op runs"
    yield run.advise(
        f"{doing[0]} {told}{doing[1]}, {'' if share == idle_ratio else 'mostly '}while {idle}."
        if line
        else _without_line(run, steps.part("gap", float(gap.ms.mean())), idle),
        None,
        _less_often(run, line) if line or _is_of_hooks(run) else _NOT_YOURS if gap.n_samples else _NOT_SAMPLED,
        steps.stretch(gap.ms, "other", view="source_view" if line and gap.n_samples else "timeline"),
        gain=BESIDE * min(share, 1 - share) if is_needed else share,
        claim=Claim(spans=gap.spans(steps) if share == idle_ratio else gap.sampled),
        gap_ms=float(gap.ms.mean()),
        gap_ratio=idle_ratio,
        **(line.evidence if line else {}),
        estimate="half of what could run beside the rest of the step" if is_needed else "",
    )


def _line_of(run: Run) -> CodeLine | None:
    """Where the user's Python between the computations is; None where it is not known."""
    gap = run.gap
    if gap.is_named:
        return gap.lines[0]
    if run.is_keras_loop or not _is_between_calls(run):
        return None
    line = top_line(run, gap.pieces)
    return line or traced_function(run.trace, run.entry, gap.pieces)


def python_makes_batches(run: Run) -> bool:
    """Whether Python that each batch needs takes most of the steps."""
    if not _is_judged(run) or not is_usual(run) or float(run.gap.ms.mean()) <= FIXED * run.steps.mean_ms:
        return False
    line = _line_of(run)
    return line is not None and line.is_needed


@rule("Make the call of the function cheaper", claims=IDLE)
def slow_call(run: Run) -> Iterator[Advice]:
    """Calling a function takes long before it runs any op; gain: the share of the step time there."""
    if not _is_judged(run) or not _is_in_calls(run) or run.other_thread is not None:
        return
    steps, calls = run.steps, run.call_gaps
    part, claim = run.free("calling", "slow_call", calls.spans)
    yield run.advise(
        f"Calling {calls.functions[0]} takes {part} before its first op runs.",
        part,
        _FEWER_ARGUMENTS,
        steps.stretch(run.gap.ms, "other", view="timeline"),
        claim=claim,
        function=calls.functions[0],
    )


@rule(
    "Run other threads' Python in a process of its own",
    claims=("dispatch", "kernel_launch"),
    explains=("small_batch",),
    scope="program",
)
def other_thread(run: Run) -> Iterator[Advice]:
    """Another thread of the program runs Python; gain: what Python and the runtime around ops take meanwhile."""
    if len(run.steps) < MIN_STEPS or run.other_thread is None:
        return
    line, spans = run.other_thread
    part, claim = run.free("python", "other_thread", spans)
    if part.ratio < HIGH_GAIN:
        return
    yield run.advise(
        f"Python and the runtime around ops take {part} while another thread runs Python in {line.where}: one thread at a time "
        "can, and takes turns of 5 ms.",
        part,
        Fix(
            f"Run it in a process of its own (multiprocessing), or in ops of NumPy or TensorFlow, which let other threads run "
            f"Python meanwhile ({line.quoted})."
        ),
        claim=claim,
        **line.evidence,
    )


_FEWER_ARGUMENTS = Fix(
    "Each call goes through all of its arguments in Python: pass a few large tensors, or keep them in variables."
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
    return run.is_keras_loop and run.gap.n_samples < MIN_LINE_SAMPLES and _is_between_calls(run)


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


def _computes_itself(run: Run) -> bool:
    """Whether most of what a hook of Keras takes runs ops, so that stretches without any are the smaller part of it."""
    most = next(iter(run.called), None) if run.is_keras_loop else None
    return most is not None and float(run.gap.ms.sum()) < MOST_OF_STALL * float(most.ms.sum())


def _now_and_then(run: Run) -> Iterator[Advice]:
    """What samples tell of functions that run in some of the steps, or run ops themselves: an evaluation, a report."""
    steps = run.steps
    for one in run.called:
        gain, n = float(one.ms.sum() / steps.time_ms.sum()), one.n_steps
        if gain < MEDIUM_GAIN or _is_saving(run, one):
            continue
        of_all, ms = f"in {n} of {plural(len(steps), 'step')}", float(one.ms.sum()) / n
        yield run.advise(
            f"{one.line.where} takes {steps.part('called', float(one.ms.mean()))}, {of_all}."
            if 2 * n > len(steps)
            else f"{one.line.where} takes {number(ms)} ms {of_all}, which take {number(steps.median_ms)} ms as a rule: "
            f"{percent(gain)} of their time.",
            None,
            _less_often(run, one.line),
            step_highlight(steps.frame, int(one.ms.argmax()), view="source_view"),
            gain=gain,
            claim=Claim(spans=one.seen),
            called_ms=ms,
            **one.line.evidence,
        )


def _is_saving(run: Run, one: CalledWork) -> bool:
    """Whether what a function of the user's does is to save weights: `checkpoint_stall` tells that."""
    in_saves_ms = float(one.ms[run.saves.is_saving].sum())
    return in_saves_ms >= MOST_OF_STALL * float(one.ms.sum()) and (bool(run.saves.op_types) or one.line.writes)


def _faster_elsewhere(run: Run) -> Fix:
    """What makes a loop wait less for what another thread or process makes."""
    started = only_call(run.source_map, "Thread", lambda _: True)
    maker = started.argument("target") if started else None
    return Fix(
        f"What it waits for comes too slowly{f' from {ast.unparse(maker)}' if maker else ''}. One thread at a time runs Python: "
        "use NumPy there in place of loops, processes in place of threads, or ops of TensorFlow in a map of tf.data."
    )


def _less_often(run: Run, line: CodeLine | None) -> Fix:
    if line is None:
        return Fix(
            "What a callback or the loop does in Python after each batch: do it every hundredth batch, or once an epoch."
        )
    if line.waits_for_others:
        return _faster_elsewhere(run)
    where = line.quoted
    if line.is_needed:
        return Fix(
            f"Each batch needs it ({where}): let a map of tf.data do it, with a prefetch behind it, so that it runs "
            "while the model computes; in ops of TensorFlow, as Python shares its lock with the loop."
        )
    less = Fix(
        f"Do it every hundredth batch instead of each, once an epoch, or in a thread of its own ({where}); what the "
        "training itself depends on, such as a learning rate, stays in each."
    )
    return less.also(ONE_BATCH) if any(f".{name}(" in line.code for name in ("predict", "evaluate")) else less


MIN_TIMES = 2
"""What is done once, such as reading the data or the last report, costs a long training nothing."""
MIN_MS = 50.0
"""In all; less may be a busy machine."""
EAGER_OP_MS = 0.4
"""What an op that Python calls takes at most, with the Python around it, unless it computes much."""


@rule("Spend less time between steps", share_of="time captured", scope="program")
def outside_steps(run: Run) -> Iterator[Advice]:
    """Time passes between training steps, in a function of the user's, in validations or in what the framework does; gain: its
    share of the time captured, each time taken as the usual one."""
    captured_ms = run.results.coverage.captured_ps / PS_PER_MS
    for one in run.outside:
        gain, share = one.usual_ms / captured_ms, one.ms / captured_ms
        # What is no hook of epochs may be what the program is for, such as the next of several models.
        least = MEDIUM_GAIN if one.line.function.startswith("on_") else HIGH_GAIN
        comes_again = one.n_times >= MIN_TIMES and (one.is_between or one.kind != "")
        # Keras validates after each epoch: once, as in a capture of one, counts where it takes more steps than the training.
        comes_again |= one.is_training_call and one.n_steps > run.n_trained
        if not comes_again or one.ms < MIN_MS or gain < least:
            continue
        yield run.advise(
            f"{_what(run, one)} takes {milliseconds(one.ms)} of the {milliseconds(captured_ms)} captured ({percent(share)}), "
            f"outside of training steps: {_made_of(run, one)}.",
            None,
            _fix(run, one),
            _longest(run),
            gain=gain,
            headline="Validate less often" if one.is_training_call and one.kind else "",
            outside_ms=one.ms,
            n_times=one.n_times,
            n_steps=one.n_steps,
            **one.line.evidence,
            estimate="each time taken as the usual one",
        )


def _what(run: Run, one: OutsideWork) -> str:
    if not one.is_training_call:
        return one.line.where
    if one.kind:
        return "Validation"
    return f"What the call at {one.line.place} does {'for each batch' if run.is_called_for_each_step else 'between epochs'}"


def _made_of(run: Run, one: OutsideWork) -> str:
    if one.kind:
        return f"{plural(one.n_steps, f'{one.kind} step')}{f', for {run.n_trained} of training' if one.is_training_call else ''}"
    ops = f", with {one.n_ops:,.0f} ops called one by one from Python" if _is_eager(one) else ""
    return f"{plural(one.n_times, 'time')}, {milliseconds(one.ms / one.n_times)} each{ops}"


def _is_eager(one: OutsideWork) -> bool:
    """Whether most of what a function does outside of steps is to call ops one by one."""
    return not one.is_training_call and one.n_ops * EAGER_OP_MS >= MOST_OF_STALL * one.ms / one.n_times


def _longest(run: Run) -> Highlight:
    """The longest stretch without a training step that comes after one, with that step."""
    coverage, frame = run.results.coverage, run.results.steps.frame
    start_ps = frame["start_ps"].to_numpy(np.int64)
    length = np.where(coverage.start_ps > start_ps.min(), coverage.end_ps - coverage.start_ps, -1)
    at = int(np.argmax(length))
    step = int(np.flatnonzero(start_ps <= coverage.start_ps[at]).max(initial=0))
    begin_ps = min(int(start_ps[step]), int(coverage.start_ps[at]))
    return Highlight(time_range_ns=ns_range(begin_ps, int(coverage.end_ps[at])), step=step, view="timeline")


def _fix(run: Run, one: OutsideWork) -> Fix:
    where = behind(one.line.quoted)
    is_validation = one.is_training_call and one.kind
    if is_validation:
        every = "Validate every fifth epoch, validation_freq=5 of fit, and on larger batches"
        if one.n_steps > run.n_trained:
            every = "Validate on larger batches, validation_batch_size of fit, and every fifth epoch, validation_freq=5"
        return Fix(f"{every}{where}. Callbacks that watch val_loss then act every fifth epoch, too.")
    kind = one.kind or (str(run.steps.frame["name"].iloc[0]) if run.is_called_for_each_step and len(run.steps) else "")
    if "predict" in kind:
        return Fix(
            f"Predict all at once, in large batches (batch_size=256){where}, or call the model itself. {ONE_BATCH}"
        )
    if one.is_training_call and run.is_called_for_each_step:
        return Fix(f"Each call makes a pipeline of its own first{where}: give one call all batches.")
    if one.is_training_call:
        return Fix(
            f"Make fewer, longer epochs, as callbacks{_callbacks(run)} and metrics run at the end of each{where}: of a dataset "
            "that is repeated steps_per_epoch says how long one is."
        )
    if _is_eager(one) and not kind:
        return Fix(f"Put what computes there in a tf.function{where}, so that it runs as one graph. {PYTHON_STAYS}")
    if one.line.function.startswith("on_epoch_"):
        return Fix(f"Do it every tenth epoch instead of each, or in a thread of its own{where}.")
    if kind:
        return Fix(f"Do it less often, and in larger batches (batch_size=256){where}.")
    return Fix(f"Do it less often, or in a thread of its own{where}.")


def _callbacks(run: Run) -> str:
    """Those that the program's `fit` is given, by name; empty where they are not known."""
    call = only_call(run.source_map, "fit", lambda call: any(one.arg == "callbacks" for one in call.keywords))
    given = getattr(call.argument("callbacks") if call else None, "elts", ())
    names = [ast.unparse(getattr(one, "func", one)).rpartition(".")[2] for one in given]
    return behind(one_line(", ".join(names)))
