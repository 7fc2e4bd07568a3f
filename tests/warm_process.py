"""Programs with TensorFlow -> a process each, forked from one that has imported it: an import takes longer than most of them.

As a program, `python -m tests.warm_process`, it is the one that forks.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import re
import select
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_READ_EARLY = re.compile(r"(PYTHON|KERAS_|OPENBLAS_|OMP_|MKL_)\w*")
"""Variables that Python, Keras and NumPy read when they are imported."""


def run_python(
    program: str, *, cwd: Path | None = None, timeout_s: float = 240, **variables: str
) -> subprocess.CompletedProcess[str]:
    """What `python -c program` does and writes with these `variables` in its environment.

    TensorFlow, Keras and most of this package have been imported before. Nothing that a program does is seen by the next.

    Raises:
        TimeoutExpired: it took too long; it was ended.
        ValueError: a variable that would be set too late.
    """
    for name in filter(_READ_EARLY.fullmatch, variables):
        raise ValueError(f"{name} is read when modules are imported, which was before: start a Python of your own.")
    if sys.platform != "linux":  # elsewhere a fork of what TensorFlow has started is not safe
        command = [sys.executable, "-X", "faulthandler", "-c", program]
        return subprocess.run(
            command,
            cwd=cwd,
            env=_environment(variables),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    return _parent().run(program, cwd=cwd, timeout_s=timeout_s, variables=variables)


def run_file(path: Path, *arguments: str, timeout_s: float = 240, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `python path arguments...` does and writes, in the same way."""
    argv, folder = [str(path), *arguments], str(path.parent)
    program = f"import runpy, sys\nsys.argv, sys.path[0] = {argv!r}, {folder!r}\n"
    run = f"runpy.run_path({str(path)!r}, run_name='__main__')"
    return run_python(program + run, timeout_s=timeout_s, **variables)


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT), **variables}


@cache
def _parent() -> _Parent:
    return _Parent()


class _Parent:
    """The process that forks, and what is asked of it; it ends with this one."""

    def __init__(self) -> None:
        self._process = self._started()
        atexit.register(self._end)

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.warm_process"]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=_environment({"OPENBLAS_NUM_THREADS": "1"}),  # its threads would not be in a fork
            stdin=pipe,
            stdout=pipe,
            text=True,
            start_new_session=True,
        )

    def run(
        self, program: str, *, cwd: Path | None, timeout_s: float, variables: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """See `run_python`."""
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            asked = {
                "program": program,
                "cwd": str(cwd or Path.cwd()),
                "environment": _environment(variables),
                "out": str(out),
                "err": str(err),
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], timeout_s)[0]:
                self._end()
                self._process = self._started()
                raise subprocess.TimeoutExpired(program, timeout_s)
            code = int(self._process.stdout.readline())
            texts = (path.read_text(errors="replace") for path in (out, err))
            return subprocess.CompletedProcess(program, code, *texts)

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


def fork_alone() -> int:
    """`os.fork` of a process of one thread: locks that another holds would stay locked in the fork for ever.

    Raises:
        AssertionError: it has more.
    """
    n_threads = len(list(Path("/proc/self/task").iterdir()))
    assert n_threads == 1, f"{n_threads} threads run: what a fork copies of them is in no certain state"
    return os.fork()


def _wait_for_program() -> str | None:
    """Fork for each program asked for: in the fork the program, in the process itself None at the end of its input."""
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        child = fork_alone()
        if child == 0:
            os.chdir(asked["cwd"])
            os.environ.clear()
            os.environ.update(asked["environment"])
            for number, path in ((1, asked["out"]), (2, asked["err"])):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            program: str = asked["program"]
            return program
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def _become(program: str) -> tuple[types.CodeType, dict[str, Any]]:
    """Code and names of what looks like `python -c program`."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv, sys.path[0] = ["-c"], ""
    return compile(program, "<string>", "exec"), main.__dict__


def _import_what_most_need() -> None:
    """TensorFlow, Keras and all of this package that begins nothing when it is imported."""
    import keras  # noqa: F401
    import tensorflow  # noqa: F401

    for part in ("analysis", "opening", "profiles", "views"):
        package = importlib.import_module(f"tfprof_widgets.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


if __name__ == "__main__":
    _import_what_most_need()
    if (wanted := _wait_for_program()) is not None:
        exec(*_become(wanted))
