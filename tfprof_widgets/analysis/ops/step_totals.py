"""Executions of units within the steps that count -> their number and time, host by host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.matching import sum_by
from ..steps.steps import Steps
from .host_totals import host_and_unit
from .op_occurrences import Occurrences


@dataclass(frozen=True, eq=False, repr=False)
class StepTotals:
    """One entry per host and unit of which a part was executed within the averaged steps, by host, then unit."""

    host: Int64
    """Index into `hosts_of`."""
    unit: Int64
    """Row of the table of units."""
    count: Int64
    """Executions."""
    total_ps: Int64
    self_ps: Int64


def compute_step_totals(trace: Trace, occurrences: Occurrences, steps: Steps, averaged: Bool) -> StepTotals:
    """Add up what each unit did on each host within the steps that are `averaged`."""
    rows = np.flatnonzero(np.append(averaged, False)[steps.event_step[occurrences.event]])
    key, n_units = host_and_unit(trace, occurrences)[rows], len(occurrences.name)
    n = int(key.max(initial=-1)) + 1
    of_execution = np.full(int(occurrences.execution.max(initial=-1)) + 1, -1, np.int64)
    of_execution[occurrences.execution[rows]] = key
    count = np.bincount(of_execution[of_execution >= 0], minlength=n).astype(np.int64)
    found = np.flatnonzero(count)
    total, own = (sum_by(key, ps[rows], n)[found] for ps in (occurrences.duration_ps, occurrences.self_ps))
    return StepTotals(found // n_units, found % n_units, count[found], total, own)
