"""Steps -> stretches of them that took longer than those before, beyond the run's own noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .slow_steps import (
    BLOCK,
    COLUMNS,
    LONG,
    MIN_RISE,
    MIN_RISE_MS,
    SHORT,
    Floats,
    LatestRows,
    Level,
    Rows,
    Usual,
    is_usual,
    known_or_usual,
    parts_of,
)

MOST_OPEN = 4
"""So many stretches lie inside each other at most."""
WARM_UP_STEPS = 20
MOST_OF_SHORT = 13
"""Of `SHORT` steps in a row: where one in ten does so, this many do once in 10^10 times."""
_END, _MOST_OF_END = 32, 26
"""A stretch has ended once so many of so many steps are fast again: no hurry, and ragged steps are fast now and then."""
LOOKED_BACK = 512
"""Steps in which the begin or the end of a stretch is looked for, and of which its pace is taken."""
_PAUSE = 64
"""Fast steps between two stretches that are one."""
_ANOTHER = 2.0
"""Times as slow: then they are two."""
_SD_BLOCK, _SD_LONG = 6.0, 3.0
"""A mean of `LONG` steps varies at most as that of a block does, half as much where steps do not depend on each other."""
_BETTER = 0.2


@dataclass(frozen=True)
class Pace:
    """What steps took in milliseconds, and how many these are."""

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
    column: str
    """The time that tells them from those before: `ms`, or of it `wait_ms` or `outside_ms`."""
    is_short: bool
    """It was found in `SHORT` steps; else only the means of many tell it from those before."""
    middle: float
    """Half way, in that column, from what was before to what its first steps took."""
    last_number: int | None = None
    ended_ns: int | None = None
    end_ordinal: int = -1
    """Of the first step after it, once it ended."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What was found out about it and does not change any more."""

    @property
    def rows(self) -> Rows:
        return self.level.rows.last(LOOKED_BACK)


