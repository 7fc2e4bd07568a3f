"""`Snapshots` -> what holds an allocator's memory: the live set at a time, and XProf's table at the peak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.dtypes import dtype_name
from ..base.matching import unique_codes
from .memory_snapshots import Snapshots

Int64 = npt.NDArray[np.int64]

BEFORE_CAPTURE = "allocated before the capture"
"""The op of the row that stands for bytes in use whose allocation is not in the capture."""
OF_OTHER_STEPS = "allocated in other steps or before the capture"
"""The op of the row that stands for bytes in use at the peak that were not allocated in the peak's step. XProf calls them
"unused preallocated device memory", whatever they are."""
STACK = "stack"
NOT_RECORDED = "op not recorded"
"""Whose allocation names no op, such as arrays that became tensors."""
BY_XLA = "allocated by XLA (op unknown)"
"""The same where programs of XLA ran, which allocate without naming ops."""
_GROUP = ["allocation_bytes", "requested_bytes", "op", "region", "dtype", "shape"]
_NUMBERS = frozenset(("allocation_bytes", "requested_bytes", "occurrences"))
_COLUMNS = ["op", "allocation_bytes", "requested_bytes", "occurrences", "region", "dtype", "shape", "total_bytes"]


@dataclass(frozen=True)
class Peak:
    """The moment at which an allocator's stack and heap are largest."""

    row: int
    """Row in `Snapshots`: of equal maxima the last in line order, as XProf takes it."""
    in_use_bytes: int
    step: int
    """XProf's step id of the last maximum in time order."""


def unknown_op(hlo_ops: pd.DataFrame) -> str:
    """What an allocation that names no op is called in a run of these HLO ops."""
    return NOT_RECORDED if hlo_ops.empty else BY_XLA


def find_peak(snapshots: Snapshots, rows: slice) -> Peak:
    """The peak among the (at least one) snapshots of one allocator.

    Source: semantics 7.2 and 7.3.
    """
    in_use = snapshots.in_use_bytes[rows]
    top = int(in_use.max())
    at_top = np.flatnonzero(in_use == top) + rows.start
    row = int(at_top[np.argmax(snapshots.event[at_top])])
    return Peak(row=row, in_use_bytes=top, step=int(snapshots.group_step[at_top[-1]]))


def peak_table(snapshots: Snapshots, rows: slice, strings: tuple[str, ...]) -> pd.DataFrame:
    """Who holds the memory at the peak of one allocator, counting only allocations of the peak's step.

    What was allocated in other steps or before the capture is one row; see `live_table` for the true live set.

    Source: semantics 7.3 (active allocations), followed exactly, within the session of the peak.
    """
    peak = find_peak(snapshots, rows)
    within = np.arange(rows.start, rows.stop)
    within = within[
        (snapshots.time_ps[rows] <= snapshots.time_ps[peak.row])
        & (snapshots.group_step[rows] == peak.step)
        & (snapshots.session_id[rows] == snapshots.session_id[peak.row])
    ]
    order = np.lexsort((within, snapshots.address[within]))
    row, free = within[order], snapshots.is_free[within[order]]
    address = snapshots.address[row]
    follows = np.zeros(len(row), np.bool_)
    follows[1:] = address[1:] == address[:-1]
    is_last = np.ones(len(row), np.bool_)
    is_last[:-1] = ~follows[1:]
    orphan = free & ~(follows & ~np.concatenate([[True], free[:-1]])) if len(row) else free
    size = snapshots.allocation_bytes[row]
    heap = int(snapshots.heap_bytes[peak.row])
    unmapped = heap - int(size[~free].sum()) + int(size[free].sum()) - int(size[orphan].sum())
    special = []
    if unmapped > 0:
        special.append(_special(OF_OTHER_STEPS, "persist/dynamic", unmapped))
    stack = int(snapshots.stack_bytes[peak.row])
    if stack > 0:
        special.append(_special(STACK, STACK, stack))
    return _table(snapshots, np.sort(row[is_last & ~free]), strings, special)


