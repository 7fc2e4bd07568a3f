"""samples: the table of the machine's samples -> time, loads and rates as arrays, without what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64


@dataclass(frozen=True)
class Samples:
    """Samples in time order, no two at one time."""

    frame: pd.DataFrame
    seconds: Float64
    """After the trace origin."""

    @classmethod
    def of(cls, system: pd.DataFrame | None, pauses_ms: Sequence[tuple[float, float]] = ()) -> Samples | None:
        """The samples of a table, without those of the given times; None where there is none."""
        if system is None or system.empty or "time_ms" not in system:
            return None
        ordered = system.sort_values("time_ms", kind="stable").drop_duplicates("time_ms")
        time_ms = ordered["time_ms"].to_numpy(np.float64)
        # A load is the mean since the sample before, so the first one behind a pause is about it too.
        since_ms = np.append(time_ms[:1], time_ms[:-1])
        is_used = np.ones(len(time_ms), np.bool_)
        for begin_ms, end_ms in pauses_ms:  # bounded by the windows of the capture
            is_used &= (time_ms < begin_ms) | (since_ms >= end_ms)
        return cls(ordered[is_used], time_ms[is_used] / 1e3)

    def known(self, column: str) -> tuple[Float64, Float64]:
        """Seconds and values of a column where it has one; empty where there is no such column."""
        if column not in self.frame:
            return np.empty(0), np.empty(0)
        values = self.frame[column].to_numpy(np.float64)
        is_known = np.isfinite(values)
        return self.seconds[is_known], values[is_known]

    def rates(self, column: str) -> tuple[Float64, Float64]:
        """Edges and rates a second of a column that only grows: rate `k` is that between edges `k` and `k + 1`."""
        seconds, totals = self.known(column)
        if len(seconds) < 2:
            return np.empty(0), np.empty(0)
        return seconds, np.maximum(np.diff(totals), 0) / np.diff(seconds)


def runs(flags: Bool) -> list[tuple[int, int]]:
    """Begin and end (behind it) of each run of true values."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))
