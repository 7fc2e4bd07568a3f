"""Programs of this package -> processes that tell their address and end with their test."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[4]
MOST_WAIT_S = 240
"""For a process to train; several that start together on a busy machine take a minute."""
MOST_TOLD = 3000
"""Characters of what a process wrote before it ended."""


class TrainingProcess:
    """A process that trains and serves its profiler; `address` is known once it does."""

    def __init__(self, kind: str, *arguments: str, program: str = "training") -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by `end`
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.unit.capture.remote.{program}", kind, *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._address = ""

    @property
    def address(self) -> str:
        """Where it serves; waits until it trains."""
        if not self._address:
            assert self._process.stdout is not None
            is_told = select.select([self._process.stdout], [], [], MOST_WAIT_S)[0]
            assert is_told, f"the training process does not train after {MOST_WAIT_S} s"
            self._address = self._process.stdout.readline().strip()
            assert self._address, f"the training process ended with status {self._process.wait()}: {self.complaint}"
        return self._address

    @property
    def complaint(self) -> str:
        """What it wrote to its standard error if it ended by itself, the last of it; empty while it runs."""
        if self._process.poll() is None:
            return ""
        self._errors.seek(0)
        told = self._errors.read().decode(errors="replace")[-MOST_TOLD:]
        return f"status {self._process.returncode}: {told}"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def kill(self) -> None:
        """End it at once, as a machine that is lost."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Let it end."""
        self._errors.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()
