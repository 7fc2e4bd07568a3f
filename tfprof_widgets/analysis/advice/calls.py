"""Rules on Python that calls ops and functions: eager loops, many calls, functions traced again, compilation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from ...trace.source_map import SourceMap, parse_shapes
from ..card import (
    CALLED,
    COMPILING,
    GENERAL,
    HOST,
    MEDIUM_GAIN,
    Advice,
    Claim,
    Fix,
    Highlight,
    ShareOf,
    Spans,
    behind,
    is_of_model,
    named,
    noted_place,
    ns_range,
    only_call,
    rule,
    step_highlight,
)
from ..common import amount, number, percent, plural, size
from ..events import nearest_marked
from ..names import by_ends
from ..steps.spans import MIN_STEPS, kinds_of
from .facts import KERAS_STEPS, CodeLine, StepPart, code_line
from .python_work import CALL_MS, MIN_CALLS, ONE_BATCH, entry_at, top_line
from .run import Run

if TYPE_CHECKING:
    from ...trace.arrays import Float64, Int64


MOST_SHAPES = 3
"""So many are named."""


@dataclass(frozen=True)
class TraceCause:
    """Why one call needs another graph than the one before."""

    kind: Literal["shape", "value", "object", ""]
    """Other shapes of its tensors, another value of what is no tensor, another function object, or "" where nobody can tell."""
    shapes: tuple[str, ...] = ()
    """Of one tensor, those that it has in the graphs: `64x32`."""


def trace_cause(run: Run, function: str, n_traces: int) -> TraceCause:
    """Why a call needs another graph than the one before, of its inputs."""
    table = run.results.tf_functions
    # TensorFlow counts the traces of each object by itself.
    if int(table.loc[table["function"] == function, "tracing_count"].max()) < n_traces:
        return TraceCause("object")
    graphs = np.flatnonzero((run.source_map.functions["graph"] == function).to_numpy())
    if len(graphs) < 2:
        return TraceCause("")
    shapes = _other_shapes(run.source_map, graphs)
    return TraceCause("shape", shapes) if shapes else TraceCause("value")


def _other_shapes(source_map: SourceMap, graphs: np.ndarray) -> tuple[str, ...]:
    """The shapes of the first input that differs from graph to graph, of those that have the op; empty where none does."""
    details = source_map.details
    ops = source_map.ops.iloc[details["op"].to_numpy()].reset_index(drop=True)
    told = ops.assign(shapes=details["input_shapes"].to_numpy())[["graph", "op", "shapes"]]
    told = told[told["graph"].isin(graphs) & (told["shapes"] != "")]
    varied = told.groupby("op", sort=False)["shapes"].unique()
    for found in varied[varied.map(len) > 1]:  # the first that differs in a dimension
        slots = zip(*(text.split(";") for text in found), strict=False)
        for slot in slots:
            if len(distinct := dict.fromkeys(slot)) > 1 and all(shape for shape in parse_shapes(";".join(distinct))):
                return tuple(distinct)[:MOST_SHAPES]
    return ()


MIN_TRACES = 3
"""A function is traced once, and once more for a last, smaller batch; what comes after that is once too often."""
MIN_MADE = 2
"""A function of the same name that is another object, traced by steps of the same kind, was made for the second loop anew."""
_COUNTING = ", the steps that compile included"
PYTHON_STAYS = (
    "Python in it then runs while it is traced alone: what draws numbers with NumPy, counts, writes or needs values "
    "(float(), .numpy()) stays outside."
)
ONE_SHAPE = (
    "XLA compiles a program for each shape: pad to one, or to a few (padded_batch with padded_shapes). Of batches "
    "of unequal numbers of samples drop_remainder=True leaves the last, smaller one out."
)


@rule("Stop tf.function from tracing again", claims=COMPILING, explains=("compilation", "small_batch"))
def retracing(run: Run) -> Iterator[Advice]:
    """A `tf.function` is traced again and again; gain: what its tracing calls took but running the graphs, of the step time."""
    run = run.with_compiling
    steps, traced = run.steps, run.traced
    functions = Counter(traced.function)
    if not functions or not steps.mean_ms or max(functions.values()) < MIN_TRACES:
        return
    name, n = functions.most_common(1)[0]
    tracing = steps.part("tracing", float(traced.cost_ms.mean()))
    if tracing.ratio < MEDIUM_GAIN:
        return
    place = noted_place(run.source_map, "functions", "function", name)
    cause = trace_cause(run, name, n)
    at = steps.typical(np.where(traced.cost_ms > 0, traced.cost_ms, np.inf)) if (traced.cost_ms > 0).any() else 0
    at = at if traced.cost_ms[at] > 0 else int(traced.cost_ms.argmax())
    first = next(i for i in range(len(traced.event)) if traced.entry[i] == at)
    event = int(traced.event[first])
    yield run.advise(
        f"{name}{behind(place)} is traced again in {n} calls of {plural(len(steps), 'step')}"
        f"{_because(cause)}: {tracing}{', with compiling by XLA' * run.compiles_functions}{_COUNTING * run.counts_compiling}.",
        tracing,
        _one_graph(run, cause, named(name, "the function")),
        Highlight(
            op_names=(name,),
            time_range_ns=ns_range(int(run.trace.start_ps[event]), int(run.trace.end_ps[event])),
            step=int(steps.row[at]),
            view="timeline",
        ),
        claim=Claim(spans=run.when(traced.event)),
        function=name,
        line=place,
    )


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
            call = only_call(run.source_map, "compile", is_of_model)
            return Fix(
                f"Call compile{behind(call.place if call else '')} once, before all calls of fit, evaluate and predict: another "
                "learning rate needs none (model.optimizer.learning_rate = rate), nor does another start (model.set_weights)."
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


@rule(
    "Put the step into a tf.function",
    claims=HOST,
    explains=("few_blocks", "idle_border", "launch_bound", "small_batch"),
    least=MEDIUM_GAIN,
)
def eager_hot_loop(run: Run) -> Iterator[Advice]:
    """The steps run op by op from Python; gain: what lies outside of the ops, but for waiting and tracing."""
    steps, eager = run.steps, run.eager
    if len(steps) < MIN_STEPS or not eager.is_hot or (run.calls.n_functions and not steps.has_device):
        return
    python, claim = run.free("python", "eager_hot_loop", run.ran(CALL_MS), is_outside=True)
    line = top_line(run, steps.pieces)
    in_fit = run.is_keras_loop or (line is not None and ".train_on_batch(" in line.code)
    has_function = bool((run.results.tf_functions["eager_calls"] > 0).any())
    where = f" of {line.function} ({line.place})" if line is not None else ""
    top = run.results.ops[run.results.ops["eager"]]["name"].head(5).tolist()
    given = only_call(run.source_map, "compile", lambda call: any(one.arg == "run_eagerly" for one in call.keywords))
    yield run.advise(
        f"The steps{where} call {amount(eager.calls_per_step)} ops one by one from Python: {python} are not "
        "spent in ops.",
        python,
        _as_graph(in_fit=in_fit, has_function=has_function, line=line, given=given.place if given else ""),
        view="op_table",
        ops=run.known(*top),
        claim=claim,
        op_ms=eager.op_ms,
        **(line.evidence if line else {}),
    )


def _as_graph(*, in_fit: bool, has_function: bool, line: CodeLine | None, given: str) -> Fix:
    """What makes the steps a graph."""
    eagerly = "import tensorflow as tf\n\ntf.config.run_functions_eagerly(False)"
    if in_fit:
        return Fix(
            f"Leave run_eagerly{behind(given)} out of compile, and run_functions_eagerly out of the program.",
            eagerly,
        )
    if has_function:
        return Fix(
            "Functions are run op by op, as somebody switched that on: the step is a tf.function already.", eagerly
        )
    return Fix(f"Put @tf.function on {line.where if line else 'the function of a step'}. {PYTHON_STAYS}")


@rule(
    "Set up no loop for a single batch",
    claims=("input", *CALLED),
    explains=("compilation", "host_callback", "idle_border", "input_bound", "small_batch"),
    least=MEDIUM_GAIN,
    scope="program",
)
def single_batches(run: Run) -> Iterator[Advice]:
    """A step of the user's calls fit, predict or evaluate for a batch; gain: what these do before that batch and after it."""
    steps, found = run.steps, _set_ups(run)
    if found is None:
        return
    spans, lines = found
    part, claim = run.free("set_up", "single_batches", spans)
    n_calls = len(spans.step) / 2 / len(steps)
    times, first = (" ", "first") if round(n_calls, 1) <= 1 else (f" {amount(n_calls)} times ", "each time")
    where = f" ({', '.join(lines)})" if lines else ""
    yield run.advise(
        f"Steps call fit, predict or evaluate{times}for a single batch, which sets up a pipeline and a loop {first}: {part}.",
        part,
        Fix(
            f"For a single batch call train_on_batch, predict_on_batch or test_on_batch{where}, or the model itself in a "
            "tf.function, as model(x, training=False): these set up nothing."
        ),
        claim=claim,
        n_calls=n_calls,
    )