def live_table(snapshots: Snapshots, rows: slice, strings: tuple[str, ...], *, at_ps: int) -> pd.DataFrame:
    """The true live set of one allocator at a time: every allocation made and not yet given back, whatever its step.

    Differs from XProf: its table at the peak knows only the allocations of the peak's step (see `peak_table`).

    Args:
        snapshots: all snapshots.
        rows: those of the allocator.
        strings: `Trace.strings`.
        at_ps: the time after the trace origin; events at exactly this time have happened.

    Returns:
        Rows as in `MemoryProfile.peak`. Their `total_bytes` add up to the bytes in use, since what the capture does not
        explain is one row, "allocated before the capture". Empty when nothing is in use.
    """
    time_ps = snapshots.time_ps[rows]
    n_before = int(np.searchsorted(time_ps, at_ps, side="right"))
    now = rows.start + max(n_before - 1, 0)
    heap, stack = int(snapshots.heap_bytes[now]), int(snapshots.stack_bytes[now])
    if n_before == 0:  # undo the first event: what it reports is the state after it
        heap += int(snapshots.allocation_bytes[now]) * (1 if snapshots.is_free[now] else -1)
    seen = np.arange(rows.start, rows.start + n_before)
    ended = snapshots.freed_at[seen]
    alive = ~snapshots.is_free[seen] & ((ended < 0) | (ended > now))
    alive &= snapshots.session_id[seen] == snapshots.session_id[now]
    live = seen[alive]
    remainder = heap - int(snapshots.allocation_bytes[live].sum())
    special = []
    if remainder > 0:
        special.append(_special(BEFORE_CAPTURE, "unknown", remainder))
    if stack > 0:
        special.append(_special(STACK, STACK, stack))
    return _table(snapshots, live, strings, special)


def _special(op: str, region: str, size: int) -> tuple[int, int, str, str, str, str]:
    return size, size, op, region, "INVALID", "unknown"


def _table(
    snapshots: Snapshots, rows: Int64, strings: tuple[str, ...], special: list[tuple[int, int, str, str, str, str]]
) -> pd.DataFrame:
    """Merge equal allocations, add the special rows, sort as XProf does: largest first, then by name.

    Without pandas until the end: there may be thousands of allocators, each with a few rows.
    """
    codes = (
        snapshots.allocation_bytes[rows],
        snapshots.requested_bytes[rows],
        snapshots.op[rows],
        snapshots.region[rows],
        snapshots.dtype[rows],
        snapshots.shape[rows],
    )
    first, count = _distinct_rows(codes)
    size, requested, op, region, dtype, shape = (column[first] for column in codes)
    named = [texts(op, strings), texts(region, strings), dtype_names(dtype), texts(shape, strings)]
    merged = zip(size.tolist(), requested.tolist(), *(column.tolist() for column in named), count.tolist(), strict=True)
    table = sorted([*merged, *((*row, 1) for row in special)], key=_largest_first)
    columns = list(zip(*table, strict=True)) or [()] * (len(_GROUP) + 1)
    found = {
        name: _numbers(column) if name in _NUMBERS else np.array(column, np.object_)
        for name, column in zip((*_GROUP, "occurrences"), columns, strict=True)
    }
    found["total_bytes"] = found["allocation_bytes"] * found["occurrences"]
    return pd.DataFrame({name: found[name] for name in _COLUMNS})


def _distinct_rows(columns: tuple[npt.NDArray[np.integer], ...]) -> tuple[Int64, Int64]:
    """The first of each group of rows that are equal in all columns, ascending, and how many rows are in its group."""
    order = np.lexsort(columns)
    is_new = np.ones(len(order), np.bool_)
    if len(order):
        is_new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    begin = np.flatnonzero(is_new)
    count = np.diff(np.append(begin, len(order)))
    by_row = np.argsort(order[begin])
    return order[begin][by_row], count[by_row]


def _numbers(values: tuple[int, ...]) -> npt.NDArray[Any]:
    """Integers of 64 bits; what a damaged trace adds up to beyond those is the nearest double."""
    fits = max(values, default=0) < 2**63
    return np.array(values, np.int64 if fits else np.float64)


def _largest_first(row: tuple[Any, ...]) -> tuple[Any, ...]:
    size, requested, *named, _ = row
    return (-size, -requested, *named)


def texts(ids: npt.NDArray[np.integer], strings: tuple[str, ...]) -> npt.NDArray[np.object_]:
    """Strings for string ids, empty for -1."""
    unique, code = unique_codes(ids)
    return np.array([strings[i] if i >= 0 else "" for i in unique.tolist()], np.object_)[code]


def dtype_names(codes: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Names for dtype numbers, empty for a missing one."""
    unique, code = unique_codes(codes)
    return np.array([dtype_name(one) for one in unique.tolist()], np.object_)[code]
