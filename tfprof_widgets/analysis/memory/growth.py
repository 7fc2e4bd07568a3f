"""Memory in use at the ends of steps -> whether it grows, and which ops allocate what stays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.arrays import Float64, Int64
from ..common import plural, size
from ..tables import table
from .moments import Snapshots, StepSpans, texts

UNFREED = table("""
    memory.unfreed: an op that allocates in a step what is held some steps later, most held first
        op               text   that allocated it
        n_allocations    int    that are held so long
        n_steps          int    steps in which it made them
        allocated_bytes  int    of all of them
        bytes_per_step   float  that a step adds [bytes]
        held_bytes       int    the part not given back until the session ends
""")

MAX_STEPS_OF_SESSION = 400
"""Of more steps evenly spread ones are compared: 80,000 pairs tell a slope."""
MIN_DEVIATIONS = 3.0
MIN_SHARE_OF_PEAK = 0.01
MAX_STEPS_LEFT = 100_000


@dataclass(frozen=True, eq=False)
class MemoryGrowth:
    """Whether the memory in use grows from the end of one step to the end of the next: what `Profile.memory.growth` gives."""

    bytes_per_step: float
    """How much it grows a step: a robust slope, negative where it shrinks; NaN where no session of the profiler has two
    steps.
    """
    n_steps: int
    """Steps that it is told from."""
    is_significant: bool
    """Whether it looks like a leak: a steady rise that matters."""
    sentence: str
    """What grows, by how much, and what allocates it; empty where there is no sign of a leak."""


@dataclass(frozen=True)
class _Slopes:
    rise: Float64
    """Slope of each pair of steps of a session, bytes a step."""
    variance: float
    """Of the number of rising less falling pairs, if there were no trend."""


def measure_growth(steps: pd.DataFrame, session: Int64, peak_bytes: int) -> tuple[float, bool]:
    """The slope in bytes a step, and whether it is a sign of a leak."""
    parts = [
        (steps["step"].to_numpy(np.float64)[session == key], steps["end_bytes"].to_numpy(np.float64)[session == key])
        for key in np.unique(session)
    ]
    parts = [_thinned(step, level) for step, level in parts]
    slopes = _slopes(parts)
    if not len(slopes.rise):
        return float("nan"), False
    slope = float(np.median(slopes.rise))
    later = _slopes([(step[len(step) // 2 :], level[len(step) // 2 :]) for step, level in parts]).rise
    excess = float((slopes.rise > 0).sum() - (slopes.rise < 0).sum()) - 1
    is_steady = excess > 0 and excess >= MIN_DEVIATIONS * slopes.variance**0.5
    goes_on = len(later) > 0 and float(np.median(later)) >= slope / 2
    matters = slope * len(steps) >= MIN_SHARE_OF_PEAK * peak_bytes
    return slope, bool(slope > 0 and is_steady and goes_on and matters)


def _thinned(step: Float64, level: Float64) -> tuple[Float64, Float64]:
    if len(step) <= MAX_STEPS_OF_SESSION:
        return step, level
    chosen = np.arange(MAX_STEPS_OF_SESSION) * (len(step) - 1) // (MAX_STEPS_OF_SESSION - 1)
    return step[chosen], level[chosen]


def _slopes(parts: list[tuple[Float64, Float64]]) -> _Slopes:
    rises, variance = [np.empty(0)], 0.0
    for step, level in parts:  # one turn per session
        n = len(step)
        low, high = np.triu_indices(n, 1)
        rises.append((level[high] - level[low]) / (step[high] - step[low]))
        variance += n * (n - 1) * (2 * n + 5) / 18
    return _Slopes(np.concatenate(rises), variance)


def describe_growth(bytes_per_step: float, n_steps: int, unfreed: pd.DataFrame, free_bytes: int) -> str:
    """The sentence of a significant growth."""
    said = f"Memory in use grows by {size(bytes_per_step)} a step over {plural(n_steps, 'step')}: a sign of a leak."
    # What is left of most steps is the leak; what is left of one step is a variable or a cache.
    leaking = unfreed[(unfreed["n_steps"] * 2 >= unfreed["n_steps"].max()) & (unfreed["held_bytes"] > 0)]
    if len(leaking):
        top = leaking.iloc[0]
        rate = size(top["bytes_per_step"] * top["held_bytes"] / top["allocated_bytes"])
        said += f" {top['op'] or 'An op without a name'} allocates {rate} a step that is never given back."
    n_left = free_bytes / bytes_per_step
    if 0 < n_left < MAX_STEPS_LEFT:
        said += f" What is free, {size(free_bytes)}, lasts about {plural(round(n_left), 'step')} more."
    return said


def unfreed_table(
    snapshots: Snapshots, rows: slice, strings: tuple[str, ...], spans: StepSpans, step: Int64, after_steps: int
) -> pd.DataFrame:
    """Allocations of a step still held `after_steps` steps later, by op; the columns are told in `MemoryProfile.unfreed`."""
    deadline = _ends_later(spans, after_steps)
    due = np.append(deadline, -1)[step]
    freed = snapshots.freed_at[rows]
    freed_ps = np.where(freed >= 0, snapshots.time_ps[freed], np.iinfo(np.int64).max)
    stays = ~snapshots.is_free[rows] & (due >= 0) & (freed_ps > due)
    stays &= spans.session[step] == snapshots.session_id[rows] if len(spans) else False
    at = np.flatnonzero(stays)
    n_due = len(np.intersect1d(np.flatnonzero(deadline >= 0), step))
    size_bytes = snapshots.allocation_bytes[rows][at]
    found = pd.DataFrame(
        {
            "op": snapshots.op[rows][at],
            "step": step[at],
            "allocated_bytes": size_bytes,
            "held_bytes": np.where(freed[at] < 0, size_bytes, 0),
        }
    )
    groups = found.groupby("op", sort=False)
    table = groups.agg(
        n_allocations=("step", "size"),
        n_steps=("step", "nunique"),
        allocated_bytes=("allocated_bytes", "sum"),
        held_bytes=("held_bytes", "sum"),
    ).reset_index()
    table["op"] = texts(table["op"].to_numpy(np.int64), strings)
    table["bytes_per_step"] = table["allocated_bytes"] / max(1, n_due)
    order = ["held_bytes", "allocated_bytes", "op"]
    return table[list(UNFREED.names)].sort_values(
        order, ascending=[False, False, True], kind="stable", ignore_index=True
    )


def _ends_later(spans: StepSpans, after_steps: int) -> Int64:
    """For each step the end of the one `after_steps` later in its session, -1 where the session ends before."""
    deadline = np.full(len(spans), -1, np.int64)
    for session in np.unique(spans.session):  # one turn per session
        step = np.flatnonzero(spans.session == session)
        if len(step) > after_steps:
            deadline[step[: len(step) - after_steps]] = spans.end_ps[step[after_steps:]]
    return deadline
