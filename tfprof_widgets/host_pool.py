"""HostPool: processes of this machine that read files of hosts, where that is worth their start."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Executor
from types import TracebackType
from typing import TypeVar

START_S = 5.0
"""What would take no longer than this in one process stays in it: the processes first import what they need."""
_MOST_PROCESSES = 61
"""What Windows can wait for."""

T = TypeVar("T")
Argument = TypeVar("Argument")


class HostPool:
    """Measures some files in this process, then says whether to start others for the rest.

    Processes are spawned, not forked: a kernel has threads, of TensorFlow and of its own, which a fork would break. They
    import this package and nothing of the program that calls: a script needs no `if __name__ == "__main__"`.
    """

    def __init__(self, n_files: int, *, can_leave: bool = True) -> None:
        """Say how many files there are.

        Args:
            n_files: in all.
            can_leave: whether another process finds the files at all.
        """
        self._n_files = n_files
        self.can_start = can_leave and _has_processes()
        """Whether there can be processes at all."""
        self.n_processes = min(n_cpus(), n_files, _MOST_PROCESSES) if self.can_start else 1
        """How many read at a time."""
        self._n_timed, self._seconds = 0, 0.0
        self._pool: Executor | None = None

    @property
    def is_worth_it(self) -> bool:
        """Whether what is left would take this process longer than starting others for it."""
        if self.n_processes < 2 or self._n_timed < 2:
            return self.n_processes > 1 and START_S <= 0
        return self._seconds / (self._n_timed - 1) * (self._n_files - self._n_timed) > START_S

    def timed(self, function: Callable[[Argument], T], argument: Argument) -> T:
        """Call in this process and note how long it takes."""
        begin = time.monotonic()
        result = function(argument)
        if self._n_timed:  # the first one also waits for what it imports
            self._seconds += time.monotonic() - begin
        self._n_timed += 1
        return result

    def executor(self, n_processes: int | None = None) -> Executor:
        """New processes, `n_processes` of them or as many as read at a time; they end with the `with` block or the next."""
        from concurrent.futures import ProcessPoolExecutor

        from .host_process import HostContext, begin

        self._end(is_awaited=True)
        pool = ProcessPoolExecutor(n_processes or self.n_processes, mp_context=HostContext(), initializer=begin)
        self._pool = pool
        return pool

    def _end(self, *, is_awaited: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=is_awaited, cancel_futures=True)

    def __enter__(self) -> HostPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end(is_awaited=error is None)  # after Ctrl-C each process still ends its file, but nobody waits for that


def n_cpus() -> int:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _has_processes() -> bool:
    """Whether this Python can start processes: a browser's cannot, and neither can a daemon of `multiprocessing`."""
    try:
        import multiprocessing
        import multiprocessing.synchronize
    except ImportError:
        return False
    return not multiprocessing.current_process().daemon
