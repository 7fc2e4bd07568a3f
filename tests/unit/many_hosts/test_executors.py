"""Whatever executor reduces the hosts of a run, the profile is the same."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.cluster import host_name
from tests.unit.many_hosts.reduced_run import N_HOSTS, assert_equal
from tfprof_widgets.analysis import host_file_list, many_hosts, reduce_file
from tfprof_widgets.read import FailedHost, find


class Backwards(Executor):
    """Runs what it is given when somebody waits for it, the last first."""

    def __init__(self) -> None:
        self.n_waiting = self.most_waiting = 0
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, lambda: function(*arguments, **named)))
        self.most_waiting = max(self.most_waiting, len(self._waiting))
        if len(self._waiting) == N_HOSTS // 2:  # all come in two rounds
            self.work()
        return future

    def work(self) -> None:
        while self._waiting:
            future, call = self._waiting.pop()
            future.set_result(call())


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    """The executor of a Dask cluster of one process on this machine."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dask
        import distributed

        dask.config.set({"temporary-directory": str(tmp_path_factory.mktemp("dask"))})
        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None, silence_logs=50
        )
        client = distributed.Client(cluster, set_as_default=False)
        yield client.get_executor()
        client.close()
        cluster.close()


def test_the_order_of_completion_does_not_matter(run: Path, reduced: tfprof.Profile) -> None:
    assert_equal(tfprof.load(run, executor=Backwards()), reduced)


def test_an_executor_reduces_however_few_hosts_there_are(run: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        prof = tfprof.load(run / f"{host_name(0)}.xplane.pb", executor=threads)
    assert not prof.has_events
    assert set(prof.steps["host"]) == {host_name(0)}


def test_no_more_files_wait_in_an_executor_than_the_limit(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_hosts, "MOST_WAITING", 3)
    waiting: set[Future[Any]] = set()
    most = 0

    class Counted(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            nonlocal most
            future = super().submit(function, *arguments, **named)
            waiting.add(future)
            most = max(most, sum(not one.done() for one in waiting))
            return future

    with Counted(1) as threads:
        tfprof.load(run, executor=threads)
    assert len(waiting) == N_HOSTS
    assert most <= 3


def test_what_travels_can_be_pickled_and_is_small(run: Path) -> None:
    task = host_file_list(find(run))[0]
    assert pickle.loads(pickle.dumps(reduce_file)) is reduce_file
    assert pickle.loads(pickle.dumps(task)) == task
    summaries = reduce_file(task)
    assert not isinstance(summaries, FailedHost)
    assert len(pickle.dumps(summaries)) < 40_000
    [again] = pickle.loads(pickle.dumps(summaries))
    assert again.host == host_name(0)


def test_failed_hosts_are_plain_values() -> None:
    assert dataclasses.is_dataclass(FailedHost)
    assert pickle.loads(pickle.dumps(FailedHost("a", "b"))) == FailedHost("a", "b")


def test_an_interrupt_cancels_what_waits(run: Path) -> None:
    futures: list[Future[Any]] = []
    begun, released = Event(), Event()

    def hold() -> None:
        begun.set()
        released.wait()

    class Held(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            if len(futures) == N_HOSTS - 1:
                begun.wait()
                raise KeyboardInterrupt
            futures.append(super().submit(hold))
            return futures[-1]

    with Held(1) as threads:
        try:
            with pytest.raises(KeyboardInterrupt):
                tfprof.load(run, executor=threads)
            assert [future.cancelled() for future in futures] == [False] + (N_HOSTS - 2) * [True]
        finally:
            released.set()


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_what_this_process_gives_though_files_are_damaged(
    damaged: Path, reduced_damaged: tfprof.Profile, dask: Executor
) -> None:
    assert_equal(tfprof.load(damaged, executor=dask), reduced_damaged)
