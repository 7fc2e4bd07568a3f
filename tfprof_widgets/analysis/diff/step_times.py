"""Step times of two runs -> the ratio of their medians and how sure it is.

compare_steps(a_ms, b_ms) -> StepTimes
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...store.trace import Float64
from .spread import FEWEST_CELLS, block_starts
from .student import two_sided

Middle = Callable[..., Any]
"""`np.median` or `np.mean`: of an array, or of each of its rows with `axis=1`."""
N_RESAMPLES = 2_000
_FEWER_RESAMPLES = 400
_MANY_STEPS = 10_000
SEED = 20_240_601
_DRAWN_AT_ONCE = 2**21
_NORMAL_95 = 1.959964
_CONFIDENCE = 95.0
_N_STRETCHES = 5
_LEAST_MS = 1e-9


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
    """95 % interval of the ratio; NaN with fewer than `FEWEST_CELLS` steps in either run."""
    noise_ms: float
    """How far apart the medians may be at this noise without a difference; NaN likewise."""

    @property
    def is_known(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.interval[0])

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the interval leaves out 1."""
        return self.is_known and not self.interval[0] <= 1 <= self.interval[1]


def compare_steps(a_ms: Float64, b_ms: Float64, *, middle: Middle = np.median) -> StepTimes:
    """Compare the step times of two runs, each in time order, by their medians or by what else is given, such as `np.mean`.

    The interval comes from resampling each run in blocks of neighbouring steps (a circular block bootstrap with a fixed
    seed), so that it widens where a run drifts or is slow for a while. Besides, another run is taken to differ from this one
    at least as much as the fifths of a run do from each other: one capture cannot tell how busy the machine is during the
    next. Where the machine is quiet, both are narrow.

    Source: D. Politis and J. Romano, A circular block-resampling procedure for stationary data (1992).
    """
    middle_a, middle_b = (float(middle(ms)) if len(ms) else math.nan for ms in (a_ms, b_ms))
    ratio = middle_b / middle_a if middle_a > 0 else math.nan
    if min(len(a_ms), len(b_ms)) < FEWEST_CELLS or not (ratio > 0):
        return StepTimes(middle_a, middle_b, len(a_ms), len(b_ms), ratio, (math.nan, math.nan), math.nan)
    rng = np.random.default_rng(SEED)
    drawn = [np.log(_resampled(ms, rng, middle)) for ms in (a_ms, b_ms)]
    n = min(map(len, drawn))
    tails = [(100 - _CONFIDENCE) / 2, (100 + _CONFIDENCE) / 2]
    low, high = np.percentile(drawn[1][:n] - drawn[0][:n], tails).tolist()
    # So few blocks show too little of the variance; the factor is that of Student's t to the normal distribution.
    widened = two_sided(0.05, min(len(block_starts(len(ms))) for ms in (a_ms, b_ms)) - 1) / _NORMAL_95
    at, between = math.log(ratio), _between_runs(a_ms, b_ms, middle)
    below, above = (max(width * widened, between) for width in (at - low, high - at))
    noise = middle_a * math.expm1(max(below, above))
    return StepTimes(
        middle_a, middle_b, len(a_ms), len(b_ms), ratio, (math.exp(at - below), math.exp(at + above)), noise
    )


def _between_runs(a_ms: Float64, b_ms: Float64, middle: Middle) -> float:
    """How far apart two runs are, as a logarithm, that differ like stretches within each, with 95 % confidence."""
    variance = 0.0
    for ms in (a_ms, b_ms):
        stretches = [float(middle(part)) for part in np.array_split(ms, _N_STRETCHES)]
        variance += float(np.var(np.log(np.maximum(stretches, _LEAST_MS)), ddof=1))
    return two_sided(0.05, 2 * (_N_STRETCHES - 1)) * math.sqrt(variance)


def _resampled(ms: Float64, rng: np.random.Generator, middle: Middle) -> Float64:
    """The middles of runs put together from blocks of this one; a block that reaches the end goes on at the beginning."""
    n = len(ms)
    n_blocks = len(block_starts(n))
    length = -(-n // n_blocks)
    at_once = max(1, _DRAWN_AT_ONCE // (n_blocks * length))
    n_resamples = N_RESAMPLES if n <= _MANY_STEPS else _FEWER_RESAMPLES
    found = []
    for first in range(0, n_resamples, at_once):  # in pieces, so that long runs do not fill the memory
        start = rng.integers(0, n, (min(at_once, n_resamples - first), n_blocks, 1))
        place = (start + np.arange(length)) % n
        found.append(middle(ms[place.reshape(len(place), -1)[:, :n]], axis=1))
    middles: Float64 = np.maximum(np.concatenate(found), _LEAST_MS)
    return middles
