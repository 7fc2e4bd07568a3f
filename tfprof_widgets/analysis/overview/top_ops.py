"""Executions of ops -> the ops that cost most, and how op time is spread over host and device, eager and not.

Source: semantics 10.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..base.matching import sum_by
from ..base.table_types import text_column
from ..base.units import PS_PER_MS
from ..ops.op_occurrences import Occurrences
from ..ops.op_shares import OpShares
from ..ops.ops import counts_of
from ..steps.steps import Steps

N_TOP_OPS = 10


@dataclass(frozen=True)
class OpTime:
    """Shares of the time of ops."""

    host_time_ratio: float
    """With `device_time_ratio` it adds up to 1, or both are 0 without ops."""
    device_time_ratio: float
    host_eager_ratio: float
    """Share of eagerly run ops in the op time of the host."""
    device_eager_ratio: float


def compute_op_time(occurrences: Occurrences, shares: OpShares, *, counted: Bool | None = None) -> OpTime:
    """Host and device shares of op time, and of each the share of eager ops.

    Args:
        occurrences: executions of ops.
        shares: which framework ops each execution stands for.
        counted: for each event whether it counts; None for all.

    Differs from XProf: its host and device percentages are of counts, although the label says time (D10).
    """
    self_ps = occurrences.self_ps if counted is None else occurrences.self_ps * counted[occurrences.event]
    return op_time_of(shares, shares.spread(sum_by(occurrences.op, self_ps, len(occurrences.name))))


def op_time_of(table: OpShares, own: Int64 | Float64) -> OpTime:
    """The shares of ops of which the time of their own is known."""
    device, eager = table.is_device, table.is_eager
    host, all_device = float(own[~device].sum()), float(own[device].sum())

    def share(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    return OpTime(
        host_time_ratio=share(host, host + all_device),
        device_time_ratio=share(all_device, host + all_device),
        host_eager_ratio=share(float(own[~device & eager].sum()), host),
        device_eager_ratio=share(float(own[device & eager].sum()), all_device),
    )


def top_ops(occurrences: Occurrences, steps: Steps, averaged: Bool, shares: OpShares) -> pd.DataFrame:
    """The `N_TOP_OPS` ops with the most time of their own: those of devices, where no device ran any those of the host.

    Args:
        occurrences: executions of ops.
        steps: the steps of the trace.
        averaged: the steps that count; where there are none, the whole trace does.
        shares: which framework ops each execution stands for.

    Returns:
        `name, type, device, occurrences` (the largest count among what an op was compiled to), `self_time_ms`,
        `self_time_ms_per_step`, `self_time_ratio` (of all op time on that side).
    """
    n_averaged = int(averaged.sum())
    inside = np.ones(len(occurrences), np.bool_)
    if n_averaged:
        inside = np.append(averaged, False)[steps.event_step[occurrences.event]]
    own = shares.spread(sum_by(occurrences.op[inside], occurrences.self_ps[inside], len(occurrences.name)))
    count = shares.largest(counts_of(occurrences, inside))
    return top_of(shares, own, count, n_averaged)


def top_of(table: OpShares, own: Int64 | Float64, count: Int64, n_averaged: int) -> pd.DataFrame:
    """The table of `top_ops` of ops of which time and executions within the averaged steps are known."""
    device = table.is_device
    side = device == bool(own[device].sum() > 0)
    whole = max(float(own[side].sum()), 1.0)
    top = np.flatnonzero(side & (own > 0))
    top = top[np.argsort(-own[top], kind="stable")][:N_TOP_OPS]
    return pd.DataFrame(
        {
            "name": text_column(table.name[i] for i in top.tolist()),
            "type": text_column(table.type[i] for i in top.tolist()),
            "device": pd.Series(np.where(device[top], "Device", "Host"), dtype=object),
            "occurrences": count[top],
            "self_time_ms": own[top] / PS_PER_MS,
            "self_time_ms_per_step": own[top] / PS_PER_MS / max(n_averaged, 1),
            "self_time_ratio": own[top] / whole,
        }
    )
