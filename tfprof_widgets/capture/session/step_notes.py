"""Steps of a process that serves and in which no capture runs -> marked as within one, for whatever profiler records them."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from .active import active_capture
from .markers import OpenStep, StepNumbers

if TYPE_CHECKING:
    from .session import Capture

_standing: StepNotes | None = None


class StepNotes:
    """Takes steps as a `Capture` does, which has a profiler besides."""

    batch_size = 0
    """Not known: no capture asks for it."""

    listeners = ()

    def __init__(self) -> None:
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
        step = OpenStep(name, number, n_batches, is_selectable, None, 0, begins_epoch)
        self._open_steps.add(step)
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
        """Mark the end of a step; ending it twice does nothing."""
        step.n_batches = step.n_batches if n_batches is None else n_batches
        if not self._drop(step):
            return
        if step.is_selectable:
            self.numbers.next = step.number + step.n_batches

    def _drop(self, step: OpenStep) -> bool:
        if step not in self._open_steps:
            return False
        step.close()
        self._open_steps.discard(step)
        return True


def step_notes() -> StepNotes | None:
    """Who marks the steps of this process outside of captures; None: nobody."""
    return _standing


def step_taker() -> Capture | StepNotes | None:
    """To whom the steps report that begin now: the running capture, else those of a server; None: to nobody."""
    capture = active_capture()
    return _standing if capture is None or not capture.is_running else capture


def mark_steps() -> None:
    """Have the steps of this process marked outside of captures too; a second call does nothing."""
    global _standing
    _standing = _standing or StepNotes()


def mark_steps_no_more() -> None:
    """Mark steps within captures alone, also in a fork: only the process that called `serve` has the server."""
    global _standing
    _standing = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=mark_steps_no_more)
