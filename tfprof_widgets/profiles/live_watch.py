"""A training that runs -> `Watch`: every step as it comes, and profiles of those that went wrong, while the cell runs."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Iterator
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import CaptureError
from ..views.widgets.shell import kernel_shell
from .one_run import Profile
from .status_line import StatusLine, status_line
from .watch_loop import WatchLoop, free_folder
from .watch_state import batches_told, figures, head_of, line_of, state_of_outcome, window_head
from .watch_windows import WindowReader, place_in
from .watched_run import WatchedRun

if TYPE_CHECKING:
    from ..capture.session.record import Outcome, Window
    from ..capture.session.session import Capture
    from ..capture.source.captured_program import CapturedProgram
    from ..trace.watched import WatchLog
    from ..views.widgets.live import LiveView
    from .watch_options import WatchOptions

MAX_SECONDS, MAX_BYTES = 60.0, 32 * 2**20
"""Of one window, as of a capture."""
ROOM_BYTES = 256 * 2**20
"""Where the folder is to have room: for steps of some hours, and some windows."""
_PATIENCE_S = 2.0


class Watch(WatchedRun):
    """A training that is being watched, or was: what `watch()` gives. It is a `WatchedRun` all the while.

    Use it in a `with` block, once. In the block, and from other threads, its tables and `report()` tell what has
    happened so far.

    Examples:
        >>> with tfprof.watch(max_windows=0) as watch:
        ...     history = model.fit(dataset, verbose=0)
        ...     running = watch.is_running
        >>> running, watch.is_running
        (True, False)
    """

    def __init__(self, options: WatchOptions, *, title: str = "") -> None:
        super().__init__(self._read_log)
        self._options, self._plan, self._title = options, options.plan(), title
        self._state = "running"
        self._ended_ns: int | None = None
        self._loop: WatchLoop | None = None
        self._reader: WindowReader | None = None
        self._view: LiveView | None = None
        self._line = StatusLine()
        self._capture: Capture | None = None
        self._lock = threading.Lock()
        self._block = contextlib.ExitStack()

    # ---- while it runs ----------------------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether the training is still watched: true inside the block."""
        return self._capture is not None and self._capture.is_running

    def capture(self, n_steps: int = 10) -> None:
        """Profile the next steps. It returns at once, and may be called from any thread while the training runs.

        The window is one of `windows` some time after its last step. Where no Python can be run, `touch` the file
        `capture` in `folder`.

        Args:
            n_steps: how many steps, 1 or more.

        Raises:
            CaptureError: the training is not watched any more.
            TypeError: `n_steps` is no whole number.
            ValueError: `n_steps` is less than 1.
        """
        from ..capture.session.selection import require_positive

        require_positive("n_steps", n_steps, Integral, give="a whole number of steps, such as 10")
        if not self.is_running:
            raise CaptureError("The training is not watched any more: capture() asks for steps that are still to come.")
        self._plan.ask(n_steps, "asked for")

    @property
    def windows(self) -> list[Profile]:
        """The profiles of the windows that have closed, oldest first; empty where nothing was profiled."""
        return [] if self._reader is None else [found.profile for found in list(self._reader.windows)]

    def dashboard(self) -> LiveView:
        """The widget that shows it, which moves while the training runs."""
        if self._view is None or self._view.comm is None:  # it is closed where its cell was run again
            from ..views.widgets.live import LiveView

            self._view = LiveView()
            self._view.on_msg(self._answer)
            self._push()
        return self._view

    def __enter__(self) -> Watch:
        """Begin to watch what runs in this process.

        Raises:
            CaptureError: TensorFlow is missing, another capture runs, there is no place for files, or it has been used before.
        """
        if self._capture is not None:
            raise CaptureError("This watch has been used: make a new one with tfprof_widgets.watch().")
        with contextlib.ExitStack() as opened:
            line = opened.enter_context(status_line())
            opened.enter_context(watching(self, line))
            self._block = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._block.__exit__(kind, error, traceback)

    # ---- its begin and its end, for whoever watches ---------------------------------------------------------------------

    def begin(self, line: StatusLine, **parts: Any) -> Capture:
        """Begin to watch what runs in this process, and return the capture that its steps are told to.

        Args:
            line: says how far it is.
            parts: of the `Capture`: `patch`, `end_if_over`.

        Raises:
            CaptureError: TensorFlow is missing, another capture runs, no place for files.
        """
        import os

        from ..capture.session.record import CaptureOptions
        from ..capture.session.session import Capture
        from ..capture.watched.machine_rows import MachineRows
        from ..capture.watched.recorder import StepRecorder
        from ..capture.watched.step_feed import StepFeed
        from ..formats.watch_log.layout import WINDOWS
        from ..formats.watch_log.writer import WatchWriter
        from ..trace.scratch import make_folder, remove_folder

        if self._options.logdir is None:
            folder = make_folder(ROOM_BYTES)
            weakref.finalize(self, remove_folder, folder, os.getpid())
        else:
            folder = free_folder(Path(self._options.logdir).expanduser().absolute(), time.time_ns())
        machine = MachineRows()
        recorder = StepRecorder(machine.memory)
        feed = StepFeed(recorder)
        n_windows = self._plan.max_windows + 50
        options = CaptureOptions(
            steps=self._plan,
            system=False,
            detail=self._options.detail,
            logdir=folder / WINDOWS,
            max_seconds=MAX_SECONDS * n_windows,
            max_bytes=MAX_BYTES * n_windows,
            command="watch",
        )
        self._capture = Capture(options, listener=recorder, on_window=self._take_window, **parts)
        self._reader = WindowReader(feed, machine, self._push, makes_dashboards=kernel_shell() is not None)
        self._loop = WatchLoop(feed, self._plan, machine, WatchWriter(folder), finds_windows=self._options.windows)
        self._loop.on_tick = self._tick
        self._line = line
        self._capture.start()
        # A folder that is gone with the watch has a name that says nothing.
        title = self._title or ("watched training" if self._options.logdir is None else "")
        self._loop.event("begin", title=title, process_id=os.getpid())
        machine.start()
        self._reader.start()
        self._loop.start()
        return self._capture

    def show(self, line: StatusLine) -> None:
        """Display the widget in a notebook, in the place of the line; elsewhere have the line tell of it."""
        if kernel_shell() is None:
            line.begin(self._words())
            return
        with contextlib.suppress(Exception):  # a display must not fail a training
            line.display(self)

    def finish(self, outcome: str) -> None:
        """Take what is left, after the capture has stopped."""
        if self._loop is None or self._reader is None:
            return
        self._state, self._ended_ns = state_of_outcome(outcome), time.time_ns()
        if self._capture is not None and self._capture.program.unrecorded:
            self._loop.event("unrecorded", name=self._capture.program.unrecorded)
        self._loop.event("end", outcome=outcome)
        self._loop.machine.stop()
        self._reader.stop(_PATIENCE_S)
        self._loop.stop()
        self._loop.writer.close()
        self._line.rest = self._words()

    def _take_window(self, window: Window, program: CapturedProgram) -> None:
        """On the thread that trains."""
        loop, reader = self._loop, self._reader
        if loop is None or reader is None:
            return
        self._plan.rest_after((window.stop_ns - window.start_ns) / 1e9 + window.stop_s)
        found = reader.take(window, program, self._plan.why)
        loop.event(
            "window",
            step=window.first_step,
            index=found.index,
            first_step=window.first_step,
            last_step=window.last_step,
            why=found.why,
            path=place_in(loop.writer.folder, window.run_dir),
        )

    def _tick(self, *, is_last: bool) -> None:
        """On the loop's thread."""
        self._push()
        if not is_last:
            self._line.say(self._words())

    def _words(self) -> str:
        loop = self._loop
        if loop is None or self._reader is None:
            return ""
        told = sum(one.severity != "info" for one in loop.anomalies)
        n_windows, batches = len(self._reader.windows), batches_told(loop.last)
        return line_of(loop.bins.n_steps, figures(loop.last), n_windows, told, batches=batches)

    def _push(self) -> None:
        view, loop, reader = self._view, self._loop, self._reader
        if view is None or loop is None or reader is None:
            return
        with self._lock:
            windows = list(reader.windows)
            capture = self._capture
            notices = [*(() if capture is None else capture.notices), loop.writer.notice]
            columns = loop.bins.columns()
            view.push(
                head_of(
                    title=self._title,
                    state=self._state,
                    columns=columns,
                    n_steps=loop.bins.n_steps,
                    latest=loop.last,
                    borders=loop.borders,
                    started_ns=loop.started_ns,
                    ended_ns=self._ended_ns,
                    anomalies=loop.anomalies,
                    windows=[window_head(found) for found in windows],
                    file=str(loop.writer.folder),
                    trigger_file=str(loop.writer.folder / "capture"),
                    budget=f"{self._plan.n_own} of {self._plan.max_windows} windows",
                    notices=[notice for notice in notices if notice],
                    can_ask=self.is_running,
                    is_recorded=capture is None or not capture.program.unrecorded,
                ),
                bins=columns,
                samples=loop.samples.columns(loop.started_ns),
                opened=[found.dashboard for found in windows if found.dashboard is not None and found.state == "ready"],
            )

    def _answer(self, _view: object, message: dict[str, Any], _buffers: object) -> None:
        if message.get("kind") == "capture" and self.is_running:
            asked = message.get("n")
            self.capture(asked if isinstance(asked, int) and 0 < asked <= 10_000 else self._plan.n_steps)

    def _read_log(self) -> WatchLog:
        from ..formats.watch_log.reader import read_watch_log

        if self._loop is None:
            raise CaptureError("Nothing was watched yet: the steps come when the `with` block runs.")
        return read_watch_log(self._loop.writer.folder)


@contextlib.contextmanager
def watching(watch: Watch, line: StatusLine) -> Iterator[Watch]:
    """Watch a block: its steps, and what is shown of them."""
    from ..capture.keras.patch import KerasPatch
    from ..capture.session.shield import interrupts_put_off

    capture = watch.begin(line, patch=KerasPatch())
    outcome: Outcome = "complete"
    error: BaseException | None = None
    try:
        watch.show(line)
        yield watch
    except BaseException as raised:
        error, outcome = raised, "interrupted" if isinstance(raised, KeyboardInterrupt) else "exception"
        raise
    finally:
        with contextlib.suppress(KeyboardInterrupt), interrupts_put_off():
            try:
                capture.stop(outcome=outcome, error=error)
            finally:
                watch.finish(outcome)
