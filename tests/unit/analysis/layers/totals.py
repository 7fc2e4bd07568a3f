"""Totals of made-up framework ops, for tests of what sums them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfprof_widgets.analysis import N_UNITS, OpSums


def totals_of(self_us: Sequence[float], *, is_device: Sequence[bool] | None = None) -> OpSums:
    """Ops that ran once each; on the host unless told otherwise."""
    sides = is_device if is_device is not None else [False] * len(self_us)
    self_ps, once = np.array(self_us, np.float64) * 1e6, np.ones(len(self_us), np.int64)
    return OpSums(
        is_device=np.array(sides, np.bool_),
        count=once,
        n_done=once.astype(np.float64),
        total_ps=self_ps,
        self_ps=self_ps,
        unit_ns=np.zeros((len(self_us), N_UNITS)),
    )
