"""Executions of ops -> totals per op over the whole trace or a time range.

    op_occurrences(trace, grouping=...) -> Occurrences      # in op_occurrences.py
    aggregate_ops(occurrences, time_range_ps=(a, b) | None, idle=False) -> DataFrame of OPS_COLUMNS

Source: semantics 4.1-4.4.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..store.trace import Bool, Int64
from .matching import sum_by
from .op_occurrences import Occurrences, op_occurrences
from .units import PS_PER_US

__all__ = ["IDLE", "OPS_COLUMNS", "Occurrences", "aggregate_ops", "op_occurrences"]

OPS_COLUMNS = (
    "rank",
    "device",
    "type",
    "name",
    "occurrences",
    "total_time_us",
    "avg_time_us",
    "total_self_time_us",
    "avg_self_time_us",
    "self_time_ratio",
    "cumulative_ratio",
    "eager",
)
IDLE = "IDLE"
"""Type and name of the row that stands for the time in which a thread or device ran no op."""


def aggregate_ops(
    occurrences: Occurrences, *, time_range_ps: tuple[int, int] | None = None, idle: bool = False
) -> pd.DataFrame:
    """Totals per op, those that cost most of their own time first.

    Args:
        occurrences: the result of `op_occurrences`.
        time_range_ps: count only the time between these two; an op that overlaps the range counts as executed, one
            without duration when it lies inside. Total time is then the overlap, self time the overlap of the op's own span
            less that of its direct children. `None` is the whole trace.
        idle: add one row `IDLE` per side: time of host threads (summed over threads) and of devices (summed over devices)
            between their first and last event in which no op ran. A side of which nothing was observed within the range
            has none; one that was never idle has one of 0, as in XProf (the browser leaves that out).

    Returns:
        The columns `OPS_COLUMNS`, sorted by (`device` first devices then host, self time falling, name); `device` is
        `Device` or `Host`; ratios are of the side's total, with or without idle time.

    Differs from XProf: nothing is cut off at 500 ops (D7).
    """
    total, own, counted = _overlaps(occurrences, time_range_ps)
    n_ops = len(occurrences.name)
    count = _counts(occurrences, counted)
    frame = pd.DataFrame(
        {
            "device": np.where(occurrences.is_device, "Device", "Host"),
            "type": pd.Series(occurrences.type, dtype=object),
            "name": pd.Series(occurrences.name, dtype=object),
            "occurrences": count,
            "total_ps": sum_by(occurrences.op, total, n_ops),
            "self_ps": sum_by(occurrences.op, own, n_ops),
            "eager": occurrences.is_eager,
        }
    )
    frame = frame[count > 0]
    if idle:
        frame = pd.concat([frame, _idle_rows(occurrences, own, time_range_ps)], ignore_index=True)
    return _finish(frame)


def _overlaps(occurrences: Occurrences, time_range_ps: tuple[int, int] | None) -> tuple[Int64, Int64, Bool]:
    """Total and self time of each execution within the range, and whether it counts."""
    if time_range_ps is None:
        return occurrences.duration_ps, occurrences.self_ps, np.ones(len(occurrences), np.bool_)
    low, high = time_range_ps
    start = occurrences.start_ps

    def overlap(length: Int64) -> Int64:
        inside = np.minimum(start + length, high) - np.maximum(start, low)
        positive: Int64 = np.maximum(inside, 0)
        return positive

    span = overlap(occurrences.span_ps)
    own = span.copy()
    inner = occurrences.parent >= 0
    np.subtract.at(own, occurrences.parent[inner], span[inner])
    total = overlap(occurrences.duration_ps)
    point = (occurrences.duration_ps == 0) & (start >= low) & (start < high)
    return total, own, (total > 0) | point


def _counts(occurrences: Occurrences, counted: Bool) -> Int64:
    """Executions per op; on a device the largest count among its kernels (semantics 4.3)."""
    n_ops = len(occurrences.name)
    host = counted & ~occurrences.is_device[occurrences.op]
    count = np.bincount(occurrences.op[host], minlength=n_ops).astype(np.int64)
    device = counted & occurrences.is_device[occurrences.op]
    if device.any():
        width = int(occurrences.variant.max()) + 1
        kernels = occurrences.op[device].astype(np.int64) * width + occurrences.variant[device]
        keys, n_runs = np.unique(kernels, return_counts=True)
        np.maximum.at(count, keys // width, n_runs)
    return count


def _idle_rows(occurrences: Occurrences, own: Int64, time_range_ps: tuple[int, int] | None) -> pd.DataFrame:
    """One row per side. Parallel streams may keep a device busier than time passes; it is then never idle."""
    first, last = occurrences.lane_first_ps, occurrences.lane_last_ps
    if time_range_ps is not None:
        first, last = np.maximum(first, time_range_ps[0]), np.minimum(last, time_range_ps[1])
    idle = np.maximum(last - first - sum_by(occurrences.lane, own, len(first)), 0)
    rows = []
    for is_device, side in ((True, "Device"), (False, "Host")):
        chosen = (occurrences.lane_is_device == is_device) & (first <= last)
        if chosen.any():
            ps = int(idle[chosen].sum())
            rows.append((side, IDLE, IDLE, 0, ps, ps, False))
    frame = pd.DataFrame(rows, columns=["device", "type", "name", "occurrences", "total_ps", "self_ps", "eager"])
    return frame.astype({"occurrences": np.int64, "total_ps": np.int64, "self_ps": np.int64, "eager": np.bool_})


def _finish(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.sort_values(["device", "self_ps", "name"], ascending=[True, False, True], kind="stable").reset_index(
        drop=True
    )
    side = frame.groupby("device", sort=False)["self_ps"]
    whole = side.transform("sum")
    count = frame["occurrences"].where(frame["occurrences"] > 0, 1)
    executed = frame["occurrences"] > 0
    frame["rank"] = np.arange(1, len(frame) + 1)
    frame["total_time_us"] = frame["total_ps"] / PS_PER_US
    frame["avg_time_us"] = (frame["total_time_us"] / count).where(executed, 0.0)
    frame["total_self_time_us"] = frame["self_ps"] / PS_PER_US
    frame["avg_self_time_us"] = (frame["total_self_time_us"] / count).where(executed, 0.0)
    frame["self_time_ratio"] = (frame["self_ps"] / whole).where(whole > 0, 0.0)
    frame["cumulative_ratio"] = (side.cumsum() / whole).where(whole > 0, 0.0)
    return frame[list(OPS_COLUMNS)]
