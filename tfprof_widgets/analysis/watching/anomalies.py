"""Steps, samples and events of a running training -> what is odd in it (`Anomaly`): slow steps, a slower phase, waits that
grow, memory that grows."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from ...trace.capture_facts import (
    AFTER_WINDOW,
    COMPILED,
    EPOCH_BEGIN,
    PROFILED,
    SAMPLE_COLUMNS,
    XLA_COMPILED,
    Event,
    Steps,
    WatchLog,
    known_name,
    trained,
    unrecorded_notice,
)
from ..common import milliseconds, number, percent, plural, size
from ..memory.growth import GrowingMemory, Growth
from .pace import ROW, SLOW, UNUSUAL, Pace, Paces, Phase, Rows, parts_of, rows_of

SEVERITIES = ("info", "low", "medium", "high")


@dataclass(frozen=True)
class Anomaly:
    """One thing that went wrong in a watched training: an element of `WatchedRun.anomalies`. What it tells changes while
    it goes on.
    """

    kind: str
    """What it is: `slow_steps`, `slower`, `wait_grows`, `memory_grows` or `gpu_memory_grows`."""
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


# ---- the machine ----------------------------------------------------------------------------------------------------

_KEPT = 600
_BUSY_PCT = 60.0
"""Load of all cores, below which others leave enough of them."""
_ROSE_PCT, _ROSE_MUCH_PCT = 10.0, 25.0
"""Load of others, of all cores; by much is enough without a machine that is full: memory is shared, too."""
_FEWEST_SAMPLES = 3
_CPU, _OWN = SAMPLE_COLUMNS.index("cpu_pct"), SAMPLE_COLUMNS.index("process_cpu_pct")
Span = tuple[int, int | None]
"""Unix times of a begin and an end; None: until now."""


class Machine:
    def __init__(self, n_cores: int) -> None:
        self.n_cores = max(n_cores, 1)
        self._rows = np.empty((0, len(SAMPLE_COLUMNS)))

    def add(self, row: Any) -> None:
        """Take the next sample."""
        self._rows = np.concatenate([self._rows, np.asarray(row, np.float64)[None]])[-_KEPT:]

    def around(self, column: str, span: Span) -> tuple[float, float]:
        """The medians of a column in the minute before a span and during it; NaN where there are no samples."""
        i = SAMPLE_COLUMNS.index(column)
        return _middle(self._before(span)[-60:, i]), _middle(self._during(span)[:, i])

    def n_during(self, span: Span) -> int:
        return len(self._during(span))

    def is_busy_with_others(self, span: Span) -> bool:
        """Whether other processes took cores during a span that were free when the machine was quiet."""
        during, before = self._during(span), self._before(span)
        if not len(during):
            return False
        others = [_known(rows[:, _CPU] - rows[:, _OWN] / self.n_cores) for rows in (before, during)]
        rose = others[1] - (float(np.quantile(others[0], 0.1)) if len(others[0]) >= _FEWEST_SAMPLES else 0.0)
        is_full = _known(during[:, _CPU])[-len(rose) :] >= _BUSY_PCT
        is_so = (rose >= _ROSE_MUCH_PCT) | ((rose >= _ROSE_PCT) & is_full)
        return bool(len(is_so)) and float(is_so.mean()) >= 0.3

    def is_busier(self, span: Span) -> bool:
        """Whether others took more of the machine in a span than in the minute before, not just cores that this process left."""
        own, everything = self.around("process_cpu_pct", span), self.around("cpu_pct", span)
        risen = everything[1] - everything[0]
        return min(risen, risen - (own[1] - own[0]) / self.n_cores) >= _ROSE_PCT

    def is_throttled(self, span: Span) -> bool:
        """Whether the driver says that heat or power lowers the GPU's clock, and it is lower than before."""
        before, since = self.around("gpu_clock_mhz", span)
        return self.around("gpu_throttled", span)[1] >= 0.5 and since <= 0.9 * before

    def words(self, column: str, span: Span) -> str:
        """What a column was during a span and before; "" where not known."""
        before, since = self.around(column, span)
        if not np.isfinite(since - before):
            return ""
        return {
            "cpu_pct": f"all cores are {since:.0f} % busy, {before:.0f} % before",
            "process_cpu_pct": f"this process uses {number(since / 100)} cores, {number(before / 100)} before",
            "gpu_pct": f"the GPU is busy {since:.0f} % of the time, {before:.0f} % before",
            "gpu_clock_mhz": f"the GPU's clock is {since:,.0f} MHz, {before:,.0f} MHz before",
        }[column]

    def _before(self, span: Span) -> Any:
        return self._rows[self._rows[:, 0] <= span[0]]

    def _during(self, span: Span) -> Any:
        """Samples of a second that is mostly in the span."""
        end = np.inf if span[1] is None else span[1] + 5e8
        return self._rows[(self._rows[:, 0] > span[0] + 3e8) & (self._rows[:, 0] <= end)]


