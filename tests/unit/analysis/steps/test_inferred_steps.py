"""Inferred steps: right in number and time where nobody marked any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.builders import Event, event, line, plane, trace
from tfprof_widgets.analysis import Steps, compute_steps
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Bool, Trace


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


def host(*events: Event) -> Trace:
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
    found = compute_steps(host(*steps, fetch(30), call(33, 5), fetch(38.5), leave(41, 500)))
    assert times_us(found) == [(0, 10), (10, 10), (20, 10), (30, 8.5)]


def test_two_fetches_before_a_call_are_one_step() -> None:
    steps = compute_steps(host(*(one for t in (0, 10, 20) for one in (fetch(t), fetch(t + 2.5), call(t + 5, 4)))))
    assert times_us(steps) == [(0, 10), (10, 10), (20, 9)]


def test_a_pause_between_epochs_is_not_part_of_a_step() -> None:
    epochs = [one for epoch in (0, 1000) for t in range(epoch, epoch + 50, 10) for one in (fetch(t), call(t + 3, 6))]
    steps = compute_steps(host(*epochs))
    assert len(steps) == 10
    assert steps.frame["duration_ps"].max() == 10e6


@pytest.mark.parametrize(("captured_us", "n_steps"), [(1000, 4), (100_000, 0)])
def test_what_repeats_for_next_to_none_of_the_capture_is_no_loop(captured_us: float, n_steps: int) -> None:
    building = event("tf.function-graph_building", 100, captured_us - 100)
    steps = compute_steps(host(*(call(t, 8) for t in (0, 10, 20, 30)), building))
    assert len(steps) == n_steps


def test_one_long_repetition_does_not_make_steps_of_short_ones() -> None:
    calls = [call(10 * i, 8) for i in range(10)]
    assert len(compute_steps(host(*calls, call(100, 50_000)))) == 0


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
    steps = compute_steps(host(*marked)).frame
    assert steps["name"].tolist() == ["train 0", "train 1"]
    assert (steps["guide_host_compute_ms"] == 0.010).all()


def test_an_annotation_around_every_batch_that_is_no_root_is_where_its_step_begins() -> None:
    """Keras 3 marks its batches without `_r`, so that XProf sees no step."""
    batches = [
        one
        for t in (0, 20, 40)
        for one in (event("train", t, 12, step_num=t // 20), call(t + 3, 8), event("x:Add", t + 4, 1))
    ]
    steps = compute_steps(host(*batches))
    assert times_us(steps) == [(0, 20), (20, 20), (40, 12)]
    assert steps.event_step.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_an_annotation_around_the_whole_loop_is_looked_through() -> None:
    loop = [event("epoch", 0, 100), *(one for t in (10, 30, 50) for one in (fetch(t), call(t + 3, 8)))]
    steps = compute_steps(host(*loop))
    assert times_us(steps) == [(10, 20), (30, 20), (50, 11)]
    assert steps.event_step.tolist() == [-1, 0, 0, 1, 1, 2, 2]


def test_calls_that_end_behind_the_last_time_of_a_trace_break_no_search() -> None:
    calls = [event("f", at, 4e11, tf_function_call="traced-nonXla") for at in (0, 5e11, 1e12)]
    fetches = [event("EagerLocalExecute: IteratorGetNext", at - 10, 5) for at in (5e11, 1e12)]
    assert len(compute_steps(trace(plane("/host:CPU", line("main", *calls, *fetches)))).frame) in (0, 2, 3)
