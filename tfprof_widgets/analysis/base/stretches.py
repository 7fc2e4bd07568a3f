"""Spans of time that may overlap -> disjoint stretches in order, and how much of these lies where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Int64


@dataclass(frozen=True, eq=False)
class Stretches:
    """Disjoint stretches in order of time."""

    start: Int64
    end: Int64

    @classmethod
    def of(cls, start: Int64, end: Int64) -> Stretches:
        """What any of some spans covers."""
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        first = np.flatnonzero(np.append(True, start[1:] > reach[:-1])[: len(start)])
        last = np.append(first[1:], len(start))[: len(first)] - 1
        return cls(start[first], reach[last])

    def within(self, low: Int64, high: Int64) -> Int64:
        """How much of them lies in each span of time."""
        covered: Int64 = self._before(high) - self._before(low)
        return covered

    def _before(self, at: Int64) -> Int64:
        total = np.append(0, np.cumsum(self.end - self.start))
        k = np.searchsorted(self.start, at, side="right")
        inside = np.where(k > 0, np.maximum(np.append(self.end, 0)[k - 1] - at, 0), 0)
        before: Int64 = total[k] - inside
        return before
