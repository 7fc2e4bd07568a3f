"""`Watch`: every step of a running training as it comes, and profiles of those that went wrong."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import math
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from .analysis.watching.anomalies import Anomaly, AnomalyFinder
from .capture.bounds import FEWEST_PIECES, n_pieces_of_code
from .capture.keras import CapturingCallback, KerasPatch, OwnMarksPatch
from .capture.machine import MachineRows
from .capture.record import DEFAULT_MAX_BYTES, DEFAULT_MAX_SECONDS, CaptureOptions, record_of
from .capture.session import Capture
from .capture.step_rows import StepRecorder, place_of
from .capture.steps import takes_arguments_of
from .capture.window_policy import DEFAULT_STEPS, DEFAULT_WINDOWS, OddPolicy, require_positive
from .errors import CaptureError
from .loading import WatchedRun
from .profiles import Profile
from .progress import StatusLine, status_line
from .read.steps_file import FOLDER
from .show.front_end import kernel_shell
from .trace.capture_facts import COMPILED, XLA_COMPILED, Steps
from .watching_state import N_LATEST, Training

if TYPE_CHECKING:
    from .capture.program.captured import CapturedProgram
    from .capture.record import CaptureRecord, Detail, Window
    from .show.live import LiveView
    from .trace.capture_facts import Event, WatchLog


_PATIENCE_S = 2.0
_AROUND_NS = 10**10
"""Samples of the machine so long before and after a window are its profile's."""
LOOK_S = 0.1
"""How often a long step and an iterator's gaps are checked for."""
TAKE_S = 0.25
MAX_TAKE_S = 0.4
"""A widget that moves twice a second."""
MAX_UNREAD = 60
"""Of tf.data's 100 gaps: steps are taken this often if that costs less than 1 % of a core, else only the gaps are read."""
LEAD = 2
"""Steps between a window's begin and its aim, as the first step of a capture counts as warming up."""
LONG_RATIO, LONG_S = 3.0, 0.05
"""A step is looked at while it runs after so many times the usual and so long."""
_COMPILE_S = 0.25
"""A step that is longer may have been compiled, before it is known what is usual."""
TRIGGER = "capture"
"""A file of this name in the folder asks for a window."""

_logger = logging.getLogger(__name__)


def watch(
    *,
    every: int | None = None,
    every_seconds: float | None = None,
    windows: bool = True,
    max_windows: int = DEFAULT_WINDOWS,
    window_steps: int = DEFAULT_STEPS,
    logdir: str | Path | None = None,
    detail: Detail = "normal",
) -> Watch:
    """Watch a training while it runs: every step in a widget that moves, and profiles of those that go wrong.

    A widget shows how long each step takes, what it waits for, the loss and the machine, and names what is beyond the
    run's own noise. Some steps are profiled by themselves: after a step or a phase that is slow, and as `every` says;
    each such window opens its dashboard while the training goes on. On a terminal one line tells the same figures.
    `fit`, `evaluate` and `predict` tell their steps; in a loop of your own `trace_steps` or `step` do.

    Args:
        every: profile some steps at each step whose number is a multiple of this.
        every_seconds: and as often as this, in seconds.
        windows: whether what goes wrong is profiled without being asked.
        max_windows: how many windows open without being asked, at most.
        window_steps: how many steps a window has.
        logdir: keep the steps and windows in a folder below this one. Without it they live as long as what is returned;
            of a process that was killed, `recover` lists them. `load` opens the folder.
        detail: of the windows, as of `profile`.

    Returns:
        A `Watch`, for a `with` block.

    Raises:
        CaptureError: from the block: TensorFlow is missing, another capture runs, or there is no place for files.
        TypeError: an argument of the wrong type.
        ValueError: an argument that means nothing.

    Examples:
        >>> with tfprof.watch(windows=False) as watch:
        ...     history = model.fit(dataset, epochs=2, verbose=0)
        >>> len(watch.steps)
        16
    """
    return Watch(
        watch_options(
            every=every,
            every_seconds=every_seconds,
            windows=windows,
            max_windows=max_windows,
            window_steps=window_steps,
            logdir=logdir,
            detail=detail,
        )
    )


