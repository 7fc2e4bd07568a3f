"""Trace -> what XLA launched kernel by kernel because a profiler ran, where it launches CUDA graphs otherwise.

XLA tells it by an event around every stretch of kernels that would have been one graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Trace
from ..base.event_graph import nearest_marked

_SWITCHED_OFF = "WARNING: CommandBuffer disabled when profiling"
_KEEP = "--xla_enable_command_buffers_during_profiling=true"


@dataclass(frozen=True)
class GraphsSwitchedOff:
    """CUDA graphs that ran as single kernels."""

    n_graphs: int
    n_calls: int
    """Calls of the driver that made up for them."""
    n_calls_in_all: int

    @property
    def notice(self) -> str:
        """What a reader of the times has to know; empty where every graph ran as one."""
        if not self.n_graphs:
            return ""
        return (
            f"A profiler made XLA launch {self.n_graphs:,} CUDA graphs kernel by kernel: {self.n_calls:,} of "
            f"{self.n_calls_in_all:,} calls of the driver. Without one, launching costs less than is shown here. To keep the "
            f"graphs, set XLA_FLAGS={_KEEP} before TensorFlow starts."
        )


def graphs_switched_off(trace: Trace) -> GraphsSwitchedOff:
    """Count them; zeros where XLA switched nothing off, or compiled nothing."""
    is_off = trace.names_matching((_SWITCHED_OFF,))
    calls = np.flatnonzero(
        trace.on_planes([plane.is_host for plane in trace.planes]) & trace.has_stat("correlation_id")
    )
    inside = nearest_marked(trace.nesting.parent, is_off)[calls] >= 0 if is_off.any() else np.zeros(0, np.bool_)
    return GraphsSwitchedOff(int(is_off.sum()), int(inside.sum()), len(calls))
