"""Real distributed trainings, each task a process of its own with a profiler server -> one profile of all of them."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.unit.capture.remote.processes import TrainingProcess
from tfprof_widgets.errors import CaptureError

pytestmark = pytest.mark.tensorflow

DELAY_S = 0.2
FEW_STEPS = 6
"""Of fewer a single hiccup hides who is late (`stragglers.py`)."""
ATTEMPTS = 3
TRAININGS = 8

Task = tuple[str, int, float]
"""Its kind, its index, and by how many seconds its input is slow."""


def free_ports(n: int) -> list[int]:
    """Ports that nothing listens at; all are held until the last one is known."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


@contextmanager
def tasks(wanted: Sequence[Task]) -> Iterator[list[TrainingProcess]]:
    """Tasks that train together, of which each has told its address.

    A port may be taken again before the task listens at it, which leaves all others waiting: then all begin anew.
    """
    for attempt in range(ATTEMPTS):
        ports = ",".join(map(str, free_ports(len(wanted))))
        running = [
            TrainingProcess(kind, str(index), str(delay_s), ports, program="strategies")
            for kind, index, delay_s in wanted
        ]
        try:
            try:
                assert all(one.address for one in running)
            except AssertionError:
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            yield running
            return
        finally:
            for one in running:
                one.kill()
                one.end()


def captured(*wanted: Task) -> tuple[list[str], tfprof.Profile]:
    """The hosts, one for each task, and a profile of all of them.

    Where a task crashed all begin anew: that of TensorFlow 2.21 may when its profiler stops, see `remote_client`.
    """
    told = ""
    for _ in range(TRAININGS):
        with tasks(wanted) as running:
            addresses = [one.address for one in running]
            profile = captured_at(addresses)
            told = "\n".join(one.complaint for one in running)
        if profile is not None and not (profile.notices or told.strip()):
            return [host_of(one) for one in addresses], profile
    raise AssertionError(f"{TRAININGS} trainings crashed, the last one with {told}")


def captured_at(addresses: Sequence[str]) -> tfprof.Profile | None:
    """A profile of all tasks; on a busy machine the second or third capture may be the first with enough steps."""
    profile = None
    with suppress(CaptureError):
        for attempt in range(ATTEMPTS):
            profile = tfprof.capture_remote(addresses, duration_ms=1500 * (attempt + 1), delay_ms=700)
            if profile.notices or has_steps(profile):
                break
    return profile


def has_steps(profile: tfprof.Profile) -> bool:
    return bool(profile.workers["step"].nunique() >= FEW_STEPS)


def host_of(address: str) -> str:
    return address.replace(":", "_")


@pytest.fixture(scope="module")
def two_workers() -> tuple[list[str], tfprof.Profile]:
    """A Keras model on two workers, the second of which waits for its input."""
    return captured(("keras", 0, 0.0), ("keras", 1, DELAY_S))


@pytest.fixture(scope="module")
def four_workers() -> tuple[list[str], tfprof.Profile]:
    """A loop of its own on four workers, the third of which waits for its input."""
    return captured(*(("loop", i, DELAY_S if i == 2 else 0.0) for i in range(4)))


@pytest.fixture(scope="module")
def parameter_servers() -> tuple[list[str], tfprof.Profile]:
    """A chief that schedules, a parameter server, and two workers."""
    return captured(("chief", 0, 0.02), ("ps", 0, 0.0), ("worker", 0, 0.0), ("worker", 1, 0.0))


@pytest.fixture(params=["two_workers", pytest.param("four_workers", marks=pytest.mark.nightly)])
def mirrored(request: pytest.FixtureRequest) -> tuple[list[str], tfprof.Profile]:
    found: tuple[list[str], tfprof.Profile] = request.getfixturevalue(request.param)
    return found


def test_all_workers_are_hosts_of_one_profile_and_each_trains(mirrored: tuple[list[str], tfprof.Profile]) -> None:
    hosts, profile = mirrored
    assert profile.notices == ()
    assert set(profile.hosts["host"]) == set(hosts)
    assert set(profile.hosts["role"]) == {"worker"}
    assert (profile.hosts["n_steps"] >= FEW_STEPS).all()


def test_steps_of_workers_are_aligned(mirrored: tuple[list[str], tfprof.Profile]) -> None:
    hosts, profile = mirrored
    steps = profile.workers.groupby("step")
    assert len(steps) >= FEW_STEPS
    assert all(set(own["host"]) == set(hosts) for _, own in steps)
    numbers = steps["name"].nunique()
    assert (numbers == 1).all(), "every worker counts its steps from the same one on"


