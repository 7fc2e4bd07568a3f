"""Step times of two runs -> the ratio of their medians and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...trace.trace import Float64
from ..base.bootstrap import block_middles
from ..base.student import two_sided
from .common_change import StepEffect
from .spread import FEWEST_CELLS, block_starts

Middle = Callable[..., Any]
"""`np.median` or `np.mean`: of an array, or of each of its rows with `axis=1`."""
N_RESAMPLES = 2_000
_FEWER_RESAMPLES = 400
_MANY_STEPS = 10_000
SEED = 20_240_601
_NORMAL_95 = 1.959964
_CONFIDENCE = 95.0
_N_STRETCHES = 5
_LEAST_MS = 1e-9
BUSY_MACHINE = 1.4
"""By up to this factor a step may take longer, or shorter, because nearly all of its ops do, without being called slower or
faster: other processes and the clock of the processor do that. In 154 pairs of runs of one program on two cores that others
used now and then, steps differed by this factor in one of four. Without it 20 pairs were told apart, with 1.3 were 6, with
this are 3. A program whose ops all take twice as long is beyond it."""


@dataclass(frozen=True)
class StepTimes:
    """How long the averaged steps take; NaN for a run without steps."""

    a_ms: float
    b_ms: float
    """Medians."""
    n_a: int
    n_b: int
    ratio: float
    """b / a; NaN without steps in both."""
    interval: tuple[float, float]
    """95 % interval of the ratio, toward 1 with what a busy machine explains of it; NaN with fewer than `FEWEST_CELLS` steps
    in either run."""
    own: tuple[float, float] = (math.nan, math.nan)
    """Logarithms by which the ratio may be too high and too low, by the step times alone; NaN likewise."""

    @property
    def is_known(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.interval[0])

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the interval leaves out 1."""
        return self.is_known and not self.interval[0] <= 1 <= self.interval[1]

    @property
    def is_only_alike(self) -> bool:
        """Whether the steps differ by more than they do within each run, but nearly all ops do as much and explain it."""
        if not self.is_known or self.is_beyond_noise:
            return False
        below, above = self.own
        return not -above <= math.log(self.ratio) <= below

    @property
    def noise_ms(self) -> float:
        """By how much the step of `b` may be longer, or shorter where it is, without a difference; NaN likewise."""
        return self.a_ms * noise_part(self.ratio, self.interval)


def noise_part(ratio: float, interval: tuple[float, float]) -> float:
    """Which part of `a` a change may be without meaning anything: in its direction, so at most 1 where `b` is less.

    The change is larger than that just where the interval leaves out 1. NaN without an interval.
    """
    return ratio / interval[0] - 1 if ratio >= 1 else 1 - ratio / interval[1]


def compare_steps(
    a_ms: Float64, b_ms: Float64, *, middle: Middle = np.median, effect: StepEffect | None = None
) -> StepTimes:
    """Compare the step times of two runs, each in time order, by their medians or by what else is given, such as `np.mean`.

    The interval comes from resampling each run in blocks of neighbouring steps (a circular block bootstrap with a fixed
    seed), so that it widens where a run drifts or is slow for a while. Besides, another run is taken to differ from this one
    at least as much as the fifths of a run do from each other: one capture cannot tell how busy the machine is during the
    next. Where the machine is quiet, both are narrow; runs of one program differ by `effect.least` even then. What the ops and
    the samples tell of the machine comes on top.

    Args:
        a_ms: the steps of the first run.
        b_ms: those of the second.
        middle: what to compare.
        effect: how far the ops, by what they did alike and by how they scatter, make steps of one program differ.
    """
    middle_a, middle_b = (float(middle(ms)) if len(ms) else math.nan for ms in (a_ms, b_ms))
    ratio = middle_b / middle_a if middle_a > 0 else math.nan
    if min(len(a_ms), len(b_ms)) < FEWEST_CELLS or not (ratio > 0):
        return StepTimes(middle_a, middle_b, len(a_ms), len(b_ms), ratio, (math.nan, math.nan))
    rng = np.random.default_rng(SEED)
    drawn = [np.log(_resampled(ms, rng, middle)) for ms in (a_ms, b_ms)]
    n = min(map(len, drawn))
    tails = [(100 - _CONFIDENCE) / 2, (100 + _CONFIDENCE) / 2]
    low, high = np.percentile(drawn[1][:n] - drawn[0][:n], tails).tolist()
    # So few blocks show too little of the variance; the factor is that of Student's t to the normal distribution.
    widened = two_sided(0.05, min(len(block_starts(len(ms))) for ms in (a_ms, b_ms)) - 1) / _NORMAL_95
    effect = effect or StepEffect()
    at, between = math.log(ratio), _between_runs(a_ms, b_ms, middle, effect.scatter)
    below, above = (max(width * widened, between, math.log1p(effect.least)) for width in (at - low, high - at))
    alike, most, machine = math.log(effect.ratio), math.log(BUSY_MACHINE), math.log(effect.machine)
    # Of a step that got longer only what got longer, too, explains a part, and the other way round.
    longer, shorter = (
        max(min(max(sign * alike, 0.0), most), min(machine, sign * at)) if sign * at > 0 else 0.0 for sign in (1, -1)
    )
    interval = math.exp(at - below - longer), math.exp(at + above + shorter)
    return StepTimes(middle_a, middle_b, len(a_ms), len(b_ms), ratio, interval, (below, above))


def _between_runs(a_ms: Float64, b_ms: Float64, middle: Middle, scatter: float) -> float:
    """How far apart two runs are, as a logarithm, with 95 % confidence.

    They differ as stretches within each do, and by `scatter`, the standard deviation of what their ops add between runs.
    """
    variance = scatter**2
    for ms in (a_ms, b_ms):
        stretches = [float(middle(part)) for part in np.array_split(ms, _N_STRETCHES)]
        variance += float(np.var(np.log(np.maximum(stretches, _LEAST_MS)), ddof=1))
    return two_sided(0.05, 2 * (_N_STRETCHES - 1)) * math.sqrt(variance)


def _resampled(ms: Float64, rng: np.random.Generator, middle: Middle) -> Float64:
    n_blocks = len(block_starts(len(ms)))
    n_resamples = N_RESAMPLES if len(ms) <= _MANY_STEPS else _FEWER_RESAMPLES
    length = -(-len(ms) // n_blocks)
    middles = block_middles(ms, rng, middle, length=length, n_blocks=n_blocks, n_resamples=n_resamples)
    return np.maximum(middles, _LEAST_MS)