class Phases:
    """Looks for them, in memory that does not grow."""

    def __init__(self) -> None:
        self.base = Level(n_left_out=WARM_UP_STEPS)
        """The steps that are in no stretch."""
        self.open: list[Phase] = []
        """The outermost first: a stretch may get slower still."""
        self.ending: list[Phase] = []
        """Those that ended, but may go on after a few fast steps."""
        self.closed: list[Phase] = []
        """Those that ended since somebody took them."""
        self._recent = np.empty((0, len(COLUMNS)))
        self._unusual = LatestRows(LOOKED_BACK)
        """Steps that are long for a reason of their own: they show no change of pace, but one may begin among them."""

    @property
    def level(self) -> Level:
        """The steps of the pace that goes on."""
        return self.open[-1].level if self.open else self.base

    def add(self, rows: Rows) -> None:
        """Take the next steps of training."""
        self._unusual.append(rows[~is_usual(rows)])
        rows = rows[is_usual(rows)]
        while len(rows):
            rows = rows[self._take(rows[: self.level.until_look()]) :]

    def _take(self, piece: Rows) -> int:
        """Take steps up to the first that shows a change of pace; how many that were."""
        times = np.concatenate([self._recent, np.stack([piece[name] for name in COLUMNS], axis=1)])
        started, column = self._first_started(times, len(piece))
        ended = self._first_ended(times, len(piece))
        n = min(started, ended, len(piece) - 1) + 1
        self._settle(int(piece["ordinal"][n - 1]))
        times = times[: len(times) - len(piece) + n]
        self._recent = times[1 - _END :]
        is_block_whole = self.level.add(piece[:n])
        if started == n - 1:
            self._start(SHORT, column)
        elif ended == n - 1:
            self._end_all(lambda phase: phase.is_short and _n_fast(times[-_END:], phase) >= _MOST_OF_END)
        elif is_block_whole:
            self._look_at_blocks()
        return n

    def _settle(self, ordinal: int) -> None:
        """Close the stretches that ended long enough before a step."""
        settled = [phase for phase in self.ending if phase.end_ordinal + _PAUSE + 2 * BLOCK <= ordinal]
        self.closed += settled
        self.ending = [phase for phase in self.ending if phase not in settled]

    def _first_started(self, times: Floats, n_new: int) -> tuple[int, str]:
        """The first new step at which most of the last `SHORT` are slow, and in which column; as many as there are for none."""
        usual = self.level.usual
        if usual is None or len(self.open) >= MOST_OPEN:
            return n_new, ""
        is_so = times > usual.high
        is_so[:, 1:] &= times[:, :1] > usual.median  # a wait that makes no step longer is none
        return min((_first_run(is_so[:, i], n_new, SHORT, MOST_OF_SHORT), name) for i, name in enumerate(COLUMNS))

    def _first_ended(self, times: Floats, n_new: int) -> int:
        if not self.open or not self.open[-1].is_short:
            return n_new
        phase = self.open[-1]
        return _first_run(times[:, COLUMNS.index(phase.column)] < phase.middle, n_new, _END, _MOST_OF_END)

    def _look_at_blocks(self) -> None:
        rows = self.level.rows
        if self.open and not self.open[-1].is_short:
            self._end_all(lambda phase: float(np.minimum(rows.last(BLOCK)["ms"], phase.cut).mean()) < phase.middle)
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

    def _start(self, n_seen: int, column: str = "ms") -> None:
        """Begin a stretch that the last steps show in a column."""
        level = self.level
        usual = level.usual
        assert usual is not None  # without it nothing is slow
        rows = level.rows.last(LOOKED_BACK)
        is_short = n_seen == SHORT
        if is_short:
            unusual = self._unusual.last()
            is_among = (unusual["ordinal"] > rows["ordinal"][0]) & (unusual["ordinal"] < rows["ordinal"][-1])
            found: Rows = np.sort(np.concatenate([rows, unusual[is_among]]), order="ordinal")
            rows = found
        values = known_or_usual(rows[column])
        if is_short:
            low, high = _low_and_high(level.rows.last(), column)
            fast, slow = _low_and_high(level.rows.last(), "ms")
            if slow - fast < (high - low) / 2:  # it is not what makes steps longer
                return
            values = np.clip(values, low, high)
        else:
            values = np.minimum(values, usual.cut)
            low, high = usual.mean, float(values[-n_seen:].mean())
        middle = (low + high) / 2
        turn = _turn(values - middle)
        if is_short and column == "ms":
            # A window holds steps up, but hardly makes them wait for data.
            least, most = _low_and_high(level.rows.last(), "wait_ms")
            if most - least > (high - low) / 2:
                turn = _turn(np.clip(known_or_usual(rows["wait_ms"]), least, most) - (least + most) / 2)
        own = rows[turn:].copy()
        first, own = own[0], own[is_usual(own)]
        level.rows.drop_from(int(first["ordinal"]))
        before = level.rows.last()
        if len(before) < BLOCK:  # what was usual was so for too short a time
            level.rows.append(own)
            level.find_usual()
            return
        phase = Phase(
            *(Level(own), int(first["ordinal"]), int(first["number"]), int(first["start_ns"])),
            *(pace_of(before), pace_of(before[before["ms"] <= usual.cut], np.mean), usual.cut),
            *(column, is_short, middle),
        )
        if self.ending and _goes_on(self.ending[-1], phase):
            former = self.ending.pop()
            for name in ("first_ordinal", "first_number", "began_ns", "before", "mean_before", "notes"):
                setattr(phase, name, getattr(former, name))
        self.open.append(phase)

    def _end_all(self, has_ended: Callable[[Phase], Any]) -> None:
        """End the stretches that have, from the innermost on."""
        while self.open and has_ended(self.open[-1]):
            phase = self.open.pop()
            rows = phase.rows
            values = np.minimum(known_or_usual(rows[phase.column]), 2 * phase.middle if phase.is_short else phase.cut)
            after = rows[_turn(phase.middle - values) :].copy()
            phase.level.rows.drop_from(int(after["ordinal"][0]))
            own = phase.rows
            phase.last_number = int(own["number"][-1]) if len(own) else phase.first_number
            phase.ended_ns, phase.end_ordinal = int(after["start_ns"][0]), int(after["ordinal"][0])
            self.ending.append(phase)
            self.level.rows.append(after)


def _goes_on(former: Phase, phase: Phase) -> bool:
    """Whether a stretch is one that had ended, and takes as long: one that is much slower is another."""
    ratio = float(np.median(phase.rows["ms"])) / max(float(np.median(former.rows["ms"])), MIN_RISE_MS)
    return phase.first_ordinal - former.end_ordinal <= _PAUSE and 1 / _ANOTHER < ratio < _ANOTHER


def _first_run(is_so: Any, n_new: int, n: int, most: int) -> int:
    """The first of the last `n_new` places at which `most` of `n` in a row are so; `n_new` where there is none."""
    is_so = is_so[max(len(is_so) - n_new - n + 1, 0) :]
    if len(is_so) < n or np.count_nonzero(is_so) < most:
        return n_new
    counts = np.concatenate([[0], np.cumsum(is_so)])
    found = np.flatnonzero(counts[n:] - counts[:-n] >= most)
    return int(found[0]) + n - 1 - (len(is_so) - n_new) if len(found) else n_new


