"""Begins and ends of steps, and bounds -> when the windows of a capture open and close."""

from __future__ import annotations

import threading
import time
import weakref
from dataclasses import dataclass

from ..errors import CaptureError
from ..trace.capture_facts import unrecorded_notice
from .bounds import MEMORY_SHARE, BoundKind, BoundWatch, FileRate
from .machine import free_memory_bytes, rss_reader
from .record import CaptureOptions
from .step_rows import StepRecorder
from .steps import OpenStep
from .windows import WindowKeeper, bound_text, memory_notice, run_shielded

STEP_GRACE_S = 1.0
"""How long a bound waits for the step in progress: a step cut by the end of its session is lost."""
LONGEST_SESSION_S = 20.0
"""Sessions of all steps are written after so long, as a killed process loses what the profiler holds; it costs nothing: a
start takes 0.1 ms, files 90 ms a MiB in parts or at once (TF 2.21 on CPU)."""
WRONG_ESTIMATE_RATIO = 0.75
"""A window whose file stays below this share of the bound was stopped by a wrong estimate."""


class WindowControl:
    """Decides for one running capture. Sessions open and close under a lock and under a shield against Ctrl-C."""

    def __init__(self, options: CaptureOptions, keeper: WindowKeeper, recorder: StepRecorder) -> None:
        self._options = options
        self.recorder = recorder
        self.keeper = keeper
        self.n_steps = 0
        """Batches that the program marked, captured or not."""
        self.bound: str | None = None
        """The text of the bound that ended the capture; "" after a failure, None while windows may open."""
        self.selection = options.selection()
        """None where everything is wanted."""
        self._lock = threading.RLock()
        self.open_steps: set[OpenStep] = set()
        self._pending: BoundKind | None = None
        self._file_rate = FileRate()
        self._memory_share = MEMORY_SHARE
        self._is_over = False

    def open_first(self) -> None:
        """Open the window of a capture without a selection, whose window begins with it."""
        if self.selection is None:
            self._open()

    def before_step(self, number: int, n_batches: int) -> None:
        """Open or close a window as the step that is about to begin asks for."""
        if self._is_over or self.bound is not None:
            return
        open_id = self.keeper.open_id
        if open_id is not None:
            if self.selection is None or self.selection.continues(number, n_batches):
                return
            run_shielded(lambda: self._close(open_id))
        if self.selection is None or self.selection.opens(number, n_batches):
            run_shielded(self._open_or_tell)

    def note_unrecorded(self, name: str) -> None:
        """Tell once that a Keras model ran of which the profiler records nothing, such as `Keras on JAX`."""
        notice = unrecorded_notice(name)
        if notice not in self.keeper.notices:
            self.keeper.notices.append(notice)

    def add(self, step: OpenStep) -> None:
        self.open_steps.add(step)
        self.recorder.began(step)
        if self.keeper.watch is not None:
            self.keeper.watch.await_step()

    def drop(self, step: OpenStep) -> None:
        """End the marker of a step that counts for nothing, unless it has ended before."""
        if step in self.open_steps:
            step.close()
            self.open_steps.discard(step)

    def leave(self, step: OpenStep) -> bool:
        """End a step that was left early, as its marker shows; False when it had ended before."""
        if step not in self.open_steps:
            return False
        step.leave()
        self.drop(step)
        return True

    def finish(self, step: OpenStep) -> bool:
        """End the marker of a step and count it; False when it has ended before."""
        # Read before the marker ends, which a running profiler records.
        elapsed_ns = time.perf_counter_ns() - step.begin_ns
        if step not in self.open_steps:
            return False
        if step.marker is not None:
            step.close()
        self.open_steps.discard(step)
        keeper = self.keeper
        step.elapsed_ns = elapsed_ns
        # No window has been closed for its sake yet.
        step.phase = "before" if not keeper.n_opened else "after" if step.window_id is None else "during"
        if step.n_opened != keeper.n_opened or step.window_id != keeper.open_id:
            step.phase = "cut"
        self.recorder.ended(step)
        if keeper.watch is not None:
            keeper.watch.count_step()
        if step.is_selectable:
            self.n_steps += step.n_batches
            if step.window_id is not None and step.window_id == keeper.open_id:
                keeper.count_step(step.number, step.n_batches)
        return True

    def succeed(self, step: OpenStep) -> OpenStep | None:
        """End a step of one batch and begin the next, where no window is open nor wanted; None, and nothing is done, elsewhere.

        It is what steps pay outside of windows, so it is in few functions, as a call of cold code costs 2 us.
        """
        keeper, policy = self.keeper, self.selection
        is_quiet = policy is not None and not policy.is_awake and keeper.open_id is None and step.marker is None
        if not is_quiet or step.n_opened != keeper.n_opened or step not in self.open_steps or self._is_over:
            return None
        step.elapsed_ns = time.perf_counter_ns() - step.begin_ns
        step.phase = "after" if keeper.n_opened else "before"
        self.open_steps.discard(step)
        following = OpenStep(step.name, step.number + 1, 1, step.is_selectable, None, keeper.n_opened)
        self.open_steps.add(following)
        self.recorder.ended(step, following)
        if step.is_selectable:
            self.n_steps += 1
        return following

    def after_step(self, step: OpenStep, next_number: int) -> None:
        """Close the window where a bound waits for the end of this step, or the next one is not selected."""
        window_id = self.keeper.open_id  # another one than that of its begin where a bound was met in vain meanwhile
        if window_id is None or step.window_id is None:
            return
        is_last = self.selection is not None and step.is_selectable and not self.selection.continues(next_number)
        if is_last or self._pending is not None:
            run_shielded(lambda: self._close(window_id))
        elif (self.selection is None and self.keeper.session_seconds >= LONGEST_SESSION_S) and not self.open_steps:
            run_shielded(lambda: self._go_on(window_id))

    def steps_here(self) -> list[OpenStep]:
        """The steps in progress on this thread, in no order."""
        here = threading.get_ident()
        return [step for step in tuple(self.open_steps) if step.thread_id == here] if self.open_steps else []

    def finish_thread(self) -> None:
        """End the steps in progress on this thread, which are left before their end."""
        for step in self.steps_here():
            self.leave(step)

    def end(self) -> None:
        """Close the open window for good."""
        with self._lock:
            self._is_over = True  # steps of other threads in progress end later
            self._close(self.keeper.open_id)

    def disown(self) -> None:
        """Do nothing any more, in a fork of the process whose capture it is; a thread that is not here may hold its lock."""
        self._lock = threading.RLock()
        self._is_over = True
        self.open_steps.clear()
        self.keeper.open_id = self.keeper.watch = None

    def _go_on(self, window_id: int) -> None:
        """Close the window and open the next one at once, unless a second file in turn cannot be written."""
        with self._lock:
            has_failed = self.keeper.failure is not None
            self._close(window_id)
            if self.bound == "" and not has_failed:
                self.bound = None
            self._open_or_tell()

    def _open_or_tell(self) -> None:
        # In the middle of the user's training: a capture that fails is told of, and the training goes on.
        with self._lock:
            if self._is_over or self.bound is not None or self.keeper.open_id is not None:
                return
            try:
                self._open()
            except CaptureError as error:
                self.keeper.fail(error)
                self.bound = ""

    def _open(self) -> None:
        self.keeper.open()
        window_id = self.keeper.open_id
        reference = weakref.ref(self)

        def on_bound(kind: BoundKind) -> None:
            control = reference()
            if control is not None:
                control._on_bound(kind, window_id)

        self.keeper.watch = BoundWatch(
            on_bound,
            seconds=self._options.seconds_bound - self.keeper.open_seconds,
            n_bytes=self._options.bytes_bound - self.keeper.n_bytes,
            rate=self._file_rate,
            memory_bytes=self._memory_share * free_memory_bytes(),
            read_rss=rss_reader(),
        )
        self.keeper.watch.start()

    def _on_bound(self, kind: BoundKind, window_id: int | None) -> None:
        """End the window from the watching thread: after the step in progress, or without it when it takes long."""
        self._pending = kind
        deadline_s = time.monotonic() + STEP_GRACE_S
        while self.open_steps and self.keeper.open_id == window_id and time.monotonic() < deadline_s:
            time.sleep(0.01)
        self._close(window_id)

    def _close(self, window_id: int | None) -> None:
        with self._lock:
            if window_id is None or self.keeper.open_id != window_id:
                return
            pending, self._pending = self._pending, None
            watch = self.keeper.watch
            window = self.keeper.close()
            if window is not None and watch is not None:
                self._file_rate = watch.learn(window.n_bytes)
            if window is None:
                self.bound = ""
            elif pending == "memory" and watch is not None and self.selection is not None:
                self._memory_share /= 2  # windows that may still come are shorter
                self.keeper.tell(memory_notice(watch.held_bytes, watch.memory_bytes, window.n_steps))
            elif pending == "bytes" and self.keeper.n_bytes < WRONG_ESTIMATE_RATIO * self._options.bytes_bound:
                # The program's own data had grown, not the profiler's: go on in a next window. Within a step too: its marker
                # is lost, but it may be the one that fails.
                if self.selection is None or any(step.is_selectable for step in self.open_steps):
                    self._open_or_tell()
            elif pending is not None or self.keeper.n_bytes >= self._options.bytes_bound:
                held_bytes = 0.0 if watch is None else watch.held_bytes
                self.bound = bound_text(pending or "bytes", self._options, self.keeper, held_bytes=held_bytes)


