"""Training processes elsewhere -> the steps of all while they run, and what is told of those that do not answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.unit.capture.remote.processes import TrainingProcess
from tests.unit.capture.remote.training import free_port
from tfprof_widgets.capture.remote.steps_client import StepsClient, WorkerState
from tfprof_widgets.trace.watched import OTHER, PROFILED, STEP, TRAIN, Steps

pytestmark = pytest.mark.tensorflow

WAIT_S = 60


class Watched:
    """What a client has given so far, worker by worker."""

    def __init__(self, client: StepsClient, n_workers: int) -> None:
        self.client = client
        self.rows: list[Steps] = [np.empty(0, STEP)] * n_workers
        self.taken_s: list[list[float]] = [[] for _ in range(n_workers)]
        """When rows of a worker came."""

    def look(self) -> None:
        for i, rows in enumerate(self.client.take()):
            if len(rows):
                self.rows[i] = np.concatenate([self.rows[i], rows])
                self.taken_s[i].append(time.monotonic())

    def until(self, is_true: Callable[[], object]) -> None:
        end_s = time.monotonic() + WAIT_S
        while not is_true():
            assert time.monotonic() < end_s, self.client.states
            time.sleep(0.02)
            self.look()

    def during(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end_s)

    @property
    def states(self) -> tuple[WorkerState, ...]:
        return self.client.states


@contextmanager
def watched(*addresses: str, token: str | None = None) -> Iterator[Watched]:
    client = StepsClient(addresses, token=token)
    client.start()
    try:
        yield Watched(client, len(addresses))
    finally:
        client.stop()


@contextmanager
def stepping(*kinds: str, port: int = 0, token: str | None = None) -> Iterator[list[TrainingProcess]]:
    more = () if token is None else (token,)
    processes = [TrainingProcess(kind, str(port), *more, program="stepping") for kind in kinds]
    try:
        for one in processes:
            assert one.address
        yield processes
    finally:
        for one in processes:
            one.end()


def check_each_once(rows: Steps) -> None:
    jumps = np.flatnonzero(np.diff(rows["number"]) != 1)
    assert not len(jumps), ("each step once, in their order", rows[jumps], rows[jumps + 1])
    assert np.all(np.diff(rows["start_ns"]) > 0)


def test_the_steps_of_all_workers_come_while_they_train() -> None:
    with stepping("fit", "loop") as (fit, loop), watched(fit.address, loop.address) as seen:
        seen.until(lambda: all(len(rows) > 20 for rows in seen.rows))
        seen.during(4)
        states = seen.states
    for rows, taken_s in zip(seen.rows, seen.taken_s, strict=True):
        check_each_once(rows)
        assert rows["number"][0] == 0, "those before the first question too"
        assert len([s for s in taken_s if s > taken_s[-1] - 3]) >= 6, "twice a second"
    of_fit, of_loop = seen.rows
    assert set(of_fit["kind"]) == {TRAIN}
    assert set(of_loop["kind"]) <= {TRAIN, OTHER}
    assert 10_000 < np.median(of_fit["duration_us"]) < 100_000
    assert np.median(of_fit["outside_us"]) > 9_000, "its callback sleeps"
    assert np.isfinite(of_fit["loss"]).mean() > 0.9
    slow = of_loop["number"] % 10 == 0
    assert np.median(of_loop["duration_us"][slow]) > 45_000 > np.median(of_loop["duration_us"][~slow])
    for state, process, rows in zip(states, (fit, loop), seen.rows, strict=True):
        assert (state.state, state.words, state.process_id) == ("running", "", process.pid)
        assert state.host_name
        assert abs(state.n_steps - len(rows)) < 200
        assert state.n_missed == 0


def test_a_worker_that_is_killed_is_lost_until_one_answers_there_again() -> None:
    port = free_port()
    with (
        stepping("loop") as (other,),
        stepping("loop", port=port) as (doomed,),
        watched(doomed.address, other.address) as seen,
    ):
        seen.until(lambda: len(seen.rows[0]) > 20)
        doomed.kill()
        seen.until(lambda: seen.states[0].state == "lost")
        assert "cannot be reached, or has ended" in seen.states[0].words
        n_doomed, n_other = map(len, seen.rows)
        seen.during(2)
        assert seen.states[1].state == "running"
        assert len(seen.rows[1]) > n_other + 20
        with stepping("loop", port=port) as (again,):
            seen.until(lambda: seen.states[0].state == "running")
            seen.until(lambda: len(seen.rows[0]) > n_doomed + 20)
            assert seen.states[0].process_id == again.pid
    before, after = seen.rows[0][:n_doomed], seen.rows[0][n_doomed:]
    check_each_once(before)
    check_each_once(after)
    assert after["number"][0] == 0


def test_a_capture_of_the_workers_is_seen_in_their_steps_which_go_on() -> None:
    with stepping("fit", "loop") as workers, watched(*(one.address for one in workers)) as seen:
        seen.until(lambda: all(len(rows) > 20 for rows in seen.rows))
        profile = tfprof.capture_remote([one.address for one in workers], duration_ms=600)
        seen.during(2)
    for worker, rows in zip(workers, seen.rows, strict=True):
        check_each_once(rows)
        profiled = (rows["flags"] & PROFILED) != 0
        assert 5 < profiled.sum() < len(rows) - 20
        steps = profile.steps[profile.steps["host"] == worker.address.replace(":", "_")]
        captured = {int(name.removeprefix("train ")) for name in steps["name"]}
        assert captured <= set(rows["number"][profiled].tolist()), "what is captured has the same numbers"
        assert len(captured) > 5


def test_many_steps_come_in_several_answers() -> None:
    with stepping("burst") as (worker,), watched(worker.address) as seen:
        seen.until(lambda: len(seen.rows[0]) == 70_000)
        check_each_once(seen.rows[0])
        seen.until(lambda: seen.states[0].state == "idle")
        assert "has ended no step for" in seen.states[0].words


def test_who_has_no_step_who_wants_a_token_and_who_is_no_worker_is_told() -> None:
    nobody = f"127.0.0.1:{free_port()}"
    own = TrainingProcess("tensorflow")
    try:
        with (
            stepping("none") as (idle,),
            stepping("loop", token="s3cret") as (guarded,),
            watched(idle.address, guarded.address, own.address, nobody, token="wrong") as seen,
        ):
            seen.until(lambda: all(one.state != "asked" for one in seen.states))
            found = seen.states
            with watched(guarded.address, token="s3cret") as allowed:
                allowed.until(lambda: len(allowed.rows[0]) > 5)
    finally:
        own.end()
    assert [one.state for one in found] == ["idle", "lost", "lost", "lost"]
    assert "tfprof.trace_steps()" in found[0].words
    assert "not the one that it asks for" in found[1].words
    assert "s3cret" not in found[1].words
    assert "no `tfprof.serve()`" in found[2].words
    assert "cannot be reached" in found[3].words
