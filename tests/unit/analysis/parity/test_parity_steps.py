"""Steps against XProf's overview page on real captures, to the picosecond, undoing exactly D1, D2, D3, D8 and D14."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.unit.analysis.parity.parity_case import (
    GPU_KINDS,
    LOOPING_KIND,
    MARKED_KINDS,
    UNMARKED_KINDS,
    Case,
)
from tests.unit.analysis.steps.step_oracle import Span, time_by_priority
from tests.unit.analysis.xprof_oracle import rows, xprof_units
from tfprof_widgets.analysis import compute_steps, group_events, guide_of
from tfprof_widgets.trace import Trace

COLUMNS = {
    "deviceComputeTimeMs": "device_compute_ms",
    "deviceToDeviceTimeMs": "device_to_device_ms",
    "deviceCollectivesTimeMs": "device_collectives_ms",
    "kernelLaunchTimeMs": "kernel_launch_ms",
    "infeedTimeMs": "input_ms",
    "outfeedTimeMs": "output_ms",
    "otherTimeMs": "other_ms",
}
SUMMARIES = {
    "device_compute": ["device_compute_ms"],
    "device_to_device": ["device_to_device_ms"],
    "device_collectives": ["device_collectives_ms"],
    "infeed": ["input_ms"],
    "outfeed": ["output_ms"],
    "host_compute": ["host_compute_ms", "compile_ms"],
    "kernel_launch": ["kernel_launch_ms"],
    "other": ["other_ms"],
}
FIRST_AND_LAST_DROPPED_ABOVE = 5
"""XProf drops the first and the last of more steps than this (D3)."""


def shown_by_xprof(steps: pd.DataFrame) -> pd.DataFrame:
    """Undo D3 and D14."""
    steps = guide_of(steps)
    return steps.iloc[1:-1] if len(steps) > FIRST_AND_LAST_DROPPED_ABOVE else steps


def assert_same_steps(ours: pd.DataFrame, theirs: list[dict[str, Any]]) -> None:
    assert len(theirs) == len(ours) > 0
    for want, (_, got) in zip(theirs, ours.iterrows(), strict=True):
        # XProf tells the epochs of repeated numbers not apart.
        assert re.sub(r"\d+·", "", got["name"]) == want["stepnum"]
        for column, name in COLUMNS.items():
            assert round(got[name] * 1e9) == round(want[column] * 1e9), (got["name"], name)
        # XProf never fills compilation: what it shows as host compute is ours and compilation together.
        assert round((got["host_compute_ms"] + got["compile_ms"]) * 1e9) == round(want["hostComputeTimeMs"] * 1e9)
        assert got["duration_ps"] == round(want["stepTimeMs"] * 1e9)


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_steps_of_a_cpu_capture_equal_xprof_in_every_category(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    ours = shown_by_xprof(case.results.steps.frame)
    assert_same_steps(ours, case.their_steps)
    assert case.theirs["input_pipeline_analyzer"][1] == case.theirs["overview_page"][1]


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_averages_over_the_steps_that_xprof_shows_equal_its_own(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    ours, printed = shown_by_xprof(case.results.steps.frame), case.theirs["overview_page"][1]["p"]
    time = ours["step_time_ms"]
    for key, value in {
        "average": time.mean(),
        "standard_deviation": time.std(ddof=1),
        "minimum": time.min(),
        "maximum": time.max(),
    }.items():
        assert printed[f"steptime_ms_{key}"] == f"{value:.1f}"
    for key, names in SUMMARIES.items():
        value = ours[names].sum(axis=1)
        assert printed[f"{key}_time_ms_avg"] == f"{value.mean():.1f}"
        assert printed[f"{key}_time_ms_sdv"] == f"{value.std(ddof=1):.1f}"


def test_steps_with_a_loop_of_tensorflow_inside_equal_xprof_once_it_sees_them(
    case_of: Callable[[str], Case],
) -> None:
    """D2: XProf makes a group of every iteration of the loop instead of the step; see `without_iterations`."""
    case = case_of(LOOPING_KIND)
    assert case.their_steps == []
    theirs = rows(case.theirs_without_iterations["overview_page"][1])
    assert_same_steps(shown_by_xprof(case.results.steps.frame), theirs)


@pytest.mark.parametrize("kind", UNMARKED_KINDS)
def test_where_nobody_marked_a_step_xprof_has_none(kind: str, case_of: Callable[[str], Case]) -> None:
    """D2."""
    case = case_of(kind)
    assert case.their_steps == []
    assert set(case.results.steps.frame["source"]) == {"inferred"}


def device_spans(trace: Trace, *, copies_are_compute: bool) -> dict[int, list[Span]]:
    """Typed spans of device events by group as XProf has them (semantics 3.2, priorities 3.1)."""
    group = group_events(trace).group_id
    correlated = trace.has_stat("correlation_id")
    shape = trace.string_stat("shape")
    spans: dict[int, list[Span]] = {}
    end_ps = trace.end_ps  # computed of all events each time
    for event in np.flatnonzero((group >= 0) & correlated).tolist():
        line = trace.lines[trace.line_id[event]]
        if not trace.planes[line.plane].is_device or line.is_derived:
            continue
        name = trace.strings[trace.name_id[event]]
        shapes = trace.strings[shape[event]] if shape[event] >= 0 else ""
        is_half = "half" in shapes if shapes else "half" in name or "fp16" in name
        priority = 150 if is_half else 140
        if name.startswith("Memcpy") and not copies_are_compute:
            priority = {"MemcpyH2D": 80, "MemcpyD2H": 130, "MemcpyD2D": 120}[name]
        spans.setdefault(int(group[event]), []).append((int(trace.start_ps[event]), int(end_ps[event]), priority))
    return spans


def test_the_gpu_step_equals_xprof_after_undoing_d1(case_of: Callable[[str], Case]) -> None:
    """TV12."""
    case = case_of("v100")
    (theirs,) = case.their_steps
    (ours,) = guide_of(case.results.steps.frame).to_dict("records")
    assert ours["name"] == theirs["stepnum"] == "0"
    assert ours["duration_ps"] == round(theirs["stepTimeMs"] * 1e9) == 21_310_352_000
    low, high = ours["start_ps"], ours["start_ps"] + ours["duration_ps"]

    as_xprof = time_by_priority(device_spans(case.trace, copies_are_compute=True)[0], low, high)
    assert as_xprof[140] + as_xprof[150] == round(theirs["deviceComputeTimeMs"] * 1e9) == 14_875_539_000
    assert as_xprof[0] == round(theirs["otherTimeMs"] * 1e9)

    with_copies = time_by_priority(device_spans(case.trace, copies_are_compute=False)[0], low, high)
    assert round(ours["device_compute_ms"] * 1e9) == with_copies[140] + with_copies[150]
    assert round(ours["output_ms"] * 1e9) == with_copies[130]
    assert ours["input_ms"] > 0
    assert ours["kernel_launch_ms"] > 0


@pytest.mark.parametrize(("kind", "n_steps"), [("h100_eager", 12), ("h100_lstm", 12), ("h100_cnn_input", 20)])
def test_steps_of_an_h100_equal_xprof_after_undoing_d1_d3_and_d8(
    kind: str, n_steps: int, case_of: Callable[[str], Case]
) -> None:
    """XProf's step lasts from the first to the last event of its group on the device."""
    case = case_of(kind)
    groups = device_spans(case.trace, copies_are_compute=True)
    as_xprof = []
    for group, spans in sorted(groups.items()):
        low, high = min(start for start, _, _ in spans), max(end for _, end, _ in spans)
        time = time_by_priority(spans, low, high)
        as_xprof.append((str(group), high - low, time[140] + time[150], time[0]))
    columns = ("stepTimeMs", "deviceComputeTimeMs", "otherTimeMs")
    shown = [(step["stepnum"], *(round(step[column] * 1e9) for column in columns)) for step in case.their_steps]
    assert shown == as_xprof[1:-1]
    assert len(as_xprof) == n_steps

    steps = guide_of(case.results.steps.frame)
    assert steps["name"].tolist() == [f"train {i}" for i in range(n_steps)]
    with_copies = device_spans(case.trace, copies_are_compute=False)
    for step in steps.to_dict("records"):
        time = time_by_priority(with_copies[step["step"]], step["start_ps"], step["start_ps"] + step["duration_ps"])
        assert round(step["device_compute_ms"] * 1e9) == time[140] + time[150] > 0
        assert round(step["device_to_device_ms"] * 1e9) == time[120]
        assert round(step["output_ms"] * 1e9) == time[130] > 0


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_the_share_of_16_bit_compute_equals_xprof_after_undoing_d1_and_d13(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    case = case_of(kind)
    share: dict[bool, float] = {}
    for copies_are_compute in (True, False):
        total = sum(
            (
                time_by_priority(spans, 0, 2**62)
                for spans in device_spans(case.trace, copies_are_compute=copies_are_compute).values()
            ),
            start=time_by_priority([], 0, 0),
        )
        share[copies_are_compute] = total[150] / (total[140] + total[150])
    page = case.theirs["overview_page"]
    assert page[0]["p"]["device_compute_16bit_percent"] == f"{share[True]:.1%}"
    steps = compute_steps(case.trace, units=xprof_units(case.trace))
    assert steps.compute_16bit_ratio == share[False]
    assert steps.compute_16bit_ratio + steps.compute_32bit_ratio == 1
