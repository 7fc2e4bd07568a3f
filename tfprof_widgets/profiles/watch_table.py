"""Rows of a watched training -> the table that a user reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..trace.watched import EPOCH_BEGIN, PROFILED, Steps

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("train", "validation", "predict", "other")


def steps_table(rows: Steps) -> pd.DataFrame:
    """One row per step; see `WatchedRun.steps`."""
    import pandas as pd

    start_ns = rows["start_ns"]
    codes: npt.NDArray[np.int8] = np.minimum(rows["kind"], len(KINDS) - 1).astype(np.int8)
    return pd.DataFrame(
        {
            "number": rows["number"],
            "kind": pd.Categorical.from_codes(codes, pd.Index(KINDS)),
            "start_s": (start_ns - (start_ns[0] if len(rows) else 0)) / 1e9,
            "step_time_ms": rows["duration_us"] / np.float32(1e3),
            "wait_ms": rows["wait_us"] / np.float32(1e3),
            "outside_ms": rows["outside_us"] / np.float32(1e3),
            "loss": rows["loss"],
            "n_batches": rows["n_batches"],
            "profiled": rows["flags"] & PROFILED != 0,
            "begins_epoch": rows["flags"] & EPOCH_BEGIN != 0,
        }
    )
