"""Steps -> single ones that are slow, and those that come again after the same number of steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...trace.capture_facts import AFTER_WINDOW, COMPILED, EPOCH_BEGIN, PROFILED, Steps
from ..common import US_PER_MS

ROW = np.dtype(
    [
        ("ordinal", "<i8"),  # among the steps of training, from 0
        ("number", "<i8"),
        ("start_ns", "<i8"),
        ("ms", "<f8"),
        ("wait_ms", "<f8"),  # NaN: not known, and so below
        ("outside_ms", "<f8"),
        ("flags", "u1"),
    ]
)
UNUSUAL = PROFILED | EPOCH_BEGIN | AFTER_WINDOW | COMPILED
"""Flags of steps that are longer for a reason of their own."""

Rows = npt.NDArray[np.void]


def rows_of(steps: Steps, first_ordinal: int) -> Rows:
    """Steps of training as rows, numbered from `first_ordinal`; times that are none are 0."""
    rows = np.empty(len(steps), ROW)
    rows["ordinal"] = np.arange(first_ordinal, first_ordinal + len(steps))
    for name in ("number", "start_ns", "flags"):
        rows[name] = steps[name]
    for name, column in (("ms", "duration_us"), ("wait_ms", "wait_us"), ("outside_ms", "outside_us")):
        np.divide(steps[column], US_PER_MS, out=rows[name])
    rows["ms"][~np.isfinite(rows["ms"])] = 0.0
    return rows


def is_usual(rows: Rows) -> npt.NDArray[np.bool_]:
    """Which rows have no flag of their own."""
    found: npt.NDArray[np.bool_] = (rows["flags"] & UNUSUAL) == 0
    return found


class LatestRows:
    """The last so many rows that were appended."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._rows = np.empty(2 * most, ROW)
        self._begin = self._end = 0

    def __len__(self) -> int:
        return self._end - self._begin

    def append(self, rows: Rows) -> None:
        """Add rows; the oldest make room."""
        rows = rows[-self.most :]
        if self._end + len(rows) > len(self._rows):
            kept = self._rows[max(self._begin, self._end - self.most + len(rows)) : self._end].copy()
            self._rows[: len(kept)] = kept
            self._begin, self._end = 0, len(kept)
        self._rows[self._end : self._end + len(rows)] = rows
        self._end += len(rows)
        self._begin = max(self._begin, self._end - self.most)

    def last(self, n: int | None = None) -> Rows:
        """The last `n` rows, or all: a view, good until the next row is appended."""
        begin = self._begin if n is None else max(self._begin, self._end - n)
        return self._rows[begin : self._end]

    def drop_from(self, ordinal: int) -> None:
        rows = self.last()
        self._end = self._begin + int(np.searchsorted(rows["ordinal"], ordinal))

    def keep_last(self, n: int) -> None:
        self._begin = max(self._begin, self._end - n)


def parts_of(rows: Rows) -> dict[str, Any]:
    """The times of rows by `wait`, `outside`, and `inside` the training function; the first two are 0 where unknown."""
    wait, outside = np.nan_to_num(rows["wait_ms"]), np.nan_to_num(rows["outside_ms"])
    return {"wait": wait, "outside": outside, "inside": rows["ms"] - wait - outside}


Floats = npt.NDArray[np.float64]

RECENT_STEPS = 2048
"""What is usual is taken from so many of the latest steps at most."""
COLUMNS = ("ms", "wait_ms", "outside_ms")
"""Of rows, in which a change of pace is looked for: the whole step, and what of it has a time of its own."""
SHORT, BLOCK, LONG = 16, 64, 256
"""A change of pace is looked for in so many steps in a row: a large one shows in few."""
FEWEST = 112
"""With fewer steps nothing is usual yet."""
FEWEST_BLOCKS = 8
"""With fewer how blocks vary is not known."""
MIN_RISE = 0.15
"""What changes by less is what clocks and caches do."""
MIN_RISE_MS = 0.05
MOSTLY_KNOWN = 0.8
"""tf.data forgets the waits of some steps: a column of which so many rows are known tells what is usual."""
_SLOW = 3.0
"""A step that takes so many times the usual is slow, where that is beyond what is usual."""


