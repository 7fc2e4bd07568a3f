"""Executions of units -> totals per unit of the whole capture, and how long threads and devices ran none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Int64
from ..base.matching import sum_by
from .op_occurrences import Occurrences
from .ops import counts_of, overlaps


@dataclass(frozen=True)
class UnitTotals:
    """One entry per unit that was executed."""

    unit: Int64
    """Row of the table of units, ascending."""
    count: Int64
    """Executions; on a device those of its most frequent kernel (semantics 4.3)."""
    total_ps: Int64
    self_ps: Int64


def compute_unit_totals(occurrences: Occurrences) -> UnitTotals:
    """Add up the executions of each unit, as `aggregate_ops` does before framework ops get their shares."""
    total, own, counted = overlaps(occurrences, None)
    n_units = len(occurrences.name)
    count = counts_of(occurrences, counted)
    unit = np.flatnonzero(count)
    return UnitTotals(
        unit=unit,
        count=count[unit],
        total_ps=sum_by(occurrences.op, total, n_units)[unit],
        self_ps=sum_by(occurrences.op, own, n_units)[unit],
    )


def idle_ps(occurrences: Occurrences) -> tuple[int, int]:
    """Time of host threads and of devices between their first and last event in which no op ran, each summed over its lanes."""
    busy = sum_by(occurrences.lane, occurrences.self_ps, len(occurrences.lane_line))
    idle = np.maximum(occurrences.lane_last_ps - occurrences.lane_first_ps - busy, 0)
    return int(idle[~occurrences.lane_is_device].sum()), int(idle[occurrences.lane_is_device].sum())
