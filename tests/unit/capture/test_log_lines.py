"""What the profiler logs of itself reaches no output; everything else does, and nothing is left changed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.warm_process import run_python
from tfprof_widgets.capture import folders, without_profiler_lines

ABSL = "0000 00:00:1795424290.114397    2827 "
OWN = [
    f"I{ABSL}profiler_session.cc:117] Profiler session initializing.",
    f"I{ABSL}save_profile.cc:150] Collecting XSpace to repository: /tmp/log/vm.xplane.pb",
    f"W{ABSL}session_manager.cc:55] delay_ms expects an i value.",
    f"I{ABSL}cupti_tracer.cc:1040] Profiler found 1 GPUs",
    f"I{ABSL}cupti_collector.cc:534]  GpuTracer has collected 262 callback api events and 259 activity events. ",
    "2024-04-21 19:01:05.887164: I external/xla/xla/backends/profiler/gpu/cupti_tracer.cc:13] CUPTI activity buffer flushed",
    "2024-04-21 19:01:05.917572: I external/local_tsl/tsl/profiler/lib/profiler_session.cc:131] Profiler session tear down.",
]
OTHERS = [
    "a line of the user's own",
    "Profiler session started.",
    f"I{ABSL}gpu_device.cc:2022] Created device /device:GPU:0 with 78000 MB memory",
    f"W{ABSL}cuda_executor.cc:1802] GPU interconnect information not available",
    f"E{ABSL}cupti_error_manager.cc:213] cuptiSubscribe: error 35: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
    f"F{ABSL}profiler_session.cc:81] Check failed: status.ok()",
    f"W{ABSL}cupti_collector.cc:702] Dropped 7 events: the buffer is full",
    f"W{ABSL}cupti_tracer.cc:88] CUPTI Buffer not allocated, activity records will be dropped",
    "",
]


@pytest.fixture(autouse=True)
def in_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_is_in_kernel", lambda: True)


def write(text: str) -> None:
    """As C++ does it."""
    os.write(2, text.encode())


def n_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) if sys.platform == "linux" else 0


def test_lines_of_the_profiler_go_and_others_stay(capfd: pytest.CaptureFixture[str]) -> None:
    mixed = [line for pair in zip(OWN, OTHERS, strict=False) for line in pair] + OTHERS[len(OWN) :]
    with without_profiler_lines():
        write("\n".join(mixed) + "\nno end of the line")
    assert capfd.readouterr().err == "\n".join(OTHERS) + "\nno end of the line"


def test_the_warning_above_the_first_line_goes_with_it_alone(capfd: pytest.CaptureFixture[str]) -> None:
    warning = "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR"
    with without_profiler_lines():
        write(f"{warning}\n{OWN[0]}\n{warning}\n{OTHERS[2]}\n")
    assert capfd.readouterr().err == f"{warning}\n{OTHERS[2]}\n"


def test_what_is_no_text_and_more_than_a_pipe_holds_passes(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    content = bytes(range(256)) * 4096
    with without_profiler_lines():
        os.write(2, content)
    assert capfdbinary.readouterr().err == content


def test_a_python_that_has_no_files_in_memory_collects_in_another_one(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    before = n_descriptors()
    with without_profiler_lines():
        write(f"{OWN[0]}\n{OTHERS[0]}\n")
    assert capfd.readouterr().err == f"{OTHERS[0]}\n"
    assert n_descriptors() == before


def test_an_exception_passes_and_nothing_stays_open(capfd: pytest.CaptureFixture[str]) -> None:
    before = n_descriptors()
    with pytest.raises(KeyError), without_profiler_lines():
        write(f"{OWN[0]}\nbefore it\n")
        raise KeyError
    write("after it\n")
    assert capfd.readouterr().err == "before it\nafter it\n"
    assert n_descriptors() == before


def test_only_the_first_of_two_at_once_holds_the_lines(capfd: pytest.CaptureFixture[str]) -> None:
    def other() -> None:
        with without_profiler_lines():
            write(f"{OWN[0]}\nfrom the other thread\n")

    with without_profiler_lines():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert capfd.readouterr().err == "from the other thread\n"


def test_outside_a_notebook_standard_error_is_not_touched(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    before = os.fstat(2)
    with without_profiler_lines():
        assert os.path.samestat(os.fstat(2), before)
        write(OWN[0])
    assert capfd.readouterr().err == OWN[0]


IN_KERNEL = """
import os
from tfprof_widgets.capture import folders as log_lines
log_lines._is_in_kernel = lambda: True
"""


def test_a_program_without_standard_error_goes_on() -> None:
    done = run_python(
        f"{IN_KERNEL}\nos.close(2)\nwith log_lines.without_profiler_lines():\n    os.write(1, b'went on')"
    )
    assert (done.stdout, done.returncode) == ("went on", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_forked_meanwhile_writes_where_its_parent_does() -> None:
    done = run_python(f"""{IN_KERNEL}
