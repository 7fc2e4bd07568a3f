"""Gaps of devices -> for how long devices wait in each averaged step until something is launched, and before what."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.trace import Float64
from ..xla.command_buffers import graphs_switched_off

if TYPE_CHECKING:
    from .run_facts import RunFacts


@dataclass(frozen=True, eq=False, repr=False)
class DeviceWaits:
    """Per averaged step, as the columns of `steps` say; 0 without a device."""

    launching: pd.DataFrame
    """Gaps in which a kernel is launched, and those between kernels of a step in which Python and the runtime get there: rows of
    `idle`. None where a profiler made XLA launch kernels one by one that run as CUDA graphs otherwise."""
    launching_ms: Float64
    """How long no device works for such a reason."""
    dispatch_between_ms: Float64
    """What of that is dispatch: Python and the runtime between kernels of a step."""
    border_ms: Float64
    """How long none does for Python, the runtime and synchronising before the first and after the last kernel of a step."""

    def before(self, column: str, value: str) -> float:
        """The part of the gaps for launches whose next kernel has a value in one column, in [0, 1]."""
        whole = float(self.launching["duration_us"].sum())
        part = float(self.launching["duration_us"][self.launching[column] == value].sum())
        return part / whole if whole else 0.0

    def launch_ms_before(self, ops: Collection[str]) -> float:
        """How long devices wait for the launches of some ops in a usual step."""
        whole, chosen = float(self.launching["duration_us"].sum()), self.launching["op"].isin(list(ops))
        share = float(self.launching["duration_us"][chosen].sum()) / whole if whole else 0.0
        return share * float(np.median(self.launching_ms))

    def most(self, column: str) -> tuple[str, ...]:
        """Up to five values of a column, before which the devices wait longest."""
        sums = self.launching.groupby(column)["duration_us"].sum().sort_values(ascending=False, kind="stable")
        return tuple(str(value) for value in sums.index[:5] if value)


def device_waits(run: RunFacts) -> DeviceWaits:
    """Find them. Where Python and the runtime take time, the gaps of single devices tell which part is between kernels."""
    steps, idle = run.steps, run.facts.idle
    idle = idle[np.isin(idle["step"].to_numpy(), steps.row)]
    is_between, is_dispatch = idle["position"] == "between", idle["cause"] == "dispatch"
    dispatched = float(idle["duration_us"][is_dispatch].sum())
    share = float(idle["duration_us"][is_dispatch & is_between].sum()) / dispatched if dispatched else 0.0
    launch, dispatch, sync = (steps.wait_ms(name) for name in ("kernel_launch", "dispatch", "sync"))
    is_made_by_profiler = graphs_switched_off(run.trace).n_graphs > 0
    return DeviceWaits(
        launching=idle[((idle["cause"] == "kernel_launch") | (is_dispatch & is_between)) & (not is_made_by_profiler)],
        launching_ms=(launch + share * dispatch) * (not is_made_by_profiler),
        dispatch_between_ms=share * dispatch,
        border_ms=(1 - share) * dispatch + sync,
    )
