"""An execution is a run of an op, however many kernels it enqueues: on real captures of an H100, and drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders import EPOCH_NS, Event, U, event, line, plane, session, trace
from tests.captures import committed
from tfprof_widgets.analysis import Analysis, aggregate_ops, op_occurrences
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, empty_source_map

SCOPE = b"scope_range_id"


def device_ops(results: Analysis) -> pd.DataFrame:
    return results.ops[results.ops["device"] == "Device"].set_index("name")


@pytest.mark.parametrize("told", [True, False], ids=["by annotation", "by the order of calls"])
def test_a_cudnn_lstm_runs_once_a_step_however_many_time_steps_it_has(told: bool) -> None:
    content = committed.content("h100_lstm")
    assert SCOPE in content
    ops = device_ops(Analysis(read_xspace(content if told else content.replace(SCOPE, b"scope_range_ie"))))
    forward = ops[ops["type"] == "CudnnRNNV3"]
    assert forward["occurrences"].tolist() == [12, 12]
    assert forward["avg_time_us"].tolist() == pytest.approx([468.3, 468.2], abs=0.05)
    assert ops.loc[ops["type"] == "CudnnRNNBackpropV3", "occurrences"].tolist() == [12, 12]


@pytest.mark.parametrize(
    ("name", "n_steps"), [("h100_resnet_xla", 10), ("h100_cnn_input", 20), ("h100_resnet_mixed", 10)]
)
def test_what_runs_in_each_step_is_executed_once_in_each(
    name: str, n_steps: int, capture_of: Callable[[str], Path]
) -> None:
    results = Analysis(read_xspace(capture_of(name).read_bytes()))
    totals, occurrences = results.host_sums.on_all_hosts(), results.occurrences
    on_device = occurrences.is_device[totals.unit]
    assert np.mean(totals.count[on_device] == n_steps) > 0.99
    assert totals.count[on_device].max() == n_steps
    n_kernels = np.bincount(occurrences.op, minlength=len(occurrences.name))[totals.unit]
    assert (
        n_kernels[on_device] > totals.count[on_device]
    ).sum() >= 6  # of the ops of several kernels, such as convolutions


def test_a_custom_call_of_several_kernels_moves_its_bytes_once(capture_of: Callable[[str], Path]) -> None:
    results = Analysis(read_xspace(capture_of("h100_resnet_xla").read_bytes()))
    calls = results.hlo_ops.frame
    calls = calls[calls["category"] == "custom-call"]
    assert (calls["occurrences"] == 10).all()
    gibps = calls["bytes_accessed"] / (calls["avg_time_us"] / 1e6) / 2**30
    assert calls["memory_bandwidth_gibps"].tolist() == pytest.approx(gibps.tolist())


def test_each_launch_of_a_cuda_graph_executes_its_ops_anew() -> None:
    def ran(at: float, launch: int) -> Event:
        told = {"tf_op": "net/dense:MatMul", "scope_range_id": 5, "cuda_graph_id": U(9), "correlation_id": U(launch)}
        return event("gemm", at, 5, kernel_details="regs:1", **told)

    stream = line(
        "Stream #1", *(ran(at + part, launch) for launch, at in enumerate((0, 100, 200), 1) for part in (0, 6))
    )
    results = Analysis(trace(plane("/host:CPU", line("main")), plane("/device:GPU:0", stream)))
    assert results.ops[["name", "occurrences", "avg_time_us"]].to_numpy().tolist() == [["net/dense", 3, 10]]


def test_kernels_of_eager_ops_know_them_and_their_calls_run_nothing_on_the_host(
    capture_of: Callable[[str], Path],
) -> None:
    results = Analysis(read_xspace(capture_of("h100_eager").read_bytes()))
    ops = device_ops(results)
    assert ops.loc[["eager/MatMul", "eager/Mul", "eager/Relu"], "occurrences"].tolist() == [24, 36, 12]
    assert ops["eager"].all()
    kernels = results.kernels.frame
    assert (kernels["op_name"].str.startswith("eager/")).all()
    assert kernels.loc[kernels["name"].str.contains("splitKreduce"), "op_type"].tolist() == ["MatMul"]
    on_host = set(results.ops.loc[results.ops["device"] == "Host", "name"])
    assert on_host == {"eager/Reshape", "eager/ReadVariableOp", "eager/_EagerConst"}  # which enqueue no kernel
    rules = {one.rule: one for one in results.advice}
    assert "host_fallback" not in rules
    assert rules["eager_hot_loop"].evidence["python_ratio"] > 0.9  # 0.05 of 4.64 ms are kernels


@pytest.mark.parametrize("name", ["h100_eager", "h100_resnet_mixed"])
def test_compiling_is_compilation_and_no_op(name: str, capture_of: Callable[[str], Path]) -> None:
    whole = read_xspace(capture_of(name).read_bytes())
    assert any(text.startswith("Compiling IR:") for text in whole.strings)
    results = Analysis(whole)
    assert not results.ops["name"].str.contains("Compiling").any()
    assert not results.overview.top_ops["name"].str.contains("Compiling").any()


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


def test_a_range_counts_an_execution_of_which_it_has_a_part() -> None:
    stream = [event("k", at, 4, tf_op="a:MatMul", scope_range_id=at // 20) for at in (0, 10, 20, 30)]
    occurrences = op_occurrences(drawn(*stream))
    windows = [(0, 12), (12, 22), (0, 40)]
    counts = [aggregate_ops(occurrences.within(a * 10**6, b * 10**6))["occurrences"].sum() for a, b in windows]
    assert counts == [1, 2, 2]


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
