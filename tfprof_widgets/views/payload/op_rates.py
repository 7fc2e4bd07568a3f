"""What is known of the work of ops -> a table of rates beside the ops of a pack; `js/src/views/op_table/columns.ts` shows it."""

from __future__ import annotations

import numpy as np

from ...analysis.results import Results
from .wire import Table

_RATES = ("flop_rate_gflops", "memory_bandwidth_gibps", "tensor_core_ratio")


def op_rate_table(results: Results) -> Table | None:
    """For each framework op its rates over the whole capture, NaN where nothing is known; None where that is so for all."""
    known = results.ops[results.ops[list(_RATES)].notna().any(axis=1)]
    if known.empty:
        return None
    shares = results.op_shares
    row_of = {key: i for i, key in enumerate(zip(known["device"] == "Device", known["name"], strict=True))}
    rows = [row_of.get(key, -1) for key in zip(shares.is_device.tolist(), shares.name, strict=True)]  # one an op
    return Table({name: (np.append(known[name].to_numpy(np.float64), np.nan)[rows], "f8") for name in _RATES})
