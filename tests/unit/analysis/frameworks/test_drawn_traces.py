"""Drawn traces: which framework a trace is of, which run belongs to which call, and what repeats."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import Event, event, line, plane, trace
from tfprof_widgets.analysis import Analysis, compute_steps, framework_of, pool_links, program_calls, unwrapped
from tfprof_widgets.trace import Trace

BEGIN, END = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"


def call(start: int, name: str = "train_step") -> list[Event]:
    """A call of a compiled function, which JAX records twice, one in the other."""
    return [event(f"PjitFunction({name})", start, 4), event(f"PjitFunction({name})", start, 4)]


def run(number: int, start: int, name: str = "train_step") -> list[Event]:
    """A run of its program on a pool's thread, of 20 us."""
    op = event("dot", start + 1, 18, hlo_op="dot", hlo_module=f"jit_{name}", program_id=1, run_id=number)
    return [event(BEGIN, start, 0), event("ThunkExecutor::Execute", start + 1, 18), op, event(END, start + 20, 0)]


def drawn(calls: list[list[Event]], runs: list[list[Event]]) -> Trace:
    """A Python thread and a thread of a pool."""
    return trace(plane("/host:CPU", line("python", *sum(calls, [])), line("pool", *sum(runs, []))))


def test_the_framework_of_a_trace() -> None:
    assert framework_of(trace(plane("/host:CPU", line("a", event("MatMul:MatMul", 0, 1))))) == "TensorFlow"
    assert framework_of(drawn([call(0)], [])) == "JAX"
    assert framework_of(trace(plane("/host:metadata", jax_version="0.10.2"))) == "JAX"
    assert framework_of(trace(plane("/host:CPU", line("a", event("SyncTensorsGraph", 0, 1))))) == "PyTorch/XLA"


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (trace(plane("/host:CPU")), "with tfprof.profile() as prof: model.fit(...)"),
        (trace(plane("/host:CPU", jax_version="0.10.2")), 'with jax.profiler.trace("logs"): ...'),
        (trace(plane("/device:GPU:0"), plane("/host:CPU", line("a", event("SyncTensorsGraph", 0, 1)))), "torch_xla."),
    ],
)
def test_where_no_memory_was_recorded_the_code_is_of_the_framework(found: Trace, code: str) -> None:
    remedy = Analysis(found).memory.remedy
    assert remedy is not None
    assert remedy.splitlines()[-1].startswith(code)


def test_only_the_outermost_call_counts() -> None:
    found = drawn([call(0), call(10)], [])
    assert found.start_ps[program_calls(found)].tolist() == [0, 10_000_000]


def test_calls_far_ahead_of_their_runs_are_steps_from_run_to_run() -> None:
    found = drawn([call(0), call(5), call(10), call(15)], [run(i, 30 * i + 2) for i in range(4)])
    steps = compute_steps(found)
    assert steps.frame["name"].tolist() == [f"train_step {i}" for i in range(4)]
    assert (steps.frame["start_ps"] / 1e6).tolist() == [3, 33, 63, 93]
    assert (steps.frame["duration_ps"] / 1e6).tolist() == [30, 30, 30, 18]
    assert steps.frame["is_complete"].tolist() == [True, True, True, False]
    ops = np.flatnonzero(found.has_stat("hlo_op"))
    assert steps.event_step[ops].tolist() == [0, 1, 2, 3]


def test_a_run_that_was_called_before_the_capture_is_no_call_s() -> None:
    found = drawn([call(25), call(35)], [run(7, 0), run(8, 40), run(9, 70)])
    source, target = pool_links(found)
    linked = zip(found.start_ps[source].tolist(), found.start_ps[target].tolist(), strict=True)
    # The first by the begin of its piece of work alone.
    assert sorted(linked) == [(0, 1_000_000), (25_000_000, 41_000_000), (35_000_000, 71_000_000)]


def test_functions_are_told_apart_by_their_programs() -> None:
    calls = [call(0), call(5, "<lambda>"), call(10), call(15, "jit(evaluate)")]
    runs = [run(1, 20), run(2, 50, "_lambda"), run(3, 80), run(4, 110, "evaluate")]
    found = drawn(calls, runs)
    source, target = pool_links(found)
    linked = zip(found.start_ps[target].tolist(), found.start_ps[source].tolist(), strict=True)
    assert [call for _, call in sorted(linked)] == [0, 5_000_000, 10_000_000, 15_000_000]


def test_the_function_that_computes_most_is_the_training() -> None:
    calls = [call(0), call(5, "metric"), call(10), call(15, "metric"), call(20, "metric")]
    runs = [run(1, 30), run(2, 60, "metric"), run(3, 90)]
    steps = compute_steps(drawn(calls, runs))
    assert steps.frame["name"].tolist() == ["train_step 0", "train_step 1"]


def test_a_pause_between_steps_is_no_step() -> None:
    starts = [0, 30, 60, 500, 530, 560]
    found = drawn([call(start) for start in starts], [run(i, start + 5) for i, start in enumerate(starts)])
    frame = compute_steps(found).frame
    assert (frame["duration_ps"] / 1e6).tolist() == [30, 30, 18, 30, 30, 18]
    assert frame["is_complete"].tolist() == [True, True, False, True, True, False]


def test_a_call_that_happens_once_is_no_step() -> None:
    found = Analysis(drawn([call(0)], [run(1, 10)]))
    assert found.steps.frame.empty
    assert 'with jax.profiler.StepTraceAnnotation("train", step_num=i)' in found.overview.verdict_detail
    assert "tf" not in found.overview.verdict_detail


def test_pools_of_tensorflow_are_left_alone() -> None:
    found = trace(plane("/host:CPU", line("main", event("MatMul:MatMul", 0, 9)), line("pool", *run(-1, 20))))
    assert [len(rows) for rows in pool_links(found)] == [0, 0]


def test_a_marked_step_without_a_wait_lasts_until_its_work_has_run() -> None:
    marks = [[event("train", 10 * i, 5, _r=1, step_num=i), *call(10 * i + 1)[:1]] for i in range(3)]
    frame = compute_steps(drawn(marks, [run(i, 30 * i + 2) for i in range(3)])).frame
    assert (frame["start_ps"] / 1e6).tolist() == [0, 21, 51]
    assert ((frame["start_ps"] + frame["duration_ps"]) / 1e6).tolist() == [21, 51, 81]
    assert (frame["source"] == "marker").all()


@pytest.mark.parametrize(
    ("path", "scopes", "is_backward"),
    [
        ("jvp(loss)/dense_1", ("loss", "dense_1"), False),
        ("transpose(jvp(loss))/dense_1", ("loss", "dense_1"), True),
        ("jvp(loss)/dense_1/jit(relu)", ("loss", "dense_1"), False),
        ("jit(main)/vmap(encoder)/block", ("encoder", "block"), False),
        ("transpose(jvp())/dense", ("dense",), True),
        ("checkpoint(x)/transpose(y", ("x", "transpose(y"), False),
    ],
)
def test_what_jax_wraps_is_unwrapped(path: str, scopes: tuple[str, ...], is_backward: bool) -> None:
    assert unwrapped(path) == (scopes, is_backward)
