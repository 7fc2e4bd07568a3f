"""Runs of two and three hosts against XProf, which merges what it found on each: steps, ops, kernels and the overview.

Undone are the documented differences: XProf's step on a machine with devices is the device's work alone (D1), it leaves the
first and the last step of a longer capture out (D3), and lists each host's kernels apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import pandas as pd
import pytest

from tests.builders import Event, U, event, line, plane, session, space
from tests.unit.analysis.hosts.several_hosts_oracle import CATEGORIES, TOOLS, in_guide, pod_steps
from tests.unit.analysis.hosts.test_workers import picoseconds
from tests.unit.analysis.xprof_oracle import rows, xprof_of_runs
from tfprof_widgets.analysis import Analysis, Selection
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import merge_traces

DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"
PERIOD_US = 10


def cpu_host(name: str, n_steps: int, start_us: float, *, op_us: float = 5.0, step_us: float = 9.0) -> bytes:
    """Steps of different lengths, with an op that all hosts have, one of the host's own, and a wait for data."""
    events: list[Event] = []
    for i in range(n_steps):
        at = start_us + PERIOD_US * i
        events += [
            event("train", at, step_us + 0.1 * (crc32(f"{name}{i}".encode()) % 3), _r=1, step_num=i),
            event("a/x:MatMul", at + 0.5, op_us),
            event(f"only/{name}:Relu", at + 0.6 + op_us, 0.3),
            event("IteratorGetNext:IteratorGetNext", at + 7, 0.5 + 0.1 * (i % 2)),
        ]
    return space(session(), plane("/host:CPU", line("main", *events)), hostnames=[name])


def gpu_host(name: str, n_steps: int, start_us: float, *, kernel_us: float = 5.0, n_devices: int = 1) -> bytes:
    """Steps that launch a kernel on each device, of two kinds in turn."""
    launches: list[Event] = []
    kernels: list[list[Event]] = [[] for _ in range(n_devices)]
    for i in range(n_steps):
        at = start_us + PERIOD_US * i
        launches.append(event("train", at, 9, _r=1, step_num=i))
        for device in range(n_devices):
            id_ = U(100 * device + i + 1)
            launches.append(event("cuLaunchKernel", at + 1 + 0.5 * device, 0.4, correlation_id=id_))
            shown = {"tf_op": f"m/foo_{i % 2}:MatMul", "kernel_details": DETAILS}
            kernels[device].append(
                event("kern_half" if i % 2 else "kern", at + 3, kernel_us - device, correlation_id=id_, **shown)
            )
    devices = [
        plane(f"/device:GPU:{k}", line("Stream #13(Compute)", *own, id=13), device_vendor="Nvidia")
        for k, own in enumerate(kernels)
    ]
    return space(session(), plane("/host:CPU", line("main", *launches)), *devices, hostnames=[name])


CPU_RUNS = {
    "together": {"a": cpu_host("a", 4, 0), "b": cpu_host("b", 4, 0, op_us=4)},
    "one step later": {"a": cpu_host("a", 4, 0), "b": cpu_host("b", 5, 10, op_us=4, step_us=8)},
    "two steps earlier": {"a": cpu_host("a", 5, 40, op_us=2), "b": cpu_host("b", 5, 20, step_us=9.5)},
    "out of phase": {"a": cpu_host("a", 5, 0), "b": cpu_host("b", 5, 13), "c": cpu_host("c", 5, 4, op_us=3)},
    "of three hosts one begins late and one ends early": {
        "a": cpu_host("a", 7, 0),
        "b": cpu_host("b", 8, 10, op_us=4, step_us=8),
        "c": cpu_host("c", 4, 23, op_us=3, step_us=9.5),
    },
    "one host far longer": {"a": cpu_host("a", 3, 50), "b": cpu_host("b", 12, 0), "c": cpu_host("c", 4, 40)},
}
GPU_RUNS = {
    "one step later": {"a": gpu_host("a", 4, 0), "b": gpu_host("b", 5, 10, kernel_us=4)},
    "two devices each": {"a": gpu_host("a", 4, 0, n_devices=2), "b": gpu_host("b", 4, 20, n_devices=2)},
    "three hosts": {"a": gpu_host("a", 5, 0), "b": gpu_host("b", 4, 10), "c": gpu_host("c", 5, 20, kernel_us=3)},
    "a coordinator without a device": {
        "a": gpu_host("a", 4, 0),
        "b": gpu_host("b", 5, 10, kernel_us=4),
        "chief": cpu_host("chief", 4, 0),
    },
}
Run = Mapping[str, bytes]
Read = Callable[[Mapping[str, Run], str], tuple[Analysis, Mapping[str, Any]]]


@pytest.fixture(scope="module")
def read() -> Read:
    """Our reading of a run, and XProf's; of each table of runs it reads all when first asked."""
    known: dict[int, dict[str, dict[str, Any]]] = {}

    def both(runs: Mapping[str, Run], name: str) -> tuple[Analysis, Mapping[str, Any]]:
        theirs = known.setdefault(id(runs), {}) or known.setdefault(id(runs), {})
        if not theirs:
            theirs.update(xprof_of_runs(runs, *TOOLS))
        return Analysis(merge_traces([read_xspace(content) for content in runs[name].values()])), theirs[name]

    return both


