"""`Capture`: profiles a running program in windows and leaves a record, also where the process ends before."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from ..errors import CaptureError
from ..read.steps_file import WatchWriter
from ..trace.capture_facts import CaptureCost, Event, Failure
from .control import Standing, StepTaker, WindowControl
from .folders import make_scratch, remove_scratch
from .machine import SystemSampler, no_samples
from .program.captured import CapturedProgram, write_oldest
from .record import (
    CaptureOptions,
    CaptureRecord,
    Outcome,
    Window,
    enable_cpu_memory_recording,
    import_tensorflow,
    read_failure,
    record_of,
)
from .signals import interrupts_put_off, leave_to_restarted, let_die, run_shielded, stop_before_death
from .step_rows import StepRecorder
from .steps import OpenStep, Patch, StepNumbers, abandon, weakly

_lock = threading.Lock()
# Weak: a capture whose owner is gone without a stop() must not block the next one.
_active: weakref.ref[Capture] | None = None


def active_capture() -> Capture | None:
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


_logger = logging.getLogger(__name__)

__all__ = ["Capture", "CaptureCost", "CaptureOptions", "CaptureRecord", "OpenStep", "Window"]


class Watcher(Protocol):
    """Looks at a capture while it runs: takes its steps from the recorder, and reads each window by itself."""

    recorder: StepRecorder

    def take_window(self, window: Window, program: CapturedProgram) -> None:
        """Take a window that has closed, on the thread that closed it, with the program in it alone."""

    def take_event(self, event: Event) -> None:
        """Take what is in the file of events."""

    def end(self) -> None:
        """Take what is left, as the files are closed."""


class Capture:
    """One capture of the running program: `start()`, the user's code, `stop()` -> `CaptureRecord`.

    Its steps are written as they happen: to a private folder, or to the `logdir` of one that is watched.

    Args:
        patch: makes `fit`, `evaluate` and `predict` mark their steps meanwhile; None where a Keras callback does.
        end_if_over: called when another capture wants to start; ends this one if what it captures is over.
        watcher: looks at it while it runs.
        numbers: of the program's steps, which go on; None: they count from 0 over all batches, validation apart.
        title: of what runs.
    """

    writer: WatchWriter
    """Of the files of steps; from `start()` on."""

    def __init__(
        self,
        options: CaptureOptions | None = None,
        *,
        patch: Patch | None = None,
        end_if_over: Callable[[], None] = lambda: None,
        watcher: Watcher | None = None,
        numbers: StepNumbers | None = None,
        title: str = "",
    ) -> None:
        self._watcher, self._title = watcher, title
        self.recorder = StepRecorder() if watcher is None else watcher.recorder
        self.options = options or CaptureOptions()
        self.control = WindowControl(self.options, self.recorder, weakly(self._take_window), numbers)
        self._end_if_over = end_if_over
        self._patch = patch
        rate_hz = self.options.sample_hz
        self._sampler = SystemSampler(interval_s=1 / rate_hz, also=self.recorder.sort_in) if rate_hz else None
        self._has_started = False
        self._record: CaptureRecord | None = None
        self._cleanups: list[weakref.finalize[..., Any]] = []
        self._files_cleanup: weakref.finalize[..., Any] | None = None
        self._stopping = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether it has started and not stopped; between its windows too."""
        return self._has_started and self._record is None

    @property
    def program(self) -> CapturedProgram:
        """What ran in the window that is open or comes next."""
        return self.control.program

    @property
    def standing(self) -> Standing:
        """How far it is; to be looked at from any thread."""
        self._check_started()
        return self.control.standing

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user has to know of it so far."""
        return tuple(self.control.notices)

    @property
    def record(self) -> CaptureRecord:
        if self._record is None:
            raise CaptureError("The capture has not stopped yet: its record exists after `stop()`.")
        return self._record

    def start(self) -> None:
        """Begin to capture; with a selection the first window opens later, before its first step."""
        if self._has_started:
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
            stop_before_death(active_capture)
        except BaseException:
            if self.is_running:
                self.stop(outcome="interrupted")
            release_active(self)
            raise

    def _start(self) -> None:
        write_oldest()
        scratch = make_scratch(self.options.bytes_bound)
        logdir = self.options.logdir if self._watcher is not None else None
        self.writer = WatchWriter(scratch if logdir is None else Path(logdir), self.options.command)
        self._cleanups = [
            weakref.finalize(self, remove_scratch, scratch, os.getpid()),
            weakref.finalize(self, abandon, self._patch, self._sampler, self.program),
            weakref.finalize(self, self.writer.close),
        ]
        self.recorder.writer = self.writer
        self.note("begin", title=self._title, process_id=os.getpid())
        try:
            if self._patch is not None:
                self._patch.install()
            # Before the first window: its samples tell what the machine did without the profiler.
            if self._sampler is not None:
                self._sampler.start()
            self.control.begin(scratch)
        except BaseException:
            for cleanup in self._cleanups:
                cleanup()
            raise
        self._has_started = True

    def note(self, kind: str, *, step: int | None = None, **fields: Any) -> None:
        """Write that something happened."""
        event = {"at_ns": time.time_ns(), **fields, "kind": kind, "step": step}
        self.writer.add_event(event)
        if self._watcher is not None:
            self._tell(self._watcher.take_event, event)

    @staticmethod
    def _tell(take: Callable[..., None], *what: Any) -> None:
        """Have the watcher take something; in the middle of a training, which goes on whatever fails."""
        try:
            take(*what)
        except Exception:
            _logger.warning("a part of watching failed: %s", take.__name__, exc_info=True)

    def _take_window(self, window: Window) -> None:
        """Note a window that has closed, and hand it to who watches with its program."""
        control = self.control
        steps = {"first_step": window.first_step, "last_step": window.last_step}
        why = "all steps" if control.selection is None else control.selection.why
        index = len(control.windows) - 1
        self.note("window", step=window.first_step, index=index, **steps, why=why, run=window.run_dir.name)
        if self._watcher is None:
            return
        program, control.program = control.program, control.program.successor()
        program.end([window.run_dir], writes=self.options.logdir is not None)
        self._tell(self._watcher.take_window, window, program)

    def stop(
        self, *, outcome: Outcome = "complete", error: BaseException | None = None, failure: Failure | None = None
    ) -> CaptureRecord:
        """End the capture and return its record; a second call returns the same record."""
        self._check_started()
        # A marker must end on the thread that began it, so not under the shield.
        self.control.finish_thread()
        failure = failure or read_failure(error, batch_size=self.program.batch_size)
        selection = self.control.selection
        if failure is not None and selection is not None:
            failure = replace(failure, selection=selection.description)
        try:
            run_shielded(partial(self._stop, outcome, failure))
        except KeyboardInterrupt:
            # One that comes while another exception goes up to the user has nothing left to stop.
            if outcome == "complete" or self._record is None:
                raise
        finally:
            if active_capture() is None:
                let_die()
        own = self.control.failure
        if outcome == "complete" and own is not None and not self.record.windows and self._watcher is None:
            raise own
        return self.record

    def _stop(self, outcome: Outcome, failure: Failure | None) -> None:
        with self._stopping:  # a signal may ask for what is under way
            if self._record is not None:
                return
            if self._patch is not None:
                self._patch.remove()
            try:
                self.control.end()
            finally:  # whatever fails: the next capture must work
                try:
                    self._end_files(outcome)
                finally:
                    self._record = self._make_record(outcome, failure)
                    release_active(self)

    @contextlib.contextmanager
    def around(
        self, ended: Callable[[], None] = lambda: None, failed: Callable[[], None] = lambda: None
    ) -> Iterator[None]:
        """Stop behind a block, however it ends; then `ended`, and `failed` where an exception goes on."""
        try:
            yield
        except BaseException as error:
            outcome: Outcome = "interrupted" if isinstance(error, KeyboardInterrupt) else "exception"
            with contextlib.suppress(CaptureError):  # the user's own exception is the one to report
                with contextlib.suppress(KeyboardInterrupt), interrupts_put_off():
                    self.stop(outcome=outcome, error=error)
                    ended()
                with contextlib.suppress(KeyboardInterrupt):
                    failed()
            raise
        with interrupts_put_off():
            try:
                self.stop()
            finally:  # also when nothing could be written, which the record tells
                ended()

    def _end_files(self, outcome: Outcome) -> None:
        if self.program.unrecorded:
            self.note("unrecorded", name=self.program.unrecorded)
        self.note("end", outcome=outcome)
        if self._watcher is not None:
            self._tell(self._watcher.end)

    def keep(self) -> None:
        """End the capture as the process is about to end, and leave its files to `tfprof.recover()`."""
        record = self.stop(outcome="interrupted")
        if self._files_cleanup is not None:
            scratch = self.control.scratch
            if record.run_dirs and not any(run.is_relative_to(scratch) for run in record.run_dirs):
                self._files_cleanup()  # what is in `logdir` needs no file of steps elsewhere
            else:
                self._files_cleanup.detach()
        self.program.write()

    def disown(self) -> None:
        """Have nothing more to do with it, in a fork of the process whose capture it is."""
        if not self.is_running:
            return
        for cleanup in self._cleanups:
            cleanup.detach()
        self._stopping = threading.Lock()
        self.control.disown()
        notice = "This process is a fork of the one that captures, which has the capture."
        self._record = record_of(
            (), None, no_samples(), notices=(notice,), outcome="interrupted", n_steps=self.control.n_steps
        )

    def _make_record(self, outcome: Outcome, failure: Failure | None) -> CaptureRecord:
        control, recorder, sampler, program = self.control, self.recorder, self._sampler, self.program
        windows = tuple(control.windows)
        program.end(
            [] if self._watcher is not None else [window.run_dir for window in windows],
            writes=self.options.logdir is not None,
        )
        closing = () if program.unrecorded else control.closing_notices
        record = record_of(
            windows,
            program,
            no_samples() if sampler is None else sampler.stop(),
            notices=(
                *(*control.notices, *closing),
                *(() if sampler is None or not sampler.notice else (sampler.notice,)),
            ),
            step_times=recorder.frame(),
            detail=self.options.detail,
            outcome="bounded" if outcome == "complete" and control.bound else outcome,
            n_steps=control.n_steps,
            failure=failure,
        )
        self.writer.close()
        # From here on the files belong to the record: a profile may outlive the capture.
        for cleanup in self._cleanups:
            cleanup.detach()
        self._files_cleanup = weakref.finalize(record, remove_scratch, control.scratch, os.getpid())
        leave_to_restarted(self._files_cleanup)
        return record

    def _check_started(self) -> None:
        if not self._has_started:
            raise CaptureError("The capture was not started: call `start()` first.")


_standing: StepTaker | None = None


def step_notes() -> StepTaker | None:
    """The owner of this process' steps outside of captures, if any."""
    return _standing


def step_taker() -> StepTaker | None:
    """The owner of the steps that begin now: the running capture, else a server's, if any."""
    capture = active_capture()
    return _standing if capture is None or not capture.is_running else capture.control


def mark_steps() -> None:
    """Have the steps of this process marked outside of captures too; a second call does nothing."""
    global _standing
    _standing = _standing or StepTaker()


def mark_steps_no_more() -> None:
    """Mark steps within captures alone, also in a fork: only the process that called `serve` has the server."""
    global _standing
    _standing = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=mark_steps_no_more)
