"""Runs of several hosts against XProf, and who holds the others up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import EPOCH_NS, Event, U, event, line, plane, session, space
from tests.cluster import Cluster, host_name
from tests.unit.analysis.hosts.drawn_hosts import (
    chief,
    host,
    marked,
    results_of,
    results_of_cluster,
    served_worker,
    server,
)
from tests.unit.analysis.parity.parity_case import MARKED_KINDS, Case
from tests.unit.analysis.xprof_oracle import rows, xprof_of_runs
from tfprof_widgets.analysis import GUIDE_CATEGORIES, TABLES, Analysis, Facts, Selection
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import merge_traces

CATEGORIES = {
    "1": ["device_compute"],
    "2": ["device_to_device"],
    "3": ["device_collectives"],
    # XProf never fills compilation: what it shows as host compute is ours and compilation together.
    "4": ["host_compute", "compile"],
    "5": ["kernel_launch"],
    "6": ["input"],
    "7": ["output"],
    "9": ["other"],
}
"""Our categories by the ids of the pod viewer."""
NAMES = {
    "device_compute": "Device compute",
    "device_to_device": "Device to device",
    "host_compute": "Host compute",
    "device_collectives": "Device collective communication",
    "compile": "Host compute",
    "input": "Input",
    "kernel_launch": "Kernel launch",
    "output": "Output",
    "other": "All others",
}
TOOLS = ("overview_page", "framework_op_stats", "kernel_stats", "input_pipeline_analyzer", "pod_viewer")


def pod_steps(reading: Mapping[str, Any]) -> list[dict[str, dict[str, Any]]]:
    """Per aligned step the record of each host, by the host's name."""
    steps = reading["pod_viewer"]["podStatsSequence"]["podStatsMap"]
    return [{record["hostName"]: record for record in step["podStatsPerCore"].values()} for step in steps]


