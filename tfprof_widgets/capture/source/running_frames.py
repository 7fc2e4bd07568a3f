"""This process -> the frames that its threads are in."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from operator import methodcaller
from types import FrameType
from typing import cast

_COLLECTS_ANYWHERE = sys.version_info < (3, 12)
"""Whether Python collects garbage wherever it makes an object, and not only between two instructions."""


def running_frames() -> dict[int, FrameType]:
    """The innermost frame of each other thread, by the thread's number.

    `sys._current_frames` makes objects while it holds a lock of the interpreter's. Garbage that is collected then, and that
    holds a `threading.local` as graphs of TensorFlow do, waits for that lock for ever (python/cpython#106883).
    """
    frames = cast("dict[int, FrameType]", _without_collecting(sys._current_frames))
    # This thread's frame holds these frames in turn. As a circle they would live, with the tensors that are their variables,
    # until garbage is collected.
    frames.pop(threading.get_ident(), None)
    return frames


def outer_frame(frame: FrameType) -> FrameType | None:
    """The frame that called `frame`, which may be one of another thread; None where there is none.

    `frame.f_back` makes an object. Garbage that is collected then may let the other thread run on, and leave the very frame
    that is being read: the process crashes (python/cpython#111363).
    """
    return cast("FrameType | None", _without_collecting(partial(getattr, frame, "f_back")))


def frames_outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """`frame` and those that called it, the innermost first."""
    while frame is not None:
        yield frame
        frame = outer_frame(frame)


def _without_collecting(read: Callable[[], object]) -> object:
    """What `read`, which is no Python code, returns."""
    if not (_COLLECTS_ANYWHERE and gc.isenabled()):
        return read()
    try:
        # No other thread runs between calls that `map` makes, so none finds the garbage collector switched off.
        _, result, _ = map(methodcaller("__call__"), (gc.disable, read, gc.enable))
    except BaseException:
        gc.enable()
        raise
    return result
