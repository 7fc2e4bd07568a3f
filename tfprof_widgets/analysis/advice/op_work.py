"""Executions of ops -> what each takes in a usual step: its median times how often it runs.

A median per op, not a sum: on a busy machine an op of 5 us is suspended for 10 ms now and then, and a sum would take the
machine's other work for this program's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Float64, Int32
from ..base.units import PS_PER_MS
from ..facts.facts import Facts
from ..layers.layers import OPTIMIZER

OP_OVERHEAD_MS = 0.010
"""What running any op costs at least, on whatever shapes: scheduling it, taking its inputs, allocating its output. 5 to 20 us
on the machines this was measured on; work that a batch adds comes on top."""


@dataclass(frozen=True, eq=False, repr=False)
class OpWork:
    """One entry per unit of `Occurrences`, in a usual one of the averaged steps."""

    median_ms: Float64
    """Self time of one execution; 0 for one that did not run in the steps."""
    per_step: Float64
    """Executions a step."""
    is_model: Bool
    """Whether it is neither of the input nor of the optimizer."""
    is_optimizer: Bool
    is_compiled: Bool
    """Whether it is an op of a compiled program on the host: XLA runs those in pieces on other threads, and their events tell
    of the dispatch alone, a tenth of the time."""

    @property
    def is_told(self) -> bool:
        """Whether the trace tells how long the model's ops ran: most of them are no compiled ops of a CPU."""
        ours = (self.is_model | self.is_optimizer) & (self.per_step > 0)
        return bool(ours.any()) and float(self.per_step[ours & self.is_compiled].sum()) < 0.5 * self.n_ops

    @property
    def ms(self) -> Float64:
        """Time a step."""
        return self.median_ms * self.per_step

    @property
    def growing_ms(self) -> float:
        """Time a step that grows with the batch: of the model's ops what they take beyond the cost of running any op.

        The update of the weights is the same for any batch.
        """
        beyond = np.maximum(self.median_ms - OP_OVERHEAD_MS, 0.0) * self.per_step
        return float(beyond[self.is_model].sum())

    @property
    def n_ops(self) -> float:
        """How many ops of the model and the optimizer run a step."""
        return float(self.per_step[self.is_model | self.is_optimizer].sum())


def op_work(results: Facts, entry: Int32, n_steps: int) -> OpWork:
    """Find it.

    Args:
        results: the results.
        entry: for each event its step among those counted, -1 for none.
        n_steps: how many these are.
    """
    occurrences, shares = results.occurrences, results.op_shares
    n = len(occurrences.name)
    rows = np.flatnonzero(entry[occurrences.event] >= 0)
    execution, first_row, at = np.unique(occurrences.execution[rows], return_index=True, return_inverse=True)
    own = np.bincount(at, occurrences.self_ps[rows] / PS_PER_MS, len(execution))
    op = occurrences.op[rows[first_row]]
    order = np.lexsort((own, op))
    count = np.bincount(op, minlength=n)
    first = np.cumsum(count) - count
    ran = count > 0
    median = np.zeros(n, np.float64)
    median[ran] = own[order][(first + count // 2)[ran]]
    framework = shares.dominant
    is_optimizer = results.layers.op_phase[framework] == OPTIMIZER
    is_input = results.op_scopes.is_input[framework]
    return OpWork(
        median_ms=median,
        per_step=count / max(n_steps, 1),
        is_model=~is_optimizer & ~is_input,
        is_optimizer=is_optimizer & ~is_input,
        is_compiled=(np.arange(n) >= occurrences.n_ops) & ~occurrences.is_device,
    )
