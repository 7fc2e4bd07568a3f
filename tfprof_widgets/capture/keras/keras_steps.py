"""What Keras tells of its batches -> step markers of a capture."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...trace.capture_facts import Failure
from ..machine.keras_backend import unrecorded_by
from ..session.failure import read_failure

if TYPE_CHECKING:
    from ..session.session import Capture, OpenStep
    from ..session.step_notes import StepNotes

KINDS = {"train": "train", "test": "test", "predict": "test_predict"}
"""Keras' name of a phase -> name of its markers: XProf takes names that begin with train or test for steps."""


class StepMarks:
    """Turns the hooks of one `fit`, `evaluate` or `predict` call, validation included, into steps.

    A step runs from the begin of its batch to the begin of the next, so that the time in other callbacks is inside a
    step; the last of an epoch ends when its batch has been computed. Only begin hooks are used for marking: Keras runs
    the end hooks on another thread when it can, and asking it not to would make every step wait for its device.
    """

    def __init__(self, taker: Capture | StepNotes) -> None:
        self.failure: Failure | None = None
        """The allocation that failed in the last computation that raised, for callbacks: Keras does not tell them."""
        self._taker = taker
        self._listeners = taker.listeners
        self._step: OpenStep | None = None
        self._is_computed = False
        self._is_announced_end = False
        self._phases: list[_Phase] = []
        self._n_validated = 0
        self._ended_epoch: int | None = None

    def begin_phase(self, kind: str, model: Any, n_batches: int | None) -> None:
        """A loop over batches begins; within another one it is validation. On another backend than TensorFlow it has no steps:
        what a batch computes may begin when the call is over.

        Args:
            kind: "train", "test" or "predict".
            model: whose loop it is.
            n_batches: how many batches an epoch has, as far as Keras knows.
        """
        if unrecorded := unrecorded_by(model):
            self._taker.note_unrecorded(unrecorded)
            return
        self.end_step()
        self._let_go()
        is_inner = bool(self._phases)
        # Within fit Keras tells the number of batches of the training, not of the validation.
        phase = _Phase(kind, is_inner=is_inner, n_batches=None if is_inner else n_batches)
        phase.watch(model, self._computed, self._failed)
        self._phases.append(phase)

    def end_phase(self) -> None:
        """The loop over batches is over."""
        self.end_step()
        self._go_on()
        if not self._phases:
            return
        self._let_go()
        phase = self._phases.pop()
        phase.unwatch()
        if phase.is_inner:
            self._n_validated += phase.last_batch + 1

    def begin_batch(self, batch: int) -> None:
        """A batch begins: its step begins, the one before ends."""
        if not self._phases:
            return
        phase = self._phases[-1]
        if self._ended_epoch is not None:
            self._go_on()
        if self._step is not None:
            if batch > phase.first_batch:
                phase.last_batch = batch - 1
            self.end_step()
        if batch == 0:
            phase.base = self._n_validated if phase.is_inner else self._taker.next_number
        phase.begin(batch)
        self._step = self._taker.begin_step(
            phase.marker,
            phase.base + batch,
            n_batches=phase.last_batch + 1 - batch,
            is_selectable=not phase.is_inner,
            is_certain=False,
            begins_epoch=batch == 0,
        )
        if batch == 0 and phase.kind != "train" and self._step.marker is not None:
            self._step.marker.set_metadata(begun_ns=max(time.perf_counter_ns() - phase.begun_ns, 1))
        # A generator of unknown length ends when Keras has announced one batch too many.
        self._is_computed = self._is_announced_end = False
        if not phase.is_watched:
            self._confirm()

    def note_batch_end(self, kind: str, batch: int, logs: Any = None) -> None:
        """The computation ended with this batch, says Keras on any thread, and what it gave: one call may take several."""
        phase = self._phases[-1] if self._phases else None
        # It may come late: when the next batch has begun, or the validation.
        if phase is not None and phase.kind == kind and batch >= phase.first_batch:
            phase.last_batch = batch
            self._is_announced_end = True
            if not phase.is_inner:
                for listener in self._listeners:
                    listener.note_logs(phase.base + batch, logs)

    def end_step(self) -> None:
        """End the step in progress, if there is one."""
        step, self._step = self._step, None
        if step is None or not self._phases:
            return
        phase = self._phases[-1]
        if self._is_computed or self._is_announced_end:
            if not self._is_computed:
                # Keras 2 calls the function that it had before the watch.
                step.confirm()
            self._taker.end_step(step, n_batches=phase.last_batch + 1 - phase.first_batch)
        else:
            phase.last_batch = phase.first_batch - 1
            self._taker.cancel_step(step)

    def end_epoch(self, epoch: int, logs: Any) -> None:
        """An epoch of training has ended; what comes until its next batch is the work of other callbacks."""
        self._ended_epoch = epoch
        self._let_go()
        for listener in self._listeners:
            listener.note_epoch(epoch, logs or {})

    def _let_go(self) -> None:
        """Keep the iterator of the innermost loop no longer; it may be asked about its last batches until then."""
        iterator = self._phases[-1].take_iterator() if self._phases else None
        if iterator is not None:
            for listener in self._listeners:
                listener.let_go(iterator)

    def _go_on(self) -> None:
        epoch, self._ended_epoch = self._ended_epoch, None
        if epoch is not None:
            for listener in self._listeners:
                listener.note_epoch(epoch, None)

    def close(self, *, is_failed: bool = False) -> None:
        """End what is in progress and leave the model as it was; after the call, however it ended.

        Args:
            is_failed: whether the call raised: the batch that failed is no step.
        """
        if is_failed and self._step is not None and not self._is_computed:
            step, self._step = self._step, None
            step.confirm()
            self._taker.leave_step(step)
        while self._phases:
            self.end_phase()

    def _confirm(self) -> None:
        if self._step is not None and not self._is_computed:
            self._is_computed = True
            self._step.confirm()

    def _failed(self, error: BaseException) -> None:
        self.failure = read_failure(error, batch_size=self._taker.batch_size)

    def _computed(self, elapsed_ns: int, iterator: Any) -> None:
        step = self._step
        if step is None or not self._phases:
            return
        if not self._is_computed:
            self._is_computed = True
            if step.marker is not None:
                step.confirm()
        phase = self._phases[-1]
        step.computing_ns = (step.computing_ns or 0) + elapsed_ns
        if self._listeners:  # nobody else asks an iterator, nor is it to live longer for anybody else
            if phase.iterator is None or phase.iterator() is not iterator:
                self._let_go()
                phase.begin_iterator(iterator)
            step.iterator, step.first_element = phase.iterator, phase.n_elements
            phase.n_elements += step.n_batches
        # Where nobody knows, as in validation, each may be the last.
        is_last = phase.is_inner if phase.n_batches is None else phase.last_batch + 1 >= phase.n_batches
        if is_last:
            self.end_step()


