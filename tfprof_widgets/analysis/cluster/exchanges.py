"""The `communication` table of one host -> at most so many rows, with the same sums.

summarize_communication(frame) -> PackedFrame
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .columns import PackedFrame

MAX_EXCHANGES = 500
"""Of one host; those with less exposed time are one row for each kind of exchange."""
OTHERS = "other exchanges"
"""The name of such a row."""


def summarize_communication(frame: pd.DataFrame) -> PackedFrame:
    """Keep the rows with the most exposed time, and add up the others of each kind."""
    if len(frame) <= MAX_EXCHANGES:
        return PackedFrame.of(frame)
    kept, rest = frame.iloc[:MAX_EXCHANGES], frame.iloc[MAX_EXCHANGES:]
    sums = ["occurrences", "total_time_us", "exposed_time_us", "time_ratio", "bytes"]
    others = rest.groupby(["host", "kind"], as_index=False, sort=False).agg(dict.fromkeys(sums, "sum"))
    total = others["total_time_us"].to_numpy()
    exposed = others["exposed_time_us"].to_numpy()
    others["overlap_ratio"] = np.where(total > 0, 1 - exposed / np.maximum(total, 1e-9), 0.0)
    others["name"] = OTHERS
    others["type"] = OTHERS
    return PackedFrame.of(pd.concat([kept, others[list(frame.columns)]], ignore_index=True))
