"""Steps and what happened between them -> how many of the steps after each validation or checkpoint are slow."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from .level import Usual
from .rows import Rows

KINDS = ("validation", "checkpoint")
N_AFTER = 20
"""So many steps after each are looked at."""
_FEWEST_SLOW = 3
_SLOWER = 1.5


@dataclass
class After:
    """The steps after one event."""

    at_ns: int
    first_number: int = -1
    last_number: int = -1
    n: int = 0
    slow_ms: list[float] = field(default_factory=list)
    slow_ordinals: list[int] = field(default_factory=list)
    usual_ms: float = 0.0

    @property
    def is_slow(self) -> bool:
        """Whether several of them are."""
        return len(self.slow_ms) >= _FEWEST_SLOW

    @property
    def extra_ms(self) -> float:
        """By how much they took longer, together."""
        return sum(ms - self.usual_ms for ms in self.slow_ms)


class AfterEvents:
    """The steps after the latest events of each kind."""

    def __init__(self) -> None:
        self.found: dict[str, deque[After]] = {kind: deque(maxlen=8) for kind in KINDS}
        self.n_events = dict.fromkeys(KINDS, 0)
        self.first_number: dict[str, int] = {}
        """The first slow step after an event of each kind that had several."""

    def note(self, kind: str, at_ns: int) -> None:
        """Take an event that ended at a time."""
        self.n_events[kind] += 1
        self.found[kind].append(After(at_ns))

    def add(self, rows: Rows, usual: Usual | None) -> None:
        """Take the next steps that tell what is usual."""
        for kind, afters in self.found.items():
            if afters and afters[-1].n < N_AFTER:
                self._take(kind, afters[-1], rows, usual)

    def _take(self, kind: str, after: After, rows: Rows, usual: Usual | None) -> None:
        own = rows[rows["start_ns"] >= after.at_ns][: N_AFTER - after.n]
        if not len(own):
            return
        after.n += len(own)
        after.last_number = int(own["number"][-1])
        if after.first_number < 0:
            after.first_number = int(own["number"][0])
        if usual is None:
            return
        after.usual_ms = after.usual_ms or usual.median
        is_slow = own["ms"] > max(float(usual.high[0]), _SLOWER * usual.median)
        after.slow_ms += own["ms"][is_slow].tolist()
        after.slow_ordinals += own["ordinal"][is_slow].tolist()
        if after.is_slow:
            self.first_number.setdefault(kind, after.first_number)

    def repeated(self, kind: str) -> list[After]:
        """The latest of these events with several slow steps after them; empty but where the last two had such."""
        afters = [one for one in self.found[kind] if one.n]
        if afters and afters[-1].n < N_AFTER and not afters[-1].is_slow:
            afters.pop()  # it may yet get them
        slow = [one for one in afters if one.is_slow]
        return slow if len(afters) >= 2 and all(one.is_slow for one in afters[-2:]) else []

    def last_before(self, ns: int, most_ns: int) -> str:
        """The kind of event that ended at most so long before a time; "" where none."""
        ends = {kind: ns - afters[-1].at_ns for kind, afters in self.found.items() if afters}
        near = {kind: age for kind, age in ends.items() if 0 <= age <= most_ns}
        return min(near, key=lambda kind: near[kind]) if near else ""


def middle_ms(afters: list[After]) -> float:
    """The median of their slow steps."""
    return float(np.median([ms for one in afters for ms in one.slow_ms]))
