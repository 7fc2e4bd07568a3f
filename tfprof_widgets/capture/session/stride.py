"""stride: the growth of the heap from moment to moment -> how much of it goes on for as long as the program does.

What the profiler holds grows with every step. A cache that fills, a function that is traced or compiled, a checkpoint grow
the heap too, but once: their growth stands out from that of the pieces of the run before and after it.
"""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass

N_PIECES = 32
"""The latest pieces, from which the usual growth is read."""
MIN_PIECES = 5
"""Fewer pieces tell no usual growth."""
MAX_TIMES = 3.0
"""A piece that grew by more times the usual counts as so many."""


@dataclass(frozen=True)
class Piece:
    """A piece of the run, from the end of one step to that of a later one; of a program without steps some seconds."""

    n_units: float
    """How many steps, or seconds."""
    growth: float
    """Of the heap, in bytes; negative where more was freed."""
    is_spoilt: bool = False
    """Whether a function was built meanwhile, or just before: what grew or was freed says nothing."""


class Stride:
    """Sums up the growth that is the usual one."""

    def __init__(self) -> None:
        self._recent: deque[Piece] = deque(maxlen=N_PIECES)
        self._settled = 0.0

    @property
    def is_known(self) -> bool:
        """Whether there were pieces enough to tell the usual growth."""
        return sum(not piece.is_spoilt for piece in self._recent.copy()) >= MIN_PIECES

    @property
    def growth(self) -> float:
        """The growth since the first piece that goes on as the program does, in bytes."""
        counted = self._counted()
        return self._settled + sum(counted[_begin(counted) :])

    def add(self, piece: Piece) -> None:
        """Take up the piece that came after the last one."""
        if len(self._recent) == N_PIECES:
            counted = self._counted()
            self._settled += counted[0] if _begin(counted) == 0 else 0.0
        self._recent.append(piece)

    def _counted(self) -> list[float]:
        """How much of the growth of each recent piece counts."""
        recent = self._recent.copy()  # whoever asks how large a file would be is on another thread than what adds
        rates = [piece.growth / piece.n_units for piece in recent if not piece.is_spoilt]
        usual = max(statistics.median(rates), 0.0) if rates else 0.0
        return [
            min(max(piece.growth, 0.0), usual * piece.n_units)
            if piece.is_spoilt
            else min(piece.growth, MAX_TIMES * usual * piece.n_units)
            for piece in recent
        ]


def _begin(growths: list[float]) -> int:
    """From which piece on growth counts: what was freed again by the end had not been the profiler's, which frees nothing."""
    best, begin, total = 0.0, len(growths), 0.0
    for i in range(len(growths) - 1, -1, -1):
        total += growths[i]
        if total > best:
            best, begin = total, i
    return begin
