"""Begins and ends of steps, and bounds -> windows of a capture: a session of TensorFlow's profiler and a run directory each."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..errors import CaptureError
from ..trace.capture_facts import unrecorded_notice
from ..trace.scratch import free_bytes, note_steps, room_for
from .bounds import MEMORY_SHARE, BoundKind, BoundWatch, FileRate
from .folders import SpareFiles, free_text, make_scratch, place_run
from .machine import free_memory_bytes, rss_reader
from .program.captured import CapturedProgram
from .record import CaptureOptions, Window, start_session, stop_session
from .signals import run_shielded
from .step_rows import StepRecorder
from .steps import OpenStep, StepNumbers, weakly

STEP_GRACE_S = 1.0
"""How long a bound waits for the step in progress: a step cut by the end of its session is lost."""
LONGEST_SESSION_S = 20.0
"""Sessions of all steps are written after so long, as a killed process loses what the profiler holds; it costs nothing: a
start takes 0.1 ms, files 90 ms a MiB in parts or at once (TF 2.21 on CPU)."""
WRONG_ESTIMATE_RATIO = 0.75
"""A window whose file stays below this share of the bound was stopped by a wrong estimate."""
_OF_FREE = f"{100 * MEMORY_SHARE:.0f} % of the memory that was free"


class StepTaker:
    """Takes the steps of this process, and marks them for whatever profiler runs."""

    program: CapturedProgram | None = None
    recorder: StepRecorder | None = None
    n_opened = 0
    """Windows until now."""
    open_id: int | None = None
    """Number of the open window, None while no session runs."""

    def __init__(self, numbers: StepNumbers | None = None) -> None:
        self.numbers = numbers or StepNumbers()
        self.open_steps: set[OpenStep] = set()

    @property
    def next_number(self) -> int:
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
        """Mark the begin of a step on this thread, where the program may open a window before it."""
        is_selectable = is_selectable and not (self.open_steps and self.steps_here())
        if is_selectable:
            self._before(number, n_batches)
        step = OpenStep(name, number, n_batches, is_selectable, self.open_id, self.n_opened, begins_epoch)
        self.open_steps.add(step)
        self._began(step)
        if is_certain:
            step.confirm()
        return step

    def succeed(self, step: OpenStep) -> bool:  # noqa: ARG002 -- of use where steps are recorded
        """End a step of one batch and begin the next with it, at once; False where more is to be done, and nothing was."""
        return False

    def note_unrecorded(self, name: str) -> None:
        """Note that a Keras model ran of which the profiler records nothing, such as `Keras on JAX`."""

    def cancel_step(self, step: OpenStep) -> None:
        """Forget a step that was not certain and did not happen, or counts for nothing."""
        if step in self.open_steps:
            step.close()
            self.open_steps.discard(step)

    def leave_step(self, step: OpenStep) -> None:
        """Forget a step that was left before its end, as its marker shows."""
        if step in self.open_steps:
            step.leave()
            self.cancel_step(step)
            self._after(step, step.number + step.n_batches)

    def end_step(self, step: OpenStep, *, n_batches: int | None = None) -> None:
        """Mark the end of a step; ending it twice does nothing."""
        # Read before the marker ends, which a running profiler records.
        step.elapsed_ns = time.perf_counter_ns() - step.begin_ns
        step.n_batches = step.n_batches if n_batches is None else n_batches
        if step not in self.open_steps:
            return
        if step.marker is not None:
            step.close()
        self.open_steps.discard(step)
        self._ended(step)
        if step.is_selectable:
            self.numbers.next = step.number + step.n_batches
        self._after(step, self.numbers.next)

    def steps_here(self) -> list[OpenStep]:
        """The steps in progress on this thread, in no order."""
        here = threading.get_ident()
        return [step for step in tuple(self.open_steps) if step.thread_id == here]

    def _before(self, number: int, n_batches: int) -> None:
        """A step is about to begin."""

    def _began(self, step: OpenStep) -> None:
        """A step has begun, which may turn out to be none."""

    def _ended(self, step: OpenStep) -> None:
        """A step has ended, and its marker with it."""

    def _after(self, step: OpenStep, next_number: int) -> None:
        """A step is over, by its end or before."""


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


class WindowControl(StepTaker):
    """Takes the steps of one capture and decides on its windows, which open and close under a lock and under a shield against
    Ctrl-C.
    """

    program: CapturedProgram
    """What ran in the window that is open or comes next."""
    recorder: StepRecorder
    scratch: Path
    """The folder of the sessions; given before the first one."""

    def __init__(
        self,
        options: CaptureOptions,
        recorder: StepRecorder,
        on_window: Callable[[Window], None],
        numbers: StepNumbers | None = None,
    ) -> None:
        """`on_window` gets each window that has closed; it may change the `program` for the next."""
        super().__init__(numbers)
        self._options, self.recorder, self._on_window = options, recorder, on_window
        # Absolute from the start: the program may change its directory meanwhile.
        self._logdir = None if options.logdir is None else Path(options.logdir).expanduser().absolute()
        self.program = CapturedProgram()
        self.selection = options.selection()
        """None where everything is wanted."""
        self.n_steps = 0
        """Batches that the program marked, captured or not."""
        self.windows: list[Window] = []
        self.notices: list[str] = []
        self.failure: CaptureError | None = None
        """Of a session; its words are in `notices` too."""
        self.bound: str | None = None
        """The text of the bound that ended the capture; "" after a failure, None while windows may open."""
        self._lock = threading.RLock()
        self._session_dir = Path()
        self._spare_files = SpareFiles()
        self._inside: list[tuple[int, int]] = []
        """First number and number of batches of the steps that lie whole in the open window."""
        self._start_ns, self._start_s = 0, 0.0
        self._watch: BoundWatch | None = None
        self._pending: BoundKind | None = None
        self._file_rate = FileRate()
        self._memory_share = MEMORY_SHARE
        self._is_over = False

    # ---- steps ------------------------------------------------------------------------------------------------------

    def _before(self, number: int, n_batches: int) -> None:
        """Open or close a window as the step that is about to begin asks for."""
        if self._is_over or self.bound is not None:
            return
        open_id = self.open_id
        if open_id is not None:
            if self.selection is None or self.selection.continues(number, n_batches):
                return
            run_shielded(lambda: self._close(open_id))
        if self.selection is None or self.selection.opens(number, n_batches):
            run_shielded(self._open_or_tell)

    def _began(self, step: OpenStep) -> None:
        self.recorder.began(step)
        if self._watch is not None:
            self._watch.await_step()

    def _ended(self, step: OpenStep) -> None:
        # No window has been closed for its sake yet.
        step.phase = "before" if not self.n_opened else "after" if step.window_id is None else "during"
        if step.n_opened != self.n_opened or step.window_id != self.open_id:
            step.phase = "cut"
        self.recorder.ended(step)
        if self._watch is not None:
            self._watch.count_step()
        if step.is_selectable:
            self.n_steps += step.n_batches
            if step.window_id is not None and step.window_id == self.open_id:
                self._inside.append((step.number, step.n_batches))
        if step.window_id is not None or not self.recorder.is_watched:
            self.program.hold()  # windows that are read apart need what ran in them

    def succeed(self, step: OpenStep) -> bool:
        """Where steps are watched, have one become the next, if no window is open nor wanted.

        It is what steps pay outside of windows: few functions, and no object that is made or hashed, as cold code costs most.
        """
        policy = self.selection
        if policy is None or policy.is_awake or self.open_id is not None or step.marker is not None or self._is_over:
            return False
        if not self.recorder.is_watched or step.n_opened != self.n_opened:
            return False
        self.recorder.passed(step, "after" if self.n_opened else "before")
        if step.is_selectable:
            self.n_steps += 1
            self.numbers.next = step.number
        return True

    def _after(self, step: OpenStep, next_number: int) -> None:
        """Close the window where a bound waits for the end of this step, or the next one is not selected."""
        window_id = self.open_id  # another one than that of its begin where a bound was met in vain meanwhile
        if window_id is None or step.window_id is None:
            return
        is_last = self.selection is not None and step.is_selectable and not self.selection.continues(next_number)
        if is_last or self._pending is not None:
            run_shielded(lambda: self._close(window_id))
        elif (self.selection is None and self._session_seconds >= LONGEST_SESSION_S) and not self.open_steps:
            run_shielded(lambda: self._go_on(window_id))

    def note_unrecorded(self, name: str) -> None:
        self.program.unrecorded = name
        self._tell(unrecorded_notice(name))

    # ---- windows ----------------------------------------------------------------------------------------------------

    def begin(self, scratch: Path) -> None:
        """Begin, with sessions in this folder; without a selection the window begins with the capture."""
        self.scratch = scratch
        if self.selection is None:
            self._open()

    def end(self) -> None:
        """Close the open window for good."""
        with self._lock:
            self._is_over = True  # steps of other threads in progress end later
            self._close(self.open_id)

    def finish_thread(self) -> None:
        """End the steps in progress on this thread, which are left before their end."""
        for step in self.steps_here():
            step.leave()
            self.cancel_step(step)

    def disown(self) -> None:
        """Do nothing any more, in a fork of the process whose capture it is; a thread that is not here may hold its lock."""
        self._lock = threading.RLock()
        self._is_over = True
        self.open_steps.clear()
        self.open_id = self._watch = None

    def _go_on(self, window_id: int) -> None:
        """Close the window and open the next one at once, unless a second file in turn cannot be written."""
        with self._lock:
            has_failed = self.failure is not None
            self._close(window_id)
            if self.bound == "" and not has_failed:
                self.bound = None
            self._open_or_tell()

    def _open_or_tell(self) -> None:
        # In the middle of the user's training: a capture that fails is told of, and the training goes on.
        with self._lock:
            if self._is_over or self.bound is not None or self.open_id is not None:
                return
            try:
                self._open()
            except CaptureError as error:
                self._fail(error)
                self.bound = ""

    def _open(self) -> None:
        """Start a session of the profiler, and watch its bounds."""
        self.n_opened += 1
        self._inside = []
        # A folder per session: TensorFlow names its runs by the second, and would write the second over the first.
        self._session_dir = self.scratch / f"session{self.n_opened}"
        begin_s = time.perf_counter()
        notices = start_session(self._session_dir, self._options.detail)
        self._start_s = time.perf_counter() - begin_s
        self._start_ns = time.time_ns()
        self.open_id = self.n_opened
        self._spare_files.hold()
        self.program.start()
        for notice in notices:
            self._tell(notice)
        self._watch = BoundWatch(
            partial(weakly(self._on_bound), self.open_id),
            seconds=self._options.seconds_bound - self._open_seconds,
            n_bytes=self._options.bytes_bound - self._n_bytes,
            rate=self._file_rate,
            memory_bytes=self._memory_share * free_memory_bytes(),
            read_rss=rss_reader(),
        )
        self._watch.start()

    def _on_bound(self, window_id: int, kind: BoundKind) -> None:
        """End the window from the watching thread: after the step in progress, or without it when it takes long."""
        self._pending = kind
        deadline_s = time.monotonic() + STEP_GRACE_S
        while self.open_steps and self.open_id == window_id and time.monotonic() < deadline_s:
            time.sleep(0.01)
        self._close(window_id)

    def _close(self, window_id: int | None) -> None:
        with self._lock:
            if window_id is None or self.open_id != window_id:
                return
            pending, self._pending = self._pending, None
            watch, self._watch = self._watch, None
            assert watch is not None
            watch.cancel()
            window = self._closed()
            if window is None:
                self.bound = ""
                return
            self._file_rate = watch.learn(window.n_bytes)
            if pending == "memory" and self.selection is not None:
                self._memory_share /= 2  # windows that may still come are shorter
                self._tell(_memory_notice(watch.held_bytes, watch.memory_bytes, window.n_steps))
            elif pending == "bytes" and self._n_bytes < WRONG_ESTIMATE_RATIO * self._options.bytes_bound:
                # The program's own data had grown, not the profiler's: go on in a next window. Within a step too: its marker
                # is lost, but it may be the one that fails.
                if self.selection is None or any(step.is_selectable for step in self.open_steps):
                    self._open_or_tell()
            elif pending is not None or self._n_bytes >= self._options.bytes_bound:
                self.bound = self._bound_text(pending or "bytes", watch.held_bytes)

    def _closed(self) -> Window | None:
        """Stop the session and return its window; None when its files could not be written (see `notices`)."""
        self.open_id = None
        self.program.stop()
        self.program.hold()
        stop_ns, begin_s = time.time_ns(), time.perf_counter()
        self._spare_files.release()
        self._make_room()
        try:
            run_dir = stop_session(self._session_dir)
        except CaptureError as error:
            self._fail(error)
            return None
        n_bytes = sum(path.stat().st_size for path in run_dir.rglob("*") if path.is_file())
        stop_s = time.perf_counter() - begin_s
        inside = self._inside
        window = Window(
            run_dir=self._keep(run_dir),
            first_step=inside[0][0] if inside else None,
            last_step=inside[-1][0] + inside[-1][1] - 1 if inside else None,
            n_steps=sum(n_batches for _, n_batches in inside),
            start_ns=self._start_ns,
            stop_ns=stop_ns,
            start_s=self._start_s,
            stop_s=stop_s,
            n_bytes=n_bytes,
        )
        self.windows.append(window)
        note_steps(self.scratch, self._n_kept)
        self._on_window(window)
        return window

    def _make_room(self) -> None:
        """Have the session write to another disk where its own has filled meanwhile."""
        with contextlib.suppress(OSError, CaptureError):
            free, needed = free_bytes(self.scratch), self._options.bytes_bound
            if free < needed and free < free_bytes(room_for(needed)):
                self._session_dir.symlink_to(make_scratch(needed))

    def _keep(self, run_dir: Path) -> Path:
        """Move a run directory to the user's logdir; where that fails it stays in the temporary folder."""
        # Windows of one capture are found by their names: X, X.w2, X.w3.
        name = f"{self.windows[0].run_dir.name}.w{len(self.windows) + 1}" if self.windows else ""
        if self._logdir is not None:
            try:
                return place_run(run_dir, self._logdir, name)
            except OSError as error:
                self._tell(
                    f"The capture could not be kept in logdir={self._logdir} ({free_text(self._logdir)} free): {error}. "
                    f"It is held in {self.scratch} as long as this profile lives; copy that to keep it."
                )
        try:
            return place_run(run_dir, self.scratch, name)
        except OSError:  # on another disk, as this one is full
            return run_dir

    def _fail(self, error: CaptureError) -> None:
        self.failure = error
        self._tell(str(error))

    def _tell(self, notice: str) -> None:
        """Add a notice, once."""
        if notice not in self.notices:
            self.notices.append(notice)

    # ---- how far it is ----------------------------------------------------------------------------------------------

    @property
    def standing(self) -> Standing:
        """Changes nothing, so any thread may look."""
        watch = self._watch  # another thread may close the window meanwhile
        estimated_bytes = 0 if watch is None else watch.estimated_bytes
        step = self.next_number if self.n_steps else None
        return Standing(self._state(), step, self._open_seconds, self._n_bytes + estimated_bytes)

    def _state(self) -> str:
        selection = self.selection
        if self.bound is not None:
            return f"stopped {self.bound}" if self.bound else "stopped, as the profiler failed"
        if self.open_id is not None or selection is None:
            return "recording"
        if selection.ends is not None and self.next_number > selection.ends[1]:
            return "no more steps selected"
        if self.n_opened:
            return "paused"
        if selection.ends is not None and selection.rule is not None and selection.rule(selection.ends[0]):
            return f"waiting for step {selection.ends[0]:,}"
        return f"waiting ({selection.description})"

    @property
    def _session_seconds(self) -> float:
        """For how long the open session has run; 0 while none is open."""
        return 0.0 if self.open_id is None else (time.time_ns() - self._start_ns) / 1e9

    @property
    def _open_seconds(self) -> float:
        """For how long sessions have run, the open one included."""
        return sum(window.stop_ns - window.start_ns for window in self.windows) / 1e9 + self._session_seconds

    @property
    def _n_bytes(self) -> int:
        """Size of the files written so far."""
        return sum(window.n_bytes for window in self.windows)

    @property
    def _n_kept(self) -> int:
        """How many steps lie whole in the windows closed so far."""
        return sum(window.n_steps for window in self.windows)

    # ---- what the user has to know of it ----------------------------------------------------------------------------

    def _bound_text(self, kind: BoundKind, held_bytes: float) -> str:
        """When and why a bound ended the capture: `after 2.0 s (max_seconds=2)`."""
        after, options = f"after {self._open_seconds:.1f} s", self._options
        if kind == "memory":
            return (
                f"{after}, as the process had grown by {held_bytes / 2**30:.2g} GiB meanwhile, which TensorFlow's profiler "
                f"holds unless the program does: the bound is {_OF_FREE}"
            )
        default = ", the default" if getattr(options, f"max_{kind}") is None else ""
        if kind == "seconds":
            return f"{after} (max_seconds={options.seconds_bound:g}{default})"
        return f"{after} at {self._n_bytes / 2**20:.1f} MiB (max_bytes={options.bytes_bound}{default})"

    @property
    def closing_notices(self) -> list[str]:
        notices, n_steps, selection = [], self.n_steps, self.selection
        if self.bound:
            kept = f"{self._n_kept} of {n_steps} steps kept" if n_steps else "what came later is not in it"
            less = ' detail="low" takes less memory for each step.' if self.bound.endswith(_OF_FREE) else ""
            notices.append(f"The capture stopped itself {self.bound}: {kept}. {self._how_to_choose()}{less}")
        if selection is not None and not self.windows and self.failure is None:
            notices.append(f"No step met {selection.description}: {_marked(n_steps)}")
        return notices

    def _how_to_choose(self) -> str:
        n_steps = self.n_steps
        if self.selection is not None:
            return "Select fewer steps, or raise the bound."
        if not n_steps:
            return "Raise the bound, or capture a shorter piece."
        first, stop = min(10, n_steps // 2), min(50, n_steps)
        if self._options.command == "%%tfprofile":
            return f"To choose them: `%%tfprofile --steps {first}:{stop}`."
        return f"To choose them: `profile(steps=range({first}, {stop}))`."


def _marked(n_steps: int) -> str:
    if n_steps:
        return f"the program marked steps up to number {n_steps - 1}. Choose among these."
    return (
        "the program marked no step. Steps are marked by Keras' fit, evaluate and predict, by `trace_steps(dataset)` "
        "and by `step(i)`; without them leave the selection out."
    )


def _memory_notice(held_bytes: float, most_bytes: float, n_steps: int) -> str:
    """That a window ended for the memory that was taken meanwhile, and that the next one is shorter."""
    return (
        f"A window ended after {n_steps:,} steps, as the process had grown by {held_bytes / 2**30:.2g} GiB meanwhile, which "
        f"TensorFlow's profiler holds unless the program does: {most_bytes / 2**30:.2g} GiB was the bound. "
        'The next one is shorter; detail="low" records less of each step.'
    )
