"""`CaptureRecord`: the account of one capture, its windows, cost and failure; how TensorFlow's profiler is started.

Measured with TensorFlow 2.21 on two busy cores: `fit` of a small convolutional network in steps of 8.5 ms (13.8 ms of CPU),
32 samples each, through a tf.data pipeline, CPU memory recorded; 16 captures of 24 steps a level, and as many without.

| detail | host_tracer_level | events a step | file, a step | to stop | CPU time of a step | what can be told |
|---|---|---|---|---|---|---|
| - | 1 | 630 | 13 kB | - | - | steps as wholes; no ops, memory, tf.data, layers or lines |
| low | 2, no thread pools | 730 | 55 kB | 0.5 s | +9 % | all that normal tells, but for the arrows of kind `pool` |
| normal | 2 | 1,520 | 73 kB | 0.7 s | +11 % | everything; 61 ops |
| high | 3 | 2,850 | 119 kB | 1.4 s | +21 % | 261 ops; arguments and results of functions; the executor's queues |

On a GPU `low` is hardly cheaper: thread pools make 1 to 11 % of the events of seven captures on an H100, and 32 % where the
input pipeline keeps the CPU busy. TensorFlow records cheap ops at `high` only, but all ops in a program's first steps.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import linecache
import logging
import mmap
import os
import re
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from ..errors import CaptureError
from ..read.protobuf import Messages
from ..trace.capture_facts import CaptureCost, CaptureFacts, Failure
from .folders import free_text, without_profiler_lines
from .machine import DEFAULT_HZ, MAX_HZ, MIN_HZ
from .program.captured import CapturedProgram
from .program.frames import is_user_file, title_of
from .window_policy import Steps, WindowPolicy, make_selection, require_positive

_logger = logging.getLogger(__name__)

MAX_CHAIN = 50
MAX_LINES = 20
MAX_LINE = 500
"""Longest text of the message, as TensorFlow's may hold a traceback and all allocations of a device."""
_TENSORFLOW_NAMES = frozenset(("ResourceExhaustedError", "XlaRuntimeError", "JaxRuntimeError"))
_IS_MEMORY = re.compile(r"\bOOM\b|out of memory|\ballocat|\bmemory\b|RESOURCE_EXHAUSTED", re.IGNORECASE)
_IS_TOLD = re.compile(r"\bOOM\b|out of memory|\ballocat|\{\{node |\[Op:|Dst tensor is not initialized", re.IGNORECASE)
_IS_ASIDE = re.compile(r'^(?:Hint:|File ")')
"""Advice, and lines of a traceback, whose folders may have any name."""
_IS_OTHER = re.compile(r"no space left|too many open files|larger than max|disk|quota", re.IGNORECASE)
"""What else a ResourceExhaustedError may be about."""
_IS_COPY = "Dst tensor is not initialized"
"""TensorFlow's InternalError where a device has no room for a tensor that is copied to it."""


def read_failure(error: BaseException | None, *, batch_size: int = 0) -> Failure | None:
    """The failed allocation in an exception or its chain."""
    if error is None:
        return None
    try:
        at_ns = time.time_ns()
        for one in _chain(error):
            if _is_about_memory(one):
                file, line, code = _place(one, error)
                return Failure(
                    kind=type(one).__name__[:MAX_LINE],
                    text=_told(str(one)),
                    at_ns=at_ns,
                    file=file,
                    line=line,
                    code=code,
                    batch_size=batch_size,
                )
    except Exception:  # an exception's own methods are anybody's code
        _logger.warning("the exception cannot be read", exc_info=True)
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception with its causes and members, the outer ones first."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < MAX_CHAIN:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        # Keras raises `from None`, which hides what was before but keeps it.
        waiting += [one.__cause__, one.__context__]
        members = getattr(one, "exceptions", ())
        waiting += [member for member in members if isinstance(member, BaseException)] if type(members) is tuple else []


def _is_about_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    names = {base.__name__ for base in type(error).__mro__}
    text = str(error)
    if "InternalError" in names:
        return _IS_COPY in text
    if not names & _TENSORFLOW_NAMES or (_IS_OTHER.search(text) and not _IS_TOLD.search(text)):
        return False
    return "ResourceExhaustedError" in names or _IS_MEMORY.search(text) is not None


def _told(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if _IS_TOLD.search(line) and not _IS_ASIDE.match(line)]
    return "\n".join(line[:MAX_LINE] for line in (told or lines[:1])[:MAX_LINES])


def _place(error: BaseException, arrived: BaseException) -> tuple[str, int, str]:
    """The user's innermost frame of the exception itself, or of the one that arrived."""
    for one in (error, arrived):
        passed = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(one.__traceback__)]
        found = [(file, line) for file, line in passed if is_user_file(file)]
        if found:
            file, line = found[-1]
            return title_of(file)[:MAX_LINE], line, linecache.getline(file, line).strip()[:MAX_LINE]
    return "", 0, ""


