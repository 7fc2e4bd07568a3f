"""What is said of idle time, and of memory that is short."""

from __future__ import annotations

import math
import weakref
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import U, event, line, plane, session, space, trace
from tests.unit.analysis.xprof_oracle import host_ops
from tfprof_widgets.analysis import (
    Analysis,
    Idle,
    idle_of,
    idle_times,
    judge_memory,
    op_occurrences,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces


def idle_in(whole: Trace) -> Idle:
    return idle_of(idle_times(whole, op_occurrences(whole)))


def gpu(index: int, *spans_us: tuple[float, float], stream: str = "Stream #1") -> object:
    return plane(f"/device:GPU:{index}", line(stream, *(event("kern", at, n) for at, n in spans_us)))


def test_a_device_is_idle_between_its_kernels() -> None:
    assert idle_in(trace(gpu(0, (10, 20), (70, 40)))).device_idle_ratio == pytest.approx(0.4)


def test_streams_that_run_at_once_count_once() -> None:
    both = plane(
        "/device:GPU:0",
        line("Stream #1", event("a", 0, 40), event("b", 90, 10)),
        line("Stream #2", event("c", 20, 40)),
    )
    assert idle_in(trace(both)).device_idle_ratio == pytest.approx(0.3)


def test_devices_are_weighed_by_how_long_they_were_seen() -> None:
    whole = trace(gpu(0, (0, 100)), gpu(1, (0, 10), (290, 10)), plane("/device:GPU:2"))
    assert idle_in(whole).device_idle_ratio == pytest.approx(280 / 400)


def test_the_time_between_two_windows_is_nobodys() -> None:
    def window(start_ns: int) -> Trace:
        return read_xspace(space(session(start_ns=start_ns), gpu(0, (0, 10), (30, 10))))

    whole = merge_traces([window(1_700_000_000_000_000_000), window(1_700_000_005_000_000_000)])
    assert len(whole.sessions) == 2
    assert idle_in(whole).device_idle_ratio == pytest.approx(0.5)


def test_derived_lines_keep_no_device_busy() -> None:
    derived = line("Steps", event("0", 0, 100), id=0xDEADBEEF - 2**32)
    whole = trace(plane("/device:GPU:0", line("Stream #1", event("a", 0, 10), event("b", 90, 10)), derived))
    assert idle_in(whole).device_idle_ratio == pytest.approx(0.8)


def test_without_a_device_or_an_op_there_is_nothing_to_tell() -> None:
    idle = idle_in(trace(plane("/host:CPU", line("main", event("x", 0, 1)))))
    assert math.isnan(idle.device_idle_ratio)
    assert math.isnan(idle.host_idle_ratio)


def test_the_host_is_idle_where_its_threads_run_no_op() -> None:
    threads = line("a", event("m:MatMul", 0, 10), event("m:MatMul", 30, 10)), line("b", event("m:MatMul", 0, 40))
    assert idle_in(trace(plane("/host:CPU", *threads))).host_idle_ratio == pytest.approx(20 / 80)


def test_the_host_of_a_real_capture_is_as_idle_as_xprof_says_after_undoing_d4_and_d5(v100_xplane: Path) -> None:
    whole = read_xspace(v100_xplane.read_bytes())
    ops, idle_ps = host_ops(whole, has_quirks=False)
    busy_ps = sum(op.self_ps for op in ops.values())
    assert idle_in(whole).host_idle_ratio == pytest.approx(idle_ps / (idle_ps + busy_ps), rel=1e-12)


SUMMARY = {
    "allocator": "GPU_0_bfc",
    "capacity_bytes": 100,
    "peak_bytes": 95,
    "free_bytes": 5,
    "fragmentation_ratio": 0.0,
}


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({}, "GPU_0_bfc is nearly full: 95 bytes of 100 bytes"),
        ({"peak_bytes": 89}, None),
        ({"peak_bytes": 60, "fragmentation_ratio": 0.7, "free_bytes": 40}, "GPU_0_bfc is fragmented: at the peak 70 %"),
        ({"peak_bytes": 10, "fragmentation_ratio": 0.7}, None),
        ({"capacity_bytes": float("nan")}, None),
        ({"capacity_bytes": 0}, None),
    ],
)
def test_memory_is_a_finding_where_it_is_short(changes: dict[str, float], start: str | None) -> None:
    found = judge_memory(pd.DataFrame([SUMMARY | changes]))
    assert [sentence.startswith(start or "") for sentence in found] == ([True] if start else [])


def nearly_full() -> bytes:
    """A step with an allocation that leaves almost nothing."""
    memory = event(
        "MemoryAllocation",
        2,
        0,
        allocator_name="GPU_0_bfc",
        bytes_reserved=0,
        bytes_allocated=98,
        bytes_available=2,
        fragmentation=0.0,
        peak_bytes_in_use=98,
        requested_bytes=98,
        allocation_bytes=98,
        addr=U(1),
        tf_op="m:MatMul",
    )
    steps = [event("train", 20 * i, 9, _r=1, step_num=i) for i in range(3)]
    return space(plane("/host:CPU", line("main", *steps, event("m:MatMul", 1, 5), memory)))


def test_short_memory_stands_beside_the_verdict() -> None:
    overview = Analysis(read_xspace(nearly_full())).overview
    assert overview.limiter == "dispatch"
    assert overview.findings == ("GPU_0_bfc is nearly full: 98 bytes of 100 bytes in use at the peak.",)
    assert overview.verdict_detail.startswith(overview.findings[0])


def test_the_overview_outlives_the_results_it_came_from(v100_xplane: Path) -> None:
    results = Analysis(read_xspace(v100_xplane.read_bytes()))
    overview, known = results.overview, weakref.ref(results)
    del results
    assert known() is None  # without a collection: nothing held it in a circle
    assert overview.verdict