_FEW_BATCHES = 2
"""A call of so many on average runs hardly longer than it takes to set up."""
_MOST_LINES = 3


def _set_ups(run: Run) -> tuple[Spans, list[str]] | None:
    """What calls of Keras within steps do before their first batch and after their last, and where they are; None where calls
    are few, or have many batches."""
    steps, trace, calls = run.steps, run.trace, run.source_map.calls.sort_values("begin_ns", kind="stable")
    begin, end = ((calls[name].to_numpy(np.int64) - trace.origin_ns) * 1000 for name in ("begin_ns", "end_ns"))
    is_run = by_ends(trace, lambda name, *_: _RUNS.fullmatch(name) is not None)[trace.name_id] & (run.entry >= 0)
    runs = np.flatnonzero(is_run)
    parent = trace.nesting.parent
    runs = runs[np.append(nearest_marked(parent, is_run), -1)[parent[runs]] < 0]
    if not len(begin) or not len(runs) or len(steps) < MIN_STEPS or run.in_keras_calls:
        return None
    at = np.searchsorted(begin, trace.start_ps[runs], side="right") - 1  # of nested calls the inner one
    own = (at >= 0) & (trace.ends(runs) <= end[at])
    at, runs = at[own], runs[own]
    n_runs = np.bincount(at, minlength=len(begin))
    first, last = np.full(len(begin), np.iinfo(np.int64).max), np.zeros(len(begin), np.int64)
    np.minimum.at(first, at, trace.start_ps[runs])
    np.maximum.at(last, at, trace.ends(runs))
    entry = entry_at(steps, begin)
    chosen = np.flatnonzero((n_runs > 0) & (entry >= 0) & (entry_at(steps, end - 1) == entry))
    if len(np.unique(entry[chosen])) <= len(steps) / 2 or n_runs[chosen].mean() > _FEW_BATCHES:
        return None
    entry = entry[chosen]
    spans = steps.spans(
        np.tile(entry, 2), np.append(begin[chosen], last[chosen]), np.append(first[chosen], end[chosen])
    )
    frames = run.source_map.frames.iloc[calls["frame"].to_numpy()[chosen]][["file", "line"]].value_counts()
    lines = [code_line(run.source_map, file, line, 0.0).place for file, line in frames.index[:_MOST_LINES]]
    return spans, lines


