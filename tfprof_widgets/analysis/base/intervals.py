"""Measurements -> how sure their middles are: Student's t without SciPy, resampling in blocks, the interval of a few repeats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...trace.trace import Float64

MOST_DEGREES = 200
"""With more degrees of freedom the distribution is as good as normal."""


def tail(t: float, degrees: int) -> float:
    """The probability that the absolute value is larger than `t`.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(t, math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if degrees % 2 else 1.0
    total = 0.0
    for k in range(3 if degrees % 2 else 2, degrees + 1, 2):  # at most MOST_DEGREES / 2 turns
        total += term
        term *= cosine * cosine * (k - 1) / k
    inside = 2 / math.pi * (angle + sine * total) if degrees % 2 else sine * total
    return 1 - inside


@lru_cache(maxsize=1024)
def two_sided(alpha: float, degrees: int) -> float:
    """The bound that the absolute value stays below with probability 1 - `alpha`.

    Args:
        alpha: above 1e-12 and below 1.
        degrees: of freedom, at least 1; more than `MOST_DEGREES` count as so many.
    """
    degrees = min(max(degrees, 1), MOST_DEGREES)
    low, high = 0.0, 1.0
    while tail(high, degrees) > alpha and high < 1e9:
        high *= 2
    for _ in range(60):  # halves the interval to less than a rounding error
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, degrees) > alpha else (low, middle)
    return high


_DRAWN_AT_ONCE = 2**21
"""Values, so that the resamples of many never lie in memory together."""


def block_middles(
    values: Float64,
    rng: np.random.Generator,
    middle: Callable[..., Any],
    *,
    length: int,
    n_blocks: int,
    n_resamples: int,
) -> Float64:
    """The middle (`np.median` or `np.mean`) of each resample of as many values, made of blocks of this length.

    A block that reaches the end goes on at the beginning: else values at the ends would be drawn less often.

    Source: D. Politis and J. Romano, A circular block-resampling procedure for stationary data (1992).
    """
    n, found = len(values), []
    at_once = max(1, _DRAWN_AT_ONCE // (n_blocks * length))
    for first in range(0, n_resamples, at_once):
        start = rng.integers(0, n, (min(at_once, n_resamples - first), n_blocks, 1))
        place = ((start + np.arange(length)) % n).reshape(len(start), -1)[:, :n]
        found.append(middle(values[place], axis=1))
    return np.concatenate(found)


_OF_MEDIAN = math.sqrt(math.pi / 2)
"""How much less certain a median is than a mean, at most, where measurements are normally distributed."""


def median_and_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median of positive values and the limits of its 95 % interval.

    The interval is Student's t on the logarithms, widened by `sqrt(pi / 2)`, as it is about the median: with three
    repeats, the usual number, a bootstrap would know three values and be far too sure.

    Args:
        values: positive; one per repeat.

    Returns:
        `(median, low, high)`; the limits are nan for a single value, all are nan for none.
    """
    if not len(values):
        return math.nan, math.nan, math.nan
    logs = np.log(np.asarray(values, np.float64))
    center = float(np.median(logs))
    if len(logs) < 2:
        return math.exp(center), math.nan, math.nan
    half = min(_OF_MEDIAN * two_sided(0.05, len(logs) - 1) * float(np.std(logs, ddof=1)) / math.sqrt(len(logs)), 700.0)
    return math.exp(center), math.exp(center - half), math.exp(min(center + half, 700.0))
