"""active: which capture of this process is running -> where step markers report to."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Capture

_lock = threading.Lock()
# Weak: a capture whose owner is gone without a stop() must not block the next one.
_active: weakref.ref[Capture] | None = None


def active_capture() -> Capture | None:
    """Return the running capture of this process, or None."""
    reference = _active
    return reference() if reference is not None else None


def claim_active(capture: Capture) -> Capture | None:
    """Make `capture` the active one and return None; where another is running, change nothing and return that one."""
    global _active
    with _lock:
        other = active_capture()
        if other is not None and other is not capture:
            return other
        _active = weakref.ref(capture)
        return None


def release_active(capture: Capture) -> None:
    """Let another capture start; does nothing when `capture` is not the active one."""
    global _active
    with _lock:
        if active_capture() is capture:
            _active = None


def _forget_in_child() -> None:
    # A forked worker has the parent's memory but not its profiler session.
    global _active, _lock
    capture = active_capture()
    _lock = threading.Lock()
    _active = None
    if capture is not None:
        capture.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
