"""Steps against XProf's overview page on real captures, to the picosecond, undoing exactly D1, D3 and D8."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.unit.analysis.step_oracle import Span, time_by_priority
from tests.unit.analysis.xprof_oracle import rows, xprof
from tfprof_widgets.analysis.grouping import group_events
from tfprof_widgets.analysis.ops import op_occurrences
from tfprof_widgets.analysis.overview import compute_overview
from tfprof_widgets.analysis.steps import compute_steps
from tfprof_widgets.store.trace import Trace
from tfprof_widgets.store.xspace import read_xspace

COLUMNS = {
    "deviceComputeTimeMs": "device_compute_ms",
    "deviceToDeviceTimeMs": "device_to_device_ms",
    "deviceCollectivesTimeMs": "device_collectives_ms",
    "kernelLaunchTimeMs": "kernel_launch_ms",
    "infeedTimeMs": "input_ms",
    "outfeedTimeMs": "output_ms",
    "otherTimeMs": "other_ms",
}
FIRST_AND_LAST_DROPPED_ABOVE = 5
"""XProf drops the first and the last of more steps than this (D3)."""


def step_table(page: list[dict[str, object]]) -> list[dict[str, float]]:
    """XProf's steps. It prints ms of whole picoseconds, so that nothing is lost."""
    return rows(page[1])


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "kind", ["keras_fit", "quickstart", "keras_first_step", "function_loop_marked", "eager_loop_marked"]
)
def test_steps_of_a_cpu_capture_equal_xprof_in_every_category(kind: str, capture_of: Callable[[str], Path]) -> None:
    path = capture_of(kind)
    theirs = step_table(xprof(path, "overview_page")["overview_page"])
    steps = compute_steps(read_xspace(path.read_bytes())).frame
    assert len(steps) > FIRST_AND_LAST_DROPPED_ABOVE
    ours = steps.iloc[1:-1]
    assert len(theirs) == len(ours)
    for want, (_, got) in zip(theirs, ours.iterrows(), strict=True):
        assert got["name"] == want["stepnum"]
        for column, name in COLUMNS.items():
            assert round(got[name] * 1e9) == round(want[column] * 1e9), (got["name"], name)
        # XProf never fills compilation: what it shows as host compute is ours and compilation together.
        assert round((got["host_compute_ms"] + got["compile_ms"]) * 1e9) == round(want["hostComputeTimeMs"] * 1e9)
        assert got["duration_ps"] == round(want["stepTimeMs"] * 1e9)


@pytest.mark.tensorflow
def test_the_categories_of_every_step_add_up_to_its_time(keras_xplane: Path) -> None:
    steps = compute_steps(read_xspace(keras_xplane.read_bytes()))
    total = steps.pieces.groupby("step")["duration_ps"].sum()
    assert total.tolist() == steps.frame["duration_ps"].tolist()
    ends = steps.pieces["start_ps"] + steps.pieces["duration_ps"]
    same = steps.pieces["step"].to_numpy()[1:] == steps.pieces["step"].to_numpy()[:-1]
    assert (steps.pieces["start_ps"].to_numpy()[1:][same] == ends.to_numpy()[:-1][same]).all()


@pytest.mark.tensorflow
def test_a_keras_fit_of_forty_marked_batches_has_forty_steps(keras_xplane: Path) -> None:
    steps = compute_steps(read_xspace(keras_xplane.read_bytes())).frame
    assert steps["source"].tolist() == ["marker"] * 40
    assert steps["name"].tolist() == [f"train {i}" for i in range(20)] * 2
    assert steps["is_complete"].all()


def device_spans(trace: Trace, *, copies_are_compute: bool) -> dict[int, list[Span]]:
    """Typed spans of device events by group as XProf has them (semantics 3.2, priorities 3.1)."""
    group = group_events(trace).group_id
    correlated = trace.has_stat("correlation_id")
    shape = trace.string_stat("shape")
    spans: dict[int, list[Span]] = {}
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
        spans.setdefault(int(group[event]), []).append((int(trace.start_ps[event]), int(trace.end_ps[event]), priority))
    return spans


def test_the_gpu_step_equals_xprof_after_undoing_d1(v100_xplane: Path) -> None:
    trace = read_xspace(v100_xplane.read_bytes())
    (theirs,) = step_table(xprof(v100_xplane, "overview_page")["overview_page"])
    ours = compute_steps(trace).frame.iloc[0]
    assert len(compute_steps(trace)) == 1
    assert ours["name"] == theirs["stepnum"] == "0"
    assert ours["duration_ps"] == round(theirs["stepTimeMs"] * 1e9) == 21_310_352_000
    low, high = ours["start_ps"], ours["start_ps"] + ours["duration_ps"]

    as_xprof = time_by_priority(device_spans(trace, copies_are_compute=True)[0], low, high)
    assert as_xprof[140] + as_xprof[150] == round(theirs["deviceComputeTimeMs"] * 1e9) == 14_875_539_000
    assert as_xprof[0] == round(theirs["otherTimeMs"] * 1e9)

    with_copies = time_by_priority(device_spans(trace, copies_are_compute=False)[0], low, high)
    assert round(ours["device_compute_ms"] * 1e9) == with_copies[140] + with_copies[150]
    assert round(ours["output_ms"] * 1e9) == with_copies[130]
    assert ours["input_ms"] > 0
    assert ours["kernel_launch_ms"] > 0


def test_the_share_of_16_bit_compute_equals_xprof_after_undoing_d1(v100_xplane: Path) -> None:
    trace = read_xspace(v100_xplane.read_bytes())
    steps = compute_steps(trace)
    overview = compute_overview(trace, steps, op_occurrences(trace, grouping=steps.grouping))
    page = xprof(v100_xplane, "overview_page")["overview_page"]
    share: dict[bool, float] = {}
    for copies_are_compute in (True, False):
        total = sum(
            (
                time_by_priority(spans, 0, 2**62)
                for spans in device_spans(trace, copies_are_compute=copies_are_compute).values()
            ),
            start=time_by_priority([], 0, 0),
        )
        share[copies_are_compute] = total[150] / (total[140] + total[150])
    assert page[0]["p"]["device_compute_16bit_percent"] == f"{share[True]:.1%}"
    assert overview.compute_16bit_ratio == share[False]
    assert overview.compute_16bit_ratio + overview.compute_32bit_ratio == 1


def test_the_machine_is_described_as_xprof_describes_it(v100_xplane: Path) -> None:
    trace = read_xspace(v100_xplane.read_bytes())
    steps = compute_steps(trace)
    environment = compute_overview(trace, steps, op_occurrences(trace, grouping=steps.grouping)).environment
    theirs = xprof(v100_xplane, "overview_page")["overview_page"][2]["p"]
    assert environment.device_type == theirs["device_type"]
    assert str(environment.n_devices) == str(theirs["device_core_count"]).split()[0]
