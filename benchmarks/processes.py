"""A script of this directory and its arguments -> the JSON on its last line, or the words for why there is none."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).parent
MIN_AVAILABLE_BYTES = 1.2 * 2**30
"""Below, the machine is about to kill something; what is measured ends first."""


@dataclass(frozen=True)
class Outcome:
    """What a measurement gave."""

    result: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    """Why there is no result: `timeout of N s`, `out of memory` or the last line of the error."""

    def get(self, *path: str) -> Any:
        """A figure of the result, the problem when it failed, None when it lacks that figure."""
        value: Any = self.result
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return self.problem if value is None and self.problem else value


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/meminfo names no MemAvailable: this benchmark needs Linux")


def run(script: str, *arguments: object, timeout_s: float = 600) -> Outcome:
    """Run a script in a process of its own; ended when it takes too long or the machine runs out of memory.

    Its result is the last line that it prints, as JSON; none when it prints nothing.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [sys.executable, str(HERE / script), *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(HERE.parent), "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        problem = _watch(process, timeout_s)
        out.seek(0)
        err.seek(0)
        lines, errors = out.read().decode().split("\n"), err.read().decode(errors="replace").strip().splitlines()
    if problem:
        return Outcome(problem=problem)
    if process.returncode == -signal.SIGKILL:
        return Outcome(problem="out of memory")
    if process.returncode:
        return Outcome(problem=_words(errors, process.returncode))
    printed = [line for line in lines if line]
    return Outcome(json.loads(printed[-1]) if printed else {})


def _watch(process: subprocess.Popen[bytes], timeout_s: float) -> str:
    deadline = time.monotonic() + timeout_s
    try:
        while process.poll() is None:
            if time.monotonic() > deadline:
                _end(process)
                return f"timeout of {timeout_s:.0f} s"
            if available_bytes() < MIN_AVAILABLE_BYTES:
                _end(process)
                return "out of memory"
            time.sleep(0.1)
    except BaseException:
        _end(process)
        raise
    return ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it and all it started: servers and browsers have groups of their own."""
    started = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for one in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    process.wait()


def _words(errors: list[str], code: int) -> str:
    text = next((line for line in reversed(errors) if "Error" in line or "rash" in line), f"failed with {code}")
    is_memory = any(
        word in "\n".join(errors[-30:]) for word in ("MemoryError", "bad_alloc", "Page crashed", "Target crashed")
    )
    return (
        "out of memory"
        if is_memory
        else text.strip().removeprefix("RuntimeError: ").removeprefix("AssertionError: ").removeprefix("Error: ")[:120]
    )