def _n_fast(times: Floats, phase: Phase) -> int:
    return int(np.count_nonzero(times[:, COLUMNS.index(phase.column)] < phase.middle))


def _low_and_high(rows: Rows, column: str) -> tuple[float, float]:
    """The median of a column before the last `SHORT` steps, and of these."""
    values = known_or_usual(rows[column])
    return float(np.median(values[:-SHORT])), float(np.median(values[-SHORT:]))


def _turn(x: Floats) -> int:
    """The place from which on the sum of the rest is largest: where values turn from below 0 to above."""
    return len(x) - 1 - int(np.argmax(np.cumsum(x[::-1])))


def _fall(usual: Usual) -> float:
    """By how much blocks have to be faster to be of another pace."""
    return max(_BETTER * usual.mean, 4 * usual.block_sd if np.isfinite(usual.block_sd) else MIN_RISE * usual.mean)


N_STEPS = 1024
"""The pace is that of so many steps."""
_MOST_KEPT = 64
_N_SD = 8.0
_NOT_YET = 0.1
"""Where less of the rise is there, it has not begun."""
_LITTLE_BY_LITTLE = (0.2, 0.8)
"""Half way between the steps before it and the latest so much of the rise has to be there, or it came at once."""


@dataclass(frozen=True)
class Stretch:
    first_number: int
    last_number: int
    first_ns: int
    mean_ms: float
    """Without single slow steps."""
    pace: Pace


class Drift:
    """Looks at the steps that are in no stretch that began at once."""

    def __init__(self) -> None:
        self.before: Stretch | None = None
        """The steps before the drift; None while there was none."""
        self.latest: Stretch | None = None
        """The slowest of it so far."""
        self.fastest: Stretch | None = None
        self.is_open = False
        self.last_number: int | None = None
        """The last step of the drift, once its steps are as fast as before."""
        self._since: list[Stretch] = []
        """Some of the stretches since the fastest."""
        self._every, self._n_seen, self._next_at = 1, 0, N_STEPS

    def look(self, level: Level) -> None:
        """Look at the latest steps once there are enough new ones."""
        if level.n < self._next_at or len(level.rows) < N_STEPS or level.usual is None:
            return
        self._next_at = level.n + LONG
        rows = level.rows.last(N_STEPS)
        mean_ms = float(rows["ms"][rows["ms"] <= level.usual.cut].mean())
        latest = Stretch(
            int(rows["number"][0]), int(rows["number"][-1]), int(rows["start_ns"][0]), mean_ms, pace_of(rows)
        )
        if self.is_open:
            assert self.before is not None and self.latest is not None
            if latest.mean_ms < (self.before.mean_ms + self.latest.mean_ms) / 2:
                self.is_open, self.last_number = False, latest.first_number
                self._begin_with(latest)
            elif latest.mean_ms > self.latest.mean_ms:
                self.latest = latest
        else:
            self._compare(latest, level.usual.block_sd)

    def _compare(self, latest: Stretch, block_sd: float) -> None:
        if self.fastest is None or latest.mean_ms < self.fastest.mean_ms:
            self._begin_with(latest)
            return
        self._n_seen += 1
        if self._n_seen % self._every == 0:
            self._since.append(latest)
        if len(self._since) > _MOST_KEPT:
            self._since, self._every = self._since[1::2], 2 * self._every
        low = self.fastest.mean_ms
        rise = latest.mean_ms - low
        sd = block_sd / (N_STEPS / BLOCK) ** 0.5
        if rise < max(MIN_RISE * low, _N_SD * sd) or latest.pace.ms < (1 + MIN_RISE) * self.fastest.pace.ms:
            return
        rising = [self.fastest, *self._since]
        first = max(i for i, one in enumerate(rising) if one.mean_ms <= low + _NOT_YET * rise)
        rising = rising[first:]
        if latest.last_number - rising[0].last_number < 2 * N_STEPS:
            return
        middle = (rising[0].last_number + latest.last_number) / 2
        half_way = min(rising, key=lambda one: abs(one.last_number - middle)).mean_ms - low
        if half_way > _LITTLE_BY_LITTLE[1] * rise:  # it came at once, long ago
            self._begin_with(latest)
        elif half_way >= _LITTLE_BY_LITTLE[0] * rise:
            self.is_open, self.before, self.latest, self.last_number = True, rising[0], latest, None

    def _begin_with(self, fastest: Stretch) -> None:
        self.fastest, self._since, self._every, self._n_seen = fastest, [], 1, 0
