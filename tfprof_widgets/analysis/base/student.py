"""Probability and degrees of freedom -> quantile of Student's t distribution, exactly and without SciPy."""

from __future__ import annotations

import math
from functools import lru_cache

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
