"""How Python code became graphs -> advice on functions traced again and again, on eager loops and on compilation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base.wording import amount, number, percent, plural
from ..steps.averaged_steps import MIN_STEPS
from ..steps.step_names import kinds_of
from .advice import MEDIUM_GAIN, Advice, Highlight, advise, ns_range, step_highlight
from .code_places import noted_place
from .code_text import named
from .fix import Fix
from .python_gaps import CodeLine, top_line
from .step_facts import StepPart, usual_step
from .trace_causes import TraceCause, trace_cause

if TYPE_CHECKING:
    from .run import Run

MIN_TRACES = 3
"""A function is traced once, and once more for a last, smaller batch; what comes after that is once too often."""
MIN_MADE = 2
"""A function of the same name that is another object, traced by steps of the same kind, was made for the second loop anew."""
PYTHON_STAYS = (
    "Python in it then runs while it is traced alone: what draws numbers with NumPy, counts, writes or needs values "
    "(float(), .numpy()) stays outside."
)
ONE_SHAPE = (
    "XLA compiles a program for each shape: pad to one, or to a few (padded_batch with padded_shapes). Of batches "
    "of unequal numbers of samples drop_remainder=True leaves the last, smaller one out."
)


def retracing(run: Run) -> Iterator[Advice]:
    """A `tf.function` is traced again and again.

    Gain: what its tracing calls took but the running of the graphs, of the step time; once traced for all, they only run. Where
    XLA compiles each graph, that goes with it.
    """
    run = run.with_compiling
    steps, traced = run.steps, run.traced
    functions = Counter(traced.function)
    if not functions or not steps.mean_ms or max(functions.values()) < MIN_TRACES:
        return
    name, n = functions.most_common(1)[0]
    tracing = steps.part("tracing", float(np.minimum(traced.cost_ms, steps.time_ms).mean()))
    if tracing.ratio < MEDIUM_GAIN:
        return
    table = run.results.tf_functions
    total = int(table.loc[table["function"] == name, "tracing_count"].max())
    place = noted_place(run.results.source_map, "functions", "function", name)
    cause = trace_cause(run, name, n)
    at = steps.typical(np.where(traced.cost_ms > 0, traced.cost_ms, np.inf)) if (traced.cost_ms > 0).any() else 0
    at = at if traced.cost_ms[at] > 0 else int(traced.cost_ms.argmax())
    first = next(i for i in range(len(traced.event)) if traced.entry[i] == at)
    event = int(traced.event[first])
    yield advise(
        "retracing",
        f"{name}{f' ({place})' if place else ''} is traced again in {n} calls of {plural(len(steps), 'step')}"
        f"{_because(cause)}: {tracing}{', with compiling by XLA' if run.compiles_functions else ''}{_counting(run)}.",
        evidence={
            **tracing.evidence,
            "n_traces": n,
            "n_traces_ever": total,
            "n_steps": len(steps),
            "function": name,
            **({"cause": cause.kind} if cause.kind else {}),
            **({"line": place} if place else {}),
        },
        fix=_one_graph(run, cause, named(name, "the function")),
        selection=Highlight(
            op_names=(name,),
            time_range_ns=ns_range(int(run.trace.start_ps[event]), int(run.trace.end_ps[event])),
            step=int(steps.row[at]),
            view="timeline",
        ),
        gain_ratio=tracing.ratio,
    )


def _counting(run: Run) -> str:
    """That the time of a step is not that of the averages, where it is not."""
    return ", the steps that compile included" if run.counts_compiling else ""


def _because(cause: TraceCause) -> str:
    if cause.kind == "shape":
        return f", as its tensors have other shapes ({', '.join(cause.shapes)}, ...)"
    if cause.kind == "value":
        return ", as another Python value or object is among its arguments; the shapes are the same"
    return ", as each is another function object, made anew" if cause.kind == "object" else ""


def _one_graph(run: Run, cause: TraceCause, name: str) -> Fix:
    """What makes the calls share a graph."""
    if cause.kind == "object":
        if run.is_keras_loop:
            return Fix(
                "Call compile once, before all calls of fit, evaluate and predict: another learning rate needs none "
                "(model.optimizer.learning_rate = rate), nor does another start (model.set_weights)."
            )
        return Fix(f"Make it once, before the loop: tf.function({name}), called in the loop, is traced anew each time.")
    if cause.kind == "value":
        return Fix(
            f"Pass what changes as a tensor, such as tf.constant(i): {name} is traced anew for each value of a Python number."
        )
    if run.compiles_functions:
        return Fix(ONE_SHAPE)
    relaxed = Fix(
        f"Have one graph for batches of any length, @tf.function(reduce_retracing=True) on {name}, or every batch of one "
        "shape (drop_remainder=True leaves the last, smaller one out)."
    )
    if cause.kind == "shape":
        return relaxed
    return relaxed.also("Pass numbers that change as tensors, such as tf.constant(i): a Python number is traced anew.")


def eager_hot_loop(run: Run) -> Iterator[Advice]:
    """The steps run op by op from Python.

    Where they call a function, too, `eager_ops` tells it.

    Gain: of a usual step what is neither waiting for data, tracing nor the ops themselves; in a graph, calling an op costs a
    hundredth. The usual step has the median of its own time, not the mean, and what others own on average: a median set
    against a mean that few stalls lengthen would promise too little.
    """
    steps, eager = run.steps, run.eager
    if len(steps) < MIN_STEPS or not eager.is_hot or (run.calls.n_functions and not steps.has_device):
        return
    usual = usual_step(steps.time_ms, steps.category_ms("input") + run.traced.cost_ms)
    python = StepPart("python", max(usual.own_ms - eager.op_ms, 0.0), usual.step_ms)
    if python.ratio < MEDIUM_GAIN:
        return
    line = top_line(run.trace, run.results.source_map, steps.pieces)
    in_fit = run.is_keras_loop or (line is not None and ".train_on_batch(" in line.code)
    has_function = bool((run.results.tf_functions["eager_calls"] > 0).any())
    where = f" of {line.function} ({line.place})" if line is not None else ""
    top = run.results.ops[run.results.ops["eager"]]["name"].head(5).tolist()
    yield advise(
        "eager_hot_loop",
        f"The steps{where} call {amount(eager.calls_per_step)} ops one by one from Python: of a usual step "
        f"({number(usual.step_ms)} ms, the median) {number(python.ms)} ms ({percent(python.ratio)}) are not spent in ops.",
        evidence={
            "eager_calls_per_step": eager.calls_per_step,
            "op_ms": eager.op_ms,
            "step_time_ms": usual.step_ms,
            "python_ratio": python.ratio,
            "eager_ratio": eager.share,
            **({"line": line.place, "function": line.function} if line is not None else {}),
        },
        fix=_as_graph(in_fit=in_fit, has_function=has_function, line=line),
        selection=steps.usual(steps.time_ms, view="op_table", op_names=run.known(*top)),
        gain_ratio=python.ratio,
    )


def _as_graph(*, in_fit: bool, has_function: bool, line: CodeLine | None) -> Fix:
    """What makes the steps a graph."""
    eagerly = "import tensorflow as tf\n\ntf.config.run_functions_eagerly(False)"
    if in_fit:
        return Fix(
            "Leave run_eagerly out of compile (run_eagerly=False), and run_functions_eagerly out of the program.",
            eagerly,
        )
    if has_function:
        return Fix(
            "Functions are run op by op, as somebody switched that on: the step is a tf.function already.", eagerly
        )
    return Fix(f"Put @tf.function on {line.where if line else 'the function of a step'}. {PYTHON_STAYS}")


def compilation(run: Run) -> Iterator[Advice]:
    """Functions were traced or compiled during the capture, not traced again and again.

    Gain: the share of the averaged steps' time in it. What happens once, in a first step that averages leave out, costs a long
    training nothing: its gain is 0; what is made anew for each of several loops is counted but for its first time.
    """
    steps, all_steps = run.steps, run.results.steps.frame
    if not len(all_steps):
        return
    inside_ms, within_ms = _own_ms(run.with_compiling)
    once_ms = float(all_steps["compile_ms"].sum()) - within_ms
    gain = _own_ms(run)[0] / float(steps.time_ms.sum()) if len(steps) else 0.0
    share = (inside_ms + once_ms) / float(all_steps["step_time_ms"].sum())
    if share < MEDIUM_GAIN:
        return
    at = int(all_steps["compile_ms"].to_numpy().argmax())
    is_compiling = all_steps["compile_ms"] > 0.01 * all_steps["step_time_ms"]
    told = _compiled_again(run.with_compiling) or _made_anew(run) or _compiled_once(run, at, gain)
    yield advise(
        "compilation",
        told.title,
        evidence={
            "compile_ms": inside_ms + once_ms,
            "compile_ratio": share,
            "n_compiling_steps": int(is_compiling.sum()),
            "step_time_ms": steps.median_ms,
        },
        fix=told.fix,
        selection=step_highlight(all_steps, at, view="step_chart"),
        gain_ratio=told.gain_ratio,
    )


def _own_ms(run: Run) -> tuple[float, float]:
    """How long the steps trace and compile themselves, and with the functions of the user's that some call: what an evaluation
    traces goes with its call."""
    if not len(run.steps):
        return 0.0, 0.0
    compile_ms = run.steps.category_ms("compile")
    return float(np.maximum(compile_ms, run.traced.cost_ms)[run.called_ms == 0].sum()), float(compile_ms.sum())


@dataclass(frozen=True)
class _Compiling:
    """What advice on compiling says of one cause."""

    title: str
    fix: Fix
    gain_ratio: float


def _compiled_again(run: Run) -> _Compiling | None:
    """XLA compiles in many steps, and still does in the later half of them."""
    steps = run.steps
    again = np.flatnonzero(steps.category_ms("compile") > 0.01 * steps.time_ms)
    if not run.compiles_functions or len(again) < MIN_TRACES or len(run.traced.event) or again[-1] < len(steps) / 2:
        return None
    part = steps.part("compile", _own_ms(run)[0] / len(steps))
    return _Compiling(
        f"XLA compiles again in {len(again)} of {plural(len(steps), 'step')}, as it does for tensors of other shapes: "
        f"{part}{_counting(run)}.",
        Fix(ONE_SHAPE),
        part.ratio,
    )


def _made_anew(run: Run) -> _Compiling | None:
    """A function is made anew for each of several loops or fits, whose first steps trace it. The first time is no waste."""
    frame, table = run.results.steps.frame, run.results.tf_functions
    frame = frame[np.isin(kinds_of(frame["name"]), kinds_of(run.steps.frame["name"]))]
    is_first = (frame["compile_ms"] > 0.1 * frame["step_time_ms"]).to_numpy()
    anew = table[(table["traced_calls"] >= MIN_MADE) & (table["traced_calls"] > table["tracing_count"])]
    if is_first.sum() < MIN_MADE or anew.empty or not len(run.steps):
        return None
    name = str(anew["function"].iloc[int(anew["traced_calls"].to_numpy().argmax())])
    time_ms = frame["step_time_ms"].to_numpy(np.float64)
    first_ms, *later_ms = (time_ms[is_first] - run.steps.median_ms).tolist()
    again_ms = float(sum(later_ms))
    place = noted_place(run.results.source_map, "functions", "function", name)
    part = StepPart("tracing", again_ms, float(time_ms.sum()) - first_ms)
    return _Compiling(
        f"{name}{f' ({place})' if place else ''} is made anew {int(is_first.sum())} times, and traced in the first step of each "
        f"loop: without the first time {number(again_ms)} of the {number(part.step_ms)} ms of all steps ({percent(part.ratio)}).",
        _one_graph(run, TraceCause("object"), named(name, "the function")),
        part.ratio,
    )


def _compiled_once(run: Run, at: int, gain: float) -> _Compiling:
    """Most of it is over after the first steps."""
    frame = run.results.steps.frame
    share = float(frame["compile_ms"].sum()) / float(frame["step_time_ms"].sum())
    row, n_steps = frame.iloc[at], int((frame["compile_ms"] > 0.01 * frame["step_time_ms"]).sum())
    return _Compiling(
        f"Tracing and compiling take {number(float(row['compile_ms']))} of the {number(float(row['step_time_ms']))} ms of "
        f"step {at}, in {n_steps} of {plural(len(frame), 'step')}: {percent(share)} of the time of all steps.",
        Fix(
            "Run two steps before the capture begins: it then holds what later steps take, and no tracing or compiling."
        ),
        gain if len(run.steps) >= MIN_STEPS else 0.0,  # of fewer nobody can tell whether the next ones do so, too
    )
