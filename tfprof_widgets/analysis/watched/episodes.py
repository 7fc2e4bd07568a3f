"""Stretches of slow steps, with what the machine did meanwhile -> one anomaly for each kind of cause."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .after_events import AfterEvents
from .anomaly import SEVERITIES, Anomaly, severity_of
from .level import LONG
from .machine import Machine, Span
from .phases import MOST_OPEN, Phase, Phases
from .words import (
    KIND_OF_PART,
    change_evidence,
    change_of,
    change_title,
    earlier_words,
    joined,
    machine_words,
    part_words,
)

_SURE_NS = 2_000_000_000
_SURE_SAMPLES = 2
"""A stretch that took less time, or has fewer samples of the machine, may be what other processes do: it is only told."""
_NEAR_STEPS = 5
"""A stretch that begins so few steps after a validation began with it."""


@dataclass
class _Kind:
    """What ended of one kind."""

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
            self._note_event(phase)
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

    def _note_event(self, phase: Phase) -> None:
        if "after" not in phase.notes:
            near_ns = round(_NEAR_STEPS * phase.before.ms * 1e6)
            phase.notes["after"] = self._after.last_before(phase.began_ns, near_ns)

    def _told(self, phase: Phase, within: Sequence[Phase] = ()) -> Anomaly:
        """A stretch in words, as far as it is known.

        Args:
            phase: the stretch.
            within: those of its kind that it is a part of, the outermost first: with it they became slower still.
        """
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
