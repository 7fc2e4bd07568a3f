"""Steps: composition by priority, devices that run behind, incomplete steps, and which events belong to which step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Event, Plane, U, event, line, plane, trace
from tests.unit.analysis.xprof_oracle import time_by_priority
from tfprof_widgets.analysis import (
    PS_PER_MS,
    Analysis,
    CaptureSummary,
    Steps,
    choose_steps,
    compute_steps,
    distinct_names,
    measure_interference,
    resolve,
    step_sentence,
)
from tfprof_widgets.export import step_words
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Bool, Interference, Trace

SPANS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 40), st.integers(1, 11)), min_size=0, max_size=30
)


@given(SPANS)
def test_every_instant_of_a_step_goes_to_the_highest_type_present(spans: list[tuple[int, int, int, int]]) -> None:
    step_start, step_end = np.array([0, 10, 50]), np.array([70, 45, 90])
    step, start, length, kind = (
        (np.array(column, np.int64) for column in zip(*spans, strict=True)) if spans else [np.empty(0, np.int64)] * 4
    )
    found = resolve(step, start, start + length, kind.astype(np.uint8), step_start_ps=step_start, step_end_ps=step_end)
    for i in range(3):
        own = [(s, s + n, k) for j, s, n, k in spans if j == i]
        expected = time_by_priority(own, int(step_start[i]), int(step_end[i]))
        assert {k: v for k, v in enumerate(found.total_ps(3)[i]) if v} == {k: v for k, v in expected.items() if v}
    same = found.step[1:] == found.step[:-1]
    assert (found.start_ps[1:][same] == found.end_ps[:-1][same]).all()
    assert (found.span_type[1:][same] != found.span_type[:-1][same]).all()
    assert (found.end_ps > found.start_ps).all()


def host(*events: Event) -> Plane:
    return plane("/host:CPU", line("main", *events))


def train(start_us: float, duration_us: float, step: int = 0) -> Event:
    return event("train", start_us, duration_us, _r=1, step_num=step)


def launch(start_us: float, duration_us: float, correlation: int) -> Event:
    return event("cuLaunchKernel", start_us, duration_us, correlation_id=U(correlation))


def kernel(start_us: float, duration_us: float, correlation: int, name: str = "kern") -> Event:
    return event(name, start_us, duration_us, correlation_id=U(correlation))


def gpu(*events: Event, index: int = 0) -> Plane:
    return plane(f"/device:GPU:{index}", line("Stream #1", *events))


def test_kernels_that_run_behind_make_steps_last_until_they_end_without_counting_time_twice() -> None:
    marked = [one for i in range(3) for one in (train(10 * i, 4, i), launch(10 * i + 1, 1, i))]
    kernels = [kernel(5 + 12 * i, 12, i) for i in range(3)]
    frame = compute_steps(trace(host(*marked), gpu(*kernels))).frame
    assert (frame["start_ps"] / 1e6).tolist() == [0, 17, 29]
    assert (frame["duration_ps"] / 1e6).tolist() == [17, 12, 12]
    assert frame["device_compute_ms"].tolist() == [0.012] * 3


def test_a_step_whose_device_work_was_not_recorded_is_kept_and_marked_incomplete() -> None:
    marked = [one for i in range(4) for one in (train(10 * i, 9, i), launch(10 * i + 1, 1, i))]
    frame = compute_steps(trace(host(*marked), gpu(*(kernel(10 * i + 3, 5, i) for i in range(3))))).frame
    assert frame["is_complete"].tolist() == [True, True, True, False]


def test_an_event_belongs_to_its_group_and_else_to_the_step_during_which_it_starts() -> None:
    main = line("main", train(0, 9, 0), event("send", 1, 1, _pt=1, _p=5), train(10, 9, 1), event("after", 25, 1))
    other = line("other", event("background", 4, 1), event("late work of step 0", 12, 1, _ct=1, _c=5))
    whole = trace(plane("/host:CPU", main, other))
    steps = dict(zip([whole.strings[i] for i in whole.name_id], compute_steps(whole).event_step.tolist(), strict=True))
    assert steps == {"train": 1, "send": 0, "after": -1, "background": 0, "late work of step 0": 0}


def names(*marks: str, hosts: str = "") -> list[str]:
    found: list[str] = distinct_names(marks, np.array([*(hosts or "a" * len(marks))], np.object_)).tolist()
    return found


def test_numbers_that_start_again_are_of_another_epoch() -> None:
    assert names("train 0", "train 1", "test 0", "train 0", "train 1") == [
        "train 1·0",
        "train 1·1",
        "test 0",
        "train 2·0",
        "train 2·1",
    ]


NEXT = "IteratorGetNextAsOptionalOp::DoCompute"


def run(numbers: list[int], fetches: list[int], *, marks: list[int] | None = None, name: str = "train") -> Analysis:
    """Steps of 1 ms with these numbers, so many fetches in each, and what their markers say of their batches."""
    events: list[Event] = []
    for i, (number, n) in enumerate(zip(numbers, fetches, strict=True)):
        said = {} if marks is None else {"n_batches": marks[i]}
        events += [event(name, 1000 * i, 990, _r=1, step_num=number, **said), event("m/x:MatMul", 1000 * i, 800)]
        events += [event(NEXT, 1000 * i + 900 + k, 0.5, iter_num=k) for k in range(n)]
    return Analysis(trace(plane("/host:CPU", line("main", *events))))


def batches(results: Analysis) -> list[int]:
    return results.steps.frame["n_batches"].tolist()


def test_markers_say_how_many_batches_a_call_takes() -> None:
    results = run([0, 5, 10, 15], [0, 0, 0, 0], marks=[5, 5, 5, 5])
    assert batches(results) == [5] * 4
    assert results.overview.batches == "5 batches in one call, 198 µs a batch"
    assert "0.990 ms a step of 5 batches (" in results.overview.verdict
    assert step_words(results).startswith("0.990 ± 0 ms a step   (5 batches in one call, 198 µs a batch; 4 of 4 steps;")


def test_the_last_call_of_an_epoch_takes_what_is_left() -> None:
    """Of data of unknown length Keras announces five batches; the fourth fetch finds none."""
    assert batches(run([0, 5, 10, 15], [5, 5, 4, 5], marks=[5, 5, 5, 5])) == [5, 5, 3, 5]


def test_numbers_that_advance_by_five_are_five_batches_where_each_step_fetches_five() -> None:
    assert batches(run([0, 5, 10, 0, 5], [5, 5, 5, 5, 5])) == [5] * 5


@pytest.mark.parametrize(
    ("numbers", "fetches"),
    [
        ([0, 10, 20, 30], [1, 1, 1, 1]),  # every tenth step is marked
        ([0, 10, 20, 30], [0, 0, 0, 0]),
        ([0, 1, 2, 3], [5, 5, 5, 5]),  # gradients of five batches are one step
        ([0, 5, 7, 12], [5, 5, 5, 5]),
        ([0, 5], [5, 5]),
    ],
)
def test_where_numbers_and_fetches_do_not_agree_nothing_is_told(numbers: list[int], fetches: list[int]) -> None:
    results = run(numbers, fetches)
    assert batches(results) == [1] * len(numbers)
    assert results.overview.batches == ""
    assert "batch" not in results.overview.verdict + step_words(results)


def test_fabulous_numbers_of_batches_are_bounded() -> None:
    assert batches(run([0, 1, 2], [0, 0, 0], marks=[-7, 0, 2**62])) == [1, 1, 2**31 - 1]


def table(*rows: tuple[str, float, float, float]) -> pd.DataFrame:
    """Steps as `(name, pause before it, duration, compilation)`, times in ms."""
    frame = pd.DataFrame(rows, columns=["name", "pause", "step_time_ms", "compile_ms"])
    start = frame["pause"].cumsum() + frame["step_time_ms"].shift(fill_value=0.0).cumsum()
    return frame.assign(
        start_ps=(start * PS_PER_MS).astype("int64"),
        duration_ps=(frame["step_time_ms"] * PS_PER_MS).astype("int64"),
        host="a",
        session=0,
        is_complete=True,
    )


def fits(n: int, pause_ms: float) -> list[tuple[str, float, float, float]]:
    """Several fits, each of which traces in its first step."""
    return [
        (f"train {k}", pause_ms if k % 8 == 0 else 0.05, 100.0 if k % 8 == 0 else 5.0, 80.0 if k % 8 == 0 else 0.0)
        for k in range(8 * n)
    ]


def test_the_first_step_of_each_fit_that_compiles_is_left_out() -> None:
    averaged, why, _ = choose_steps(table(*fits(5, 40.0)))
    assert averaged.sum() == 35
    assert why == "Step 0 (100 ms, compiles) and 4 steps that compile at the begin of a loop are excluded."


def test_steps_that_trace_again_within_a_loop_are_left_out() -> None:
    averaged, why, again = choose_steps(table(*fits(5, 0.05)))
    assert averaged.sum() == 35
    assert why == "Step 0 (100 ms, compiles) and 4 more that compile are excluded."
    assert np.flatnonzero(again).tolist() == [8, 16, 24, 32]


def steps_of(*compile_ms: float, sessions: list[int] | None = None) -> pd.DataFrame:
    """Steps of 5 ms and what compiling adds, in these sessions."""
    frame = table(*((f"train {i}", 0.05, 5.0 + ms, ms) for i, ms in enumerate(compile_ms)))
    return frame.assign(session=0 if sessions is None else sessions)


@pytest.mark.parametrize(
    ("compile_ms", "sessions", "words"),
    [
        ((9e3, *[0.0] * 9), [0, *[1] * 9], "Step 0 (9.01 s, compiles) is excluded."),
        ((0, 0, 0, 800, 0, 0), None, "Step 3 (805 ms, compiles) is excluded."),
        (
            (800, 0, 0, 9e3, 0, 0),
            [0, 0, 0, 1, 2, 2],
            "Step 0 (805 ms, compiles) and step 3 (9.01 s, compiles) are excluded.",
        ),
        (
            (800, 0, 0, 700, 0, 0),
            [0, 0, 0, 1, 1, 1],
            "Step 0 (805 ms, compiles) and step 3 (705 ms, compiles) are excluded.",
        ),
        ((800, 700, 0, 0, 600, 0), [0, 1, 2, 3, 4, 5], None),
        ((0.4, 0.4, 0.4), None, ""),
    ],
)
def test_what_compiles_is_left_out_wherever_it_lies(
    compile_ms: tuple[float, ...], sessions: list[int] | None, words: str | None
) -> None:
    averaged, why, _ = choose_steps(steps_of(*compile_ms, sessions=sessions))
    assert averaged.tolist() == [ms < 100 for ms in compile_ms]
    assert words is None or why == words


def test_averages_that_have_only_steps_that_compile_say_so() -> None:
    averaged, why, _ = choose_steps(steps_of(800.0))
    assert (averaged.tolist(), why) == ([True], "The only averaged step compiles.")
    averaged, why, _ = choose_steps(steps_of(800, 700, 900, sessions=[0, 1, 2]))
    assert averaged.tolist() == [False, True, True]
    assert why == "Step 0 (805 ms, compiles) is excluded. All averaged steps compile."


def test_where_most_steps_compile_that_is_what_a_step_does() -> None:
    averaged, why, again = choose_steps(steps_of(800, 700, 0, 900, 600, 700, 0))
    assert averaged.tolist() == [False, *[True] * 6]
    assert why == "Step 0 (805 ms, compiles) is excluded. 4 of the 6 averaged steps compile."
    assert not again.any()


def test_a_slow_first_step_that_is_alone_in_its_window_is_compared_with_those_of_the_next() -> None:
    frame = table(("train 0", 0.1, 25e3, 0.0), *((f"train {i}", 0.1, 5.0, 0.0) for i in range(1, 9)))
    averaged, why, _ = choose_steps(frame.assign(session=[0, *[1] * 8]))
    assert averaged.tolist() == [False, *[True] * 8]
    assert why == "Step 0 (25.0 s, warm-up) is excluded."


@pytest.mark.parametrize(
    ("ms", "n_left_out"),
    [
        ((90, 80, 60, 5, 5, 5, 5, 5), 3),
        ((90, 80, 60, 50, 5, 5, 5, 5, 5), 3),
        ((90, 5, 80, 5, 5, 5), 1),
        ((90, 40, 5, 5), 1),  # of two others nobody can tell what is usual
    ],
)
def test_up_to_three_slow_steps_in_a_row_are_left_out_as_the_first_ones(ms: tuple[float, ...], n_left_out: int) -> None:
    averaged, why, _ = choose_steps(table(*((f"train {i}", 0.1, one, 0.0) for i, one in enumerate(ms))))
    assert averaged.tolist() == [False] * n_left_out + [True] * (len(ms) - n_left_out)
    assert why.count("warm-up") == n_left_out


def test_averages_are_over_the_training_even_where_validation_takes_longer() -> None:
    rows = [("train 0", 0.1, 5.0, 0.0), ("train 1", 0.1, 5.0, 0.0), *[(f"test {k}", 0.1, 5.0, 0.0) for k in range(9)]]
    averaged, why, _ = choose_steps(table(*rows))
    assert averaged.tolist() == [True, True, *[False] * 9]
    assert why == "9 test steps are excluded."


def test_of_steps_captured_one_by_one_those_that_begin_an_epoch_are_left_out() -> None:
    frame = table(*((f"train {4 * k}", 30.0, 9.0 if k % 2 == 0 else 5.0, 0.0) for k in range(8))).assign(
        session=range(8)
    )
    starts = np.arange(8) % 2 == 0
    averaged, why, _ = choose_steps(frame, epoch_starts=starts)
    assert averaged.tolist() == (~starts).tolist()
    assert why == "4 steps at the begin of an epoch are excluded."
    whole, *_ = choose_steps(frame.assign(session=0), epoch_starts=starts)
    assert whole.all()
    alike, *_ = choose_steps(frame, epoch_starts=np.ones(8, np.bool_))
    assert alike.all()


MS = 1_000_000


def times(*groups: tuple[str, int, float], name: str = "train", noise: float = 0.05, seed: int = 3) -> pd.DataFrame:
    """Steps in groups of (phase, count, ms a step), with noise of a fixed seed; the first of all takes a second."""
    rng = np.random.default_rng(seed)
    phases = [phase for phase, count, _ in groups for _ in range(count)]
    durations = np.concatenate([ms * (1 + noise * rng.standard_normal(count)) for _, count, ms in groups]) * MS
    durations[0] = 1000 * MS
    return pd.DataFrame(
        {
            "number": range(len(phases)),
            "name": name,
            "start_ns": np.append(0, np.cumsum(durations)[:-1]).astype(np.int64),
            "duration_ns": durations.astype(np.int64),
            "phase": phases,
        }
    )


def test_the_ratio_is_that_of_the_medians_without_the_first_step_and_those_cut() -> None:
    frame = times(("before", 11, 10), ("cut", 3, 500), ("during", 20, 12), ("cut", 2, 900), ("after", 10, 10), noise=0)
    found = measure_interference(frame)
    assert (found.overhead_ratio, found.n_steps_inside, found.n_steps_outside) == (pytest.approx(0.2), 20, 20)
    assert found.overhead_interval == (pytest.approx(0.2), pytest.approx(0.2))


def test_training_is_compared_with_training_and_not_with_validation() -> None:
    train = times(("before", 20, 10), ("during", 20, 11), noise=0)
    test = times(("during", 500, 1), ("after", 6, 1), name="test", noise=0)
    found = measure_interference(pd.concat([train, test]))
    assert (found.overhead_ratio, found.n_steps_inside, found.n_steps_outside) == (pytest.approx(0.1), 20, 19)


@pytest.mark.parametrize("groups", [[("during", 30, 10.0)], [("before", 30, 10.0)]])
def test_with_nothing_to_compare_with_the_cost_is_not_known(groups: list[tuple[str, int, float]]) -> None:
    found = measure_interference(times(*groups))
    assert math.isnan(found.overhead_ratio)
    assert math.isnan(found.overhead_interval[0])
    assert found.n_steps_inside + found.n_steps_outside == 29
    assert "steps=range(10, 20)" in step_sentence(found, "normal")
    empty = measure_interference(times(*groups).iloc[:0])
    assert (empty.n_steps_inside, empty.n_steps_outside) == (0, 0)


def test_few_steps_give_a_ratio_without_an_interval() -> None:
    found = measure_interference(times(("before", 10, 10), ("during", 3, 11), noise=0))
    assert found.overhead_ratio == pytest.approx(0.1)
    assert math.isnan(found.overhead_interval[0])
    assert "too few for an interval" in step_sentence(found, "normal")


def test_a_capture_that_distorts_says_so_with_what_to_do_and_others_do_not() -> None:
    distorted = measure_interference(times(("before", 50, 10), ("during", 50, 14)))
    assert distorted.is_distorting
    assert 'detail="normal"' in step_sentence(distorted, "high")
    assert 'detail="low"' in step_sentence(distorted, "normal")
    assert "steps_per_execution" in step_sentence(distorted, "low")
    for ms in (10.0, 10.8):
        calm = measure_interference(times(("before", 50, 10), ("during", 50, ms)))
        assert not calm.is_distorting
        assert "distorts" not in step_sentence(calm, "normal")
    noisy = Interference(0.5, (-0.1, 1.2), 9, 9)
    assert "noise" in step_sentence(noisy, "normal")


def summary(**fields: Any) -> CaptureSummary:
    known: dict[str, Any] = {
        "start_s": 0.012, "stop_s": 0.3, "n_bytes": 2**20, "n_events": 5000, "n_steps": 100, "outcome": "complete",
        "detail": "normal", "overhead_ratio": 0.04, "overhead_interval": (0.01, 0.07), "n_steps_inside": 10,
        "n_steps_outside": 89,
    }  # fmt: skip
    return CaptureSummary(**(known | fields))


def test_the_sentence_names_every_cost() -> None:
    assert summary().sentence == (
        "A step took 4.00 % longer while it was captured (95 % interval 1.00 to 7.00 %; 10 steps inside, 89 outside). "
        "Starting took 12.0 ms, stopping 300 ms, for 5,000 events in 1.00 MiB."
    )
    unmarked = "What the capture cost a step is not known: no step was marked by Keras or tfprof."
    assert summary(n_steps=0).sentence.startswith(unmarked)
    assert summary(overhead_interval=(0.11, 0.2)).is_distorting


def kept(whole: Trace, keep: Bool) -> Trace:
    """The trace without some of its events, as if they had never been recorded."""
    columns = ("start_ps", "duration_ps", "name_id", "line_id", "metadata_id", "session_id", "n_occurrences")
    return replace(
        whole, **{name: getattr(whole, name)[keep] for name in columns}, stats=whole.stats.taken(np.flatnonzero(keep))
    )


def unmarked(whole: Trace) -> Trace:
    return kept(whole, ~whole.names_matching(["train"]))


@pytest.mark.parametrize("kind", ["keras_fit", "function_loop_marked", "eager_loop_marked"])
def test_a_run_whose_markers_are_taken_away_has_its_steps_inferred(
    kind: str, capture_of: Callable[[str], Path]
) -> None:
    whole = read_xspace(capture_of(kind).read_bytes())
    marked, inferred = compute_steps(whole).frame, compute_steps(unmarked(whole)).frame
    assert set(marked["source"]) == {"marker"}
    assert set(inferred["source"]) == {"inferred"}
    assert len(inferred) == len(marked)
    # What lies between two markers has no owner in a marked run; an inferred step lasts until the next begins. It is about
    # 1 % of a step, unless the machine was busy elsewhere just then, which must not decide about this test.
    start, end = marked["start_ps"].to_numpy(), (marked["start_ps"] + marked["duration_ps"]).to_numpy()
    between_ms = np.append(start[1:] - end[:-1], 0) / 1e9
    between_ms[inferred["step_time_ms"] < (marked["step_time_ms"] + between_ms) * 0.9] = 0
    expected = marked["step_time_ms"].mean() + between_ms.mean()
    assert inferred["step_time_ms"].mean() == pytest.approx(expected, rel=0.05)
    assert (inferred["step_time_ms"] >= marked["step_time_ms"] * 0.9).mean() >= 0.95
    for category in ("input_ms", "host_compute_ms"):
        assert inferred[category].mean() == pytest.approx(marked[category].mean(), rel=0.1, abs=0.02)


def host_plane(*events: Event) -> Trace:
    return trace(plane("/host:CPU", line("python", *events)))


def call(start_us: float, duration_us: float, name: str = "train_step") -> Event:
    return event(name, start_us, duration_us, tf_function_call="notTraced-nonXla")


def fetch(start_us: float, duration_us: float = 2) -> Event:
    return event("EagerLocalExecute: IteratorGetNext", start_us, duration_us)


def times_us(steps: Steps) -> list[tuple[float, float]]:
    return list(zip(steps.frame["start_ps"] / 1e6, steps.frame["duration_ps"] / 1e6, strict=True))


def test_the_last_step_ends_before_the_fetch_that_finds_nothing_and_what_follows_it() -> None:
    def leave(start_us: float, duration_us: float = 0.5) -> Event:
        return event("TFE_DeleteTensorHandle", start_us, duration_us)

    steps = [one for t in (0, 10, 20) for one in (fetch(t), call(t + 3, 5), leave(t + 8.2))]
    found = compute_steps(host_plane(*steps, fetch(30), call(33, 5), fetch(38.5), leave(41, 500)))
    assert times_us(found) == [(0, 10), (10, 10), (20, 10), (30, 8.5)]


def test_two_fetches_before_a_call_are_one_step() -> None:
    steps = compute_steps(host_plane(*(one for t in (0, 10, 20) for one in (fetch(t), fetch(t + 2.5), call(t + 5, 4)))))
    assert times_us(steps) == [(0, 10), (10, 10), (20, 9)]


def test_a_pause_between_epochs_is_not_part_of_a_step() -> None:
    epochs = [one for epoch in (0, 1000) for t in range(epoch, epoch + 50, 10) for one in (fetch(t), call(t + 3, 6))]
    steps = compute_steps(host_plane(*epochs))
    assert len(steps) == 10
    assert steps.frame["duration_ps"].max() == 10e6


@pytest.mark.parametrize(("captured_us", "n_steps"), [(1000, 4), (100_000, 0)])
def test_what_repeats_for_next_to_none_of_the_capture_is_no_loop(captured_us: float, n_steps: int) -> None:
    building = event("tf.function-graph_building", 100, captured_us - 100)
    steps = compute_steps(host_plane(*(call(t, 8) for t in (0, 10, 20, 30)), building))
    assert len(steps) == n_steps


def test_one_long_repetition_does_not_make_steps_of_short_ones() -> None:
    calls = [call(10 * i, 8) for i in range(10)]
    assert len(compute_steps(host_plane(*calls, call(100, 50_000)))) == 0


def test_a_while_loop_inside_a_marked_step_does_not_take_its_group() -> None:
    """XProf either groups by loop iteration or, on `WhileOp-EvalCond`, not at all; either way it shows no step (D2)."""
    marked = [
        one
        for t in (0, 20)
        for one in (
            event("train", t, 15, _r=1, step_num=t // 20),
            event("ExecutorState::Process", t + 1, 5, id=7, iter_num=0),
            event("WhileOp-EvalCond", t + 2, 1),
            event("ExecutorState::Process", t + 7, 5, id=7, iter_num=1),
        )
    ]
    steps = compute_steps(host_plane(*marked)).frame
    assert steps["name"].tolist() == ["train 0", "train 1"]
    assert (steps["guide_host_compute_ms"] == 0.010).all()


def test_an_annotation_around_every_batch_that_is_no_root_is_where_its_step_begins() -> None:
    """Keras 3 marks its batches without `_r`, so that XProf sees no step."""
    batches = [
        one
        for t in (0, 20, 40)
        for one in (event("train", t, 12, step_num=t // 20), call(t + 3, 8), event("x:Add", t + 4, 1))
    ]
    steps = compute_steps(host_plane(*batches))
    assert times_us(steps) == [(0, 20), (20, 20), (40, 12)]
    assert steps.event_step.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_an_annotation_around_the_whole_loop_is_looked_through() -> None:
    loop = [event("epoch", 0, 100), *(one for t in (10, 30, 50) for one in (fetch(t), call(t + 3, 8)))]
    steps = compute_steps(host_plane(*loop))
    assert times_us(steps) == [(10, 20), (30, 20), (50, 11)]
    assert steps.event_step.tolist() == [-1, 0, 0, 1, 1, 2, 2]


def test_calls_that_end_behind_the_last_time_of_a_trace_break_no_search() -> None:
    calls = [event("f", at, 4e11, tf_function_call="traced-nonXla") for at in (0, 5e11, 1e12)]
    fetches = [event("EagerLocalExecute: IteratorGetNext", at - 10, 5) for at in (5e11, 1e12)]
    assert len(compute_steps(trace(plane("/host:CPU", line("main", *calls, *fetches)))).frame) in (0, 2, 3)
