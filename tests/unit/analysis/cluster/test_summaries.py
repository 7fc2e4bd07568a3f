"""A reduced profile: what a host's file comes down to, that its tables are those of the files read whole, and what it lacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders import Event, event, line, plane, session, space
from tests.unit.analysis.cluster.comparison import Both, assert_fields, assert_same, copies, gains
from tests.unit.analysis.cluster.conftest import LATER_NS, RUNS
from tests.unit.analysis.steps import test_tpu_steps as tpu
from tfprof_widgets.analysis import (
    MOST,
    OTHER_COPIES,
    OTHER_EXCHANGES,
    OTHER_KERNELS,
    OTHER_OPS,
    Analysis,
    MemoryGrowth,
    PackedFrame,
    Stack,
    merge_hosts,
    summarize_host,
)
from tfprof_widgets.errors import TfProfError, TraceError
from tfprof_widgets.read import open_traces, read_xspace
from tfprof_widgets.trace import Trace


def host(name: str, *events: Event) -> Trace:
    return read_xspace(
        space(session(duration_us=10_000), plane("/host:CPU", line("python", *events)), hostnames=[name])
    )


def steps_with(n_ops: int, n_steps: int = 3, n_pieces: int = 1) -> list[Event]:
    """Steps of 1 ms with ops of rising length, each with gaps between."""
    events = []
    for step in range(n_steps):
        at = 1000.0 * step
        events.append(event("train", at, 990, _r=1, step_num=step))
        for piece in range(n_pieces):
            for op in range(n_ops):
                begin = at + 900 * (piece * n_ops + op) / (n_ops * n_pieces)
                events.append(event(f"net/op_{op}:MatMul", begin, (0.2 + 0.6 * op / n_ops) * 900 / (n_ops * n_pieces)))
    return events


def both(*traces: Trace) -> Both:
    return Both.of_traces(traces)


def test_ops_beyond_the_most_are_one_row_a_side_and_all_totals_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MOST, "units", 3)
    found = both(host("a", *steps_with(8)), host("b", *steps_with(2)))
    assert len(found.reduced.of_hosts.summaries[0].tables["units"]) == 5
    ops = found.reduced.ops
    assert ops[["total_self_time_us", "occurrences"]].sum().tolist() == pytest.approx(
        found.whole.ops[["total_self_time_us", "occurrences"]].sum().tolist()
    )
    assert set(ops["name"]) == {"net/op_7", "net/op_6", "net/op_5", "net/op_0", "net/op_1", OTHER_OPS}
    assert found.reduced.overview.host_idle_ratio == pytest.approx(found.whole.overview.host_idle_ratio)


def test_a_notice_says_how_many_ops_of_how_many_are_listed(
    monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]
) -> None:
    reduced = both(host("a", *steps_with(8)), host("b", *steps_with(2))).reduced
    assert reduced.notices == ()
    monkeypatch.setattr(MOST, "units", 3)
    assert reduced.notices == (
        "1 of 2 hosts (a) ran more ops than a reduced profile has: the 3 of 8 that took most time are listed, the time of the "
        "others is in the row 'other ops'.",
    )


def test_kernels_beyond_the_most_are_one_row(monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]) -> None:
    whole = both_of("devices").whole
    monkeypatch.setattr(MOST, "kernels", 1)
    frame = merge_hosts([summarize_host(whole)]).kernels.frame
    sums = ["occurrences", "total_time_us"]
    assert frame[sums].sum().tolist() == pytest.approx(whole.kernels.frame[sums].sum().tolist())
    assert set(frame["name"]) == {whole.kernels.frame["name"].iloc[0], OTHER_KERNELS}
    assert frame["max_time_us"].max() == whole.kernels.frame["max_time_us"].max()


def test_exchanges_beyond_the_most_are_one_row_a_kind(
    monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]
) -> None:
    of_hosts = both_of("stragglers").whole
    results, whole = Analysis(of_hosts.trace), of_hosts.communication.assign(host="a")
    vars(results)["communication"] = whole
    monkeypatch.setattr(MOST, "exchanges", 2)
    frame = summarize_host(results).tables["communication"].frame
    sums = ["occurrences", "total_time_us", "exposed_time_us", "bytes"]
    assert frame[sums].sum().tolist() == pytest.approx(whole[sums].sum().tolist())
    assert len(frame) < len(whole)
    assert frame["name"].tolist().count(OTHER_EXCHANGES) == len(frame) - 2


def test_rows_of_a_peak_beyond_the_most_are_one_row(
    monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]
) -> None:
    results = both_of("keras_fit").whole
    memory = results.memory
    monkeypatch.setattr(MOST, "peak_rows", 2)
    allocator = memory.allocators[0]
    peaks = summarize_host(results).tables["peaks"].frame
    peak, whole = peaks[peaks["allocator"] == 0], memory.peak(allocator)
    assert peak["total_bytes"].sum() == whole["total_bytes"].sum()
    assert peak["op"].iloc[-1] == f"other ops ({len(whole) - 2:,} of {len(whole):,} rows)"


def test_memory_of_ops_beyond_the_most_is_one_op(
    monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]
) -> None:
    whole = both_of("keras_fit").whole
    monkeypatch.setattr(MOST, "ops", 2)
    used = summarize_host(whole).tables["memory_ops"]
    assert len(used) == 3
    assert used["allocated_bytes"].sum() == whole.memory_by_op.allocated_bytes.sum()
    assert used["peak_bytes"].sum() == whole.memory_by_op.peak_bytes.sum()


def test_a_text_of_a_compiled_op_that_is_cut_shows_it(
    monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]
) -> None:
    whole = both_of("devices").whole
    texts = whole.hlo_ops.frame["expression"].tolist()
    monkeypatch.setattr(MOST, "expression", 5)
    reduced = merge_hosts([summarize_host(whole)])
    n_cut = sum(len(text) > 5 for text in texts)
    assert n_cut > 0
    shown = reduced.hlo_ops.frame["expression"].tolist()
    assert sorted(shown) == sorted(text if len(text) <= 5 else f"{text[:5]}…" for text in texts)
    (told,) = (one for one in reduced.notices if "text" in one)
    assert (
        told
        == f"Of {n_cut} of {len(texts)} HLO ops only the first 5 characters of their text are here; they end in '…'."
    )


def test_pipelines_that_took_most_time_travel(monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]) -> None:
    whole = both_of("devices").whole
    tf_data = whole.tf_data
    assert len(tf_data.pipelines) == 3
    monkeypatch.setattr(MOST, "pipelines", 1)
    found = summarize_host(whole).tables
    [kept] = found["pipelines"]["id"].tolist()
    assert found["pipelines"]["total_time_ms"].tolist() == [tf_data.pipelines["total_time_ms"].max()]
    assert len(found["iterators"]) == (tf_data.iterators["pipeline"] == kept).sum()
    assert set(found["iterators"]["pipeline"].tolist()) == {0}


def test_the_pieces_of_a_step_are_few_and_fill_it() -> None:
    trace = host("a", *steps_with(3, n_pieces=30))
    whole = Analysis(trace).steps
    assert whole.pieces.groupby("step").size().min() > MOST.pieces
    reduced = merge_hosts([summarize_host(Analysis(trace))]).steps
    assert reduced.pieces.groupby("step").size().max() <= MOST.pieces
    end = reduced.pieces["start_ps"] + reduced.pieces["duration_ps"]
    for step, own in reduced.pieces.groupby("step"):
        row = reduced.frame.iloc[int(step)]
        assert own["start_ps"].iloc[0] == row["start_ps"]
        assert end[own.index].iloc[-1] == row["start_ps"] + row["duration_ps"]
        assert (own["start_ps"].iloc[1:].to_numpy() == end[own.index].iloc[:-1].to_numpy()).all()


def test_steps_drawn_in_outline_are_told_with_how_many_of_how_many() -> None:
    found = both(host("a", *steps_with(3, n_pieces=30)), host("b", *steps_with(2, n_steps=2)))
    n_drawn, n_all = len(found.reduced.steps.pieces), len(found.whole.steps.pieces)
    assert found.reduced.notices == (
        "1 of 2 hosts (a) ran steps of more parts than the timeline of a reduced profile has: it outlines 3 of 5 "
        f"steps, and draws all in {n_drawn:,} parts in place of {n_all:,}, at most 24 a step and 1,000 a host.",
    )
    assert both(host("a", *steps_with(2)), host("b", *steps_with(2))).reduced.notices == ()


def test_a_host_can_be_given_another_name(tmp_path: Path) -> None:
    parts = [summarize_host(Analysis(host("vm", *steps_with(2))), path=str(tmp_path)).renamed(name) for name in "ab"]
    results = merge_hosts(parts)
    assert results.hosts["host"].tolist() == ["a", "b"]
    assert set(results.steps.frame["host"]) == {"a", "b"}


def test_what_one_host_has_as_whole_numbers_another_may_lack() -> None:
    whole = pd.DataFrame({"calls": [1, 2], "name": ["a", "b"]})
    damaged = pd.DataFrame({"calls": [np.nan], "name": pd.Series([None], dtype=object)})
    for tables in ((whole, damaged), (damaged, whole)):
        stack = Stack([{"tf_functions": PackedFrame.of(one)} for one in tables], [1, 1], [0, 0])
        assert sorted(stack["tf_functions"]["calls"].dropna()) == [1, 2]
        assert stack["tf_functions"]["name"].isna().sum() == 1


def lines_of(trace: Trace, name: str) -> dict[str, list[str]]:
    """Names of events by line of one host's threads, in order."""
    found = {}
    for i, one in enumerate(trace.lines):
        if trace.planes[one.plane].host == name and trace.planes[one.plane].is_host:
            rows = slice(int(trace.line_offsets[i]), int(trace.line_offsets[i + 1]))
            found[one.name] = [trace.strings[k] for k in trace.name_id[rows].tolist()]
    return found


