"""How Python code became graphs -> advice on functions traced again and again, on eager loops and on compilation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.wording import amount, number, percent, plural
from ..steps.averaged_steps import MIN_STEPS
from .advice import MEDIUM_GAIN, Advice, Highlight, advise, ns_range, step_highlight
from .code_places import noted_place
from .code_text import named, remark
from .python_gaps import top_line
from .step_facts import StepPart, usual_step

if TYPE_CHECKING:
    from .run import Run

MIN_TRACES = 3
"""A function is traced once, and once more for a last, smaller batch; what comes after that is once too often."""


def retracing(run: Run) -> Iterator[Advice]:
    """A `tf.function` is traced again and again.

    Gain: what its tracing calls took but the running of the graphs, of the step time; once traced for all, they only run.
    """
    steps, traced = run.steps, run.traced
    functions = Counter(traced.function)
    if not functions or not steps.mean_ms or max(functions.values()) < MIN_TRACES:
        return
    name, n = functions.most_common(1)[0]
    tracing = steps.part("tracing", float(traced.cost_ms.mean()))
    if tracing.ratio < MEDIUM_GAIN:
        return
    table = run.results.tf_functions
    total = int(table.loc[table["function"] == name, "tracing_count"].max())
    place = noted_place(run.results.source_map, "functions", "function", name)
    at = steps.typical(np.where(traced.cost_ms > 0, traced.cost_ms, np.inf)) if (traced.cost_ms > 0).any() else 0
    at = at if traced.cost_ms[at] > 0 else int(traced.cost_ms.argmax())
    first = next(i for i in range(len(traced.event)) if traced.entry[i] == at)
    event = int(traced.event[first])
    yield advise(
        "retracing",
        f"{name}{f' ({place})' if place else ''} is traced again in {n} calls of {plural(len(steps), 'step')}: {tracing}.",
        evidence={
            **tracing.evidence,
            "n_traces": n,
            "n_traces_ever": total,
            "n_steps": len(steps),
            "function": name,
            **({"line": place} if place else {}),
        },
        fix=(
            remark(place) + "@tf.function(reduce_retracing=True)  # one graph for batches of any length\n"
            f"def {named(name, 'train_step')}(*args): ...\n"
            "# pass numbers that change as tensors: a Python number is traced anew for each value\n"
            f"{named(name, 'train_step')}(..., tf.constant(i))\n"
            "dataset = dataset.batch(batch_size, drop_remainder=True)  # every batch of one shape"
        ),
        selection=Highlight(
            op_names=(name,),
            time_range_ns=ns_range(int(run.trace.start_ps[event]), int(run.trace.end_ps[event])),
            step=int(steps.row[at]),
            view="timeline",
        ),
        gain_ratio=tracing.ratio,
    )


def eager_hot_loop(run: Run) -> Iterator[Advice]:
    """The steps run op by op from Python.

    Gain: of a usual step what is neither waiting for data, tracing nor the ops themselves; in a graph, calling an op costs a
    hundredth. The usual step has the median of its own time, not the mean, and what others own on average: a median set
    against a mean that few stalls lengthen would promise too little.
    """
    steps, eager = run.steps, run.eager
    if len(steps) < MIN_STEPS or not eager.is_hot:
        return
    usual = usual_step(steps.time_ms, steps.category_ms("input") + run.traced.cost_ms)
    python = StepPart("python", max(usual.own_ms - eager.op_ms, 0.0), usual.step_ms)
    if python.ratio < MEDIUM_GAIN:
        return
    line = top_line(run.trace, run.results.source_map, steps.pieces)
    in_fit = line is not None and (".fit(" in line.code or ".train_on_batch(" in line.code)
    name = "fit" if in_fit else named(line.function if line is not None else "", "train_step")
    where = f" of {name} ({line.place})" if line is not None else ""
    top = run.results.ops[run.results.ops["eager"]]["name"].head(5).tolist()
    yield advise(
        "eager_hot_loop",
        f"The steps{where} call {amount(eager.calls_per_step)} ops one by one from Python: "
        f"{python} are not spent in ops.",
        evidence={
            "eager_calls_per_step": eager.calls_per_step,
            "op_ms": eager.op_ms,
            "step_time_ms": usual.step_ms,
            "python_ratio": python.ratio,
            "eager_ratio": eager.share,
            **({"line": line.place, "function": line.function} if line is not None else {}),
        },
        fix=(remark(f"{line.place}: {line.code}") if line is not None else "")
        + (
            "model.compile(..., run_eagerly=False)\ntf.config.run_functions_eagerly(False)"
            if in_fit
            else f"@tf.function\ndef {name}(*args): ..."
        ),
        selection=steps.usual(steps.time_ms, view="op_table", op_names=run.known(*top)),
        gain_ratio=python.ratio,
    )


def compilation(run: Run) -> Iterator[Advice]:
    """Functions were traced or compiled during the capture, not again and again.

    Gain: the share of the averaged steps' time in it. What happens once, in a first step that averages leave out, costs a long
    training nothing: its gain is 0.
    """
    steps, all_steps = run.steps, run.results.steps.frame
    if not len(all_steps):
        return
    # What a function of the user's traces that some steps call, such as an evaluation, goes with that call.
    own = np.maximum(steps.category_ms("compile"), run.traced.cost_ms) if len(steps) else np.zeros(0)
    inside_ms = float(own[run.called_ms == 0].sum()) if len(steps) else 0.0
    once_ms = float(all_steps["compile_ms"].sum()) - (float(steps.category_ms("compile").sum()) if len(steps) else 0.0)
    gain = inside_ms / float(steps.time_ms.sum()) if len(steps) else 0.0
    share = (inside_ms + once_ms) / float(all_steps["step_time_ms"].sum())
    if share < MEDIUM_GAIN:
        return
    at = int(all_steps["compile_ms"].to_numpy().argmax())
    row = all_steps.iloc[at]
    n = int((all_steps["compile_ms"] > 0.01 * all_steps["step_time_ms"]).sum())
    yield advise(
        "compilation",
        f"Tracing and compiling take {number(float(row['compile_ms']))} of the {number(float(row['step_time_ms']))} ms of step "
        f"{at}, in {n} of {plural(len(all_steps), 'step')}: {percent(share)} of the time captured.",
        evidence={
            "compile_ms": inside_ms + once_ms,
            "compile_ratio": share,
            "n_compiling_steps": n,
            "step_time_ms": steps.median_ms,
        },
        fix=(
            "model.fit(dataset.take(2))  # trace and compile first\n"
            "with tfprof.profile() as prof:  # then capture what later steps take\n"
            "    model.fit(dataset)"
            if run.is_keras_loop
            else "for batch in dataset.take(2):\n"
            "    train_step(batch)  # trace and compile first\n"
            "with tfprof.profile() as prof:  # then capture what later steps take\n"
            "    for batch in tfprof.trace_steps(dataset):\n"
            "        train_step(batch)"
        ),
        selection=step_highlight(all_steps, at, view="step_chart"),
        gain_ratio=gain,
    )
