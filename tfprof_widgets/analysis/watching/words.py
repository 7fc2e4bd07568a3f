"""What was found in steps and samples -> sentences with their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...trace.capture_facts import SAMPLE_COLUMNS
from ..common import milliseconds, number, percent, plural, size
from ..memory.growth import GrowingMemory, Growth
from .outcome import SlowTraced
from .phases import Drift, Pace, Phase, pace_of
from .slow_steps import After, Series, SlowStep, middle_ms

SEVERITIES = ("info", "low", "medium", "high")


@dataclass(frozen=True)
class Anomaly:
    """One thing that went wrong in a watched training: an element of `WatchedRun.anomalies`. What it tells changes while
    it goes on.
    """

    kind: str
    """What it is: `slower`, `wait_grows`, `outside_grows`, `gpu_idles`, `clocks_dropped`, `machine_busy`, `drift`,
    `slow_step`, `function_traced`, `slow_callback`, `periodic_wait`, `periodic_step`, `slow_after_validation`,
    `slow_after_checkpoint`, `memory_grows` or `gpu_memory_grows`.
    """
    title: str
    """What happened: one sentence with its numbers."""
    evidence: str
    """What was measured, in sentences."""
    first_step: int
    """The number of the step at which it began, as in the column `number` of `WatchedRun.steps`."""
    last_step: int | None = None
    """The number of the step at which it ended; None while it goes on."""
    severity: str = "info"
    """How much of the time it costs: `info`, `low`, `medium` or `high`."""
    window: int | None = None
    """Place in `WatchedRun.windows` of the profile that shows it; None for none."""
    wants_window: bool = False
    """Whether a profile of the next steps, or of `next_at`, would show the cause."""
    next_at: int | None = None
    """The number of the step at which it is expected again; None where that is not known."""
    number: int = 0
    """Its place among those of the training: one that goes on, or came again, keeps it."""


def severity_of(share: float) -> str:
    """How severe it is that so much of the time is lost."""
    return SEVERITIES[(share >= 0.02) + (share >= 0.15) + (share >= 0.3)]


KEPT = 600
Span = tuple[int, int | None]
"""Unix times of a begin and an end; None: until now."""
_CPU, _OWN = SAMPLE_COLUMNS.index("cpu_pct"), SAMPLE_COLUMNS.index("process_cpu_pct")
_MOST_BEFORE = 60
_FEWEST_BEFORE = 3
_BUSY_PCT = 60.0
"""Load of all cores, below which others leave enough of them."""
_OTHERS_ROSE_PCT, _OTHERS_ROSE_MUCH_PCT = 10.0, 25.0
"""Of all cores; by much is enough without a machine that is full: memory is shared, too."""
_BUSY_SHARE = 0.3
"""Of the samples."""
_MOSTLY, _LEAST_PART = 0.8, 0.2
_THROTTLED_CLOCK = 0.9
_IDLER_PCT = 15.0


@dataclass(frozen=True)
class BeforeAndSince:
    """Medians of a column's samples before some time and during it; NaN where there are none."""

    before: float
    since: float

    @property
    def rise(self) -> float:
        """NaN where either is not known."""
        return self.since - self.before