def watch_options(*, logdir: str | Path | None = None, detail: Detail = "normal", **plan: Any) -> CaptureOptions:
    """The capture that a watch is, with a new policy; a bad argument is a `TypeError` or `ValueError` that says what to give."""
    policy = OddPolicy(**plan)
    n_windows = policy.max_windows + 50
    return CaptureOptions(
        steps=policy,
        system=False,
        detail=detail,
        logdir=logdir,
        max_seconds=DEFAULT_MAX_SECONDS * n_windows,
        max_bytes=DEFAULT_MAX_BYTES * n_windows,
        command="watch",
    )


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

    def __init__(self, options: CaptureOptions, *, title: str = "") -> None:
        super().__init__(self._read_log)
        assert isinstance(options.steps, OddPolicy)
        self._options, self._plan, self._title = options, options.steps, title
        self._loop: WatchLoop | None = None
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
        require_positive("n_steps", n_steps, Integral, give="a whole number of steps, such as 10")
        if not self.is_running:
            raise CaptureError("The training is not watched any more: capture() asks for steps that are still to come.")
        self._plan.ask(n_steps, "asked for")

    @property
    def windows(self) -> list[Profile]:
        """The profiles of the windows that have closed, oldest first; empty where nothing was profiled."""
        return [] if self._loop is None else list(self._loop.reader.profiles)

    def dashboard(self) -> LiveView:
        """The widget that shows it, which moves while the training runs."""
        if self._view is None or self._view.comm is None:  # it is closed where its cell was run again
            from .show.live import LiveView

            self._view = LiveView()
            self._view.on_msg(self._answer)
            self._push()
        return self._view

    def __enter__(self) -> Watch:
        """Begin to watch what runs in this process."""
        with contextlib.ExitStack() as opened:
            capture = self.begin(patch=KerasPatch())
            opened.enter_context(self._line)
            opened.enter_context(capture.around())
            self._block = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._block.__exit__(kind, error, traceback)

    # ---- for whoever watches ----------------------------------------------------------------------------------------------

    def begin(self, **parts: Any) -> Capture:
        """Begin to watch what runs in this process, with these `parts` of the `Capture`, and show it; the line ends with it."""
        if self._capture is not None:
            raise CaptureError("This watch has been used: make a new one with tfprof_widgets.watch().")
        logdir = None if self._options.logdir is None else free_folder(Path(self._options.logdir))
        options = replace(self._options, logdir=logdir)
        self._loop = WatchLoop(self._plan, self._tick)
        # A folder that is gone with the watch has a name that says nothing.
        title = self._title or ("watched training" if logdir is None else "")
        self._capture, self._line = Capture(options, watcher=self._loop, title=title, **parts), status_line()
        self._capture.start()
        self._loop.start(self._capture)
        if kernel_shell() is None:
            self._line.begin(self._words())
        else:
            with contextlib.suppress(Exception):  # a display must not fail a training
                self._line.display(self)
        return self._capture

    def _tick(self, *, is_last: bool) -> None:
        self._push()
        if is_last:
            self._line.rest = self._words()
        else:
            self._line.say(self._words())

    def _words(self) -> str:
        loop = self._loop
        if loop is None:
            return ""
        return loop.training.line(len(loop.reader.profiles), sum(one.severity != "info" for one in loop.anomalies))

    def _push(self) -> None:
        view, loop, capture = self._view, self._loop, self._capture
        if view is None or loop is None or capture is None:
            return
        with self._lock:
            folder = capture.writer.folder
            loop.training.show_in(
                view,
                without_end="running",
                anomalies=loop.anomalies,
                opened=list(loop.reader.dashboards),
                file=str(folder),
                trigger_file=str(folder / TRIGGER),
                budget=f"{self._plan.n_own} of {self._plan.max_windows} windows",
                notices=[notice for notice in (*capture.notices, capture.writer.notice) if notice],
                can_ask=not loop.training.outcome,
                is_recorded=not capture.program.unrecorded,
            )

    def _answer(self, _view: object, message: dict[str, Any], _buffers: object) -> None:
        if message.get("kind") == "capture" and self.is_running:
            asked = message.get("n")
            self.capture(asked if isinstance(asked, int) and 0 < asked <= 10_000 else self._plan.n_steps)

    def _read_log(self) -> WatchLog:
        from .read.steps_file import read_watch_log

        if self._capture is None:
            raise CaptureError("Nothing was watched yet: the steps come when the `with` block runs.")
        return read_watch_log(self._capture.writer.folder)


