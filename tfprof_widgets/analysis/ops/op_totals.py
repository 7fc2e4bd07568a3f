"""Sums, or the `ops` table -> time and executions per framework op, in the order of `OpShares`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Bool, Float64, Int32, Int64, UInt8
from ..base.compute_units import N_UNITS, UNIT_RATIOS, ComputeUnit
from .op_shares import OpShares


@dataclass(frozen=True, eq=False, repr=False)
class OpTotals:
    """One entry per framework op; zeros for one that did not run."""

    is_device: Bool
    self_us: Float64
    occurrences: Int64
    unit_us: Float64
    """Kernel time by `ComputeUnit`, shape (ops, `N_UNITS`)."""


def op_totals(ops: pd.DataFrame, shares: OpShares) -> OpTotals:
    """Look each framework op up in the `ops` table (without idle time), where a name occurs once per side."""
    is_device = (ops["device"] == "Device").tolist()
    row_of = {key: row for row, key in enumerate(zip(is_device, ops["name"], strict=True))}
    keys = zip(shares.is_device.tolist(), shares.name, strict=True)
    row = np.fromiter((row_of.get(key, -1) for key in keys), np.int64, len(shares))
    # The last entry is what row -1 finds: an op that did not run.
    self_us = np.append(ops["total_self_time_us"].to_numpy(np.float64), 0.0)
    occurrences = np.append(ops["occurrences"].to_numpy(np.int64), 0)
    parts = {name: ops[name].fillna(0).to_numpy(np.float64) for name in ("tensor_core_ratio", *UNIT_RATIOS)}
    ratios = np.zeros((len(ops) + 1, N_UNITS))
    for name, (unit, *_) in UNIT_RATIOS.items():
        ratios[:-1, unit] = parts[name]
    ratios[:-1, ComputeUnit.TENSOR_OTHER] = (
        parts["tensor_core_ratio"] - parts["tensor_16bit_ratio"] - parts["tensor_tf32_ratio"]
    )
    return OpTotals(shares.is_device, self_us[row], occurrences[row], ratios[row] * self_us[row, None])


def side_table(
    entries: pd.DataFrame, op_entry: Int32, op_phase: UInt8, phases: Sequence[str], totals: OpTotals
) -> tuple[dict[str, npt.NDArray[Any]], Int64]:
    """What ops are charged to, side by side: all entries for devices, then all for hosts; and for each op its row.

    Args:
        entries: what ops are charged to.
        op_entry: for each op its row of those.
        op_phase: for each op an index into `phases`.
        phases: their names.
        totals: time and executions of the ops.

    Returns:
        The columns of `entries`, `device`, a `<phase>_time_us` each, their sum `self_time_us`, that as `self_time_ratio` of the
        side's, and `occurrences`.
    """
    n = len(entries)
    row = np.where(totals.is_device, 0, n) + op_entry
    own_us = [np.where(op_phase == code, totals.self_us, 0.0) for code in range(len(phases))]
    # Of no rows at all a count is whole numbers, whatever its weights.
    time_us = np.array([np.bincount(row, one, minlength=2 * n) for one in own_us], np.float64)
    whole_us = time_us.sum(axis=0)
    of_side = np.repeat([math.fsum(whole_us[:n]), math.fsum(whole_us[n:])], n)
    columns = {
        **{str(name): np.tile(column.to_numpy(), 2) for name, column in entries.items()},
        "device": np.repeat(["Device", "Host"], n),
        **{f"{phase}_time_us": one for phase, one in zip(phases, time_us, strict=True)},
        "self_time_us": whole_us,
        "self_time_ratio": np.divide(whole_us, of_side, out=np.zeros(2 * n), where=of_side > 0),
        "occurrences": np.bincount(row, totals.occurrences, minlength=2 * n).astype(np.int64),
    }
    return columns, row.astype(np.int64)
