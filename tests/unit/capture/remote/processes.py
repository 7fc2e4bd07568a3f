"""Programs of this package -> processes that tell their address and end with their test."""

from __future__ import annotations

from tests.warm_process import Running

MOST_WAIT_S = 240
"""For a process to train; several that start together on a busy machine take a minute."""
MOST_TOLD = 3000
"""Characters of what a process wrote before it ended."""


class TrainingProcess:
    """A process that trains and serves its profiler; `address` is known once it does."""

    def __init__(self, kind: str, *arguments: str, program: str = "training") -> None:
        module = f"tests.unit.capture.remote.{program}"
        self._running = Running(module, kind, *arguments, CUDA_VISIBLE_DEVICES="-1")
        self._address = ""

    @property
    def address(self) -> str:
        """Where it serves; waits until it trains."""
        if not self._address:
            told = self._running.read_line(MOST_WAIT_S)
            assert told is not None, f"the training process does not train after {MOST_WAIT_S} s"
            assert told, f"the training process ended: {self._running.complaint()[-MOST_TOLD:]}"
            self._address = told
        return self._address

    @property
    def complaint(self) -> str:
        """What it wrote to its standard error if it ended by itself, the last of it; empty while it runs."""
        status = self._running.poll()
        return "" if status is None else f"status {status}: {self._running.complaint()[-MOST_TOLD:]}"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._running.pid

    def kill(self) -> None:
        """End it at once, as a machine that is lost."""
        self._running.kill()

    def end(self) -> None:
        """Let it end."""
        self._running.close(timeout_s=20)
