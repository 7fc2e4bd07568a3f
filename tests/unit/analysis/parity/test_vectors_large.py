"""The test vectors TV10, TV11 and TV13: a TPU, two hosts, more events than XProf shows; XProf's answer and ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.analysis.hosts.several_hosts_oracle import pod_steps, xprof_of_runs
from tests.unit.analysis.parity import vector_traces as drawn
from tests.unit.analysis.xprof_oracle import rows, xprof
from tfprof_widgets.analysis import IDLE, Analysis, aggregate_ops, idle_of, idle_times
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import merge_traces


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    """What XProf says of TV10."""
    return xprof(drawn.tpu_steps(), "framework_op_stats", "overview_page")


def read(content: bytes) -> Analysis:
    return Analysis(read_xspace(content))


def test_tv10_steps_of_a_tpu_equal_xprof(theirs: dict[str, Any]) -> None:
    shown, got_steps = rows(theirs["overview_page"][1]), read(drawn.tpu_steps()).steps.frame.to_dict("records")
    assert [row["stepnum"] for row in shown] == [row["name"] for row in got_steps] == ["0", "1", "2"]
    for want, got in zip(shown, got_steps, strict=True):
        # XProf counts collectives as compute.
        compute = got["device_compute_ms"] + got["device_collectives_ms"]
        times = (compute, got["input_ms"], got["other_ms"])
        assert times == pytest.approx((0.064, 0.02, 0.016), abs=1e-12)
        keys = ("tcComputeTimeMs", "tcInfeedTimeMs", "tcIdleTimeMs")
        assert tuple(want[key] for key in keys) == pytest.approx(times, abs=1e-12)


def test_tv10_ops_of_a_tpu_equal_xprof(theirs: dict[str, Any]) -> None:
    table = rows(theirs["framework_op_stats"][0])
    shown = [row for row in table if row["host_or_device"] == "Device"]
    tpu = read(drawn.tpu_steps())
    ours = aggregate_ops(tpu.occurrences, shares=tpu.op_shares, idle=True)
    ours = ours[ours["device"] == "Device"]
    assert [(row["operation"], row["occurrences"], row["total_time"], row["total_self_time"]) for row in shown] == [
        (row.name, row.occurrences, row.total_time_us, row.total_self_time_us) for row in ours.itertuples(index=False)
    ]
    own = dict(zip(ours["name"], ours["total_self_time_us"], strict=True))
    assert own == {"model/conv": 120, "model/infeed": 60, "model/while": 60, "model/reduce": 12, IDLE: 248}


def test_tv10_idle_share_and_duty_cycle_of_a_tpu_equal_xprof(theirs: dict[str, Any]) -> None:
    printed, tpu = theirs["overview_page"][0]["p"], read(drawn.tpu_steps())
    idle = idle_of(idle_times(tpu.trace, tpu.occurrences))
    assert printed["device_idle_time_percent"] == f"{idle.device_idle_ratio:.1%}" == "49.6%"
    assert printed["device_duty_cycle_percent"] == f"{idle.device_duty_cycle_ratio:.1%}" == "39.2%"


def test_tv11_steps_of_two_hosts_are_aligned_by_time() -> None:
    files = {"a": drawn.gpu_host("a", 4, 0), "b": drawn.gpu_host("b", 5, 10)}
    steps = pod_steps(xprof_of_runs({"TV11": files})["TV11"])
    assert [sorted(step) for step in steps] == [["a", "b"]] * 3
    workers = Analysis(merge_traces([read_xspace(content) for content in files.values()])).workers
    assert workers.n_steps == 3
    assert workers.frame["host"].tolist() == ["a", "b"] * 3
    assert workers.frame["step"].tolist() == [0, 0, 1, 1, 2, 2]
    assert workers.frame["start_ms"].tolist() == [0.01, 0.01, 0.02, 0.02, 0.03, 0.03]
    assert (workers.frame["device_compute_ms"] == 0.005).all()


def event_times(page: dict[str, Any]) -> list[float]:
    return [one["ts"] for one in page["traceEvents"] if one.get("ph") == "X"]


def test_tv13_d7_no_event_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    n, limit = 1200, 1000
    content = drawn.unsorted_events(n)
    every = event_times(xprof(content, "trace_viewer")["trace_viewer"])
    assert every == [10 * (7 * i % n) for i in range(n)]  # in the order of the file
    monkeypatch.setenv("TF_PROFILER_TRACE_VIEWER_MAX_EVENTS", str(limit))
    assert event_times(xprof(content, "trace_viewer")["trace_viewer"]) == [10 * i for i in range(limit)]
    assert read_xspace(content).n_events == n


def test_tv13_more_than_a_million_events_of_one_line_are_all_there() -> None:
    n = 1_200_000
    trace = read_xspace(drawn.one_line_of(n))
    assert trace.n_events == n
    np.testing.assert_array_equal(trace.start_ps, 2_000_000 * np.arange(n))
    assert len(Analysis(trace).events) == n