BFC_VARIABLE = "TF_CPU_ALLOCATOR_USE_BFC"


def enable_cpu_memory_recording() -> bool:
    """Ask TensorFlow to record every CPU tensor allocation, unless the user has set the variable; before its first op."""
    return os.environ.setdefault(BFC_VARIABLE, "true").strip().lower() in ("1", "true", "t", "yes", "y")


Phase = Literal["before", "during", "after", "cut"]
"""A step before the first window; whole inside one; after one has closed; or one in which a window opened or closed."""

_STEP_TIMES = {"number": "int64", "name": "str", "start_ns": "int64", "duration_ns": "int64", "phase": "str"}


def no_step_times() -> pd.DataFrame:
    """Return the table of a capture without marked steps: the columns, no rows."""
    return pd.DataFrame(columns=list(_STEP_TIMES)).astype(_STEP_TIMES)


Detail = Literal["low", "normal", "high"]
DETAILS: tuple[Detail, ...] = get_args(Detail)

LOUD_NOTICE = (
    'detail="low" records as much as "normal" here: this build of TensorFlow has no switch for the events of its '
    "thread pools that could be found. Capture fewer steps to record less."
)

_VERBOSE = 3
_POOL_CATEGORIES = (0, 1)
"""`EventCategory::kScheduleClosure` and `kRunClosure` of tsl/platform/tracing.h: work put into a thread pool, and run there."""
_SET_COLLECTOR = "_ZN3tsl7tracing17SetEventCollectorENS0_13EventCategoryEPKNS0_14EventCollectorE"
_LIBRARIES = ("libtensorflow_framework.so.2", "libtensorflow_framework.2.dylib")


class _Level:
    """A number that is no truth value: TensorFlow 2.21 takes an int for a bool, and ignores all options then."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value


def mute_thread_pools() -> bool:
    """Unhook TensorFlow's listener to its thread pools from the session just begun, as no option does; False where that fails."""
    unhook = _collector_setter()
    if unhook is None:
        return False
    for category in _POOL_CATEGORIES:
        unhook(category, None)
    return True


@functools.cache
def _collector_setter() -> Callable[[int, None], None] | None:
    """`tsl::tracing::SetEventCollector`; its symbol holds the argument types, so that it fits if found."""

    try:
        folder = Path(import_tensorflow().sysconfig.get_lib())
        library = next(folder / name for name in _LIBRARIES if (folder / name).is_file())
        setter = getattr(ctypes.CDLL(str(library)), _SET_COLLECTOR)
    except (OSError, AttributeError, StopIteration):
        _logger.info("the events of thread pools cannot be switched off", exc_info=True)
        return None
    setter.argtypes, setter.restype = [ctypes.c_uint, ctypes.c_void_p], None
    found: Callable[[int, None], None] = setter
    return found


Outcome = Literal["complete", "bounded", "exception", "interrupted"]
"""By leaving its block, by a bound, by an exception in the block, or by Ctrl-C."""

DEFAULT_MAX_SECONDS = 60.0
DEFAULT_MAX_BYTES = 32 * 2**20
"""About a million events: TensorFlow writes them in 6 s, and a browser takes some seconds."""