_RUNS = re.compile(rf"\w*(?:{'|'.join(KERAS_STEPS)})\w*")
"""Calls of the functions in which Keras runs a batch, or several."""


@rule("Trace and compile less", level=GENERAL, claims=COMPILING, explains=("small_batch",), least=MEDIUM_GAIN)
def compilation(run: Run) -> Iterator[Advice]:
    """Functions are traced or compiled in many steps, or made anew for each loop; gain: its share of these. Of what happens once
    a long training loses nothing."""
    frame = run.results.steps.frame
    told = _made_anew(run) or _again(run.with_compiling) if len(run.steps) >= MIN_STEPS else None
    if told is None:
        return
    title, fix, gain, share_of = told
    said = run.advise(
        title,
        None,
        fix,
        step_highlight(frame, int(frame["compile_ms"].to_numpy().argmax()), view="step_chart"),
        gain=gain,
        compile_ms=float(frame["compile_ms"].sum()),
    )
    yield replace(said, share_of=share_of)


def _again(run: Run) -> tuple[str, Fix, float, ShareOf] | None:
    """XLA compiles in many steps, and still does in the later half of them; or most of the later ones trace or compile, which no
    run before the capture spares them."""
    steps = run.steps
    again = np.flatnonzero(steps.category_ms("compile") > 0.01 * steps.time_ms)
    n_later = np.count_nonzero(again >= len(steps) / 2)
    of_xla = run.compiles_functions and len(again) >= MIN_TRACES and n_later and not len(run.traced.event)
    # What functions of the user's trace that some steps call is theirs.
    part = steps.part("compile", float(np.where(run.called_ms == 0, steps.category_ms("compile"), 0.0).mean()))
    if not of_xla and (n_later <= len(steps) / 4 or part.ratio < MEDIUM_GAIN):
        return None
    told, fix = f"{len(again)} of {plural(len(steps), 'step')}", _NOTHING_ANEW
    if of_xla:
        told, fix = f"XLA compiles again in {told}, as it does for tensors of other shapes", Fix(ONE_SHAPE)
    elif run.is_called_for_each_step:
        told = f"{told} trace or compile anew, as Keras makes a pipeline in most"
        fix = Fix(f"predict or evaluate is called for each batch, by a callback or the loop. {ONE_BATCH}")
    else:
        told = f"{told} trace or compile anew"
    return f"{told}: {part}{_COUNTING * run.counts_compiling}.", fix, part.ratio, "step"


_NOTHING_ANEW = Fix(
    "Something in each step makes a graph anew: make functions, datasets and models once, before the loop, and pass "
    "what changes as tensors of one shape."
)


