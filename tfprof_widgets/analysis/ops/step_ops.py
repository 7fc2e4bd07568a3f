"""What units took in the averaged steps -> the ops of both sides, a step."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..base.matching import sum_by
from ..base.table_types import table_of_arrays
from ..base.units import PS_PER_MS
from .op_shares import OpShares
from .step_totals import StepTotals


def step_ops(shares: OpShares, inside: StepTotals, n_steps: int) -> pd.DataFrame:
    """The ops that ran in the averaged steps, but for those that only wait for data.

    Args:
        shares: which framework ops each unit stands for.
        inside: of the averaged steps.
        n_steps: how many those are, at least one.

    Returns:
        `device` (`Device` or `Host`), `type`, `name`, `occurrences` and `self_time_ms`, both a step, and `self_time_ratio` (of
        the side); devices first, then by self time falling.
    """
    n_units = len(shares.dominant)
    own = np.asarray(shares.spread(sum_by(inside.unit, inside.self_ps, n_units)), np.float64)
    count = shares.largest(sum_by(inside.unit, inside.count, n_units))
    rows = np.flatnonzero((count > 0) & ~shares.only_waits)
    rows = rows[np.lexsort((-own[rows], ~shares.is_device[rows]))]
    on_device = shares.is_device[rows]
    whole = np.array([own[rows[~on_device]].sum(), own[rows[on_device]].sum()])[on_device.astype(np.int64)]
    return table_of_arrays(
        {
            "device": np.where(on_device, "Device", "Host").astype(np.object_),
            "type": np.array([shares.type[row] for row in rows.tolist()], np.object_),
            "name": np.array([shares.name[row] for row in rows.tolist()], np.object_),
            "occurrences": count[rows] / n_steps,
            "self_time_ms": own[rows] / PS_PER_MS / n_steps,
            "self_time_ratio": np.divide(own[rows], whole, out=np.zeros(len(rows)), where=whole > 0),
        }
    )