@dataclass(frozen=True)
class Standing:
    """How far a running capture is."""

    state: str
    """`"recording"`, `"waiting for step 10"`, `"paused"`, or why recording has ended."""
    step: int | None
    """Number of the step that runs or comes next; None before the first one."""
    seconds: float
    """How long the profiler has run, in all windows."""
    n_bytes: float
    """Size of the files, estimated while a window is open; 0 where unknown."""


def standing_of(control: WindowControl, next_number: int) -> Standing:
    """Look at a capture whose next step has this number; changes nothing, so any thread may do it."""
    return Standing(
        state=_state(control, next_number),
        step=next_number if control.n_steps else None,
        seconds=control.keeper.open_seconds,
        n_bytes=_size(control.keeper),
    )


def _state(control: WindowControl, next_number: int) -> str:
    keeper, selection = control.keeper, control.selection
    if control.bound is not None:
        return f"stopped {control.bound}" if control.bound else "stopped, as the profiler failed"
    if keeper.open_id is not None or selection is None:
        return "recording"
    if selection.ends is not None and next_number > selection.ends[1]:
        return "no more steps selected"
    if keeper.n_opened:
        return "paused"
    if selection.ends is not None and selection.rule is not None and selection.rule(selection.ends[0]):
        return f"waiting for step {selection.ends[0]:,}"
    return f"waiting ({selection.description})"


def _size(keeper: WindowKeeper) -> float:
    watch = keeper.watch  # another thread may close the window meanwhile
    return keeper.n_bytes + (0 if watch is None else watch.estimated_bytes)
