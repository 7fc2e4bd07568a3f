"""Executions of units -> totals per host and unit of the whole capture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Int64, Trace
from ..base.hosts import host_of_plane, hosts_of
from ..base.matching import sum_by
from .op_occurrences import Occurrences


@dataclass(frozen=True, eq=False)
class HostTotals:
    """One entry per host and unit that was executed there, by host, then unit."""

    hosts: tuple[str, ...]
    """All hosts of the trace, in its order."""
    host: Int64
    """Row of `hosts`."""
    unit: Int64
    """Row of the table of units."""
    count: Int64
    """Executions."""
    total_ps: Int64
    self_ps: Int64


def compute_host_totals(trace: Trace, occurrences: Occurrences) -> HostTotals:
    """Add up the executions of each unit on each host."""
    hosts = hosts_of(trace)
    n_units = len(occurrences.name)
    n = len(hosts) * n_units
    if not n or not len(occurrences):
        return HostTotals(hosts, *(np.empty(0, np.int64) for _ in range(5)))
    # One entry per host and unit, whether it ran there or not: both are few beside executions.
    key = host_and_unit(trace, occurrences)
    count = np.bincount(key[occurrences.is_first], minlength=n).astype(np.int64)
    found = np.flatnonzero(count)
    return HostTotals(
        hosts=hosts,
        host=found // n_units,
        unit=found % n_units,
        count=count[found],
        total_ps=sum_by(key, occurrences.duration_ps, n)[found],
        self_ps=sum_by(key, occurrences.self_ps, n)[found],
    )


def host_and_unit(trace: Trace, occurrences: Occurrences) -> Int64:
    """For each execution its host times the number of units, plus its unit."""
    of_plane = host_of_plane(trace)
    of_line = np.array([of_plane[line.plane] for line in trace.lines], np.int64)
    return of_line[occurrences.line] * len(occurrences.name) + occurrences.op
