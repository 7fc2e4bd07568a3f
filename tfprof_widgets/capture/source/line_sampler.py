"""A thread that executes user code -> the user's line that it was at, some hundred times a second."""

from __future__ import annotations

import threading
import time
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from .running_frames import frames_outwards, running_frames
from .source_files import is_user_file
from .source_graphs import FrameTable

INTERVAL_S = 0.005
"""From one sample to the next, while that is cheap."""
MAX_SHARE = 0.005
"""How much of a processor sampling may take: its thread has to wait for Python's lock, and takes it from the program."""
N_FIRST = 40
"""So many samples are taken before their cost is known."""
MAX_SAMPLES = 50_000
"""Four minutes; a capture stops itself after one by default."""
MAX_DEPTH = 1_000
"""How many frames are searched for the user's."""


class LineSampler:
    """Samples the thread that makes it, between each `start()` and `stop()`. Keeps code objects, but no frames."""

    def __init__(self, *, interval_s: float = INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._target = threading.get_ident()
        self._samples: list[tuple[int, CodeType, int]] = []
        self._stop = threading.Lock()
        self._thread: threading.Thread | None = None

    def successor(self) -> LineSampler:
        """One without samples, of the same thread."""
        other = LineSampler(interval_s=self._interval_s)
        other._target = self._target
        return other

    def start(self) -> None:
        """Begin, from any thread; where it has begun already, do nothing."""
        if self._thread is None:
            # A lock that is held until the end: a sample took 13 to 25 % less CPU time than with an event.
            self._stop = threading.Lock()
            self._stop.acquire()
            self._thread = threading.Thread(target=self._run, args=(self._stop,), name="tfprof-lines", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End; what was sampled stays, and a next `start()` adds to it."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.release()
            thread.join(timeout=2.0)

    def columns(self, frames: FrameTable) -> dict[str, list[Any]]:
        """The samples as columns; their frames are added to `frames`."""
        samples = list(self._samples)
        rows = {
            (code, line): frames.add(-1, code.co_filename, line, code.co_name)
            for code, line in dict.fromkeys((code, line) for _, code, line in samples)
        }
        return {
            "time_ns": [time_ns for time_ns, *_ in samples],
            "frame": [rows[code, line] for _, code, line in samples],
        }

    def _run(self, stop: threading.Lock) -> None:
        interval_s, n_taken, busy_s = self._interval_s, 0, 0.0
        while len(self._samples) < MAX_SAMPLES and not stop.acquire(timeout=interval_s):
            began_s = time.perf_counter()
            place = user_place(running_frames().get(self._target))
            if place is not None:
                self._samples.append((time.time_ns(), *place))
            n_taken += 1
            busy_s += time.perf_counter() - began_s
            if n_taken >= N_FIRST:
                # By the mean of all, not by the last one: a rate that depends on what runs would be unfair to lines.
                # A sandbox such as gVisor counts a whole tick of 10 ms for each time that a thread wakes: no sample takes
                # more of a processor than it lasts.
                interval_s = max(self._interval_s, min(time.thread_time(), busy_s) / n_taken / MAX_SHARE)


def user_place(frame: FrameType | None) -> tuple[CodeType, int] | None:
    """Code and line of the innermost frame of the user's; None where there is none."""
    for outer in islice(frames_outwards(frame), MAX_DEPTH):
        if is_user_file(outer.f_code.co_filename):
            return outer.f_code, outer.f_lineno
    return None