@dataclass(frozen=True, kw_only=True)
class CaptureOptions:
    """What a capture is asked to do, all optional; a bad argument is a `TypeError` or `ValueError` that says what to give."""

    steps: Steps | WindowPolicy | None = None
    """A range, an iterable of ints, a callable of the step number, or a policy; None for all."""
    every: int | None = None
    """Capture every step whose number is a multiple of this."""
    every_seconds: float | None = None
    """Capture one step at once, then one whenever so many seconds have passed."""
    system: bool | float = True
    """Whether the machine is sampled beside the trace, or how often: 5 to 20 Hz; True is 10 Hz."""
    detail: Detail = "normal"
    """The head of this file has the measured cost of each level."""
    logdir: str | Path | None = None
    """In TensorBoard's layout (`plugins/profile/<run>`); None for a private temporary folder."""
    max_seconds: float | None = None
    """Of open windows, after which the capture stops itself; None for 60."""
    max_bytes: int | None = None
    """About the size of the files at which the capture stops itself; None for 32 MiB."""
    command: str = "profile"
    """`profile` or `%%tfprofile`, as messages call it."""

    def __post_init__(self) -> None:
        for name in ("max_seconds", "max_bytes"):
            if (value := getattr(self, name)) is not None:
                require_positive(name, value, Real, give="a number, or leave it out for the default")
        self._check_system()
        if self.detail not in DETAILS:
            choices = ", ".join(f'"{detail}"' for detail in DETAILS)
            raise ValueError(f"detail={self.detail!r} is no level of detail; give one of {choices}.")
        if self.logdir is not None and not isinstance(self.logdir, (str, os.PathLike)):
            raise TypeError(f"logdir={self.logdir!r} is a {type(self.logdir).__name__}; give a path.")
        self.selection()

    def _check_system(self) -> None:
        rate = self.system
        if isinstance(rate, bool):
            return
        if not isinstance(rate, Real):
            raise TypeError(f"system={rate!r} is a {type(rate).__name__}; give True, False or a rate in Hz.")
        if not MIN_HZ <= float(rate) <= MAX_HZ:
            raise ValueError(
                f"system={rate!r} Hz cannot be sampled: give a rate from {MIN_HZ:g} to {MAX_HZ:g} Hz, True for "
                f"{DEFAULT_HZ:g} Hz, or False to sample nothing."
            )

    @property
    def sample_hz(self) -> float:
        """How often the machine is sampled, in Hz; 0 where it is not."""
        if isinstance(self.system, bool):
            return DEFAULT_HZ if self.system else 0.0
        return float(self.system)

    def selection(self) -> WindowPolicy | None:
        """Return which steps are wanted; None means everything from start to stop."""
        return make_selection(steps=self.steps, every=self.every, every_seconds=self.every_seconds)

    @property
    def seconds_bound(self) -> float:
        return DEFAULT_MAX_SECONDS if self.max_seconds is None else float(self.max_seconds)

    @property
    def bytes_bound(self) -> int:
        return DEFAULT_MAX_BYTES if self.max_bytes is None else int(self.max_bytes)


@dataclass(frozen=True, kw_only=True)
class Window:
    """One session of TensorFlow's profiler and the run directory it wrote."""

    run_dir: Path
    """Holds `<host>.xplane.pb`."""
    first_step: int | None
    """Number of the first step that lies whole in the window; None without marks."""
    last_step: int | None
    n_steps: int
    """Marked steps that lie whole in the window."""
    start_ns: int
    """Unix time at which the session ran."""
    stop_ns: int
    """Unix time at which the session was asked to stop."""
    start_s: float
    """Cost of starting the session."""
    stop_s: float
    """Cost of stopping it and writing its files."""
    n_bytes: int

    @property
    def pause_ns(self) -> tuple[int, int]:
        """Unix times between which the program waited for the files."""
        return self.stop_ns, self.stop_ns + round(self.stop_s * 1e9)


@dataclass(frozen=True, kw_only=True)
class CaptureRecord(CaptureFacts):
    """All that is known of one capture. Without `logdir=` its files live as long as this object."""

    run_dirs: tuple[Path, ...]
    """One per window, in time order; empty when nothing could be captured (`notices` then says why)."""
    windows: tuple[Window, ...]
    notices: tuple[str, ...]
    """What the user has to know, in one or two sentences each."""
    cost: CaptureCost
    system: pd.DataFrame = field(repr=False)
    """Columns of `SystemSampler` in Unix time, from before the first window to the end; no rows with `system=False`."""
    step_times: pd.DataFrame = field(default_factory=no_step_times, repr=False)
    """`number, name, start_ns` (Unix time), `duration_ns, phase` in time order, validation included;
    `steps_per_execution` steps are one row, and of more than 100,000 an even spread stays."""
    program: CapturedProgram | None = field(default=None, repr=False)
    """Until its lines and layers are asked for."""


def record_of(
    windows: tuple[Window, ...], program: CapturedProgram | None, system: pd.DataFrame, **facts: Any
) -> CaptureRecord:
    """The record of a capture with these windows."""
    return CaptureRecord(
        run_dirs=tuple(window.run_dir for window in windows),
        windows=windows,
        cost=CaptureCost(
            start_s=sum(window.start_s for window in windows),
            stop_s=sum(window.stop_s for window in windows),
            n_bytes=sum(window.n_bytes for window in windows),
        ),
        system=system,
        pauses_ns=tuple(window.pause_ns for window in windows),
        program=program,
        **facts,
    )


_PLANE, _START, _STOP = b"Task Environment", b"profile_start_time", b"profile_stop_time"
_MESSAGES = Messages(
    "tfprof_widgets.session_times",
    """
Stat: metadata_id 1 int64, uint64_value 3 uint64
StatMetadata: id 1 int64, name 2 bytes
StatMetadataEntry: key 1 int64, value 2 StatMetadata
Plane: name 2 bytes, stat_metadata 5 StatMetadataEntry repeated, stats 6 Stat repeated
Space: planes 1 Plane repeated
""",
)
"""The part of an XSpace with its start. Source: semantics 1.1 and 1.3."""


