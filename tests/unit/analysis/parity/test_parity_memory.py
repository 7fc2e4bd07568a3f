"""The memory profile against XProf's own `memory_profile` on the same bytes: equal, not close."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

from tests.builders import event, line, plane, space
from tests.unit.analysis.parity.parity_case import KINDS, LOOPING_KIND, Case
from tests.unit.analysis.xprof_oracle import xprof
from tfprof_widgets.analysis import OF_OTHER_STEPS, MemoryProfile, compute_memory
from tfprof_widgets.read import read_xspace

N_SHOWN = 1000
"""XProf shows so many points of a timeline (D7)."""


def xprof_memory(xplane: bytes) -> dict[str, Any]:
    """XProf's answer by allocator."""
    found: dict[str, Any] = xprof(xplane, "memory_profile")["memory_profile"]["memoryProfilePerAllocator"]
    return found


def xprof_peak_rows(profile: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = []
    for active in profile.get("activeAllocations", []):
        k = int(active.get("snapshotIndex", 0))
        if k >= 0:
            about = profile["memoryProfileSnapshots"][k]["activityMetadata"]
        else:
            about = profile["specialAllocations"][int(active.get("specialIndex", 0))]
        sizes = (
            int(about.get("allocationBytes", 0)),
            int(about.get("requestedBytes", 0)),
            int(active["numOccurrences"]),
        )
        names = tuple(about.get(key, "") for key in ("regionType", "dataType", "tensorShape"))
        op = about.get("tfOpName", "")
        rows.append((OF_OTHER_STEPS if op == "unused preallocated device memory" else op, *sizes, *names))
    return rows


def assert_equal_to_xprof(ours: MemoryProfile, theirs: dict[str, Any]) -> None:
    assert set(ours.allocators) == set(theirs) != set()
    summary = ours.summary.set_index("allocator")
    for allocator, profile in theirs.items():
        row, expected = summary.loc[allocator], profile["profileSummary"]
        state = expected["peakStats"]
        assert row["peak_bytes"] == int(state["peakBytesInUse"])
        assert row["stack_bytes"] == int(state["stackReservedBytes"])
        assert row["heap_bytes"] == int(state["heapAllocatedBytes"])
        assert row["free_bytes"] == int(state["freeMemoryBytes"])
        assert row["fragmentation_ratio"] == pytest.approx(float(state["fragmentation"]), abs=1e-9, nan_ok=True)
        assert row["capacity_bytes"] == int(expected["memoryCapacity"])
        # XProf's times are offsets within a line; its first sample tells how far ours are from them.
        samples, timeline = profile["sampledTimelineSnapshots"], ours.timeline(allocator)
        shown = shown_by_xprof(timeline)
        shift_ps = round(shown["time_ms"].iloc[0] * 1e9) - int(samples[0]["timeOffsetPs"])
        assert round(row["peak_at_ms"] * 1e9) - shift_ps == int(expected["peakStatsTimePs"])
        # D6: XProf's lifetime peak is what the last event in line order says.
        marks = ours.snapshots.rows_of(allocator)
        last = int(ours.snapshots.event[marks].argmax())
        assert ours.snapshots.lifetime_peak_bytes[marks][last] == int(expected["peakBytesUsageLifetime"])
        assert row["peak_heap_bytes"] == ours.snapshots.lifetime_peak_bytes[marks].max()
        peak = ours.peak(allocator).drop(columns="total_bytes")
        assert list(peak.itertuples(index=False, name=None)) == xprof_peak_rows(profile) != []
        assert row["n_allocations"] + row["n_deallocations"] == len(timeline)
        assert_equal_timelines(shown.to_dict("records"), samples, shift_ps)


def shown_by_xprof(timeline: pd.DataFrame) -> pd.DataFrame:
    """The fullest row of each of 1000 windows of a longer timeline (D7), of which the first are one row narrower."""
    n = len(timeline)
    if n <= N_SHOWN:
        return timeline
    width = n // N_SHOWN
    wide_from = width * (N_SHOWN * (width + 1) - n)
    starts = [*range(0, wide_from, width), *range(wide_from, n, width + 1)]
    in_use = (timeline["stack_bytes"] + timeline["heap_bytes"]).to_numpy()
    return timeline.iloc[[low + int(in_use[low:high].argmax()) for low, high in pairwise([*starts, n])]]


def assert_equal_timelines(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], shift_ps: int) -> None:
    assert len(ours) == len(theirs)
    for row, sample in zip(ours, theirs, strict=True):
        about, state = sample["activityMetadata"], sample["aggregationStats"]
        expected = {
            "event": about["memoryActivity"].lower(),
            "requested_bytes": int(about["requestedBytes"]),
            "allocation_bytes": int(about["allocationBytes"]),
            "address": int(about["address"]),
            "op": about["tfOpName"],
            "step": int(about["stepId"]),
            "region": about["regionType"],
            "dtype": about["dataType"],
            "shape": about["tensorShape"],
            "stack_bytes": int(state["stackReservedBytes"]),
            "heap_bytes": int(state["heapAllocatedBytes"]),
            "free_bytes": int(state["freeMemoryBytes"]),
            "fragmentation_ratio": pytest.approx(float(state["fragmentation"]), abs=1e-9, nan_ok=True),
        }
        assert {key: row[key] for key in expected} == expected
        assert round(row["time_ms"] * 1e9) - shift_ps == int(sample["timeOffsetPs"])


@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_a_capture_equals_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    # D2: XProf numbers the loop's iterations rather than the steps. Undone in what it reads.
    theirs = case.theirs_without_iterations if kind == LOOPING_KIND else case.theirs
    ours = compute_memory(case.trace)
    assert not ours.is_empty
    assert_equal_to_xprof(ours, theirs["memory_profile"]["memoryProfilePerAllocator"])


def test_steps_stack_and_reused_addresses_equal_xprof() -> None:
    def memory(kind: str, at_us: float, address: int, size: int, heap: int, **more: Any) -> Any:
        stats: dict[str, Any] = {
            "allocator_name": "a",
            "bytes_reserved": 7,
            "bytes_allocated": heap,
            "bytes_available": 5000 - heap,
            "fragmentation": 0.5,
            "peak_bytes_in_use": 4000,
            "requested_bytes": size - 1,
            "allocation_bytes": size,
            "addr": address,
            "data_type": 0,
        }
        return event(f"Memory{kind}", at_us, 0, stats=stats | more)

    def take(at_us: float, address: int, size: int, heap: int, op: str) -> Any:
        described = {"tf_op": op, "region_type": "output", "data_type": 103, "shape": "[2,3]"}
        return memory("Allocation", at_us, address, size, heap, **described)

    def give(at_us: float, address: int, size: int, heap: int) -> Any:
        return memory("Deallocation", at_us, address, size, heap, tf_op="other")

    main = line(
        "main",
        event("train", 10, 30, _r=1, step_num=0),
        take(11, 1, 100, 1100, "a/x"),
        take(12, 2, 50, 1150, "a/y"),
        give(13, 1, 100, 1050),
        event("train", 50, 30, _r=1, step_num=1),
        take(51, 1, 100, 1150, "b/x"),
        take(52, 3, 60, 1210, "b/y"),
        give(53, 2, 50, 1160),
        take(54, 4, 60, 1220, "b/y"),
        take(55, 3, 60, 1220, "b/again"),
        give(56, 3, 60, 1160),
        give(57, 99, 10, 1150),
        take(90, 5, 10, 1160, "c"),
    )
    content = space(plane("/host:CPU", main))
    assert_equal_to_xprof(compute_memory(read_xspace(content)), xprof_memory(content))
