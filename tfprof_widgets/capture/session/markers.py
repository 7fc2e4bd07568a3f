"""markers: a step of the user's loop -> an event that TensorFlow's profiler and XProf recognise as a step."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from .tf_profiler import import_tensorflow


@dataclass(eq=False)
class OpenStep:
    """A step between its begin and its end."""

    name: str
    number: int
    n_batches: int
    is_selectable: bool
    window_id: int | None
    """The window that was open at its begin."""
    n_opened: int = 0
    """How many windows had been opened at its begin."""
    marker: Any = field(init=False)
    """TensorFlow's `Trace`, running; nothing is recorded where no session runs."""
    thread_id: int = field(init=False)
    start_ns: int = field(init=False)
    """Unix time of its begin."""
    _begin_ns: int = field(init=False)

    def __post_init__(self) -> None:
        self.thread_id = threading.get_ident()
        self.start_ns = time.time_ns()
        self._begin_ns = time.perf_counter_ns()
        self.marker = open_marker(self.name)

    @property
    def elapsed_ns(self) -> int:
        """How long ago it began; the clock of the computer may be set meanwhile."""
        return time.perf_counter_ns() - self._begin_ns


def open_marker(name: str) -> Any:
    """Begin a marker on this thread; it is no step before `confirm_marker`."""
    return import_tensorflow().profiler.experimental.Trace(name)


def confirm_marker(marker: Any, number: int) -> None:
    """Make a running marker that of step `number`. Source: semantics 2.2, `_r=1` makes an event the root of a group."""
    marker.set_metadata(step_num=number, _r=1)


def close_marker(marker: Any) -> None:
    """End a marker, on the thread that began it: it becomes an event of that thread's line."""
    marker.__exit__(None, None, None)
