"""Eager ops of which TensorFlow recorded only the call are ops all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import Event, U, event, line, plane, space
from tests.captures.run_parts import N_LOOP_STEPS
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace


def results_of(*events: Event) -> Analysis:
    return Analysis(read_xspace(space(plane("/host:CPU", line("python", *events)))))


def test_a_call_of_an_op_that_left_no_event_is_an_eager_op_in_a_scope_of_its_own() -> None:
    results = results_of(event("EagerExecute", 0, 40, is_func=0), event("EagerLocalExecute: MatMul", 5, 30))
    (row,) = results.ops.to_dict("records")
    assert (row["name"], row["type"], row["eager"], row["total_time_us"]) == ("eager/MatMul", "MatMul", True, 30)


def test_a_call_of_a_function_of_a_data_set_or_around_a_recorded_op_is_none() -> None:
    results = results_of(
        event("EagerExecute", 0, 40, is_func=1),
        event("EagerLocalExecute: __inference_step_7", 5, 30),
        event("EagerExecute", 50, 40, is_func=0),
        event("EagerLocalExecute: MakeIterator", 55, 30),
        event("EagerExecute", 100, 40, is_func=0),
        event("EagerLocalExecute: Cast", 105, 30),
        event("Cast:Cast", 110, 20),
    )
    assert results.ops["name"].tolist() == ["Cast"]


def test_a_call_inside_another_is_charged_once_as_a_python_function_that_calls_ops_does() -> None:
    results = results_of(
        event("EagerExecute", 0, 90, is_func=0),
        event("EagerLocalExecute: EagerPyFunc", 5, 80),
        event("EagerExecute", 10, 40, is_func=0),
        event("EagerLocalExecute: Sin", 15, 30),
        event("EagerExecute", 55, 20, is_func=1),
        event("EagerLocalExecute: __inference_f_1", 56, 18),
        event("MatMul:MatMul", 60, 10),
    )
    rows = results.ops.set_index("name")[["total_time_us", "total_self_time_us", "eager"]]
    assert {name: tuple(row) for name, *row in rows.itertuples()} == {
        "eager/EagerPyFunc": (80, 40, True),
        "eager/Sin": (30, 30, True),
        "MatMul": (10, 10, False),
    }
    assert results.overview.host_eager_ratio == 70 / 80


@pytest.mark.parametrize(("tf_op", "name"), [({"tf_op": "MatMul:MatMul"}, "MatMul"), ({}, "eager/MatMul")])
def test_a_call_that_launches_a_kernel_is_an_op_of_the_device_alone(tf_op: dict[str, str], name: str) -> None:
    host = line(
        "python",
        event("EagerExecute", 0, 40, is_func=0),
        event("EagerLocalExecute: MatMul", 5, 30),
        event("cuLaunchKernel", 10, 5, correlation_id=U(7)),
    )
    stream = line("Stream #7(Compute)", event("gemm", 50, 20, correlation_id=U(7), **tf_op), id=7)
    results = Analysis(read_xspace(space(plane("/host:CPU", host), plane("/device:GPU:0", stream))))
    assert results.ops[["device", "name", "occurrences", "total_time_us"]].to_numpy().tolist() == [
        ["Device", name, 1, 20]
    ]
    assert (results.overview.host_time_ratio, results.overview.device_eager_ratio) == (0, 1)


@pytest.mark.parametrize(
    ("kind", "is_eager"), [("keras_fit", False), ("keras_bare", False), ("eager_loop_marked", True)]
)
def test_an_eager_loop_is_told_to_be_one_and_a_plain_fit_is_not(
    kind: str, is_eager: bool, capture_of: Callable[[str], Path]
) -> None:
    overview = Analysis(read_xspace(capture_of(kind).read_bytes())).overview
    told = ("Eager ops take", "one by one from Python")
    assert any(words in sentence for sentence in overview.next_steps for words in told) == is_eager
    assert (overview.host_eager_ratio > 0.3) == is_eager
    assert (overview.host_eager_ratio < 0.05) != is_eager


def test_an_eager_loop_has_its_ops_each_as_often_as_it_ran(capture_of: Callable[[str], Path]) -> None:
    ops = Analysis(read_xspace(capture_of("eager_loop_marked").read_bytes())).ops.set_index("name")
    assert ops.loc["eager/Conv2D", "occurrences"] == N_LOOP_STEPS
    assert ops.loc["eager/Conv2DBackpropFilter", "occurrences"] == N_LOOP_STEPS
    assert ops.loc["eager/MatMul", "occurrences"] == 3 * N_LOOP_STEPS  # forward, and the gradients of both operands
    assert ops.loc["eager/Conv2D", "eager"]