@dataclass(frozen=True)
class Usual:
    """What is usual in milliseconds."""

    median: float
    mean: float
    """Of times cut at `cut`."""
    cut: float
    """Above what nearly all steps take: single slow ones do not move a mean of times that are cut here."""
    high: Floats
    """Of each of `COLUMNS`: hardly a step in ten takes longer, nor ever most of `SHORT` in a row. Infinite where not known."""
    slow: float
    """A single step that takes longer is slow."""
    block_sd: float
    """Standard deviation of the means of `BLOCK` steps; infinite while not known."""

    def rise(self, n_sd: float) -> float:
        """By how much the mean of steps has to be larger to mean something."""
        return max(MIN_RISE * self.mean, MIN_RISE_MS, n_sd * self.block_sd)


class Level:
    """Steps of one pace, as they come."""

    def __init__(self, first: Rows | None = None, *, n_left_out: int = 0) -> None:
        self.rows = LatestRows(RECENT_STEPS)
        self.usual: Usual | None = None
        """None while there are too few steps."""
        self.n = 0
        self._n_left_out = n_left_out
        self._next_at = FEWEST
        if first is not None:
            self.add(first)

    def add(self, rows: Rows) -> bool:
        """Take the next steps, at most `until_look`; whether they ended a block."""
        left_out = min(self._n_left_out, len(rows))
        self._n_left_out -= left_out
        self.rows.append(rows[left_out:])
        n_blocks = self.n // BLOCK
        self.n += len(rows) - left_out
        if self.n >= self._next_at:
            self.find_usual()
            self._next_at = self.n + (BLOCK if self.n < 2 * LONG else 2 * LONG)
        return self.n // BLOCK > n_blocks

    def until_look(self) -> int:
        """How many steps to take before the next look at blocks."""
        length = BLOCK if self.n < 2 * LONG else LONG
        return self._n_left_out or length - self.n % length

    def find_usual(self) -> None:
        """Look at the rows anew; the latest are left out where there are enough, as they may be of another pace."""
        rows = self.rows.last()
        self.usual = usual_of(rows[: -LONG if len(rows) >= 3 * LONG else None]) if len(rows) >= FEWEST else None

    def keep_last(self, n: int) -> None:
        """Begin anew with the last `n` rows: the pace became faster."""
        self.rows.keep_last(n)
        self.find_usual()


def usual_of(rows: Rows) -> Usual:
    """What is usual among at least `FEWEST` steps, in order."""
    ms = rows["ms"]
    median, most = np.quantile(ms, (0.5, 0.98)).tolist()
    cut = max(_SLOW * median, most)
    cut_ms = np.minimum(ms, cut)
    blocks = cut_ms[len(ms) % BLOCK :].reshape(-1, BLOCK).mean(axis=1)
    block_sd = (
        max(float(blocks.std(ddof=1)), float(cut_ms.std()) / BLOCK**0.5) if len(blocks) >= FEWEST_BLOCKS else np.inf
    )
    return Usual(
        median=median,
        mean=float(cut_ms.mean()),
        cut=cut,
        high=np.array([_high(rows[name], max(MIN_RISE * median, MIN_RISE_MS)) for name in COLUMNS]),
        slow=max(_SLOW * median, 1.5 * most),
        block_sd=block_sd,
    )


def known_or_usual(values: Floats) -> Floats:
    """Values, with the median of those that are known where one is not; 0 where none is."""
    is_known = np.isfinite(values)
    return (
        values if is_known.all() else np.where(is_known, values, np.median(values[is_known]) if is_known.any() else 0.0)
    )


