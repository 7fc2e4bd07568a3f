"""Eager ops of which TensorFlow recorded only the call are ops all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import event, line, plane, space
from tests.captures import N_LOOP_STEPS
from tfprof_widgets.analysis.results import Results
from tfprof_widgets.store.xspace import read_xspace


def results_of(*events: bytes) -> Results:
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


@pytest.mark.tensorflow
def test_an_eager_loop_has_its_ops_each_as_often_as_it_ran(capture_of: Callable[[str], Path]) -> None:
    ops = Results(read_xspace(capture_of("eager_loop_marked").read_bytes())).ops.set_index("name")
    assert ops.loc["eager/Conv2D", "occurrences"] == N_LOOP_STEPS
    assert ops.loc["eager/Conv2DBackpropFilter", "occurrences"] == N_LOOP_STEPS
    assert ops.loc["eager/MatMul", "occurrences"] == 3 * N_LOOP_STEPS  # forward, and the gradients of both operands
    assert ops.loc["eager/Conv2D", "eager"]
