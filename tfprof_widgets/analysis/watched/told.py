"""What was told while a training ran -> its anomalies, as they were told last."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ...trace.unrecorded import known_name, unrecorded_notice
from ...trace.watched import WatchLog
from .anomaly import SEVERITIES, Anomaly

_NUMBERS = ("first_step", "last_step", "window", "next_at", "number")


def anomalies_of(log: WatchLog) -> list[Anomaly]:
    """The anomalies of a log, in the order in which they were found; events that are none are left out.

    Behind its end a watch tells those once more that are some still: what was told before may have turned out to be another.
    """
    found: dict[int, Anomaly] = {}
    for event in log.events:
        if event["kind"] == "end":
            found.clear()
        elif event["kind"] == "anomaly" and (anomaly := _anomaly(event)) is not None:
            found[anomaly.number] = anomaly
    return [found[number] for number in sorted(found)]


def unrecorded_of(log: WatchLog) -> list[str]:
    """That a model ran on another backend than TensorFlow, whose steps are not told: one sentence, mostly none."""
    names = [known_name(str(event.get("name"))) for event in log.events if event["kind"] == "unrecorded"]
    return [unrecorded_notice(name) for name in names[-1:] if name]


def _anomaly(event: Any) -> Anomaly | None:
    known = {one.name: event.get(one.name) for one in fields(Anomaly)} | {"kind": str(event.get("what", ""))}
    numbers = all(known[name] is None or type(known[name]) is int for name in _NUMBERS)
    if not numbers or None in (known["first_step"], known["number"]) or known["severity"] not in SEVERITIES:
        return None
    texts = {name: str(known[name]) for name in ("kind", "title", "evidence")}
    return Anomaly(**{**known, **texts, "wants_window": bool(known["wants_window"])})