def test_each_host_has_its_steps_their_parts_and_its_longest_events(both_of: Callable[[str], Both]) -> None:
    found = lines_of(both_of("stragglers").reduced.trace, "worker0003")
    assert list(found) == ["Steps", "Step time", "Longest events"]
    assert found["Steps"] == [f"train {i}" for i in range(12)]
    assert set(found["Step time"]) == {"Host compute", "Communication", "Python, dispatch", "Input"} & set(
        found["Step time"]
    )
    assert len(found["Longest events"]) == MOST.longest
    assert set(found["Longest events"]) <= {
        "dense/MatMul:MatMul",
        "dense/Relu:Relu",
        "CollectiveReduceV2:CollectiveReduceV2",
    }


def test_events_are_where_the_files_read_whole_have_them(both_of: Callable[[str], Both]) -> None:
    both = both_of("devices")
    assert both.reduced.trace.origin_ns == both.whole.trace.origin_ns
    mine, theirs = (
        {
            (trace.planes[trace.plane_id[i]].host, trace.strings[trace.name_id[i]], int(trace.start_ps[i]))
            for i in np.flatnonzero(~trace.on_lines([one.is_derived for one in trace.lines])).tolist()
        }
        for trace in (both.reduced.trace, both.whole.trace)
    )
    assert mine < theirs
    assert both.reduced.trace.sessions == both.whole.trace.sessions


