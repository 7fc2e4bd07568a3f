"""Steps of a kind that is not trained -> the loops over batches that they are of: when each began and ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Float64, Int64, Trace
from ..base.event_graph import int_stat_at
from ..base.units import PS_PER_MS
from ..steps.coverage import Coverage

Kinds = npt.NDArray[np.object_]
MARK = "begun_ns"
"""What our marker of the first step of such a loop says: how long before it the loop began."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluations:
    """Loops of an evaluation, such as validations, by begin; columns have one entry for each."""

    start_ps: Int64
    end_ps: Int64
    kind: Kinds
    """Of most of its steps."""
    n_steps: Int64
    are_told: bool
    """Whether markers tell where each begins, and so which steps are of one."""

    @property
    def ms(self) -> Float64:
        """How long each took."""
        return (self.end_ps - self.start_ps) / PS_PER_MS

    def at(self, rows: Int64) -> Evaluations:
        """Only these."""
        return replace(
            self,
            start_ps=self.start_ps[rows],
            end_ps=self.end_ps[rows],
            kind=self.kind[rows],
            n_steps=self.n_steps[rows],
        )

    def of(self, time_ps: Int64) -> Int64:
        """For each moment in which it lies, -1 for none."""
        at = np.searchsorted(self.start_ps, time_ps, side="right") - 1
        return np.where((at >= 0) & (time_ps < np.append(self.end_ps, 0)[at]), at, -1)


def find_evaluations(trace: Trace, steps: pd.DataFrame, kinds: Kinds, coverage: Coverage) -> Evaluations:
    """Find them among the steps that are not trained; a loop of which nothing tells begins with its first step.

    Args:
        trace: the trace, of one host.
        steps: their rows of the `steps` table, by start.
        kinds: of these.
        coverage: the stretches without a training step, which part them as well.
    """
    start_ps = steps["start_ps"].to_numpy(np.int64)
    end_ps = start_ps + steps["duration_ps"].to_numpy(np.int64)
    stretch = np.maximum(np.searchsorted(coverage.start_ps, start_ps, side="right") - 1, 0)
    marks = trace.keyed_stats(MARK).event
    marked = np.searchsorted(start_ps, trace.start_ps[marks], side="left")
    lead_ps = np.zeros(len(start_ps) + 1, np.int64)
    lead_ps[marked] = np.clip(int_stat_at(trace, MARK, marks), 1, 2**50) * 1000
    lead_ps = lead_ps[:-1]
    is_first = np.append(True, (np.diff(stretch) > 0) | (kinds[1:] != kinds[:-1]))[: len(start_ps)] | (lead_ps > 0)
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(start_ps))[: len(first)] - 1
    until_ps = np.maximum.accumulate(end_ps)[last] if len(first) else end_ps
    begin_ps = np.maximum(start_ps - lead_ps, np.append(coverage.start_ps, 0)[stretch])[first]
    return Evaluations(
        start_ps=np.maximum(begin_ps, np.append(0, until_ps)[: len(first)]),
        end_ps=until_ps,
        kind=kinds[first],
        n_steps=last + 1 - first,
        are_told=bool(len(marks)),
    )
