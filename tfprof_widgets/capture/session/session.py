"""session: a running TensorFlow program -> `Capture`, which profiles it in windows, and the record it leaves."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import CaptureError
from ...trace.capture_facts import CaptureCost, Failure
from ..machine.sampler import SystemSampler
from ..source.captured_program import CapturedProgram, write_oldest
from .active import active_capture, claim_active, release_active
from .control import StepListener, WindowControl
from .environment import enable_cpu_memory_recording
from .failure import read_failure
from .last_stop import leave_to_restarted, let_die, stop_before_death
from .markers import OpenStep, StepNumbers
from .patching import Patch, abandon
from .record import CaptureOptions, CaptureRecord, Outcome, Window
from .record_of_capture import record_in_fork, record_of
from .scratch import make_scratch, remove_scratch
from .shield import run_shielded
from .standing import Standing, standing_of
from .tf_profiler import import_tensorflow
from .windows import WindowKeeper

_logger = logging.getLogger(__name__)

__all__ = ["Capture", "CaptureCost", "CaptureOptions", "CaptureRecord", "OpenStep", "Window"]


class Capture:
    """One capture of the running program: `start()`, the user's code, `stop()` -> `CaptureRecord`.

    Without `steps`, `every` and `every_seconds` one session of the profiler runs from `start()` to `stop()`. With them
    a session opens before the first selected step begins and closes after the last of its neighbours has ended.
    Step numbers count the batches of all `fit`, `evaluate` and `predict` calls and `trace_steps` loops from 0 on; the
    validation inside `fit` has markers, but numbers of its own. Either bound ends it early; the program goes on.

        capture = Capture(CaptureOptions(steps=range(10, 20)), patch=KerasPatch())
        capture.start()
        try:
            model.fit(...)
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            capture.stop(outcome="interrupted" if interrupted else "exception", error=error)
            raise
        else:
            record = capture.stop()

    Args:
        options: what to capture and how much at most; None: everything, default bounds.
        patch: makes `fit`, `evaluate` and `predict` mark their steps while it runs; None where a Keras callback does.
        end_if_over: called when another capture wants to start; ends this one where nobody told it that what it
            captures is over.
        listener: is told of each step.
        on_window: is told of each window that has closed, on the thread that closed it, and of the program in it, which is
            then read apart from those of other windows.
        numbers: of the steps of the program, which go on; None: they count from 0 on.
    """

    def __init__(
        self,
        options: CaptureOptions | None = None,
        *,
        patch: Patch | None = None,
        end_if_over: Callable[[], None] = lambda: None,
        listener: StepListener | None = None,
        on_window: Callable[[Window, CapturedProgram], None] | None = None,
        numbers: StepNumbers | None = None,
    ) -> None:
        self._listener, self._on_window = listener, on_window
        self.options = options or CaptureOptions()
        self._numbers = numbers or StepNumbers()
        self._end_if_over = end_if_over
        self._patch = patch
        rate_hz = self.options.sample_hz
        self._sampler = SystemSampler(interval_s=1 / rate_hz) if rate_hz else None
        self._control: WindowControl | None = None
        self._record: CaptureRecord | None = None
        self.program = CapturedProgram()
        """What is held of the program that it captures."""
        self._cleanups: list[weakref.finalize[..., Any]] = []
        self._files_cleanup: weakref.finalize[..., Any] | None = None
        self._stopping = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether it has started and not stopped; between its windows too."""
        return self._control is not None and self._record is None

    @property
    def next_number(self) -> int:
        """The number of the next step that is not given one by the user."""
        return self._numbers.next

    @property
    def batch_size(self) -> int:
        """Of the last call of `fit`, `evaluate` or `predict`; 0 where it is not known."""
        return self.program.batch_size

    @property
    def listeners(self) -> tuple[StepListener, ...]:
        """Who is told of its steps, besides the capture."""
        return self._running_control().listeners

    @property
    def standing(self) -> Standing:
        """How far it is; to be looked at from any thread.

        Raises:
            CaptureError: it has not started.
        """
        return standing_of(self._running_control(), self.next_number)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user has to know of it so far."""
        return () if self._control is None else tuple(self._control.keeper.notices)

    @property
    def record(self) -> CaptureRecord:
        """What `stop()` returned.

        Raises:
            CaptureError: it has not stopped.
        """
        if self._record is None:
            raise CaptureError("The capture has not stopped yet: its record exists after `stop()`.")
        return self._record

    def start(self) -> None:
        """Begin to capture; with a selection the first window opens later, before its first step.

        Raises:
            CaptureError: TensorFlow is missing, another capture runs, no place for files, or the profiler does not
                start.
            KeyboardInterrupt: the user interrupted; nothing runs then.
        """
        if self._control is not None:
            raise CaptureError("This capture has been started already; make a new one.")
        enable_cpu_memory_recording()
        import_tensorflow()
        other = claim_active(self)
        if other is not None:
            other._end_if_over()
        if other is not None and claim_active(self) is not None:
            raise CaptureError(
                "Another tfprof capture is running in this process, and TensorFlow has one profiler. End the enclosing "
                "`with profile()` or callback first; `tfprof_widgets.stop()` ends one that was left running."
            )
        try:
            run_shielded(self._start)
            stop_before_death()
        except BaseException:
            if self.is_running:
                self.stop(outcome="interrupted")
            release_active(self)
            raise

    def _start(self) -> None:
        write_oldest()
        scratch = make_scratch(self.options.bytes_bound)
        self._cleanups = [
            weakref.finalize(self, remove_scratch, scratch, os.getpid()),
            weakref.finalize(self, abandon, self._patch, self._sampler, self.program),
        ]
        on_window = None if self._on_window is None else self._pass_on
        keeper = WindowKeeper(self.options, scratch, self.program, on_window)
        control = WindowControl(self.options, keeper, () if self._listener is None else (self._listener,))
        try:
            if self._patch is not None:
                self._patch.install()
            # Before the first window: its samples tell what the machine did without the profiler.
            if self._sampler is not None:
                self._sampler.start()
            control.open_first()
        except BaseException:
            for cleanup in self._cleanups:
                cleanup()
            raise
        self._control = control

    def _pass_on(self, window: Window) -> CapturedProgram:
        """Hand over a window with its program, and return the program of what comes."""
        program, self.program = self.program, self.program.successor()
        program.end([window.run_dir], writes=self.options.logdir is not None)
        try:
            if self._on_window is not None:
                self._on_window(window, program)
        except Exception:  # in the middle of a training, which goes on; the window's files are there
            _logger.warning("a window was not taken", exc_info=True)
        return self.program

    def stop(
        self, *, outcome: Outcome = "complete", error: BaseException | None = None, failure: Failure | None = None
    ) -> CaptureRecord:
        """End the capture and return its record; a second call returns the same record.

        Args:
            outcome: how the user's code ended: "complete", "exception" or "interrupted". The record says "bounded" in
                place of "complete" when a bound ended the capture before.
            error: what the user's code raised; the record tells of an allocation that failed. It is not kept.
            failure: the same for whoever has no exception any more.

        Raises:
            CaptureError: never started; or nothing could be written and `outcome` is "complete" (`record` is there).
            KeyboardInterrupt: Ctrl-C came while files were being written; they are complete and `record` is there.
        """
        control = self._control
        if control is None:
            raise CaptureError("The capture was not started: call `start()` first.")
        # A marker must end on the thread that began it, so not under the shield.
        control.finish_thread()
        failure = failure or read_failure(error, batch_size=self.program.batch_size)
        selection = self.options.selection()
        if failure is not None and selection is not None:
            failure = replace(failure, selection=selection.description)
        try:
            run_shielded(self._stopper(control, outcome, failure))
        except KeyboardInterrupt:
            # One that comes while another exception goes up to the user has nothing left to stop.
            if outcome == "complete" or self._record is None:
                raise
        finally:
            if active_capture() is None:
                let_die()
        own = control.keeper.failure
        if outcome == "complete" and own is not None and not self.record.windows and self._on_window is None:
            raise own
        return self.record

    def _stopper(self, control: WindowControl, outcome: Outcome, failure: Failure | None) -> Callable[[], None]:
        def stop() -> None:
            with self._stopping:  # a signal may ask for what is under way
                if self._record is not None:
                    return
                if self._patch is not None:
                    self._patch.remove()
                try:
                    control.end()
                finally:  # whatever fails: the next capture must work
                    self._record = self._make_record(control, outcome, failure)
                    release_active(self)

        return stop

    def keep(self) -> None:
        """End the capture as the process is about to end, and leave its files to whoever asks `tfprof.recover()` for them."""
        self.stop(outcome="interrupted")
        if self._files_cleanup is not None:
            self._files_cleanup.detach()
        self.program.write()

    def disown(self) -> None:
        """Have nothing more to do with it, in a fork of the process whose capture it is."""
        control = self._control
        if control is None or self._record is not None:
            return
        for cleanup in self._cleanups:
            cleanup.detach()
        self._stopping = threading.Lock()
        control.disown()
        self._record = record_in_fork(control)

    def _make_record(self, control: WindowControl, outcome: Outcome, failure: Failure | None) -> CaptureRecord:
        keeper = control.keeper
        of_program = () if self._on_window is not None else keeper.windows
        self.program.end([window.run_dir for window in of_program], writes=self.options.logdir is not None)
        record = record_of(self.options, control, self._sampler, self.program, outcome=outcome, failure=failure)
        # From here on the files belong to the record: a profile may outlive the capture.
        for cleanup in self._cleanups:
            cleanup.detach()
        self._files_cleanup = weakref.finalize(record, remove_scratch, keeper.scratch, os.getpid())
        leave_to_restarted(self._files_cleanup)
        return record

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
        """Mark the begin of a step on this thread, opening a window before it where it is selected.

        Args:
            name: "train", or another name that starts with `train` or `test` (XProf knows these as steps).
            number: its number.
            n_batches: how many numbers it covers.
            is_selectable: False for steps that open and close no window, such as validation, and those inside of others.
            is_certain: False when it turns out later whether there is a step: call `confirm` of it then.
            begins_epoch: whether it is known to be the first of an epoch.
        """
        control = self._control or self._running_control()
        keeper, is_selectable = control.keeper, is_selectable and not (control.open_steps and control.steps_here())
        if is_selectable:
            control.before_step(number, n_batches)
        step = OpenStep(name, number, n_batches, is_selectable, keeper.open_id, keeper.n_opened, begins_epoch)
        control.add(step)
        if is_certain:
            step.confirm()
        return step

    def note_unrecorded(self, name: str) -> None:
        """Note that a Keras model ran of which the profiler records nothing, such as `Keras on JAX`."""
        self.program.unrecorded = name
        self._running_control().note_unrecorded(name)

    def cancel_step(self, step: OpenStep) -> None:
        """Forget a step that was not certain and did not happen."""
        self._running_control().drop(step)

    def leave_step(self, step: OpenStep) -> None:
        """Forget a step that was left before its end, closing the window where those behind it are not selected."""
        if (control := self._running_control()).leave(step):
            control.after_step(step, step.number + step.n_batches)

    def end_step(self, step: OpenStep, *, n_batches: int | None = None) -> None:
        """Mark the end of a step, closing the window after it where the next is not selected or a bound was met.

        Args:
            step: from `begin_step`, on the same thread; ending it twice does nothing.
            n_batches: how many numbers it covered; None: as many as it was to.
        """
        control = self._control or self._running_control()
        step.n_batches = step.n_batches if n_batches is None else n_batches
        if control.finish(step):
            if self._on_window is None or step.window_id is not None:
                self.program.hold()  # windows that are read apart need what ran in them
            if step.is_selectable:
                self._numbers.next = step.number + step.n_batches
            if step.window_id is not None:
                control.after_step(step, self._numbers.next)

    def _running_control(self) -> WindowControl:
        if self._control is None:
            raise CaptureError("The capture was not started: call `start()` first.")
        return self._control
