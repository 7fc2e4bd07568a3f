"""The processes that this one started -> the CPU time that they took, from /proc."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

LOOK_AGAIN_S = 1.0
"""So often all threads are asked which processes they started."""
_USED = slice(11, 15)
"""Of /proc/PID/stat behind the name: utime, stime, and both of children that were waited for."""
_WAITED_FOR = slice(13, 15)
_MOST = 1_000


class Children:
    """Those that run now, with their own children; the time of one that ended is its parent's, once that has waited for it.

    The children of the main thread are looked up each time, those of all threads once a second: some 15 us a thread.
    """

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._pids: list[str] = []
        self._looked_s = -LOOK_AGAIN_S

    def cpu_s(self) -> float:
        """Return what they took since they began."""
        now = time.monotonic()
        if now >= self._looked_s + LOOK_AGAIN_S:
            self._looked_s, self._pids = now, self._all_below("self")
        started = set(self._started_by("self", str(os.getpid())))
        ticks = sum(self._ticks(pid, _USED) for pid in started.union(self._pids))
        return (ticks + self._ticks("self", _WAITED_FOR)) / self._ticks_per_s

    def _all_below(self, pid: str) -> list[str]:
        """The processes that a process started, and those that they did."""
        found: dict[str, None] = {}
        left = [pid]
        while left and len(found) < _MOST:
            one = left.pop()
            threads: list[str] = []
            with contextlib.suppress(OSError):  # it ended
                threads = [thread.name for thread in (self._root / one / "task").iterdir()]
            new = [child for thread in threads for child in self._started_by(one, thread) if child not in found]
            found |= dict.fromkeys(new)
            left += new
        return list(found)

    def _started_by(self, pid: str, thread: str) -> list[str]:
        return self._read(f"{pid}/task/{thread}/children").decode("ascii", "replace").split()

    def _ticks(self, pid: str, fields: slice) -> int:
        # Behind the name, which may hold anything, even spaces and brackets.
        return sum(int(field) for field in self._read(f"{pid}/stat").rpartition(b")")[2].split()[fields])

    def _read(self, name: str) -> bytes:
        try:
            return (self._root / name).read_bytes()
        except OSError:  # it ended, or a kernel without this file
            return b""
