"""The `events` table, and each device event with the call that launched it."""

from __future__ import annotations

import numpy as np

from tests.builders import U, event, line, plane, trace
from tfprof_widgets.analysis import TABLES, compute_events, compute_launches


def test_threads_of_the_same_name_share_a_label() -> None:
    whole = trace(plane("/host:CPU", line("pool", event("a", 0, 1)), line("pool", event("b", 0, 1))))
    assert compute_events(whole)["line"].tolist() == ["pool", "pool"]


def test_a_trace_without_events_gives_an_empty_frame() -> None:
    frame = compute_events(trace(plane("/host:CPU")))
    assert len(frame) == 0
    assert tuple(frame.columns) == TABLES["events"].names


def test_a_kernel_goes_with_the_call_of_its_number_and_the_op_around_that() -> None:
    thread = (event("op", 0, 9), event("cuLaunchKernel", 2, 1, correlation_id=U(7)))
    stream = (event("first", 4, 1, correlation_id=U(7)), event("second", 6, 1, correlation_id=U(8)))
    whole = trace(plane("/host:CPU", line("a", *thread)), plane("/device:GPU:0", line("s", *stream, id=7)))
    rows = {whole.strings[name]: i for i, name in enumerate(whole.name_id.tolist())}
    launches = compute_launches(whole)
    assert (launches.event.tolist(), launches.call.tolist()) == ([rows["first"]], [rows["cuLaunchKernel"]])
    assert launches.call_of(np.array([rows["second"], rows["first"]])).tolist() == [-1, rows["cuLaunchKernel"]]
    assert launches.inside(whole, whole.names_matching(["op"])).tolist() == [rows["op"]]
    assert launches.inside(whole, whole.names_matching(["nothing"])).tolist() == [-1]


def test_without_a_device_nothing_was_launched() -> None:
    launches = compute_launches(trace(plane("/host:CPU", line("a", event("call", 0, 1, correlation_id=U(1))))))
    assert len(launches) == 0
    assert launches.call_of(np.array([0])).tolist() == [-1]
