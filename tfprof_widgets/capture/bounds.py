"""A running profiler session -> a call when its time or its estimated size is used up."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import re
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Literal

from .program.frames import frames_outwards, running_frames

MAX_DEPTH = 1_000
"""The most frames of a thread that are looked at."""
_CALLS = "/tensorflow/python/eager/polymorphic_function/".replace("/", os.sep)
_TRACES = frozenset(("func_graph_from_py_func", "_create_concrete_function", "_build_functions_for_outputs"))
"""Functions of TensorFlow in which it traces, or makes the gradient of what it traced."""

Building = Literal["no", "maybe", "yes"]
""""yes" while a function is traced; "maybe" until the call that traced it returns, as it may be optimized, compiled or run."""


class BuildingWatch:
    """Looks at what threads do. Nobody tells when TensorFlow builds functions, but tracing shows in the stacks of Python."""

    def __init__(self, stacks: Callable[[], Mapping[int, FrameType]] = running_frames) -> None:
        self._stacks = stacks
        self._calls: dict[int, FrameType | None] = {}
        """The tracing call of each thread: kept as a frame, as the id of one that is gone is reused at once."""

    def look(self) -> Building:
        """Whether a function is being traced or compiled now."""
        calls: dict[int, FrameType | None] = {}
        is_tracing = False
        for thread, frame in self._stacks().items():
            call, traces = _state(frame)
            is_tracing |= traces
            if traces or (call is not None and call is self._calls.get(thread)):
                calls[thread] = call
        self._calls = calls
        return "yes" if is_tracing else "maybe" if calls else "no"


def traced_us() -> int | None:
    """How long TensorFlow has traced functions in this process, in us, by its own counter; None without one."""
    if "tensorflow" not in sys.modules:
        return 0
    return _tracing_counter()()


@functools.cache
def _tracing_counter() -> Callable[[], int | None]:
    """Reads the counter, in one call of C++ where that is possible: each step does."""
    try:
        from tensorflow.python.eager.polymorphic_function import tracing_compilation

        cell = tracing_compilation._graph_building_time_counter.get_cell()
    except (ImportError, AttributeError):
        return lambda: None
    try:
        from tensorflow.python import pywrap_tfe

        return functools.partial(pywrap_tfe.TFE_MonitoringCounterCellValue, cell._cell)
    except (ImportError, AttributeError):
        value: Callable[[], int] = cell.value
        return value


_COMPILED_CODE = re.compile(rb" r.xp 00000000 00:00 0 *$", re.MULTILINE)
FEWEST_PIECES = 3
"""XLA makes a dozen or more of each program; oneDNN one or two of many kernels."""


def n_pieces_of_code() -> int:
    """How many pieces of code were compiled into this process: XLA makes some of each program on a CPU; 0 where not known."""
    try:
        return len(_COMPILED_CODE.findall(Path("/proc/self/maps").read_bytes()))
    except OSError:  # no Linux
        return 0


def _state(frame: FrameType | None) -> tuple[FrameType | None, bool]:
    """The outermost call of a `tf.function` around a thread, and whether it traces one."""
    call, is_tracing = None, False
    for outer in islice(frames_outwards(frame), MAX_DEPTH):
        code = outer.f_code
        is_tracing = is_tracing or (code.co_name in _TRACES and "tensorflow" in code.co_filename)
        if _CALLS in code.co_filename:
            call = outer
    return call, is_tracing


N_PIECES = 32
"""The latest pieces give the usual growth."""
MIN_PIECES = 5
MAX_TIMES = 3.0
"""Growth counts as at most so many times the usual."""


@dataclass(frozen=True)
class Piece:
    """A piece of the run, from the end of one step to that of a later one; of a program without steps some seconds."""

    n_units: float
    """Steps, or seconds."""
    growth: float
    """Of the heap, in bytes; negative where more was freed."""
    is_spoilt: bool = False
    """Whether a function was built meanwhile, or just before, so that growth says nothing."""


class Stride:
    """Sums up the growth that is the usual one."""

    def __init__(self) -> None:
        self._recent: deque[Piece] = deque(maxlen=N_PIECES)
        self._settled = 0.0

    @property
    def is_known(self) -> bool:
        """Whether there were enough pieces for the usual growth."""
        return sum(not piece.is_spoilt for piece in self._recent.copy()) >= MIN_PIECES

    @property
    def growth(self) -> float:
        """The growth since the first piece that goes on as the program does, in bytes."""
        counted = self._counted()
        return self._settled + sum(counted[_begin(counted) :])

    def add(self, piece: Piece) -> None:
        """Take up the piece that came after the last one."""
        if len(self._recent) == N_PIECES:
            counted = self._counted()
            self._settled += counted[0] if _begin(counted) == 0 else 0.0
        self._recent.append(piece)

    def _counted(self) -> list[float]:
        recent = self._recent.copy()  # whoever asks how large a file would be is on another thread than what adds
        rates = [piece.growth / piece.n_units for piece in recent if not piece.is_spoilt]
        usual = max(statistics.median(rates), 0.0) if rates else 0.0
        return [
            min(max(piece.growth, 0.0), usual * piece.n_units)
            if piece.is_spoilt
            else min(piece.growth, MAX_TIMES * usual * piece.n_units)
            for piece in recent
        ]


def _begin(growths: list[float]) -> int:
    """The piece from which growth counts: what is freed later was not the profiler's, which frees nothing."""
    best, begin, total = 0.0, len(growths), 0.0
    for i in range(len(growths) - 1, -1, -1):
        total += growths[i]
        if total > best:
            best, begin = total, i
    return begin


