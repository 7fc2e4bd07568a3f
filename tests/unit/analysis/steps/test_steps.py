"""Steps: composition by priority, devices that run behind, incomplete steps, and which events belong to which step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Event, Plane, U, event, line, plane, trace
from tests.unit.analysis.steps.step_oracle import time_by_priority
from tfprof_widgets.analysis import STEP_CATEGORIES, compute_steps, resolve

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


def test_waiting_for_input_rules_over_host_compute_within_it_and_around_it() -> None:
    whole = trace(
        host(
            train(0, 10), event("IteratorGetNext:IteratorGetNext", 1, 4), event("inside", 2, 1), event("x:MatMul", 6, 3)
        )
    )
    frame = compute_steps(whole).frame
    assert frame[["input_ms", "host_compute_ms", "dispatch_ms"]].to_numpy().tolist() == [[0.004, 0.003, 0.003]]


def test_tracing_and_compiling_are_compilation() -> None:
    whole = trace(
        host(
            train(0, 10),
            event("tf.function-graph_building", 1, 4),
            event("CpuCompiler::RunBackend", 6, 2),
            event("x:Add", 8, 1),
        )
    )
    frame = compute_steps(whole).frame
    assert frame[["compile_ms", "host_compute_ms"]].to_numpy().tolist() == [[0.006, 0.001]]


def test_kernels_that_run_behind_make_steps_last_until_they_end_without_counting_time_twice() -> None:
    marked = [one for i in range(3) for one in (train(10 * i, 4, i), launch(10 * i + 1, 1, i))]
    kernels = [kernel(5 + 12 * i, 12, i) for i in range(3)]
    frame = compute_steps(trace(host(*marked), gpu(*kernels))).frame
    assert (frame["start_ps"] / 1e6).tolist() == [0, 17, 29]
    assert (frame["duration_ps"] / 1e6).tolist() == [17, 12, 12]
    assert frame["device_compute_ms"].tolist() == [0.012] * 3


def test_what_runs_after_the_last_step_without_a_marker_does_not_make_it_longer() -> None:
    marked = [one for i in range(3) for one in (train(10 * i, 9, i), launch(10 * i + 1, 1, i))]
    evaluation = [kernel(100, 50, 99), kernel(160, 50, 98)]
    frame = compute_steps(trace(host(*marked), gpu(*(kernel(10 * i + 3, 5, i) for i in range(3)), *evaluation))).frame
    assert (frame["duration_ps"] / 1e6).tolist() == [9, 9, 9]


def test_an_unmarked_loop_on_a_device_shows_the_device_busy_in_the_step_in_which_it_is() -> None:
    calls = [
        one
        for i in range(3)
        for one in (
            event("train_step", 10 * i, 4, tf_function_call="notTraced-nonXla"),
            event("FunctionRun", 10 * i + 0.5, 3, _r=1, id=5),
            launch(10 * i + 1, 1, i),
        )
    ]
    steps = compute_steps(trace(host(*calls), gpu(*(kernel(10 * i + 6, 8, i) for i in range(3)))))
    frame = steps.frame
    assert frame["name"].tolist() == ["train_step 0", "train_step 1", "train_step 2"]
    assert (frame["start_ps"] / 1e6).tolist() == [0, 10, 20]
    assert frame["device_compute_ms"].tolist()[:2] == [0.004, 0.008]
    assert (
        frame["kernel_launch_ms"].tolist()[0] == 0.005
    )  # until the kernel starts: the device has nothing to do before
    assert steps.event_step.tolist()[-3:] == [0, 1, -1]


def test_functions_on_a_device_that_are_no_loop_are_the_steps_xprof_shows() -> None:
    run = event("FunctionRun", 0, 4, _r=1, id=5)
    frame = compute_steps(trace(host(run, launch(1, 1, 7)), gpu(kernel(3, 5, 7)))).frame
    assert frame[["name", "source", "step_time_ms", "device_compute_ms"]].to_numpy().tolist() == [
        ["0", "inferred", 0.005, 0.005]
    ]


def test_a_step_whose_device_work_was_not_recorded_is_kept_and_marked_incomplete() -> None:
    marked = [one for i in range(4) for one in (train(10 * i, 9, i), launch(10 * i + 1, 1, i))]
    frame = compute_steps(trace(host(*marked), gpu(*(kernel(10 * i + 3, 5, i) for i in range(3))))).frame
    assert frame["is_complete"].tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("MemcpyH2D", "copy_to_device"),
        ("MemcpyD2H", "output"),
        ("MemcpyD2D", "device_to_device"),
        ("MemcpyP2P", "device_to_device"),
        ("ncclAllReduceRingKernel", "device_collectives"),
        ("Memset", "device_compute"),
        ("volta_sgemm", "device_compute"),
    ],
)
def test_what_runs_on_a_stream_counts_as_what_it_is(name: str, category: str) -> None:
    frame = compute_steps(trace(host(train(0, 10), launch(1, 1, 7)), gpu(kernel(3, 5, 7, name)))).frame
    assert frame[f"{category}_ms"].iloc[0] == 0.005


def test_an_explicit_marker_may_have_any_name() -> None:
    whole = trace(host(event("my epoch", 0, 9, _r=1, step_num=4), event("x:MatMul", 1, 2)))
    assert compute_steps(whole).frame["name"].tolist() == ["my epoch 4"]


def test_an_event_belongs_to_its_group_and_else_to_the_step_during_which_it_starts() -> None:
    main = line("main", train(0, 9, 0), event("send", 1, 1, _pt=1, _p=5), train(10, 9, 1), event("after", 25, 1))
    other = line("other", event("background", 4, 1), event("late work of step 0", 12, 1, _ct=1, _c=5))
    whole = trace(plane("/host:CPU", main, other))
    steps = dict(zip([whole.strings[i] for i in whole.name_id], compute_steps(whole).event_step.tolist(), strict=True))
    assert steps == {"train": 1, "send": 0, "after": -1, "background": 0, "late work of step 0": 0}


def test_the_categories_are_in_stacking_order() -> None:
    pieces = compute_steps(trace(host(train(0, 9)))).pieces
    assert tuple(pieces["category"].cat.categories) == STEP_CATEGORIES
    assert pieces["category"].tolist() == ["dispatch"]


def test_a_trace_without_events_has_no_steps() -> None:
    steps = compute_steps(trace(host()))
    assert len(steps) == len(steps.pieces) == len(steps.event_step) == 0
    assert "step_time_ms" in steps.frame
