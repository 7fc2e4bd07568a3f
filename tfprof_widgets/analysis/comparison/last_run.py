"""The pace of this run and of the last one of the same cell -> one sentence."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Float64
from ..base.wording import number
from .samples import Pace, compare_samples
from .sentence import speed_words
from .step_times import BUSY_MACHINE, compare_steps

_MACHINE = "a busy machine does that, too; compare the profiles to tell: %%tfprofile --compare"


def _told(step_ms: Float64) -> str:
    """The median and the range of step times: `29.0 ms (24.8 to 39.9)`."""
    middle, least, most = (number(float(of(step_ms))) for of in (np.median, np.min, np.max))
    return f"{middle} ms ({least} to {most})"


def since_last(before: Pace, now: Pace) -> str:
    """How a run compares with the last one: `3.9 times faster than the last run (95 % interval 3.7 to 4.1).`

    By sample where the batches differ. "" where one has too few steps to tell.
    """
    samples = compare_samples(before, now)
    if samples.is_known and before.samples != now.samples:
        per, ratio, interval, figures = " per sample", samples.ratio, samples.interval, ""
    else:
        steps = compare_steps(before.step_ms, now.step_ms)
        per, ratio, interval = "", steps.ratio, steps.interval
        figures = f"the median step took {_told(before.step_ms)}, now {_told(now.step_ms)}"
    low, high = interval
    if not low <= high:  # not known
        return ""
    if low <= 1 <= high and not figures:
        return f"No sure change{per} since the last run."
    if low <= 1 <= high:
        return f"{_unsure(before.step_ms, now.step_ms)}: {figures}."
    factor, sure = speed_words(ratio, interval)
    doubt = f"; {_MACHINE}" if max(ratio, 1 / ratio) < BUSY_MACHINE else ""
    return f"{factor}{per} than the last run ({figures and f'{figures}; '}{sure}){doubt}."


def _unsure(before: Float64, now: Float64) -> str:
    """What can be said of runs whose means may be the same: that no step of the one is among those of the other is a fact."""
    if np.max(now) < np.min(before):
        return "Every step was faster than any of the last run"
    if np.min(now) > np.max(before):
        return "Every step was slower than any of the last run"
    return "No sure change since the last run"
