"""Rows of two runs -> what changed alike in nearly all of them, and how much single ones differ from run to run.

Two runs of one program differ in more than the steps within each show: the machine is busier during one, memory lies
elsewhere, another thread got the warm cache. No single run can tell that, but all rows together do, as long as most of
them are of the same code: what most did alike is no property of any of them, and how far they scatter around that is how
much an unchanged row may.

Source: B. Efron, Large-scale simultaneous hypothesis testing: the choice of a null hypothesis, JASA 99 (2004).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...trace.trace import Bool, Float64
from .spread import Measured

FEWEST_ROWS = 12
"""With fewer rows of both runs nothing can be told of the common change: there is none then."""
LEAST_SCATTER = 0.02
"""Rows of one program differ at least that much from run to run, in parts of their time."""
_MOST_SCATTER = 0.25
"""More is no scatter of unchanged rows: the programs differ."""
UNKNOWN_SCATTER = 0.05
"""The scatter of rows that nothing is known of: too few ops, or rows of other kinds than ops."""
COUNTING = 1e-3
"""Rows below this part of a step do not count: they tell more of the clock than of the machine."""
_MEDIAN_OF_NORMAL = 0.6745
_MOST_ALIKE = 4.0
"""A busier machine makes no program so many times slower; another program, or another device, does: that is a change."""


@dataclass(frozen=True)
class CommonChange:
    """Of hosts or of devices."""

    ratio: float = 1.0
    """b / a of the middle row; 1 where there are too few to tell."""
    scatter: float = UNKNOWN_SCATTER
    """Standard deviation of an unchanged row around it, as a part of its time, beyond what `Measured.error` tells."""
    n_rows: int = 0
    """How many rows tell that."""

    def with_scatter_from(self, least: float) -> CommonChange:
        """The same for rows of another kind: the scatter of ops tells nothing of them below `least`."""
        return replace(self, scatter=max(self.scatter, least))


@dataclass(frozen=True)
class StepEffect:
    """What the ops tell of how far two steps of one program differ."""

    ratio: float = 1.0
    """b / a that nearly all ops have in common."""
    scatter: float = 0.0
    """Standard deviation, as a part of the step, of what its ops add that scatter between runs."""
    least: float = UNKNOWN_SCATTER
    """By which part steps of one program differ between runs in any case, however alike those of each run are."""
    machine: float = 1.0
    """By which factor other programs, as the samples tell, may have made steps of the slower run longer."""


def common_change(time_a: Measured, time_b: Measured, is_counted: Bool, *, step_ms: float) -> CommonChange:
    """Measure the common change.

    Args:
        time_a: of rows that both runs have, in the first run.
        time_b: the same rows in the second one.
        is_counted: which rows to ask: those that occur in (almost) every step and work rather than wait.
        step_ms: how long a step takes.
    """
    if not (time_a.degrees and time_b.degrees):
        return CommonChange()
    larger = np.maximum(time_a.typical, time_b.typical)
    counted = is_counted & (larger >= COUNTING * step_ms) & (time_a.typical > 0) & (time_b.typical > 0)
    n = int(counted.sum())
    if n < FEWEST_ROWS:
        return CommonChange(n_rows=n)
    a, b = time_a.typical[counted], time_b.typical[counted]
    change = np.log(b / a)
    middle = float(np.median(change))
    if abs(middle) > np.log(_MOST_ALIKE):
        return CommonChange(n_rows=n)
    own = (time_a.error[counted] / a) ** 2 + (time_b.error[counted] / b) ** 2
    return CommonChange(float(np.exp(middle)), _scatter(np.abs(change - middle), own), n)


def step_effect(
    host: CommonChange, device: CommonChange, op_ms: Float64, is_device: Bool, is_slower: bool
) -> StepEffect:
    """Find what the ops tell of the steps.

    Args:
        host: the common change of the ops of hosts.
        device: that of the ops of devices.
        op_ms: the time of each op that both runs have and that works rather than waits.
        is_device: for each of them.
        is_slower: whether the steps are: a step takes as long as the slower of both sides makes it.
    """
    ratio = (max if is_slower else min)(host.ratio, device.ratio)
    scatter = np.where(is_device, *((one.scatter if one.n_rows >= FEWEST_ROWS else 0.0) for one in (device, host)))
    total = float(op_ms.sum())
    # The variances of independent parts add up: one large op makes the step differ by more than many small ones.
    return StepEffect(ratio, float(np.sqrt(((scatter * op_ms) ** 2).sum())) / total if total else 0.0)


def _scatter(off: Float64, own_variance: Float64) -> float:
    """The standard deviation with which the middle row is as far off as the middle one of normal draws."""
    low, high = LEAST_SCATTER, _MOST_SCATTER
    for _ in range(30):  # halves the interval
        scatter = (low + high) / 2
        if np.median(off / np.sqrt(own_variance + scatter**2)) > _MEDIAN_OF_NORMAL:
            low = scatter
        else:
            high = scatter
    return high
