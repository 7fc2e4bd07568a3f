"""What the profiler logs of itself reaches no output; everything else does, and nothing is left changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm_process import run_python

pytestmark = pytest.mark.tensorflow


def test_a_program_without_tensorflow_goes_on() -> None:
    done = run_python("""
from tfprof_widgets.capture import without_profiler_lines
with without_profiler_lines(), without_profiler_lines():
    print("went on")
""")
    assert (done.stdout, done.returncode) == ("went on\n", 0)


PROGRAM = """
import os, pathlib, sys, tempfile, threading
import tensorflow as tf
from tfprof_widgets.capture import folders as log_lines, record as tf_profiler
tf.constant(1.0) + 1
if log_lines._level_calls() is None:
    sys.exit()  # a TensorFlow without Abseil's log
own, before = os.dup(2), log_lines._level_calls()[0]()

def say(text):
    os.write(2, text.encode())
    print(end=text, file=sys.stderr, flush=True)

def session(detail):
    with tempfile.TemporaryDirectory() as folder:
        say("1\\n")
        tf_profiler.start_session(pathlib.Path(folder), detail)
        say("2\\n")
        thread = threading.Thread(target=lambda: [say("3\\n") for _ in range(100)])
        thread.start()
        tf_profiler.stop_session(pathlib.Path(folder))
        thread.join()
        say("4\\n")

file = os.open("out", os.O_CREAT | os.O_RDONLY), os.open("out", os.O_WRONLY)
kinds = {"file": file, "pipe": os.pipe(), "terminal": os.openpty()}
for (name, (read, write)), detail in zip(kinds.items(), ("normal", "high", "low")):
    os.dup2(write, 2)
    session(detail)
    with log_lines.without_profiler_lines():
        if not os.fork():
            level = log_lines._level_calls()[0]()
            say("child\\n" if level == before else f"level {level}\\n")
            os._exit(0)
        os.wait()
    say("end\\n")
    os.dup2(own, 2)
    text = ""
    while not text.replace("\\r", "").endswith("end\\nend\\n"):
        text += os.read(read, 65536).decode()
    lines = text.split()
    assert lines == ["1"] * 2 + ["2"] * 2 + ["3"] * 200 + ["4"] * 2 + ["child"] * 2 + ["end"] * 2, (name, text)
    assert log_lines._level_calls()[0]() == before
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals here")
def test_nothing_is_logged_of_a_session_and_no_line_of_the_programs_own_is_lost(tmp_path: Path) -> None:
    """Its standard error is a file, a pipe, a terminal; a thread and a forked process write to it meanwhile.

    It is a process of its own: TensorFlow reads how much it is to log when it is imported.
    """
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "0"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
