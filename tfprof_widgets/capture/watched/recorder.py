"""Steps that begin and end -> rows that another thread takes: what a step costs the training is a tuple in a list."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ..session.building import traced_us
from ..session.markers import OpenStep
from ..session.overhead import Phase

MAX_WAITING = 1_000_000
"""So many steps wait to be taken; later ones are lost, so that a watcher that hangs costs no more memory."""
MEMORY_NS = 25_000_000
"""So often what is in use of memory is read; where that takes more than `MEMORY_SHARE` of the time of a core, more rarely."""
MEMORY_SHARE = 0.001
MAX_LOSSES = 10_000
"""Of so many steps the loss waits for its step to be taken; one that comes too late is not known."""


class ElementSource(NamedTuple):
    """Where the batches of a step came from."""

    iterator: weakref.ref[Any]
    first: int
    """Which element of it the first one was, from 0 on."""


class StepRow(NamedTuple):
    """One step that has ended."""

    start_ns: int
    """Unix time."""
    elapsed_ns: int
    number: int
    n_batches: int
    name: str
    """Of its marker: `train`, `test`, `test_predict`, or the user's."""
    is_profiled: bool
    begins_epoch: bool
    computing_ns: int | None
    """Of it, inside the function that computes its batches."""
    waited_ns: int | None
    """Of it, inside `next()`; None where nobody measured it, or a function was traced there."""
    traced_us: tuple[int, int] | None
    """For how long functions had been traced in this process at its begin and at its end; None where that is not known."""
    source: ElementSource | None


class EpochEnd(NamedTuple):
    """The end of one epoch of Keras."""

    epoch: int
    """From 0 on in each call of `fit`."""
    at_ns: int
    """Unix time at which the last batch and the validation were over."""
    seconds: float
    """How long callbacks took from then until the next epoch, or the end."""
    values: dict[str, float]
    """What Keras tells of it: loss, metrics, those of the validation."""


class StepRecorder:
    """Is told of each step of a capture (a `StepListener`), and gives them to whoever takes them, in the order of their ends."""

    def __init__(self, read_memory: Callable[[], dict[str, float]] | None = None) -> None:
        """Begin.

        Args:
            read_memory: tells what is in use now. It is asked between two steps, on the thread that trains: in the middle of a
                step ops hold what they give back.
        """
        self._read_memory = read_memory
        self._memory: list[tuple[int, dict[str, float]]] = []
        self._memory_due_ns = 0
        self.losses: dict[int, float] = {}
        """Of the latest steps, by number, as far as Keras told them; whoever takes rows takes these."""
        self._ended: list[tuple[OpenStep, int, Phase, int | None]] = []
        self._epoch: EpochEnd | None = None
        self._epochs: list[EpochEnd] = []
        self._current: OpenStep | None = None
        self.on_let_go: Callable[[Any], None] | None = None
        """Is given an iterator before it is gone, on the thread that trains."""

    def began(self, step: OpenStep) -> None:
        """Note which step runs."""
        self._current = step
        step.traced_us = traced_us()
        if self._read_memory is not None and step.start_ns >= self._memory_due_ns:
            begin_ns = time.thread_time_ns()
            if len(self._memory) < MAX_LOSSES:
                self._memory.append((step.start_ns, self._read_memory()))
            took_ns = time.thread_time_ns() - begin_ns
            self._memory_due_ns = step.start_ns + max(MEMORY_NS, round(took_ns / MEMORY_SHARE))

    def ended(self, step: OpenStep, elapsed_ns: int, phase: Phase) -> None:
        """Keep it; its row is made by whoever takes it."""
        self._current = None
        if len(self._ended) < MAX_WAITING:
            self._ended.append((step, elapsed_ns, phase, traced_us()))

    def note_logs(self, number: int, logs: Any) -> None:
        """Note the loss that Keras tells of a step, on any thread."""
        loss = logs.get("loss") if isinstance(logs, dict) else None
        if isinstance(loss, float) and math.isfinite(loss):
            if len(self.losses) >= MAX_LOSSES:
                self.losses.clear()
            self.losses[number] = loss

    def let_go(self, iterator: Any) -> None:
        """Have an iterator asked that is about to be gone."""
        if self.on_let_go is not None:
            self.on_let_go(iterator)

    def note_epoch(self, epoch: int, logs: Any) -> None:
        """Note the end of an epoch and what Keras tells of it; with None that its callbacks have run."""
        now_ns = time.time_ns()
        if logs is not None:
            values = {str(name): value for name, value in logs.items() if isinstance(value, float)}
            self._epoch = EpochEnd(epoch, now_ns, 0.0, values)
        elif self._epoch is not None and len(self._epochs) < MAX_LOSSES:
            self._epochs.append(self._epoch._replace(seconds=(now_ns - self._epoch.at_ns) / 1e9))
            self._epoch = None

    def take_memory(self) -> list[tuple[int, dict[str, float]]]:
        """Return what was in use since the last call, with its Unix time."""
        taken, self._memory = self._memory, []
        return taken

    def take_epochs(self) -> list[EpochEnd]:
        """Return the ends of epochs since the last call."""
        ended, self._epochs = self._epochs, []
        return ended

    def take(self) -> list[StepRow]:
        """Return the steps that have ended since the last call."""
        # One list for ever: a step may be about to be put in on another thread.
        ended = self._ended[:]
        del self._ended[: len(ended)]
        return [
            StepRow(
                step.start_ns,
                elapsed_ns,
                step.number,
                step.n_batches,
                step.name,
                phase in ("during", "cut"),
                step.begins_epoch,
                step.computing_ns,
                step.waited_ns,
                None if step.traced_us is None or until_us is None else (step.traced_us, until_us),
                None if step.iterator is None else ElementSource(step.iterator, step.first_element),
            )
            for step, elapsed_ns, phase, until_us in ended
        ]

    @property
    def latest_iterator(self) -> weakref.ref[Any] | None:
        """Of the latest step that waits to be taken; None where there is none, or its iterator cannot be asked."""
        latest = self._ended[-1:]
        return latest[0][0].iterator if latest else None

    @property
    def n_waiting(self) -> int:
        """How many steps have ended since the last take."""
        return len(self._ended)

    @property
    def current(self) -> tuple[int, int, int] | None:
        """Number, thread and age in ns of the step that runs; None between two."""
        step = self._current
        return None if step is None else (step.number, step.thread_id, time.perf_counter_ns() - step.begin_ns)
