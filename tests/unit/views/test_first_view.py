"""Where a reader begins: typical steps, and how busy the whole capture is, before any event has come."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import Event, event, line, plane, session, space, trace
from tests.packs import unpack
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import activity, bounds_of, build_payload, compute_positions, first_view, typical_steps
from tfprof_widgets.trace import merge_traces

CPU = "/host:CPU"


def steps(n: int) -> list[Event]:
    return [event("train", 10 * i, 9, _r=1, step_num=i) for i in range(n)]


def test_the_first_view_is_eight_steps_in_the_middle_with_a_margin() -> None:
    results = Analysis(trace(plane(CPU, line("main", *steps(100)))))
    frame, usual = results.steps.frame, np.flatnonzero(results.overview.is_averaged)
    first, last = typical_steps(results.overview.is_averaged, frame["session"].to_numpy()) or (0, 0)
    assert last - first + 1 == 8
    assert abs((first + last) / 2 - usual[len(usual) // 2]) <= 1
    start, end = frame["start_ps"].iloc[first], frame["start_ps"].iloc[last] + frame["duration_ps"].iloc[last]
    home = unpack(build_payload(results).overview)[0]["home"]
    assert home == pytest.approx([start - 0.05 * (end - start), end + 0.05 * (end - start)])


def test_steps_that_are_not_usual_or_of_another_session_are_not_among_the_typical_ones() -> None:
    session_of = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    usual = np.array([0, 1, 1, 1, 1, 1, 0, 1, 1, 1], np.bool_)
    assert typical_steps(usual, session_of) == (1, 3)
    assert typical_steps(np.zeros(5, np.bool_), np.zeros(5)) is None
    assert typical_steps(np.ones(3, np.bool_), np.zeros(3)) == (0, 2)


@pytest.mark.parametrize("events", [steps(10), [event("a", 5, 90)]], ids=["few steps", "no steps"])
def test_a_short_capture_is_shown_whole(events: list[Event]) -> None:
    results = Analysis(trace(plane(CPU, line("main", *events))))
    bounds = bounds_of(results, int(results.trace.end_ps.max()))
    assert first_view(results, bounds) == bounds


def test_of_sessions_far_apart_the_first_is_shown() -> None:
    parts = [
        space(session(start_ns=10**18 + k * 10**12, duration_us=100), plane(CPU, line("m", event("a", 1, 90))))
        for k in range(2)
    ]
    results = Analysis(merge_traces([read_xspace(part, host="h") for part in parts]))
    bounds = bounds_of(results, int(results.trace.end_ps.max()))
    first = results.trace.sessions[0]
    assert first_view(results, bounds) == pytest.approx((max(0, first.start_ps - 5e6), first.stop_ps + 5e6), abs=1e7)


def test_activity_is_the_share_of_each_bin_in_which_lines_are_busy() -> None:
    busy = line("busy", event("a", 0, 256), event("inner", 3, 5))
    idle = line("idle", event("a", 128, 128))
    derived = line("Steps", event("1", 0, 512), id=-559038737)
    drawing = trace(
        plane(CPU, busy, idle, derived, line("none")), plane("/device:GPU:0", line("s", event("k", 511, 1)))
    )
    found = activity(drawing, compute_positions(drawing), (0.0, 512e6))
    assert [found["host"][k] for k in (0, 100, 128, 255, 256, 511)] == [0.5, 0.5, 1, 1, 0, 0]
    assert [found["device"][k] for k in (0, 510, 511)] == [0, 0, 1]
    assert len(found["host"]) == len(found["device"]) == 512


def test_a_device_is_busy_while_any_of_its_streams_is_and_devices_that_do_nothing_do_not_count() -> None:
    compute = line("compute", event("k", 0, 10), event("k", 20, 10), event("long", 100, 100))
    copies = line("copies", event("memcpy", 5, 10), event("memcpy", 110, 20))
    drawing = trace(plane("/device:GPU:0", compute, copies), plane("/device:GPU:1", line("none")))
    found = activity(drawing, compute_positions(drawing), (0.0, 512e6))["device"]
    assert [found[k] for k in (0, 7, 14, 15, 25, 115, 150, 199, 200)] == [1, 1, 1, 0, 1, 1, 1, 1, 0]


def test_without_devices_there_is_no_activity_of_devices() -> None:
    drawing = trace(plane(CPU, line("m", event("a", 0, 1))))
    assert activity(drawing, compute_positions(drawing), (0.0, 1e6))["device"] == []


def test_of_several_hosts_the_first_view_is_eight_steps_of_one_not_eight_of_all() -> None:
    files = [space(session(duration_us=1000), plane(CPU, line("main", *steps(100)))) for _ in range(4)]
    results = Analysis(merge_traces([read_xspace(part, host=f"h{k}") for k, part in enumerate(files)]))
    start, end = first_view(results, bounds_of(results, int(results.trace.end_ps.max())))
    assert (end - start) / 1e6 == pytest.approx(79 * 1.1)
