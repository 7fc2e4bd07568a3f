"""HostProcess: a spawned process that knows nothing of the program that calls, and is not interrupted with it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any

_lock = threading.Lock()
_CAN_BLOCK = hasattr(signal, "pthread_sigmask")
"""Not on Windows."""


class HostProcess(SpawnProcess):
    """A process that imports this package and not the main module, and for which Ctrl-C is nothing."""

    def start(self) -> None:
        """As `Process.start`."""
        with _no_main(), _no_interrupt():
            super().start()


class HostContext(SpawnContext):
    """What `multiprocessing` spawns such processes with."""

    Process = HostProcess


def begin() -> None:
    """Runs first in each process: Ctrl-C is for the one that asked, and this one ends when that one is gone."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _CAN_BLOCK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _no_main() -> Iterator[None]:
    """`multiprocessing` has each new process run the main module again, to find functions in it; ours are not there.

    It reads the module's name and file, so for the moment of starting there is a module without either. In a notebook the
    main module has none anyway.
    """
    main = sys.modules["__main__"]
    if getattr(main, "__file__", None) is None and getattr(main, "__spec__", None) is None:
        yield
        return
    with _lock:
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    """What starts inside the `with` block is deaf to Ctrl-C until `begin` has it ignored: else its imports are interrupted."""
    if not _CAN_BLOCK:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