POLL_S = 0.05
MAX_POLL_S = 0.5
PIECE_S = 0.1
HEAP_BYTES_PER_FILE_BYTE = 4.0
"""An event waiting in the profiler takes this many times its size in the file (2.9 to 5.8 measured with TF 2.21)."""
DOUBT_FACTOR = 4
DOUBT_BYTES = 128 * 2**20
"""Growth that may be the program's own ends a session when it stands for a file of so many times the bound, and of so much."""

MEMORY_SHARE = 0.1
"""Of what the machine or the container has free: a session ends when the profiler has taken so much."""

BoundKind = Literal["seconds", "bytes", "memory"]


@dataclass(frozen=True)
class FileRate:
    """Estimates for the next file from one that was written."""

    heap_bytes_per_byte: float = HEAP_BYTES_PER_FILE_BYTE
    """Growth of the program's heap for each byte of the file."""
    bytes_per_step: float = 0.0
    """0 where unknown."""
    bytes_per_second: float = 0.0
    """Of a program that marks no steps; 0 where unknown."""


class BoundWatch:
    """Estimates a session's file size on a thread of its own, from the growth of the C heap, and calls `on_bound(kind)` once."""

    def __init__(
        self,
        on_bound: Callable[[BoundKind], None],
        *,
        seconds: float,
        n_bytes: float,
        rate: FileRate | None = None,
        read_heap: Callable[[], int] | None = None,
        building: Callable[[], Building] | None = None,
        memory_bytes: float = math.inf,
        read_rss: Callable[[], float] | None = None,
    ) -> None:
        """`memory_bytes` bounds how much the resident memory of the process grows, as it usually does in a step."""
        self._on_bound = on_bound
        self.memory_bytes, self._read_rss, self._rss = memory_bytes, read_rss, Stride()
        self._begin_s, self._end_s = time.monotonic(), math.inf
        self._deadline_s = self._begin_s + seconds
        self._n_bytes = n_bytes
        self._rate = rate or FileRate()
        self._read_heap = read_heap or heap_reader()
        self._building = building or BuildingWatch().look
        self._stride = Stride()
        self._marks_steps, self._n_steps = False, 0
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tfprof-bounds", daemon=True)

    @property
    def estimated_bytes(self) -> int:
        """About how large the file of the session would be if it ended now; 0 at its begin, while nothing is known."""
        in_heap = self._stride.growth / self._rate.heap_bytes_per_byte if self._stride.is_known else 0.0
        elapsed_s = 0.0 if self._n_steps else time.monotonic() - self._begin_s
        known = self._rate.bytes_per_step * self._n_steps + self._rate.bytes_per_second * elapsed_s
        return int(max(in_heap, known, 0.0))

    @property
    def held_bytes(self) -> float:
        """By how much the process has grown, as it usually does in a step: what the profiler holds until the end."""
        return self._rss.growth if self._rss.is_known else 0.0

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """Stop watching; `on_bound` may be running already, and must find out by itself that the session is over."""
        self._end_s = time.monotonic()
        self._cancelled.set()

    def await_step(self) -> None:
        """Note that a step has begun: until the first one ends, growth may be tracing and compiling."""
        self._marks_steps = True

    def count_step(self) -> None:
        """Note that a step has ended, of whatever kind."""
        self._n_steps += 1

    def learn(self, n_bytes: int) -> FileRate:
        """The estimates from the ended session's file; the earlier ones where it was too short."""
        if not self._stride.is_known or not n_bytes:
            return self._rate
        elapsed_s = min(time.monotonic(), self._end_s) - self._begin_s  # without what the file took to be written
        return FileRate(
            max(HEAP_BYTES_PER_FILE_BYTE, self._stride.growth / n_bytes),
            n_bytes / self._n_steps if self._n_steps else 0.0,
            0.0 if self._n_steps else n_bytes / elapsed_s,
        )

    def _run(self) -> None:
        piece, pause_s, is_stepping = _OpenPiece(), POLL_S, False
        resident = _OpenPiece()
        judged = self._read_heap()
        while not self._cancelled.wait(pause_s):
            now_s, used_s = time.monotonic(), time.thread_time()
            if now_s >= self._deadline_s:
                self._on_bound("seconds")
                return
            heap, building = self._read_heap(), self._building()
            piece.look(heap, is_building=building != "no")
            rss = math.nan if self._read_rss is None else self._read_rss()
            resident.look(int(rss) if math.isfinite(rss) else 0, is_building=building != "no")
            n_steps = self._n_steps
            is_before_first = self._marks_steps and not n_steps
            ended = None if is_before_first else piece.ended(now_s, n_steps)
            grown = None if is_before_first else resident.ended(now_s, n_steps)
            if ended is not None and grown is not None:
                if n_steps and not is_stepping:  # what came before the end of the first step was its beginning
                    is_stepping, self._stride, self._rss = True, Stride(), Stride()
                self._stride.add(ended)
                self._rss.add(grown)
                if self.held_bytes >= self.memory_bytes:
                    self._on_bound("memory")
                    return
            if building == "yes" or (ended and building == "no"):
                judged = heap
            doubtful = (heap - judged) / self._rate.heap_bytes_per_byte
            is_used_up = self._stride.is_known and self.estimated_bytes >= self._n_bytes
            if is_used_up or doubtful >= max(DOUBT_FACTOR * self._n_bytes, DOUBT_BYTES):
                self._on_bound("bytes")
                return
            # Reading a large heap takes its locks for a while: for 0.5 % of the time, unless that leaves the bound unwatched.
            # Not by the clock: what has to wait for Python or a processor takes nothing.
            pause_s = min(max(POLL_S, 200 * (time.thread_time() - used_s)), MAX_POLL_S)


