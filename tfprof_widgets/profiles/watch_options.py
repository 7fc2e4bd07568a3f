"""The arguments of `watch()`, of the callback that watches and of a cell -> `WatchOptions`: what a watch is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..capture.session.record import CaptureOptions
from ..capture.watched.window_plan import DEFAULT_STEPS, DEFAULT_WINDOWS, WindowPlan

if TYPE_CHECKING:
    from ..capture.session.detail import Detail


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """What a watch is asked to do; `watch()` tells each.

    Raises:
        TypeError, ValueError: an argument that means nothing; the message says what to give.
    """

    every: int | None = None
    every_seconds: float | None = None
    windows: bool = True
    max_windows: int = DEFAULT_WINDOWS
    window_steps: int = DEFAULT_STEPS
    logdir: str | Path | None = None
    detail: Detail = "normal"

    def __post_init__(self) -> None:
        self.plan()
        CaptureOptions(detail=self.detail, logdir=self.logdir)

    def plan(self) -> WindowPlan:
        """A new plan of windows."""
        return WindowPlan(
            every=self.every,
            every_seconds=self.every_seconds,
            n_steps=self.window_steps,
            max_windows=self.max_windows,
        )
