"""The table of ops, of the whole trace, of a part and of the averaged steps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import Event, event, line, plane, session, space, trace
from tests.unit.analysis.xprof_oracle import host_ops
from tfprof_widgets.analysis import IDLE, Analysis, aggregate_ops, only_waits, op_occurrences
from tfprof_widgets.export import summarize
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace

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