class _Phase:
    """One loop over batches: where it is, and a watch on the model's function that computes a batch.

    Between the last computation of an epoch and the next hook Keras sets up the validation or reads all metrics, which
    is no part of a step. Where the last is not known, every step ends with its computation (validation), or the last
    one lasts until the next hook (training on a generator).
    """

    def __init__(self, kind: str, *, is_inner: bool, n_batches: int | None) -> None:
        self.kind = kind
        self.begun_ns = time.perf_counter_ns()
        self.marker = KINDS[kind]
        """The name of its markers."""
        self.is_inner = is_inner
        self.base = 0
        self.first_batch = 0
        self.last_batch = -1
        self.is_watched = False
        """Whether `computed` is called after each computation."""
        self.n_batches = n_batches
        """Of an epoch; None where Keras does not know."""
        self._model: Any = None
        self.iterator: weakref.ref[Any] | None = None
        """What gave the latest batches, where that can be asked how long it was waited for."""
        self.n_elements = 0
        """How many it has given."""
        self._kept: Any = None
        """It, as Keras lets go of it before the last batches of an epoch were asked about."""

    def begin(self, batch: int) -> None:
        """Note that a call begins, with as many batches as the model takes at once."""
        self.first_batch = self.last_batch = batch
        per_call = getattr(self._model, "steps_per_execution", None) or 1
        if per_call != 1:
            left = per_call if self.n_batches is None else self.n_batches - batch
            self.last_batch += max(min(int(per_call), left), 1) - 1

    def watch(self, model: Any, computed: Callable[[int, Any], None], failed: Callable[[BaseException], None]) -> None:
        """Have `computed` called after each computation of a batch, with its time in ns and its argument (an iterator), and
        `failed` after one that raised.
        """
        self._model = model
        function = getattr(model, self._function_name, None)
        if callable(function) and not isinstance(function, _WatchedFunction):
            self.is_watched = True
            setattr(model, self._function_name, _WatchedFunction(function, computed, failed))

    def begin_iterator(self, iterator: Any) -> None:
        """Note that the model took its batches from another iterator, which can be asked or not."""
        is_known = hasattr(iterator, "_iterator_resource")
        self._kept, self.iterator = (iterator, weakref.ref(iterator)) if is_known else (None, None)
        self.n_elements = 0

    def take_iterator(self) -> Any:
        """Return the iterator that is kept, and keep it no longer; None: none is."""
        kept, self._kept = self._kept, None
        return kept

    def unwatch(self) -> None:
        """Give the model its function back."""
        function = getattr(self._model, self._function_name, None)
        if self.is_watched and isinstance(function, _WatchedFunction):
            self.is_watched = False
            setattr(self._model, self._function_name, function.original)

    @property
    def _function_name(self) -> str:
        return f"{self.kind}_function"


class _WatchedFunction:
    """Keras' train function, and a call after each of its calls; has its attributes, for those who look at them."""

    def __init__(self, original: Any, after: Any, failed: Any) -> None:
        self.original = original
        self._after = after
        self._failed = failed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        begin_ns = time.perf_counter_ns()
        try:
            result = self.original(*args, **kwargs)
        except Exception as error:
            self._failed(error)
            raise
        self._after(time.perf_counter_ns() - begin_ns, args[0] if args else None)
        return result

    def __getattr__(self, name: str) -> Any:
        if name == "original":  # a copy in the making: without this it would ask itself for ever
            raise AttributeError(name)
        return getattr(self.original, name)
