"""Steps of a process in which no capture runs -> marked as within one, and told to a listener for as long as it wants."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from .active import active_capture
from .control import StepListener
from .markers import OpenStep, StepNumbers

if TYPE_CHECKING:
    from .session import Capture

_standing: StepNotes | None = None


class StepNotes:
    """Takes steps as a `Capture` does, which has a profiler besides; steps that a capture takes are told to it too.

    Its markers are in whatever session of the profiler runs.
    """

    batch_size = 0
    """Not known: no capture asks for it."""

    def __init__(self, listener: StepListener) -> None:
        self.listener = listener
        self.listeners = (listener,)
        self.numbers = StepNumbers()
        self._open_steps: set[OpenStep] = set()

    @property
    def next_number(self) -> int:
        """The number of the next step that is not given one by the user."""
        return self.numbers.next

    def begin_step(
        self,
        name: str,
        number: int,
        *,
        n_batches: int = 1,
        is_selectable: bool = True,
        is_certain: bool = True,
        begins_epoch: bool = False,
    ) -> OpenStep:
        """Mark the begin of a step on this thread; the arguments are those of a capture."""
        here = threading.get_ident()
        is_selectable = is_selectable and all(step.thread_id != here for step in tuple(self._open_steps))
        step = OpenStep(name, number, n_batches, is_selectable, _window_id(), 0, begins_epoch)
        self._open_steps.add(step)
        self.listener.began(step)
        if is_certain:
            step.confirm()
        return step

    def note_unrecorded(self, name: str) -> None:
        """Steps of such a model are not told: nothing else is to be said here."""

    def cancel_step(self, step: OpenStep) -> None:
        """Forget a step that was not certain and did not happen."""
        self._drop(step)

    def leave_step(self, step: OpenStep) -> None:
        """Forget a step that was left before its end."""
        if step in self._open_steps:
            step.leave()
            self._drop(step)

    def end_step(self, step: OpenStep, *, n_batches: int | None = None) -> None:
        """Mark the end of a step, and tell of it; ending it twice does nothing."""
        elapsed_ns = time.perf_counter_ns() - step.begin_ns
        step.n_batches = step.n_batches if n_batches is None else n_batches
        if not self._drop(step):
            return
        if step.is_selectable:
            self.numbers.next = step.number + step.n_batches
        is_profiled = step.window_id is not None or _window_id() is not None
        self.listener.ended(step, elapsed_ns, "during" if is_profiled else "before")

    def _drop(self, step: OpenStep) -> bool:
        if step not in self._open_steps:
            return False
        step.close()
        self._open_steps.discard(step)
        return True


def _window_id() -> int | None:
    capture = active_capture()
    return None if capture is None else capture.window_id


def step_notes() -> StepNotes | None:
    """Who is told of this process's steps, captured or not; None: nobody."""
    return _standing


def step_taker() -> Capture | StepNotes | None:
    """To whom the steps report that begin now: the running capture, else whoever is told of all; None: to nobody."""
    capture = active_capture()
    return _standing if capture is None or not capture.is_running else capture


def keep_step_notes(listener: StepListener) -> None:
    """Have a listener told of all steps of this process, in place of the one before."""
    global _standing
    _standing = StepNotes(listener)


def drop_step_notes(listener: StepListener) -> None:
    """Tell a listener of no more steps; does nothing where another one has its place."""
    global _standing
    if _standing is not None and _standing.listener is listener:
        _standing = None


def _forget_in_child() -> None:
    global _standing
    _standing = None  # the thread that takes the steps is not in a fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
