"""Sums, or the `ops` table -> time and executions per framework op, in the order of `OpShares`.

totals_of(sums, shares) -> OpTotals
op_totals(ops, shares) -> OpTotals
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..base.units import PS_PER_US
from .op_shares import OpShares
from .ops import OpSums


@dataclass(frozen=True, eq=False, repr=False)
class OpTotals:
    """One entry per framework op; zeros for one that did not run."""

    is_device: Bool
    self_us: Float64
    occurrences: Int64


def totals_of(sums: OpSums, shares: OpShares) -> OpTotals:
    """Take them from sums of the framework ops."""
    return OpTotals(shares.is_device, np.asarray(sums.self_ps / PS_PER_US, np.float64), sums.count)


def op_totals(ops: pd.DataFrame, shares: OpShares) -> OpTotals:
    """Look each framework op up in the `ops` table (without idle time), where a name occurs once per side."""
    is_device = (ops["device"] == "Device").tolist()
    row_of = {key: row for row, key in enumerate(zip(is_device, ops["name"], strict=True))}
    keys = zip(shares.is_device.tolist(), shares.name, strict=True)
    row = np.fromiter((row_of.get(key, -1) for key in keys), np.int64, len(shares))
    # The last entry is what row -1 finds: an op that did not run.
    self_us = np.append(ops["total_self_time_us"].to_numpy(np.float64), 0.0)
    occurrences = np.append(ops["occurrences"].to_numpy(np.int64), 0)
    return OpTotals(shares.is_device, self_us[row], occurrences[row])
