"""Trace -> its copies between host and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ...trace.trace import Int64
from ..steps.step_spans import SpanType, on_stream

if TYPE_CHECKING:
    from .run import Run

_TYPE = {"h2d": SpanType.HOST_TO_DEVICE, "d2h": SpanType.DEVICE_TO_HOST}


def copy_events(run: Run, way: Literal["h2d", "d2h"]) -> Int64:
    """The copies on streams of devices, in one direction; rows of the trace."""
    if not run.steps.has_device:
        return np.empty(0, np.int64)
    return np.flatnonzero(
        on_stream(run.trace) & (run.facts.steps.span_type == _TYPE[way]) & (run.trace.duration_ps > 0)
    )
