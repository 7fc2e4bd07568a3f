"""tf_profiler: TensorFlow's public profiler API -> start and stop of one session, with errors a user can act on."""

from __future__ import annotations

import contextlib
import logging
import time
from pathlib import Path
from typing import Any

from ...errors import CaptureError
from .detail import LOUD_NOTICE, Detail, mute_thread_pools, profiler_options
from .log_lines import without_profiler_lines
from .scratch import free_text
from .session_times import note_session_times

_logger = logging.getLogger(__name__)

STALE_NOTICE = (
    "A profiler session that someone else had left running in this process (an interrupted run, the TensorBoard "
    "callback, or a profiler server) was stopped so that this capture could start; what it had recorded is dropped."
)
_start_ns = 0
"""When the last session was asked for, in Unix time; TensorFlow takes its own time as the first thing it does then."""


def import_tensorflow() -> Any:
    """Return the `tensorflow` module.

    Raises:
        CaptureError: it is not installed or does not load; opening profiles works without it.
    """
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
    """Start TensorFlow's profiler, to write below `logdir`.

    Returns:
        What the user has to be told: `STALE_NOTICE` where a session left by someone else had to be stopped first,
        `LOUD_NOTICE` where the detail could not be lowered.

    Raises:
        CaptureError: the profiler did not start.
    """
    tf = import_tensorflow()
    profiler = tf.profiler.experimental
    options = profiler_options(tf, detail)
    arguments = (str(logdir),) if options is None else (str(logdir), options)
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
    """Stop TensorFlow's profiler and return the run directory that it wrote below `logdir`.

    Raises:
        CaptureError: the files could not be written, or someone else stopped the session.
    """
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
