"""What Python does to have TensorFlow compute -> advice on arrays made tensors again and again, and on too many calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..base.wording import amount, number, size
from ..failure.batch_estimate import batch_size_of
from ..steps.averaged_steps import MIN_STEPS
from .advice import MEDIUM_GAIN, Advice, advise
from .call_fixes import FIXED, QUICK, fewer_calls
from .fix import Fix
from .function_rules import PYTHON_STAYS
from .input_rules import works_ahead
from .op_work import OP_OVERHEAD_MS
from .python_calls import MIN_CALLS
from .python_gaps import CodeLine, top_line
from .step_facts import StepPart, usual_step

if TYPE_CHECKING:
    from ...trace.trace import Float64, Int64
    from .run import Run

MANY_FUNCTIONS = 4
"""A training step is one function, or two or three, as of a generator and what judges it."""
OUTSIDE = 0.15
"""Of a step at least so much lies outside of graphs where calling them is what it takes."""
FEW_SAMPLES = 8
"""A batch of at most so many is small by itself, whatever calls it."""


def argument_conversion(run: Run) -> Iterator[Advice]:
    """Large NumPy arrays are copied into tensors in each step.

    Gain: the share of the step time in which Python does it.
    """
    steps, calls = run.steps, run.calls
    if len(steps) < MIN_STEPS or float(np.median(calls.converted_ms)) < MEDIUM_GAIN * steps.median_ms:
        return
    is_eager = run.eager.is_hot and not calls.n_functions
    if is_eager or np.median(run.traced.cost_ms) > 0:  # arguments of ops one by one, and constants of a graph
        return
    part = steps.part("conversion", float(np.minimum(calls.converted_ms, steps.time_ms).mean()))
    line = _line_in(run, calls.conversions)
    yield advise(
        "argument_conversion",
        f"Copying {f'{size(calls.converted_bytes)} a step from ' if calls.converted_bytes else ''}arrays of Python or NumPy "
        "into tensors"
        f"{f' ({line.place})' if line else ''} takes {part}.",
        evidence=part.evidence | {"converted_bytes": calls.converted_bytes} | _told(line),
        fix=Fix(
            "Make a tensor of an array that stays the same once, before the loop: tf.constant(array). Of batches "
            "that change, a pipeline (tf.data.Dataset.from_tensor_slices, with .prefetch) makes tensors ahead of "
            "the training."
        ),
        selection=steps.usual(calls.converted_ms, view="source_view" if line else "timeline"),
        gain_ratio=part.ratio,
    )


def eager_ops(run: Run) -> Iterator[Advice]:
    """Beside a function, the steps call ops one by one from Python. In a loop of Keras those are of callbacks, which have a rule.

    Gain: of the step what is neither waiting for data, tracing, the function's graph, converting arrays nor the eager ops
    themselves.
    """
    steps, eager, calls = run.steps, run.eager, run.calls
    if len(steps) < MIN_STEPS or run.is_keras_loop or (eager.is_hot and steps.has_device):
        return
    if not calls.n_functions or calls.n_ops < MIN_CALLS:
        return
    python = _part(run, float(np.median(_outside_ms(run))) - eager.op_ms)
    if python.ratio < MEDIUM_GAIN:
        return
    line = _line_in(run, calls.ops)
    at = f" ({line.place})" if line else ""
    yield advise(
        "eager_ops",
        f"Beside its function a step{at} calls {amount(calls.n_ops)} ops one by one from Python: {python} are "
        "Python and calling them.",
        evidence=python.evidence | {"eager_calls_per_step": calls.n_ops, "op_ms": eager.op_ms} | _told(line),
        fix=Fix(f"Call them in a tf.function, metrics too: the step's, or one of their own. {PYTHON_STAYS}"),
        selection=steps.usual(steps.time_ms, view="source_view" if line else "timeline"),
        gain_ratio=python.ratio,
    )


def many_calls(run: Run) -> Iterator[Advice]:
    """A step is many calls of small functions.

    Gain: of the step all but running its ops, waiting for data and tracing: one function has one call.
    """
    steps, calls = run.steps, run.calls
    if not _is_mostly_calls(run) or calls.n_functions < MANY_FUNCTIONS:
        return
    python = _part(run, _own_ms(run) - _running_ms(run))
    line = _line_in(run, calls.functions)
    yield advise(
        "many_calls",
        f"A step calls {amount(calls.n_functions)} functions from Python"
        f"{f' ({line.place})' if line else ''}: {python} are these calls, not the {run.work.n_ops:,.0f} ops in them.",
        evidence=python.evidence
        | {"functions_per_step": calls.n_functions, "op_ms": _op_ms(run), "ops_per_step": run.work.n_ops}
        | _told(line),
        fix=Fix(
            f"Put @tf.function around the whole step{f', {line.where}' if line else ''}: the functions that it calls "
            f"become part of its graph. {PYTHON_STAYS}"
        ),
        selection=steps.usual(steps.time_ms, view="source_view" if line else "timeline"),
        gain_ratio=python.ratio,
    )


def step_overhead(run: Run) -> Iterator[Advice]:
    """Python, the call of a step's function and the runtime take longer than its few ops.

    Gain: of the step all but running its ops, waiting for data and tracing.
    """
    steps, calls = run.steps, run.calls
    if not 0 < calls.n_functions < MANY_FUNCTIONS or not _is_mostly_calls(run) or has_tiny_batch(run):
        return
    python = _part(run, _own_ms(run) - _running_ms(run))
    yield advise(
        "step_overhead",
        f"Python around a step and calling its function take {python}, the same for any step: its "
        f"{run.work.n_ops:,.0f} ops compute for {number(_op_ms(run))} ms.",
        evidence=python.evidence
        | {"function_ms": float(np.median(calls.function_ms)), "op_ms": _op_ms(run), "ops_per_step": run.work.n_ops},
        fix=fewer_calls(run),
        selection=steps.usual(steps.time_ms, view="timeline"),
        gain_ratio=python.ratio,
    )


def has_tiny_batch(run: Run) -> bool:
    """Whether a batch is known to hold a few samples."""
    return (batch_size_of(run.facts, 0) or FEW_SAMPLES + 1) <= FEW_SAMPLES


def _is_mostly_calls(run: Run) -> bool:
    """Whether on a machine without a device running the ops of a step is the smaller part of it, and no other rule owns Python's
    time."""
    steps = run.steps
    if len(steps) < MIN_STEPS or steps.has_device or not run.work.is_told or run.gap.is_long:
        return False
    if run.eager.calls_per_step >= MIN_CALLS or (run.wait.sets_the_pace and works_ahead(run)):
        return False
    own_ms = steps.time_ms - _owned_ms(run)
    least_ms = _running_ms(run) + FIXED * usual_step(steps.time_ms, _owned_ms(run)).step_ms
    # Of a busy machine the quick steps tell: in others, ops and Python alike wait to run.
    is_little = _running_ms(run) <= FIXED * float(np.quantile(own_ms, QUICK))
    outside_ms = float(np.median(_outside_ms(run)))
    return is_little and _own_ms(run) >= least_ms and outside_ms >= OUTSIDE * _own_ms(run)


def _part(run: Run, ms: float) -> StepPart:
    """So much of Python in a usual step, which no stall lengthens."""
    return StepPart("python", ms, usual_step(run.steps.time_ms, _owned_ms(run)).step_ms)


def _own_ms(run: Run) -> float:
    """Of a usual step what is neither waiting for data, tracing, compiling nor converting."""
    return float(np.median(run.steps.time_ms - _owned_ms(run)))


def _outside_ms(run: Run) -> Float64:
    """Of each step what of that lies outside of the graphs of functions, and of long stretches of Python without any op; of a
    step with a device no more than that waits for Python."""
    outside = run.steps.time_ms - _owned_ms(run) - run.calls.function_ms
    if run.steps.has_device:
        outside = np.minimum(outside, run.steps.wait_ms("dispatch") + run.steps.wait_ms("sync"))
    return np.maximum(outside - (run.gap.ms if run.gap.is_long else 0.0), 0.0)


def _owned_ms(run: Run) -> Float64:
    steps = run.steps
    traced = np.maximum(run.traced.cost_ms, steps.category_ms("compile"))
    owned: Float64 = steps.category_ms("input") + traced + run.calls.converted_ms
    return owned


def _op_ms(run: Run) -> float:
    """What the ops of a usual step take."""
    return float(run.work.ms[run.work.is_model | run.work.is_optimizer].sum())


def _running_ms(run: Run) -> float:
    """What running the ops of a usual step takes: each at least what the runtime needs for any."""
    work = run.work
    counted = work.is_model | work.is_optimizer
    return float((np.maximum(work.median_ms, OP_OVERHEAD_MS) * work.per_step)[counted].sum())


def _line_in(run: Run, events: Int64) -> CodeLine | None:
    """The user's line in some events."""
    trace = run.trace
    pieces = pd.DataFrame({"start_ps": trace.start_ps[events], "duration_ps": trace.duration_ps[events]})
    return top_line(trace, run.results.source_map, pieces)


def _told(line: CodeLine | None) -> dict[str, float | str]:
    return {"line": line.place, "function": line.function, "code": line.code} if line else {}
