"""Runs of many hosts: reduced by any executor to the same profile, with what fails left out and each host to be opened."""

from __future__ import annotations

import dataclasses
import gzip
import json
import multiprocessing
import os
import pickle
import shutil
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
import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import EPOCH_NS, event, line, plane, session, space
from tests.cluster import Cluster, host_name
from tests.unit import dying_processes
from tfprof_widgets import host_pool, host_runs, many_hosts
from tfprof_widgets.errors import TfProfError, TraceError
from tfprof_widgets.many_hosts import FailedHost, host_file_list, reduce_file
from tfprof_widgets.store.host_files import host_files

ROOT = Path(__file__).resolve().parents[2]
N_HOSTS = 20
FRAMES = ("events", "steps", "ops", "kernels", "hlo_ops", "layers", "source_lines", "scopes", "workers", "counters")
MORE_FRAMES = ("stragglers", "communication", "hosts")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of more hosts than are read whole; one of them computes slowly."""
    cluster = Cluster(N_HOSTS, n_steps=6, slow_compute={7: 1.5})
    return cluster.draw(tmp_path_factory.mktemp("many-hosts"))


def parts(prof: tfprof.Profile) -> dict[str, Any]:
    """Everything public of a profile that is data."""
    found: dict[str, Any] = {name: getattr(prof, name) for name in FRAMES}
    found |= {name: getattr(prof, name) for name in MORE_FRAMES if hasattr(prof, name)}
    found["memory"] = prof.memory.summary
    for name in ("pipelines", "iterators", "ops", "steps"):
        found[f"input {name}"] = getattr(prof.input_pipeline, name)
    found["overview"] = repr(prof.overview)
    found["advice"] = prof.advice_table
    found["notices"] = prof.notices
    for column in ("start_ps", "duration_ps", "name_id", "line_id"):
        found[f"trace {column}"] = getattr(prof.trace, column)
    found["strings"] = prof.trace.strings
    return found


def assert_equal(first: tfprof.Profile, second: tfprof.Profile) -> None:
    """The data of two profiles is the same, bit by bit."""
    one, other = parts(first), parts(second)
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(value, other[name], check_exact=True, obj=name)
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, other[name], name)
        else:
            assert value == other[name], name


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


@pytest.fixture
def always_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes however little there is to do."""
    monkeypatch.setattr(host_pool, "START_S", 0.0)
    monkeypatch.setattr(host_pool, "n_cpus", lambda: 2)


def test_a_run_of_many_hosts_is_reduced_and_one_of_few_is_not(run: Path, tmp_path: Path) -> None:
    prof = tfprof.load(run)
    assert prof.is_reduced
    assert len(prof.trace.planes) >= N_HOSTS
    assert list(dict.fromkeys(prof.steps["host"])) == [host_name(number) for number in range(N_HOSTS)]
    few = tmp_path / "few"
    few.mkdir()
    for number in range(many_hosts.MOST_WHOLE):
        shutil.copy(run / f"{host_name(number)}.xplane.pb", few)
    assert not tfprof.load(few).is_reduced


def test_logdirs_and_globs_of_many_hosts_are_reduced_too(run: Path) -> None:
    from_run = tfprof.load(run)
    for path in (run.parents[2], f"{run}/*.xplane.pb"):
        assert_equal(tfprof.load(path), from_run)


def test_processes_give_what_this_process_gives(run: Path, always_processes: None) -> None:
    by_processes = tfprof.load(run)
    with ThreadPoolExecutor(3) as threads:
        assert_equal(tfprof.load(run, executor=threads), by_processes)


def test_the_order_of_completion_does_not_matter(run: Path) -> None:
    assert_equal(tfprof.load(run, executor=Backwards()), tfprof.load(run))