def test_workers_wait_in_a_collective_that_is_named(mirrored: tuple[list[str], tfprof.Profile]) -> None:
    hosts, profile = mirrored
    by_host = profile.workers.groupby("host")["device_collectives_ms"].mean()
    assert (by_host > 0).all()
    exchanges = profile.communication
    reduced = exchanges[exchanges["type"] == "CollectiveReduceV2"]
    assert set(reduced["host"]) == set(hosts)
    assert set(reduced["kind"]) == {"collective"}
    assert (reduced["exposed_time_us"] > 0).all()
    assert ((exchanges["overlap_ratio"] >= 0) & (exchanges["overlap_ratio"] <= 1)).all()
    assert ((exchanges["time_ratio"] >= 0) & (exchanges["time_ratio"] <= 1)).all()


def test_the_worker_with_slow_input_is_who_holds_the_others_up(mirrored: tuple[list[str], tfprof.Profile]) -> None:
    hosts, profile = mirrored
    slow = hosts[1] if len(hosts) == 2 else hosts[2]
    worst = profile.stragglers.iloc[0]
    assert worst["host"] == slow
    assert worst["category"] == "input"
    assert worst["n_aligned"] == profile.workers["step"].nunique()
    assert worst["n_steps"] > worst["n_aligned"] / 2
    assert worst["excess_ms"] > 1e3 * DELAY_S / 2
    assert 0 < worst["cost_ms"] <= worst["excess_ms"] * 1.5
    waits = profile.workers.groupby("host")["device_collectives_ms"].median()
    assert waits.idxmin() == slow
    advice = next(one for one in profile.advice if one.rule == "straggler")
    assert advice.evidence["host"] == slow
    assert advice.selection.view == "worker_chart"


def test_clocks_moved_let_steps_end_together(mirrored: tuple[list[str], tfprof.Profile]) -> None:
    _, profile = mirrored
    moved = profile.aligned()
    assert moved.workers["step"].nunique() == profile.workers["step"].nunique()
    assert off(moved) < 0.02
    assert moved.stragglers["host"].tolist() == profile.stragglers["host"].tolist()


def off(profile: tfprof.Profile) -> float:
    """By how many ms the ends of steps of a host are off, in the median, the worst host."""
    steps = profile.workers.assign(end_ms=profile.workers["start_ms"] + profile.workers["step_time_ms"])
    ends = steps.pivot(index="step", columns="host", values="end_ms")
    late = ends.sub(ends.median(axis=1), axis=0).median()
    return float((late - late.median()).abs().max())


@pytest.mark.nightly
def test_two_runs_tell_how_the_training_scales(
    two_workers: tuple[list[str], tfprof.Profile], four_workers: tuple[list[str], tfprof.Profile]
) -> None:
    scaling = tfprof.scaling([four_workers[1], two_workers[1]])
    assert scaling.frame["n_workers"].tolist() == [2, 4]
    assert scaling.frame["largest_exchange"].tolist() == ["CollectiveReduceV2"] * 2
    assert (scaling.frame["communication_ratio"] > 0).all()
    assert scaling.sentence.startswith("4 workers give ")
    assert "% of step time is CollectiveReduceV2" in scaling.sentence


def test_chief_parameter_server_and_workers_are_told_apart(
    parameter_servers: tuple[list[str], tfprof.Profile],
) -> None:
    hosts, profile = parameter_servers
    assert profile.notices == ()
    role = dict(zip(profile.hosts["host"], profile.hosts["role"], strict=True))
    assert [role[host] for host in hosts] == ["coordinator", "parameter server", "worker", "worker"]
    task = dict(zip(profile.hosts["host"], profile.hosts["task"], strict=True))
    assert [task[host] for host in hosts[1:]] == [
        "/job:ps/replica:0/task:0",
        "/job:worker/replica:0/task:0",
        "/job:worker/replica:0/task:1",
    ]


def test_workers_of_a_parameter_server_have_aligned_steps_of_their_whole_length(
    parameter_servers: tuple[list[str], tfprof.Profile],
) -> None:
    hosts, profile = parameter_servers
    workers = profile.workers
    assert set(workers["host"]) == set(hosts[2:])
    assert (workers.groupby("host").size() == workers["step"].nunique()).all()
    calls = profile.events[profile.events["name"] == "KernelAndDeviceFunc::Run"]["duration_ns"] / 1e6
    assert workers["step_time_ms"].median() == pytest.approx(np.median(calls), rel=0.2)


def test_what_workers_and_parameter_servers_exchange_is_told(
    parameter_servers: tuple[list[str], tfprof.Profile],
) -> None:
    hosts, profile = parameter_servers
    exchanges: pd.DataFrame = profile.communication
    assert set(exchanges["host"]) == set(hosts[1:])
    for host in hosts[1:]:
        own = exchanges[exchanges["host"] == host]
        assert {"send", "receive"} <= set(own["kind"])
        assert (own["total_time_us"] > 0).all()
    received = exchanges[(exchanges["kind"] == "receive") & exchanges["host"].isin(hosts[2:])]
    assert received["name"].str.contains("ReadVariableOp").any(), "parameters come from their server"
    assert (profile.workers.groupby("host")["device_collectives_ms"].mean() > 0).all()
