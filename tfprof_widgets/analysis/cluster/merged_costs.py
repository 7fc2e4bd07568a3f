"""Totals of ops of all hosts -> the costs of an `OpGraph`, over the whole capture instead of step by step.

total_costs(results, of_framework_op) -> OpCosts
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...trace.trace import Int32
from ..base.op_names import parse_op_names
from ..base.units import PS_PER_US
from ..tree.captured_graph import OpCosts

if TYPE_CHECKING:
    from ..facts.totals import Totals

_HOST, _DEVICE = "/host:CPU", "/device"
_NO_MEMORY = (
    "output_bytes",
    "accelerator_temp_bytes",
    "host_temp_bytes",
    "accelerator_persistent_bytes",
    "host_persistent_bytes",
)


def total_costs(results: Totals, of_framework_op: Int32) -> OpCosts:
    """Each op has one row a side, which stands outside of any step (-1), at the begin of the capture.

    Its device is `/host:CPU` of all hosts, or the first device's kind. Memory is what an op asked for (`allocated_bytes`);
    what of it was not given back is not known, nor what its executions held at most.
    """
    shares, totals = results.op_shares, results.op_totals
    rows = np.flatnonzero((of_framework_op >= 0) & (totals.occurrences > 0))
    op = of_framework_op[rows].astype(np.int64)
    is_device = shares.is_device[rows]
    device = next((plane.name for plane in results.trace.planes if plane.is_device), _DEVICE)
    n = len(rows)
    times = {
        "op": op,
        "step": np.full(n, -1),
        "device": np.where(is_device, device, _HOST).astype(np.object_),
        "is_accelerator": is_device,
        "start_us": np.zeros(n),
        "duration_us": totals.self_us[rows],
    }
    ran, place = np.unique(op, return_inverse=True)
    n_runs = np.zeros(len(ran), np.int64)
    np.maximum.at(n_runs, place.reshape(-1), totals.occurrences[rows])
    m = len(ran)
    runs = {
        "op": ran,
        "step": np.full(m, -1),
        "n_runs": n_runs,
        "start_us": np.zeros(m),
        "end_us": np.full(m, int(results.trace.end_ps.max(initial=0)) / PS_PER_US),
    }
    return OpCosts(times, runs, _memory(results, of_framework_op))


def _memory(results: Totals, of_framework_op: Int32) -> dict[str, Any]:
    used = results.memory_by_op
    number: dict[str, int] = {}
    for name, op in zip(results.op_shares.name, of_framework_op.tolist(), strict=True):
        if op >= 0:
            number.setdefault(name, op)
    at = np.array([number.get(name, -1) for name in parse_op_names(used.name).name], np.int64)
    rows = np.flatnonzero((at >= 0) & (used.allocated_bytes > 0))
    if not len(rows):
        return {}
    n, nothing = len(rows), np.zeros(len(rows), np.int64)
    return {
        "op": at[rows],
        "step": np.full(n, -1),
        "time_us": nothing,
        "requested_bytes": used.allocated_bytes[rows],
        "peak_bytes": nothing,
        "residual_bytes": nothing,
        "in_use_bytes": nothing,
        **dict.fromkeys(_NO_MEMORY, nothing),
    }
