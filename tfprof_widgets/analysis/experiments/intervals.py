"""A few measurements of one quantity -> their median and an interval that holds the true one in 19 of 20 tries."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_T_95: tuple[float, ...] = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131),
    *(2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The two-sided 95 % point of Student's t by degrees of freedom, from 1."""
_T_MORE = 2.042
"""Beyond the table; too wide rather than too narrow."""
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
    freedom = len(logs) - 1
    t = _T_95[freedom - 1] if freedom <= len(_T_95) else _T_MORE
    half = min(_OF_MEDIAN * t * float(np.std(logs, ddof=1)) / math.sqrt(len(logs)), 700.0)
    return math.exp(center), math.exp(center - half), math.exp(min(center + half, 700.0))
