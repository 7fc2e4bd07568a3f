"""Steps, samples and events of a running training -> what is odd in it (`Anomaly`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from ...trace.capture_facts import (
    AFTER_WINDOW,
    EPOCH_BEGIN,
    PROFILED,
    SAMPLE_COLUMNS,
    Event,
    Steps,
    WatchLog,
    known_name,
    trained,
    unrecorded_notice,
)
from ..memory.growth import GrowingMemory
from .outcome import TracedSteps
from .phases import MOST_OPEN, Drift, Phase, Phases
from .slow_steps import KINDS, LONG, AfterEvents, SlowSteps, is_usual, rows_of
from .words import (
    KIND_OF_PART,
    SEVERITIES,
    Anomaly,
    Machine,
    Span,
    after_anomaly,
    change_evidence,
    change_of,
    change_title,
    drift_anomaly,
    earlier_words,
    joined,
    machine_words,
    memory_anomalies,
    part_words,
    sample_rows,
    series_anomaly,
    severity_of,
    slow_steps_anomaly,
    traced_anomaly,
)

_SURE_NS = 2_000_000_000
_SURE_SAMPLES = 2
"""A stretch of less time, or with fewer samples of the machine, may be what other processes do: it has the lowest severity."""
_NEAR_STEPS = 5
"""A stretch that begins so few steps after a validation began with it."""


@dataclass
class _Kind:
    latest: Anomaly
    spans: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=4))
    """First and last step of those before the latest."""
    n: int = 1


class Episodes:
    """The stretches of a training by their kind."""

    def __init__(self, phases: Phases, machine: Machine, after: AfterEvents) -> None:
        self._phases, self._machine, self._after = phases, machine, after
        self._ended: dict[str, _Kind] = {}
        self._ending: deque[Phase] = deque()
        """The machine has not been sampled since these ended."""

    def go_on(self) -> None:
        """Take the stretches that ended."""
        for phase in (*self._phases.open, *self._phases.ending, *self._phases.closed):
            if "after" not in phase.notes:
                near_ns = round(_NEAR_STEPS * phase.before.ms * 1e6)
                phase.notes["after"] = self._after.last_before(phase.began_ns, near_ns)
        self._ending += self._phases.closed
        self._phases.closed.clear()
        is_sampled = self._machine.last_ns > 0
        while self._ending and (
            len(self._ending) > MOST_OPEN or not is_sampled or self._machine.last_ns >= (self._ending[0].ended_ns or 0)
        ):
            self._end(self._told(self._ending.popleft()))

    def anomalies(self) -> Iterator[Anomaly]:
        """One for each kind: of the stretch that goes on, else of the most severe, else of the latest."""
        going = {anomaly.kind: anomaly for anomaly in map(self._told, (*self._ending, *self._phases.ending))}
        around: dict[str, list[Phase]] = {}
        for phase in self._phases.open:
            told = self._told(phase)
            within = around.setdefault(told.kind, [])
            going[told.kind] = self._told(phase, within) if within else told
            within.append(phase)
        for kind in {**self._ended, **going}:
            if kind.startswith("slow_after_") and self._after.repeated(kind.removeprefix("slow_after_")):
                continue  # told of all of them
            ended, anomaly = self._ended.get(kind), going.get(kind)
            if anomaly is None:
                assert ended is not None
                anomaly, spans, n = ended.latest, list(ended.spans), ended.n - 1
            elif ended is not None:
                spans, n = [*ended.spans, _span(ended.latest)], ended.n
            else:
                spans, n = [], 0
            yield replace(anomaly, evidence=anomaly.evidence + earlier_words(spans, n - len(spans)))

    def _end(self, anomaly: Anomaly) -> None:
        known = self._ended.get(anomaly.kind)
        if known is None:
            self._ended[anomaly.kind] = _Kind(anomaly)
            return
        known.n += 1
        is_worse = SEVERITIES.index(anomaly.severity) >= SEVERITIES.index(known.latest.severity)
        known.spans.append(_span(known.latest if is_worse else anomaly))
        known.latest = anomaly if is_worse else known.latest

    def _told(self, phase: Phase, within: Sequence[Phase] = ()) -> Anomaly:
        """A stretch in words, as far as it is known."""
        change, machine, since = change_of(phase), self._machine, (phase.began_ns, phase.ended_ns)
        n_samples = machine.n_during(since)
        first = within[0] if within else phase
        took_ns = (phase.ended_ns or int(phase.rows["start_ns"][-1])) - first.began_ns
        is_long = phase.is_short or change.now.n >= LONG  # one that only means show may be a few slow steps
        is_sure = is_long and took_ns >= _SURE_NS and (not machine.last_ns or n_samples >= _SURE_SAMPLES)
        others: tuple[str, ...]
        kind, cause, others = KIND_OF_PART.get(change.part, "slower"), "", ("gpu_pct",)
        # A wait that grew while others took what they took before has a cause of its own.
        is_busy = n_samples and machine.is_busy_with_others(since)
        if is_busy and (kind == "slower" or (machine.is_busier(since) and not change.is_beyond_slowing)):
            kind, cause = "machine_busy", "the machine is busy with other processes"
            others = ("cpu_pct", "process_cpu_pct")
        elif after := phase.notes.get("after", ""):
            kind = f"slow_after_{after}"
        elif n_samples and kind == "slower" and machine.is_throttled(since):
            kind, cause = "clocks_dropped", _said(machine, "gpu_clock_mhz", since) + ", lowered for heat or power"
        elif is_sure and n_samples and kind == "slower" and machine.is_gpu_idler(since):
            kind, cause, others = "gpu_idles", _said(machine, "gpu_pct", since), ("process_cpu_pct",)
        if within:
            change = replace(change, before=change_of(first).before)
        title = change_title(change, phase.first_number, phase.last_number, cause, within=within)
        after_words = f"it began right after a {phase.notes['after']}" if phase.notes.get("after") else ""
        facts = joined(
            [after_words, part_words(change) if cause else "", *(_said(machine, name, since) for name in others)]
        )
        is_severe = is_sure and kind != "machine_busy"
        return Anomaly(
            kind,
            title,
            change_evidence(change) + (f" {facts}" if facts else ""),
            first.first_number,
            phase.last_number,
            severity_of(change.share) if is_severe else "info",
            wants_window=phase.last_number is None and kind not in ("machine_busy", "clocks_dropped"),
        )


def _said(machine: Machine, column: str, span: Span) -> str:
    return machine_words(column, machine.around(column, span))


def _span(anomaly: Anomaly) -> tuple[int, int]:
    return anomaly.first_step, anomaly.last_step if anomaly.last_step is not None else anomaly.first_step


_MOST_WAITING = 64
"""So many samples wait for the steps of their time; more are taken as of the last step."""
_MOST_PLACES = 256
_SETTLING_NS = 5_000_000_000
"""So long after its first step a process fills its memory, and after a window the profiler gives its own back."""


class AnomalyFinder:
    """Looks at a training while it runs, or at its log, in memory that does not grow."""

    def __init__(self, n_cores: int) -> None:
        self._machine = Machine(n_cores)
        self._phases, self._drift, self._slow = Phases(), Drift(), SlowSteps()
        self._after, self._traced = AfterEvents(), TracedSteps()
        self._episodes = Episodes(self._phases, self._machine, self._after)
        self._memory = {name: GrowingMemory() for name in ("rss_bytes", "tf_bytes")}
        self._samples: deque[tuple[float, Callable[[float, int], None]]] = deque()
        """Their times, and what takes them when the step of that time is known, by its ordinal and its number."""
        self._has_fine_memory = False
        self._places: dict[int, str] = {}
        self._windows: deque[tuple[int, int, int]] = deque(maxlen=64)
        self._numbers: dict[str, int] = {}
        self._n_steps, self._last_number, self._settled_ns = 0, 0, 0
        self._n_epochs = 0

    def add_steps(self, rows: Steps) -> None:
        """Take the next steps, of any kind."""
        self._settle(rows[(rows["flags"] & (PROFILED | AFTER_WINDOW)) != 0])
        rows = rows_of(rows[trained(rows)], self._n_steps)
        if not len(rows):
            return
        if not self._n_steps:
            self._settled_ns = max(self._settled_ns, int(rows["start_ns"][0] + 1e6 * rows["ms"][0]) + _SETTLING_NS)
        self._n_steps += len(rows)
        for ordinal in rows["ordinal"][(rows["flags"] & EPOCH_BEGIN) != 0].tolist():
            self._slow.begin_epoch(ordinal)
            self._n_epochs += 1
        for at in range(0, len(rows), LONG):
            self._take(rows[at : at + LONG])
        self._last_number = int(rows["number"][-1])
        self._place_samples(rows)

    def _settle(self, profiled: Steps) -> None:
        """Compare no memory before these steps with that after them: the profiler gives its own back late or never."""
        if len(profiled):
            self._memory["rss_bytes"].restart()
            end_ns = int(profiled[-1]["start_ns"] + 1e3 * profiled[-1]["duration_us"])
            self._settled_ns = max(self._settled_ns, end_ns + _SETTLING_NS)

    def add_samples(self, given: Any) -> None:
        """Take samples of the machine: a table with `SAMPLE_COLUMNS`, or one row of them."""
        for row in sample_rows(given):
            self._wait(float(row[0]), partial(self._take_sample, row))

    def add_memory(self, ns: float, n_bytes: Mapping[str, float]) -> None:
        """Take what is in use of memory some times a second, by columns of samples, which then do not count themselves."""
        self._has_fine_memory = True
        self._wait(ns, partial(self._take_memory, ns, n_bytes))

    def _wait(self, ns: float, take: Callable[[float, int], None]) -> None:
        self._samples.append((ns, take))
        while len(self._samples) > _MOST_WAITING:
            self._samples.popleft()[1](float(self._n_steps), self._last_number)

    def add_event(self, event: Event) -> None:
        """Take what happened; kinds that tell nothing here are left out."""
        kind, at_ns = event.get("kind"), event.get("at_ns")
        if kind in KINDS and isinstance(at_ns, int):
            self._after.note(str(kind), at_ns)
        elif kind == "line" and isinstance(event.get("step"), int):
            self._places[event["step"]] = str(event.get("place", ""))
            while len(self._places) > _MOST_PLACES:
                del self._places[next(iter(self._places))]
        elif kind == "window" and all(
            isinstance(event.get(name), int) for name in ("index", "first_step", "last_step")
        ):
            self._windows.append((event["index"], event["first_step"], event["last_step"]))
        elif kind == "end":
            self._slow.go_on(self._n_steps, at_once=True)

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

    def _all(self) -> Iterator[tuple[str, Anomaly, Sequence[int] | None]]:
        """Each with what it is known by, and the numbers of its steps where only some from its first to its last are."""
        stretches = [*self._episodes.anomalies(), drift_anomaly(self._drift)]
        stretches += memory_anomalies(self._memory, n_epochs=self._n_epochs)
        for anomaly in stretches:
            if anomaly is not None:
                yield anomaly.kind, anomaly, None
        for kind in KINDS:
            if afters := self._after.repeated(kind):
                found = after_anomaly(kind, afters, self._after.n_events[kind], self._after.first_number[kind])
                yield found.kind, found, [one.first_number for one in afters]
        for series in self._slow.series:
            found = series_anomaly(series, self._places)
            yield f"{found.kind} {series.first_number}", found, [step.number for step in series.steps]
        if usual := self._phases.level.usual:
            traced = self._traced.slow(usual.median)
            if (found_traced := traced_anomaly(traced)) is not None and traced is not None:
                yield found_traced.kind, found_traced, [step for step, _ in traced.latest]
        slow = self._slow
        if (single := slow_steps_anomaly(slow.single, slow.n_older, slow.longest, self._places)) is not None:
            yield single.kind, single, [step.number for step in slow.single]

    def _take(self, rows: Any) -> None:
        self._traced.add(rows)
        self._slow.add(rows, self._phases.level)
        phases, known = self._phases, self._phases.open[-1:]
        self._after.add(rows[is_usual(rows)], phases.level.usual)
        phases.add(rows)
        for phase in (*phases.open, *phases.ending):
            if phase not in known:
                self._slow.take_back(phase.first_ordinal)
        for kind in KINDS:
            if afters := self._after.repeated(kind):
                self._slow.forget({ordinal for one in afters for ordinal in one.slow_ordinals})
        self._slow.go_on(int(rows["ordinal"][-1]))
        self._episodes.go_on()
        if not self._phases.open:
            self._drift.look(self._phases.base)

    def _place_samples(self, rows: Any) -> None:
        """Take the samples of which the steps are known by now."""
        starts = rows["start_ns"]
        waiting, self._samples = self._samples, deque()
        for ns, take in waiting:
            if ns > starts[-1]:
                self._samples.append((ns, take))
                continue
            i = int(np.searchsorted(starts, ns, side="right")) - 1
            ordinal = float(rows["ordinal"][0]) if i < 0 else _ordinal_at(rows, i, ns)
            take(ordinal, int(rows["number"][max(i, 0)]))

    def _take_sample(self, row: Any, ordinal: float, number: int) -> None:
        self._machine.add(row)
        if not self._has_fine_memory:
            n_bytes = {name: float(row[SAMPLE_COLUMNS.index(name)]) for name in self._memory}
            self._take_memory(float(row[0]), n_bytes, ordinal, number)

    def _take_memory(self, ns: float, n_bytes: Mapping[str, float], ordinal: float, number: int) -> None:
        if ns < self._settled_ns or not self._n_steps:
            return
        for name, memory in self._memory.items():
            if np.isfinite(value := n_bytes[name]):
                memory.add(value, ns, ordinal, number)

    def _window_of(self, anomaly: Anomaly, steps: Sequence[int] | None) -> int | None:
        begin, end = anomaly.first_step, anomaly.last_step if anomaly.last_step is not None else self._last_number
        for index, first, last in reversed(self._windows):
            if any(first <= step <= last for step in steps) if steps is not None else first <= end and begin <= last:
                return index
        return None


def _ordinal_at(rows: Any, i: int, ns: float) -> float:
    """How many steps had begun at a time in or after the step `i`, with the part of it that was over."""
    us = max(float(rows["ms"][i]) * 1e6, 1.0)
    return float(rows["ordinal"][i]) + min((ns - float(rows["start_ns"][i])) / us, 1.0)


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
