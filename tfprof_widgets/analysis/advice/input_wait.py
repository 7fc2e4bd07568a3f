"""The steps -> how long each waited for data, and whether that is the pipeline's doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Float64
from ..input.input_usage import INPUT_HIGH, limits_steps, waits_often
from .input_lock import input_python_ms

if TYPE_CHECKING:
    from .run_facts import RunFacts

CROWDED = 0.5
"""Of the time of steps: less than this is no fault of a pipeline beside other programs. Well-made ones had up to 0.3 on two cores
that six processes shared."""
NEVER_RESTS = 0.8
"""Of a step: so long runs Python of the input that sets the pace."""


@dataclass(frozen=True, eq=False, repr=False)
class InputWait:
    """Waiting for data in the steps that averages are over."""

    ms: Float64
    """For each step; without copies to a device that nothing hides, which are not the pipeline's."""
    ratio: float
    """Share of the time of all steps."""
    is_long: bool
    """Whether it is more than handing ready batches over, which takes the same for any batch."""
    is_told: bool
    """Whether it is long, and more than chance: not only beside other programs that take the cores."""
    sets_the_pace: bool
    """Whether it is so long in so many steps that nothing else could make the training faster, whoever slows the input."""


def input_wait(run: RunFacts) -> InputWait:
    """Find it."""
    steps = run.steps
    if not len(steps):
        return InputWait(np.zeros(0), 0.0, is_long=False, is_told=False, sets_the_pace=False)
    wait = steps.wait_ms("input")
    ratio = float(wait.mean()) / steps.mean_ms if steps.mean_ms else 0.0
    is_long = run.results.waits_are_usual and limits_steps(wait, steps.time_ms)
    # Where others take the cores, a pipeline that keeps up otherwise falls behind; one in Python that never rests does not.
    never_rests = float(np.median(input_python_ms(run))) >= NEVER_RESTS * steps.median_ms > 0
    is_told = is_long and (never_rests or ratio >= CROWDED or not run.is_machine_busy)
    often = waits_often(wait, steps.time_ms)
    return InputWait(
        wait, ratio, is_long=is_long, is_told=is_told, sets_the_pace=is_long and often and ratio >= INPUT_HIGH
    )
