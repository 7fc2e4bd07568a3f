"""Windows that closed while a training goes on -> their profiles and dashboards, made on a thread of its own."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .one_run import Profile

if TYPE_CHECKING:
    from ..capture.session.record import Window
    from ..capture.source.captured_program import CapturedProgram
    from ..capture.watched.machine_rows import MachineRows
    from ..capture.watched.step_feed import StepFeed

_logger = logging.getLogger(__name__)


@dataclass
class WatchedWindow:
    """One window, and how far its profile is."""

    index: int
    window: Window
    why: str
    profile: Profile
    state: Literal["reading", "ready", "failed"] = "reading"
    words: str = ""
    """Why it failed, or what its profile says first."""
    dashboard: Any = field(default=None, repr=False)
    """None before it is ready, and of all windows where no front end could show it."""


class WindowReader:
    """Takes windows from the thread that trains, and reads one after the other."""

    def __init__(
        self, feed: StepFeed, machine: MachineRows, on_read: Callable[[], None], *, makes_dashboards: bool
    ) -> None:
        """Call `on_read` after each window that was read, on the thread that reads."""
        self.windows: list[WatchedWindow] = []
        self._feed, self._machine, self._makes_dashboards = feed, machine, makes_dashboards
        self._on_read = on_read
        self._waiting: queue.SimpleQueue[tuple[WatchedWindow, CapturedProgram] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tfprof-watch-windows", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, patience_s: float) -> None:
        """Read no more than what waits, for so long at most; what is not read then is read when it is asked for."""
        self._waiting.put(None)
        self._thread.join(patience_s)

    def take(self, window: Window, program: CapturedProgram, why: str) -> WatchedWindow:
        """Take a window that has closed."""
        index = len(self.windows)
        found = WatchedWindow(index, window, why, Profile(title=_title(index, window)))
        found.profile.run.take(self._record(window, program))
        self.windows.append(found)
        self._waiting.put((found, program))
        return found

    def _run(self) -> None:
        while (taken := self._waiting.get()) is not None:
            found, program = taken
            try:
                with self._feed.disturbing():
                    program.write()
                    found.words = _first_words(found.profile)
                    if self._makes_dashboards:
                        found.dashboard = found.profile.dashboard()
                found.state = "ready"
            except Exception as error:  # the training goes on, and so does the reading of others
                _logger.info("a window could not be read", exc_info=True)
                found.state, found.words = "failed", f"It could not be read: {error}"
            with contextlib.suppress(Exception):  # a front end that is gone
                self._on_read()

    def _record(self, window: Window, program: CapturedProgram) -> Any:
        from ..capture.session.record import CaptureRecord
        from ..trace.capture_facts import CaptureCost

        system = self._machine.table()
        return CaptureRecord(
            run_dirs=(window.run_dir,),
            windows=(window,),
            notices=(),
            cost=CaptureCost(start_s=window.start_s, stop_s=window.stop_s, n_bytes=window.n_bytes),
            system=system[
                (system["time_ns"] > window.start_ns - 10**10) & (system["time_ns"] < window.stop_ns + 10**10)
            ],
            outcome="complete",
            n_steps=window.n_steps,
            pauses_ns=(window.pause_ns,),
            program=program,
        )


def _title(index: int, window: Window) -> str:
    steps = "" if window.first_step is None else f": steps {window.first_step:,} to {window.last_step:,}"
    return f"window {index + 1}{steps}"


def _first_words(profile: Profile) -> str:
    """What a window tells first: its first advice, where that is of weight, else what limits it."""
    advice = next((one for one in profile.advice if one.severity in ("medium", "high")), None)
    return profile.overview.verdict if advice is None else advice.title


def place_in(folder: Path, run_dir: Path) -> str:
    """The path of a window's run directory within the folder; whole where it could not be kept there."""
    return str(run_dir.relative_to(folder)) if run_dir.is_relative_to(folder) else str(run_dir)
