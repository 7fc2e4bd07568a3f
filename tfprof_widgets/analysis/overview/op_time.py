"""Executions of ops -> how their time is spread over host and device, eager and not.

Source: semantics 10.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...trace.trace import Bool, Float64, Int64
from ..base.matching import sum_by
from ..ops.op_occurrences import Occurrences
from ..ops.op_shares import OpShares


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
