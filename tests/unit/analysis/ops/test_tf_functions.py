"""Calls of `tf.function`s: how they ran, and what tracing cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import Event, event, line, plane, trace
from tests.captures.run_parts import N_LOOP_STEPS
from tfprof_widgets.analysis import EXPENSIVE, compute_tf_functions
from tfprof_widgets.read import read_xspace


def call(name: str, at_us: float, duration_us: float, mode: str, tracing_count: int = 0) -> Event:
    return event(name, at_us, duration_us, tf_function_call=mode, tracing_count=tracing_count)


def calls(*events: Event) -> list[dict[str, object]]:
    frame = compute_tf_functions(trace(plane("/host:CPU", line("main", *events))))
    return frame.to_dict("records")


def test_calls_are_counted_by_how_they_ran() -> None:
    (row,) = calls(
        call("step", 0, 40, "traced-nonXla", 1),
        call("step", 50, 10, "notTraced-nonXla", 1),
        call("step", 70, 10, "notTraced-nonXla", 1),
        call("step", 90, 20, "eager", 1),
    )
    assert row["function"] == "step"
    assert (row["traced_calls"], row["not_traced_calls"], row["eager_calls"], row["concrete_calls"]) == (1, 2, 1, 0)
    assert row["compiler"] == "other"
    assert row["self_time_ms"] == pytest.approx(0.08)
    assert row["expensive_ratio"] == 60 / 80


def test_a_function_called_inside_another_has_its_own_time() -> None:
    outer, inner = calls(call("outer", 0, 100, "traced-xla", 3), call("inner", 10, 30, "traced-nonXla", 2))
    assert (outer["function"], outer["tracing_count"], outer["compiler"]) == ("outer", 3, "xla")
    assert outer["self_time_ms"] == pytest.approx(0.07)
    assert (inner["function"], inner["self_time_ms"]) == ("inner", pytest.approx(0.03))


def test_other_events_between_two_calls_take_nothing_from_them() -> None:
    (row,) = calls(event("EagerExecute", 0, 50), call("f", 5, 40, "concrete"), event("a:MatMul", 10, 20))
    assert row["self_time_ms"] == pytest.approx(0.04)
    assert (row["compiler"], row["expensive_ratio"]) == ("", 0)


def test_a_function_compiled_in_two_ways_is_mixed() -> None:
    (row,) = calls(call("f", 0, 1, "traced-xla", 1), call("f", 2, 1, "traced-nonXla", 2))
    assert (row["compiler"], row["tracing_count"]) == ("mixed", 2)


def test_a_mode_nobody_knows_counts_as_eager() -> None:
    assert calls(call("f", 0, 1, "<b>"))[0]["eager_calls"] == 1


def test_without_calls_the_table_is_empty_and_has_its_columns() -> None:
    frame = compute_tf_functions(trace(plane("/host:CPU", line("main", event("a:MatMul", 0, 1)))))
    assert len(frame) == 0
    assert {"function", "expensive_ratio", "traced_calls"} <= set(frame.columns)


def test_fitting_a_fresh_model_traces_once(capture_of: Callable[[str], Path]) -> None:
    frame = compute_tf_functions(read_xspace(capture_of("keras_first_step").read_bytes()))
    step = frame[frame["function"] == "multi_step_on_iterator"].iloc[0]
    assert (step["traced_calls"], step["not_traced_calls"], step["tracing_count"]) == (1, N_LOOP_STEPS - 1, 1)
    assert step["expensive_ratio"] > EXPENSIVE
