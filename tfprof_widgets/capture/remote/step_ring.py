"""Rows of steps as they come -> the latest of them, for readers that know which they have."""

from __future__ import annotations

import threading

import numpy as np

from ...trace.watched import STEP, Steps

MAX_KEPT = 100_000
"""Rows: 3.2 MB, whatever runs for however long."""


class StepRing:
    """The latest rows, each with an ordinal: how many steps came before it. Any thread may use it."""

    def __init__(self, max_rows: int = MAX_KEPT) -> None:
        self.n_steps = 0
        """How many rows have come in all."""
        self._rows = np.empty(max_rows, STEP)
        self._lock = threading.Lock()

    def add(self, rows: Steps) -> None:
        """Take up rows, the oldest first."""
        with self._lock:
            n_before, size = self.n_steps, len(self._rows)
            self.n_steps += len(rows)
            kept = rows[-size:]
            self._rows[(np.arange(len(kept)) + n_before + len(rows) - len(kept)) % size] = kept

    def rows_since(self, ordinal: int, *, at_most: int = MAX_KEPT) -> tuple[Steps, int]:
        """Return rows from an ordinal on, the oldest first, and the ordinal of the first of them: later where older ones are
        not kept any more."""
        with self._lock:
            first = min(max(ordinal, self.n_steps - len(self._rows), 0), self.n_steps)
            end = min(first + at_most, self.n_steps)
            return self._rows[np.arange(first, end) % len(self._rows)], first
