"""Spans of one device that overlap -> lanes in which none do, so that an enclosed one is not taken for a part of another."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def lanes_of(starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The lane of each span: the lowest one that is free when it starts. Spans that only touch share a lane."""
    order = sorted(range(len(starts)), key=lambda i: (starts[i], ends[i]))
    lanes = [0] * len(starts)
    busy: list[tuple[int, int]] = []  # (end, lane)
    free: list[int] = []
    for i in order:
        while busy and busy[0][0] <= starts[i]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(busy)
        lanes[i] = lane
        heapq.heappush(busy, (max(ends[i], starts[i] + 1), lane))
    return lanes
