"""`Snapshots` and the spans of steps -> what each step did to an allocator: its peak, its levels and its allocations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int64
from ..base.table_types import Types, typed_table
from ..base.units import PS_PER_MS
from ..columns.registry import TABLES
from .memory_snapshots import Snapshots

_TYPES: Types = TABLES["memory.steps"].types


@dataclass(frozen=True)
class StepSpans:
    """When each row of the `steps` table began and ended, after the trace origin, and in which session."""

    session: Int64
    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.session)


@dataclass(frozen=True)
class Levels:
    """The bytes in use of one allocator in one session, as they changed."""

    row: Int64
    """Rows in `Snapshots`, in time order."""
    time_ps: Int64
    """When the level became `in_use_bytes[i + 1]`."""
    in_use_bytes: Int64
    """One more than rows: the first is the level before the first event."""


def session_levels(snapshots: Snapshots, rows: slice) -> dict[int, Levels]:
    """The levels of one allocator by session; what one session ends with says nothing about the next."""
    session = snapshots.session_id[rows].astype(np.int64)
    found = {}
    for key in np.unique(session).tolist():  # one turn per session
        row = np.flatnonzero(session == key) + rows.start
        in_use, first = snapshots.in_use_bytes[row], row[:1]
        size = snapshots.allocation_bytes[first]
        before = in_use[:1] + np.where(snapshots.is_free[first], size, -size)
        found[key] = Levels(row, snapshots.time_ps[row], np.concatenate([before, in_use]))
    return found


def step_table(snapshots: Snapshots, rows: slice, spans: StepSpans) -> pd.DataFrame:
    """One row per step of a session in which the allocator reports; the columns are told in `MemoryProfile.steps`."""
    parts = []
    for session, levels in session_levels(snapshots, rows).items():
        step = np.flatnonzero(spans.session == session)
        if len(step):
            parts.append(_steps_of_session(snapshots, levels, spans, step))
    if not parts:
        return typed_table((), _TYPES)
    return pd.concat(parts, ignore_index=True).sort_values("step", kind="stable", ignore_index=True)


def _steps_of_session(snapshots: Snapshots, levels: Levels, spans: StepSpans, step: Int64) -> pd.DataFrame:
    start = spans.start_ps[step]
    first = np.searchsorted(levels.time_ps, start, side="left")
    last = np.searchsorted(levels.time_ps, spans.end_ps[step], side="left")
    at, peak = _peaks(levels.in_use_bytes, first, last)
    # A peak at the level before the first event of the step was there when it began.
    peak_ps = np.where(at == first, start, levels.time_ps[np.maximum(at - 1, 0)])
    is_free, size = snapshots.is_free[levels.row], snapshots.allocation_bytes[levels.row]
    count, total = _running(~is_free), _running(np.where(is_free, 0, size))
    begin, end = levels.in_use_bytes[first], levels.in_use_bytes[last]
    return pd.DataFrame(
        {
            "step": step,
            "peak_bytes": peak,
            "peak_at_ms": peak_ps / PS_PER_MS,
            "start_bytes": begin,
            "end_bytes": end,
            "growth_bytes": end - begin,
            "n_allocations": count[last] - count[first],
            "allocated_bytes": total[last] - total[first],
        }
    )


def _peaks(level: Int64, first: Int64, last: Int64) -> tuple[Int64, Int64]:
    """For each span `first..last` (both included) of the levels where the highest one stands last, and what it is."""
    padded = np.append(level, 0)  # reduceat takes no end beyond the last element
    peak = np.maximum.reduceat(padded, np.stack([first, last + 1], axis=1).reshape(-1))[::2]
    length = last - first + 1
    span = np.repeat(np.arange(len(first)), length)
    place = ranges(first, length)
    at = np.zeros(len(first), np.int64)
    np.maximum.at(at, span, np.where(level[place] == peak[span], place, 0))
    return at, peak


def _running(values: Int64 | Bool) -> Int64:
    """Sums of what comes before each place, and of all."""
    return np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
