"""This process -> the frame that each of its threads is in."""

from __future__ import annotations

import gc
import sys
from operator import methodcaller
from types import FrameType
from typing import cast

_COLLECTS_ANYWHERE = sys.version_info < (3, 12)
"""Whether Python collects garbage wherever it makes an object, and not only between two instructions."""


def running_frames() -> dict[int, FrameType]:
    """The innermost frame of each thread, by the thread's number.

    `sys._current_frames` makes objects while it holds a lock of the interpreter's. Garbage that is collected then, and that
    holds a `threading.local` as graphs of TensorFlow do, waits for that lock for ever (python/cpython#106883).
    """
    if not (_COLLECTS_ANYWHERE and gc.isenabled()):
        return sys._current_frames()
    try:
        # No other thread runs between calls that `map` makes, so none finds the garbage collector switched off.
        _, frames, _ = map(methodcaller("__call__"), (gc.disable, sys._current_frames, gc.enable))
    except BaseException:
        gc.enable()
        raise
    return cast("dict[int, FrameType]", frames)
