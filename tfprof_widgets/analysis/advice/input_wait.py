"""The steps -> how long each waited for data, and whether that is the pipeline's doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Float64
from ..input.input_usage import INPUT_HIGH, INPUT_MODERATE

if TYPE_CHECKING:
    from .run import Run

MIN_WAIT_MS = 0.3
"""Handing a ready batch over takes 0.05 to 0.3 ms, the more the busier the machine: waking a thread. Steps so short that this is
a large share of them need larger batches, not a faster pipeline."""
LONG_WAIT_MS = 50.0
"""Waits that come in few steps, such as at the begin of each file, count where they are longer than a busy machine makes a thread
wait for a core, and come twice."""
OFTEN = 0.25
"""A pipeline that works ahead fills its buffer while the training computes; where the training has to wait long in so many steps
all the same, it is emptied faster than it is filled. A busy machine makes single steps wait."""


@dataclass(frozen=True, eq=False, repr=False)
class InputWait:
    """Waiting for data in the steps that averages are over."""

    ms: Float64
    """For each step; without copies to a device that nothing hides, which are not the pipeline's."""
    ratio: float
    """Share of the time of all steps."""
    is_told: bool
    """Whether it is more than handing ready batches over, and more than chance."""
    sets_the_pace: bool
    """Whether it is so long in so many steps that nothing else could make the training faster."""


def input_wait(run: Run) -> InputWait:
    """Find it."""
    steps = run.steps
    if not len(steps):
        return InputWait(np.zeros(0), 0.0, is_told=False, sets_the_pace=False)
    wait = steps.wait_ms("input")
    ratio = float(wait.mean()) / steps.mean_ms if steps.mean_ms else 0.0
    is_usual = float(np.median(wait)) >= max(MIN_WAIT_MS, INPUT_MODERATE * steps.median_ms)
    is_repeated = int((wait >= LONG_WAIT_MS).sum()) >= 2
    is_often = float((wait >= max(MIN_WAIT_MS, INPUT_HIGH * steps.median_ms)).mean()) >= OFTEN
    is_told = ratio >= INPUT_MODERATE and (is_usual or is_repeated or is_often)
    return InputWait(wait, ratio, is_told=is_told, sets_the_pace=is_often and ratio >= INPUT_HIGH)
