"""The table of ops and what an execution is; copies, and calls of `tf.function`s."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import EPOCH_NS, Event, U, event, line, plane, session, space, trace
from tfprof_widgets.analysis import IDLE, Analysis, aggregate_ops, compute_tf_functions, only_waits, op_occurrences
from tfprof_widgets.export import summarize
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, empty_source_map

N_EXAMPLES = 30
EVENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20), st.sampled_from("abcd")), min_size=1, max_size=12)


def host(*events: Event) -> Trace:
    return trace(plane("/host:CPU", line("main", *events)))


def random_host(events: list[tuple[int, int, str]]) -> Trace:
    return host(*(event(f"{name}:Op{name.upper()}", start, length) for start, length, name in events))


@settings(max_examples=N_EXAMPLES)
@given(EVENTS, st.tuples(*[st.integers(0, 60)] * 3))
def test_neighbouring_ranges_add_up_to_their_union(
    events: list[tuple[int, int, str]], cuts: tuple[int, int, int]
) -> None:
    low, middle, high = (cut * 10**6 for cut in sorted(cuts))
    occurrences = op_occurrences(random_host(events))

    def times(a: int, b: int) -> dict[str, tuple[float, float]]:
        frame = aggregate_ops(occurrences.within(a, b), idle=True)
        return {row.name: (row.total_time_us, row.total_self_time_us) for row in frame.itertuples(index=False)}

    left, right, union = times(low, middle), times(middle, high), times(low, high)
    for name, (total, own) in union.items():
        parts = [side.get(name, (0.0, 0.0)) for side in (left, right)]
        assert total == sum(part[0] for part in parts)
        assert own == sum(part[1] for part in parts)


def test_an_op_counts_in_a_range_it_overlaps_and_one_without_duration_where_it_lies() -> None:
    occurrences = op_occurrences(host(event("long:A", 0, 10), event("point:B", 5, 0), event("later:C", 10, 5)))

    def counts(low: int, high: int) -> dict[str, int]:
        frame = aggregate_ops(occurrences.within(low * 10**6, high * 10**6))
        return dict(zip(frame["name"], frame["occurrences"], strict=True))

    assert counts(4, 6) == {"long": 1, "point": 1}
    assert counts(6, 10) == {"long": 1}
    assert counts(10, 11) == {"later": 1}
    assert counts(20, 30) == {}


def test_an_event_that_names_its_op_in_a_stat_is_an_execution_unless_it_is_an_allocation() -> None:
    whole = host(
        event("thunk", 0, 5, tf_op="m/x:MatMul"),
        event("MemoryAllocation", 6, 0, tf_op="m/y:Add"),
        event("MemoryAllocation", 2, 0, tf_op="m/x"),
    )
    frame = aggregate_ops(op_occurrences(whole))
    assert frame[["name", "type", "occurrences"]].to_numpy().tolist() == [["m/x", "MatMul", 1]]


def test_what_lies_on_derived_lines_is_not_counted_again() -> None:
    derived = line("Framework Ops", event("x:MatMul", 0, 5, tf_op="x:MatMul"), id=-559038734)
    frame = aggregate_ops(
        op_occurrences(trace(plane("/device:GPU:0", line("Stream #1", event("k", 0, 5, tf_op="x:MatMul")), derived)))
    )
    assert frame["occurrences"].tolist() == [1]


def test_a_side_that_was_not_observed_in_a_range_has_no_idle_time_there() -> None:
    kernels = line("Stream #1", event("kern", 10, 4, tf_op="op:MatMul"))
    both = trace(plane("/host:CPU", line("main", event("a:A", 0, 4))), plane("/device:GPU:0", kernels))
    occurrences = op_occurrences(both)

    def idle(low: int, high: int) -> list[str]:
        frame = aggregate_ops(occurrences.within(low * 10**6, high * 10**6), idle=True)
        return frame.loc[frame["name"] == IDLE, "device"].tolist()

    assert (idle(0, 4), idle(11, 12), idle(5, 9), idle(0, 20)) == (["Host"], ["Device"], [], ["Device", "Host"])


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("Iterator::Root::Prefetch", True),
        ("Iterator::Root::Prefetch::ParallelMapV2", True),
        ("Iterator::Root::Prefetch::FiniteTake::MapAndBatch[0]", True),
        ("Iterator::Root::Prefetch::Map", False),
        ("Iterator::Root", False),
        ("Iterator::Root::Prefetch::BatchV2::TFRecord", False),
    ],
)
def test_iterators_whose_elements_other_threads_make_only_wait(name: str, waits: bool) -> None:
    assert only_waits(name, "Dataset") == waits
    assert not only_waits(name, "MatMul")


def test_without_averaged_steps_the_text_is_of_the_capture() -> None:
    planes = [plane("/host:CPU", line("python", event("net/x:A", 0, 10)))]
    assert "Ops by self time: 1 of 1" in summarize(Analysis(read_xspace(space(session(duration_us=1000), *planes))))


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
    samples = pd.DataFrame(
        {"time_ns": [EPOCH_NS + 10_000, EPOCH_NS + 20_000], "frame": [0, 0], "other": -1}, dtype="int64"
    )
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


TO_DEVICE, TO_HOST = "host to device", "device to host"


def copy(name: str, at: float, us: float, call: int, **stats: Any) -> Event:
    kinds = {"memcpy_details": f"kind_src:pinned kind_dst:device size:{2000 * call} dest:0 async:1"}
    return event(name, at, us, correlation_id=U(call), **kinds | stats)


def copies_of(*streams: tuple[Event, ...], n_devices: int = 1) -> pd.DataFrame:
    lines = [line(f"Stream #{k}", *events, id=k + 1) for k, events in enumerate(streams)]
    devices = [plane(f"/device:GPU:{k}", *lines) for k in range(n_devices)]
    steps = [event("train", at, 100, _r=1, step_num=at // 100, group_id=at // 100) for at in (0, 100)]
    return Analysis(trace(plane("/host:CPU", line("python", *steps)), *devices)).copies


def test_a_copy_is_hidden_while_a_kernel_runs_on_its_device_and_not_behind_copies_and_memsets() -> None:
    kernels = (event("gemm", 12, 3, correlation_id=U(8)), event("gemm", 13, 4, correlation_id=U(9)))
    others = (event("Memset", 20, 5, correlation_id=U(7), Memset_details="kind:device"), copy("MemcpyD2H", 10, 10, 2))
    copies = copies_of((copy("MemcpyH2D", 10, 10, 1), copy("MemcpyH2D", 20, 5, 3)), kernels, others, n_devices=2)
    found = copies.set_index("direction")[["occurrences", "bytes", "hidden_time_ms", "exposed_time_ms", "gb_per_s"]]
    assert found.loc[TO_DEVICE].tolist() == pytest.approx([4, 16_000, 0.010, 0.020, 16_000 / 30e3])
    assert found.loc[TO_HOST].tolist() == pytest.approx([2, 8_000, 0.010, 0.010, 8_000 / 20e3])


@pytest.mark.parametrize(("back_at", "n"), [(30, 1), (5, 0), (130, 0)], ids=["later", "before", "in the next step"])
def test_a_round_trip_ends_in_its_step(back_at: int, n: int) -> None:
    out = copy("MemcpyD2H", 10, 10, 1, **{"from": "net/a", "to": "net/on_host"}, group_id=0)
    back = copy("MemcpyH2D", back_at, 5, 2, **{"from": "net/on_host", "to": "net/b"}, group_id=back_at // 100)
    copies = copies_of((out, back))
    assert copies.set_index("direction")["round_trips"].to_dict() == {TO_HOST: 0, TO_DEVICE: n}


def test_sizes_that_no_memory_has_add_up_to_none_below_0() -> None:
    huge = {"memcpy_details": f"size:{'9' * 18}"}
    copies = copies_of(tuple(copy("MemcpyH2D", at, 1, 1, **huge) for at in range(0, 40, 2)))
    assert copies["bytes"].tolist() == [0]


def test_without_a_gpu_there_are_none_and_what_is_not_told_is_not_a_number() -> None:
    assert copies_of().empty
    (row,) = copies_of((event("MemcpyH2D", 0, 5, correlation_id=U(1)),)).to_dict("records")
    assert (row["bytes"], row["source"], row["op"], row["read_by"], row["tensor"]) == (0, "", "", "", "")
    assert pd.isna(row["gb_per_s"])
    assert pd.isna(row["bytes_per_copy"])


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
