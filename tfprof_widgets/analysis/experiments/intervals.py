"""A few measurements of one quantity -> their median and an interval that holds the true one in 19 of 20 tries."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..base.student import two_sided

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
