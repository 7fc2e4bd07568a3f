"""A process that is about to end -> its running capture ends first, and what it recorded is on disk.

`SIGTERM` and `SIGHUP`, of schedulers, containers, closed terminals and restarted kernels, end a process with what the
profiler holds in memory; so does the exit of the interpreter while a thread of it still captures. While a capture runs there is a
handler in front of what was there before, which then does what it does otherwise: by default the process dies of that signal.
Nothing can be done before `SIGKILL`, `os._exit` and a crash: of these, windows that were closed before are kept.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from types import FrameType
from typing import Any

from .active import active_capture
from .shield import interrupts_put_off

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
PATIENCE_S = 25.0
"""So long the process lives on for its files: schedulers kill half a minute after they asked."""

_before: dict[int, Any] = {}
"""What a signal did before."""
_is_stopping = False


def stop_before_death() -> None:
    """Have the running capture stopped before this process ends in a way that can be noticed."""
    atexit.unregister(_stop_now)
    atexit.register(_stop_now)  # the last one comes first, before anybody removes the files
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        handler = signal.getsignal(number)
        # None: of a library in C, which nobody can call. Who ignores a signal lives on.
        if handler not in (None, signal.SIG_IGN, _on_signal):
            _before[number] = handler
            signal.signal(number, _on_signal)


def let_die() -> None:
    """Leave the process as it was; on another thread than the main one the handlers stay, and do what was done before."""
    atexit.unregister(_stop_now)
    if threading.current_thread() is threading.main_thread():
        for number, handler in _before.items():
            if signal.getsignal(number) is _on_signal:  # else the program has put another one in its place
                signal.signal(number, handler)


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _is_stopping:  # asked twice: the first one is under way
        return
    _stop_now()
    handler = _before.get(number, signal.SIG_DFL)
    if callable(handler):
        handler(number, frame)
    elif handler is signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _stop_now() -> None:
    """End the running capture, if there is one, and wait for its files as long as that is reasonable."""
    global _is_stopping
    capture = active_capture()
    if capture is None:
        return
    _is_stopping = True
    # The interrupted thread may hold a lock that this needs: then what is not written is lost, and the process still ends.
    worker = threading.Thread(target=capture.keep, name="tfprof-last-stop", daemon=True)
    with contextlib.suppress(KeyboardInterrupt), interrupts_put_off():
        try:
            worker.start()
            worker.join(PATIENCE_S)
        except RuntimeError:  # the interpreter gives no more threads
            capture.keep()
    _is_stopping = False


def _forget_in_child() -> None:
    # What a fork inherits is to die as it would without us: worker processes are ended by `SIGTERM`.
    with contextlib.suppress(ValueError):
        let_die()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
