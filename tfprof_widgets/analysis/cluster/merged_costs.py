"""Totals of ops of all hosts -> the costs of an `OpGraph`, over the whole capture instead of step by step.

total_costs(results, of_framework_op) -> Costs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.trace import Int32
from ..base.op_names import parse_op_names
from ..base.units import PS_PER_US
from ..graph.op_graph import Costs

if TYPE_CHECKING:
    from ..facts.totals import Totals

_HOST, _DEVICE = "/host:CPU", "/device"


def total_costs(results: Totals, of_framework_op: Int32) -> Costs:
    """Each op has one row a side, which stands outside of any step (-1), at the begin of the capture.

    Its device is `/host:CPU` of all hosts, or the first device's kind. Memory is what an op asked for (`allocated_bytes`);
    what of it was not given back is not known, nor what its executions held at most.
    """
    shares, totals = results.op_shares, results.op_totals
    device = next((plane.name for plane in results.trace.planes if plane.is_device), _DEVICE)
    every = pd.DataFrame(
        {
            "op": of_framework_op.astype(np.int64),
            "is_accelerator": shares.is_device,
            "device": np.where(shares.is_device, device, _HOST).astype(np.object_),
            "duration_us": totals.self_us,
            "n_runs": totals.occurrences,
        }
    )
    ran = every[(every["op"] >= 0) & (every["n_runs"] > 0)].reset_index(drop=True)
    times = ran.drop(columns="n_runs").assign(step=-1, start_us=0.0)
    end_us = int(results.trace.end_ps.max(initial=0)) / PS_PER_US
    runs = ran.groupby("op", as_index=False)["n_runs"].max().assign(step=-1, start_us=0.0, end_us=end_us)
    return {"times": dict(times), "runs": dict(runs), "memory": dict(_memory(results, of_framework_op))}


def _memory(results: Totals, of_framework_op: Int32) -> pd.DataFrame:
    used = results.memory_by_op
    number: dict[str, int] = {}
    for name, op in zip(results.op_shares.name, of_framework_op.tolist(), strict=True):
        if op >= 0:
            number.setdefault(name, op)
    at = np.array([number.get(name, -1) for name in parse_op_names(used.name).name], np.int64)
    every = pd.DataFrame({"op": at, "requested_bytes": used.allocated_bytes})
    known = every[(every["op"] >= 0) & (every["requested_bytes"] > 0)].reset_index(drop=True)
    return known.assign(step=-1, time_us=0, peak_bytes=0, residual_bytes=0, in_use_bytes=0)
