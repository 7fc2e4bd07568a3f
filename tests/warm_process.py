"""Programs with TensorFlow -> a process each, forked from one that has imported it: an import takes longer than most of them.

As a program, `python -m tests.warm_process`, it is the one that forks.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
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
import threading
import time
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

    TensorFlow, Keras and most of this package have been imported before. Nothing that a program does is seen by the next. It ends
    once its threads and what it registered for its end have run; with the variable TFPROF_WHOLE_END it also takes modules apart.
    What it leaves in the directory for temporary files goes with it.

    Raises:
        TimeoutExpired: it took too long; it was ended.
        ValueError: a variable that would be set too late.
    """
    for name in filter(_READ_EARLY.fullmatch, variables):
        raise ValueError(f"{name} is read when modules are imported, which was before: start a Python of your own.")
    with _scratch() as scratch:
        variables = {"TMPDIR": scratch, **variables}
        if sys.platform == "linux":
            return parent().run(program, cwd=cwd, timeout_s=timeout_s, variables=variables)
        # elsewhere a fork of what TensorFlow has started is not safe
        return subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", program],
            cwd=cwd,
            env=_environment(variables),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


def run_file(path: Path, *arguments: str, timeout_s: float = 240, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `python path arguments...` does and writes, in the same way."""
    argv, folder = [str(path), *arguments], str(path.parent)
    program = f"import runpy, sys\nsys.argv, sys.path[0] = {argv!r}, {folder!r}\n"
    run = f"runpy.run_path({str(path)!r}, run_name='__main__')"
    return run_python(program + run, timeout_s=timeout_s, **variables)


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """For the temporary files of one program, which may still write some while they are removed."""
    return tempfile.TemporaryDirectory(prefix="tfprof-tests-", ignore_cleanup_errors=True)


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT), **variables}


class Running:
    """`python -m module arguments...` beside the caller, forked in the same way."""

    def __init__(self, module: str, *arguments: str, **variables: str) -> None:
        stdin, self._stdin = os.pipe()
        self._stdout, stdout = os.pipe()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by `close`
        self._files = stdin, stdout, self._stderr.fileno()
        self._scratch = _scratch()
        self._process = self._started(module, arguments, {"TMPDIR": self._scratch.name, **variables})
        os.close(stdin)
        os.close(stdout)
        self.pid = self._process.pid

    def _started(
        self, module: str, arguments: tuple[str, ...], variables: Mapping[str, str]
    ) -> subprocess.Popen[bytes] | _Forked:
        if sys.platform != "linux":
            stdin, stdout, stderr = self._files
            command = [sys.executable, "-m", module, *arguments]
            return subprocess.Popen(
                command, cwd=ROOT, env=_environment(variables), stdin=stdin, stdout=stdout, stderr=stderr
            )
        lines = (
            f"import runpy, sys\nsys.argv[1:] = {list(arguments)!r}",
            f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)",
        )
        return parent().start("\n".join(lines), cwd=ROOT, variables=variables, files=self._files)

    def read_line(self, timeout_s: float) -> str | None:
        """What it writes until the end of a line or its own end, None where nothing comes in time."""
        if not select.select([self._stdout], [], [], timeout_s)[0]:
            return None
        with open(self._stdout, closefd=False, encoding="utf-8") as told:
            return told.readline().strip()

    def poll(self) -> int | None:
        """The status with which it ended, None while it runs."""
        return self._process.poll()

    def complaint(self) -> str:
        """What it wrote to its standard error until now."""
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def close(self, timeout_s: float) -> None:
        """Close its input, at which it is to end; kill it if it does not."""
        os.close(self._stdin)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        if self._process.poll() is None:
            self.kill()
        os.close(self._stdout)
        self._stderr.close()
        self._scratch.cleanup()


class _Forked:
    """What `subprocess.Popen` is for a process of one's own, for one that the parent has forked."""

    def __init__(self, parent: _Parent, pid: int) -> None:
        self._parent, self.pid, self._status = parent, pid, ""

    def poll(self) -> int | None:
        """The status with which it ended, None while it runs."""
        self._status = self._status or self._parent.ask({"ended": self.pid})
        return int(self._status) if self._status else None

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout_s: float = 60) -> int:
        """The status with which it ended.

        Raises:
            TimeoutExpired: it goes on.
        """
        end = time.monotonic() + timeout_s
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout_s)
            time.sleep(0.02)
        return status


