"""Device events and the host's calls that enqueued them."""

from __future__ import annotations

import numpy as np

from tests.builders import U, event, line, plane, trace
from tfprof_widgets.analysis import compute_launches


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