def test_an_executor_reduces_however_few_hosts_there_are(run: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        prof = tfprof.load(run / f"{host_name(0)}.xplane.pb", executor=threads)
    assert prof.is_reduced
    assert set(prof.steps["host"]) == {host_name(0)}


def test_no_more_files_wait_in_an_executor_than_the_limit(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_runs, "MOST_WAITING", 3)
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
    task = host_file_list(host_files(run).files)[0]
    assert pickle.loads(pickle.dumps(reduce_file)) is reduce_file
    assert pickle.loads(pickle.dumps(task)) == task
    summaries = reduce_file(task)
    assert not isinstance(summaries, FailedHost)
    assert len(pickle.dumps(summaries)) < 40_000
    [again] = pickle.loads(pickle.dumps(summaries))
    assert again.host == host_name(0)


@pytest.fixture
def damaged(run: Path, tmp_path: Path) -> Path:
    """The same run with two files that cannot be read."""
    copy = tmp_path / "damaged" / run.name
    shutil.copytree(run, copy)
    (copy / f"{host_name(3)}.xplane.pb").write_bytes(b"\xff" * 100)
    (copy / f"{host_name(5)}.xplane.pb").write_bytes(b"")
    return copy


def test_hosts_that_cannot_be_read_are_left_out_and_named(damaged: Path) -> None:
    prof = tfprof.load(damaged)
    [notice] = [one for one in prof.notices if "could not be read" in one]
    assert notice.startswith(f"2 of {N_HOSTS} hosts could not be read: {host_name(3)}: ")
    assert f"; {host_name(5)}: " in notice
    kept = [host_name(number) for number in range(N_HOSTS) if number not in (3, 5)]
    assert list(dict.fromkeys(prof.steps["host"])) == kept
    with pytest.raises(ValueError, match=f"No host is called '{host_name(3)}'"):
        prof.host(host_name(3))
    with ThreadPoolExecutor(2) as threads:
        assert_equal(tfprof.load(damaged, executor=threads), prof)


def test_when_no_host_can_be_read_that_is_an_error_with_reasons(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{host_name(number)}.xplane.pb").write_bytes(b"\xff" * 100)
    with pytest.raises(
        TraceError, match=r"30 of 30 hosts could not be read: worker0000: .*; and 10 more of 30\."
    ) as caught:
        tfprof.load(tmp_path)
    assert str(caught.value).count("worker00") >= many_hosts.MOST_NAMED


def test_a_fault_in_the_analysis_of_one_host_leaves_it_out(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfprof_widgets.analysis.cluster import host_summary

    real = host_summary.summarize_host

    def faulty(results: Any, **named: Any) -> Any:
        if results.trace.planes[0].host == host_name(2):
            raise ZeroDivisionError("division by zero")
        return real(results, **named)

    monkeypatch.setattr(host_summary, "summarize_host", faulty)
    prof = tfprof.load(run)
    assert any(f"{host_name(2)}: ZeroDivisionError: division by zero" in notice for notice in prof.notices)


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for what processes note."""
    monkeypatch.setenv("TFPROF_TEST_PARENT", str(os.getpid()))
    monkeypatch.setenv("TFPROF_TEST_NOTES", str(tmp_path))
    return tmp_path


def test_what_a_process_was_reading_when_it_was_killed_is_read_once_more(
    run: Path, always_processes: None, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tfprof.load(run)
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_once)
    prof = tfprof.load(run)
    assert not [one for one in prof.notices if "could not be read" in one]
    pd.testing.assert_frame_equal(prof.steps, whole.steps, check_exact=True)
    assert [one.name for one in notes.iterdir()] == ["died"]


@pytest.mark.parametrize("whose", ["of this machine", "of the caller"])
def test_files_that_kill_every_process_are_left_out_and_never_read_in_the_caller(
    run: Path, always_processes: None, notes: Path, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_always)
    if whose == "of the caller":
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
            prof = tfprof.load(run, executor=processes)
    else:
        prof = tfprof.load(run)
    [notice] = [one for one in prof.notices if "could not be read" in one]
    assert notice.startswith(f"2 of {N_HOSTS} hosts could not be read: {host_name(9)}: the process that read it ended")
    assert f"; {host_name(15)}: the process that read it ended" in notice
    kept = [host_name(number) for number in range(N_HOSTS) if number not in (9, 15)]
    assert list(dict.fromkeys(prof.steps["host"])) == kept
    assert not list(notes.iterdir())


def test_files_that_only_this_process_has_are_not_read_where_an_executor_broke(notes: Path) -> None:
    def no_start() -> None:
        raise ZeroDivisionError

    memory = fsspec.filesystem("memory")
    for number in range(2):
        memory.pipe_file(f"memory://broken/{host_name(number)}.xplane.pb", dict(Cluster(2).files())[host_name(number)])
    with (
        ThreadPoolExecutor(1, initializer=no_start) as broken,
        pytest.raises(TraceError, match="2 of 2 hosts could not"),
    ):
        tfprof.load("memory://broken", executor=broken)


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


@pytest.mark.parametrize(("days", "when"), [(-30, "before"), (30, "after")])
def test_a_file_of_another_month_is_left_out_and_named(tmp_path: Path, days: int, when: str) -> None:
    cluster = Cluster(4, clock_us={2: days * 86400e6})
    run = cluster.draw(tmp_path)
    with ThreadPoolExecutor(1) as threads:
        prof = tfprof.load(run, executor=threads)
    [notice] = [one for one in prof.notices if "could not be read" in one]
    assert notice.startswith(f"1 of 4 hosts could not be read: {host_name(2)}: it starts 30.0 days {when} the others")
    assert list(dict.fromkeys(prof.steps["host"])) == [host_name(number) for number in (0, 1, 3)]


def test_an_interrupt_cancels_what_waits(run: Path) -> None:
    futures: list[Future[Any]] = []
    begun, released = Event(), Event()

    def hold() -> None:
        begun.set()
        released.wait()

    class Held(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            if len(futures) == 12:
                begun.wait()
                raise KeyboardInterrupt
            futures.append(super().submit(hold))
            return futures[-1]

    with Held(1) as threads:
        try:
            with pytest.raises(KeyboardInterrupt):
                tfprof.load(run, executor=threads)
            assert [future.cancelled() for future in futures] == [False] + 11 * [True]
        finally:
            released.set()


INTERRUPTED = """
import sys
import tfprof_widgets as tfprof
from tfprof_widgets import host_pool
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


def test_the_main_module_is_away_only_while_a_process_starts(
    run: Path, always_processes: None, monkeypatch: pytest.MonkeyPatch
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
    tfprof.load(run)
    assert len(starts) <= 2
    assert not any(one is main for one in starts)
    assert len(others) == N_HOSTS
    assert all(one is main for one in others)
    assert sys.modules["__main__"] is main


SCRIPT = """
import sys, threading
print("imported as", __name__)
import tfprof_widgets as tfprof
from tfprof_widgets import host_pool
host_pool.START_S = 0.0
host_pool.n_cpus = lambda: 2
prof = tfprof.load(sys.argv[1])
print(prof.is_reduced, len(prof.host("worker0003").steps))
assert sys.modules["__main__"].prof is prof
"""


def test_a_script_needs_no_guard_of_its_main_part(run: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script, run], capture_output=True, text=True, env=env, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["imported as __main__", "True 6"]


def test_a_host_of_a_reduced_profile_opens_in_full(run: Path) -> None:
    prof = tfprof.load(run)
    host = prof.host(host_name(7))
    assert not host.is_reduced
    assert host.title == host_name(7)
    alone = tfprof.load(run / f"{host_name(7)}.xplane.pb")
    pd.testing.assert_frame_equal(host.events, alone.events)
    own = prof.steps[prof.steps["host"] == host_name(7)]
    np.testing.assert_array_equal(own["step_time_ms"].to_numpy(), host.steps["step_time_ms"].to_numpy())
    assert prof.host(host_name(7)) is host


def test_the_last_hosts_stay_open(run: Path) -> None:
    prof = tfprof.load(run)
    first = prof.host(host_name(0))
    for number in range(1, 4):
        prof.host(host_name(number))
    assert prof.host(host_name(0)) is first
    for number in range(4, 8):
        prof.host(host_name(number))
    assert prof.host(host_name(0)) is not first


def test_an_unknown_host_is_told_with_close_ones(run: Path) -> None:
    prof = tfprof.load(run)
    with pytest.raises(ValueError, match=r"No host is called 'worker03'\. Is it .*'worker0003'"):
        prof.host("worker03")
    with pytest.raises(ValueError, match=r"The hosts are 'worker0000', 'worker0001', 'worker0002' and 17 more"):
        prof.host("x")


def test_a_host_of_a_whole_profile_opens_too(run: Path, tmp_path: Path) -> None:
    for number in range(3):
        shutil.copy(run / f"{host_name(number)}.xplane.pb", tmp_path)
    prof = tfprof.load(tmp_path)
    host = prof.host(host_name(1))
    pd.testing.assert_frame_equal(host.events, tfprof.load(tmp_path / f"{host_name(1)}.xplane.pb").events)
    assert set(host.steps["host"]) == {host_name(1)}
    chrome = prof.to_chrome_trace(tmp_path / "all.json.gz")
    merged = tfprof.load(chrome)
    part = merged.host(host_name(1))
    assert {plane.host for plane in part.trace.planes} == {host_name(1)}
    assert list(part.events["name"]) == list(host.events["name"])
    assert len(part.steps) == len(host.steps)
    alone = tfprof.load(tmp_path / f"{host_name(1)}.xplane.pb")
    assert alone.host(host_name(1)) is alone


def test_hosts_of_a_merged_file_are_summarised_each(run: Path, tmp_path: Path) -> None:
    for number in range(3):
        shutil.copy(run / f"{host_name(number)}.xplane.pb", tmp_path)
    whole = tfprof.load(tmp_path)
    chrome = whole.to_chrome_trace(tmp_path / "all.json.gz")
    with ThreadPoolExecutor(1) as threads:
        reduced = tfprof.load(chrome, executor=threads)
    assert list(dict.fromkeys(reduced.steps["host"])) == [host_name(number) for number in range(3)]
    columns = ["step", "host", "step_time_ms"]
    pd.testing.assert_frame_equal(
        reduced.workers[columns], whole.workers[columns], check_exact=False, rtol=1e-9, check_dtype=False
    )
    assert set(reduced.host(host_name(2)).steps["host"]) == {host_name(2)}


def same_named(run: Path) -> None:
    """A run of hosts that all say they are called the same."""
    for number in range(20):
        step = event("train", 10 + number, 100, _r=1, step_num=0)
        content = space(
            plane("/host:CPU", line("python", step)),
            session(start_ns=EPOCH_NS, duration_us=1000),
            hostnames=["localhost"],
        )
        run.mkdir(parents=True, exist_ok=True)
        (run / f"node{number:02d}.xplane.pb").write_bytes(content)


def test_hosts_of_one_name_stay_apart_under_the_names_of_their_files(tmp_path: Path) -> None:
    same_named(tmp_path / "run")
    prof = tfprof.load(tmp_path / "run")
    assert list(prof.steps["host"]) == [f"node{number:02d}" for number in range(20)]
    assert set(prof.host("node13").steps["host"]) == {"node13"}
    assert prof.host("node13").steps["start_ms"][0] == pytest.approx(0.023)


def test_files_of_one_name_in_two_runs_stay_apart_by_number(tmp_path: Path) -> None:
    for name in ("a", "b"):
        same_named(tmp_path / name)
    prof = tfprof.load(f"{tmp_path}/*/*.xplane.pb")
    names = [f"node{number:02d}" for number in range(20)]
    assert list(prof._reduced.files) == [*names, *(f"{name} (2)" for name in names)]
    assert prof._reduced.files["node04 (2)"].url == str(tmp_path / "b" / "node04.xplane.pb")


def test_a_reduced_profile_says_so(run: Path) -> None:
    prof = tfprof.load(run)
    assert any(notice.startswith(f"Reduced profile of {N_HOSTS} hosts: ") for notice in prof.notices)
    assert prof.title == run.name
    assert repr(prof).startswith("<Profile ")


def test_a_reduced_profile_is_saved_with_the_files_of_all_hosts(run: Path, tmp_path: Path) -> None:
    prof = tfprof.load(run)
    again = tfprof.load(prof.save(tmp_path / "saved"))
    assert again.is_reduced
    pd.testing.assert_frame_equal(again.steps, prof.steps, check_exact=True)
    assert len(list((tmp_path / "saved").rglob("*.xplane.pb"))) == N_HOSTS


def test_windows_of_one_capture_are_no_hosts(run: Path, tmp_path: Path) -> None:
    for number in range(20):
        window = tmp_path / "plugins" / "profile" / f"2026_11_01_00_00_{number:02d}"
        window.mkdir(parents=True)
        shutil.copy(run / f"{host_name(0)}.xplane.pb", window)
    assert not tfprof.load(f"{tmp_path}/plugins/profile/*").is_reduced


def test_a_reduced_run_behind_a_url_is_the_same(run: Path, tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    for file in run.iterdir():
        memory.pipe_file(f"memory://many/{run.name}/{file.name}", file.read_bytes())
    url = f"memory://many/{run.name}"
    local, remote = tfprof.load(run), tfprof.load(url)
    assert remote.is_reduced
    pd.testing.assert_frame_equal(remote.steps, local.steps, check_exact=True)
    pd.testing.assert_frame_equal(remote.ops, local.ops, check_exact=True)
    pd.testing.assert_frame_equal(remote.host(host_name(4)).events, local.host(host_name(4)).events)
    with pytest.raises(TfProfError, match=r"20 hosts were read where their files are"):
        remote.save("anywhere")
    assert (
        tfprof.load(remote.host(host_name(4)).save(tmp_path / "one")).trace.n_events
        == remote.host(host_name(4)).trace.n_events
    )


def test_each_host_is_read_with_its_own_source_map_and_that_of_the_run(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    for name in ("", f"{host_name(1)}.", f"{host_name(2)}."):
        document = gzip.compress(json.dumps({"version": 1, "recorder": name}).encode())
        (copy / f"{name}tfprof.sources.json.gz").write_bytes(document)
    first, second = host_file_list(host_files(copy).files)[:2]
    assert first.sidecars == ("tfprof.sources.json.gz",)
    assert second.sidecars == ("tfprof.sources.json.gz", f"{host_name(1)}.tfprof.sources.json.gz")


def test_the_progress_counts_hosts(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfprof_widgets import sources

    monkeypatch.setattr(sources, "is_watched", lambda: True)
    monkeypatch.setattr(sources, "_SLOW_S", -1.0)
    bars = []

    class Bar:
        def __init__(self, **named: Any) -> None:
            self.n, self.total, self.named = 0, named["total"], named
            bars.append(self)

        def update(self, n: int) -> None:
            self.n += n

        def close(self) -> None: ...

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    tfprof.load(run)
    [bar] = bars
    assert bar.named["desc"] == f"Reading {N_HOSTS} hosts"
    assert (bar.n, bar.total) == (N_HOSTS, N_HOSTS)


@pytest.fixture(scope="module")
def dask() -> Iterator[Executor]:
    """The executor of a Dask cluster of two processes on this machine."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import distributed

        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        client = distributed.Client(cluster, set_as_default=False)
        yield client.get_executor()
        client.close()
        cluster.close()


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_what_this_process_gives_though_files_are_damaged(damaged: Path, dask: Executor) -> None:
    assert_equal(tfprof.load(damaged, executor=dask), tfprof.load(damaged))


def test_failed_hosts_are_plain_values() -> None:
    assert dataclasses.is_dataclass(FailedHost)
    assert pickle.loads(pickle.dumps(FailedHost("a", "b"))) == FailedHost("a", "b")
