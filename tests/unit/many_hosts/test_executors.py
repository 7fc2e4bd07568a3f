"""Where the hosts of a run are read: executors, processes and when the calling one does it."""

from __future__ import annotations

import dataclasses
import gzip
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import fsspec
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.cluster import Cluster, host_name
from tests.unit.many_hosts import dying_processes
from tests.unit.many_hosts.reduced_run import MOST_WHOLE, N_HOSTS, assert_equal
from tfprof_widgets.analysis import host_file_list, many_hosts, reduce_file
from tfprof_widgets.read import FailedHost, find, known_size, place_of


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


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_what_this_process_gives_though_files_are_damaged(
    damaged: Path, reduced_damaged: tfprof.Profile, dask: Executor
) -> None:
    assert_equal(tfprof.load(damaged, executor=dask), reduced_damaged)


ROOT = Path(__file__).resolve().parents[3]
INTERRUPTED = f"""
import sys
import tfprof_widgets as tfprof
from tfprof_widgets.read import opening as found; from tfprof_widgets.analysis import many_hosts as host_pool
found.MOST_WHOLE = {MOST_WHOLE}
host_pool.START_S = 0.0
host_pool.n_cpus = lambda: 2
try:
    tfprof.load(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
SLOW_START = """
import os, pathlib, sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    notes = pathlib.Path(os.environ["TFPROF_TEST_NOTES"])
    (notes / f"begun {os.getpid()}").touch()
    while not (notes / "go on").exists():
        time.sleep(0.01)
