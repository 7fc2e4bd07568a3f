"""A capture's files on disk, and TensorFlow's log, less of which is written at start and stop."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import logging
import os
import shutil
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from ..errors import CaptureError
from ..read.places import RUNS
from ..trace.scratch import free_bytes, make_folder, remove_folder


def make_scratch(bytes_bound: int) -> Path:
    """Make an empty private folder for a capture of at most about `bytes_bound` bytes."""
    try:
        return make_folder(bytes_bound)
    except OSError as error:
        place = Path(error.filename or ".").parent
        raise CaptureError(
            f"The capture has no place for its files: {place} ({free_text(place)} free): {error}. "
            "Free some space, set TMPDIR, or give logdir= on another disk."
        ) from error


def free_text(place: Path) -> str:
    """Return the free space where `place` is (or would be) as text: `1.5 GiB`."""
    # Not `Path.exists`, which raises where a name is too long.
    free = free_bytes(next((parent for parent in (place, *place.parents) if os.path.exists(parent)), Path("/")))  # noqa: PTH110
    return f"{free / 2**30:.1f} GiB" if free >= 2**30 else f"{free / 2**20:.1f} MiB"


def remove_scratch(folder: Path, owner_pid: int) -> None:
    """Delete a scratch folder, and where its sessions were written when it had no more room; not in a forked child."""
    if os.getpid() == owner_pid:
        with contextlib.suppress(OSError):
            for link in folder.glob("session*"):
                if link.is_symlink():
                    remove_folder(link.resolve(), owner_pid)
    remove_folder(folder, owner_pid)


def place_run(run_dir: Path, logdir: Path, name: str = "") -> Path:
    """Move a run directory into `logdir/plugins/profile`, whole or not at all, and return where it is."""
    name = name or run_dir.name
    runs = logdir / RUNS
    runs.mkdir(parents=True, exist_ok=True)
    if _share_a_disk(runs, run_dir):
        return run_dir.rename(new_run(logdir, name))  # over the empty directory of that name
    # Under a name that nobody looks for: half of it would be found where the process is killed meanwhile.
    part = runs / f".{name}.{os.getpid()}.part"
    try:
        shutil.copytree(run_dir, part)
        target = part.rename(new_run(logdir, name))
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(run_dir, ignore_errors=True)
    return target


def _share_a_disk(place: Path, other: Path) -> bool:
    return place.stat().st_dev == other.stat().st_dev


def new_run(logdir: Path, name: str) -> Path:
    """Make an empty run directory `logdir/plugins/profile/<name>`, or `<name>_2` and so on where that is taken."""
    runs = logdir / RUNS
    runs.mkdir(parents=True, exist_ok=True)
    # TensorFlow names runs by the second: two captures of one second have one name.
    for n in itertools.count(1):
        run = runs / (name if n == 1 else f"{name}_{n}")
        with contextlib.suppress(FileExistsError):
            run.mkdir()
            break
    return run


_N_FILES = 8
"""More files than the profiler writes and moves at once."""


class SpareFiles:
    """Holds some file descriptors until they are needed."""

    def __init__(self) -> None:
        self._held: list[int] = []
        weakref.finalize(self, _close, self._held).atexit = False

    def hold(self) -> None:
        """Take them, as far as there are any."""
        with contextlib.suppress(OSError):
            while len(self._held) < _N_FILES:
                self._held.append(os.open(os.devnull, os.O_RDONLY))

    def release(self) -> None:
        """Let go of them; a second call does nothing."""
        _close(self._held)


def _close(files: list[int]) -> None:
    while files:
        with contextlib.suppress(OSError):
            os.close(files.pop())


LevelCalls = tuple[Callable[[], int], Callable[[int], None]]

_WARNING = 1
"""A level of Abseil's log; what is below is information."""

_lock = threading.Lock()
_level: int | None = None
"""Abseil's level of the log while a higher one is set."""


@contextlib.contextmanager
def without_profiler_lines() -> Iterator[None]:
    """Leave the profiler's own lines, and others that only inform, out of the block's output, where that can be done."""
    if not _lock.acquire(blocking=False):
        yield
        return
    logger = logging.getLogger("tensorflow")
    logger.addFilter(_is_not_of_profiler)
    _log_less()
    try:
        yield
    finally:
        _log_again()
        logger.removeFilter(_is_not_of_profiler)
        _lock.release()


def _log_less() -> None:
    global _level
    if (calls := _level_calls()) is not None:
        level, set_level = calls
        _level = level()
        set_level(max(_level, _WARNING))


def _log_again() -> None:
    global _level
    if _level is not None and (calls := _level_calls()) is not None:
        calls[1](_level)
    _level = None


def _level_calls() -> LevelCalls | None:
    """Abseil's `MinLogLevel` and `SetMinLogLevel` in TensorFlow's library; None where it does not export them."""
    package = getattr(sys.modules.get("tensorflow"), "__file__", None)
    return None if package is None else _calls_of_library(Path(package).parent)


@cache
def _calls_of_library(folder: Path) -> LevelCalls | None:
    """Their names hold the date of Abseil's release, so all dates are tried once, in milliseconds."""
    for file in folder.glob("libtensorflow_framework.*"):
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(str(file))
            for year, month, day in itertools.product(range(2023, 2031), range(1, 13), range(1, 32)):
                space = f"_ZN4absl12lts_{year}{month:02}{day:02}"
                if (level := getattr(library, f"{space}11MinLogLevelEv", None)) is not None:
                    set_level = library[f"{space}14SetMinLogLevelENS0_18LogSeverityAtLeastE"]
                    level.restype, set_level.restype, set_level.argtypes = ctypes.c_int, None, (ctypes.c_int,)
                    return level, set_level
    return None


def _is_not_of_profiler(record: logging.LogRecord) -> bool:
    return record.module != "profiler_v2"


def _restore_in_child() -> None:
    # A process forked meanwhile logs what its parent logs.
    global _lock
    _log_again()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_in_child)
