"""Opens and closes TensorFlow's profiler sessions of one capture, a `Window` and a run directory each."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TypeVar

from ..errors import CaptureError
from ..trace.scratch import free_bytes, note_steps, room_for
from .bounds import MEMORY_SHARE, BoundKind, BoundWatch
from .folders import SpareFiles, free_text, make_scratch, place_run
from .program.captured import CapturedProgram
from .record import CaptureOptions, Window, start_session, stop_session


class WindowKeeper:
    """The windows of one capture. Not thread-safe: `Capture` calls it under its lock."""

    def __init__(
        self,
        options: CaptureOptions,
        scratch: Path,
        program: CapturedProgram,
        on_window: Callable[[Window, int], CapturedProgram],
    ) -> None:
        """`on_window` gets each window that has closed and its place, and returns the program of the next."""
        # Absolute from the start: the program may change its directory meanwhile.
        self._logdir = None if options.logdir is None else Path(options.logdir).expanduser().absolute()
        self.scratch = scratch
        self._program = program
        self._on_window = on_window
        self._detail = options.detail
        self._bytes_bound = options.bytes_bound
        self.n_opened = 0
        self._session_dir = scratch
        self._spare_files = SpareFiles()
        self._steps: list[tuple[int, int]] = []
        self._start_ns = 0
        self._start_s = 0.0
        self.watch: BoundWatch | None = None
        self.windows: list[Window] = []
        self.notices: list[str] = []
        self.failure: CaptureError | None = None
        """Its words are in `notices` too."""
        self.open_id: int | None = None
        """Number of the open window, None while no session runs."""

    @property
    def open_seconds(self) -> float:
        """For how long sessions have run, the open one included, in s."""
        return sum(window.stop_ns - window.start_ns for window in self.windows) / 1e9 + self.session_seconds

    @property
    def session_seconds(self) -> float:
        """For how long the open session has run, in s; 0 while none is open."""
        return 0.0 if self.open_id is None else (time.time_ns() - self._start_ns) / 1e9

    @property
    def n_bytes(self) -> int:
        """Size of the files written so far."""
        return sum(window.n_bytes for window in self.windows)

    @property
    def n_steps(self) -> int:
        """How many steps lie whole in the windows closed so far."""
        return sum(window.n_steps for window in self.windows)

    def open(self) -> None:
        """Start a session of the profiler."""
        self.n_opened += 1
        self._steps = []
        # A folder per session: TensorFlow names its runs by the second, and would write the second over the first.
        self._session_dir = self.scratch / f"session{self.n_opened}"
        begin_s = time.perf_counter()
        notices = start_session(self._session_dir, self._detail)
        self._start_s = time.perf_counter() - begin_s
        self._start_ns = time.time_ns()
        self.open_id = self.n_opened
        self._spare_files.hold()
        self._program.start()
        for notice in notices:
            self.tell(notice)

    def close(self) -> Window | None:
        """Stop the session and return its window; None when its files could not be written (see `notices`)."""
        if self.watch is not None:
            self.watch.cancel()
            self.watch = None
        self.open_id = None
        self._program.stop()
        self._program.hold()
        stop_ns = time.time_ns()
        begin_s = time.perf_counter()
        self._spare_files.release()
        self._make_room()
        try:
            run_dir = stop_session(self._session_dir)
        except CaptureError as error:
            self.fail(error)
            return None
        n_bytes = sum(path.stat().st_size for path in run_dir.rglob("*") if path.is_file())
        stop_s = time.perf_counter() - begin_s
        window = Window(
            run_dir=self._keep(run_dir),
            first_step=self._steps[0][0] if self._steps else None,
            last_step=self._steps[-1][0] + self._steps[-1][1] - 1 if self._steps else None,
            n_steps=sum(n_batches for _, n_batches in self._steps),
            start_ns=self._start_ns,
            stop_ns=stop_ns,
            start_s=self._start_s,
            stop_s=stop_s,
            n_bytes=n_bytes,
        )
        self.windows.append(window)
        note_steps(self.scratch, self.n_steps)
        self._program = self._on_window(window, len(self.windows) - 1)
        return window

    def count_step(self, number: int, n_batches: int) -> None:
        """Note that a step lies whole in the open window."""
        self._steps.append((number, n_batches))

    def fail(self, error: CaptureError) -> None:
        """Keep a failure of a session, and its words for the user."""
        self.failure = error
        self.tell(str(error))

    def tell(self, notice: str) -> None:
        """Add a notice, once."""
        if notice not in self.notices:
            self.notices.append(notice)

    def _make_room(self) -> None:
        """Have the session write to another disk where its own has filled meanwhile."""
        with contextlib.suppress(OSError, CaptureError):
            free = free_bytes(self.scratch)
            if free < self._bytes_bound and free < free_bytes(room_for(self._bytes_bound)):
                self._session_dir.symlink_to(make_scratch(self._bytes_bound))

    def _keep(self, run_dir: Path) -> Path:
        """Move a run directory to the user's logdir; where that fails it stays in the temporary folder."""
        # Windows of one capture are found by their names: X, X.w2, X.w3.
        name = f"{self.windows[0].run_dir.name}.w{len(self.windows) + 1}" if self.windows else ""
        if self._logdir is not None:
            try:
                return place_run(run_dir, self._logdir, name)
            except OSError as error:
                self.tell(
                    f"The capture could not be kept in logdir={self._logdir} ({free_text(self._logdir)} free): {error}. "
                    f"It is held in {self.scratch} as long as this profile lives; copy that to keep it."
                )
        try:
            return place_run(run_dir, self.scratch, name)
        except OSError:  # on another disk, as this one is full
            return run_dir


