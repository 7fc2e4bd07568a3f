"""Advice on what the host does, on drawn steps of the CPU: one planted cause each, and what is not worth a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.builders import EPOCH_NS, Event, event, line, plane, session, trace
from tfprof_widgets.analysis import Advice, Analysis
from tfprof_widgets.trace import SourceMap, empty_source_map

STEP_US = 100_000
HOOK = "def on_train_batch_end(self, batch, logs=None):"
TEXT = f"model.fit(dataset)\n{HOOK}\n    draw(batch)\n"


def run(
    *parts: tuple[str, float, float],
    n_steps: int = 10,
    kind: str = "train",
    step_us: float = STEP_US,
    only: Callable[[int], bool] = lambda _: True,
    extra: Sequence[tuple[str, float, float]] = (),
    longer: float = 0,
    stats: dict[str, dict[str, Any]] | None = None,
    source_map: SourceMap | None = None,
) -> Analysis:
    """Marked steps of a thread, each with the same parts; those that `only` picks have `extra` and are `longer` (us)."""
    events: list[Event] = []
    at = 0.0
    for i in range(n_steps):
        us = step_us + (longer if only(i) else 0)
        events.append(event(kind, at, us, _r=1, step_num=i))
        for name, start, duration in (*parts, *(extra if only(i) else ())):
            events.append(event(name, at + start, duration, stats=(stats or {}).get(name, {})))
        at += us
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=at)), source_map)


def rules(results: Analysis) -> list[str]:
    return [one.rule for one in results.advice]


def only(results: Analysis) -> Advice:
    (advice,) = results.advice
    return advice


def sampled(
    *moments_us: tuple[float, int],
    text: str = TEXT,
    function: str = "on_train_batch_end",
    caller: str = "",
    with_other: bool = False,
) -> SourceMap:
    """A map in which the user's thread was seen at lines of one file: `(time, line)`; with `caller` the caller of each, and with
    another thread that was seen each time at the first of these lines."""
    empty = empty_source_map()
    lines = sorted({at_line for _, at_line in moments_us})
    callers = [{"parent": -1, "file": 0, "line": 100, "function": caller}] if caller else []
    first = len(callers)
    frames = [*callers, *({"parent": first - 1, "file": 0, "line": one, "function": function} for one in lines)]
    samples = [{"time_ns": EPOCH_NS + round(us * 1e3), "frame": first + lines.index(one)} for us, one in moments_us]
    samples = [one | {"other": first if with_other else -1} for one in samples]
    files = [{"file": "/home/me/train.py", "title": "train.py", "is_user": True, "text": text}]
    return SourceMap(
        ops=empty.ops,
        frames=type(empty.frames)(frames),
        files=type(empty.files)(files),
        layers=empty.layers,
        functions=empty.functions,
        samples=type(empty.samples)(samples),
        facts=empty.facts,
    )


WORK = ("net/dense/MatMul:MatMul", 1_000, 95_000)


def test_a_trace_without_events_or_without_steps_gets_no_advice() -> None:
    assert Analysis(trace(session())).advice == ()
    assert Analysis(trace(plane("/host:CPU", line("main", event("x:MatMul", 0, 5))))).advice == ()


def test_steps_that_compute_get_no_advice() -> None:
    assert run(WORK).advice == ()


CALLS = {"train_step": {"tf_function_call": "notTraced-nonXla", "tracing_count": 1}}
KERAS = ("EagerLocalExecute: __inference_multi_step_on_iterator_12", 0, 60_000)
LONG_OP = ("net/dense/MatMul:MatMul", 0, 60_000)


def test_python_of_a_loop_of_one_s_own_is_not_between_batches_and_no_hook() -> None:
    advice = only(run(LONG_OP))
    assert advice.title == "No op runs for 40.0 of 100 ms a step (40 %): Python, or waiting."
    assert "callback" not in str(advice.fix)


def test_functions_that_a_tracer_of_python_saw_compute_nothing_and_are_named() -> None:
    """JAX has it on."""
    inner = [
        ("$train.py:9 read", 60_500, 38_000),
        ("$arrays.py:4 sort", 61_000, 36_000),
        ("$numpy sort", 61_100, 35_000),
    ]
    results = run(LONG_OP, ("$train.py:7 load", 60_000, 39_000), *inner)
    assert only(results).title == "Python in read (train.py:9) takes 40.0 of 100 ms a step (40 %), while no op runs."
    results = run(LONG_OP, ("$train.py:7 load", 60_000, 9_000), ("$numpy sort", 70_000, 30_000))
    assert only(results).title == "No op runs for 40.0 of 100 ms a step (40 %): Python, or waiting."


@pytest.mark.parametrize(("code", "waits"), [("x = ready.get()", True), ("x = settings.get('x')", False)])
def test_a_line_that_waits_for_another_thread_is_told_as_such(code: str, waits: bool) -> None:
    text = (
        f"threading.Thread(target=load, daemon=True).start()\ndef batches():\n    {code}\nfor x in batches(): step(x)\n"
    )
    moments = [(i * STEP_US + at, 4 if at < 60_000 else 3) for i in range(10) for at in (20_000, 70_000, 90_000)]
    advice = only(run(LONG_OP, source_map=sampled(*moments, text=text, function="batches")))
    told = "waits 40.0 of 100 ms a step (40 %) for what another thread or process makes, while no op runs."
    assert (told in advice.title, "too slowly from load." in advice.fix.words) == (waits, waits)
    assert advice.gain_ratio == pytest.approx(0.4 if waits else 0.2)


def test_python_outside_of_the_calls_of_a_function_is_told_as_such() -> None:
    advice = only(run(("train_step", 0, 60_000), ("EagerExecute", 500, 59_000), LONG_OP, stats=CALLS))
    assert (
        advice.title
        == "No op runs for 40.0 of 100 ms a step (40 %) outside of its calls of train_step: Python, or waiting."
    )


def test_a_line_that_runs_the_step_and_more_is_named_for_what_lies_outside_of_the_call() -> None:
    parts = [("train_step", 0, 60_000), ("EagerExecute", 500, 59_000), LONG_OP]
    moments = [(i * STEP_US + at, 1) for i in range(10) for at in (20_000, 70_000, 90_000)]
    seen = sampled(*moments, text="step(x).numpy(); time.sleep(0.04)\n", function="loop")
    advice = only(run(*parts, stats=CALLS, source_map=seen))
    assert advice.title == "Python in loop (train.py:1) takes 40.0 of 100 ms a step (40 %), while no op runs."


def test_python_between_batches_is_that_of_a_loop_of_keras() -> None:
    advice = only(run(KERAS, LONG_OP))
    assert advice.title == "Python between batches takes 40.0 of 100 ms a step (40 %), while no op runs."
    assert "callback" in str(advice.fix)


def test_where_no_line_of_the_user_s_runs_between_the_batches_of_keras_no_hook_of_theirs_is_blamed() -> None:
    """A callback of a library, or a thread that holds the interpreter's lock: the user's thread is always at `fit`."""
    moments = [(i * STEP_US + at, 1) for i in range(10) for at in (20_000, 70_000, 90_000)]
    advice = only(run(KERAS, LONG_OP, source_map=sampled(*moments)))
    assert advice.title.startswith("Between batches no op runs for 40.0 of 100 ms a step (40 %), at no line of yours: ")
    assert "callback" not in str(advice.fix)


IN_CALLS = tuple((i * STEP_US + at, 1) for i in range(10) for at in (20_000, 50_000, 80_000))


@pytest.mark.parametrize("is_sampled", [True, False])
def test_what_a_call_takes_before_its_first_op_is_no_time_between_batches(is_sampled: bool) -> None:
    """Of several hundred arguments, say, through which Python goes."""
    parts = [
        ("train_step", 1_000, 98_000),
        ("EagerExecute", 61_000, 37_000),
        ("net/dense/MatMul:MatMul", 61_500, 36_000),
    ]
    seen = sampled(*IN_CALLS)
    advice = only(run(*parts, stats=CALLS, source_map=seen if is_sampled else None))
    assert (advice.rule, advice.bound) == ("slow_call", "at most")
    assert advice.title == "Calling train_step takes 60.0 of 100 ms a step (60 %) before its first op runs."
    assert advice.gain_ratio == pytest.approx(0.6)
    assert "callback" not in str(advice.fix)


def test_python_of_another_thread_that_runs_meanwhile_is_named() -> None:
    parts = [("train_step", 1_000, 98_000), ("EagerExecute", 61_000, 37_000), ("net/Conv2D:Conv2D", 61_500, 36_000)]
    seen = sampled(*IN_CALLS, text="total += 1\n", function="count", with_other=True)
    advice = only(run(*parts, stats=CALLS, source_map=seen))
    assert (advice.rule, advice.gain_ratio) == ("other_thread", pytest.approx(0.64))
    assert "while another thread runs Python in count (train.py:1)" in advice.title
    waits = sampled(*IN_CALLS, text="item = queue.get()\n", function="loop", with_other=True)
    assert "other_thread" not in rules(run(LONG_OP, source_map=waits)), "the loop waits for what that thread makes"


def test_a_small_tensor_that_waits_for_the_lock_is_no_large_copy() -> None:
    """Where no allocator tells sizes, the time of a short one says nothing: another thread keeps the lock for 5 ms."""
    parts = [("tf.constant", 1_000, 9_000), ("EagerExecute", 9_800, 100), ("net/dense/MatMul:MatMul", 11_000, 85_000)]
    assert "argument_conversion" not in rules(run(*parts))


def test_python_between_computations_is_told_without_any_sample() -> None:
    advice = only(run(LONG_OP))
    assert (advice.rule, advice.selection.view) == ("host_callback", "timeline")
    assert advice.gain_ratio == pytest.approx(0.4)
    assert advice.evidence["gap_ms"] == pytest.approx(40)


def test_samples_name_the_line_of_the_callback() -> None:
    moments = [(i * STEP_US + at, 1 if at < 60_000 else 3) for i in range(10) for at in (20_000, 70_000, 90_000)]
    advice = only(run(("net/dense/MatMul:MatMul", 0, 60_000), source_map=sampled(*moments)))
    assert advice.evidence["line"] == "train.py:3"
    assert advice.evidence["code"] == "draw(batch)"
    assert "on_train_batch_end (train.py:3)" in advice.title
    assert "every hundredth batch instead of each" in advice.fix.words
    assert "(train.py:3: draw(batch))" in advice.fix.words
    assert advice.selection.view == "source_view"


def test_what_each_batch_needs_moves_to_a_thread_and_wins_no_more_than_that_can_hide() -> None:
    text = "for x in data: train(prepare(x))\n\ndef prepare(x):\n    return draw(x)\n"
    moments = [(i * STEP_US + at, 1 if at < 60_000 else 4) for i in range(10) for at in (20_000, 70_000, 90_000)]
    seen = sampled(*moments, text=text, function="prepare")
    advice = only(run(("net/dense/MatMul:MatMul", 0, 60_000), source_map=seen))
    assert (advice.rule, advice.bound) == ("host_callback", "about")
    assert advice.gain_ratio == pytest.approx(0.5 * 0.4)
    assert "let a map of tf.data do it" in advice.fix.words
    assert "hundredth" not in advice.fix.words


def test_a_line_of_the_program_is_quoted_and_never_code_of_a_fix() -> None:
    """A sidecar may hold any text for it."""
    moments = [(i * STEP_US + at, 1 if at < 60_000 else 2) for i in range(10) for at in (20_000, 70_000, 90_000)]
    source_map = sampled(*moments)
    source_map.files["text"] = "model.fit(dataset)\nos.system('rm -rf ~')\n"
    fix = only(run(("net/dense/MatMul:MatMul", 0, 60_000), source_map=source_map)).fix
    assert "os.system('rm -rf ~')" in fix.words
    assert fix.code == ""


@pytest.mark.parametrize(
    ("text", "caller"),
    [
        ("model.fit(dataset)\n\nx = 1\n", "on_train_batch_end"),  # the callers tell
        (f"model.fit(dataset)\n{HOOK}\n    self.images = [draw(i) for i in range(8)]\n", ""),  # the text does
        (f"%%tfprofile\n{HOOK}\n    [draw(i) for i in range(8)]\n", ""),
    ],
)
def test_a_comprehension_belongs_to_the_function_that_it_is_written_in(text: str, caller: str) -> None:
    moments = [(i * STEP_US + at, 1 if at < 60_000 else 3) for i in range(10) for at in (20_000, 70_000, 90_000)]
    source_map = sampled(*moments, text=text, function="<listcomp>", caller=caller)
    advice = only(run(("net/dense/MatMul:MatMul", 0, 60_000), source_map=source_map))
    assert advice.evidence["function"] == "on_train_batch_end"
    assert "on_train_batch_end (train.py:3)" in advice.title
    assert "<listcomp>" not in str(advice.fix)


def test_a_comprehension_outside_of_any_function_keeps_its_name() -> None:
    moments = [(i * STEP_US + at, 1 if at < 60_000 else 3) for i in range(10) for at in (20_000, 70_000, 90_000)]
    source_map = sampled(*moments, text="fit()\n\n[draw(i) for i in x]\n", function="<listcomp>")
    assert only(run(("net/dense/MatMul:MatMul", 0, 60_000), source_map=source_map)).evidence["function"] == "<listcomp>"


def test_a_callback_that_calls_ops_itself_takes_what_samples_say() -> None:
    """The op of the callback splits its 50 ms: 35 without any op, and 15 with one."""
    parts = [("net/dense/MatMul:MatMul", 0, 50_000), ("predict/MatMul:MatMul", 60_000, 15_000)]
    moments = [(i * STEP_US + at, 1 if at < 50_000 else 3) for i in range(10) for at in range(2_500, 100_000, 5_000)]
    advice = only(run(*parts, source_map=sampled(*moments)))
    assert advice.gain_ratio == pytest.approx(0.5, abs=0.01)
    assert advice.evidence["gap_ratio"] == pytest.approx(0.35, abs=0.01)
    assert "mostly while no op runs" in advice.title


def in_fit(seen: SourceMap, line: int = 1) -> SourceMap:
    """The same where `fit` is called at a line, and hooks call `predict` within it."""
    fit = next(iter(seen.frames.index[seen.frames["line"] == line]))
    functions = seen.frames["function"].where(seen.frames["line"] != line, "<module>")
    calls = [(EPOCH_NS, EPOCH_NS + 2_000_000_000, fit)]
    calls += [(EPOCH_NS + at * 100_000_000, EPOCH_NS + at * 100_000_000 + 80_000_000, 1 - fit) for at in range(10)]
    frame = pd.DataFrame(calls, columns=["begin_ns", "end_ns", "frame"])
    return replace(seen, frames=seen.frames.assign(function=functions), calls=frame)


HOOKED = [(i * STEP_US + at, 1 if at < 15_000 else 3) for i in range(10) for at in range(2_500, 100_000, 5_000)]


def test_a_hook_that_computes_more_than_the_training_is_not_what_runs_the_steps() -> None:
    """Such as one that predicts after each batch."""
    parts = [("net/dense/MatMul:MatMul", 0, 10_000), ("predict/MatMul:MatMul", 20_000, 75_000)]
    text = "model.fit(dataset)\ndef look(self):\n    self.model.predict(probe)\n"
    results = run(*parts, source_map=in_fit(sampled(*HOOKED, text=text, function="look")))
    advice, (rows, of_card) = only(results), results.claimed
    assert rows.time_ps[of_card == 0].sum() == pytest.approx(10 * 85e9, rel=0.01)
    assert len(set(zip(rows.start_ps.tolist(), rows.event.tolist(), strict=True))) == len(rows)
    assert advice.selection.n_stretches == 1
    assert advice.title == "look (train.py:3) takes 85.0 of 100 ms a step (85 %), in 10 of 10 steps."
    assert advice.gain_ratio == pytest.approx(0.85, abs=0.01)
    assert "makes a pipeline of its own first" in advice.fix.words


def calling_keras(n_batches: int) -> Analysis:
    """Steps of a loop that calls `predict` in each, which sets itself up for 60 of 90 ms and then runs some batches."""
    batches = [("one_step_on_data_distributed", 65_000 + 2_000 * i, 1_500) for i in range(n_batches)]
    parts = [("MakeIterator::RootDataset", 20_000, 30_000), *batches, ("net/dense/MatMul:MatMul", 95_000, 5_000)]
    seen = sampled((10_000, 3), text="def act(state):\n    global model\n    return model.predict(state)\n")
    begin = [EPOCH_NS + at * 100_000_000 + 5_000_000 for at in range(10)]
    calls = pd.DataFrame({"begin_ns": begin, "end_ns": [one + 90_000_000 for one in begin], "frame": 0})
    return run(*parts, source_map=replace(seen, calls=calls))


def test_steps_that_call_keras_for_a_single_batch_spend_their_time_in_setting_up() -> None:
    advice = only(calling_keras(1))
    assert advice.rule == "single_batches"
    assert advice.title.endswith("sets up a pipeline and a loop first: 88.5 of 100 ms a step (88 %).")
    assert advice.gain_ratio == pytest.approx(0.885)
    assert "predict_on_batch or test_on_batch (train.py:3)" in advice.fix.words


def test_steps_that_call_keras_for_many_batches_are_no_such_loop() -> None:
    assert "single_batches" not in rules(calling_keras(12))


def test_what_most_steps_trace_or_compile_is_not_over_after_two_steps() -> None:
    advice = only(run(("tf.function-graph_building", 0, 30_000), ("net/dense/MatMul:MatMul", 30_000, 68_000)))
    assert advice.title == "9 of 9 steps trace or compile anew: 30.0 of 100 ms a step (30 %)."
    assert advice.gain_ratio == pytest.approx(0.3)
    assert "before the capture" not in advice.fix.words


def test_a_short_pause_of_the_framework_is_no_callback() -> None:
    assert "host_callback" not in rules(run(("net/dense/MatMul:MatMul", 0, 8_500), step_us=10_000))


def test_what_happens_in_one_step_alone_is_no_callback() -> None:
    paused = run(WORK, only=lambda i: i == 4, longer=60_000)
    assert paused.advice == ()


def test_saves_of_tensorflow_stall_the_steps_that_save() -> None:
    saves = run(WORK, only=lambda i: i % 5 == 4, longer=100_000, extra=[("EagerLocalExecute: SaveV2", 100_000, 95_000)])
    advice = only(saves)
    assert advice.rule == "checkpoint_stall"
    assert advice.gain_ratio == pytest.approx(200 / 1200)
    assert advice.evidence["n_saving_steps"] == 2
    assert advice.selection.step in (4, 9)


def test_reading_every_variable_from_python_is_a_save() -> None:
    reads = [("EagerLocalExecute: ReadVariableOp", 100_000 + 100 * i, 50) for i in range(8)]
    advice = only(run(WORK, only=lambda i: i % 5 == 4, longer=100_000, extra=reads))
    assert advice.rule == "checkpoint_stall"


def test_what_python_does_before_it_reads_the_first_variable_is_of_the_save() -> None:
    reads = [("EagerLocalExecute: ReadVariableOp", 180_000 + 1_000 * i, 50) for i in range(8)]
    results = run(WORK, only=lambda i: i % 5 == 4, longer=100_000, extra=reads)
    assert only(results).rule == "checkpoint_stall"
    rows, owner = results.claimed
    assert rows.time_ps[owner == 0].sum() / 1e9 == pytest.approx(200, rel=0.1)


def test_reading_every_variable_in_every_step_is_no_save() -> None:
    reads = [("EagerLocalExecute: ReadVariableOp", 96_500 + 100 * i, 50) for i in range(8)]
    assert "checkpoint_stall" not in rules(run(WORK, *reads))


def test_variables_that_an_evaluation_reads_in_a_single_step_are_not_saved() -> None:
    reads = [("EagerLocalExecute: ReadVariableOp", 100_000 + 100 * i, 50) for i in range(8)]
    starts = [i * STEP_US + (200_000 if i > 4 else 0) for i in range(10)]
    evaluating = [(starts[4] + 102_000 + 5_000 * i, 3) for i in range(39)]
    seen = sampled(*((start + 50_000, 1) for start in starts), *evaluating)
    functions = seen.frames["function"].where(seen.frames["line"] != 1, "loop")
    seen = replace(seen, frames=seen.frames.assign(function=functions))
    told = rules(run(WORK, only=lambda i: i == 4, longer=200_000, extra=reads, source_map=seen))
    assert "checkpoint_stall" not in told


def test_python_that_each_batch_needs_is_not_the_same_for_any_batch() -> None:
    """Though moving it to a thread wins only what the rest of a step can hide."""
    text = "for x in data: train(prepare(x))\n\ndef prepare(x):\n    return draw(x)\n"
    short = [(f"net/l{i}/MatMul:MatMul", 20 * i, 5.0) for i in range(45)]
    moments = [(i * 10_000 + at, 1 if at < 1_000 else 4) for i in range(40) for at in (500, 4_000, 8_000)]
    seen = sampled(*moments, text=text, function="prepare")
    found = {one.rule: one for one in run(*short, step_us=10_000, n_steps=40, source_map=seen).advice}
    assert found["host_callback"].title.startswith("Python in prepare (train.py:4) takes 9.12 of 10.0 ms a step (91 %)")
    assert found["host_callback"].gain_ratio < 0.05
    assert "small_batch" not in found


def test_steps_of_short_ops_are_a_small_batch() -> None:
    short = [(f"net/l{i}/MatMul:MatMul", 20 * i, 5.0) for i in range(45)]
    advice = only(run(*short, step_us=1_000, n_steps=40))
    assert (advice.rule, advice.severity) == ("small_batch", "high")
    assert advice.evidence["ops_per_step"] == 45
    assert "8 times as many samples" in str(advice.fix)
    assert "steps_per_execution" not in str(advice.fix)  # Keras does not call these steps
    assert "fewer, larger updates" in str(advice.fix)
    predicted = only(run(*short, step_us=1_000, n_steps=40, kind="predict"))
    assert "the results are the same" in str(predicted.fix)


def test_a_layer_that_runs_most_of_the_short_ops_is_named_and_fewer_calls_are_no_remedy_for_ops_of_one() -> None:
    called = [("EagerLocalExecute: __inference_step_7", 0, 960), ("EagerKernelExecute", 1, 950)]
    short = [(f"net/times/MatMul_{i}:MatMul", 20 * i + 5, 5.0) for i in range(45)]
    advice = only(run(*called, *short, step_us=1_000, n_steps=40))
    assert advice.rule == "small_batch"
    assert "on average, most of them in net/times, their scheduling" in advice.title
    assert "in one call" not in advice.fix.words


def test_what_other_programs_took_is_not_the_same_for_any_batch() -> None:
    """Of 45 ops a step, in one call of a function, the runtime needs 0.45 ms; who else had the cores, the trace does not tell."""
    called = [("EagerLocalExecute: __inference_step_7", 0, 1_960), ("EagerKernelExecute", 1, 1_950)]
    short = [(f"net/l{i}/MatMul:MatMul", 40 * i + 5, 5.0) for i in range(45)]
    alone = run(*called, *short, step_us=2_000, n_steps=40)
    system = pd.DataFrame({"time_ms": [10.0 * i for i in range(8)], "process_cpu_pct": 50.0})
    cores = dict.fromkeys(("cpu_pct", "cpu0_pct", "cpu1_pct"), 100.0)
    crowded = replace(alone, system=system.assign(**cores))
    gains = [one.gain_ratio for results in (alone, crowded) for one in results.advice if one.rule == "small_batch"]
    assert gains == pytest.approx([1.0, 0.25], abs=0.01)


def test_saves_leave_a_small_batch_its_share_of_all_the_time() -> None:
    short = [(f"net/l{i}/MatMul:MatMul", 20 * i, 5.0) for i in range(45)]
    saving = [("EagerLocalExecute: SaveV2", 1_000, 9_000)]
    told = run(*short, step_us=1_000, n_steps=40, only=lambda i: i % 5 == 4, longer=10_000, extra=saving).advice
    assert [one.rule for one in told] == ["checkpoint_stall", "small_batch"]
    assert told[0].gain_ratio == pytest.approx(10 / 15, abs=0.02)
    assert told[1].gain_ratio == pytest.approx(5 / 15, abs=0.01)


def test_one_long_op_among_short_ones_is_work_enough() -> None:
    short = [(f"net/l{i}/MatMul:MatMul", 20 * i, 5.0) for i in range(10)]
    assert run(*short, ("net/conv/Conv2D:Conv2D", 200, 790), step_us=1_000, n_steps=40).advice == ()


def test_a_function_traced_in_each_step_is_named() -> None:
    traced = {"tf_function_call": "traced-nonXla", "tracing_count": 12}
    results = run(
        ("make_step", 0, 98_000),
        ("tf.function-graph_building", 1_000, 60_000),
        ("EagerKernelExecute", 70_000, 25_000),
        ("net/dense/MatMul:MatMul", 70_500, 24_000),
        stats={"make_step": traced},
    )
    advice = only(results)
    assert advice.rule == "retracing"
    assert advice.gain_ratio == pytest.approx(0.73, abs=0.01)
    assert advice.evidence["function"] == "make_step"
    assert advice.title.endswith("73.0 of 100 ms a step (73 %).")
    assert results.overview.verdict == "Compile-bound: tracing and compilation take 73.0 of 100 ms a step (73 %)."
    assert advice.selection.op_names == ("make_step",)


def test_tracing_in_the_first_step_alone_is_no_fault() -> None:
    tracing = [("tf.function-graph_building", 100_000, 499_000)]
    assert run(WORK, only=lambda i: i == 0, longer=500_000, extra=tracing).advice == ()


def test_tracing_in_most_steps_is_one() -> None:
    advice = only(run(("tf.function-graph_building", 10, 40_000), ("net/dense/MatMul:MatMul", 40_100, 59_000)))
    assert (advice.rule, advice.severity) == ("compilation", "high")
    assert advice.title.startswith("9 of 9 steps trace or compile anew: 40.0 of 100 ms a step (40 %)")
    assert advice.gain_ratio == pytest.approx(0.40)


LOOPED = "@tf.function\ndef step(x):\n    for t in range(80):\n        x = cell(x)\n"


def in_graph(text: str, *ops: tuple[str, str], line: int = 4) -> SourceMap:
    """A graph `step` with ops of these types and shapes, all of one line of a text."""
    seen = sampled((0, line), text=text, function="step")
    rows = pd.DataFrame([(0, f"op_{i}", kind, 0) for i, (kind, _) in enumerate(ops)], columns=list(seen.ops.columns))
    told = [(i, "", 0, "", shape, -1, "float32") for i, (_, shape) in enumerate(ops)]
    details = pd.DataFrame(told, columns=list(seen.details.columns))
    functions = pd.DataFrame([("step", -1, 0, "")], columns=list(seen.functions.columns))
    return replace(seen, ops=rows, details=details, functions=functions, samples=seen.samples.iloc[:0])


@pytest.mark.parametrize(
    ("source_map", "title", "fix"),
    [
        (
            in_graph(LOOPED, *[("MatMul", "8x8")] * 80),
            "The loop at train.py:3 is unrolled: the graph has its body 80 times. Tracing and compiling take 499 ms of "
            "the 1.50 s captured (33 %).",
            "tf.range",
        ),
        (in_graph(LOOPED, *[("MatMul", "8x8")] * 20), "", ""),
        (in_graph(LOOPED.replace("range(80)", "layers"), *[("MatMul", "8x8")] * 80), "", ""),
        (
            in_graph(LOOPED, ("Const", "100000x500")),
            "An array of 191 MiB (train.py:4) is a constant of the graph. Tracing",
            "as an argument",
        ),
    ],
)
def test_tracing_a_large_graph_is_told_by_what_makes_it_large(source_map: SourceMap, title: str, fix: str) -> None:
    tracing = [("tf.function-graph_building", 100_000, 499_000)]
    results = run(WORK, only=lambda i: i == 0, longer=500_000, extra=tracing, source_map=source_map)
    advice = results.advice[0]
    assert [one.rule for one in results.advice] == [*["large_graph"] * bool(title), "busy"]
    assert advice.severity == ("high" if title else "low")
    assert advice.title.startswith(title)
    assert fix in advice.fix.words