class WatchCallback(CapturingCallback[Watch]):
    """A Keras callback that watches the `fit`, `evaluate` or `predict` it is passed to, as `watch()` does.

    In a notebook a widget shows every step while the call runs, elsewhere one line on the terminal.

    Its arguments are those of `watch`: `every`, `every_seconds`, `windows`, `max_windows`, `window_steps`, `logdir`, `detail`.

    Raises:
        CaptureError: TensorFlow is not installed.
        TypeError: an argument of the wrong type.
        ValueError: an argument that means nothing.

    Examples:
        >>> callback = tfprof.WatchCallback(windows=False)
        >>> history = model.fit(dataset, callbacks=[callback], verbose=0)
        >>> len(callback.watch.steps)
        8
    """

    _result_name = "watch"

    @takes_arguments_of(watch)
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = partial(watch_options, **options)
        self._options()  # what is no such argument is refused now
        self._now: Watch | None = None

    @property
    def watch(self) -> Watch:
        """The `Watch` of the last call.

        Raises:
            CaptureError: no call has been watched yet, or the first one still runs.
        """
        return self._last_result

    @property
    def watches(self) -> list[Watch]:
        """The `Watch` of each call that has ended, oldest first; empty before the first."""
        return self._all_results

    def _start_capture(self, end_if_over: Callable[[], None]) -> Capture:
        self._now = Watch(self._options())
        return self._now.begin(patch=OwnMarksPatch(), end_if_over=end_if_over)

    def _result_of(self, record: CaptureRecord) -> Watch:  # noqa: ARG002 -- its steps are in its folder
        assert self._now is not None
        watch, self._now = self._now, None
        watch._line.end()
        return watch


