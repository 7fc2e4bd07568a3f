"""Kernels and the calls that launched them -> how much work the device had when each call began.

Source: semantics 3.8.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Int64, Trace
from ..base.matching import dense_codes
from ..steps.step_spans import on_stream


def kernel_events(trace: Trace) -> Int64:
    """The kernels that ran on streams of devices, without copies and what fills memory; rows of the trace."""
    return np.flatnonzero(on_stream(trace) & (trace.string_stat("kernel_details") >= 0) & (trace.duration_ps > 0))


def queue_depths(trace: Trace, event: Int64, call: Int64) -> Int64:
    """For events of devices how many kernels that ran before each had not ended when its call began.

    Of one that is 0 the device had run dry: it waited for the call.

    Args:
        trace: the trace.
        event: rows of the trace.
        call: for each the row of the call that launched it.
    """
    kernels = kernel_events(trace)
    both = np.concatenate([kernels, event])
    owner, n = dense_codes(trace.plane_id[both], trace.session_id[both])
    depth = np.zeros(len(event), np.int64)
    for one in range(n):  # bounded by devices and sessions
        own, wanted = kernels[owner[: len(kernels)] == one], np.flatnonzero(owner[len(kernels) :] == one)
        n_before = np.searchsorted(np.sort(trace.start_ps[own]), trace.start_ps[event[wanted]])
        n_done = np.searchsorted(np.sort(trace.ends(own)), trace.start_ps[call[wanted]], side="right")
        depth[wanted] = np.maximum(n_before - n_done, 0)
    return depth
