"""Steps of several hosts side by side, against XProf's pod viewer."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from tests.builders import U, event, line, plane, session, space
from tests.unit.analysis.hosts.pod_oracle import CATEGORIES, NAMES, pod_records
from tests.unit.analysis.hosts.several_hosts_oracle import in_guide, pod_steps
from tests.unit.analysis.parity.parity_case import MARKED_KINDS, Case
from tfprof_widgets.analysis import GUIDE_CATEGORIES, Facts, Workers
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import merge_traces


def cpu_host(name: str, n_steps: int, start_us: float, op_us: float = 5) -> bytes:
    """Steps of 9 us every 10 us: an op, and 1 us of waiting for data."""
    events = []
    for i in range(n_steps):
        at = start_us + 10 * i
        events += [
            event("train", at, 9, _r=1, step_num=i),
            event("a/x:MatMul", at + 1, op_us),
            event("IteratorGetNext:IteratorGetNext", at + 7, 1),
        ]
    return space(session(), plane("/host:CPU", line("main", *events)), hostnames=[name])


def gpu_host(name: str, n_steps: int, start_us: float, kernel_us: float = 5) -> bytes:
    """TV11: a launch and a kernel a step."""
    host, kernels = [], []
    for i in range(n_steps):
        at = start_us + 10 * i
        host += [event("train", at, 9, _r=1, step_num=i), event("cuLaunchKernel", at + 1, 2, correlation_id=U(i + 1))]
        kernels.append(event("kern", at + 3, kernel_us, correlation_id=U(i + 1), tf_op="m/foo:MatMul"))
    stream = line("Stream #13(Compute)", *kernels, id=13)
    return space(session(), plane("/host:CPU", line("main", *host)), plane("/device:GPU:0", stream), hostnames=[name])


def facts_of(*files: bytes) -> Facts:
    return Facts(merge_traces([read_xspace(content) for content in files]))


def workers_of(*files: bytes) -> Workers:
    return facts_of(*files).workers


def rows(workers: Workers, *columns: str) -> list[tuple[object, ...]]:
    return list(workers.frame[list(columns)].itertuples(index=False, name=None))


def test_hosts_that_started_at_different_steps_are_aligned_by_time() -> None:
    workers = workers_of(gpu_host("a", 4, 0), gpu_host("b", 5, 10))
    assert (workers.hosts, workers.n_steps, workers.n_left_out) == (("a", "b"), 3, 3)
    assert rows(workers, "step", "host", "start_ms") == [
        (0, "a", 0.01),
        (0, "b", 0.01),
        (1, "a", 0.02),
        (1, "b", 0.02),
        (2, "a", 0.03),
        (2, "b", 0.03),
    ]
    assert workers.note == "3 steps without a counterpart on every host left out."


def test_the_columns_are_those_of_the_steps() -> None:
    trace = read_xspace(cpu_host("a", 3, 0))
    frame = Facts(trace).workers.frame
    public = Facts(trace).step_frame
    pd.testing.assert_frame_equal(frame[public.columns], public)
    assert frame.columns[len(public.columns) :].tolist() == ["own_step", "bottleneck"]


def test_one_host_keeps_all_its_steps() -> None:
    workers = workers_of(cpu_host("a", 7, 0))
    assert (workers.hosts, workers.n_steps, workers.note) == (("a",), 7, "")
    assert workers.frame["own_step"].tolist() == list(range(7))


def test_a_step_keeps_the_number_it_has_in_the_table_of_steps() -> None:
    files = cpu_host("a", 4, 0), cpu_host("b", 5, 10)
    trace = merge_traces([read_xspace(content) for content in files])
    steps, frame = Facts(trace).steps, Facts(trace).workers.frame
    assert frame["own_step"].tolist() == [1, 2, 3, 4, 5, 6]
    assert steps.frame.loc[frame["own_step"], "host"].tolist() == frame["host"].tolist()


def test_a_host_without_a_device_beside_one_with_a_device_only_coordinates() -> None:
    workers = workers_of(gpu_host("a", 4, 0), cpu_host("chief", 4, 0))
    assert (workers.hosts, workers.coordinators, workers.n_steps) == (("a",), ("chief",), 4)
    assert workers.note == "Without a device and therefore without steps here: chief."


def test_hosts_without_devices_all_work() -> None:
    assert workers_of(cpu_host("a", 4, 0), cpu_host("b", 4, 0)).coordinators == ()


def test_steps_that_never_overlap_go_one_by_one() -> None:
    workers = workers_of(cpu_host("a", 3, 0), cpu_host("b", 3, 100))
    assert (workers.n_steps, workers.n_left_out) == (3, 0)


def test_the_bottleneck_is_the_largest_category() -> None:
    workers = workers_of(cpu_host("a", 2, 0), cpu_host("b", 2, 0, op_us=1))
    assert rows(workers, "host", "bottleneck")[:2] == [("a", "host_compute"), ("b", "dispatch")]


def test_a_trace_without_steps_has_no_workers() -> None:
    workers = workers_of(space(plane("/host:CPU", line("main", event("a:MatMul", 0, 1))), hostnames=["a"]))
    assert (workers.hosts, workers.n_steps, len(workers.frame)) == ((), 0, 0)
    assert "bottleneck" in workers.frame.columns


@pytest.mark.parametrize(
    "files",
    [
        {"a": cpu_host("a", 4, 0), "b": cpu_host("b", 5, 10, op_us=4)},
        {"a": cpu_host("a", 3, 0), "b": cpu_host("b", 3, 100)},
        {"a": cpu_host("a", 5, 0), "b": cpu_host("b", 4, 13), "c": cpu_host("c", 6, 0)},
        {"a": cpu_host("a", 7, 0)},
    ],
    ids=["shifted", "apart", "three", "one"],
)
def test_the_pod_viewer_shows_the_same_on_hosts_without_devices(files: dict[str, bytes]) -> None:
    assert_same_as_pod_viewer(in_guide(facts_of(*files.values())), pod_records(files))


def assert_same_as_pod_viewer(frame: pd.DataFrame, theirs: list[dict[str, dict[str, object]]]) -> None:
    assert len(theirs) == frame["step"].nunique() > 0
    assert sum(len(step) for step in theirs) == len(frame)
    for _, ours in frame.iterrows():
        record = theirs[ours["step"]][ours["host"]]
        assert picoseconds(ours, ["step_time"]) == round(record["totalDurationUs"] * 1e6)
        for id_, names in CATEGORIES.items():
            assert picoseconds(ours, names) == round(record["stepBreakdownUs"][id_] * 1e6), (ours["step"], names)
        largest = sorted(GUIDE_CATEGORIES, key=lambda name: ours[f"{name}_ms"])
        if ours[f"{largest[-1]}_ms"] > ours[f"{largest[-2]}_ms"]:  # of equals XProf takes another
            assert NAMES[largest[-1]] == record["bottleneck"]


def picoseconds(row: pd.Series, names: list[str]) -> int:
    return round(sum(row[f"{name}_ms"] for name in names) * 1e9)


def test_the_pod_viewer_aligns_hosts_with_devices_alike_after_undoing_d1() -> None:
    files = {"a": gpu_host("a", 4, 0), "b": gpu_host("b", 5, 10, kernel_us=4)}
    frame = workers_of(*files.values()).frame
    theirs = pod_records(files)
    assert [set(step) for step in theirs] == [{"a", "b"}] * frame["step"].nunique()
    for _, ours in frame.iterrows():
        record = theirs[ours["step"]][ours["host"]]
        # Its step is the device's work alone (D1): of ours the part in which the device computes.
        assert picoseconds(ours, ["device_compute"]) == round(record["totalDurationUs"] * 1e6)
        assert NAMES[ours["bottleneck"]] == record["bottleneck"] == "Device compute"


def test_the_pod_viewer_leaves_a_coordinator_out_as_well() -> None:
    files = {"a": gpu_host("a", 4, 0), "chief": cpu_host("chief", 4, 0)}
    assert [set(step) for step in pod_records(files)] == [{"a"}] * workers_of(*files.values()).n_steps


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_the_pod_viewer_shows_the_same_of_a_real_capture(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    assert_same_as_pod_viewer(in_guide(case.results), pod_steps(case.theirs))
