"""markers: a step of the user's loop -> an event that TensorFlow's profiler and XProf recognise as a step."""

from __future__ import annotations

import functools
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import Any

from .tf_profiler import import_tensorflow


@functools.cache
def _marker_class() -> Any:
    """TensorFlow's `Trace`; found once, as its modules look up each of their names by code."""
    return import_tensorflow().profiler.experimental.Trace


@dataclass
class StepNumbers:
    """Counts the steps of a program."""

    next: int = 0
    """The number of the next step that is not given one by the user."""


@dataclass(eq=False, slots=True)
class OpenStep:
    """A step between its begin and its end, which must be on the same thread."""

    name: str
    number: int
    n_batches: int = 1
    is_selectable: bool = True
    window_id: int | None = None
    """The window that was open at its begin."""
    n_opened: int = 0
    """How many windows had been opened at its begin."""
    begins_epoch: bool = False
    """Whether it is known to be the first of an epoch, which waits for data longer than others."""
    computing_ns: int | None = field(default=None, init=False)
    """Of it, inside the function that computes its batches; None where nobody tells."""
    waited_ns: int | None = field(default=None, init=False)
    """Of it, inside `next()`; None where nobody measured it."""
    iterator: weakref.ref[Any] | None = field(default=None, init=False)
    """What gave it its batches, where that can be asked how long it was waited for."""
    first_element: int = field(default=0, init=False)
    """Which element of the iterator its first batch was, from 0 on."""
    thread_id: int = field(default_factory=threading.get_ident, init=False)
    start_ns: int = field(default_factory=time.time_ns, init=False)
    """Unix time of its begin."""
    _begin_ns: int = field(default_factory=time.perf_counter_ns, init=False)
    _marker: Any = field(init=False)
    """TensorFlow's `Trace`, running; None where no session runs, and so nothing is recorded."""

    def __post_init__(self) -> None:
        marker = _marker_class()(self.name)
        self._marker = marker if getattr(marker, "_traceme", marker) is not None else None

    @property
    def elapsed_ns(self) -> int:
        """How long ago it began; the clock of the computer may be set meanwhile."""
        return time.perf_counter_ns() - self._begin_ns

    def confirm(self) -> None:
        """Make its marker that of a step: without it the event is not one.

        Source: semantics 2.2, `_r=1` makes an event the root of a group.
        """
        if self._marker is not None:
            first = {"epoch_start": 1} if self.begins_epoch else {}
            self._marker.set_metadata(step_num=self.number, _r=1, **first)

    def close(self) -> None:
        """End its marker, which becomes an event of this thread's line."""
        if self._marker is not None:
            self._marker.__exit__(None, None, None)
