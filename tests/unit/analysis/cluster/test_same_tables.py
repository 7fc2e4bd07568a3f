"""The tables and the advice of a reduced profile are those of the same files read whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from tests.unit.analysis.cluster.comparison import Both, assert_fields, assert_same, copies, gains
from tests.unit.analysis.cluster.conftest import RUNS
from tfprof_widgets.analysis import MOST, OTHER_COPIES, Analysis, MemoryGrowth
from tfprof_widgets.read import open_traces

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
    "top_ops": lambda results: results.overview.top_ops,
    "top_ops_of_hosts": lambda results: results.top_ops.assign(
        op=[results.op_shares.name[op] for op in results.top_ops["op"]]
    ),
    "tf_functions": lambda results: results.overview.tf_functions,
    "layers": lambda results: results.layers.frame,
    "scopes": lambda results: results.scopes.frame,
    "source_lines": lambda results: results.source_lines.frame,
    "variables": lambda results: results.variables,
}
OVERVIEW = (
    *("n_steps", "n_steps_averaged", "step_time_avg_ms", "step_time_std_ms", "step_time_min_ms", "step_time_max_ms"),
    *("is_averaged", "left_out", "is_inferred", "limiter", "verdict_detail", "busy_ratio", "findings"),
    *("compute_16bit_ratio", "compute_32bit_ratio", "host_time_ratio", "device_time_ratio", "host_eager_ratio"),
    *("device_eager_ratio", "device_idle_ratio", "host_idle_ratio", "device_duty_cycle_ratio", "environment"),
)
GROWTH = tuple(field.name for field in fields(MemoryGrowth))
INPUT = ("verdict", "input_ratio", "bottleneck", "suggestion", "is_input_bound", "sentence")


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