def _known(values: Any) -> Any:
    return values[np.isfinite(values)]


def _middle(values: Any) -> float:
    known = _known(values)
    return float(np.median(known)) if len(known) else float("nan")


# ---- phases ---------------------------------------------------------------------------------------------------------

_SURE_NS, _SURE_SAMPLES = 2_000_000_000, 2
"""A phase of less time, or with fewer samples of the machine, may be what other processes do: it has the lowest severity."""
_BEYOND = 3.0
"""A wait that is so many times as long as a whole step was is not what a busy machine does."""
_PLACES = {
    "wait": "waiting for data",
    "outside": "outside of the training function",
    "inside": "inside the training function",
}


def phase_anomaly(phase: Phase, machine: Machine) -> Anomaly:
    """A phase in words."""
    now, before, span = phase.now, phase.before, (phase.began_ns, phase.ended_ns)
    part = phase.part(now)
    what = _part_words(part, now, before)
    facts = [machine.words("gpu_pct", span)]
    kind, cause = "wait_grows" if part == "wait" else "slower", what
    grew_by_itself = part in ("wait", "outside") and (
        now.parts[part] > _BEYOND * before.ms or not machine.is_busier(span)
    )
    if machine.is_busy_with_others(span) and not grew_by_itself:
        kind, cause = "slower", "the machine is busy with other processes"
        facts = [what, machine.words("cpu_pct", span), machine.words("process_cpu_pct", span)]
    elif machine.is_throttled(span):
        kind, cause = "slower", f"{machine.words('gpu_clock_mhz', span)}, lowered for heat or power"
        facts = [what, *facts]
    took_ns = (phase.ended_ns or int(phase.rows["start_ns"][-1])) - phase.began_ns
    is_sure = took_ns >= _SURE_NS and machine.n_during(span) >= _SURE_SAMPLES and "other processes" not in cause
    times = f"{milliseconds(before.ms)} before"
    if phase.last_number is None:
        said = f"Steps take {milliseconds(now.ms)} since step {phase.first_number:,}, {times}"
    else:
        said = f"Steps took {milliseconds(now.ms)} from step {phase.first_number:,} to {phase.last_number:,}, {times}"
    evidence = f"Medians of the last {plural(now.n, 'step')} of it and of the {before.n:,} before."
    if not now.is_wait_known:
        evidence += " How much of it is a wait for data is not known."
    if told := "; ".join(fact for fact in facts if fact):
        evidence += f" {told[0].upper()}{told[1:]}."
    return Anomaly(
        kind,
        f"{said}: {cause}" if cause else said,
        evidence,
        phase.first_number,
        phase.last_number,
        severity_of(1 - before.ms / now.ms if now.ms else 0.0) if is_sure else "info",
        wants_window=phase.last_number is None and cause in (what, ""),
    )


def _part_words(part: str, now: Pace, before: Pace) -> str:
    """What steps take longer for."""
    if not part:
        return ""
    times = milliseconds(now.parts[part]), milliseconds(before.parts[part])
    said = f"they wait for data {times[0]} of it" if part == "wait" else f"{times[0]} of it are {_PLACES[part]}"
    return f"{said}, {times[1]} before"


# ---- slow steps -----------------------------------------------------------------------------------------------------

_MOST_SLOW = 64
"""So many of the latest slow steps of a cause stay one by one; older ones are counted."""
_FEW, _MANY = 4, 16
"""So many steps after a slow one show that no phase began with it; more where many of them are slow."""
_MOSTLY = 2 / 3
_OWN_SHARE = 0.6