class Machine:
    def __init__(self, n_cores: int) -> None:
        self.n_cores = n_cores
        self._rows = np.empty((0, len(SAMPLE_COLUMNS)))

    def add(self, row: Any) -> None:
        """Take the next sample."""
        self._rows = np.concatenate([self._rows, row[None]])[-KEPT:]

    @property
    def last_ns(self) -> int:
        """The time of the last sample; 0 where the machine is not sampled."""
        return int(self._rows[-1, 0]) if len(self._rows) else 0

    def n_during(self, span: Span) -> int:
        """How many samples are about a span."""
        return len(self._during(span))

    def around(self, column: str, span: Span) -> BeforeAndSince:
        """What a column was before a span, in its last minute, and during it."""
        i = SAMPLE_COLUMNS.index(column)
        return BeforeAndSince(*(_middle(rows[:, i]) for rows in (self._before(span), self._during(span))))

    def is_busy_with_others(self, span: Span) -> bool:
        """Whether other processes took cores during a span that were free, or this process's, when the machine was quiet."""
        is_about, part = self._about(span)
        if not is_about.any():
            return False
        during = self._rows[is_about]
        quiet = self._others(self._rows[self._rows[:, 0] <= span[0]])
        quiet = quiet[np.isfinite(quiet)]
        rose = self._others(during) - (float(np.quantile(quiet, 0.1)) if len(quiet) >= _FEWEST_BEFORE else 0.0)
        rose /= part[is_about]  # a sample of which the span is half shows half of it
        is_so = (rose >= _OTHERS_ROSE_MUCH_PCT) | ((rose >= _OTHERS_ROSE_PCT) & (during[:, _CPU] >= _BUSY_PCT))
        return float(is_so.mean()) >= _BUSY_SHARE and self.around("cpu_pct", span).since >= _OTHERS_ROSE_MUCH_PCT

    def is_busier(self, span: Span) -> bool:
        """Whether others took more of the machine in a span than in the minute before, not just cores that this process left."""
        before, since = self._before(span), self._during(span)
        rises = (_middle(load(since)) - _middle(load(before)) for load in (self._others, lambda rows: rows[:, _CPU]))
        return min(rises) >= _OTHERS_ROSE_PCT

    def is_throttled(self, span: Span) -> bool:
        """Whether the GPU's clock fell, and the driver says that heat or power lowers it."""
        clock = self.around("gpu_clock_mhz", span)
        return self.around("gpu_throttled", span).since >= 0.5 and clock.since <= _THROTTLED_CLOCK * clock.before

    def is_gpu_idler(self, span: Span) -> bool:
        """Whether the GPU is busy for less of the time than before."""
        return self.around("gpu_pct", span).rise <= -_IDLER_PCT

    def _others(self, rows: Any) -> Any:
        """The load of other processes, of all cores."""
        return rows[:, _CPU] - rows[:, _OWN] / self.n_cores

    def _before(self, span: Span) -> Any:
        return self._rows[self._rows[:, 0] <= span[0]][-_MOST_BEFORE:]

    def _during(self, span: Span) -> Any:
        return self._rows[self._about(span)[0]]

    def _about(self, span: Span) -> tuple[Any, Any]:
        """Which samples are about a span, and which part of each is: it is about the time since the one before."""
        times = self._rows[:, 0]
        lengths = np.maximum(np.diff(times, prepend=times[:1]), 1)
        since, until = span[0], np.inf if span[1] is None else span[1]
        inside = np.minimum(times, until) - np.maximum(times - lengths, since)
        part = np.clip(inside / lengths, _LEAST_PART, 1)
        return (inside > 0) & ((part >= _MOSTLY) | (2 * inside >= until - since)), part


def sample_rows(given: Any) -> Any:
    """Samples of a table, or one row of them, as rows of `SAMPLE_COLUMNS`; columns that are not there are not known."""
    if isinstance(given, pd.DataFrame):
        return given.reindex(columns=SAMPLE_COLUMNS).to_numpy(np.float64)
    return np.asarray(given, np.float64).reshape(-1, len(SAMPLE_COLUMNS))


def _middle(values: Any) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


_PLACES = {
    "wait": "waiting for data",
    "outside": "outside of the training function",
    "inside": "inside the training function",
}
_OWN_SHARE = 0.5
_MOST_SLOWED = 3.0
"""Times as much as all else a part is slowed by a busy machine."""
_MIN_MEDIAN_RISE = 1.1
KIND_OF_PART = {"wait": "wait_grows", "outside": "outside_grows"}


