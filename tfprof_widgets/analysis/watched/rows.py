"""Steps -> the latest of those that tell what is usual, as arrays in memory that does not grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...trace.watched import AFTER_WINDOW, COMPILED, EPOCH_BEGIN, PROFILED, Steps
from ..base.units import US_PER_MS

ROW = np.dtype(
    [
        ("ordinal", "<i8"),  # among the steps of training, from 0
        ("number", "<i8"),
        ("start_ns", "<i8"),
        ("ms", "<f8"),
        ("wait_ms", "<f8"),  # NaN: not known, and so below
        ("outside_ms", "<f8"),
        ("flags", "u1"),
    ]
)
UNUSUAL = PROFILED | EPOCH_BEGIN | AFTER_WINDOW | COMPILED
"""Flags of steps that are longer for a reason of their own."""

Rows = npt.NDArray[np.void]


def rows_of(steps: Steps, first_ordinal: int) -> Rows:
    """Steps of training as rows, numbered from `first_ordinal`; times that are none are 0."""
    rows = np.empty(len(steps), ROW)
    rows["ordinal"] = np.arange(first_ordinal, first_ordinal + len(steps))
    for name in ("number", "start_ns", "flags"):
        rows[name] = steps[name]
    for name, column in (("ms", "duration_us"), ("wait_ms", "wait_us"), ("outside_ms", "outside_us")):
        np.divide(steps[column], US_PER_MS, out=rows[name])
    rows["ms"][~np.isfinite(rows["ms"])] = 0.0
    return rows


def is_usual(rows: Rows) -> npt.NDArray[np.bool_]:
    """Which rows have no flag of their own."""
    found: npt.NDArray[np.bool_] = (rows["flags"] & UNUSUAL) == 0
    return found


class LatestRows:
    """The last so many rows that were appended."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._rows = np.empty(2 * most, ROW)
        self._begin = self._end = 0

    def __len__(self) -> int:
        return self._end - self._begin

    def append(self, rows: Rows) -> None:
        """Add rows; the oldest make room."""
        rows = rows[-self.most :]
        if self._end + len(rows) > len(self._rows):
            kept = self._rows[max(self._begin, self._end - self.most + len(rows)) : self._end].copy()
            self._rows[: len(kept)] = kept
            self._begin, self._end = 0, len(kept)
        self._rows[self._end : self._end + len(rows)] = rows
        self._end += len(rows)
        self._begin = max(self._begin, self._end - self.most)

    def last(self, n: int | None = None) -> Rows:
        """The last `n` rows, or all: a view, good until the next row is appended."""
        begin = self._begin if n is None else max(self._begin, self._end - n)
        return self._rows[begin : self._end]

    def drop_from(self, ordinal: int) -> None:
        """Forget the rows from an ordinal on."""
        rows = self.last()
        self._end = self._begin + int(np.searchsorted(rows["ordinal"], ordinal))

    def keep_last(self, n: int) -> None:
        """Forget all but the last `n` rows."""
        self._begin = max(self._begin, self._end - n)


def parts_of(rows: Rows) -> dict[str, Any]:
    """The times of rows by what they went to: `wait`, `outside`, and `inside` the training function; not known counts as 0
    in the first two."""
    wait, outside = np.nan_to_num(rows["wait_ms"]), np.nan_to_num(rows["outside_ms"])
    return {"wait": wait, "outside": outside, "inside": rows["ms"] - wait - outside}
