"""HostPool: processes of this machine that read files of hosts, where that is worth their start."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Executor
from types import TracebackType

START_S = 5.0
"""What would take no longer than this in one process stays in it: two processes take 2 s to import what they need."""
FILE_S = 0.045
"""For each file, however small: measured with drawn hosts of 1 to 10 kB."""
BYTE_S = 0.15e-6
"""For each of its bytes: measured with a real trace of 3 MB."""
MOST_BYTES = 2**20
"""A larger file is never read in the calling process, which it could end: reading one of 3 MB took 20 MB of memory."""
_MOST_PROCESSES = 61
"""What Windows can wait for."""


class HostPool:
    """Says by the sizes of files whether to start processes for them, and starts them.

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
        self._pool: Executor | None = None

    def is_worth_it(self, sizes: Iterable[int | None]) -> bool:
        """Whether reading the files here could end this process, or would take it longer than starting others for it.

        Args:
            sizes: of the files in bytes, None where nobody knows; looked at as far as needed.
        """
        if not self.can_start:
            return False
        seconds = self._n_files * FILE_S
        if self.n_processes > 1 and seconds > START_S:
            return True
        for n_bytes in sizes:
            if n_bytes is None or n_bytes > MOST_BYTES:
                return True
            seconds += n_bytes * BYTE_S
        return self.n_processes > 1 and seconds > START_S

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
