"""What was found in steps and samples -> sentences with their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..base.wording import milliseconds, number, percent, plural
from .after_events import After, middle_ms
from .anomaly import Anomaly, severity_of
from .drift import Drift
from .machine import BeforeAndSince
from .phases import Pace, Phase, pace_of
from .slow_steps import Series, SlowStep
from .traced_steps import SlowTraced

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
        """Whether the part is now far longer than a whole step was, more than all else is slowed: a busy machine slows that as
        well.
        """
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
    """`Steps take 8.10 ms since step 2,000, 3.90 ms before: they wait for data 4.05 ms of it, 0.05 ms before`.

    Args:
        change: what is told.
        first_number, last_number: of its steps.
        cause: why, where that is known from elsewhere than the parts of steps.
        within: slower stretches around it, the outermost first: what steps took since their first, is told as well.
    """
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
    if part == "wait":
        return f"they wait for data {now} of it, {before} before"
    if part == "outside":
        return f"{now} of it are outside of the training function, {before} before"
    return f"{now} of it are inside the training function, {before} before"


def change_evidence(change: Change) -> str:
    """What was measured."""
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
    """Parts of sentences as one."""
    said = "; ".join(one for one in sentences if one)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def earlier_words(spans: Sequence[tuple[int, int]], n_more: int) -> str:
    """Where the same was before."""
    if not spans:
        return ""
    listed = ", ".join(f"step {first:,} to {last:,}" for first, last in spans[-3:])
    more = n_more + max(len(spans) - 3, 0)
    return f" The same before: {listed}{f' and {more:,} times more' if more else ''}."


def drift_anomaly(drift: Drift) -> Anomaly | None:
    """A drift in words; None where there is none."""
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
    """Single slow steps as one; None where there are none."""
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
    title += _single_cause(worst)
    where = place_words(places[one.number] for one in single if one.number in places)
    latest = ", ".join(f"{one.number:,} ({milliseconds(one.ms)})" for one in list(single)[-5:])
    evidence = f"The latest: step {latest}." if n > 1 else "No other step did so far."
    return Anomaly(
        *("slow_step", title, f"{evidence}{where}", single[0].number, last.number),
    )


def _single_cause(step: SlowStep) -> str:
    cause = step.cause
    return f": {milliseconds(step.extra[cause])} more than usual {_PLACES[cause]}" if cause else ""


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
    """Steps that traced a function as one; None where there are none."""
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