def _high(values: Floats, rise: float) -> float:
    if np.isfinite(values).mean() < MOSTLY_KNOWN:
        return np.inf
    values = known_or_usual(values)
    median, high = np.quantile(values, (0.5, 0.9)).tolist()
    shorts = np.sort(values[: len(values) // SHORT * SHORT].reshape(-1, SHORT), axis=1)[:, SHORT // 2]
    return float(max(high, 1.1 * np.quantile(shorts, 0.98), median + rise))


MOST_SLOW_STEPS = 64
"""So many of the latest slow steps stay one by one; older ones are counted."""
_CHANCE = 1e-4
"""A period counts where slow steps at random would show it less often in a run."""
_MOST_INTERVALS = 12
_FEWEST_INTERVALS = 2
_MOST_CANDIDATES = 16
_MOST_MISSED = 2
_MOST_SERIES = 4
_MOST_UNHEARD = 1024
_RATE_STEPS = 1024
_MOST_RATE = 0.2
"""Where more of the steps are slow, that is usual."""
_OWN_SHARE = 0.6
_FEW = 4
"""So many steps after a slow one that is alone show that no stretch began with it."""


class SlowStep(NamedTuple):
    """One step that took much longer than the others."""

    ordinal: int
    number: int
    epoch_ordinal: int
    """Of the first step of its epoch."""
    ms: float
    usual_ms: float
    """The median of steps then."""
    extra: dict[str, float]
    """By how much each part of it that is known is longer than usual."""
    is_usual: bool
    """It has no flag of its own that explains it."""
    cause: str
    """The part that has most of what it is longer; "" where none has."""

    @property
    def extra_ms(self) -> float:
        return self.ms - self.usual_ms


def _cause(extra: dict[str, float], extra_ms: float) -> str:
    part = max(extra, key=lambda name: extra[name], default="")
    return part if part and extra[part] >= _OWN_SHARE * extra_ms else ""


@dataclass
class Series:
    """Slow steps with the same number of steps between them."""

    period: int
    in_epoch: bool
    """The count begins anew with each epoch."""
    cause: str
    steps: deque[SlowStep]
    first_number: int
    n_in_row: int
    """How many came without one missing."""
    is_sure: bool
    """Slow steps at random would hardly do this."""
    next_ordinal: int
    n_missed: int = 0
    last_number: int | None = None
    """Of the last one, when no more came."""

    @property
    def extra_ms(self) -> float:
        """By how much one is longer: the median."""
        return float(np.median([step.extra_ms for step in self.steps]))

    @property
    def next_number(self) -> int:
        last = self.steps[-1]
        return last.number + self.next_ordinal - last.ordinal


class SlowSteps:
    """Looks for them, in memory that does not grow."""

    def __init__(self) -> None:
        self.single: deque[SlowStep] = deque(maxlen=MOST_SLOW_STEPS)
        """Those in no series, the latest."""
        self.n_older = 0
        """How many more there were before."""
        self.longest: SlowStep | None = None
        """Of the older ones."""
        self.series: list[Series] = []
        self._waiting: list[SlowStep] = []
        """They may yet turn out to be the begin of a stretch of slow steps."""
        self._all: deque[SlowStep] = deque(maxlen=MOST_SLOW_STEPS)
        """Slow ones whatever their flags, but for the first of an epoch and those that were traced or paid for a window."""
        self._epochs: deque[int] = deque([0], maxlen=16)
        self._unheard: dict[int, None] = {0: None}
        """Steps, the latest, that have a reason of their own to take long: whether they were slow besides is not known."""
        self._n_slow = self._n_seen = 0
        self._rate = 0.0

    def begin_epoch(self, ordinal: int) -> None:
        """Note the first step of an epoch. The one before ended with its computation: what callbacks did then is not in it."""
        if ordinal > self._epochs[-1]:
            self._epochs.append(ordinal)
            self._unheard[ordinal - 1] = None

    def add(self, rows: Rows, level: Level) -> None:
        """Take the next steps of any flag, of the pace that goes on."""
        usual = level.usual
        if usual is None or not len(rows):
            return
        is_heard = is_usual(rows) | (rows["flags"] == PROFILED)
        self._unheard |= dict.fromkeys(rows["ordinal"][~is_heard].tolist())
        while len(self._unheard) > _MOST_UNHEARD:
            del self._unheard[next(iter(self._unheard))]
        found = np.flatnonzero(rows["ms"] > 3 * usual.median)
        self._n_seen = min(self._n_seen + len(rows), _RATE_STEPS)
        self._rate += (len(found) / len(rows) - self._rate) * min(len(rows) / self._n_seen, 1)
        if not len(found):
            return
        slow, is_heard = rows[found], is_heard[found]
        kept = (slow["ms"] > usual.slow) | (np.arange(len(slow)) >= len(slow) - _MOST_CANDIDATES)
        middles = {name: float(np.median(ms)) for name, ms in parts_of(level.rows.last(4 * SHORT)).items()}
        for step in self._steps(slow[kept & is_heard], usual.median, middles):
            self._all.append(step)
            self._n_slow += 1
            if not self._belongs(step) and step.is_usual and step.ms > usual.slow:
                self._waiting.append(step)
        if self._all:
            self._look_for_series()

    def _steps(self, rows: Rows, usual_ms: float, usual_parts: Mapping[str, float]) -> Iterator[SlowStep]:
        parts = parts_of(rows)
        for i, is_so in enumerate(is_usual(rows).tolist()):
            ordinal, number, _, ms, *_ = rows[i].item()
            unknown = {name for name in ("wait", "outside") if np.isnan(rows[f"{name}_ms"][i])}
            unknown |= {"inside"} if unknown else set()  # it is what is left
            extra = {name: float(parts[name][i]) - usual_parts[name] for name in parts.keys() - unknown}
            epoch = max((first for first in self._epochs if first <= ordinal), default=0)
            yield SlowStep(ordinal, number, epoch, ms, usual_ms, extra, is_so, _cause(extra, ms - usual_ms))

    def go_on(self, ordinal: int, *, at_once: bool = False) -> None:
        """Settle what is before a step: slow ones that no stretch took, series that came no more."""
        first = self._waiting[0].ordinal if self._waiting else 0
        is_rare = 2 * len(self._waiting) <= ordinal - first
        wait = _FEW if is_rare else SHORT
        settled = [step for step in self._waiting if at_once or step.ordinal + wait <= ordinal]
        if settled:
            self._waiting = [step for step in self._waiting if step not in settled]
            for step in settled:
                self._keep(step)
        for series in self.series:
            while series.last_number is None and series.next_ordinal + 1 < ordinal:
                series.n_missed += series.next_ordinal not in self._unheard
                series.next_ordinal += series.period
                if series.n_missed > _MOST_MISSED:
                    series.last_number = series.steps[-1].number
        for series in [one for one in self.series if one.last_number is not None and not one.is_sure]:
            self.series.remove(series)
            for step in series.steps:
                if step.is_usual:
                    self._keep(step)

    def take_back(self, ordinal: int) -> None:
        """Forget slow steps from an ordinal on: they are of a stretch."""
        self._all = deque((step for step in self._all if step.ordinal < ordinal), maxlen=MOST_SLOW_STEPS)
        self.series = [series for series in self.series if series.steps[0].ordinal < ordinal]
        self._waiting = [step for step in self._waiting if step.ordinal < ordinal]
        self.single = deque((step for step in self.single if step.ordinal < ordinal), maxlen=MOST_SLOW_STEPS)

    def forget(self, ordinals: Container[int]) -> None:
        """Forget slow steps that something else explains, and the series of them."""
        self._waiting = [step for step in self._waiting if step.ordinal not in ordinals]
        self.single = deque((step for step in self.single if step.ordinal not in ordinals), maxlen=MOST_SLOW_STEPS)
        self.series = [one for one in self.series if not any(step.ordinal in ordinals for step in one.steps)]

    def _keep(self, step: SlowStep) -> None:
        if len(self.single) == MOST_SLOW_STEPS:
            old = self.single[0]
            self.n_older += 1
            if self.longest is None or old.ms > self.longest.ms:
                self.longest = old
        self.single.append(step)

    def _belongs(self, step: SlowStep) -> bool:
        """Whether a series that goes on expects the step, which then is its last."""
        for series in self.series:
            slots = self._slots(step, series.period, in_epoch=series.in_epoch)
            last = series.steps[-1].ordinal
            if series.last_number is None and step.cause == series.cause and last in slots[: series.n_missed + 2]:
                series.steps.append(step)
                series.n_in_row = 1 if series.n_missed else series.n_in_row + 1
                series.n_missed, series.next_ordinal = 0, step.ordinal + series.period
                if not series.is_sure and self._rate <= _MOST_RATE:
                    n, rate = self._by_chance(series.cause)
                    first = series.steps[max(len(series.steps) - series.n_in_row, 0)].ordinal
                    rate = max(rate, self._share_slow(first, step.ordinal))
                    series.is_sure = _MOST_CANDIDATES * n * rate ** (series.n_in_row - 2) < _CHANCE
                return True
        return False

    def _look_for_series(self) -> None:
        """Look for steps before the last slow one that lie in even steps back from it."""
        last = self._all[-1]
        if any(last is series.steps[-1] for series in self.series):
            return
        slow = {step.ordinal: step for step in self._all if step.cause == last.cause}
        earlier = [ordinal for ordinal in slow if ordinal < last.ordinal - 1][-_MOST_CANDIDATES:]
        if self._rate > _MOST_RATE:
            return
        n, rate = self._by_chance(last.cause)
        candidates: list[tuple[float, int, bool, list[int]]] = []
        for in_epoch in (False, True):
            for ordinal in earlier:
                found = _in_row(self._slots(last, last.ordinal - ordinal, in_epoch=in_epoch), slow)
                if len(found) < _FEWEST_INTERVALS:
                    continue
                near = self._share_slow(found[-1], last.ordinal)
                chance = len(earlier) * n * max(rate, near) ** (len(found) - 1)
                candidates.append((chance, last.ordinal - ordinal, in_epoch, found))
        # A multiple of the period is as regular, and more so where a step between was not looked at.
        best = min(candidates, key=lambda one: (max(one[0], _CHANCE), one[1]), default=None)
        if best is not None and best[0] < 1000 * _CHANCE:
            self._start_series(last, slow, *best)

    def _slots(self, step: SlowStep, period: int, *, in_epoch: bool) -> list[int]:
        """Where a slow step had to be seen before this one."""
        return [slot for slot in _slots(step, period, self._epochs, in_epoch=in_epoch) if slot not in self._unheard]

    def _by_chance(self, cause: str) -> tuple[float, float]:
        """How many slow steps of a cause there were, and the share of the latest steps that are such."""
        same = [step.ordinal for step in self._all if step.cause == cause]
        part = len(same) / len(self._all)
        return part * self._n_slow, max((len(same) - 1) / max(same[-1] - same[0], 1), part * self._rate)

    def _share_slow(self, first: int, last: int) -> float:
        """The share of the latest steps that are slow, from the ordinal of one on."""
        return sum(first <= step.ordinal <= last for step in self._all) / (last - first + 1)

    def _start_series(
        self, last: SlowStep, slow: dict[int, SlowStep], chance: float, period: int, in_epoch: bool, found: list[int]
    ) -> None:
        steps = [slow[ordinal] for ordinal in reversed(found)] + [last]
        is_sure = chance < _CHANCE
        series = Series(
            *(period, in_epoch, last.cause, deque(steps, maxlen=MOST_SLOW_STEPS), steps[0].number, len(steps), is_sure),
            next_ordinal=last.ordinal + period,
        )
        self.forget({step.ordinal for step in steps})
        others = [one for one in self.series if one.period != period or one.cause != last.cause]
        self.series = [*others, series][-_MOST_SERIES:]


def _slots(step: SlowStep, period: int, epochs: Sequence[int], *, in_epoch: bool) -> list[int]:
    """Where a slow step had to be before this one, the latest first, for a period."""
    if not in_epoch:
        return [step.ordinal - i * period for i in range(1, _MOST_INTERVALS + 1)]
    at = (step.ordinal - step.epoch_ordinal) % period
    found: list[int] = []
    end = step.ordinal
    for first in sorted((epoch for epoch in epochs if epoch <= step.ordinal), reverse=True):
        n = (end - 1 - first - at) // period
        found += [first + at + i * period for i in range(n, max(n - _MOST_INTERVALS, -1), -1) if at + i * period > 0]
        end = first
        if len(found) >= _MOST_INTERVALS:
            break
    return found[:_MOST_INTERVALS]


def _in_row(slots: Sequence[int], slow: dict[int, SlowStep]) -> list[int]:
    """The slots that have a slow step, up to the first that has none."""
    n = next((i for i, slot in enumerate(slots) if slot not in slow), len(slots))
    return list(slots[:n])


KINDS = ("validation", "checkpoint")
N_AFTER = 20
"""So many steps after each are looked at."""
_FEWEST_SLOW = 3
_SLOWER = 1.5


@dataclass
class After:
    at_ns: int
    first_number: int = -1
    last_number: int = -1
    n: int = 0
    slow_ms: list[float] = field(default_factory=list)
    slow_ordinals: list[int] = field(default_factory=list)
    usual_ms: float = 0.0

    @property
    def is_slow(self) -> bool:
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
    return float(np.median([ms for one in afters for ms in one.slow_ms]))
