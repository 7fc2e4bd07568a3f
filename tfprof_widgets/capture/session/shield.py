"""run_shielded: a short action that Ctrl-C must not cut in half -> its result, with the Ctrl-C delivered after it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MAX_IGNORED_INTERRUPTS = 3
"""How often Ctrl-C is put off; after that the action is left to finish alone, as an export that hangs never would."""


def run_shielded(action: Callable[[], T]) -> T:
    """Run `action` to its end on a thread of its own and return its result.

    Python raises KeyboardInterrupt on the main thread only, between any two bytecodes. Stopping TensorFlow's profiler
    and noting where the file went must happen both or not at all, so they happen where no interrupt can arrive.

    Raises:
        KeyboardInterrupt: the user interrupted; `action` has finished, unless this was the fourth interrupt.
        BaseException: whatever `action` raised.
    """
    if sys.is_finalizing():  # a thread that is started now never runs, and nobody can interrupt any more
        return action()
    results: list[T] = []
    errors: list[BaseException] = []
    claim = threading.Lock()
    done = threading.Event()

    def work() -> None:
        if not claim.acquire(blocking=False):
            return
        try:
            results.append(action())
        except BaseException as error:  # handed to the caller's thread below
            errors.append(error)
        finally:
            done.set()

    n_interrupts = 0
    while not done.is_set():
        try:
            # An interrupt inside start() leaves it open whether the thread runs: start another, the claim keeps it one.
            if not claim.locked():
                _start(work)
            done.wait()
        except KeyboardInterrupt:
            n_interrupts += 1
            if n_interrupts > MAX_IGNORED_INTERRUPTS:
                raise
    if n_interrupts:
        raise KeyboardInterrupt
    if errors:
        raise errors[0]
    return results[0]


def _start(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work, name="tfprof-capture", daemon=True)
    try:
        thread.start()
    except (RuntimeError, MemoryError):  # no thread to be had: an unshielded stop is better than none
        work()
