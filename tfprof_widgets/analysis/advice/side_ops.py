"""Framework ops -> what those of the side that computes cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...trace.trace import Bool, Float64

if TYPE_CHECKING:
    from .run_facts import RunFacts

TINY = 1e-3
"""Of the time of all ops: what takes less is not looked at."""


@dataclass(frozen=True, eq=False)
class SideOps:
    """What ops of one side cost, each an entry per framework op of the trace."""

    us: Float64
    side: Bool
    whole_us: float
    compute_ratio: float
    """Share of the step time in which this side computes."""

    def ratio(self, chosen: Bool) -> float:
        """Share of the step time that some ops account for."""
        part = float(self.us[chosen & self.side].sum())
        return self.compute_ratio * part / self.whole_us if self.whole_us else 0.0

    @property
    def matter(self) -> Bool:
        """Those that take more than next to nothing."""
        found: Bool = self.side & (self.us >= TINY * self.whole_us)
        return found


def side_ops(run: RunFacts) -> SideOps:
    """Those of the device where one computes, else of the host; without those of the input."""
    shares, steps = run.results.op_shares, run.steps
    side = shares.is_device == steps.device_computes
    counted = side & ~run.results.op_scopes.is_input
    is_kernel = run.results.op_sums.unit_ns.any(axis=1)
    if steps.device_computes and is_kernel.any():  # what only copies computes nothing
        counted &= is_kernel
    us = run.results.op_totals.self_us
    ratio = steps.ratio("host_compute")
    if steps.device_computes:  # kernels may run in the step after that which launched them: the mean is over all steps
        every = run.results.steps.frame
        ratio = float(every["device_compute_ms"][every["is_complete"]].mean()) / steps.mean_ms if steps.mean_ms else 0.0
    return SideOps(us, counted, float(us[counted].sum()), ratio)