def _made_anew(run: Run) -> tuple[str, Fix, float, ShareOf] | None:
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
    place = noted_place(run.source_map, "functions", "function", name)
    part = StepPart("tracing", again_ms, float(time_ms.sum()) - first_ms)
    return (
        f"{name}{behind(place)} is made anew {int(is_first.sum())} times, and traced in the first step of each "
        f"loop: without the first time {number(again_ms)} of the {number(part.step_ms)} ms of all steps ({percent(part.ratio)}).",
        _one_graph(run, TraceCause("object"), named(name, "the function")),
        part.ratio,
        "all steps",
    )


OUTSIDE = 0.15
"""Of a step at least so much lies outside of graphs where fewer calls of them are worth a word."""


@rule(
    "Make tensors of arrays once",
    claims=("dispatch", "copy_to_device", "host_compute"),
    explains=("small_batch",),
)
def argument_conversion(run: Run) -> Iterator[Advice]:
    """Large NumPy arrays are copied into tensors in each step; gain: the share of the step time in which Python does it."""
    steps, calls = run.steps, run.calls
    if len(steps) < MIN_STEPS or float(np.median(calls.converted_ms)) < MEDIUM_GAIN * steps.median_ms:
        return
    is_eager = run.eager.is_hot and not calls.n_functions
    if is_eager or np.median(run.traced.cost_ms) > 0:  # arguments of ops one by one, and constants of a graph
        return
    part = steps.part("conversion", float(np.minimum(calls.converted_ms, steps.time_ms).mean()))
    line = _line_in(run, calls.conversions)
    yield run.advise(
        f"Copying {f'{size(calls.converted_bytes)} a step from ' if calls.converted_bytes else ''}arrays of Python or NumPy "
        "into tensors"
        f"{behind(line.place if line else '')} takes {part}.",
        part,
        Fix(
            "Make a tensor of an array that stays the same once, before the loop: tf.constant(array). Of batches "
            "that change, a pipeline (tf.data.Dataset.from_tensor_slices, with .prefetch) makes tensors ahead of "
            "the training."
        ),
        by=calls.converted_ms,
        view="source_view" if line else "timeline",
        claim=Claim(spans=run.when(calls.conversions)),
        **(line.evidence if line else {}),
    )


@rule(
    "Call these ops in a tf.function",
    level=GENERAL,
    claims=("dispatch", "kernel_launch", "host_compute"),
    explains=("small_batch",),
    least=MEDIUM_GAIN,
)
def eager_ops(run: Run) -> Iterator[Advice]:
    """Beside a function, the steps call ops one by one; gain: what lies outside of the function's graph, these ops and long
    stretches of Python without any, but for waiting and tracing."""
    steps, eager, calls = run.steps, run.eager, run.calls
    if len(steps) < MIN_STEPS or run.is_keras_loop or (eager.is_hot and steps.has_device):
        return
    if not calls.n_functions or calls.n_ops < MIN_CALLS:
        return
    spans = run.ran(CALL_MS).and_also(run.when(calls.runs))
    spans = spans.and_also(run.gap.spans(steps)) if run.gap.is_long else spans
    python, claim = run.free("python", "eager_ops", spans, is_outside=True)
    line = _line_in(run, calls.ops)
    yield run.advise(
        f"Beside its function a step{behind(line.place if line else '')} calls {amount(calls.n_ops)} ops one by one from "
        f"Python: {python} are Python and calling them.",
        python,
        Fix(f"Call them in a tf.function, metrics too: the step's, or one of their own. {PYTHON_STAYS}"),
        view="source_view" if line else "timeline",
        claim=claim,
        op_ms=eager.op_ms,
        **(line.evidence if line else {}),
    )


def of_batches(run: Run) -> str:
    """What a step is, where a call takes several batches."""
    n_batches = int(np.median(run.steps.frame["n_batches"]))
    return f" of {n_batches:,} batches" if n_batches > 1 else ""


def outside_ms(run: Run) -> Float64:
    """Of each step what of that lies outside of graphs and of long stretches of Python without any op; with a device no more than
    that waits for Python."""
    outside = run.steps.time_ms - _owned_ms(run) - run.calls.function_ms
    if run.steps.has_device:
        outside = np.minimum(outside, run.steps.category_ms("dispatch") + run.steps.category_ms("sync"))
    return np.maximum(outside - (run.gap.ms if run.gap.is_long else 0.0), 0.0)


def _owned_ms(run: Run) -> Float64:
    steps = run.steps
    owned: Float64 = sum(map(steps.category_ms, ("input", "copy_to_device", "compile")), run.calls.converted_ms)
    return owned


def _line_in(run: Run, events: Int64) -> CodeLine | None:
    trace = run.trace
    pieces = pd.DataFrame({"start_ps": trace.start_ps[events], "duration_ps": trace.duration_ps[events]})
    return top_line(run, pieces)
