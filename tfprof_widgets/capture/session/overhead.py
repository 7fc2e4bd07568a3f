"""overhead: ends of steps -> how long each marked step took, and whether the profiler ran meanwhile."""

from __future__ import annotations

import threading
from typing import Literal

import pandas as pd

Phase = Literal["before", "during", "after", "cut"]
"""A step before the first window; whole inside one; after one has closed; or one in which a window opened or closed."""

MAX_STEPS = 100_000
"""Rows of `CaptureRecord.step_times`: half of them for the steps inside windows, half for the others."""

MOST_LATEST = 512
"""So many steps wait to be taken up, at most."""

_COLUMNS = {"number": "int64", "name": "str", "start_ns": "int64", "duration_ns": "int64", "phase": "str"}
_Row = tuple[int, str, int, int, Phase]


class StepTimes:
    """Takes up the duration of every marked step from start to stop of a capture, on any thread.

    Where there are too many, every second one of those kept is dropped and only every second one is kept from then on;
    steps inside windows and outside have a bound each, so that a few profiled steps in a long training are all kept.
    """

    def __init__(self, *, max_steps: int = MAX_STEPS) -> None:
        self._inside, self._outside = _Kept(max_steps // 2), _Kept(max_steps // 2)
        self.latest: list[tuple[int, str, int, int, Phase]] = []
        """Not yet among the others: to append here is all that a step pays. Of each its number, the name of its marker, the Unix
        time of its begin, its duration and where it lay.
        """
        self._lock = threading.Lock()

    def frame(self) -> pd.DataFrame:
        """One row per step: `number, name, start_ns, duration_ns, phase`; in the order of their begins."""
        self.sort_in()
        with self._lock:
            rows = sorted([*self._inside.rows, *self._outside.rows], key=lambda row: row[2])
        # A table without rows has the types of one with rows.
        return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)

    @property
    def notice(self) -> str:
        """That not every step is in the table; empty where every one is."""
        self.sort_in()
        with self._lock:
            n_rows = len(self._inside.rows) + len(self._outside.rows)
            n_steps = self._inside.n_added + self._outside.n_added
        if n_rows == n_steps:
            return ""
        return (
            f"Of the times of {n_steps:,} steps {n_rows:,} are kept, evenly spread: the table of step times is bounded."
        )

    def sort_in(self) -> None:
        """Take up the latest steps; to be called when `MOST_LATEST` wait."""
        with self._lock:
            # The list stays the same one: a step may be about to be appended on another thread.
            latest = self.latest[:]
            del self.latest[: len(latest)]
            for row in latest:
                (self._inside if row[-1] == "during" else self._outside).add(row)


class _Kept:
    """Rows of which every `2^k`-th is kept, so that they are never more than a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = max(2, limit)
        self._stride = 1
        self.n_added = 0
        self.rows: list[_Row] = []

    def add(self, row: _Row) -> None:
        if self.n_added % self._stride == 0:
            if len(self.rows) >= self._limit:
                del self.rows[1::2]
                self._stride *= 2
            if self.n_added % self._stride == 0:
                self.rows.append(row)
        self.n_added += 1


def no_step_times() -> pd.DataFrame:
    """Return the table of a capture without marked steps: the columns, no rows."""
    return StepTimes().frame()