with log_lines.without_profiler_lines():
    if not os.fork():
        os.write(2, b"of the child\\n")
        with log_lines.without_profiler_lines():
            os.write(2, {OWN[0].encode()!r} + b"\\nof its own block\\n")
        os._exit(0)
    os.wait()
    os.write(2, b"of the parent\\n")
""")
    assert done.stderr == "of the child\nof its own block\nof the parent\n"


IN_A_KERNEL = """
for detail in ("normal", "high"):
    os.write(2, b"@@")
    with tempfile.TemporaryDirectory() as folder:
        tf_profiler.start_session(pathlib.Path(folder), detail)
        tf.constant(1.0) + 1
        os.write(2, b"between ")
        tf_profiler.stop_session(pathlib.Path(folder))
os.write(2, b"@@")
"""
IN_A_SCRIPT = """
if log_lines._level_calls() is None:
    sys.exit()  # a TensorFlow without Abseil's log
own, before = os.dup(2), log_lines._level_calls()[0]()

def say(text):
    os.write(2, text.encode())
    print(end=text, file=sys.stderr, flush=True)

def session():
    with tempfile.TemporaryDirectory() as folder:
        say("1\\n")
        tf_profiler.start_session(pathlib.Path(folder))
        say("2\\n")
        thread = threading.Thread(target=lambda: [say("3\\n") for _ in range(100)])
        thread.start()
        tf_profiler.stop_session(pathlib.Path(folder))
        thread.join()
        say("4\\n")

file = os.open("out", os.O_CREAT | os.O_RDONLY), os.open("out", os.O_WRONLY)
kinds = {"file": file, "pipe": os.pipe(), "terminal": os.openpty()}
for name, (read, write) in kinds.items():
    os.dup2(write, 2)
    session()
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


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What one process writes to its standard error in each of two sessions in a kernel, and then as a script.

    It is a process of its own: TensorFlow reads how much it is to log when it is imported.
    """
    program = f"""
import os, pathlib, sys, tempfile, threading
import tensorflow as tf
from tfprof_widgets.capture import folders as log_lines, record as tf_profiler
tf.constant(1.0) + 1
is_in_kernel, log_lines._is_in_kernel = log_lines._is_in_kernel, lambda: True
{IN_A_KERNEL}
log_lines._is_in_kernel = is_in_kernel
{IN_A_SCRIPT if hasattr(os, "openpty") else ""}"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "0"},
        cwd=tmp_path_factory.mktemp("logged"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr.split("@@")[1:]


@pytest.mark.nightly
@pytest.mark.tensorflow
def test_all_that_tensorflow_logs_of_a_session_is_known(logged: list[str]) -> None:
    assert logged[:2] == ["between "] * 2


@pytest.mark.nightly
@pytest.mark.tensorflow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals here")
def test_a_script_logs_nothing_of_a_session_and_loses_no_line_of_its_own(logged: list[str]) -> None:
    """Its standard error is a file, a pipe, a terminal; a thread and a forked process write to it meanwhile."""
    assert logged[2:] == [""]