class SlowStep(NamedTuple):
    ordinal: int
    number: int
    ms: float
    usual_ms: float
    extra_ms: float
    """More than usual, of its cause alone."""


@dataclass
class _Cause:
    latest: deque[SlowStep] = field(default_factory=lambda: deque(maxlen=_MOST_SLOW))
    n_older: int = 0
    older_ms: float = 0.0
    first_number: int | None = None

    def add(self, step: SlowStep) -> None:
        if len(self.latest) == _MOST_SLOW:
            self.n_older, self.older_ms = self.n_older + 1, self.older_ms + self.latest[0].ms - self.latest[0].usual_ms
        self.first_number = step.number if self.first_number is None else self.first_number
        self.latest.append(step)

    @property
    def period(self) -> int:
        """The steps from one slow one to the next, where nearly all have the same, of the whole run or of its epochs; else 0."""
        apart = np.diff([step.ordinal for step in self.latest])[-12:]
        if len(apart) < 2:
            return 0
        usual, n = Counter(apart.tolist()).most_common(1)[0]
        return int(usual) if n >= 2 and n >= _MOSTLY * len(apart) and apart[-1] == usual else 0


class SlowSteps:
    """Single steps that take much longer than usual, by what they take longer for."""

    def __init__(self) -> None:
        self.causes: dict[str, _Cause] = {}
        self.last_ordinal = -1
        self._all_ms = 0.0
        self._waiting: list[tuple[str, SlowStep]] = []
        self._early: Rows = np.empty(0, ROW)
        """Steps in which something was compiled before it was known what is usual."""

    def add(self, rows: Rows, paces: Paces) -> None:
        """Take the next steps, with the pace that they are of."""
        self.last_ordinal = int(rows["ordinal"][-1])
        counted = rows[rows["ordinal"] > 0]  # what the first one traces is traced in any run
        self._all_ms += float(counted["ms"].sum())
        counted, usual = np.concatenate([self._early, counted]), paces.usual
        flags = counted["flags"]
        compiled = (flags & (COMPILED | XLA_COMPILED)) != 0
        self._early = counted[compiled][:_MOST_SLOW] if usual is None else self._early[:0]
        if usual is None:
            return
        single = ((flags & UNUSUAL) == 0) & (counted["ms"] > usual.slow) & (paces.open is None)
        middles = {name: float(np.median(ms)) for name, ms in parts_of(paces.latest[-64:]).items()}
        for i in np.flatnonzero((compiled & (counted["ms"] > SLOW * usual.median)) | single):
            cause, extra_ms = _cause_of(counted[i : i + 1], middles, usual.median)
            step = SlowStep(
                int(counted["ordinal"][i]), int(counted["number"][i]), float(counted["ms"][i]), usual.median, extra_ms
            )
            self._waiting.append((cause, step))

    def settle(self, *, begun: Phase | None, is_last: bool = False) -> None:
        """Count those that no phase began with."""
        if begun is not None:
            self._waiting = [
                one for one in self._waiting if one[1].ordinal < begun.first_ordinal or one[0] in _COMPILED
            ]
        waiting, self._waiting = self._waiting, []
        is_rare = bool(waiting) and 2 * len(waiting) <= self.last_ordinal - waiting[0][1].ordinal
        for cause, step in waiting:
            if is_last or step.ordinal + (_FEW if is_rare else _MANY) <= self.last_ordinal:
                self.causes.setdefault(cause, _Cause()).add(step)
            else:
                self._waiting.append((cause, step))

    def anomalies(self, places: Mapping[int, str]) -> Iterator[tuple[str, Anomaly, list[int]]]:
        """Each with a key and the numbers of its steps."""
        for cause, found in self.causes.items():
            yield f"slow_steps {cause}", self._told(cause, found, places), [step.number for step in found.latest]

    def _told(self, cause: str, found: _Cause, places: Mapping[int, str]) -> Anomaly:
        steps, last = list(found.latest), found.latest[-1]
        n, period = len(steps) + found.n_older, found.period
        usual, worst = milliseconds(last.usual_ms), max(steps, key=lambda step: step.ms)
        extra_ms = found.older_ms + sum(step.ms - step.usual_ms for step in steps)
        share = extra_ms / self._all_ms if self._all_ms else 0.0
        where = Counter(places[step.number] for step in steps if step.number in places)
        place = where.most_common(1)[0][0] if where else ""
        goes_on = period > 0 and self.last_ordinal <= last.ordinal + 2 * period
        middle = milliseconds(float(np.median([step.ms for step in steps])))
        if cause in _COMPILED:
            what = f"{_COMPILED[cause]} in " + (f"step {last.number:,}" if n == 1 else f"{n:,} steps after the first")
            title = (
                f"{what}: {'it' if n == 1 else 'they'} took {middle}{'' if n == 1 else ' (median)'}, {usual} are usual"
            )
            advice = f" {_COMPILED_WHY[cause]}"
        else:
            part = milliseconds(float(np.median([step.extra_ms for step in steps])))
            what = _PLACES.get(cause, f"more than the usual {usual}")
            many = f"{SLOW:.0f} times the usual {usual}"
            if period:
                title = f"Every {plural(period, 'step')}, {part} {what}{f' ({place})' if place else ''}"
            elif n == 1:
                times = f"{number(worst.ms / last.usual_ms)} times the usual {usual}"
                title = f"Step {worst.number:,} took {milliseconds(worst.ms)}, {times}"
            else:
                title = f"{n:,} steps took over {many}; the longest {milliseconds(worst.ms)}, step {worst.number:,}"
            if cause and not period:
                title += f": {part} more than usual {what}"
            advice = ""
        latest = ", ".join(f"{step.number:,} ({milliseconds(step.ms)})" for step in steps[-5:])
        evidence = f"The latest: step {latest}." if n > 1 else "No other step did so far."
        if n > 1:
            evidence += f" That is {percent(share)} of the time."
        if place:
            evidence += f" The training thread was in {place} then."
        is_told = period > 0 or cause in _COMPILED or share >= 0.15
        return Anomaly(
            "slow_steps",
            title,
            f"{evidence}{advice}",
            found.first_number if found.first_number is not None else last.number,
            None if goes_on else last.number,
            severity_of(share) if n > 1 and is_told else "info",
            wants_window=goes_on,
            next_at=last.number + period * (1 + (self.last_ordinal - last.ordinal) // period) if goes_on else None,
        )


_COMPILED = {"traced": "TensorFlow traced a function", "xla": "XLA compiled a function"}
_COMPILED_WHY = {
    "traced": "A function is traced for each new shape and each new Python value or object among its arguments.",
    "xla": "With jit_compile XLA compiles again for each new shape: pad batches to a few lengths.",
}


def _cause_of(row: Rows, middles: Mapping[str, float], usual_ms: float) -> tuple[str, float]:
    """What a slow step took longer for, and how much."""
    all_ms = float(row["ms"][0]) - usual_ms
    if row["flags"][0] & (COMPILED | XLA_COMPILED):
        return "traced" if row["flags"][0] & COMPILED else "xla", all_ms
    unknown = {name for name in ("wait", "outside") if np.isnan(row[name][0])}
    unknown |= {"inside"} if unknown else set()  # it is what is left
    extra = {name: float(ms[0]) - middles[name] for name, ms in parts_of(row).items() if name not in unknown}
    part = max(extra, key=lambda name: extra[name], default="")
    return (part, extra[part]) if part and extra[part] >= _OWN_SHARE * all_ms else ("", all_ms)


# ---- memory ---------------------------------------------------------------------------------------------------------

_MEMORY = {
    "rss_bytes": ("memory_grows", "The memory of this process"),
    "tf_bytes": ("gpu_memory_grows", "What TensorFlow holds of the memory of GPUs"),
}
_MANY_BYTES_A_SECOND = 8 * 2**30 / 3600
"""Growth in an hour that ends many a program."""


def memory_anomaly(column: str, growth: Growth, *, is_first_epoch: bool) -> Anomaly:
    kind, whose = _MEMORY[column]
    rate = f"{size(growth.bytes_per_second)} a second"
    by = f"{size(growth.bytes_per_step)} a step" if np.isfinite(growth.bytes_per_step) else rate
    first, last = f"{growth.first_number:,}", f"{growth.last_number:,}"
    since = "at least since" if growth.has_begun_before else "since about"
    span = (
        f"grew by {by} from about step {first} to {last}" if growth.has_ended else f"grows by {by} {since} step {first}"
    )
    may_fill = not growth.is_steady or (is_first_epoch and growth.may_be_cache and kind == "memory_grows")
    hedge = " A cache or a buffer that fills looks the same at first." if may_fill and not growth.has_ended else ""
    severe = "medium" if growth.bytes_per_second >= _MANY_BYTES_A_SECOND else "low"
    return Anomaly(
        kind,
        f"{whose} {span}: {size(growth.from_bytes)} then, {size(growth.to_bytes)} at step {last}",
        f"{rate[0].upper()}{rate[1:]}, by the least of its samples.{hedge}",
        growth.first_number,
        growth.last_number if growth.has_ended else None,
        "info" if may_fill or growth.has_ended else severe,
        wants_window=not growth.has_ended,
    )


# ---- all of them ----------------------------------------------------------------------------------------------------

_MOST_WAITING = 64
"""So many samples wait for the steps of their time."""
_MOST_PLACES = 256
_AT_ONCE = 256
_SETTLING_NS = 5_000_000_000
"""So long after its first step a process fills its memory, and after a window the profiler gives its own back."""


class AnomalyFinder:
    """Looks at a training while it runs, in memory that does not grow."""

    def __init__(self, n_cores: int) -> None:
        self._machine, self._paces, self._slow = Machine(n_cores), Paces(), SlowSteps()
        self._memory = {name: GrowingMemory() for name in _MEMORY}
        self._waiting: deque[tuple[float, Mapping[str, float]]] = deque(maxlen=_MOST_WAITING)
        """What was in use of memory, until the steps of those times come."""
        self._places: dict[int, str] = {}
        self._windows: deque[tuple[int, int, int]] = deque(maxlen=64)
        self._ended: dict[str, tuple[Anomaly, int]] = {}
        """By kind: the last phase that ended, and how many there were."""
        self._numbers: dict[str, int] = {}
        self._n_steps, self._last_number, self._settled_ns, self._n_epochs = 0, 0, 0, 0

    def add_steps(self, steps: Steps) -> None:
        """Take the next steps, of any kind."""
        profiled = steps[(steps["flags"] & (PROFILED | AFTER_WINDOW)) != 0]
        if len(profiled):  # the profiler gives its memory back late or never
            self._memory["rss_bytes"].restart()
            end_ns = int(profiled[-1]["start_ns"] + 1e3 * profiled[-1]["duration_us"])
            self._settled_ns = max(self._settled_ns, end_ns + _SETTLING_NS)
        rows = rows_of(steps[trained(steps)], self._n_steps)
        if not len(rows):
            return
        if not self._n_steps:
            self._settled_ns = max(self._settled_ns, int(rows["start_ns"][0] + 1e6 * rows["ms"][0]) + _SETTLING_NS)
        self._n_steps += len(rows)
        self._n_epochs += int(np.count_nonzero(rows["flags"] & EPOCH_BEGIN))
        for at in range(0, len(rows), _AT_ONCE):
            part, before = rows[at : at + _AT_ONCE], self._paces.open
            self._slow.add(part, self._paces)
            self._paces.add(part)
            self._slow.settle(begun=self._paces.open if self._paces.open is not before else None)
            self._end_phases()
        self._last_number = int(rows["number"][-1])
        self._place_memory(rows)

    def add_samples(self, row: Sequence[float]) -> None:
        """Take a sample of the machine, with `SAMPLE_COLUMNS`."""
        self._machine.add(row)

    def add_memory(self, ns: float, n_bytes: Mapping[str, float]) -> None:
        """Take what is in use of memory, some times a second."""
        self._waiting.append((ns, n_bytes))

    def add_event(self, event: Event) -> None:
        """Take what happened; kinds that tell nothing here are left out."""
        kind = event.get("kind")
        if kind == "line" and isinstance(event.get("step"), int):
            self._places[event["step"]] = str(event.get("place", ""))
            while len(self._places) > _MOST_PLACES:
                del self._places[next(iter(self._places))]
        elif kind == "window" and all(isinstance(event.get(name), int) for name in _WINDOW):
            self._windows.append(tuple(event[name] for name in _WINDOW))
        elif kind == "end":
            self._slow.settle(begun=None, is_last=True)

    @property
    def anomalies(self) -> list[Anomaly]:
        """What was found so far, in the order it was; one that goes on tells of the steps until now."""
        found = []
        for key, anomaly, steps in self._all():
            n = self._numbers.setdefault(key, len(self._numbers))
            window = self._window_of(anomaly, steps)
            wants = anomaly.wants_window and window is None
            found.append(replace(anomaly, number=n, window=window, wants_window=wants))
        return sorted(found, key=lambda anomaly: anomaly.number)

    def _all(self) -> Iterator[tuple[str, Anomaly, list[int] | None]]:
        """Each with what it is known by, and the numbers of its steps where only some from its first to its last are."""
        yield from self._slow.anomalies(self._places)
        going = self._paces.open
        told = None if going is None else self._phase_told(going)
        if told is not None:
            yield told.kind, told, None
        for kind, (anomaly, _) in self._ended.items():
            if told is None or told.kind != kind:
                yield kind, anomaly, None
        for column, memory in self._memory.items():
            growth = memory.growth
            if growth is not None and (growth.is_steady or not growth.has_ended):  # else it was a buffer that filled
                found = memory_anomaly(column, growth, is_first_epoch=self._n_epochs == 1)
                yield found.kind, found, None

    def _end_phases(self) -> None:
        ended, self._paces.ended = self._paces.ended, []
        for phase in ended:
            told = self._phase_told(phase)
            self._ended[told.kind] = told, 1 + self._ended.get(told.kind, (told, 0))[1]

    def _phase_told(self, phase: Phase) -> Anomaly:
        told = phase_anomaly(phase, self._machine)
        if told.kind not in self._ended:
            return told
        last, n = self._ended[told.kind]
        more = f", and {n - 1:,} times earlier" if n > 1 else ""
        before = f"step {last.first_step:,} to {last.last_step or last.first_step:,}{more}"
        return replace(told, evidence=f"{told.evidence} The same before: {before}.")

    def _place_memory(self, rows: Rows) -> None:
        """Take the memory of which the step is known by now: it was read as that began."""
        starts = rows["start_ns"]
        while self._waiting and self._waiting[0][0] <= starts[-1]:
            ns, n_bytes = self._waiting.popleft()
            i = max(int(np.searchsorted(starts, ns, side="right")) - 1, 0)
            for name, memory in self._memory.items():
                if ns >= self._settled_ns and np.isfinite(value := n_bytes[name]):
                    memory.add(value, ns, float(rows["ordinal"][i]), int(rows["number"][i]))

    def _window_of(self, anomaly: Anomaly, steps: Sequence[int] | None) -> int | None:
        begin, end = anomaly.first_step, anomaly.last_step if anomaly.last_step is not None else self._last_number
        for index, first, last in reversed(self._windows):
            if any(first <= step <= last for step in steps) if steps is not None else first <= end and begin <= last:
                return index
        return None


_WINDOW = ("index", "first_step", "last_step")
_NUMBERS = ("first_step", "last_step", "window", "next_at", "number")


def anomalies_of(log: WatchLog) -> list[Anomaly]:
    """The anomalies of a log, in the order found; behind its end a watch repeats those that are some still."""
    found: dict[int, Anomaly] = {}
    for event in log.events:
        if event["kind"] == "end":
            found.clear()
        elif event["kind"] == "anomaly" and (anomaly := _anomaly(event)) is not None:
            found[anomaly.number] = anomaly
    return [found[number] for number in sorted(found)]


def unrecorded_of(log: WatchLog) -> list[str]:
    """A sentence that a model ran on another backend than TensorFlow, whose steps are not recorded; mostly none."""
    names = [known_name(str(event.get("name"))) for event in log.events if event["kind"] == "unrecorded"]
    return [unrecorded_notice(name) for name in names[-1:] if name]


def _anomaly(event: Any) -> Anomaly | None:
    known = {one.name: event.get(one.name) for one in fields(Anomaly)} | {"kind": str(event.get("what", ""))}
    numbers = all(known[name] is None or type(known[name]) is int for name in _NUMBERS)
    if not numbers or None in (known["first_step"], known["number"]) or known["severity"] not in SEVERITIES:
        return None
    texts = {name: str(known[name]) for name in ("kind", "title", "evidence")}
    return Anomaly(**{**known, **texts, "wants_window": bool(known["wants_window"])})
