"""Executions of kernels -> totals per host and kernel, of the whole capture or of the steps that count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.hosts import host_of_plane
from ..base.matching import dense_codes, first_of, sum_by
from .kernels import Kernels


@dataclass(frozen=True, eq=False, repr=False)
class KernelTotals:
    """One entry per host and kernel that ran there, by host, then kernel."""

    host: Int64
    """Index into `hosts_of`."""
    kernel: Int64
    """Row of `Kernels.frame`."""
    count: Int64
    total_ps: Int64
    min_ps: Int64
    max_ps: Int64


def compute_kernel_totals(trace: Trace, kernels: Kernels, counted: Bool | None = None) -> KernelTotals:
    """Add up the executions of each kernel.

    Args:
        trace: the trace.
        kernels: its kernels.
        counted: for each event whether it counts; None for all.
    """
    rows = np.arange(len(kernels.run_event)) if counted is None else np.flatnonzero(counted[kernels.run_event])
    event = kernels.run_event[rows]
    of_plane = host_of_plane(trace)
    of_line = np.array([of_plane[line.plane] for line in trace.lines], np.int64)
    host, kernel = of_line[trace.line_id[event]], kernels.run_kernel[rows].astype(np.int64)
    code, n = dense_codes(host, kernel)
    first = first_of(code, n)
    duration = trace.duration_ps[event]
    shortest, longest = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(shortest, code, duration)
    np.maximum.at(longest, code, duration)
    return KernelTotals(
        host=host[first],
        kernel=kernel[first],
        count=np.bincount(code, minlength=n).astype(np.int64),
        total_ps=sum_by(code, duration, n),
        min_ps=shortest,
        max_ps=longest,
    )