def test_a_host_that_does_not_say_when_it_started_begins_with_the_others_and_a_warning_tells() -> None:
    traces = [host(name, *steps_with(1)) for name in "ab"]
    traces[0] = replace(traces[0], origin_ns=traces[1].origin_ns + LATER_NS)
    traces[1] = replace(traces[1], origin_ns=0)
    found = Both.of_traces(traces)
    assert found.reduced.trace.warnings == found.whole.trace.warnings
    assert found.reduced.steps.frame["start_ps"].tolist() == found.whole.steps.frame["start_ps"].tolist()


def test_hosts_of_different_weeks_are_not_one_run() -> None:
    traces = [host(name, *steps_with(1)) for name in "ab"]
    late = replace(traces[1], origin_ns=traces[1].origin_ns + 20 * 86400 * 10**9)
    with pytest.raises(TraceError, match=r"Two traces start 20\.0 days apart"):
        merge_hosts([summarize_host(Analysis(one)) for one in (traces[0], late)])


def test_nothing_to_merge_says_so() -> None:
    with pytest.raises(TraceError, match="no host to merge"):
        merge_hosts([])


def test_steps_of_a_host_are_on_one_plane_whichever_of_its_files_has_it() -> None:
    first, other = (read_xspace(space(tpu.core(0), session(duration_us=1000), hostnames=[name])) for name in "ab")
    results = merge_hosts([summarize_host(Analysis(one)) for one in (first, host("a", *steps_with(1)), other)])
    trace = results.trace
    steps = {(trace.planes[one.plane].host, trace.planes[one.plane].name) for one in trace.lines if one.is_derived}
    assert steps == {("a", "/host:CPU"), ("b", "/device:TPU:0")}
    assert sorted(lines_of(trace, "a")["Steps"]) == ["0", "1", "2", "train 0", "train 1", "train 2"]
    assert [plane.name for plane in trace.planes if plane.host == "a"].count("/host:CPU") == 1


