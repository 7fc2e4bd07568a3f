"""Values of hosts -> what is usual among the other hosts.

median_of_others(values) -> medians of the same shape
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Float64


def median_of_others(values: Float64) -> Float64:
    """For each value of a row the median of the row's other values; of shape (steps, hosts), at least two hosts."""
    n = values.shape[1]
    ordered = np.sort(values, axis=1)
    # Without the value at rank r those behind it move up: the middle of n - 1 values is at ranks known in advance.
    rank = np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1)
    low, high = (n - 2) // 2, (n - 1) // 2
    at_low, at_high = np.where(rank <= low, low + 1, low), np.where(rank <= high, high + 1, high)
    middle: Float64 = (np.take_along_axis(ordered, at_low, 1) + np.take_along_axis(ordered, at_high, 1)) / 2
    return middle
