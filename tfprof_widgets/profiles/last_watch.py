"""Trainings that were watched in this process -> how fast the last one of the same cell was, and how the next one compares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..analysis.base.wording import milliseconds
from ..analysis.watched.outcome import compared, usual_ms
from ..trace.trace import Float64
from ..trace.watched import Steps
from ..views.widgets.shell import kernel_shell

N_STEPS = 10_000
"""Of a run its last so many steps are kept, 80 kB."""
_MOST_CELLS = 100


@dataclass(frozen=True)
class LastWatch:
    """The last steps of a training that has ended, without those that anything held up."""

    ms: Float64

    @property
    def step_ms(self) -> float:
        """Their median."""
        return float(np.median(self.ms))

    def words(self, steps: Steps | None) -> str:
        """How the steps of a run that ended compare with it; of one that runs, how long its own took.

        Args:
            steps: the last ones of the run; None while it runs.
        """
        if steps is not None and (told := compared(self.ms, usual_ms(steps))):
            return told
        return f"last run {milliseconds(self.step_ms)} a step (median)"


_last: dict[str, LastWatch] = {}
"""By cell."""


def last_watch() -> LastWatch | None:
    """The last one of the running cell, in a program the last one; None before the first."""
    return _last.get(_cell())


def keep_last(steps: Steps) -> None:
    """Keep the pace of a training of the running cell, by its last steps."""
    ms = usual_ms(steps)
    if not len(ms):
        return
    cell = _cell()
    _last.pop(cell, None)
    _last[cell] = LastWatch(ms)
    if len(_last) > _MOST_CELLS:
        del _last[next(iter(_last))]


def _cell() -> str:
    shell = kernel_shell()
    found = None if shell is None else shell.kernel.get_parent().get("metadata", {}).get("cellId")
    return found if isinstance(found, str) else ""