@dataclass(frozen=True)
class Change:
    """Two paces, and what tells them apart."""

    before: Pace
    now: Pace
    by: str
    """`median`, or `mean` where only that differs."""

    @property
    def part(self) -> str:
        """`wait`, `outside` or `inside`, which has most of what steps take longer; "" where none has, or that is not known."""
        longer = self.now.ms - self.before.ms
        rises = {name: self.now.parts[name] - self.before.parts[name] for name in self.now.parts}
        found = max(rises, key=lambda name: rises[name])
        is_known = {
            "wait": self.now.is_wait_known,
            "outside": self.now.is_outside_known,
            "inside": self.now.is_wait_known and self.now.is_outside_known,
        }
        return found if rises[found] >= _OWN_SHARE * longer and is_known[found] else ""

    @property
    def is_beyond_slowing(self) -> bool:
        """Whether the part is now far longer than a whole step was, more than all else is slowed by a busy machine."""
        part = self.part
        if part not in KIND_OF_PART:
            return False
        slowing = (self.now.ms - self.now.parts[part]) / max(self.before.ms - self.before.parts[part], 1e-9)
        # Of a whole step: data that took nearly as long was not waited for.
        return self.now.parts[part] > _MOST_SLOWED * max(slowing, 1.0) * self.before.ms

    @property
    def share(self) -> float:
        """The part of the time that is lost."""
        return 1 - self.before.ms / self.now.ms if self.now.ms else 0.0


def change_of(phase: Phase) -> Change:
    """How the steps of a stretch differ from those before."""
    rows = phase.rows
    now = pace_of(rows)
    if phase.is_short or now.ms >= _MIN_MEDIAN_RISE * phase.before.ms:
        return Change(phase.before, now, "median")
    return Change(phase.mean_before, pace_of(rows[rows["ms"] <= phase.cut], np.mean), "mean")


def change_title(
    change: Change, first_number: int, last_number: int | None, cause: str = "", *, within: Sequence[Phase] = ()
) -> str:
    """`Steps take 8.10 ms since step 2,000, 3.90 ms before: they wait for data 4.05 ms of it, 0.05 ms before`."""
    mean = " on average" if change.by == "mean" else ""
    now, before = milliseconds(change.now.ms), milliseconds(change.before.ms)
    if last_number is None:
        between = (f", {milliseconds(change_of(one).now.ms)} since step {one.first_number:,}" for one in within[::-1])
        said = f"Steps take {now}{mean} since step {first_number:,}{''.join(between)}, {before} before"
    else:
        said = f"Steps took {now}{mean} from step {first_number:,} to {last_number:,}, {before} before"
    cause = cause or part_words(change)
    return f"{said}: {cause}" if cause else said


def part_words(change: Change) -> str:
    """What steps take longer for."""
    part = change.part
    if not part:
        return ""
    now, before = (milliseconds(pace.parts[part]) for pace in (change.now, change.before))
    said = f"they wait for data {now} of it" if part == "wait" else f"{now} of it are {_PLACES[part]}"
    return f"{said}, {before} before"


def change_evidence(change: Change) -> str:
    middle = "Medians" if change.by == "median" else "Means without single slow steps"
    said = f"{middle} of the last {plural(change.now.n, 'step')} of it and of the {change.before.n:,} before."
    if not change.now.is_wait_known:
        said += " How much of it is a wait for data is not known."
    return said


def machine_words(column: str, found: BeforeAndSince) -> str:
    """What a column of the samples was since then and before; "" where not known."""
    if not np.isfinite(found.rise):
        return ""
    since, before = found.since, found.before
    words = {
        "cpu_pct": f"all cores are {since:.0f} % busy, {before:.0f} % before",
        "process_cpu_pct": f"this process uses {number(since / 100)} cores, {number(before / 100)} before",
        "gpu_pct": f"the GPU is busy {since:.0f} % of the time, {before:.0f} % before",
        "gpu_clock_mhz": f"the GPU's clock is {since:,.0f} MHz, {before:,.0f} MHz before",
    }
    return words[column]


def joined(sentences: Sequence[str]) -> str:
    said = "; ".join(one for one in sentences if one)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def earlier_words(spans: Sequence[tuple[int, int]], n_more: int) -> str:
    if not spans:
        return ""
    listed = ", ".join(f"step {first:,} to {last:,}" for first, last in spans[-3:])
    more = n_more + max(len(spans) - 3, 0)
    return f" The same before: {listed}{f' and {more:,} times more' if more else ''}."


