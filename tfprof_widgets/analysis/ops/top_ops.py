"""What ops took within the averaged steps -> those that cost most, of each side, of all hosts and of each.

Source: semantics 10.2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..base.matching import sum_by
from ..base.units import PS_PER_MS
from .host_totals import HostTotals
from .op_shares import OpShares
from .step_totals import StepTotals

N_TOP_OPS = 10
ALL_HOSTS = -1


def compute_top_ops(
    shares: OpShares, inside: StepTotals, whole: HostTotals, *, host: Int64, averaged: Bool
) -> pd.DataFrame:
    """The `N_TOP_OPS` ops of each side with the most time of their own, without those that only wait for data.

    Args:
        shares: which framework ops each unit stands for.
        inside: of the averaged steps.
        whole: of the whole capture, which counts where there are no averaged steps.
        host: of each step its host, an index into `whole.hosts`.
        averaged: for each step whether it counts.

    Returns:
        One row per host, side and op, the largest first: `host` (`ALL_HOSTS`, and if there are several each of them), `op` (a row
        of `shares`), `occurrences` (the largest count among what an op was compiled to), `self_time_ms`,
        `self_time_ms_per_step`, `self_time_ratio` (of all op time on that side of that host, waiting left out).
    """
    n_averaged = np.bincount(host[averaged], minlength=len(whole.hosts))
    tops = [_top_of(shares, inside if averaged.any() else whole, ALL_HOSTS, int(averaged.sum()))]
    if len(whole.hosts) > 1:
        tops += [_top_of(shares, inside if n else whole, one, n) for one, n in enumerate(n_averaged.tolist())]
    return pd.concat(tops, ignore_index=True)


def _top_of(shares: OpShares, totals: StepTotals | HostTotals, host: int, n_steps: int) -> pd.DataFrame:
    rows = slice(None) if host == ALL_HOSTS else slice(*np.searchsorted(totals.host, [host, host + 1]))
    n_units = len(shares.dominant)
    own = shares.spread(sum_by(totals.unit[rows], totals.self_ps[rows], n_units))
    count = shares.largest(sum_by(totals.unit[rows], totals.count[rows], n_units))
    ops, sums = zip(*_sides(np.where(shares.only_waits, 0, own), shares.is_device), strict=True)
    op = np.concatenate(ops)
    of_side = np.repeat(np.maximum(sums, 1.0), [len(one) for one in ops])
    return pd.DataFrame(
        {
            "host": np.full(len(op), host),
            "op": op,
            "occurrences": count[op],
            "self_time_ms": own[op] / PS_PER_MS,
            "self_time_ms_per_step": own[op] / PS_PER_MS / max(n_steps, 1),
            "self_time_ratio": own[op] / of_side,
        }
    )


def _sides(own: Int64 | Float64, is_device: Bool) -> Iterator[tuple[Int64, float]]:
    """Of devices and of hosts the ops that cost most, and what all cost together."""
    for side in (is_device, ~is_device):
        some = np.flatnonzero(side & (own > 0))
        yield some[np.argsort(-own[some], kind="stable")][:N_TOP_OPS], float(own[side].sum())
