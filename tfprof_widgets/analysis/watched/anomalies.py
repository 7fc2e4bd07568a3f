"""Steps, samples and events of a training, as they come -> what is odd in it, in words (`Anomaly`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...trace.watched import AFTER_WINDOW, EPOCH_BEGIN, PROFILED, SAMPLE_COLUMNS, Event, Steps, trained
from .after_events import KINDS, AfterEvents
from .anomaly import Anomaly
from .drift import Drift
from .episodes import Episodes
from .level import LONG
from .machine import Machine, sample_rows
from .memory import GrowingMemory
from .memory_words import memory_anomalies
from .phases import Phases
from .rows import is_usual, rows_of
from .slow_steps import SlowSteps
from .traced_steps import TracedSteps
from .words import after_anomaly, drift_anomaly, series_anomaly, slow_steps_anomaly, traced_anomaly

_MOST_WAITING = 64
"""So many samples wait for the steps of their time; more are taken as of the last step."""
_MOST_PLACES = 256
_SETTLING_NS = 5_000_000_000
"""So long after its first step a process fills its memory, and after a window the profiler gives its own back."""


class AnomalyFinder:
    """Looks at a training while it runs, or at its log, in memory that does not grow."""

    def __init__(self, n_cores: int) -> None:
        """Begin without steps, on a machine of so many cores."""
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
        """Take what is in use of memory, by the names of the columns of samples, some times a second.

        Where this is told, what samples tell of it is left out.
        """
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
        usual_rows = rows[is_usual(rows)]
        self._traced.add(rows)
        self._slow.add(rows, self._phases.level)
        phases, known = self._phases, self._phases.open[-1:]
        self._after.add(usual_rows, phases.level.usual)
        phases.add(usual_rows)
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
        """The last profile window that has steps of it."""
        begin, end = anomaly.first_step, anomaly.last_step if anomaly.last_step is not None else self._last_number
        for index, first, last in reversed(self._windows):
            if any(first <= step <= last for step in steps) if steps is not None else first <= end and begin <= last:
                return index
        return None


def _ordinal_at(rows: Any, i: int, ns: float) -> float:
    """How many steps had begun at a time in or after the step `i`, with the part of it that was over."""
    us = max(float(rows["ms"][i]) * 1e6, 1.0)
    return float(rows["ordinal"][i]) + min((ns - float(rows["start_ns"][i])) / us, 1.0)
