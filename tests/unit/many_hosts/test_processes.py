"""Processes of this machine that read hosts: killed, refused, interrupted, and started from a script."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.cluster import host_name
from tests.unit.many_hosts import dying_processes
from tests.unit.many_hosts.reduced_run import MOST_WHOLE, N_HOSTS, assert_equal
from tfprof_widgets.analysis import many_hosts

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