TABLES: dict[str, Callable[[Analysis], pd.DataFrame]] = {
    "steps": lambda results: results.steps.frame,
    "ops": lambda results: results.ops,
    "ops_and_idle": lambda results: results.ops_and_idle,
    "kernels": lambda results: results.kernels.frame,
    "hlo_ops": lambda results: results.hlo_ops.frame,
    "workers": lambda results: results.workers.frame,
    "stragglers": lambda results: results.stragglers,
    "communication": lambda results: results.communication,
    "hosts": lambda results: results.hosts.drop(columns="path"),
    "memory": lambda results: results.memory.summary,
    "pipelines": lambda results: results.input_pipeline.pipelines,
    "iterators": lambda results: results.input_pipeline.iterators,
    "slowest_calls": lambda results: results.tf_data.slowest_calls,
    "input_ops": lambda results: results.input_pipeline.ops,
    "input_categories": lambda results: results.input_pipeline.categories,
    "input_hosts": lambda results: results.input_pipeline.hosts,
    "input_steps": lambda results: results.input_pipeline.steps,
    "breakdown": lambda results: results.overview.breakdown,
    "tf_functions": lambda results: results.overview.tf_functions,
    "layers": lambda results: results.layers.frame,
    "scopes": lambda results: results.scopes.frame,
    "source_lines": lambda results: results.source_lines.frame,
    "variables": lambda results: results.variables,
}
OVERVIEW = (
    *("n_steps", "n_steps_averaged", "step_time_avg_ms", "step_time_std_ms", "step_time_min_ms", "step_time_max_ms"),
    *("is_averaged", "left_out", "is_inferred", "limiter", "kind", "verdict_detail", "busy_ratio", "findings"),
    *("compute_16bit_ratio", "compute_32bit_ratio", "host_time_ratio", "device_time_ratio", "host_eager_ratio"),
    *("device_eager_ratio", "device_idle_ratio", "host_idle_ratio", "device_duty_cycle_ratio", "environment"),
)
GROWTH = tuple(field.name for field in fields(MemoryGrowth))
INPUT = ("verdict", "input_ratio", "bottleneck", "is_input_bound", "sentence")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("run", RUNS)
def test_tables_are_those_of_the_files_read_whole(run: str, table: str, both_of: Callable[[str], Both]) -> None:
    both = both_of(run)
    assert_same(TABLES[table](both.reduced), TABLES[table](both.whole))