"""
SCRIPT = f"""
import sys, threading
print("imported as", __name__)
import tfprof_widgets as tfprof
from tfprof_widgets.read import opening as found; from tfprof_widgets.analysis import many_hosts as host_pool
found.MOST_WHOLE = {MOST_WHOLE}
host_pool.START_S = 0.0
host_pool.n_cpus = lambda: 2
prof = tfprof.load(sys.argv[1])
print(prof.has_events, len(prof.host("worker0003").steps))
assert sys.modules["__main__"].prof is prof
"""


def test_what_a_process_was_reading_when_it_was_killed_is_read_once_more(
    run: Path, reduced: tfprof.Profile, always_processes: None, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_once_and_always)
    assert_only_the_deadly_file_is_left_out(tfprof.load(run), reduced)
    assert [one.name for one in notes.iterdir()] == ["died"]


@pytest.mark.nightly
def test_a_file_that_kills_every_process_is_never_read_in_the_caller_though_its_executor_broke(
    run: Path, reduced: tfprof.Profile, always_processes: None, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_always)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        prof = tfprof.load(run, executor=processes)
    assert_only_the_deadly_file_is_left_out(prof, reduced)
    assert not list(notes.iterdir())


def assert_only_the_deadly_file_is_left_out(prof: tfprof.Profile, whole: tfprof.Profile) -> None:
    deadly = dying_processes.DEADLY
    [notice] = [one for one in prof.notices if "could not be read" in one]
    assert notice.startswith(f"1 of {N_HOSTS} hosts could not be read: {deadly}: the process that read it ended")
    kept = whole.steps[whole.steps["host"] != deadly].drop(columns="step").reset_index(drop=True)
    assert len(kept) == len(whole.steps) * (N_HOSTS - 1) / N_HOSTS
    pd.testing.assert_frame_equal(prof.steps.drop(columns="step"), kept, check_exact=True)


def test_where_no_process_can_be_started_the_hosts_are_read_here(
    run: Path, always_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_process(*_: Any) -> None:
        raise OSError("Resource temporarily unavailable")

    monkeypatch.setattr(BaseProcess, "start", no_process)
    prof = tfprof.load(run)
    [notice] = [one for one in prof.notices if "No process could be started" in one]
    assert notice.endswith(f"{N_HOSTS} of {N_HOSTS} hosts were read in this one.")
    assert list(dict.fromkeys(prof.steps["host"])) == [host_name(number) for number in range(N_HOSTS)]


@pytest.mark.nightly
def test_an_interrupt_while_processes_start_is_told_once(run: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(INTERRUPTED)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SLOW_START)
    notes = tmp_path / "notes"
    notes.mkdir()
    path = os.pathsep.join((str(tmp_path / "site"), str(ROOT)))
    env = {**os.environ, "PYTHONPATH": path, "TFPROF_TEST_NOTES": str(notes)}
    with subprocess.Popen(
        [sys.executable, tmp_path / "script.py", run],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True,
    ) as script:  # fmt: skip
        while script.poll() is None and len(list(notes.iterdir())) < 2:
            time.sleep(0.01)
        os.killpg(script.pid, signal.SIGINT)  # as a terminal does
        assert script.stdout is not None
        first = script.stdout.readline()
        (notes / "go on").touch()
        rest, told = script.communicate(timeout=300)
    assert (first, rest, told, script.returncode) == ("interrupted\n", "", "", 0)


def test_processes_give_what_this_one_gives_and_the_main_module_is_away_only_while_they_start(
    run: Path, reduced: tfprof.Profile, always_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[ModuleType] = []
    others: list[ModuleType] = []
    real_start, real_submit = BaseProcess.start, ProcessPoolExecutor.submit

    def start(process: Any) -> None:
        starts.append(sys.modules["__main__"])
        real_start(process)

    def submit(pool: Any, *arguments: Any, **named: Any) -> Any:
        others.append(sys.modules["__main__"])
        return real_submit(pool, *arguments, **named)

    monkeypatch.setattr(BaseProcess, "start", start)
    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit)
    main = sys.modules["__main__"]
    # As of a script: under another runner the main module of the tests has no file.
    monkeypatch.setattr(main, "__file__", __file__, raising=False)
    assert_equal(tfprof.load(run), reduced)
    assert len(starts) <= 2
    assert not any(one is main for one in starts)
    assert len(others) == N_HOSTS
    assert all(one is main for one in others)
    assert sys.modules["__main__"] is main


def test_a_script_needs_no_guard_of_its_main_part(run: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script, run], capture_output=True, text=True, env=env, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["imported as __main__", "False 6"]


def swell(file: Path) -> None:
    """Make a trace larger than may be read in the calling process, by a field that no reader knows."""
    n = many_hosts.MOST_BYTES
    head, left = bytearray([15 << 3 | 2]), n
    while left > 127:
        head.append(left & 127 | 128)
        left >>= 7
    file.write_bytes(file.read_bytes() + bytes([*head, left]) + bytes(n))


def pack(file: Path) -> None:
    """Compress a trace: what it unpacks to, nobody knows before. Its name may say so or not."""
    file.write_bytes(gzip.compress(file.read_bytes()))


def test_a_run_with_a_large_file_is_not_read_in_the_caller(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Cluster(N_HOSTS, n_steps=2).draw(tmp_path / "run")
    swell(run / f"{host_name(0)}.xplane.pb")
    monkeypatch.setattr(many_hosts, "n_cpus", lambda: 1)
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_never)
    prof = tfprof.load(run)
    assert len(set(prof.steps["host"])) == N_HOSTS
    assert not list(notes.iterdir())


def test_a_run_of_tiny_files_is_read_in_the_caller(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Cluster(N_HOSTS, n_steps=1).draw(tmp_path / "run")
    monkeypatch.setattr(many_hosts, "n_cpus", lambda: 2)
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_never)
    assert len(set(tfprof.load(run).steps["host"])) == N_HOSTS
    assert [one.name for one in notes.iterdir()] == ["read in the caller"]


def test_the_size_of_a_file_is_known_where_nothing_of_it_must_be_read(tmp_path: Path) -> None:
    file = tmp_path / "worker.xplane.pb"
    file.write_bytes(bytes(1000))
    assert known_size(file) == 1000
    pack(file)
    assert known_size(file) is None
    assert known_size(tmp_path / "nothing.xplane.pb") is None
    fsspec.filesystem("memory").pipe_file("memory://size/worker.xplane.pb", bytes(1000))
    assert known_size(place_of("memory://size/worker.xplane.pb")) is None


def test_files_that_only_the_caller_has_are_read_in_it(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    for name, content in Cluster(N_HOSTS, n_steps=1).files():
        memory.pipe_file(f"memory://alone/{name}.xplane.pb", content)
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_never)
    assert len(set(tfprof.load("memory://alone").steps["host"])) == N_HOSTS


@pytest.mark.parametrize(
    ("n_files", "n_bytes", "n_cpus", "is_worth_it"),
    [
        (17, 1_500, 2, False),
        (100, 10_000, 2, False),
        (1_000, 1_500, 2, True),
        (1_000, 1_500, 1, False),
        (100, 500_000, 2, True),
        (100, 500_000, 1, False),
        (17, many_hosts.MOST_BYTES + 1, 1, True),
        (17, None, 1, True),
        (17, None, 2, True),
    ],
)
def test_processes_are_started_for_long_work_and_for_files_that_may_be_large(
    n_files: int, n_bytes: int | None, n_cpus: int, is_worth_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_hosts, "n_cpus", lambda: n_cpus)
    assert many_hosts.HostPool(n_files).is_worth_it([n_bytes] * n_files) is is_worth_it
    assert not many_hosts.HostPool(n_files, can_leave=False).is_worth_it([n_bytes] * n_files)
