"""`SIGTERM`, `SIGHUP` or the interpreter's exit -> the active capture is stopped first; Ctrl-C waits for what must not be cut.
Nothing notices `SIGKILL` or a crash.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import math
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol, TypeVar

from .program.frames import running_shell

T = TypeVar("T")

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
PATIENCE_S = 25.0
"""How long a process lives on for its files: schedulers kill half a minute after they asked."""
LONG_CALL_S = 0.5
"""How long to wait for TensorFlow to return to the main thread, where Python runs a handler."""

_before: dict[int, Any] = {}
"""What a signal did before."""
_stopping = threading.RLock()
_begun_s = -math.inf
"""When Python's handler last began."""
_listener: _Listener | None = None


class Running(Protocol):
    """A capture that can be ended here and now."""

    def keep(self) -> None:
        """End it, and leave its files."""
        ...


_active: Callable[[], Running | None] = lambda: None  # noqa: E731


@dataclass(frozen=True)
class _Listener:
    """A pipe into which Python's own handler in C writes the number of each signal, at once."""

    read: int
    write: int
    thread: threading.Thread


def stop_before_death(active: Callable[[], Running | None]) -> None:
    """Have the active capture stopped before this process ends in a way that can be noticed."""
    global _active
    _active = active
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
    _listen()


def let_die() -> None:
    """Leave the process as it was; on another thread than the main one the handlers stay, and do what was done before."""
    global _listener
    atexit.unregister(_stop_now)
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in _before.items():
        if signal.getsignal(number) is _on_signal:  # else the program has put another one in its place
            signal.signal(number, handler)
    if _listener is not None:
        listened = signal.set_wakeup_fd(-1)
        if listened not in (-1, _listener.write):  # an event loop has begun meanwhile
            signal.set_wakeup_fd(listened)
        os.close(_listener.write)  # upon which its thread ends
        _listener.thread.join(LONG_CALL_S)
        _listener = None


def leave_to_restarted(files: weakref.finalize[..., Any]) -> None:
    """Have the files of a capture that ended stay where the kernel is restarted: who does that has not asked for them to go."""
    kernel = getattr(running_shell(), "kernel", None)
    if kernel is None:
        return

    def leave() -> None:
        reply = getattr(kernel, "_shutdown_message", None)
        if reply is not None and reply["content"].get("restart"):
            files.detach()

    atexit.register(leave)  # the last one comes first, before the variables of the cells are cleared


def _on_signal(number: int, frame: FrameType | None) -> None:
    global _begun_s
    _begun_s = time.monotonic()
    _stop_now()
    handler = _before.get(number, signal.SIG_DFL)
    if callable(handler):
        handler(number, frame)
    elif handler is signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _stop_now() -> None:
    with contextlib.suppress(KeyboardInterrupt), interrupts_put_off(), _stopping:
        capture = _active()
        if capture is None:
            return
        # The interrupted thread may hold a lock that this needs: then what is not written is lost, and the process still ends.
        worker = threading.Thread(target=capture.keep, name="tfprof-last-stop", daemon=True)
        try:
            worker.start()
            worker.join(PATIENCE_S)
        except RuntimeError:  # the interpreter gives no more threads
            capture.keep()


# ---- while the main thread is in TensorFlow -------------------------------------------------------------------------


def _listen() -> None:
    global _listener
    if _listener is not None or not _before or os.name != "posix":
        return
    listened = signal.set_wakeup_fd(-1)
    if listened != -1:  # an event loop has its own; handlers run when Python can
        signal.set_wakeup_fd(listened)
        return
    with contextlib.suppress(OSError):
        read, write = os.pipe()
        thread = threading.Thread(target=_heed, args=(read,), name="tfprof-signals", daemon=True)
        _listener = _Listener(read, write, thread)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        thread.start()


def _heed(pipe: int) -> None:
    """Do the handler's work where it does not come to run."""
    while told := os.read(pipe, 1):
        number = told[0]
        if number not in _before:
            continue
        told_s = time.monotonic()
        time.sleep(LONG_CALL_S)
        if _begun_s < told_s - LONG_CALL_S:
            _stop_now()
            if _before[number] is signal.SIG_DFL:
                ctypes.CDLL(None).signal(number, 0)  # Python sets a handler on its main thread only
                os.kill(os.getpid(), number)
    os.close(pipe)


def _forget_stop_in_child() -> None:
    # What a fork inherits is to die as it would without us: worker processes are ended by `SIGTERM`.
    with contextlib.suppress(ValueError, OSError):
        if _listener is not None:
            os.close(_listener.read)
        let_die()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_stop_in_child)


# ---- Ctrl-C -----------------------------------------------------------------------------------------------------------

PUT_OFF_S = 120.0
"""How long Ctrl-C is put off: files of the default size take 3 s, and an export that hangs never ends."""


def run_shielded(action: Callable[[], T]) -> T:
    """Run `action` to its end on a thread of its own, where no handler of a signal interrupts it."""
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
    """Have Ctrl-C wait for the end of the block, and then do what it does otherwise, once."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    first_s: list[float] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        first_s.append(time.monotonic())
        if first_s[-1] - first_s[0] > PUT_OFF_S:
            handler(number, frame)

    signal.signal(signal.SIGINT, put_off)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if first_s:
        handler(signal.SIGINT, None)
