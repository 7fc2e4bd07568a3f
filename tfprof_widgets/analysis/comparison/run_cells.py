"""Facts of one run -> its cells: the averaged steps, over which every quantity is summed to be compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...trace.trace import Bool, Float64, Int32, Int64, SmallInt
from ..facts.facts import Facts

MOST_CELLS = 1_024
"""A longer run is compared by groups of neighbouring steps: their differences tell the noise just as well."""
_MOST_VALUES = 2**23
"""Rows times cells stay below this, so that a trace with very many ops does not fill the memory."""
_FEWEST_CELLS = 64


@dataclass(frozen=True, eq=False, repr=False)
class RunCells:
    """What a run is divided into: one cell per averaged step, fewer for long runs, or the whole capture as one cell."""

    step_cell: Int32
    """For each row of `steps` its cell, -1 where the averages leave it out."""
    n_steps: Int64
    """For each cell how many steps it holds; a single 1 where the whole capture is the cell."""
    has_steps: bool
    """Whether quantities are per step; else they are of the whole capture."""
    event_step: SmallInt
    """For each event its row of `steps`, -1 for none."""

    def __len__(self) -> int:
        return len(self.n_steps)

    def of_events(self, event: npt.NDArray[np.integer]) -> Int64:
        """The cell of each of some events, -1 for what no averaged step holds."""
        if not self.has_steps:
            return np.zeros(len(event), np.int64)
        return self.of_steps(self.event_step[event])

    def of_steps(self, step: npt.NDArray[np.integer]) -> Int64:
        """The cell of each of some rows of `steps`; also -1 for row -1."""
        if not self.has_steps:
            return np.zeros(len(step), np.int64)
        cell: Int64 = np.append(self.step_cell, np.int32(-1))[step].astype(np.int64)
        return cell

    def sums(
        self, row: npt.NDArray[np.integer], cell: Int64, value: npt.NDArray[np.integer] | Float64 | Bool, n_rows: int
    ) -> Float64:
        """Values summed by row and cell, per step: shape (rows, cells)."""
        counted = cell >= 0
        place = row[counted].astype(np.int64) * len(self) + cell[counted]
        total = np.bincount(place, value[counted], minlength=n_rows * len(self)).reshape(n_rows, len(self))
        return np.asarray(total / self.n_steps, np.float64)


def run_cells(facts: Facts, *, by_step: bool = True, n_rows: int = 1) -> RunCells:
    """Divide a run.

    The steps that count are those of `Overview.is_averaged`: complete ones of the main kind, without a first one that
    compiles or is an outlier.

    Args:
        facts: the run.
        by_step: False takes the capture as a whole, as where the other run has no steps.
        n_rows: how many rows will be summed over the cells.
    """
    averaged, event_step = facts.is_averaged, facts.steps.event_step
    n_averaged = int(averaged.sum())
    if not by_step or not n_averaged:
        return RunCells(np.full(len(averaged), -1, np.int32), np.ones(1, np.int64), False, event_step)
    most = min(MOST_CELLS, max(_FEWEST_CELLS, _MOST_VALUES // max(n_rows, 1)))
    per_cell = -(-n_averaged // most)
    step_cell = np.full(len(averaged), -1, np.int32)
    step_cell[averaged] = np.arange(n_averaged) // per_cell
    return RunCells(step_cell, np.bincount(step_cell[averaged]).astype(np.int64), True, event_step)
