"""Spans of time that may overlap -> disjoint stretches in order, and how much of these lies where."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Int64


def union(start: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Stretches that any of some spans covers, in order, without overlap."""
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.append(True, start[1:] > reach[:-1])[: len(start)])
    last = np.append(first[1:], len(start))[: len(first)] - 1
    return start[first], reach[last]


def covered_before(start: Int64, end: Int64, at: Int64) -> Int64:
    """How much of some disjoint stretches in order lies before each moment."""
    total = np.append(0, np.cumsum(end - start))
    k = np.searchsorted(start, at, side="right")
    inside = np.where(k > 0, np.maximum(np.append(end, 0)[k - 1] - at, 0), 0)
    covered: Int64 = total[k] - inside
    return covered