def drift_anomaly(drift: Drift) -> Anomaly | None:
    before, latest = drift.before, drift.latest
    if before is None or latest is None:
        return None
    change = Change(before.pace, latest.pace, "median")
    ended = f" They are faster again since step {drift.last_number:,}." if drift.last_number is not None else ""
    cause = part_words(change)
    return Anomaly(
        "drift",
        f"Steps become slower little by little: {milliseconds(change.now.ms)} from step {latest.first_number:,} to "
        f"{latest.last_number:,}, {milliseconds(change.before.ms)} from step {before.first_number:,} to "
        f"{before.last_number:,}{f': {cause}' if cause else ''}",
        f"Medians of {change.now.n:,} steps each.{ended}",
        before.last_number,
        drift.last_number,
        severity_of(change.share),
        wants_window=drift.is_open,
    )


def slow_steps_anomaly(
    single: Sequence[SlowStep], n_older: int, longest: SlowStep | None, places: Mapping[int, str]
) -> Anomaly | None:
    if not single:
        return None
    n = len(single) + n_older
    worst = max((one for one in (*single, longest) if one is not None), key=lambda one: one.ms)
    last = single[-1]
    if n == 1:
        times = f"{number(worst.ms / worst.usual_ms)} times the usual {milliseconds(worst.usual_ms)}"
        title = f"Step {worst.number:,} took {milliseconds(worst.ms)}, {times}"
    else:
        title = (
            f"{n:,} steps took over 3 times the usual {milliseconds(last.usual_ms)}; the longest "
            f"{milliseconds(worst.ms)}, step {worst.number:,}"
        )
    cause = worst.cause
    title += f": {milliseconds(worst.extra[cause])} more than usual {_PLACES[cause]}" if cause else ""
    where = place_words(places[one.number] for one in single if one.number in places)
    latest = ", ".join(f"{one.number:,} ({milliseconds(one.ms)})" for one in list(single)[-5:])
    evidence = f"The latest: step {latest}." if n > 1 else "No other step did so far."
    return Anomaly(*("slow_step", title, f"{evidence}{where}", single[0].number, last.number))


def place_words(places: Iterable[str]) -> str:
    """Where the training thread was during slow steps; "" where nobody looked."""
    counts = Counter(places)
    if not counts:
        return ""
    place, n = counts.most_common(1)[0]
    if counts.total() == 1:
        return f" The training thread was in {place} then."
    return f" In {n:,} of {counts.total():,} of them that were looked into the training thread was in {place}."


def series_anomaly(series: Series, places: Mapping[int, str]) -> Anomaly:
    """Slow steps that come again."""
    last = series.steps[-1]
    extra, usual = series.extra_ms, last.usual_ms
    share = extra / (extra + series.period * usual)
    cause = series.cause
    parts = [step.extra[cause] for step in series.steps] if cause else [step.extra_ms for step in series.steps]
    found = [places[step.number] for step in series.steps if step.number in places]
    where = f" ({Counter(found).most_common(1)[0][0]})" if found else ""
    what = f"{_PLACES[cause]}{where}" if cause else f"more than the usual {milliseconds(usual)}{where}"
    every = f"Every {plural(series.period, 'step')}" + (" of an epoch" if series.in_epoch else "")
    went_on = "" if series.last_number is None else f", until step {series.last_number:,}"
    numbers = ", ".join(f"{step.number:,}" for step in list(series.steps)[-5:])
    return Anomaly(
        {"outside": "slow_callback", "wait": "periodic_wait"}.get(cause, "periodic_step"),
        f"{every}, {milliseconds(float(np.median(parts)))} {what}{went_on}",
        f"The median of {plural(len(series.steps), 'such step')}, the latest {numbers}; a step usually takes "
        f"{milliseconds(usual)}. That is {percent(share)} of the time.{place_words(found)}",
        series.first_number,
        series.last_number,
        severity_of(share) if series.is_sure else "info",
        wants_window=series.last_number is None,
        next_at=series.next_number if series.last_number is None else None,
    )


