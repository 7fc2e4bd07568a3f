"""watch(): a training of this process while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..capture.watched.window_plan import DEFAULT_STEPS, DEFAULT_WINDOWS
from .live_watch import Watch
from .watch_options import WatchOptions

if TYPE_CHECKING:
    from ..capture.session.detail import Detail


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
    options = WatchOptions(
        every=every,
        every_seconds=every_seconds,
        windows=windows,
        max_windows=max_windows,
        window_steps=window_steps,
        logdir=logdir,
        detail=detail,
    )
    return Watch(options)