def note_session_times(xplane: Path, *, start_ns: int, stop_ns: int) -> None:
    """Add the Unix times of the session to its file, as newer TensorFlows do, unless they are there."""
    with xplane.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(_START) >= 0:
            return
    space = _MESSAGES["Space"]()
    plane = space.planes.add(name=_PLANE)
    for number, (name, time_ns) in enumerate(((_START, start_ns), (_STOP, stop_ns)), start=1):
        entry = plane.stat_metadata.add(key=number)
        entry.value.id, entry.value.name = number, name
        plane.stats.add(metadata_id=number, uint64_value=time_ns)
    with xplane.open("ab") as end:  # two messages one after the other are one message
        end.write(space.SerializeToString())


STALE_NOTICE = (
    "A profiler session that someone else had left running in this process (an interrupted run, the TensorBoard "
    "callback, or a profiler server) was stopped so that this capture could start; what it had recorded is dropped."
)
_start_ns = 0
"""Unix time at which the last session was asked for; TensorFlow's own comes first of all that it does then."""


def import_tensorflow() -> Any:
    try:
        import tensorflow
    except ImportError as error:
        raise CaptureError(
            f"A capture needs TensorFlow 2.16 or later, and it could not be imported: {error}. "
            "Install it with `pip install tensorflow`; opening saved profiles works without it."
        ) from error
    if not hasattr(tensorflow, "profiler"):
        raise CaptureError(
            f"The imported module `tensorflow` ({getattr(tensorflow, '__file__', 'no file')}) has no profiler. "
            "A file or folder of your own named `tensorflow` may hide the package; rename it."
        )
    return tensorflow


@without_profiler_lines()
def start_session(logdir: Path, detail: Detail = "normal") -> tuple[str, ...]:
    """Start TensorFlow's profiler, to write below `logdir`."""
    tf = import_tensorflow()
    profiler = tf.profiler.experimental
    arguments: tuple[Any, ...] = (str(logdir),)
    if detail == "high":
        names = ("host_tracer_level", "python_tracer_level", "device_tracer_level", "delay_ms")
        levels = dict(zip(names, map(_Level, (_VERBOSE, 0, 1, 0)), strict=True))
        arguments += (profiler.ProfilerOptions(**levels),)
    notices = []
    try:
        _start(tf, arguments)
    except tf.errors.AlreadyExistsError:
        notices.append(STALE_NOTICE)
        _logger.info("stopping a stale profiler session")
    except Exception as error:  # any failure of the profiler is the same to the user: no capture
        raise CaptureError(f"TensorFlow's profiler did not start: {error}") from error
    try:
        if notices:
            profiler.stop(save=False)
            _start(tf, arguments)
    except Exception as error:  # as above
        raise CaptureError(
            f"Another profiler is running in this process and could not be stopped: {error}. "
            "Stop it (`tf.profiler.experimental.stop()`, the TensorBoard callback's `profile_batch=0`) "
            "or restart the kernel."
        ) from error
    if detail == "low" and not mute_thread_pools():
        notices.append(LOUD_NOTICE)
    return tuple(notices)


def _start(tf: Any, arguments: tuple[Any, ...]) -> None:
    global _start_ns
    _start_ns = time.time_ns()
    tf.profiler.experimental.start(*arguments)


@without_profiler_lines()
def stop_session(logdir: Path) -> Path:
    """Stop TensorFlow's profiler and return the run directory that it wrote below `logdir`."""
    tf = import_tensorflow()
    stop_ns = time.time_ns()
    try:
        tf.profiler.experimental.stop()
    except tf.errors.UnavailableError as error:
        raise CaptureError(
            "The profiler session was stopped by someone else before the capture ended (the TensorBoard callback, "
            "`tf.profiler.experimental.stop()`), so nothing of it is left. Profile with one tool at a time."
        ) from error
    except Exception as error:  # the profiler's failures have many types; each means that the files are not there
        raise CaptureError(
            f"TensorFlow's profiler could not write its files to {logdir} ({free_text(logdir)} free): {error}. "
            "Free some space, capture fewer steps, or give logdir= on another disk."
        ) from error
    runs = sorted(path.parent for path in logdir.glob("plugins/profile/*/*.xplane.pb") if path.stat().st_size)
    if not runs:
        raise CaptureError(
            f"TensorFlow's profiler wrote no file below {logdir} ({free_text(logdir)} free). "
            "Free some space, capture fewer steps, or give logdir= on another disk."
        )
    for xplane in runs[-1].glob("*.xplane.pb"):
        with contextlib.suppress(OSError):  # what TensorFlow wrote is whole without
            note_session_times(xplane, start_ns=_start_ns, stop_ns=stop_ns)
    return runs[-1]
