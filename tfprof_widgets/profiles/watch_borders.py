"""Epochs and validations of a watched training -> marks on its chart, at most some hundred, evenly spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..trace.watched import EPOCH_BEGIN, Steps, WatchLog, trained

LONG_END_S = 0.5
"""Callbacks that take so long at the end of an epoch are told."""
MAX_MARKS = 200
"""Of each kind; of more every second one is left out, and again."""


class Borders:
    """The marks; takes steps and events in the order in which they came."""

    def __init__(self) -> None:
        self.n_epochs = 0
        """How many have begun."""
        self._marks: dict[str, list[dict[str, Any]]] = {"epoch": [], "validation": []}
        self._n_steps = 0

    @property
    def marks(self) -> list[dict[str, Any]]:
        """As the head of `LiveView` has them."""
        return [mark for marks in self._marks.values() for mark in marks]

    def add_steps(self, rows: Steps) -> None:
        """Take the next steps, of any kind."""
        own = rows[trained(rows)]
        for place in np.flatnonzero(own["flags"] & EPOCH_BEGIN):
            self.n_epochs += 1
            self._add("epoch", self._n_steps + int(place), f"epoch {self.n_epochs:,}")
        self._n_steps += len(own)

    def add_event(self, event: Mapping[str, Any]) -> None:
        """Take what happened behind the steps so far."""
        seconds = event.get("seconds")
        if not isinstance(seconds, int | float):
            return
        if event.get("kind") == "validation":
            self._add("validation", self._n_steps, f"validation, {seconds:.3g} s")
        elif event.get("kind") == "epoch_end" and seconds >= LONG_END_S and self._marks["epoch"]:
            last = self._marks["epoch"][-1]
            last["words"] = f"{last['words'].partition(',')[0]}, {seconds:.3g} s of callbacks"

    def _add(self, kind: str, at: int, words: str) -> None:
        marks = self._marks[kind]
        marks.append({"kind": kind, "at": at, "to": None, "words": words, "index": None})
        if len(marks) > MAX_MARKS:
            del marks[1::2]


def borders_of(log: WatchLog) -> Borders:
    """Those of a training that is read from its folder."""
    found = Borders()
    ends = log.steps["start_ns"] + (1e3 * log.steps["duration_us"]).astype(np.int64)
    events = [event for event in log.events if isinstance(event.get("at_ns"), int) and "seconds" in event]
    done = 0
    for event in events:
        upto = int(np.searchsorted(ends, event["at_ns"], side="right"))
        if upto > done:
            found.add_steps(np.asarray(log.steps[done:upto]))
            done = upto
        found.add_event(event)
    found.add_steps(np.asarray(log.steps[done:]))
    return found
