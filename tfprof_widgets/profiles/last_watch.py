"""Trainings that were watched in this process -> how fast the last one of the same cell was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..analysis.base.wording import number, plural
from ..trace.watched import AFTER_WINDOW, PROFILED, Steps, trained
from ..views.widgets.shell import kernel_shell

N_STEPS = 10_000
"""Of the last so many steps of a run the median is kept."""
_MOST_CELLS = 1_000
_last: dict[str, LastWatch] = {}


@dataclass(frozen=True)
class LastWatch:
    """One training that has ended."""

    step_ms: float
    """The median of its last steps, without those that a window or its files held up."""
    n_steps: int
    """How many these were."""

    @property
    def words(self) -> str:
        """`4.81 ms a step in the last run (median of its last 10,000 steps)`."""
        return f"{number(self.step_ms)} ms a step in the last run (median of its last {plural(self.n_steps, 'step')})"


def last_watch() -> LastWatch | None:
    """The last one of the running cell, in a program the last one; None before the first."""
    return _last.get(_cell())


def keep_last(steps: Steps) -> None:
    """Keep the pace of a training of the running cell, by its last steps."""
    usual = steps[trained(steps) & (steps["flags"] & (PROFILED | AFTER_WINDOW) == 0)]
    if not len(usual):
        return
    cell = _cell()
    _last.pop(cell, None)
    _last[cell] = LastWatch(float(np.median(usual["duration_us"])) / 1e3, len(usual))
    if len(_last) > _MOST_CELLS:
        del _last[next(iter(_last))]


def _cell() -> str:
    shell = kernel_shell()
    found = None if shell is None else shell.kernel.get_parent().get("metadata", {}).get("cellId")
    return found if isinstance(found, str) else ""
