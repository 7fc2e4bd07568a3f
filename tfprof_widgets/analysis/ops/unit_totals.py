"""Executions of units -> totals per unit of the whole capture."""

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
    """Executions."""
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
