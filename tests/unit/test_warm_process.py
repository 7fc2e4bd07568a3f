"""Programs of tests: each begins as `python -c` would, in a process of its own, but for the imports."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.warm_process import Running, run_python

pytestmark = pytest.mark.tensorflow


def test_a_program_sees_its_variables_and_nothing_of_the_one_before() -> None:
    first = run_python("import os, tensorflow as tf; tf.left = 1; print(os.environ['OWN'])", OWN="here")
    assert (first.returncode, first.stdout) == (0, "here\n")
    second = run_python("import os, tensorflow as tf; print(hasattr(tf, 'left'), os.environ.get('OWN'))")
    assert second.stdout == "False None\n"


MAKES_A_FOLDER = "import tempfile; print(tempfile.mkdtemp())"


def test_the_temporary_files_of_a_program_go_with_it() -> None:
    folder = run_python(MAKES_A_FOLDER).stdout.strip()
    assert folder
    assert not Path(folder).exists()


def test_the_temporary_files_of_a_program_beside_the_caller_go_when_it_is_closed() -> None:
    running = Running("timeit", "-n1", "-r1", MAKES_A_FOLDER)
    folder = Path(running.read_line(60) or "")
    try:
        assert folder.is_dir()
    finally:
        running.close(60)
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
def test_a_process_that_has_other_threads_is_not_forked() -> None:
    program = """
import os, threading
from tests.warm_process import fork_alone
stop = threading.Event()
other = threading.Thread(target=stop.wait)
other.start()
try:
    print(fork_alone())
except AssertionError as error:
    print(error)
finally:
    stop.set()
    other.join()
"""
    assert run_python(program).stdout == "2 threads run: what a fork copies of them is in no certain state\n"


@pytest.mark.parametrize("name", ["KERAS_BACKEND", "OPENBLAS_NUM_THREADS", "PYTHONHASHSEED"])
def test_a_variable_that_is_read_before_the_program_begins_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is read when"):
        run_python("", **{name: "1"})  # type: ignore[arg-type]


def test_a_program_that_fails_tells_its_status_and_error() -> None:
    done = run_python("import sys; sys.exit(3)")
    assert done.returncode == 3
    failed = run_python("1 / 0")
    assert failed.returncode == 1
    assert "ZeroDivisionError" in failed.stderr
    assert (run_python("import sys; sys.exit('told')").stderr, run_python("raise SystemExit").returncode) == (
        "told\n",
        0,
    )


def test_a_program_ends_when_its_threads_have_and_runs_what_was_registered_for_its_end() -> None:
    program = """
import atexit, threading, time
class Kept:
    def __del__(self):
        print("apart", flush=True)
kept = Kept()
atexit.register(print, "registered")
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
"""
    assert run_python(program).stdout == "thread\nregistered\n"
    assert run_python(program, TFPROF_WHOLE_END="1").stdout == "thread\nregistered\napart\n"


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_program_beside_the_caller_tells_lines_and_ends_when_killed_or_at_the_end_of_its_input(
    is_killed: bool,
) -> None:
    running = Running("tests.unit.capture.remote.training", "idle")
    try:
        address = running.read_line(60)
        assert address is not None
        assert address.startswith("127.0.0.1:")
        assert running.poll() is None
        assert run_python("print(1)").stdout == "1\n"  # others run meanwhile
        if is_killed:
            running.kill()
            assert running.poll() == -9
    finally:
        running.close(60)
    assert running.poll() == (-9 if is_killed else 0)


def test_a_program_beside_the_caller_that_fails_tells_its_error() -> None:
    running = Running("tests.unit.capture.remote.strategies")
    assert running.read_line(60) == ""
    assert "IndexError" in running.complaint()
    running.close(60)
    assert running.poll() == 1