@cache
def parent() -> _Parent:
    """The one of this process."""
    return _Parent()


class _Parent:
    """The process that forks, and what is asked of it; it ends with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
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
        with (
            Path(os.devnull).open() as nothing,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            files = nothing.fileno(), out.fileno(), err.fileno()
            forked = self.start(program, cwd=cwd or Path.cwd(), variables=variables, files=files)
            code = self.ask({"wait": forked.pid}, timeout_s)
            if not code:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(forked.pid, signal.SIGABRT)  # upon which Python writes where its threads are
                time.sleep(1)
                err.seek(0)
                print(err.read().decode(errors="replace")[-20_000:], file=sys.stderr)
                self._end()
                self._process = self._started()
                raise subprocess.TimeoutExpired(program, timeout_s)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
            return subprocess.CompletedProcess(program, int(code), *texts)

    def start(
        self,
        program: str,
        *,
        cwd: Path,
        variables: Mapping[str, str],
        files: tuple[int, ...],
        leads_group: bool = False,
    ) -> _Forked:
        """A fork that runs the program with these files of this process as its input, output and errors.

        One that leads a process group is not ended with the parent's.
        """
        asked = {
            "program": program,
            "cwd": str(cwd),
            "environment": _environment(variables),
            "leads_group": leads_group,
            "files": [f"/proc/{os.getpid()}/fd/{file}" for file in files],
        }
        return _Forked(self, int(self.ask(asked)))

    def ask(self, asked: Mapping[str, Any], timeout_s: float | None = None) -> str:
        """What it answers, nothing where that takes too long."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            is_answered = select.select([self._process.stdout], [], [], timeout_s)[0]
            return self._process.stdout.readline().strip() if is_answered else ""

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
        answer: object = ""
        if "wait" in asked:
            answer = os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1])
        elif "ended" in asked:
            pid, status = os.waitpid(asked["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else ""
        else:
            files = [os.open(path, os.O_RDONLY if i == 0 else os.O_WRONLY) for i, path in enumerate(asked["files"])]
            answer = fork_alone()
            if answer == 0:
                return _begin(asked, files)
            if asked["leads_group"]:
                os.setpgid(answer, answer)
            for file in files:
                os.close(file)
        print(answer, flush=True)
    return None


def _begin(asked: dict[str, Any], files: list[int]) -> str:
    """The program, once all that belongs to a process is as it asks for."""
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    tempfile.tempdir = None  # that of the process which forks
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    program: str = asked["program"]
    return program


def _run(program: str) -> int:
    """The status with which `python -c program` ends, after all that it would do but to take its modules apart.

    That takes a second with TensorFlow: longer than most of the programs.
    """
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv, sys.path[0] = ["-c"], ""
    status = 0
    try:
        exec(compile(program, "<string>", "exec"), main.__dict__)
    except SystemExit as error:
        if not isinstance(error.code, int | None):
            print(error.code, file=sys.stderr)
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _import_what_most_need() -> None:
    """TensorFlow, Keras and all of this package that begins nothing when it is imported."""
    import keras  # noqa: F401
    import tensorflow  # noqa: F401

    import tfprof_widgets

    for module in pkgutil.iter_modules(tfprof_widgets.__path__, "tfprof_widgets."):
        if not module.ispkg and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for part in ("analysis", "read", "show"):
        package = importlib.import_module(f"tfprof_widgets.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()  # else each collection of a fork looks at all of TensorFlow, and copies its pages


if __name__ == "__main__":
    _import_what_most_need()
    if (wanted := _wait_for_program()) is not None:
        status = _run(wanted)
        if "TFPROF_WHOLE_END" not in os.environ:
            os._exit(status)
        sys.exit(status)
