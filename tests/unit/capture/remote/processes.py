"""Programs of this package -> processes that tell their address and end with their test."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
MOST_WAIT_S = 240
"""For a process to train; several that start together on a busy machine take a minute."""


class TrainingProcess:
    """A process that trains and serves its profiler; `address` is known once it does."""

    def __init__(self, kind: str, *arguments: str, program: str = "training") -> None:
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.unit.capture.remote.{program}", kind, *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
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
            assert self._address, f"the training process ended with status {self._process.wait()}"
        return self._address

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
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()
