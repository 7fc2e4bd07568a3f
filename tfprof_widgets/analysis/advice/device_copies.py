"""Copies between host and device -> the time of each step in which one ran and the device computed nothing.

exposed_copies_ms(run, "h2d") -> ms per step
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ...trace.trace import Float64, Int64
from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from ..steps.step_spans import SpanType, on_stream

if TYPE_CHECKING:
    from .run import Run

_CATEGORY = {"h2d": "input", "d2h": "output"}
_TYPE = {"h2d": SpanType.HOST_TO_DEVICE, "d2h": SpanType.DEVICE_TO_HOST}


def copy_events(run: Run, way: Literal["h2d", "d2h"]) -> Int64:
    """The copies on streams of devices, in one direction; rows of the trace."""
    if not run.steps.has_device:
        return np.empty(0, np.int64)
    return np.flatnonzero(
        on_stream(run.trace) & (run.facts.steps.span_type == _TYPE[way]) & (run.trace.duration_ps > 0)
    )


def exposed_copies_ms(run: Run, way: Literal["h2d", "d2h"]) -> Float64:
    """For each step for how long a copy ran while neither the device computed nor the host enqueued a kernel.

    The composition of a step already charges every instant to one thing; of what it charges to the input (or output), this
    is the part in which a copy was under way.
    """
    steps, rows = run.steps, copy_events(run, way)
    total = np.zeros(len(steps), np.float64)
    if not len(rows):
        return total
    own = steps.pieces[steps.pieces["category"] == _CATEGORY[way]]
    low = own["start_ps"].to_numpy(np.int64)
    high = low + own["duration_ps"].to_numpy(np.int64)
    inside = Stretches.of(run.trace.start_ps[rows], run.trace.ends(rows)).within(low, high)
    by_row = np.zeros(steps.n_all, np.float64)
    np.add.at(by_row, own["step"].to_numpy(np.int64), inside / PS_PER_MS)
    return by_row[steps.row]
