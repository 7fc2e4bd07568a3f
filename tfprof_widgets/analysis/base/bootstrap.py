"""Values in order of time -> middles of resamples that are put together from blocks of neighbours.

A block that reaches the end goes on at the beginning: else values at the ends would be drawn less often.

Source: D. Politis and J. Romano, A circular block-resampling procedure for stationary data (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...trace.trace import Float64

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
    """The middle (`np.median` or `np.mean`) of each resample of as many values, made of blocks of this length."""
    n, found = len(values), []
    at_once = max(1, _DRAWN_AT_ONCE // (n_blocks * length))
    for first in range(0, n_resamples, at_once):
        start = rng.integers(0, n, (min(at_once, n_resamples - first), n_blocks, 1))
        place = ((start + np.arange(length)) % n).reshape(len(start), -1)[:, :n]
        found.append(middle(values[place], axis=1))
    return np.concatenate(found)
