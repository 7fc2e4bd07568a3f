"""Kernels -> how they were launched: how long the calls took, and whether the device had run dry when they began.

Source: semantics 3.8.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...trace.trace import Trace
from ..base.units import PS_PER_US
from ..columns.registry import TABLES
from ..ops.kernels import Kernels
from .launch_queue import launch_calls


def compute_kernel_launches(trace: Trace, kernels: Kernels) -> pd.DataFrame:
    """One row per row of `kernels`, in the same order; means are over the executions whose call is known."""
    frame, n = kernels.frame, len(kernels.frame)
    call_ps, queued = launch_calls(trace, kernels.run_event)
    known = call_ps >= 0
    row, queued = kernels.run_kernel[known], queued[known]
    calls = np.bincount(row, minlength=n)
    share = np.where(calls > 0, 1 / np.maximum(calls, 1), np.nan)
    told = frame[["rank", "name", "op_name", "occurrences"]].assign(
        calls=calls.astype(np.int64),
        launch_us=np.bincount(row, call_ps[known] / PS_PER_US, n) * share,
        queue_depth=np.bincount(row, queued, n) * share,
        starved_ratio=np.bincount(row, queued == 0, n) * share,
    )
    return told[list(TABLES["kernel_launches"].names)]
