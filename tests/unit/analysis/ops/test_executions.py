"""An execution is a run of an op, however many kernels it enqueues: on real captures of an H100, and drawn."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from tests.builders import EPOCH_NS, Event, U, event, line, plane, session, space, trace
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, empty_source_map


def device_ops(results: Analysis) -> pd.DataFrame:
    return results.ops[results.ops["device"] == "Device"].set_index("name")


def test_each_launch_of_a_cuda_graph_executes_its_ops_anew() -> None:
    def ran(at: float, launch: int) -> Event:
        told = {"tf_op": "net/dense:MatMul", "scope_range_id": 5, "cuda_graph_id": U(9), "correlation_id": U(launch)}
        return event("gemm", at, 5, kernel_details="regs:1", **told)

    stream = line(
        "Stream #1", *(ran(at + part, launch) for launch, at in enumerate((0, 100, 200), 1) for part in (0, 6))
    )
    results = Analysis(trace(plane("/host:CPU", line("main")), plane("/device:GPU:0", stream)))
    assert results.ops[["name", "occurrences", "avg_time_us"]].to_numpy().tolist() == [["net/dense", 3, 10]]


def drawn(*stream: Event, host: tuple[Event, ...] = ()) -> Trace:
    device = plane("/device:GPU:0", line("Stream #1", *stream, id=1), device_vendor="Nvidia")
    return trace(plane("/host:CPU", line("python", *host)), device, session(duration_us=1000))


def test_without_numbers_of_annotations_an_execution_ends_where_another_op_is_enqueued() -> None:
    def kernel(at: float, op: str, call: int) -> Event:
        return event(f"kernel {at}", at, 2, tf_op=f"{op}:MatMul", correlation_id=U(call))

    calls = tuple(event("cuLaunchKernel", at, 1, correlation_id=U(at)) for at in range(5))
    # The device runs them in another order than they were enqueued in.
    whole = drawn(
        kernel(10, "a", 0), kernel(20, "b", 2), kernel(30, "a", 1), kernel(40, "a", 4), kernel(50, "b", 3), host=calls
    )
    assert device_ops(Analysis(whole))["occurrences"].to_dict() == {"a": 2, "b": 1}


@pytest.mark.parametrize("compiling", ["XlaCompile:", "XlaAutotunerMeasurement:", "cudnn_autotuning"])
def test_kernels_that_a_compiler_tries_are_no_executions(compiling: str) -> None:
    host = (
        event(compiling, 0, 20),
        event("cuLaunchKernel", 5, 1, correlation_id=U(1)),
        event("cuLaunchKernel", 30, 1, correlation_id=U(2)),
    )
    stream = [
        event("gemm", at, 5, hlo_op="dot.1", tf_op="f:Call", correlation_id=U(call)) for at, call in ((10, 1), (40, 2))
    ]
    assert device_ops(Analysis(drawn(*stream, host=host)))["total_time_us"].tolist() == [5]


def test_a_kernel_of_an_eager_op_is_charged_to_the_line_that_calls_it() -> None:
    host = (
        event("EagerExecute", 0, 40, is_func=0),
        event("EagerLocalExecute: MatMul", 5, 30),
        event("cuLaunchKernel", 10, 5, correlation_id=U(7)),
    )
    whole = drawn(event("gemm", 50, 20, correlation_id=U(7)), host=host)
    samples = pd.DataFrame({"time_ns": [EPOCH_NS + 10_000, EPOCH_NS + 20_000], "frame": [0, 0]}, dtype="int64")
    source_map = replace(
        empty_source_map(),
        frames=pd.DataFrame({"parent": [-1], "file": [0], "line": [3], "function": ["step"]}),
        files=pd.DataFrame({"file": ["a.py"], "title": ["a.py"], "is_user": [True], "text": [""]}),
        samples=samples,
    )
    lines = Analysis(whole, source_map).source_lines.frame
    (row,) = lines[lines["self_time_us"] > 0].to_dict("records")
    assert (row["file"], row["line"], row["device"], row["self_time_us"]) == ("a.py", 3, "Device", 20)


def results_of(*events: Event) -> Analysis:
    return Analysis(read_xspace(space(plane("/host:CPU", line("python", *events)))))


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
