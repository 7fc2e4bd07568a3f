"""Executions or totals of all hosts and one of them -> those of that host alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...trace.trace import Bool, Int32, Int64, Trace
from ..base.compute_units import N_UNITS
from .host_totals import HostTotals
from .op_occurrences import Occurrences
from .op_shares import OpShares
from .ops import OpSums, sums_of_units

_OF_EXECUTIONS = (
    *("op", "event", "line", "start_ps", "duration_ps", "span_ps", "parent", "execution", "kernel_unit", "lane"),
)
_OF_LANES = ("lane_line", "lane_is_device", "lane_first_ps", "lane_last_ps")
"""Columns of `Occurrences` with an entry per execution, and per lane."""


def lines_of(trace: Trace, host: str) -> Bool:
    """For each line of a trace whether the host recorded it."""
    return np.array([trace.planes[line.plane].host == host for line in trace.lines], np.bool_)


def occurrences_of(occurrences: Occurrences, trace: Trace, host: str) -> Occurrences:
    """The executions on one host. The units stay, also those that ran elsewhere only; lanes are the host's own."""
    is_own = lines_of(trace, host)
    rows, lanes = np.flatnonzero(is_own[occurrences.line]), np.flatnonzero(is_own[occurrences.lane_line])
    columns = {key: getattr(occurrences, key)[rows] for key in _OF_EXECUTIONS}
    columns |= {key: getattr(occurrences, key)[lanes] for key in _OF_LANES}
    columns["parent"] = _renumbered(columns["parent"], rows, len(occurrences))
    columns["lane"] = _renumbered(columns["lane"], lanes, len(occurrences.lane_line)).astype(np.int32)
    return replace(occurrences, **columns)


def _renumbered(values: Int32 | Int64, kept: Int64, n: int) -> Int64:
    """What rows are called among those kept; -1 stays, as does what is left out."""
    place: Int64 = np.full(n + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    renumbered: Int64 = place[values]
    return renumbered


def host_sums(totals: HostTotals, host: str, shares: OpShares) -> OpSums:
    """Sums of framework ops on one host, of the whole capture; nothing is known of kernels."""
    rows = np.flatnonzero(totals.host == totals.hosts.index(host))
    n_units = len(shares.dominant)

    def placed(values: Int64) -> Int64:
        whole = np.zeros(n_units, np.int64)
        whole[totals.unit[rows]] = values[rows]
        return whole

    count = placed(totals.count)
    units = OpSums(
        count=count,
        n_done=count.astype(np.float64),
        total_ps=placed(totals.total_ps),
        self_ps=placed(totals.self_ps),
        unit_ns=np.zeros((n_units, N_UNITS)),
    )
    return sums_of_units(units, shares)