class WindowReader:
    """Takes windows from the thread that trains, and reads one after the other."""

    def __init__(self, recorder: StepRecorder, machine: MachineRows, on_read: Callable[[], None]) -> None:
        """`on_read` is called after each window, on the thread that reads."""
        self.profiles: list[Profile] = []
        self.dashboards: list[Any] = []
        """Of the windows that are ready, where a front end can show them."""
        self._recorder, self._machine, self._makes_dashboards = recorder, machine, kernel_shell() is not None
        self._on_read = on_read
        self._waiting: queue.SimpleQueue[tuple[Profile, CapturedProgram, dict[str, Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tfprof-watch-windows", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, patience_s: float) -> None:
        """Read no more than what waits, for so long at most; what is not read then is read when it is asked for."""
        self._waiting.put(None)
        self._thread.join(patience_s)

    def take(self, window: Window, program: CapturedProgram, head: dict[str, Any]) -> None:
        """Take a window; `head` gets its state, and its profile's first words or why it failed."""
        steps = "" if window.first_step is None else f": steps {window.first_step:,} to {window.last_step:,}"
        profile = Profile(title=f"window {len(self.profiles) + 1}{steps}")
        system = self._machine.table()
        is_near = (system["time_ns"] > window.start_ns - _AROUND_NS) & (system["time_ns"] < window.stop_ns + _AROUND_NS)
        facts = {"outcome": "complete", "n_steps": window.n_steps, "notices": ()}
        profile.run.take(record_of((window,), program, system[is_near], **facts))
        self.profiles.append(profile)
        self._waiting.put((profile, program, head))

    def _run(self) -> None:
        while (taken := self._waiting.get()) is not None:
            profile, program, head = taken
            try:
                with self._recorder.disturbing():
                    program.write()
                    advice = next((one for one in profile.advice if one.severity in ("medium", "high")), None)
                    head["words"] = profile.overview.verdict if advice is None else advice.title
                    if self._makes_dashboards:
                        self.dashboards.append(profile.dashboard())
                head["state"] = "ready"
            except Exception as error:  # the training goes on, and so does the reading of others
                _logger.info("a window could not be read", exc_info=True)
                head |= {"state": "failed", "words": f"It could not be read: {error}"}
            with contextlib.suppress(Exception):  # a front end that is gone
                self._on_read()


class WatchLoop:
    """Looks at a capture: writes its steps and samples, finds what is odd in them, and wishes for windows of that."""

    def __init__(self, plan: OddPolicy, on_tick: Callable[..., None]) -> None:
        """`on_tick` is called after each look."""
        self.plan, self.on_tick = plan, on_tick
        self.machine = MachineRows()
        self.recorder = StepRecorder(self.machine.memory, is_watched=True)
        self.reader = WindowReader(self.recorder, self.machine, lambda: on_tick(is_last=False))
        self.training = Training(time.time_ns())
        self.finder = AnomalyFinder(n_cores=os.cpu_count() or 0)
        self.anomalies: list[Anomaly] = []
        """As of the last look."""
        self._told: dict[int, tuple[object, ...]] = {}
        self._slow_step = -1
        self._n_pieces: int | None = None
        """Of compiled code, when a step was long."""
        self._failed: set[str] = set()
        self._long_ns = math.inf
        self._over = threading.Lock()
        self._over.acquire()  # a lock that is held until the end: to wait for it takes less than for an event
        self._thread: threading.Thread | None = None

    def start(self, capture: Capture) -> None:
        """Begin, in the context of the cell: by it ipykernel knows whose output a thread's is."""
        self.note, self.writer = capture.note, capture.writer
        self.machine.start()
        self.reader.start()
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="tfprof-watch", daemon=True)
        self._thread.start()

    def take_window(self, window: Window, program: CapturedProgram) -> None:
        """Have a window read, and none opened for a while."""
        self.plan.rest_after((window.stop_ns - window.start_ns) / 1e9 + window.stop_s)
        self.reader.take(window, program, self.training.windows[-1])

    def take_event(self, event: Event) -> None:
        """Look at what happened."""
        self.finder.add_event(event)
        self.training.add_event(event)

    def end(self) -> None:
        """End, when all that was taken is written and shown; on any other thread."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self.machine.stop()
        self.reader.stop(_PATIENCE_S)
        self._over.release()
        thread.join(10.0)

    def _run(self) -> None:
        due_s = early_s = time.monotonic()
        while not self._over.acquire(timeout=LOOK_S):
            with contextlib.suppress(Exception):
                self._look()
            now_s = time.monotonic()
            if now_s >= due_s or (now_s >= early_s and self.recorder.n_waiting >= MAX_UNREAD):
                used_s = time.thread_time()
                self._take(is_last=False)
                used_s, now_s = time.thread_time() - used_s, time.monotonic()
                # 0.4 % of a core where a take costs 1 ms, 1 % where it costs 4 ms: steps may wait for Python's lock meanwhile.
                due_s = now_s + min(max(TAKE_S, 250 * used_s), MAX_TAKE_S)
                early_s = now_s + 100 * used_s
            elif self.recorder.n_waiting >= MAX_UNREAD:
                self.recorder.ask()
        self._take(is_last=True)

    def _look(self) -> None:
        current = self.recorder.current
        if current is None:
            return
        number, thread_id, age_ns = current
        if age_ns < self._long_ns or number == self._slow_step:
            return
        self._slow_step = number
        place = place_of(thread_id)
        if place:
            self.note("line", step=number, ms=age_ns / 1e6, place=place)

    def _take(self, *, is_last: bool) -> None:
        """Take what there is; a failing part ends neither the training nor its file nor the others."""
        for part in (self._take_steps, self._take_sample, self._tell_anomalies, self._heed_file, self.on_tick):
            try:
                part(is_last=is_last)
            except Exception:
                level = logging.DEBUG if part.__name__ in self._failed else logging.WARNING
                _logger.log(level, "a part of watching failed: %s", part.__name__, exc_info=True)
                self._failed.add(part.__name__)

    def _take_steps(self, *, is_last: bool) -> None:
        steps = self.recorder.take(is_last=is_last)
        for ns, n_bytes in self.recorder.take_memory():
            self.finder.add_memory(ns, n_bytes)
        if len(steps):
            self._note_compiling(steps)
            self.writer.add_steps(steps)
            self.training.add_steps(steps)
            latest = self.training.latest
            if len(latest) >= N_LATEST:
                usual_ns = 1e3 * float(np.median(latest["duration_us"][-N_LATEST:]))
                self._long_ns = max(LONG_RATIO * usual_ns, 1e9 * LONG_S)
            self.finder.add_steps(steps)  # last: it makes more of them than the others
        for event in self.recorder.take_epochs():
            self.note(**event)

    def _note_compiling(self, steps: Steps) -> None:
        """Find the long steps in which XLA compiled without tracing: code is new in the process."""
        is_traced = steps["flags"] & COMPILED != 0
        is_long = (1e3 * steps["duration_us"] > min(self._long_ns, 1e9 * _COMPILE_S)) & ~is_traced
        if not (is_long.any() or is_traced.any() or self._n_pieces is None):
            return
        n_pieces, before = n_pieces_of_code(), self._n_pieces
        self._n_pieces = n_pieces
        if before is not None and n_pieces - before >= FEWEST_PIECES and not is_traced.any():
            most = steps["duration_us"].max()  # what others hold up beside it is shorter
            steps["flags"][is_long & (2 * steps["duration_us"] >= most)] |= XLA_COMPILED

    def _take_sample(self, **_: object) -> None:
        row = self.machine.take()
        if row is not None:
            self.writer.add_sample(row)
            self.training.add_sample(row)
            self.finder.add_samples(row)

    def _tell_anomalies(self, *, is_last: bool) -> None:
        """Write new or changed anomalies, and profile those that a profile would explain."""
        self.anomalies = self.finder.anomalies
        for anomaly in self.anomalies:
            # Its figures change with each step.
            known = (anomaly.kind, anomaly.last_step, anomaly.severity, anomaly.window)
            if self._told.get(anomaly.number) != known or is_last:
                self._told[anomaly.number] = known
                told = {"what": anomaly.kind, "kind": "anomaly", "at_ns": time.time_ns(), "step": anomaly.first_step}
                self.writer.add_event({**asdict(anomaly), **told})
            if anomaly.wants_window:
                at = None if anomaly.next_at is None else max(anomaly.next_at - LEAD, 0)
                self.plan.suggest(anomaly.title, known_as=str(anomaly.number), at=at)

    def _heed_file(self, **_: object) -> None:
        with contextlib.suppress(OSError):  # mostly it is not there
            (self.writer.folder / TRIGGER).unlink()
            self.plan.ask(self.plan.n_steps, f"{TRIGGER} was touched")


def free_folder(logdir: Path) -> Path:
    first = logdir.expanduser().absolute() / time.strftime(f"{FOLDER}%Y%m%d-%H%M%S")
    places = (first, *(first.with_name(f"{first.name}-{i}") for i in range(2, 10_000)))
    return next(place for place in places if not place.exists())