T = TypeVar("T")

PATIENCE_S = 120.0
"""How long Ctrl-C is put off: files of the default size take 3 s, and an export that hangs never ends."""


def run_shielded(action: Callable[[], T]) -> T:
    """Run `action` to its end on a thread of its own, where no handler of a signal interrupts it."""
    if sys.is_finalizing():  # a thread that is started now never runs, and nobody can interrupt any more
        return action()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            results.append(action())
        except BaseException as error:  # handed to the caller's thread below
            errors.append(error)
        finally:
            done.set()

    with interrupts_put_off():
        try:
            threading.Thread(target=work, name="tfprof-capture", daemon=True).start()
        except (RuntimeError, MemoryError):  # no thread to be had: an unshielded stop is better than none
            work()
        done.wait()
    if errors:
        raise errors[0]
    return results[0]


@contextlib.contextmanager
def interrupts_put_off() -> Iterator[None]:
    """Have Ctrl-C wait for the end of the block, and then do what it does otherwise, once."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    first_s: list[float] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        first_s.append(time.monotonic())
        if first_s[-1] - first_s[0] > PATIENCE_S:
            handler(number, frame)

    signal.signal(signal.SIGINT, put_off)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if first_s:
        handler(signal.SIGINT, None)


_OF_FREE = f"{100 * MEMORY_SHARE:.0f} % of the memory that was free"


def memory_notice(held_bytes: float, most_bytes: float, n_steps: int) -> str:
    """Say that a window ended for the memory that was taken meanwhile, and that the next one is shorter."""
    return (
        f"A window ended after {n_steps:,} steps, as the process had grown by {held_bytes / 2**30:.2g} GiB meanwhile, which "
        f"TensorFlow's profiler holds unless the program does: {most_bytes / 2**30:.2g} GiB was the bound. "
        'The next one is shorter; detail="low" records less of each step.'
    )


def bound_text(kind: BoundKind, options: CaptureOptions, keeper: WindowKeeper, *, held_bytes: float = 0.0) -> str:
    """Say when and why a bound ended the capture: `after 2.0 s (max_seconds=2)`."""
    after = f"after {keeper.open_seconds:.1f} s"
    if kind == "memory":
        return (
            f"{after}, as the process had grown by {held_bytes / 2**30:.2g} GiB meanwhile, which TensorFlow's profiler holds "
            f"unless the program does: the bound is {_OF_FREE}"
        )
    if kind == "seconds":
        default = ", the default" if options.max_seconds is None else ""
        return f"{after} (max_seconds={options.seconds_bound:g}{default})"
    default = ", the default" if options.max_bytes is None else ""
    return f"{after} at {keeper.n_bytes / 2**20:.1f} MiB (max_bytes={options.bytes_bound}{default})"


def closing_notices(options: CaptureOptions, keeper: WindowKeeper, bound: str | None, n_steps: int) -> list[str]:
    notices = []
    if bound:
        kept = f"{keeper.n_steps} of {n_steps} steps kept" if n_steps else "what came later is not in it"
        less = ' detail="low" takes less memory for each step.' if bound.endswith(_OF_FREE) else ""
        notices.append(f"The capture stopped itself {bound}: {kept}. {_how_to_choose(options, n_steps)}{less}")
    selection = options.selection()
    if selection is not None and not keeper.windows and keeper.failure is None:
        notices.append(f"No step met {selection.description}: {_marked(n_steps)}")
    return notices


def _how_to_choose(options: CaptureOptions, n_steps: int) -> str:
    if options.selection() is not None:
        return "Select fewer steps, or raise the bound."
    if not n_steps:
        return "Raise the bound, or capture a shorter piece."
    first, stop = min(10, n_steps // 2), min(50, n_steps)
    if options.command == "%%tfprofile":
        return f"To choose them: `%%tfprofile --steps {first}:{stop}`."
    return f"To choose them: `profile(steps=range({first}, {stop}))`."


def _marked(n_steps: int) -> str:
    if n_steps:
        return f"the program marked steps up to number {n_steps - 1}. Choose among these."
    return (
        "the program marked no step. Steps are marked by Keras' fit, evaluate and predict, by `trace_steps(dataset)` "
        "and by `step(i)`; without them leave the selection out."
    )
