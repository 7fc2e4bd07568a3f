"""log_lines: what TensorFlow's profiler says of itself on standard error -> kept out of the output of a notebook's cell.

TensorFlow writes to the descriptor, past Python, and ipykernel shows in the cell what arrives there. So the descriptor leads
elsewhere while a session starts or stops, and all but the profiler's own lines is written afterwards to where it belongs. What
CUPTI says between a start and a stop is not caught.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator

_SOURCES = rb"profiler_\w+|session_manager|save_profile|capture_profile|(?:host|device|python)_tracer\w*|cupti_\w+"
_LINE = re.compile(
    # absl says so above the first line of a process.
    rb"(?m)^(?:WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR\r?\n)?"
    # The begin that absl writes, or TensorFlow itself. What failed and what the trace lacks, a person has to know.
    rb"(?:[IW]\d{4} [\d:.]+ +\d+ |\d{4}-\d\d-\d\d [\d:.]+: [IW] )(?!.*(?i:dropped))"
    rb"(?:\S*/profiler/\S+|(?:\S*/)?(?:" + _SOURCES + rb"))\.cc:\d+\] .*\n?"
)
_STDERR = 2

_lock = threading.Lock()
_kept: int | None = None
"""Where standard error leads while it is held."""


@contextlib.contextmanager
def without_profiler_lines() -> Iterator[None]:
    """Keep what the profiler says of itself while the block runs out of a notebook's cell; elsewhere nothing is touched.

    Never raises for its own sake: where the descriptor cannot be held, the lines appear.
    """
    if not _is_in_kernel() or not _lock.acquire(blocking=False):
        yield
        return
    logger = logging.getLogger("tensorflow")
    logger.addFilter(_is_not_of_profiler)
    held = _hold()
    try:
        yield
    finally:
        if held is not None:
            _release(held)
        logger.removeFilter(_is_not_of_profiler)
        _lock.release()


def _is_in_kernel() -> bool:
    module = sys.modules.get("ipykernel.kernelapp")
    return module is not None and bool(module.IPKernelApp.initialized())


def _is_not_of_profiler(record: logging.LogRecord) -> bool:
    return record.module != "profiler_v2"


def _hold() -> int | None:
    """Have standard error collected, and return the file that it is collected in; None where that cannot be."""
    global _kept
    held = kept = None
    try:
        kept, held = os.dup(_STDERR), _memory()
        os.dup2(held, _STDERR)
    except OSError:  # no standard error, no descriptor left
        for descriptor in (kept, held):
            if descriptor is not None:
                os.close(descriptor)
        return None
    _kept = kept
    return held


def _memory() -> int:
    """A file to collect in. Not a pipe, which can be full; in memory where that can be: the disk can be full too."""
    if hasattr(os, "memfd_create"):  # Python as conda and uv bring it has none on Linux either
        return os.memfd_create("stderr")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _release(held: int) -> None:
    """Have standard error lead where it led before, and write there what was collected but for the profiler's lines."""
    global _kept
    kept, _kept = _kept, None
    if kept is None:
        return
    with contextlib.suppress(OSError):
        os.dup2(kept, _STDERR)
        size = os.lseek(held, 0, os.SEEK_END)
        os.lseek(held, 0, os.SEEK_SET)
        rest = _LINE.sub(b"", os.read(held, size))
        while rest:
            rest = rest[os.write(kept, rest) :]
    os.close(kept)
    os.close(held)


def _restore_in_child() -> None:
    # A process forked meanwhile writes where its parent writes.
    global _kept, _lock
    if _kept is not None:
        with contextlib.suppress(OSError):
            os.dup2(_kept, _STDERR)
    _kept, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_in_child)
