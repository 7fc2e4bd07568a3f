"""A training that was watched -> a report in Markdown, and a few lines of text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...analysis.base.wording import milliseconds, number, percent, plural
from ...analysis.watched.anomaly import Anomaly
from ...analysis.watched.level import FEWEST
from ...analysis.watched.outcome import Outcome, compared, outcome_of, usual_ms
from ...analysis.watched.told import anomalies_of, unrecorded_of
from ...errors import without_controls
from ...trace.watched import Event, WatchLog
from .markdown import code, sentence, table

_MOSTLY_KNOWN = 0.9
"""Where waits are known of steps that take less of the time, their share is not that of the whole training."""
_MOST_EPOCHS, _MOST_WINDOWS, _MOST_VALUES = 20, 50, 6
_STATES = {
    "complete": "It ran to its end.",
    "exception": "An exception ended it.",
    "interrupted": "It was interrupted.",
}
NO_STEPS = (
    "No step of training was told. Keras' `fit` tells its steps; in a loop of your own wrap what it loops over: "
    "`for batch in tfprof.trace_steps(dataset):`."
)
_LOST = "How it ended is not written: it runs still, or its process was killed."


def watch_report(log: WatchLog, last: WatchLog | None = None) -> str:
    """Everything that came out, as Markdown; compared with the last run where that is given."""
    outcome = outcome_of(log)
    blocks = [
        f"# {sentence(outcome.title, 120)}",
        _STATES.get(outcome.state, _LOST),
        table(("figure", "value"), [(name, sentence(value)) for name, value in _figures(outcome)]),
    ]
    if words := _since(log, last):
        blocks.append(sentence(f"{words[0].upper()}{words[1:]}."))
    blocks += map(sentence, unrecorded_of(log))
    if outcome.n_steps or not unrecorded_of(log):
        blocks += ["## What is odd", *_odd(anomalies_of(log), outcome.n_steps)]
    windows = [event for event in log.events if event["kind"] == "window"]
    if windows:
        blocks += ["## Profile windows", *_windows(windows)]
    if outcome.epochs:
        blocks += ["## Epochs", *_epochs(outcome.epochs)]
    if log.notices:
        blocks += ["## What could not be read", *(f"- {sentence(notice)}" for notice in log.notices)]
    return "\n\n".join(blocks) + "\n"


def watch_summary(log: WatchLog, last: WatchLog | None = None) -> str:
    """The same in a few lines of plain text, the first of which says the most."""
    outcome = outcome_of(log)
    figures = dict(_figures(outcome))
    state = outcome.state or "end not written"
    first = f"{outcome.title}: {plural(outcome.n_steps, 'step')}, {state}"
    if math.isfinite(outcome.median_ms):
        first += f", {figures['step (median)']} a step"
    anomalies = anomalies_of(log)
    told = [*unrecorded_of(log), *log.notices]
    lines = [first, *(f"  {one.severity}: {one.title}" for one in anomalies), *(f"  {one}" for one in told)]
    if words := _since(log, last):
        lines.insert(1, f"  {words}")
    if not outcome.n_steps and not unrecorded_of(log):
        lines.append(f"  {NO_STEPS}")
    return without_controls("\n".join(" ".join(line.split("\n")) for line in lines))


def _since(log: WatchLog, last: WatchLog | None) -> str:
    return "" if last is None else compared(usual_ms(last.steps), usual_ms(log.steps))


def _figures(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """What is known, in words."""
    yield "steps", f"{outcome.n_steps:,} in {number(outcome.seconds)} s"
    if math.isfinite(outcome.median_ms):
        yield "step (median)", milliseconds(outcome.median_ms)
        if outcome.batches:
            yield "a step", outcome.batches
        yield "step (95th percentile)", milliseconds(outcome.p95_ms)
        yield "step (longest)", f"{milliseconds(outcome.longest_ms)}, step {outcome.longest_number:,}"
        yield "throughput", f"{number(outcome.steps_per_s)} steps/s inside of steps"
    waited, known = _of_the_time(outcome.wait_ratio), outcome.wait_known_ratio
    if math.isfinite(outcome.wait_ratio) and known < _MOSTLY_KNOWN:
        waited += f" of the steps where it is known ({percent(known)} of all time)"
    yield "waited for data", waited
    yield "outside of the training function", _of_the_time(outcome.outside_ratio)
    if outcome.n_validation:
        yield "steps of validation", f"{outcome.n_validation:,}"
    if outcome.n_profiled:
        yield "profiled", plural(outcome.n_profiled, "step")


def _of_the_time(ratio: float) -> str:
    return f"{percent(ratio)} of the time" if math.isfinite(ratio) else "not known"


def _odd(anomalies: Sequence[Anomaly], n_steps: int) -> Iterator[str]:
    if not n_steps:
        yield NO_STEPS
    elif n_steps < FEWEST:
        yield f"Of {plural(n_steps, 'step')} it is not known what is usual: that takes {FEWEST}."
    elif not anomalies:
        yield "Nothing went beyond the noise of the run itself."
    for one in sorted(anomalies, key=lambda one: -_RANKS[one.severity]):
        window = f" Profile window {one.window + 1} shows it." if one.window is not None else ""
        yield f"- **{one.severity}**: {sentence(one.title)}. {sentence(one.evidence, 1_000)}{window}"


_RANKS = {"info": 0, "low": 1, "medium": 2, "high": 3}


def _windows(windows: Sequence[Event]) -> Iterator[str]:
    rows = [
        (
            sentence(place),
            sentence(f"{_count(event.get('first_step'))} to {_count(event.get('last_step'))}"),
            sentence(event.get("why", "")),
            code(event.get("path", "")),
        )
        for place, event in enumerate(windows[:_MOST_WINDOWS], 1)
    ]
    yield table(("window", "steps", "why", "folder"), rows)
    yield from _more(len(windows), _MOST_WINDOWS, "windows")


def _epochs(epochs: Sequence[Event]) -> Iterator[str]:
    rows = []
    for event in epochs[-_MOST_EPOCHS:]:
        values = event.get("values")
        told = [(str(name), one) for name, one in (values if isinstance(values, dict) else {}).items()]
        words = ", ".join(f"{name} {_value(one)}" for name, one in told[:_MOST_VALUES])
        rows.append((sentence(_count(event.get("epoch"))), sentence(_seconds(event.get("seconds"))), sentence(words)))
    yield table(("epoch", "callbacks at its end (s)", "values"), rows)
    yield from _more(len(epochs), _MOST_EPOCHS, "epochs; the last are shown")


def _more(n: int, most: int, what: str) -> Iterator[str]:
    if n > most:
        yield f"{most} of {n:,} {what}."


def _count(value: Any) -> str:
    return f"{value:,}" if type(value) is int else "?"


def _seconds(value: Any) -> str:
    return number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else "?"


def _value(value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
    return np.format_float_positional(value, 4, fractional=False, trim="-") if is_number else str(value)
