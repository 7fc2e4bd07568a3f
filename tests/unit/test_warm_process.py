"""Programs of tests: each begins as `python -c` would, in a process of its own, but for the imports."""

from __future__ import annotations

import pytest

from tests.warm_process import run_python

pytestmark = pytest.mark.tensorflow


def test_a_program_sees_its_variables_and_nothing_of_the_one_before() -> None:
    first = run_python("import os, tensorflow as tf; tf.left = 1; print(os.environ['OWN'])", OWN="here")
    assert (first.returncode, first.stdout) == (0, "here\n")
    second = run_python("import os, tensorflow as tf; print(hasattr(tf, 'left'), os.environ.get('OWN'))")
    assert second.stdout == "False None\n"


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
