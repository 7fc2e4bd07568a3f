"""Steps as they come -> what is usual, and the phase in which they take longer than that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trace.capture_facts import AFTER_WINDOW, COMPILED, EPOCH_BEGIN, PROFILED, XLA_COMPILED, Steps
from ..common import US_PER_MS

ROW = np.dtype(
    [
        ("ordinal", "<i8"),  # among the steps of training, from 0
        ("number", "<i8"),
        ("start_ns", "<i8"),
        ("ms", "<f8"),
        ("wait", "<f8"),  # ms; NaN: not known, and so below
        ("outside", "<f8"),
        ("flags", "u1"),
    ]
)
UNUSUAL = PROFILED | EPOCH_BEGIN | AFTER_WINDOW | COMPILED | XLA_COMPILED
"""Flags of steps that are longer for a reason of their own."""
COLUMNS = ("ms", "wait", "outside")
"""In each of which a phase may show."""
WARM_UP_STEPS = 10
FEWEST = 24
"""With fewer steps nothing is usual yet."""
MANY = 112
"""With fewer only what takes twice as long is slower."""
MOST = 2_048
"""What is usual is taken from so many of the latest steps."""
LOOKED_BACK = 512
"""Steps of a phase that its pace is taken of, and in which its begin and its end are looked for."""
SLOW = 3.0
"""A single step that takes so many times the usual is slow."""
_SHORT, _MOST_OF_SHORT = 16, 13
"""Where one step in ten does so, that many of so many do once in 10^10 times."""
_END, _MOST_OF_END = 32, 26
_RISE, _RISE_MS = 0.15, 0.05
"""What rises by less is what clocks and caches do."""
_FASTER, _FASTER_STEPS = 0.8, 128
_MOSTLY_KNOWN = 0.8

Rows = npt.NDArray[np.void]
Floats = npt.NDArray[np.float64]


def rows_of(steps: Steps, first_ordinal: int) -> Rows:
    """Steps of training as rows, numbered from `first_ordinal`; times that are none are 0."""
    rows = np.empty(len(steps), ROW)
    rows["ordinal"] = np.arange(first_ordinal, first_ordinal + len(steps))
    for name in ("number", "start_ns", "flags"):
        rows[name] = steps[name]
    for name, column in (("ms", "duration_us"), ("wait", "wait_us"), ("outside", "outside_us")):
        np.divide(steps[column], US_PER_MS, out=rows[name])
    rows["ms"][~np.isfinite(rows["ms"])] = 0.0
    return rows


def parts_of(rows: Rows) -> dict[str, Floats]:
    """The time of rows that is `wait`, `outside` and `inside` the training function; the first two are 0 where unknown."""
    wait, outside = np.nan_to_num(rows["wait"]), np.nan_to_num(rows["outside"])
    return {"wait": wait, "outside": outside, "inside": rows["ms"] - wait - outside}


@dataclass(frozen=True)
class Usual:
    """What is usual in ms."""

    median: float
    high: Floats
    """Of each of `COLUMNS`: hardly one step in ten takes longer, nor ever most of some in a row. Infinite where not known."""
    slow: float
    """A single step that takes longer is slow."""


def usual_of(rows: Rows, rise: float | None = None) -> Usual:
    """What is usual in some steps; slower is what takes longer by that part of their median, by default as many steps allow."""
    median, most = np.quantile(rows["ms"], (0.5, 0.98)).tolist()
    rise = max((rise or (_RISE if len(rows) >= MANY else 1.0)) * median, _RISE_MS)
    high = np.array([_high(rows[name], rise) for name in COLUMNS])
    return Usual(median, high, max(SLOW * median, 1.5 * most))


def _high(values: Floats, rise: float) -> float:
    if np.isfinite(values).mean() < _MOSTLY_KNOWN:
        return np.inf
    values = _filled(values)
    median, high = np.quantile(values, (0.5, 0.9)).tolist()
    shorts = np.sort(values[: len(values) // _SHORT * _SHORT].reshape(-1, _SHORT), axis=1)[:, _SHORT // 2]
    return float(max(high, 1.1 * np.quantile(shorts, 0.98), median + rise))


def _filled(values: Floats) -> Floats:
    """Values, with the median of those that are known where one is not."""
    is_known = np.isfinite(values)
    middle = float(np.median(values[is_known])) if is_known.any() else 0.0
    return np.where(is_known, values, middle)


@dataclass(frozen=True)
class Pace:
    """Medians of some steps, in ms."""

    n: int
    ms: float
    parts: dict[str, float]
    is_wait_known: bool
    is_outside_known: bool

    @classmethod
    def of(cls, rows: Rows) -> Pace:
        known = (bool(np.isfinite(rows[name]).mean() >= _MOSTLY_KNOWN) for name in ("wait", "outside"))
        parts = {name: float(np.median(ms)) for name, ms in parts_of(rows).items()}
        return cls(len(rows), float(np.median(rows["ms"])), parts, *known)


@dataclass
class Phase:
    """Steps in a row that take longer than those before."""

    first_number: int
    first_ordinal: int
    began_ns: int
    before: Pace
    column: str
    """In which it shows."""
    middle: float
    """Half way in that column from what was before to its first steps."""
    rows: Rows
    last_number: int | None = None
    ended_ns: int | None = None

    @property
    def now(self) -> Pace:
        return Pace.of(self.rows)

    def part(self, now: Pace) -> str:
        """What has most of the rise: `wait`, `outside` or `inside`; "" where none has, or that is not known."""
        rises = {name: now.parts[name] - self.before.parts[name] for name in now.parts}
        found = max(rises, key=lambda name: rises[name])
        known = {"wait": now.is_wait_known, "outside": now.is_outside_known}
        known["inside"] = all(known.values())
        return found if known[found] and rises[found] >= (now.ms - self.before.ms) / 2 else ""


class Paces:
    """What is usual, and the phase that goes on, in memory that does not grow."""

    def __init__(self) -> None:
        self.usual: Usual | None = None
        self.open: Phase | None = None
        self.ended: list[Phase] = []
        """Since somebody took them."""
        self._base: Rows = np.empty(0, ROW)
        self._held_up: Rows = np.empty(0, ROW)
        """Of the latest steps those that ran while a window was read: a phase may begin in them, but not show."""
        self._n, self._n_looked = 0, 0

    @property
    def latest(self) -> Rows:
        """Steps of the pace that goes on."""
        return self._base if self.open is None else self.open.rows

    def add(self, rows: Rows) -> None:
        """Take the next steps of training."""
        held_up = rows[(rows["flags"] & (PROFILED | AFTER_WINDOW)) == AFTER_WINDOW]
        self._held_up = np.concatenate([self._held_up, held_up])[-LOOKED_BACK:]
        rows = rows[(rows["flags"] & UNUSUAL) == 0]
        left_out = min(max(WARM_UP_STEPS - self._n, 0), len(rows))
        self._n += len(rows)
        rows = rows[left_out:]
        while len(rows):
            # In pieces: what is usual is looked at again between them.
            rows = rows[self._take(rows[: max(64, len(self._base) // 4)]) :]

    def _take(self, piece: Rows) -> int:
        """Take steps, up to the one at which a phase shows or has ended; how many."""
        phase, n = self.open, len(piece)
        if phase is not None:
            # Within a phase only what takes twice as long is another one.
            pace = phase.rows[: max(len(phase.rows) - _SHORT, FEWEST)]
            at, column = _shows(usual_of(pace, rise=1.0), phase.rows, piece) if len(pace) >= FEWEST else (n, "")
            n = min(at + 1, n)
            phase.rows = np.concatenate([phase.rows, piece[:n]])[-LOOKED_BACK:]
            if at == len(piece) or not self._start(phase.rows, column):
                self._end()
            return n
        at, column = (n, "") if self.usual is None else _shows(self.usual, self._base, piece)
        n = min(at + 1, n)
        self._base = np.concatenate([self._base, piece[:n]])[-MOST:]
        if at < len(piece):
            self._start(self._base, column)
        self._find_usual()
        return n

    def _find_usual(self) -> None:
        base = self._base
        if (
            self.open is not None
            or len(base) < FEWEST
            or (self.usual and self._n - self._n_looked < min(len(base) // 4, 512))
        ):
            return
        self._n_looked = self._n
        if len(base) > 2 * _FASTER_STEPS and np.median(base["ms"][-_FASTER_STEPS:]) < _FASTER * np.median(base["ms"]):
            self._base = base = base[-_FASTER_STEPS:]
        # The latest are left out, as they may be of another pace.
        n_left_out = max(len(base) // 4, _SHORT)
        self.usual = usual_of(base[:-n_left_out] if len(base) >= FEWEST + n_left_out else base[:FEWEST])

    def _start(self, base: Rows, column: str) -> bool:
        """Begin a phase at the end of steps that go on at one pace before; whether it is one."""
        rows = base[-LOOKED_BACK:]
        values = _filled(rows[column])
        low, high = float(np.median(values[:-_SHORT])), float(np.median(values[-_SHORT:]))
        ms = rows["ms"]
        rise = float(np.median(ms[-_SHORT:]) - np.median(ms[:-_SHORT]))
        if rise < (high - low) / 2:  # it is not what makes steps longer
            return False
        middle = (low + high) / 2
        turn = _turn(np.clip(values, low, high) - middle)
        first, ordinals = rows[turn], self._held_up["ordinal"]
        held_up = self._held_up[(ordinals > rows["ordinal"][turn - 1]) & (ordinals < first["ordinal"])]
        beyond = np.clip(np.nan_to_num(held_up[column], nan=low), low, high) - middle
        if len(held_up) and beyond[begin := _turn(beyond)] > 0:
            first = held_up[begin]
        before = base[: len(base) - len(rows) + turn]
        if len(before) < FEWEST - WARM_UP_STEPS:
            return False
        began_ns = int(first["start_ns"])
        if self.open is None:
            self._base = before
        else:
            self._close(self.open, before, began_ns)
        numbers = int(first["number"]), int(first["ordinal"])
        self.open = Phase(*numbers, began_ns, Pace.of(before), column, middle, rows[turn:].copy())
        return True

    def _close(self, phase: Phase, rows: Rows, ended_ns: int) -> None:
        phase.rows, phase.last_number, phase.ended_ns = rows, int(rows["number"][-1]), ended_ns
        self.ended.append(phase)

    def _end(self) -> None:
        phase = self.open
        assert phase is not None
        values = _filled(phase.rows[phase.column])
        is_fast = values < phase.middle
        if np.count_nonzero(is_fast[-_END:]) < _MOST_OF_END or len(is_fast) < _END:
            return
        turn = _turn(phase.middle - np.minimum(values, 2 * phase.middle))
        after = phase.rows[turn:]
        self._close(phase, phase.rows[: max(turn, 1)], int(after["start_ns"][0]))
        self._base, self.open = np.concatenate([self._base, after])[-MOST:], None


def _shows(usual: Usual, base: Rows, piece: Rows) -> tuple[int, str]:
    """At which of the steps that come behind others it shows that they are slower, and in which column; `len(piece)` if none."""
    rows = np.concatenate([base[1 - _SHORT :], piece])
    is_so = np.stack([_filled(rows[name]) if name != "ms" else rows[name] for name in COLUMNS], axis=1) > usual.high
    is_so[:, 1:] &= rows["ms"][:, None] > usual.median  # a wait that makes no step longer is none
    return min((_first_run(is_so[:, i], len(piece)), name) for i, name in enumerate(COLUMNS))


def _first_run(is_so: Any, n_new: int) -> int:
    """The first of the last `n_new` places at which most of some in a row are so; `n_new` where there is none."""
    if len(is_so) < _SHORT or np.count_nonzero(is_so) < _MOST_OF_SHORT:
        return n_new
    counts = np.concatenate([[0], np.cumsum(is_so)])
    found = np.flatnonzero(counts[_SHORT:] - counts[:-_SHORT] >= _MOST_OF_SHORT)
    return max(int(found[0]) + _SHORT - 1 - (len(is_so) - n_new), 0) if len(found) else n_new


def _turn(x: Floats) -> int:
    """The place from which on the sum of the rest is largest: where values turn from below 0 to above."""
    return len(x) - 1 - int(np.argmax(np.cumsum(x[::-1])))
