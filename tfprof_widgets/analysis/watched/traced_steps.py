"""Steps -> those in which TensorFlow traced a function, but for the first step of all, and what they cost."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ...trace.watched import COMPILED
from .rows import Rows

KEPT = 64
"""So many of the latest are kept one by one; older ones are counted."""
SLOW = 3.0
"""One that takes less than so many times the usual is not worth a word."""


class SlowTraced(NamedTuple):
    """What they cost."""

    n: int
    first_number: int
    latest: list[tuple[int, float]]
    """Their numbers and ms."""
    usual_ms: float
    share: float
    """Of the time, what they took longer than usual."""


class TracedSteps:
    """Collects them, in memory that does not grow."""

    def __init__(self) -> None:
        self._latest: deque[tuple[int, float]] = deque(maxlen=KEPT)
        self._n_older, self._older_ms, self._first_older = 0, 0.0, 0
        self.all_ms = 0.0
        """Of all steps but the first, traced or not."""

    def add(self, rows: Rows) -> None:
        """Take the next steps of training."""
        rows = rows[rows["ordinal"] > 0]  # what it traces is traced in any run
        self.all_ms += float(rows["ms"].sum())
        for number, ms in rows[["number", "ms"]][(rows["flags"] & COMPILED) != 0].tolist():
            if len(self._latest) == KEPT:
                old, old_ms = self._latest[0]
                self._first_older = self._first_older if self._n_older else old
                self._n_older, self._older_ms = self._n_older + 1, self._older_ms + old_ms
            self._latest.append((number, ms))

    def slow(self, usual_ms: float) -> SlowTraced | None:
        """What is told of those that took much longer than usual; None where none did."""
        latest = [one for one in self._latest if one[1] > SLOW * usual_ms]
        if not latest:
            return None
        n = len(latest) + self._n_older
        extra_ms = self._older_ms + sum(ms for _, ms in latest) - n * usual_ms
        first = self._first_older if self._n_older else latest[0][0]
        return SlowTraced(n, first, latest, usual_ms, extra_ms / self.all_ms)
