"""Programs of tests: each begins as `python -c` would, in a process of its own, but for the imports."""

from __future__ import annotations

import sys

import pytest

from tests.warm_process import run_python

pytestmark = pytest.mark.tensorflow


def test_a_program_sees_its_variables_and_nothing_of_the_one_before() -> None:
    first = run_python("import os, tensorflow as tf; tf.left = 1; print(os.environ['OWN'])", OWN="here")
    assert (first.returncode, first.stdout) == (0, "here\n")
    second = run_python("import os, tensorflow as tf; print(hasattr(tf, 'left'), os.environ.get('OWN'))")
    assert second.stdout == "False None\n"


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
        run_python("", **{name: "1"})


def test_a_program_that_fails_tells_its_status_and_error() -> None:
    done = run_python("import sys; sys.exit(3)")
    assert done.returncode == 3
    assert "ZeroDivisionError" in run_python("1 / 0").stderr
