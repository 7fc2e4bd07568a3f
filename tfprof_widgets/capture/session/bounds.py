"""Bounds: a running profiler session -> a call at the moment when its time or its estimated size is used up."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Literal

from .building import BuildingWatch

POLL_S = 0.05
MAX_POLL_S = 0.5
BUILDING_POLL_S = 0.01
"""While TensorFlow builds a function: a call in the loop that comes after may be over soon."""
HEAP_BYTES_PER_FILE_BYTE = 4.0
"""An event waiting in the profiler takes this many times its size in the file (2.9 to 5.8 measured with TF 2.21)."""

BoundKind = Literal["seconds", "bytes"]


class BoundWatch:
    """Watches one session on a thread of its own and calls `on_bound(kind)` once.

    TensorFlow has no public count of what its profiler holds, but a training loop in its stride allocates nothing else
    for good: the growth of the C heap divided by `heap_bytes_per_file_byte` estimates the file. What grows while a function
    is traced or compiled is that function's, and does not count. Whoever is called measures the real file and may go on with
    a better ratio.
    """

    def __init__(
        self,
        on_bound: Callable[[BoundKind], None],
        *,
        seconds: float,
        n_bytes: float,
        heap_bytes_per_file_byte: float = HEAP_BYTES_PER_FILE_BYTE,
        read_heap: Callable[[], int] | None = None,
        is_building: Callable[[], bool] | None = None,
    ) -> None:
        self._on_bound = on_bound
        self._deadline_s = time.monotonic() + seconds
        self._n_bytes = n_bytes
        self._ratio = heap_bytes_per_file_byte
        self._read_heap = read_heap or heap_reader()
        self._is_building = is_building or BuildingWatch().look
        self._base = self._read_heap()
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tfprof-bounds", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop watching; `on_bound` may be running already, and must find out by itself that the session is over."""
        self._cancelled.set()

    def rebase(self) -> None:
        """Count growth from here: the first steps trace and compile, and keep what they allocate."""
        self._base = self._read_heap()

    def _run(self) -> None:
        pause_s, known, was_building = POLL_S, self._base, False
        while not self._cancelled.wait(pause_s):
            begin_s = time.monotonic()
            if begin_s >= self._deadline_s:
                self._on_bound("seconds")
                return
            if self._is_building():
                pause_s, was_building = BUILDING_POLL_S, True
                continue
            heap = self._read_heap()
            # What is freed was not the profiler's either.
            self._base = min(self._base + (heap - known if was_building else 0), heap)
            known, was_building = heap, False
            if (heap - self._base) / self._ratio >= self._n_bytes:
                self._on_bound("bytes")
                return
            # Reading a large heap takes its locks for a while: for 0.5 % of the time, unless that leaves the bound unwatched.
            pause_s = min(max(POLL_S, 200 * (time.monotonic() - begin_s)), MAX_POLL_S)


class _MallInfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks")
    ] + [("keepcost", ctypes.c_size_t)]


def heap_reader() -> Callable[[], int]:
    """Return a function that tells how many bytes of the C heap are in use, in microseconds.

    Elsewhere than with glibc >= 2.33 it tells the resident set, which also counts large arrays.
    """
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError, TypeError):
        import psutil

        process = psutil.Process()
        return lambda: int(process.memory_info().rss)
    mallinfo2.restype = _MallInfo2
    return lambda: int(mallinfo2().uordblks)
