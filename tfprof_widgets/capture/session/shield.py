"""run_shielded: a short action that Ctrl-C must not cut in half -> its result, with the Ctrl-C delivered after it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 120.0
"""For so long Ctrl-C is put off, however often it is pressed: files of the default size take 3 s, and an export that hangs
never ends."""


def run_shielded(action: Callable[[], T]) -> T:
    """Run `action` to its end on a thread of its own and return its result.

    Python runs handlers of signals on the main thread only, between any two bytecodes. Stopping TensorFlow's profiler
    and noting where the file went must happen both or not at all, so they happen where nothing can come between.

    Raises:
        KeyboardInterrupt: the user interrupted; `action` has finished, unless it took longer than `PATIENCE_S` after that.
        BaseException: whatever `action` raised.
    """
    if sys.is_finalizing():  # a thread that is started now never runs, and nobody can interrupt any more
        return action()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            results.append(action())
        except BaseException as error:  # handed to the caller's thread below
            errors.append(error)
        finally:
            done.set()

    with interrupts_put_off():
        try:
            threading.Thread(target=work, name="tfprof-capture", daemon=True).start()
        except (RuntimeError, MemoryError):  # no thread to be had: an unshielded stop is better than none
            work()
        done.wait()
    if errors:
        raise errors[0]
    return results[0]


@contextlib.contextmanager
def interrupts_put_off() -> Iterator[None]:
    """Have Ctrl-C wait for the end of the block, and then do what it does otherwise, once.

    Raises:
        KeyboardInterrupt: from the end of the block; from within where it takes longer than `PATIENCE_S` after the first one.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    first_s: list[float] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        first_s.append(time.monotonic())
        if first_s[-1] - first_s[0] > PATIENCE_S:
            handler(number, frame)

    signal.signal(signal.SIGINT, put_off)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if first_s:
        handler(signal.SIGINT, None)
