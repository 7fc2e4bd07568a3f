"""`serve` and `capture`: a training in one process, profiled from another."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tests.unit.capture.remote.processes import TrainingProcess
from tests.unit.cli.shell import Shell
from tests.warm_process import run_python

SERVED = """
import socket, sys, warnings
from tfprof_widgets.capture import _running
(server,) = _running
socket.create_connection((server.host, server.port), timeout=5).close()
print(sys.argv[1:], __name__, repr(server))
warnings.warn("of the program's own")
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.tensorflow
def test_serve_runs_a_program_that_can_be_captured(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SERVED)
    words = ["serve", "--port", "0", str(tmp_path / "train.py"), "7", "--lr", "0.1"]
    program = f"import sys\nfrom tfprof_widgets.cli import main\nsys.exit(main({words!r}))"
    done = run_python(program, TFPROF_TOKEN="secret")
    assert done.returncode == 7, done.stderr
    assert re.fullmatch(r"\['7', '--lr', '0.1'\] __main__ <ProfilerServer .*: with a token, .*>\n", done.stdout)
    assert re.search(
        r"^tfprof: \S+train.py can be profiled at 127.0.0.1:\d+: tfprof capture 127.0.0.1:\d+$", done.stderr, re.M
    )


@pytest.mark.tensorflow
def test_a_program_that_fails_fails_as_in_python(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("1 / 0\n")
    words = ["serve", "--port", "0", str(tmp_path / "train.py")]
    done = run_python(f"import sys\nfrom tfprof_widgets.cli import main\nsys.exit(main({words!r}))")
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "train.py" in done.stderr


def test_what_cannot_be_served_is_refused(tfprof: Shell, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    assert "no file" in tfprof("serve", tmp_path / "gone.py").refused()
    assert "no file" in tfprof("serve", tmp_path / "gone.py", "--json").refused()  # which is the program's
    assert "port=70000 is no port" in tfprof("serve", "--port", "70000", tmp_path / "train.py").refused()


@pytest.mark.tensorflow
def test_a_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = ["serve", "--port", str(taken.getsockname()[1]), str(tmp_path / "train.py")]
        done = run_python(f"import sys\nfrom tfprof_widgets.cli import main\nsys.exit(main({words!r}))")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"^tfprof: The profiler server cannot listen at .*: the port is taken", done.stderr, re.M)


@pytest.mark.tensorflow
def test_capture_keeps_and_tells_what_was_captured(tfprof: Shell, tmp_path: Path) -> None:
    process = TrainingProcess("tfprof")
    try:
        told = tfprof("capture", process.address, "--ms", "600", "-o", tmp_path / "logs")
        assert told.status == 0, told.err
        assert "ms a step" in told.out
        assert told.out.endswith(
            f"Kept in {tmp_path / 'logs'}: tfprof html {tmp_path / 'logs'} writes its dashboard.\n"
        )
        assert tfprof("summary", tmp_path / "logs", "--json").value["n_steps"] > 0
        found = tfprof("capture", process.address, "--ms", "300", "-o", tmp_path / "more", "--json").value
        assert found["path"] == str(tmp_path / "more")
        assert found["n_events"] > 0
    finally:
        process.end()


@pytest.mark.tensorflow
def test_nobody_at_the_port(tfprof: Shell, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert f"127.0.0.1:{port}" in tfprof("capture", f"127.0.0.1:{port}", "-o", tmp_path / "logs").refused()
    assert "'nowhere' is no address" in tfprof("capture", "nowhere", "-o", tmp_path / "logs").refused()
    assert "duration_ms=0" in tfprof("capture", f"127.0.0.1:{port}", "--ms", "0", "-o", tmp_path / "logs").refused()
    assert not (tmp_path / "logs").exists()
