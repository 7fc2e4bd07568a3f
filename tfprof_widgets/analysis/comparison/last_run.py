"""The pace of this run and of the last one of the same cell -> one sentence."""

from __future__ import annotations

from ..base.wording import number
from .samples import Pace, compare_samples
from .step_times import BUSY_MACHINE, compare_steps

_MACHINE = "a busy machine does that, too; compare the profiles to tell: %%tfprofile --compare"


def since_last(before: Pace, now: Pace) -> str:
    """How a run compares with the last one: `3.9 times faster than the last run (95 % interval 3.7 to 4.1).`

    By sample where the batches differ. "" where one has too few steps to tell.
    """
    samples = compare_samples(before, now)
    if samples.is_known and before.samples != now.samples:
        what, ratio, interval = " a sample", samples.ratio, samples.interval
    else:
        steps = compare_steps(before.step_ms, now.step_ms)
        what, ratio, interval = "", steps.ratio, steps.interval
    low, high = interval
    if not low <= high:  # not known
        return ""
    if low <= 1 <= high:
        return f"No change beyond noise since the last run: {number(ratio)} times as long{what or ' a step'}."
    word, factors = ("slower", (ratio, low, high)) if ratio > 1 else ("faster", (1 / ratio, 1 / high, 1 / low))
    factor, least, most = map(number, factors)
    doubt = f"; {_MACHINE}" if factors[0] < BUSY_MACHINE else ""
    return f"{factor} times {word}{what} than the last run (95 % interval {least} to {most}){doubt}."
