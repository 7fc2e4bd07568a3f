"""Eager ops of which TensorFlow recorded only the call are ops all the same."""

from __future__ import annotations

import pytest

from tests.builders import Event, U, event, line, plane, space
from tfprof_widgets.analysis import Results
from tfprof_widgets.read import read_xspace


def results_of(*events: Event) -> Results:
    return Results(read_xspace(space(plane("/host:CPU", line("python", *events)))))


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
    results = Results(read_xspace(space(plane("/host:CPU", host), plane("/device:GPU:0", stream))))
    assert results.ops[["device", "name", "occurrences", "total_time_us"]].to_numpy().tolist() == [
        ["Device", name, 1, 20]
    ]
    assert (results.overview.host_time_ratio, results.overview.device_eager_ratio) == (0, 1)
