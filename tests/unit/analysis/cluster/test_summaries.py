"""What a host's file is reduced to: bounded whatever the host ran, and with the totals of what did not travel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders import Event, event, line, plane, session, space
from tests.unit.analysis.cluster.comparison import Both
from tfprof_widgets.analysis import (
    MOST,
    OTHER_EXCHANGES,
    OTHER_KERNELS,
    OTHER_OPS,
    Analysis,
    PackedFrame,
    Stack,
    merge_hosts,
    summarize_communication,
    summarize_host,
    summarize_input,
    summarize_memory,
)
from tfprof_widgets.read import read_xspace
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
    assert OTHER_OPS not in found.reduced.overview.top_ops["name"].tolist()
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
    whole = both_of("stragglers").whole.communication.assign(host="a")
    monkeypatch.setattr(MOST, "exchanges", 2)
    frame = summarize_communication(whole).frame
    sums = ["occurrences", "total_time_us", "exposed_time_us", "bytes"]
    assert frame[sums].sum().tolist() == pytest.approx(whole[sums].sum().tolist())
    assert len(frame) < len(whole)
    assert frame["name"].tolist().count(OTHER_EXCHANGES) == len(frame) - 2


def test_rows_of_a_peak_beyond_the_most_are_one_row(
    monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]
) -> None:
    memory = both_of("keras_fit").whole.memory
    monkeypatch.setattr(MOST, "peak_rows", 2)
    allocator = memory.allocators[0]
    peaks = summarize_memory(memory, both_of("keras_fit").whole.memory_by_op)["peaks"].frame
    peak, whole = peaks[peaks["allocator"] == 0], memory.peak(allocator)
    assert peak["total_bytes"].sum() == whole["total_bytes"].sum()
    assert peak["op"].iloc[-1] == f"other ops ({len(whole) - 2:,} of {len(whole):,} rows)"


def test_memory_of_ops_beyond_the_most_is_one_op(
    monkeypatch: pytest.MonkeyPatch, both_of: Callable[[str], Both]
) -> None:
    whole = both_of("keras_fit").whole
    monkeypatch.setattr(MOST, "ops", 2)
    used = summarize_memory(whole.memory, whole.memory_by_op)["memory_ops"]
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
    tf_data = both_of("devices").whole.tf_data
    assert len(tf_data.pipelines) == 3
    monkeypatch.setattr(MOST, "pipelines", 1)
    found = summarize_input(tf_data)
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
        stack = Stack([{"any": PackedFrame.of(one)} for one in tables], [1, 1], [0, 0])
        assert sorted(stack["any"]["calls"].dropna()) == [1, 2]
        assert stack["any"]["name"].isna().sum() == 1
