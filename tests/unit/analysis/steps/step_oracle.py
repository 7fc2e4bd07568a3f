"""Step time by XProf's own recipe (semantics 3.1), boundary by boundary, to undo D1 in a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

Span = tuple[int, int, int]
"""Start, end, priority."""


def pieces(spans: Iterable[Span]) -> list[Span]:
    """Non-overlapping pieces; at every instant the highest priority that is present, 0 where none is."""
    boundaries: list[tuple[int, int, int]] = []
    for start, end, priority in spans:
        boundaries += [(start, 1, priority), (end, 0, priority)]
    boundaries.sort(key=lambda boundary: (boundary[0], boundary[1], -boundary[2]))
    present: Counter[int] = Counter()
    result = []
    for (time, begins, priority), (until, _, _) in pairwise(boundaries):
        present[priority] += 1 if begins else -1
        result.append((time, until, max((p for p, count in present.items() if count > 0), default=0)))
    return result


def time_by_priority(spans: Iterable[Span], start: int, end: int) -> Counter[int]:
    """How long each priority rules within a step; 0 is what is left."""
    total: Counter[int] = Counter()
    for low, high, priority in pieces(spans):
        total[priority] += max(min(high, end) - max(low, start), 0)
    total[0] += end - start - sum(total.values())
    return total