def traced_anomaly(traced: SlowTraced | None) -> Anomaly | None:
    if traced is None:
        return None
    ms = milliseconds(float(np.median([ms for _, ms in traced.latest])))
    usual = f"{milliseconds(traced.usual_ms)} are usual"
    if traced.n == 1:
        title = f"TensorFlow traced a function in step {traced.first_number:,}: it took {ms}, {usual}"
    else:
        title = f"TensorFlow traced a function in {traced.n:,} steps after the first: they took {ms} (median), {usual}"
    latest = ", ".join(f"{step:,} ({milliseconds(ms)})" for step, ms in traced.latest[-5:])
    evidence = f"The latest: step {latest}. " if traced.n > 1 else ""
    return Anomaly(
        "function_traced",
        title,
        f"{evidence}That is {percent(traced.share)} of the time. A function is traced for each new shape and each new Python "
        "value or object among its arguments.",
        traced.first_number,
        traced.latest[-1][0],
        severity_of(traced.share) if traced.n > 1 else "info",
    )


def after_anomaly(kind: str, afters: Sequence[After], n_events: int, first_number: int) -> Anomaly:
    """Slow steps after validations or checkpoints."""
    last = afters[-1]
    extra = float(np.median([one.extra_ms for one in afters]))
    apart_ms = float(np.median(np.diff([one.at_ns for one in afters]))) / 1e6 if len(afters) > 1 else np.inf
    counts = [len(one.slow_ms) for one in afters]
    n = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return Anomaly(
        f"slow_after_{kind}",
        f"After a {kind} {n} of the next {max(one.n for one in afters)} steps are slow: {milliseconds(middle_ms(list(afters)))} "
        f"(median), {milliseconds(last.usual_ms)} are usual",
        f"So after the last {len(afters):,} of {plural(n_events, kind)}; it costs {milliseconds(extra)} each time, "
        f"{percent(extra / apart_ms)} of the time between two.",
        first_number,
        None,
        severity_of(extra / apart_ms),
        wants_window=True,
    )


_KINDS = {
    "rss_bytes": ("memory_grows", "The memory of this process"),
    "tf_bytes": ("gpu_memory_grows", "What TensorFlow holds of the memory of GPUs"),
}
_HOUR_S = 3600.0
_MANY_BYTES = 8 * 2**30
"""Growth in an hour that ends many a program."""


def memory_anomalies(memory: Mapping[str, GrowingMemory], *, n_epochs: int) -> Iterator[Anomaly]:
    """Each column that grows, or grew, in words."""
    for column, growing in memory.items():
        growth = growing.growth
        if growth is not None and (growth.is_steady or not growth.has_ended):  # else it was a buffer that filled
            yield _anomaly(*_KINDS[column], growth, is_first_epoch=n_epochs == 1)


def _anomaly(kind: str, whose: str, growth: Growth, *, is_first_epoch: bool) -> Anomaly:
    rate = f"{size(growth.bytes_per_second)} a second"
    by = f"{size(growth.bytes_per_step)} a step" if np.isfinite(growth.bytes_per_step) else rate
    first, last = f"{growth.first_number:,}", f"{growth.last_number:,}"
    since = "at least since" if growth.has_begun_before else "since about"
    span = (
        f"grew by {by} from about step {first} to {last}" if growth.has_ended else f"grows by {by} {since} step {first}"
    )
    may_cache = is_first_epoch and growth.may_be_cache and kind == "memory_grows"
    may_fill = may_cache or not growth.is_steady
    hedge = " A cache or a buffer that fills looks the same at first." if may_fill and not growth.has_ended else ""
    severe = "medium" if growth.bytes_per_second * _HOUR_S >= _MANY_BYTES else "low"
    return Anomaly(
        kind,
        f"{whose} {span}: {size(growth.from_bytes)} then, {size(growth.to_bytes)} at step {last}",
        f"{rate[0].upper()}{rate[1:]}, by the least of its samples.{hedge}",
        growth.first_number,
        growth.last_number if growth.has_ended else None,
        "info" if may_fill or growth.has_ended else severe,
        wants_window=not growth.has_ended,
    )
