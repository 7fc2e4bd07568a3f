"""The public surface: names, columns, units and types that notebooks rely on, on real captures."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import pytest

import tfprof_widgets as tfprof

STEPS = """step name host start_ms step_time_ms device_compute_ms device_to_device_ms device_collectives_ms host_compute_ms
    kernel_launch_ms input_ms output_ms compile_ms other_ms source"""
EVENTS = "plane line name start_ns duration_ns self_ns depth step"
OPS = """rank device type name occurrences total_time_us avg_time_us total_self_time_us avg_self_time_us self_time_ratio
    cumulative_ratio eager"""
MEMORY_SUMMARY = """allocator n_allocations n_deallocations capacity_bytes peak_heap_bytes peak_bytes peak_at_ms stack_bytes
    heap_bytes free_bytes fragmentation_ratio"""
MEMORY_TIMELINE = """time_ms event requested_bytes allocation_bytes op step region dtype shape in_use_bytes stack_bytes
    heap_bytes free_bytes fragmentation_ratio"""
MEMORY_PEAK = "op allocation_bytes requested_bytes occurrences region dtype shape"
INPUT_OPS = "op count total_time_ms total_time_ratio self_time_ms self_time_ratio category"
ITERATORS = """id parent_id name long_name start_ms total_time_ms self_time_ms calls is_async on_critical_path is_bottleneck
    params"""
SYSTEM = "time_ms cpu_pct process_cpu_pct rss_bytes disk_read_bytes disk_write_bytes net_recv_bytes net_sent_bytes"
OVERVIEW = """n_steps step_time_avg_ms step_time_std_ms step_time_min_ms step_time_max_ms breakdown verdict
    compute_16bit_ratio compute_32bit_ratio environment top_ops host_time_ratio device_time_ratio"""
VIEWS = "timeline memory_timeline op_table input_graph step_chart overview_panel dashboard"
ARGUMENTS = "steps every system logdir max_seconds max_bytes every_seconds"


@pytest.fixture(scope="module", params=["keras_xplane", pytest.param("v100_xplane", id="v100")])
def prof(request: pytest.FixtureRequest) -> tfprof.Profile:
    path: Path = request.getfixturevalue(request.param)
    return tfprof.load(path)


pytestmark = pytest.mark.tensorflow


def has_columns(frame: pd.DataFrame, columns: str) -> bool:
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns[: len(columns.split())]) == columns.split()
    assert frame.index.equals(pd.RangeIndex(len(frame)))
    for name in frame.columns:
        if name.endswith(("_ms", "_us", "_ns", "_bytes", "_ratio", "_pct")):
            assert pd.api.types.is_numeric_dtype(frame[name]), f"{name} is {frame[name].dtype}"
    return True


def within_01(ratios: pd.Series) -> bool:
    return bool(ratios.dropna().between(0, 1 + 1e-9).all())


def test_steps(prof: tfprof.Profile) -> None:
    assert has_columns(prof.steps, STEPS)
    assert set(prof.steps["source"]) <= {"marker", "inferred"}
    parts = [name for name in prof.steps if name.endswith("_ms") and name not in ("start_ms", "step_time_ms")]
    assert len(parts) == 9
    assert prof.steps[parts].sum(axis=1).to_numpy() == pytest.approx(prof.steps["step_time_ms"].to_numpy())


def test_events(prof: tfprof.Profile) -> None:
    assert has_columns(prof.events, EVENTS)
    assert len(prof.events) == prof.trace.n_events
    assert (prof.events["self_ns"] <= prof.events["duration_ns"]).all()
    assert prof.events["step"].between(-1, len(prof.steps) - 1).all()


def test_ops(prof: tfprof.Profile) -> None:
    assert has_columns(prof.ops, OPS)
    assert set(prof.ops["device"]) <= {"Host", "Device"}
    assert prof.ops["rank"].tolist() == list(range(1, len(prof.ops) + 1))
    assert within_01(prof.ops["self_time_ratio"])
    assert prof.ops["eager"].dtype == bool
    for _, side in prof.ops.groupby("device"):
        assert side["total_self_time_us"].is_monotonic_decreasing
        assert side["cumulative_ratio"].iloc[-1] == pytest.approx(1)


def test_memory(prof: tfprof.Profile) -> None:
    memory = prof.memory
    assert has_columns(memory.summary, MEMORY_SUMMARY)
    assert tuple(memory.summary["allocator"]) == memory.allocators != ()
    assert within_01(memory.summary["fragmentation_ratio"])
    for allocator in memory.allocators:
        timeline, peak = memory.timeline(allocator), memory.peak(allocator)
        assert has_columns(timeline, MEMORY_TIMELINE)
        assert set(timeline["event"]) <= {"allocation", "deallocation"}
        assert timeline["time_ms"].is_monotonic_increasing
        assert within_01(timeline["fragmentation_ratio"])
        assert has_columns(peak, MEMORY_PEAK)
    with pytest.raises(KeyError, match=memory.allocators[0]):
        memory.timeline("no such allocator")


def test_input_pipeline(prof: tfprof.Profile) -> None:
    pipeline = prof.input_pipeline
    assert has_columns(pipeline.ops, INPUT_OPS)
    assert has_columns(pipeline.iterators, ITERATORS)
    assert has_columns(pipeline.categories, "category time_ms ratio")
    assert isinstance(pipeline.pipelines, pd.DataFrame)
    assert isinstance(pipeline.suggestion, str)
    assert pipeline.verdict.endswith(".")
    assert 0 <= pipeline.input_ratio <= 1
    assert pipeline.bottleneck in {"", *pipeline.iterators["long_name"]}
    assert within_01(pipeline.ops["total_time_ratio"])
    roots = pipeline.iterators["parent_id"] == -1
    assert pipeline.iterators.loc[~roots, "parent_id"].isin(pipeline.iterators["id"]).all()
    for flag in ("is_async", "on_critical_path", "is_bottleneck"):
        assert pipeline.iterators[flag].dtype == bool


def test_overview(prof: tfprof.Profile) -> None:
    overview = prof.overview
    assert set(OVERVIEW.split()) <= {field.name for field in dataclasses.fields(overview)}
    assert has_columns(overview.breakdown, "category ms")
    assert overview.step_time_min_ms <= overview.step_time_avg_ms <= overview.step_time_max_ms
    assert overview.host_time_ratio + overview.device_time_ratio == pytest.approx(1)
    assert len(overview.top_ops)
    with pytest.raises(dataclasses.FrozenInstanceError):
        overview.verdict = ""  # type: ignore[misc]


def test_capture_facts_of_a_loaded_trace(prof: tfprof.Profile) -> None:
    assert prof.capture is None
    assert prof.cost is None
    assert prof.notices == ()
    assert has_columns(prof.system, SYSTEM)
    assert prof.system.empty


def test_the_link_starts_with_nothing_selected(prof: tfprof.Profile) -> None:
    assert (prof.link.time_range, prof.link.selection, prof.link.hover, prof.link.step) == ((), (), "", -1)


def test_selecting_gives_tables_of_the_same_columns(prof: tfprof.Profile) -> None:
    part = prof.select(step=0)
    try:
        assert list(part.ops.columns) == list(prof.ops.columns)
        assert list(part.steps.columns) == list(prof.steps.columns)
        assert list(part.events.columns) == EVENTS.split()
        assert prof.link.step == 0
        assert prof.link.time_range == part.time_range_ns
    finally:
        prof.select()


def test_every_view_is_one_widget_on_the_one_link(prof: tfprof.Profile) -> None:
    for name in VIEWS.split():
        view = getattr(prof, name)()
        assert isinstance(view, ipywidgets.DOMWidget), name
        assert view.link is prof.link, name
        assert getattr(prof, name)() is view, name


def test_out(prof: tfprof.Profile, tmp_path: Path) -> None:
    page = prof.to_html(tmp_path / "new folder" / "page.html")
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert "\n" not in repr(prof)
    assert 10 < len(prof.summary().splitlines()) < 60


@pytest.mark.parametrize("function", [tfprof.profile, tfprof.ProfileCallback])
def test_what_a_capture_takes(function: Callable[..., Any]) -> None:
    assert " ".join(inspect.signature(function).parameters) == ARGUMENTS


def test_everything_public_is_documented() -> None:
    undocumented = [name for name in tfprof.__all__ if not inspect.getdoc(getattr(tfprof, name))]
    attributes = [name for name in vars(tfprof.Profile) if not name.startswith("_")]
    undocumented += [f"Profile.{name}" for name in attributes if not inspect.getdoc(getattr(tfprof.Profile, name))]
    assert undocumented == []
