"""Step times -> rows of a training that was watched."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfprof_widgets.trace import STEP, TRAIN

STARTED_NS = 1_700_000_000_000_000_000


def steps(duration_ms: Any, *, wait_ms: Any = 0.0, outside_ms: Any = 0.0, loss: Any = np.nan, first: int = 0) -> Any:
    """One row a time, the next right after the one before, numbered from `first`."""
    duration_us = np.asarray(duration_ms, np.float64) * 1e3
    rows = np.zeros(len(duration_us), STEP)
    rows["start_ns"] = STARTED_NS + np.concatenate([[0], np.cumsum(duration_us[:-1] * 1e3)]).astype(np.int64)
    rows["duration_us"], rows["wait_us"] = duration_us, np.asarray(wait_ms) * 1e3
    rows["outside_us"], rows["loss"] = np.asarray(outside_ms) * 1e3, loss
    rows["number"], rows["n_batches"], rows["kind"] = first + np.arange(len(rows)), 1, TRAIN
    return rows