@pytest.mark.parametrize("name", CPU_RUNS)
def test_aligned_steps_of_hosts_are_those_of_the_pod_viewer(name: str, read: Read) -> None:
    results, theirs = read(CPU_RUNS, name)
    frame, steps = in_guide(results), pod_steps(theirs)
    assert results.workers.n_steps == len(steps) > 0
    assert sum(len(step) for step in steps) == len(frame)
    for _, ours in frame.iterrows():
        record = steps[ours["step"]][ours["host"]]
        assert picoseconds(ours, ["step_time"]) == round(record["totalDurationUs"] * 1e6)
        for id_, names in CATEGORIES.items():
            assert picoseconds(ours, names) == round(record["stepBreakdownUs"][id_] * 1e6), (ours["step"], names)


@pytest.mark.parametrize("name", GPU_RUNS)
def test_hosts_with_devices_are_aligned_alike_after_undoing_d1(name: str, read: Read) -> None:
    results, theirs = read(GPU_RUNS, name)
    frame, steps = results.workers.frame, pod_steps(theirs)
    assert [set(step) for step in steps] == [set(results.workers.hosts)] * results.workers.n_steps
    assert len(steps) > 0
    for _, ours in frame.iterrows():
        record = steps[ours["step"]][ours["host"]]
        assert picoseconds(ours, ["device_compute"]) == round(record["totalDurationUs"] * 1e6)


@pytest.mark.parametrize("name", CPU_RUNS)
def test_the_overview_shows_aligned_steps_of_the_first_host(name: str, read: Read) -> None:
    """D3: there XProf leaves out the first and the last step of each host with more than five."""
    results, theirs = read(CPU_RUNS, name)
    shown = [(row["stepnum"], round(row["stepTimeMs"] * 1e9)) for row in rows(theirs["overview_page"][1])]
    first = results.workers.frame[results.workers.frame["host"] == "a"]
    ours = [(row["name"], picoseconds(row, ["step_time"])) for _, row in first.iterrows()]
    assert shown
    at = ours.index(shown[0])
    assert ours[at : at + len(shown)] == shown


@pytest.mark.parametrize("name", GPU_RUNS)
def test_the_overview_shows_of_each_step_the_longest_device_after_undoing_d1(name: str, read: Read) -> None:
    results, theirs = read(GPU_RUNS, name)
    shown = [round(row["stepTimeMs"] * 1e9) for row in rows(theirs["overview_page"][1])]
    longest = results.workers.frame.groupby("step")["device_compute_ms"].max()
    assert [round(ms * 1e9) for ms in longest] == shown != []


@pytest.mark.parametrize(
    ("runs", "name"), [(CPU_RUNS, one) for one in CPU_RUNS] + [(GPU_RUNS, one) for one in GPU_RUNS]
)
def test_hosts_and_devices_are_counted_as_in_xprof(runs: Mapping[str, Run], name: str, read: Read) -> None:
    results, theirs = read(runs, name)
    environment, printed = results.overview.environment, theirs["overview_page"][2]["p"]
    assert str(len(environment.hosts)) == printed["host_count"] == str(len(results.hosts))
    assert str(environment.n_devices) == printed["device_core_count"]


@pytest.mark.parametrize(
    ("runs", "name"), [(CPU_RUNS, one) for one in CPU_RUNS] + [(GPU_RUNS, one) for one in GPU_RUNS]
)
def test_ops_of_all_hosts_add_up_as_in_xprof(runs: Mapping[str, Run], name: str, read: Read) -> None:
    results, theirs = read(runs, name)
    ours = Selection(results, None, ()).op_statistics(idle=True)
    expected = {
        (row["host_or_device"], row["operation"]): (
            row["type"],
            row["occurrences"],
            round(1e6 * row["total_time"]),
            round(1e6 * row["total_self_time"]),
        )
        for row in rows(theirs["framework_op_stats"][0])
        if row["total_time"]  # a host without ops has no idle time; XProf says so in a row
    }
    found = {
        (row["device"], row["name"]): (
            row["type"],
            row["occurrences"],
            round(1e6 * row["total_time_us"]),
            round(1e6 * row["total_self_time_us"]),
        )
        for row in ours.to_dict("records")
    }
    assert found == expected != {}


@pytest.mark.parametrize("name", GPU_RUNS)
def test_kernels_of_all_hosts_are_those_of_xprof(name: str, read: Read) -> None:
    results, theirs = read(GPU_RUNS, name)
    table = theirs["kernel_stats"]
    shown = pd.DataFrame(rows(table[0] if isinstance(table, list) else table))
    grouped = shown.groupby(["kernel_name", "op_name", "registers_per_thread", "shmem_bytes", "block_dim", "grid_dim"])
    expected = grouped.agg(
        n=("occurrences", "sum"),
        us=("total_duration_us", "sum"),
        low=("min_duration_us", "min"),
        high=("max_duration_us", "max"),
    )
    ours = results.kernels.frame.set_index(
        ["name", "op_name", "registers_per_thread", "shared_memory_bytes", "block_dim", "grid_dim"]
    )
    assert set(ours.index) == set(expected.index) != set()
    for index, row in expected.iterrows():
        own = ours.loc[index]
        assert (own["occurrences"], own["total_time_us"]) == (row["n"], row["us"])
        assert (own["min_time_us"], own["max_time_us"]) == (row["low"], row["high"])


@pytest.mark.parametrize("name", GPU_RUNS)
def test_precision_counts_all_hosts_as_in_xprof(name: str, read: Read) -> None:
    results, theirs = read(GPU_RUNS, name)
    printed = theirs["overview_page"][0]["p"]
    overview = results.overview
    assert printed["device_compute_16bit_percent"] == f"{overview.compute_16bit_ratio:.1%}"
    assert printed["device_compute_32bit_percent"] == f"{overview.compute_32bit_ratio:.1%}"
