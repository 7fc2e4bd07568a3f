"""A capture that watches -> what is known of it, several times a second: in a file, in a widget, on a terminal.

A thread of its own takes what the training's thread left for it. It never holds the training up: what cannot be written or
shown is told, and the training goes on.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.watched.anomalies import AnomalyFinder
from ..analysis.watched.anomaly import Anomaly
from ..analysis.watched.bins import StepBins
from ..capture.watched.place import place_of
from ..formats.watch_log.layout import FOLDER
from ..trace.watched import VALIDATION, Steps, trained
from .watch_borders import Borders
from .watch_samples import SampleBins
from .watch_state import N_LATEST, latest_of

if TYPE_CHECKING:
    from ..capture.watched.machine_rows import MachineRows
    from ..capture.watched.step_feed import StepFeed
    from ..capture.watched.window_plan import WindowPlan
    from ..formats.watch_log.writer import WatchWriter

LOOK_S = 0.1
"""How often is looked whether the step that runs takes long, and whether the gaps of an iterator are to be read."""
TAKE_S = 0.25
"""How often steps are taken, written and shown."""
MAX_TAKE_S = 0.4
"""A widget that moves twice a second."""
MAX_UNREAD = 60
"""tf.data remembers 100 gaps: so many steps are taken, where that costs less than 1 % of a core, else its gaps are read."""
LEAD = 2
"""A window begins so many steps before the one that it is for: the first step of a capture counts as one that warms up."""
LONG_RATIO, LONG_S = 3.0, 0.05
"""A step that has run for so many times the usual and for so long is looked at while it runs."""
TRIGGER = "capture"
"""A file of this name in the folder asks for a window; the number in it is how many steps."""

_logger = logging.getLogger(__name__)


class WatchLoop:
    """The thread, and what it knows."""

    def __init__(
        self, feed: StepFeed, plan: WindowPlan, machine: MachineRows, writer: WatchWriter, *, finds_windows: bool
    ) -> None:
        """Watch.

        Args:
            feed: of the steps.
            plan: takes wishes for windows.
            machine: is sampled.
            writer: of the folder.
            finds_windows: whether an anomaly may ask for one.
        """
        self.feed, self.plan, self.machine, self.writer = feed, plan, machine, writer
        self.started_ns = time.time_ns()
        self.bins = StepBins(started_ns=self.started_ns, reread=writer.read_steps)
        self.samples = SampleBins()
        self.finder = AnomalyFinder(n_cores=os.cpu_count() or 0)
        self.borders = Borders()
        self.last: Steps | None = None
        """The latest steps of training."""
        self.on_tick: Callable[..., None] = _nothing
        """Called after each take, on this thread."""
        self._finds_windows = finds_windows
        self.anomalies: list[Anomaly] = []
        """What is known to be odd, as of the last look."""
        self._told: dict[int, tuple[object, ...]] = {}
        self._validated: Steps | None = None
        """The first and the last step of the validation that runs, or ran last."""
        self._slow_step = -1
        self._failed: set[str] = set()
        self._long_ns = math.inf
        self._over = threading.Lock()
        self._over.acquire()  # a lock that is held until the end: to wait for it takes less than for an event
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, in the context of the cell: by it ipykernel knows whose output a thread's is."""
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="tfprof-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, when all that was taken is written and shown; on any other thread."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._over.release()
            thread.join(10.0)

    def event(self, kind: str, *, step: int | None = None, **fields: Any) -> None:
        """Write that something happened, and have it looked at."""
        event = {"at_ns": time.time_ns(), **fields, "kind": kind, "step": step}
        self.writer.add_event(event)
        self.finder.add_event(event)
        self.borders.add_event(event)

    def _run(self) -> None:
        due_s = early_s = time.monotonic()
        while not self._over.acquire(timeout=LOOK_S):
            with contextlib.suppress(Exception):
                self._look()
            now_s = time.monotonic()
            if now_s >= due_s or (now_s >= early_s and self.feed.recorder.n_waiting >= MAX_UNREAD):
                used_s = time.thread_time()
                self._take(is_last=False)
                used_s, now_s = time.thread_time() - used_s, time.monotonic()
                # 0.4 % of a core where a take costs 1 ms, 1 % where it costs 4 ms: steps may wait for Python's lock meanwhile.
                due_s = now_s + min(max(TAKE_S, 250 * used_s), MAX_TAKE_S)
                early_s = now_s + 100 * used_s
            elif self.feed.recorder.n_waiting >= MAX_UNREAD:
                self.feed.ask()
        self._take(is_last=True)

    def _look(self) -> None:
        """See where the training is while a step takes long."""
        current = self.feed.recorder.current
        if current is None:
            return
        number, thread_id, age_ns = current
        if age_ns < self._long_ns or number == self._slow_step:
            return
        self._slow_step = number
        place = place_of(thread_id)
        if place:
            self.event("line", step=number, ms=age_ns / 1e6, place=place)

    def _take(self, *, is_last: bool) -> None:
        """Take what there is; where one part fails, which must end neither a training nor its file, the others go on."""
        for part in (self._take_steps, self._take_sample, self._tell_anomalies, self._heed_file, self.on_tick):
            try:
                part(is_last=is_last)
            except Exception:
                level = logging.DEBUG if part.__name__ in self._failed else logging.WARNING
                _logger.log(level, "a part of watching failed: %s", part.__name__, exc_info=True)
                self._failed.add(part.__name__)

    def _take_steps(self, *, is_last: bool) -> None:
        steps = self.feed.take(is_last=is_last)
        for ns, n_bytes in self.feed.recorder.take_memory():
            self.finder.add_memory(ns, n_bytes)
        if len(steps):
            self._add(steps)
        for end in self.feed.recorder.take_epochs():
            self.event("epoch_end", at_ns=end.at_ns, epoch=end.epoch, seconds=end.seconds, values=end.values)

    def _take_sample(self, **_: object) -> None:
        row = self.machine.take()
        if row is not None:
            self.writer.add_sample(row)
            self.samples.add(row)
            self.finder.add_samples(row)

    def _add(self, steps: Steps) -> None:
        self.writer.add_steps(steps)
        self.bins.add(steps)
        self._note_borders(steps)
        self.last = latest_of(self.last, steps)
        if self.last is not None and len(self.last) >= N_LATEST:
            usual_ns = 1e3 * float(np.median(self.last["duration_us"][-N_LATEST:]))
            self._long_ns = max(LONG_RATIO * usual_ns, 1e9 * LONG_S)
        self.finder.add_steps(steps)  # last: it makes more of them than the others

    def _note_borders(self, steps: Steps) -> None:
        """Note epochs, and write that a validation has ended when training goes on behind it."""
        for piece in np.split(steps, np.flatnonzero(np.diff(steps["kind"])) + 1):
            if piece["kind"][0] == VALIDATION:
                first = piece if self._validated is None else self._validated
                self._validated = np.concatenate([first[:1], piece[-1:]])
            elif trained(piece)[0] and self._validated is not None:
                (begin, last), self._validated = self._validated, None
                end_ns = int(last["start_ns"]) + int(1e3 * last["duration_us"])
                seconds = (end_ns - int(begin["start_ns"])) / 1e9
                self.event("validation", step=int(piece["number"][0]), at_ns=end_ns, seconds=seconds)
            self.borders.add_steps(piece)

    def _tell_anomalies(self, *, is_last: bool) -> None:
        """Write what is new or has changed, and profile what a profile would explain."""
        self.anomalies = self.finder.anomalies
        for anomaly in self.anomalies:
            # Its figures change with each step.
            known = (anomaly.kind, anomaly.last_step, anomaly.severity, anomaly.window)
            if self._told.get(anomaly.number) != known or is_last:
                self._told[anomaly.number] = known
                told = {"what": anomaly.kind, "kind": "anomaly", "at_ns": time.time_ns(), "step": anomaly.first_step}
                self.writer.add_event({**asdict(anomaly), **told})
            if self._finds_windows and anomaly.wants_window:
                at = None if anomaly.next_at is None else max(anomaly.next_at - LEAD, 0)
                self.plan.suggest(anomaly.title, known_as=str(anomaly.number), at=at)

    def _heed_file(self, **_: object) -> None:
        file = self.writer.folder / TRIGGER
        if not file.exists():
            return
        with contextlib.suppress(OSError, ValueError):
            asked = file.read_bytes()[:20].strip()
            file.unlink()
            self.plan.ask(int(asked) if asked.isdigit() else self.plan.n_steps, f"{TRIGGER} was touched")


def _nothing(**_: object) -> None:
    """Do nothing."""


def folder_name(started_ns: int) -> str:
    """`tfprof-watch-20261126-074512`, of local time."""
    return time.strftime(f"{FOLDER}%Y%m%d-%H%M%S", time.localtime(started_ns / 1e9))


def free_folder(logdir: Path, started_ns: int) -> Path:
    """A folder below `logdir` that is not there yet."""
    first = logdir / folder_name(started_ns)
    return next(
        place
        for place in (first, *(first.with_name(f"{first.name}-{i}") for i in range(2, 10_000)))
        if not place.exists()
    )
