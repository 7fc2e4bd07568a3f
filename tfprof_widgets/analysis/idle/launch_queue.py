"""Kernels and the calls that launched them -> how much work the device had when each call began.

Source: semantics 3.8.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Int64, Trace
from ..base.launches import compute_launches
from ..base.matching import dense_codes
from ..steps.step_spans import on_stream


def kernel_events(trace: Trace) -> Int64:
    """The kernels, and CUDA graphs, that ran on streams of devices, without copies and what fills memory; rows of the trace."""
    details = trace.string_stat("kernel_details")
    says_nothing = details == trace.string_ids.get("", -2)
    is_kernel = ((details >= 0) & ~says_nothing) | trace.has_stat("cuda_graph_exec_id")
    return np.flatnonzero(on_stream(trace) & is_kernel & (trace.duration_ps > 0))


def launch_calls(trace: Trace, event: Int64) -> tuple[Int64, Int64]:
    """How some events of devices were launched.

    Args:
        trace: the trace.
        event: rows of the trace.

    Returns:
        For each how long the call took that launched it, and how many kernels that ran before it on its device had not ended
        when that call began: of one that is 0 the device had run dry, and waited for the call. Both are -1 where the trace
        does not tell, the second also for a device of which it describes no kernel.
    """
    call = compute_launches(trace).call_of(event)
    kernels = kernel_events(trace)
    both = np.concatenate([kernels, event])
    owner, n = dense_codes(trace.plane_id[both], trace.session_id[both])
    call_ps, queued = np.full(len(event), -1, np.int64), np.full(len(event), -1, np.int64)
    for one in range(n):  # bounded by devices and sessions
        own, wanted = (
            kernels[owner[: len(kernels)] == one],
            np.flatnonzero((owner[len(kernels) :] == one) & (call >= 0)),
        )
        n_before = np.searchsorted(np.sort(trace.start_ps[own]), trace.start_ps[event[wanted]])
        n_done = np.searchsorted(np.sort(trace.ends(own)), trace.start_ps[call[wanted]], side="right")
        call_ps[wanted] = trace.duration_ps[call[wanted]]
        queued[wanted] = np.maximum(n_before - n_done, 0) if len(own) else -1
    return call_ps, queued
