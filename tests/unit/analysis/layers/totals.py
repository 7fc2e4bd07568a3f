"""Totals of made-up framework ops, for tests of what sums them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfprof_widgets.analysis import N_UNITS, OpTotals


def totals_of(self_us: Sequence[float], *, is_device: Sequence[bool] | None = None) -> OpTotals:
    """Ops that ran once each; on the host unless told otherwise."""
    sides = is_device if is_device is not None else [False] * len(self_us)
    return OpTotals(
        np.array(sides, np.bool_),
        np.array(self_us, np.float64),
        np.ones(len(self_us), np.int64),
        np.zeros((len(self_us), N_UNITS)),
    )
