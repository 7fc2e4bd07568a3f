"""The table of ops, of the whole trace, of a part and of the averaged steps."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import Event, event, line, plane, session, space, trace
from tests.unit.analysis.xprof_oracle import host_ops
from tfprof_widgets.analysis import (
    ALL_HOSTS,
    IDLE,
    Analysis,
    aggregate_ops,
    by_type,
    only_waits,
    op_occurrences,
)
from tfprof_widgets.export import summarize
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces

N_EXAMPLES = 30
EVENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20), st.sampled_from("abcd")), min_size=1, max_size=12)


def host(*events: Event) -> Trace:
    return trace(plane("/host:CPU", line("main", *events)))


def random_host(events: list[tuple[int, int, str]]) -> Trace:
    return host(*(event(f"{name}:Op{name.upper()}", start, length) for start, length, name in events))


@settings(max_examples=N_EXAMPLES)
@given(EVENTS)
def test_however_ops_overlap_each_instant_is_charged_once(events: list[tuple[int, int, str]]) -> None:
    whole = random_host(events)
    expected, idle = host_ops(whole, has_quirks=False)
    frame = aggregate_ops(op_occurrences(whole), idle=True).set_index("name")
    for name, op in expected.items():
        assert frame.loc[name, "occurrences"] == op.occurrences
        assert frame.loc[name, "total_time_us"] * 1e6 == op.total_ps
        assert frame.loc[name, "total_self_time_us"] * 1e6 == op.self_ps
    assert frame.loc[IDLE, "total_time_us"] * 1e6 == idle


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


@settings(max_examples=N_EXAMPLES)
@given(EVENTS)
def test_a_range_around_everything_is_the_whole_trace(events: list[tuple[int, int, str]]) -> None:
    occurrences = op_occurrences(random_host(events))
    whole, ranged = (aggregate_ops(one, idle=True) for one in (occurrences, occurrences.within(0, 10**9)))
    pd.testing.assert_frame_equal(whole, ranged)


def test_an_op_counts_in_a_range_it_overlaps_and_one_without_duration_where_it_lies() -> None:
    occurrences = op_occurrences(host(event("long:A", 0, 10), event("point:B", 5, 0), event("later:C", 10, 5)))

    def counts(low: int, high: int) -> dict[str, int]:
        frame = aggregate_ops(occurrences.within(low * 10**6, high * 10**6))
        return dict(zip(frame["name"], frame["occurrences"], strict=True))

    assert counts(4, 6) == {"long": 1, "point": 1}
    assert counts(6, 10) == {"long": 1}
    assert counts(10, 11) == {"later": 1}
    assert counts(20, 30) == {}


def test_a_wrapper_of_another_kind_does_not_take_time_from_the_op_around_it() -> None:
    frame = aggregate_ops(
        op_occurrences(host(event("a:A", 0, 10), event("not an op", 1, 8), event("b:B", 2, 3)))
    ).set_index("name")
    assert frame.loc["a", "total_self_time_us"] == 7


def test_an_event_that_names_its_op_in_a_stat_is_an_execution_unless_it_is_an_allocation() -> None:
    whole = host(
        event("thunk", 0, 5, tf_op="m/x:MatMul"),
        event("MemoryAllocation", 6, 0, tf_op="m/y:Add"),
        event("MemoryAllocation", 2, 0, tf_op="m/x"),
    )
    frame = aggregate_ops(op_occurrences(whole))
    assert frame[["name", "type", "occurrences"]].to_numpy().tolist() == [["m/x", "MatMul", 1]]


def test_stages_of_an_instrumented_input_pipeline_are_ops_of_their_category() -> None:
    whole = host(
        event("read files", 0, 5, _ipl_stage_id=3, _ipl_stage_cat="Read"),
        event("x:MatMul", 6, 1, _ipl_stage_id=4),
        event("y:MatMul", 8, 1),
    )
    frame = aggregate_ops(op_occurrences(whole))
    assert frame[["name", "type"]].to_numpy().tolist() == [["read files", "Read"], ["y", "MatMul"]]


def test_parallel_streams_of_one_device_are_never_less_than_idle() -> None:
    streams = [line(f"Stream #{i}", event("kern", 0, 10, tf_op=f"op{i}:MatMul")) for i in range(2)]
    frame = aggregate_ops(op_occurrences(trace(plane("/device:GPU:0", *streams))), idle=True)
    assert frame.loc[frame["name"] == IDLE, "total_time_us"].tolist() == [0]
    assert set(frame["device"]) == {"Device"}


def test_kernels_that_are_not_of_an_op_are_idle_time_of_the_device() -> None:
    stream = line("Stream #1", event("MemcpyH2D", 0, 4), event("kern", 6, 4, tf_op="op:MatMul"))
    frame = aggregate_ops(op_occurrences(trace(plane("/device:GPU:0", stream))), idle=True).set_index("name")
    assert frame.loc[IDLE, "total_time_us"] == 6


def test_what_lies_on_derived_lines_is_not_counted_again() -> None:
    derived = line("Framework Ops", event("x:MatMul", 0, 5, tf_op="x:MatMul"), id=-559038734)
    frame = aggregate_ops(
        op_occurrences(trace(plane("/device:GPU:0", line("Stream #1", event("k", 0, 5, tf_op="x:MatMul")), derived)))
    )
    assert frame["occurrences"].tolist() == [1]


def test_types_add_their_ops_up_with_idle_time_as_a_type_of_its_own() -> None:
    whole = host(event("a:MatMul", 0, 4), event("b:MatMul", 5, 2), event("c:Relu", 8, 1), event("a:MatMul", 9, 1))
    types = by_type(aggregate_ops(op_occurrences(whole), idle=True))
    assert types["type"].tolist() == ["MatMul", IDLE, "Relu"]
    assert types["n_ops"].tolist() == [2, 1, 1]
    assert types["occurrences"].tolist() == [3, 0, 1]
    assert types["total_self_time_us"].tolist() == [7, 2, 1]
    assert types["avg_time_us"].tolist() == pytest.approx([7 / 3, 0, 1])
    assert types["cumulative_ratio"].tolist() == pytest.approx([0.7, 0.9, 1])
    assert types["rank"].tolist() == [1, 2, 3]


def test_a_side_that_was_not_observed_in_a_range_has_no_idle_time_there() -> None:
    kernels = line("Stream #1", event("kern", 10, 4, tf_op="op:MatMul"))
    both = trace(plane("/host:CPU", line("main", event("a:A", 0, 4))), plane("/device:GPU:0", kernels))
    occurrences = op_occurrences(both)

    def idle(low: int, high: int) -> list[str]:
        frame = aggregate_ops(occurrences.within(low * 10**6, high * 10**6), idle=True)
        return frame.loc[frame["name"] == IDLE, "device"].tolist()

    assert (idle(0, 4), idle(11, 12), idle(5, 9), idle(0, 20)) == (["Host"], ["Device"], [], ["Device", "Host"])


def steps(n: int) -> list[Event]:
    """Steps that run an op in another, after one that a compilation makes long."""
    first = [
        event("train", 0, 90, _r=1, step_num=0),
        event("tf.function-graph_building", 1, 60),
        event("net/x:A", 65, 20),
    ]
    usual = [
        one
        for i in range(1, n + 1)
        for one in (
            event("train", 80 + 20 * i, 20, _r=1, step_num=i),
            event("net/x:A", 81 + 20 * i, 10),
            event("net/y:B", 83 + 20 * i, 4),
            event("cuLaunchKernel", 92 + 20 * i, 1, correlation_id=i),
        )
    ]
    return first + usual


def results(n: int = 3) -> Analysis:
    details = "regs:32 grid:1,1,1 block:1,1,1"
    kernels = [
        event("gemm", 93 + 20 * i, i, correlation_id=i, kernel_details=details, tf_op="net/x:A")
        for i in range(1, n + 1)
    ]
    early = event("gemm", 10, 9, kernel_details=details, tf_op="net/x:A")
    planes = [plane("/host:CPU", line("python", *steps(n))), plane("/device:GPU:0", line("Stream #1", early, *kernels))]
    return Analysis(read_xspace(space(session(duration_us=1000), *planes)))


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


def test_ops_of_steps_are_means_over_the_averaged_ones_devices_first() -> None:
    found = results().step_ops
    assert found[["device", "name", "occurrences"]].to_numpy().tolist() == [
        ["Device", "net/x", 1.0],
        ["Host", "net/x", 1.0],
        ["Host", "net/y", 1.0],
    ]
    assert found["self_time_ms"].tolist() == pytest.approx([0.002, 0.006, 0.004])
    assert found["self_time_ratio"].tolist() == pytest.approx([1.0, 0.6, 0.4])


def test_what_only_waits_or_ran_before_the_averaged_steps_is_none_of_them() -> None:
    early = event("once/w:Init", 62, 2)
    waiting = event("Iterator::Root::Prefetch", 100, 50)
    planes = [plane("/host:CPU", line("python", *steps(3), early), line("data", waiting))]
    found = Analysis(read_xspace(space(session(duration_us=1000), *planes))).step_ops
    assert found["name"].tolist() == ["net/x", "net/y"]


def test_the_text_lists_them_and_says_so() -> None:
    text = summarize(results())
    assert "Ops by self time a step: 3 of 3" in text
    assert " 0.006   60 %        1  net/x (A, host)" in text


def test_without_averaged_steps_the_text_is_of_the_capture() -> None:
    planes = [plane("/host:CPU", line("python", event("net/x:A", 0, 10)))]
    assert "Ops by self time: 1 of 1" in summarize(Analysis(read_xspace(space(session(duration_us=1000), *planes))))


Row = tuple[int, str, int, float, float]


def host_on_top(name: str, *events: Event, kernel_us: int = 0) -> Trace:
    kernels = [event("gemm", 2, kernel_us, tf_op="net/op:MatMul")] if kernel_us else []
    planes = [plane("/host:CPU", line("python", *events)), plane("/device:GPU:0", line("Stream #1", *kernels))]
    return read_xspace(space(session(duration_us=1000), *planes, hostnames=[name]))


def steps_on_top(n: int, op_us: int) -> list[Event]:
    """Steps that run an op each, after one that a compilation makes long."""
    compiling = [event("train", 0, 90, _r=1, step_num=0), event("tf.function-graph_building", 1, 60)]
    first = [*compiling, event("net/once:Init", 65, 20)]
    usual = [
        one
        for i in range(n)
        for one in (
            event("train", 100 + 20 * i, 20, _r=1, step_num=i + 1),
            event("net/op:MatMul", 101 + 20 * i, op_us),
        )
    ]
    return first + usual


def rows(results: Analysis) -> list[Row]:
    found = results.top_ops
    names = [results.op_shares.name[op] for op in found["op"]]
    numbers = (found[name].tolist() for name in ("occurrences", "self_time_ms_per_step", "self_time_ratio"))
    return list(zip(found["host"].tolist(), names, *numbers, strict=True))


def test_of_several_hosts_each_has_its_own_a_step() -> None:
    results = Analysis(merge_traces([host_on_top("b", *steps_on_top(3, 8)), host_on_top("a", *steps_on_top(2, 4))]))
    assert rows(results) == [
        (ALL_HOSTS, "net/op", 5, 0.0064, 1.0),
        (0, "net/op", 3, 0.008, 1.0),
        (1, "net/op", 2, 0.004, 1.0),
    ]


def test_of_a_host_without_steps_the_whole_capture_counts() -> None:
    results = Analysis(
        merge_traces([host_on_top("b", *steps_on_top(3, 8)), host_on_top("a", event("net/serve:Send", 5, 7))])
    )
    assert rows(results) == [
        (ALL_HOSTS, "net/op", 3, 0.008, 1.0),
        (0, "net/op", 3, 0.008, 1.0),
        (1, "net/serve", 1, 0.007, 1.0),
    ]


def test_without_ops_there_are_none() -> None:
    assert rows(Analysis(host_on_top("a"))) == []
