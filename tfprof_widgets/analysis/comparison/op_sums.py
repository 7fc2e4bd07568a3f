"""Facts of one run -> its framework ops, step by step: what ops, layers and source lines are compared by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...trace.trace import Bool, Float64
from ..base.units import PS_PER_MS
from ..facts.facts import Facts
from ..ops.ops import counts_of
from .run_cells import RunCells


@dataclass(frozen=True, eq=False, repr=False)
class OpSums:
    """One entry per framework op, in the order of `OpShares`."""

    self_ms: Float64
    """Self time in each cell per step, shape (ops, cells)."""
    seen: Bool
    """Whether it occurs in a cell; of the same shape."""
    count: Float64
    """Executions per step, over all cells."""
    runs: Bool
    """Whether it was executed at all in the capture."""

    def by_group(self, group: npt.NDArray[np.integer], n_groups: int) -> OpSums:
        """The sums of groups of ops, such as layers; -1 is no group."""
        rows = np.flatnonzero(group >= 0)
        order = rows[np.argsort(group[rows], kind="stable")]
        groups, first = np.unique(group[order], return_index=True)
        n_cells = self.self_ms.shape[1]
        total, seen = np.zeros((n_groups, n_cells)), np.zeros((n_groups, n_cells), np.bool_)
        if len(groups):
            total[groups] = np.add.reduceat(self.self_ms[order], first, axis=0)
            seen[groups] = np.logical_or.reduceat(self.seen[order], first, axis=0)
        count = np.bincount(group[rows], self.count[rows], minlength=n_groups)
        runs = np.bincount(group[rows], self.runs[rows], minlength=n_groups) > 0
        return OpSums(total, seen, np.asarray(count, np.float64), runs)


def op_sums(facts: Facts, cells: RunCells) -> OpSums:
    """Sum the executions of each framework op by cell; those of compiled programs by their shares.

    A kernel counts for the step that launched it, where steps are marked, else for the one during which it starts.
    """
    occurrences, shares = facts.occurrences, facts.op_shares
    n_units = len(occurrences.name)
    cell = cells.of_events(occurrences.event)
    unit_ms = cells.sums(occurrences.op, cell, occurrences.self_ps / PS_PER_MS, n_units)
    unit_seen = np.zeros((n_units, len(cells)), np.bool_)
    counted = cell >= 0
    unit_seen[occurrences.op[counted], cell[counted]] = True
    unit_count = counts_of(occurrences, counted) / cells.n_steps.sum()
    unit_runs = np.bincount(occurrences.op, minlength=n_units) > 0
    return OpSums(
        np.asarray(shares.spread(unit_ms)),
        shares.largest(unit_seen),
        shares.largest(unit_count),  # as often as the most frequent of its HLO ops
        shares.largest(unit_runs),
    )
