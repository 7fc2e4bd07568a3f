"""Steps -> stretches of them that took longer than those before, beyond what the run's own noise does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .level import BLOCK, LONG, MIN_RISE, SHORT, Floats, Level, Usual
from .rows import LatestRows, Rows, parts_of

MOST_OPEN = 4
"""So many stretches lie inside each other at most."""
WARM_UP_STEPS = 20
MOST_OF_SHORT = 13
"""Of `SHORT` steps in a row: where one in ten does so, this many do once in 10^10 times."""
LOOKED_BACK = 512
"""Steps in which the begin or the end of a stretch is looked for, and of which its pace is told."""
_SD_BLOCK, _SD_LONG = 6.0, 3.0
"""A mean of `LONG` steps varies at most as that of a block does, half as much where steps do not depend on each other."""
_BETTER = 0.2


@dataclass(frozen=True)
class Pace:
    """What steps took in milliseconds, and how many are told of."""

    n: int
    ms: float
    parts: dict[str, float]
    """`wait`, `outside`, `inside`."""
    is_wait_known: bool
    is_outside_known: bool


def pace_of(rows: Rows, middle: Callable[[Any], Any] = np.median) -> Pace:
    """The pace of some rows by their medians, or what else is given."""
    return Pace(
        n=len(rows),
        ms=float(middle(rows["ms"])),
        parts={name: float(middle(ms)) for name, ms in parts_of(rows).items()},
        is_wait_known=bool(np.isfinite(rows["wait_ms"]).any()),
        is_outside_known=bool(np.isfinite(rows["outside_ms"]).any()),
    )


@dataclass
class Phase:
    """A stretch of steps that take longer than those before."""

    level: Level
    """Its steps."""
    first_ordinal: int
    first_number: int
    began_ns: int
    before: Pace
    mean_before: Pace
    cut: float
    """Times are cut here for means, so that single slow steps do not count."""
    is_short: bool
    """It was found in `SHORT` steps; else only the means of many tell it from those before."""
    last_number: int | None = None
    ended_ns: int | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    """What was found out about it and does not change any more."""

    @property
    def rows(self) -> Rows:
        """Its latest steps."""
        return self.level.rows.last(LOOKED_BACK)

    def middle(self) -> float:
        """Half way from the pace before to its own: of single steps where it is short, else of means."""
        ms = self.rows["ms"]
        if self.is_short:
            return (self.before.ms + float(np.median(ms))) / 2
        return (self.mean_before.ms + float(np.minimum(ms, self.cut).mean())) / 2


class Phases:
    """Looks for them, in memory that does not grow."""

    def __init__(self) -> None:
        self.base = Level(n_left_out=WARM_UP_STEPS)
        """The steps that are in no stretch."""
        self.open: list[Phase] = []
        """The outermost first: a stretch may get slower still."""
        self.closed: list[Phase] = []
        """Those that ended since somebody took them."""
        self._recent = LatestRows(SHORT - 1)

    @property
    def level(self) -> Level:
        """The steps of the pace that goes on."""
        return self.open[-1].level if self.open else self.base

    def add(self, rows: Rows) -> None:
        """Take the next steps that tell what is usual."""
        while len(rows):
            rows = rows[self._take(rows[: self.level.until_block()]) :]

    def _take(self, piece: Rows) -> int:
        """Take steps up to the first that shows a change of pace; how many that were."""
        before = self._recent.last()
        ms = np.concatenate([before["ms"], piece["ms"]])
        started, ended = self._first_started(ms, len(piece)), self._first_ended(ms, len(piece))
        n = min(started, ended, len(piece) - 1) + 1
        self._recent.append(piece[:n])
        self.level.add(piece[:n])
        if started == n - 1:
            self._start(SHORT)
        elif ended == n - 1:
            self._end_all(
                lambda phase: phase.is_short and _n_below(ms[: len(ms) - len(piece) + n], phase) >= MOST_OF_SHORT
            )
        elif self.level.is_block_whole():
            self._look_at_blocks()
        return n

    def _first_started(self, ms: Floats, n_new: int) -> int:
        """The first of the new steps at which most of the last `SHORT` are slow; as many as there are, where none."""
        usual = self.level.usual
        if usual is None or len(self.open) >= MOST_OPEN:
            return n_new
        return _first_run(ms > usual.high, n_new)

    def _first_ended(self, ms: Floats, n_new: int) -> int:
        if not self.open or not self.open[-1].is_short:
            return n_new
        return _first_run(ms < self.open[-1].middle(), n_new)

    def _look_at_blocks(self) -> None:
        rows = self.level.rows
        if self.open and not self.open[-1].is_short:
            self._end_all(lambda phase: float(np.minimum(rows.last(BLOCK)["ms"], phase.cut).mean()) < phase.middle())
        usual = self.level.usual
        if usual is None or len(rows) < 2 * BLOCK:
            return
        ms = np.minimum(rows.last(LONG)["ms"], usual.cut)
        block = float(ms[-BLOCK:].mean())
        if block < usual.mean - _fall(usual) and float(ms[-2 * BLOCK : -BLOCK].mean()) < usual.mean - _fall(usual):
            self.level.keep_last(2 * BLOCK)
        elif len(self.open) < MOST_OPEN:
            if block > usual.mean + usual.rise(_SD_BLOCK):
                self._start(BLOCK)
            elif len(rows) >= 3 * LONG and float(ms.mean()) > usual.mean + usual.rise(_SD_LONG):
                self._start(LONG)

    def _start(self, n_seen: int) -> None:
        """Begin a stretch that the last steps show."""
        level = self.level
        usual = level.usual
        assert usual is not None  # without it nothing is slow
        is_short = n_seen == SHORT
        cut = np.inf if is_short else usual.cut
        rows = level.rows.last(LOOKED_BACK)
        low = usual.median if is_short else usual.mean
        seen = np.minimum(rows["ms"][-n_seen:], cut)
        high = float(np.median(seen) if is_short else seen.mean())
        at = _turn(np.clip(rows["ms"], low if is_short else 0.0, high if is_short else cut) - (low + high) / 2)
        own = rows[at:].copy()
        level.rows.drop_from(int(own["ordinal"][0]))
        before = level.rows.last()
        if len(before) < BLOCK:  # what was usual was so for too short a time
            level.rows.append(own)
            level.find_usual()
            return
        phase = Phase(
            *(Level(own), int(own["ordinal"][0]), int(own["number"][0]), int(own["start_ns"][0])),
            *(pace_of(before), pace_of(before[before["ms"] <= usual.cut], np.mean), usual.cut, is_short),
        )
        self.open.append(phase)

    def _end_all(self, has_ended: Callable[[Phase], bool]) -> None:
        """End the stretches that have, from the innermost on."""
        while self.open and has_ended(self.open[-1]):
            phase = self.open.pop()
            rows = phase.rows
            low, high = (phase.before.ms, float(np.median(rows["ms"]))) if phase.is_short else (0.0, phase.cut)
            at = _turn(phase.middle() - np.clip(rows["ms"], min(low, high), max(low, high)))
            after = rows[at:].copy()
            phase.level.rows.drop_from(int(after["ordinal"][0]))
            own = phase.rows
            phase.last_number = int(own["number"][-1]) if len(own) else phase.first_number
            phase.ended_ns = int(after["start_ns"][0])
            self.closed.append(phase)
            self.level.rows.append(after)


def _first_run(is_so: Any, n_new: int) -> int:
    """The first of the last `n_new` places at which most of `SHORT` in a row are so; `n_new` where there is none."""
    counts = np.concatenate([[0], np.cumsum(is_so)])
    n_windows = len(is_so) - SHORT + 1
    if n_windows <= 0:
        return n_new
    found = np.flatnonzero(counts[SHORT:] - counts[:n_windows] >= MOST_OF_SHORT)
    return max(int(found[0]) + SHORT - 1 - (len(is_so) - n_new), 0) if len(found) else n_new


def _n_below(ms: Floats, phase: Phase) -> int:
    return int(np.count_nonzero(ms[-SHORT:] < phase.middle()))


def _turn(x: Floats) -> int:
    """The place from which on the sum of the rest is largest: where values turn from below 0 to above."""
    return len(x) - 1 - int(np.argmax(np.cumsum(x[::-1])))


def _fall(usual: Usual) -> float:
    """By how much blocks have to be faster to be of another pace."""
    return max(_BETTER * usual.mean, 4 * usual.block_sd if np.isfinite(usual.block_sd) else MIN_RISE * usual.mean)