def in_guide(results: Facts) -> pd.DataFrame:
    """The steps of workers in the categories of the guide: D14 undone."""
    frame, guide = results.workers.frame, results.step_guide
    columns = [f"{name}_ms" for name in GUIDE_CATEGORIES]
    own = guide.loc[frame["own_step"], columns].reset_index(drop=True)
    return frame[["step", "host", "step_time_ms"]].join(own)


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


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_the_pod_viewer_shows_the_same_of_a_real_capture(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    assert_same_as_pod_viewer(in_guide(case.results), pod_steps(case.theirs))


LENGTHS = np.random.default_rng(1).uniform(700, 1300, 40)
"""Of the steps of one training, in us: they are as long on every host."""


def host_of_steps(
    name: str, steps: range, *, clock_us: float = 0.0, counted_from: int = 0, mark: str = "train"
) -> bytes:
    """A host that took part in some steps of the training, each of which ends with an exchange; its clock is ahead."""
    begin = np.concatenate([[0.0], np.cumsum(LENGTHS)])
    exchange = "CollectiveReduceV2:CollectiveReduceV2"
    events = [
        one
        for i in steps
        for one in (
            event(mark, float(begin[i] - begin[steps.start]), float(LENGTHS[i] - 5), _r=1, step_num=i + counted_from),
            event(exchange, float(begin[i + 1] - begin[steps.start]) - 205, 200),
        )
    ]
    start_ns = EPOCH_NS + round(1e3 * (float(begin[steps.start]) + clock_us))
    return space(
        session(start_ns=start_ns, duration_us=1e5), plane("/host:CPU", line("main", *events)), hostnames=[name]
    )


def numbers(results: Analysis, name: str) -> list[str]:
    frame = results.workers.frame
    return frame[frame["host"] == name]["name"].tolist()


@pytest.mark.parametrize("clock_us", [0.0, 300.0, -300.0, 2_500.0, -4_100.0, 1e6, -3e7])
def test_the_same_steps_are_compared_whatever_the_clocks_say(clock_us: float) -> None:
    results = results_of(
        host_of_steps("a", range(5, 20)),
        host_of_steps("b", range(8, 24), clock_us=clock_us),
        host_of_steps("c", range(6, 22)),
    )
    steps = [f"train {i}" for i in range(8, 20)]
    assert [numbers(results, name) for name in "abc"] == [steps] * 3


def test_hosts_that_count_differently_and_never_meet_go_by_their_numbers() -> None:
    results = results_of(host_of_steps("a", range(5, 12)), host_of_steps("b", range(20, 30), counted_from=-13))
    assert numbers(results, "a") == numbers(results, "b") == [f"train {i}" for i in range(7, 12)]


def test_a_clock_that_is_off_by_steps_is_told_of_and_moved(tmp_path: Path) -> None:
    files = {
        "a": host_of_steps("a", range(9)),
        "b": host_of_steps("b", range(9), clock_us=-5_000.0),
        "c": host_of_steps("c", range(9)),
    }
    for name, content in files.items():
        (tmp_path / f"{name}.xplane.pb").write_bytes(content)
    prof = tfprof.load(tmp_path)
    (notice,) = prof.notices
    assert notice.startswith("The clocks of 1 of 3 hosts are off by much of a step: that of b is 5.00 ms behind")
    moved = prof.aligned()
    ends = ends_of(moved)
    assert (ends.max(axis=1) - ends.min(axis=1)).max() < 1e-6
    assert moved.notices == ()
    assert moved.workers["step_time_ms"].tolist() == pytest.approx(prof.workers["step_time_ms"].tolist())
    assert (moved.trace.start_ps >= 0).all()
    assert moved.trace.n_events == prof.trace.n_events
    kept = pd.DataFrame({"a": prof.events["duration_ns"], "b": moved.events["duration_ns"]})
    assert (kept["a"] == kept["b"]).all()


def notice_of(clock_us: dict[str, float]) -> str:
    return results_of(
        *(host_of_steps(name, range(9), clock_us=us) for name, us in clock_us.items())
    ).workers.clocks.notice


def test_clocks_that_fall_into_two_halves_are_told_of() -> None:
    assert notice_of({"a": 0.0, "b": 0.0, "c": 2_500.0, "d": 2_500.0}).startswith(
        "The clocks of the 4 hosts disagree by much of a step: that of a is 2.50 ms behind the others'."
    )


@pytest.mark.parametrize(
    ("clock_us", "words"), [(5 * 86_400e6, "5.00 days behind"), (7_200e6, "2.00 hours behind"), (90e6, "90.0 s behind")]
)
def test_clocks_far_apart_are_told_of_in_a_unit_that_fits(clock_us: float, words: str) -> None:
    assert words in notice_of({"a": 0.0, "b": -clock_us, "c": 0.0})


def short_beside(n_hosts: int, n_steps: int, **short: range) -> Analysis:
    """Hosts with all steps, and some with fewer."""
    files = [host_of_steps(f"h{i:02d}", range(n_steps)) for i in range(n_hosts)]
    return results_of(*files, *(host_of_steps(name, steps) for name, steps in short.items()))


def test_a_host_with_hardly_any_steps_is_left_out_and_named_and_cuts_nobody() -> None:
    workers = short_beside(23, 30, short=range(12, 13)).workers
    assert workers.n_steps == 30
    assert workers.hosts == tuple(f"h{i:02d}" for i in range(23))
    assert workers.left_out == ("short",)
    assert workers.note == "With too few of the others' steps and therefore not compared: short."


def test_who_has_half_of_the_steps_is_kept() -> None:
    workers = short_beside(4, 12, half=range(3, 9)).workers
    assert (workers.n_steps, workers.left_out) == (6, ())
    assert workers.hosts[-1] == "half"


def ends_of(prof: tfprof.Profile) -> pd.DataFrame:
    steps = prof.workers.assign(end_ms=prof.workers["start_ms"] + prof.workers["step_time_ms"])
    return steps.pivot(index="step", columns="host", values="end_ms")


def test_a_reduced_profile_is_aligned_too(tmp_path: Path) -> None:
    prof = tfprof.load(Cluster(20, n_steps=5, clock_us={4: 40_000.0}).draw(tmp_path))
    assert not prof.has_events
    assert any("off by much of a step" in notice for notice in prof.notices)
    moved = prof.aligned()
    assert not moved.has_events
    ends = ends_of(moved)
    assert (ends.max(axis=1) - ends.min(axis=1)).max() < 0.01
    assert len(moved.host(host_name(4)).steps) == 5


SEEDS = range(3)


def seldom(*arguments: object, is_usual: bool) -> object:
    """A case that only `make nightly` asks, but for the usual ones."""
    return pytest.param(*arguments, marks=() if is_usual else pytest.mark.nightly)


def planted(n_hosts: int, n_compute: int, n_input: int, seed: int) -> tuple[Mapping[str, str], Analysis]:
    """The category of each planted straggler, and the results."""
    random = np.random.default_rng(seed)
    chosen = random.choice(n_hosts, n_compute + n_input, replace=False).tolist()
    compute, read = chosen[:n_compute], chosen[n_compute:]
    cluster = Cluster(
        n_hosts,
        n_steps=10,
        seed=seed,
        slow_compute={one: 1.3 + 0.1 * i for i, one in enumerate(compute)},
        slow_input={one: 2.8 + 0.2 * i for i, one in enumerate(read)},
    )
    expected = {host_name(one): "host_compute" for one in compute} | {host_name(one): "input" for one in read}
    return expected, results_of_cluster(cluster)


@pytest.mark.parametrize(
    ("n_hosts", "n_compute", "n_input", "seed"),
    [
        seldom(*shape, seed, is_usual=seed == 0 and shape != (100, 1, 0))
        for shape in ((2, 1, 0), (4, 0, 1), (8, 1, 1), (8, 2, 0), (100, 2, 2), (100, 1, 0))
        for seed in SEEDS
    ],
)
def test_exactly_the_planted_stragglers_are_found(n_hosts: int, n_compute: int, n_input: int, seed: int) -> None:
    expected, results = planted(n_hosts, n_compute, n_input, seed)
    found = results.stragglers
    assert dict(zip(found["host"], found["category"], strict=True)) == expected
    assert (found["n_aligned"] == 10).all()
    assert (found["n_steps"] > 8).all()
    assert found["cost_ms"].is_monotonic_decreasing
    assert ((found["cost_ratio"] >= 0.01) & (found["cost_ratio"] < 1)).all()


@pytest.mark.parametrize(
    ("n_hosts", "seed", "jitter_ratio"),
    [
        seldom(n_hosts, seed, ratio, is_usual=seed == 0 and (n_hosts < 100 or ratio == 0.1))
        for n_hosts, seed in (*((n, seed) for n in (2, 3, 8) for seed in SEEDS), (100, 0))
        for ratio in (0.0, 0.02, 0.1)
    ],
)
def test_hosts_that_only_jitter_hold_nobody_up(n_hosts: int, seed: int, jitter_ratio: float) -> None:
    results = results_of_cluster(Cluster(n_hosts, n_steps=10, jitter_ratio=jitter_ratio, seed=seed))
    assert results.stragglers.empty
    assert tuple(results.stragglers.columns) == TABLES["stragglers"].names
    assert [one for one in results.advice if one.rule == "straggler"] == []


def test_hosts_that_exchange_nothing_hold_nobody_up_and_their_clocks_are_not_judged() -> None:
    files = []
    for index, compute_us in enumerate([300, 305, 302, 700, 301, 299]):
        events = [
            one
            for step in range(6)
            for one in [
                replace(
                    event,
                    start_ps=event.start_ps + (step * 1_010 + index * 700) * 10**6,
                    duration_ps=compute_us * 10**6,
                )
                for event in marked(1, ("net/MatMul:MatMul", 0.0, 1.0))
            ]
        ]
        files.append(host(f"h{index}", events))
    results = results_of(*files)
    assert results.workers.n_steps > 0
    assert results.stragglers.empty
    assert results.workers.clocks.notice == ""
    assert results.workers.clocks.shift_ps == {}, "nothing makes their steps end together"


def test_workers_that_wait_for_a_parameter_server_do_not_hold_each_other_up() -> None:
    results = results_of(served_worker(0, 12), served_worker(1, 12, compute_us=550), server(24), chief(12))
    assert results.workers.hosts == ("w0", "w1")
    assert (results.workers.frame["device_collectives_ms"] > 0).any(), "they wait for the server"
    assert not results.workers.wait_for_each_other
    assert results.stragglers.empty
    assert [one for one in results.advice if one.rule == "straggler"] == []


@pytest.mark.parametrize("n_hosts", [2, 4, 8])
def test_three_steps_are_enough_to_find_a_straggler(n_hosts: int) -> None:
    found = results_of_cluster(Cluster(n_hosts, n_steps=3, slow_compute={1: 1.5})).stragglers
    assert found["host"].tolist() == [host_name(1)]


def test_stragglers_of_two_kinds_have_an_advice_each() -> None:
    results = results_of_cluster(Cluster(12, slow_input={5: 4.0}, slow_compute={2: 1.4, 3: 1.45}))
    found = {one.evidence["category"]: one for one in results.advice if one.rule == "straggler"}
    assert set(found) == {"input", "host_compute"}
    assert found["host_compute"].evidence["n_stragglers"] == 2
    assert found["host_compute"].title.startswith("2 of 12 hosts hold the others up, worker0003 most")


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