class _OpenPiece:
    """The piece of the run that has begun; its heap is the smallest of several looks, as what steps hold comes and goes."""

    def __init__(self) -> None:
        self._begin_s = time.monotonic()
        self._n_steps = 0
        self._before = -math.inf
        self._lowest = math.inf
        self._is_spoilt = False
        self._was_spoilt = True

    def look(self, heap: int, *, is_building: bool) -> None:
        self._lowest = min(self._lowest, heap)
        self._is_spoilt |= is_building

    def ended(self, now_s: float, n_steps: int) -> Piece | None:
        seconds, steps = now_s - self._begin_s, n_steps - self._n_steps
        # In a program of steps a piece ends with one, however long it takes: compiling, a validation, a checkpoint.
        if seconds < PIECE_S or (n_steps and not steps):
            return None
        is_spoilt = self._is_spoilt or self._was_spoilt
        piece = Piece(steps if is_spoilt else steps or seconds, self._lowest - self._before, is_spoilt)
        self._begin_s, self._n_steps = now_s, n_steps
        self._before, self._lowest = self._lowest, math.inf
        self._was_spoilt, self._is_spoilt = self._is_spoilt, False
        return piece


class _MallInfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks")
    ] + [("keepcost", ctypes.c_size_t)]


def heap_reader() -> Callable[[], int]:
    """A function that reads the bytes in use of the C heap; without glibc >= 2.33 the resident set, large arrays too."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError, TypeError):
        import psutil

        process = psutil.Process()
        return lambda: int(process.memory_info().rss)
    mallinfo2.restype = _MallInfo2
    return lambda: int(mallinfo2().uordblks)
