"""The command line as a whole: help, words that mean nothing, what a terminal is shown, and how a command ends."""

from __future__ import annotations

import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import event, line, plane, space
from tests.layers import ROOT
from tests.unit.capture.remote.processes import TrainingProcess
from tests.unit.cli.shell import Shell, start
from tests.warm_process import run_python
from tfprof_widgets import cli
from tfprof_widgets.cli import make_parser

COMMANDS = ("summary", "report", "html", "diff", "sql", "export", "capture", "serve", "doctor")


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)])
def test_help_fits_a_screen(tfprof: Shell, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = tfprof(*words, "--help")
    assert (told.status, told.err) == (0, "")
    lines = told.out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= (80 if words else 86)


def test_help_names_every_command(tfprof: Shell) -> None:
    told = tfprof("--help").out
    assert [name for name in COMMANDS if not re.search(rf"^  {name} ", told, re.M)] == []
    made = make_parser()
    assert made.parse_args(["summary", "x"]).run_command is cli.print_summary


def test_the_commands_of_the_documentation_are_words_that_mean_something() -> None:
    text = (ROOT / "docs/recipes/scripts.md").read_text(encoding="utf-8")
    words = [shlex.split(line)[1:] for line in re.findall(r"^\| `(tfprof [^`]*)`", text, re.M)]
    assert {one[0] for one in words} == set(COMMANDS)
    for one in words:
        assert make_parser().parse_args(one).run_command


def test_help_imports_neither_pandas_nor_tensorflow() -> None:
    program = (
        "import sys\nfrom tfprof_widgets.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "sys.exit(', '.join({'numpy', 'pandas', 'tensorflow', 'keras', 'bokeh', 'IPython', 'duckdb'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_entry_point_is_the_program() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.scripts]\ntfprof = "tfprof_widgets.cli:main"\n' in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "COMMAND"),
        (("reports", "x"), "invalid choice: 'reports'"),
        (("report",), "RUN"),
        (("diff", "a"), "B"),
        (("diff", "a", "b", "--fail-above", "5%"), "'5%' is no limit: give a ratio of 0.5 or more, such as 1.05"),
        (("diff", "a", "b", "--fail-above", "0"), "'0' is no limit"),
        (("diff", "a", "b", "--fail-above", "nan"), "'nan' is no limit"),
        (("export", "x"), "--to"),
        (("export", "x", "--to", "excel"), "invalid choice: 'excel'"),
        (("capture",), "HOST:PORT"),
        (("capture", "h:1", "--ms", "long"), "invalid int value: 'long'"),
        (("serve",), "PROGRAM"),
        (("summary", "x", "--colour"), "unrecognized arguments: --colour"),
    ],
)
def test_words_that_mean_nothing_are_refused_in_one_line(tfprof: Shell, words: tuple[str, ...], told: str) -> None:
    error = tfprof(*words).refused()
    assert told in error
    assert re.search(r"; see tfprof( \w+)? --help\n$", error)


def test_an_error_is_json_for_programs(tfprof: Shell, tmp_path: Path) -> None:
    assert "Nothing is at" in tfprof("summary", tmp_path / "missing", "--json").refused_in_json()
    assert "see tfprof summary --help" in tfprof("summary", "--json").refused_in_json()
    assert "see tfprof export --help" in tfprof("export", "--json", "x", "--to", "excel").refused_in_json()


@pytest.mark.parametrize("command", ["summary", "report", "html", "sql", "export"])
def test_what_is_no_run_is_refused_in_one_line(tfprof: Shell, command: str, tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(b"\xff\xfe no trace \x1b[31m" * 40)
    (tmp_path / "empty").mkdir()
    more = ("--to", "chrome") if command == "export" else ()
    assert "Nothing is at" in tfprof(command, tmp_path / "missing", *more).refused()
    assert "\x1b" not in tfprof(command, tmp_path / "garbage", *more).refused()
    assert "empty" in tfprof(command, tmp_path / "empty", *more).refused()
    assert not (tmp_path / "profile.html").exists()


def test_text_of_a_trace_does_nothing_to_a_terminal(tfprof: Shell, tmp_path: Path) -> None:
    hostile = "evil\x1b]0;owned\x07\x1b[2J\x08"
    path = tmp_path / hostile / "x.xplane.pb"
    path.parent.mkdir()
    marks = (event("train", 0, 9, _r=1, step_num=1), event(f"{hostile}:MatMul", 1, 5, tf_op=f"{hostile}:MatMul"))
    path.write_bytes(space(plane("/host:CPU", line("a\x1b[1m", *marks))))
    for words in (("summary",), ("report",), ("summary", "--json"), ("report", "--json")):
        told = tfprof(words[0], path, *words[1:])
        assert told.status == 0
        assert "evil" in told.out
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", told.out) is None


def test_a_fault_of_ours_is_not_taken_for_a_verdict(tfprof: Shell, monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    monkeypatch.setattr("tfprof_widgets.comparing.diff", lambda *_: 1 / 0)
    told = tfprof("diff", run, run, "--fail-above", "1.05")
    assert (told.status, told.out) == (2, "")
    assert "ZeroDivisionError" in told.err
    told = tfprof("diff", run, run, "--json")
    assert (told.status, told.value) == (2, {"error": "ZeroDivisionError: division by zero"})


def test_a_file_of_the_system_that_fails_is_told_in_a_line(
    tfprof: Shell, monkeypatch: pytest.MonkeyPatch, run: Path
) -> None:
    def fail(_: object) -> None:
        raise PermissionError(13, "Permission denied", "/data/x")

    monkeypatch.setattr("tfprof_widgets.cli.open_run", fail)
    assert tfprof("summary", run).refused() == "tfprof: /data/x: Permission denied\n"


def test_ctrl_c_is_quiet(tfprof: Shell, monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tfprof_widgets.cli.open_run", interrupt)
    told = tfprof("summary", run)
    assert (told.status, told.out, told.err) == (128 + signal.SIGINT, "", "")


def test_a_reader_that_has_enough_is_no_error(run: Path) -> None:
    with start("report", run) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 128 + signal.SIGPIPE


def test_an_output_that_knows_no_unicode_is_written_all_the_same(run: Path) -> None:
    with start("summary", run, PYTHONIOENCODING="ascii") as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "ms a step" in out
    assert out.isascii()


SERVED = """
import socket, sys, warnings
from tfprof_widgets.capture import _running
(server,) = _running
socket.create_connection((server.host, server.port), timeout=5).close()
print(sys.argv[1:], __name__, repr(server))
warnings.warn("of the program's own")
sys.exit(int(sys.argv[1]))
"""


def served(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `tfprof serve` does with these words."""
    program = f"import sys\nfrom tfprof_widgets.cli import main\nsys.exit(main({['serve', '--port', *words]!r}))"
    return run_python(program, **variables)


@pytest.mark.tensorflow
def test_serve_runs_a_program_that_can_be_captured_and_fails_as_in_python(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SERVED)
    done = served("0", str(tmp_path / "train.py"), "7", "--lr", "0.1", TFPROF_TOKEN="secret")
    assert done.returncode == 7, done.stderr
    assert re.fullmatch(r"\['7', '--lr', '0.1'\] __main__ <ProfilerServer .*: with a token, .*>\n", done.stdout)
    assert re.search(
        r"^tfprof: \S+train.py can be profiled at 127.0.0.1:\d+: tfprof capture 127.0.0.1:\d+$", done.stderr, re.M
    )
    (tmp_path / "train.py").write_text("1 / 0\n")
    failed = served("0", str(tmp_path / "train.py"))
    assert failed.returncode == 1
    assert failed.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "train.py" in failed.stderr


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
        done = served(str(taken.getsockname()[1]), str(tmp_path / "train.py"))
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