def test_copies_and_executions_on_devices_of_hosts_add_up(
    capture_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = copies(open_traces(capture_of("h100_lstm")).trace, ["b", "a"])
    both = Both.of_traces(traces)
    assert len(both.whole.copies) > 10
    assert_same(both.reduced.copies, both.whole.copies)
    counts = [one.ops.set_index(["device", "name"])["occurrences"] for one in (both.reduced, both.whole)]
    pd.testing.assert_series_equal(*counts, check_like=True)
    assert (both.whole.copies["occurrences"] == 2 * Analysis(traces[0]).copies["occurrences"]).all()
    monkeypatch.setattr(MOST, "copies", 3)
    cut = Both.of_traces(traces).reduced
    assert len(cut.copies) == 4
    assert cut.copies["bytes"].sum() == both.whole.copies["bytes"].sum()
    assert OTHER_COPIES in cut.copies["op"].tolist()


@pytest.mark.parametrize("run", RUNS)
def test_the_overview_is_that_of_the_files_read_whole(run: str, both_of: Callable[[str], Both]) -> None:
    both = both_of(run)
    assert_fields(both.reduced.overview, both.whole.overview, OVERVIEW)
    # What has most of the time only single executions tell.
    assert both.reduced.overview.verdict == re.sub(r", most of it [^;.]*(?=[;.])", "", both.whole.overview.verdict)


@pytest.mark.parametrize("run", RUNS)
def test_the_input_is_judged_as_of_the_files_read_whole(run: str, both_of: Callable[[str], Both]) -> None:
    both = both_of(run)
    assert_fields(both.reduced.input_pipeline, both.whole.input_pipeline, INPUT)


@pytest.mark.parametrize("run", RUNS)
def test_who_holds_memory_at_the_peak_is_told_as_of_the_files_read_whole(
    run: str, both_of: Callable[[str], Both]
) -> None:
    mine, theirs = both_of(run).reduced.memory, both_of(run).whole.memory
    assert mine.allocators == theirs.allocators
    assert_same(mine.peak(), theirs.peak())
    assert_same(mine.held_at_peak(), theirs.held_at_peak())
    for allocator in theirs.allocators:
        assert_same(mine.peak(allocator), theirs.peak(allocator))
        assert_same(mine.held_at_peak(allocator), theirs.held_at_peak(allocator))
        assert_fields(mine.growth(allocator), theirs.growth(allocator), GROWTH)


@pytest.mark.parametrize("run", RUNS)
def test_the_advice_is_that_of_the_files_read_whole(run: str, both_of: Callable[[str], Both]) -> None:
    both = both_of(run)
    # Which steps are usual is judged on each host by itself, so that of a real one the gain may differ a little.
    assert gains(both.reduced.advice) == pytest.approx(gains(both.whole.advice), abs=0.03)


@pytest.fixture
def reduced(both_of: Callable[[str], Both]) -> Analysis:
    return both_of("devices").reduced


@pytest.mark.parametrize(
    ("name", "arguments", "call"),
    [
        ("timeline", (), r"timeline\('GPU_0_bfc'\)"),
        ("live", (1.0,), r"live\('GPU_0_bfc', at_ms\)"),
        ("lifetimes", (), r"lifetimes\('GPU_0_bfc'\)"),
        ("steps", (), r"steps\('GPU_0_bfc'\)"),
        ("unfreed", (), r"unfreed\('GPU_0_bfc'\)"),
    ],
)
def test_single_allocations_are_on_the_host(
    name: str, arguments: tuple[float, ...], call: str, reduced: Analysis
) -> None:
    with pytest.raises(TfProfError, match=rf"a reduced profile has no .*: .*prof\.host\('worker-1'\)\.memory\.{call}"):
        getattr(reduced.memory, name)("worker-1: GPU_0_bfc", *arguments)
    with pytest.raises(KeyError, match="no allocator 'x'; there are: a-worker: GPU_1_bfc"):
        getattr(reduced.memory, name)("x", *arguments)


def test_the_memory_view_says_why_it_is_empty_and_what_to_run(reduced: Analysis) -> None:
    assert not hasattr(reduced.memory, "snapshots")
    remedy = reduced.memory.remedy
    assert remedy is not None
    assert remedy.startswith("A reduced profile has the peak of each allocator, but not its allocations over time.")
    assert remedy.splitlines()[-1].startswith("prof.host('a-worker').memory_timeline()")


def test_single_calls_of_a_pipeline_are_on_the_host(reduced: Analysis) -> None:
    row = reduced.input_pipeline.pipelines["host"].tolist().index("worker-1")
    with pytest.raises(TfProfError, match=r"prof\.host\('worker-1'\)\.input_pipeline\.execution\(0, 2\)"):
        reduced.input_pipeline.execution(row, 2)
    with pytest.raises(TfProfError, match=r"prof\.host\('worker-1'\)\.input_pipeline\.executions\(0\)"):
        reduced.input_pipeline.executions(row)
    with pytest.raises(ValueError, match="pipeline 7 is not a row of `pipelines`, which has 3"):
        reduced.input_pipeline.executions(7)


@pytest.mark.parametrize("name", ["occurrences", "roofline", "program_memory", "attribution"])
def test_what_needs_single_executions_says_where_they_are(name: str, both_of: Callable[[str], Both]) -> None:
    with pytest.raises(TfProfError, match=r"no single executions: open one of its hosts in full, prof\.host\(name\)"):
        getattr(both_of("stragglers").reduced, name)
    assert hasattr(both_of("stragglers").whole, name)
