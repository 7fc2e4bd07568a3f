"""A training that is watched -> the figures and words of its widget, its line and its last state."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .analysis.common import number, plural
from .analysis.steps.steps import batch_words
from .analysis.watching.outcome import Floats, StepBins
from .errors import TfProfError
from .trace.capture_facts import (
    AFTER_WINDOW,
    EPOCH_BEGIN,
    PROFILED,
    SAMPLE_COLUMNS,
    STEP,
    VALIDATION,
    Steps,
    WatchLog,
    trained,
)

if TYPE_CHECKING:
    from .analysis.watching.anomalies import Anomaly
    from .profiles import Profile
    from .show.live import LiveView


STRETCHES = frozenset(("slower", "wait_grows"))
"""Kinds of anomalies that last from a first to a last step; others are single steps, or slow growth."""
MOST_TOLD = 100
"""Of anomalies, windows and marks that are shown; the file has all."""
N_LATEST, N_KEPT = 20, 200
"""Figures are of the latest `N_LATEST` steps with known waits, of `N_KEPT` in memory."""
LONG_END_S = 0.5
"""Callbacks at the end of an epoch that take so long are shown."""
MAX_MARKS = 200
"""Of each kind; every second one of more is dropped, repeatedly."""
MAX_ROWS = 600
"""Of samples; of more each two become one."""


def figures(latest: Steps) -> dict[str, float]:
    """`step_ms` (median), `steps_per_s`, `wait_ratio`, `outside_ratio` and `loss` of the latest steps; NaN where not known."""
    rows = latest[-N_LATEST:]
    whole = float(rows["duration_us"].sum())
    losses = rows["loss"][np.isfinite(rows["loss"])]
    return {
        "step_ms": float(np.median(rows["duration_us"])) / 1e3 if len(rows) else np.nan,
        "steps_per_s": len(rows) / whole * 1e6 if whole else np.nan,
        "wait_ratio": _share(latest, "wait_us"),
        "outside_ratio": _share(latest, "outside_us"),
        "loss": float(losses[-1]) if len(losses) else np.nan,
    }


def _share(latest: Steps, column: str) -> float:
    """A part's share of the latest steps' time, where known; NaN where that is less than half of it."""
    is_known = np.isfinite(latest[column])
    known = latest[is_known][-N_LATEST:]
    whole = float(known["duration_us"].sum())
    return float(known[column].sum()) / whole if whole and 2 * is_known.sum() >= len(latest) else float("nan")


class Training:
    """What a watched training's widget and line show of its steps, samples and events, in memory that does not grow."""

    def __init__(self, started_ns: int) -> None:
        self.started_ns = started_ns
        self.ended_ns: int | None = None
        self.title, self.outcome = "", ""
        """The outcome is "" where no end was told."""
        self.bins = StepBins(started_ns=started_ns)
        self.latest: Steps = np.empty(0, STEP)
        """The latest steps of training that no profiler held up, at most `N_KEPT`: an epoch's last waits may be lost."""
        self.n_epochs = 0
        """Epochs that have begun."""
        self.windows: list[dict[str, Any]] = []
        """Of the profiler, oldest first; the number of each is that of its profile's name."""
        self._marks: dict[str, list[dict[str, Any]]] = {"epoch": [], "validation": []}
        self._last_ns: int | None = None
        """End of the last step of any kind."""
        self._validated_ns: tuple[int, int] | None = None
        """Begin and end of the validation behind which no step of training has come yet."""
        self._rows: list[npt.NDArray[np.float64]] = []
        self._waiting: list[npt.NDArray[np.float64]] = []
        self._width = 1
        """Samples that one of `_rows` is the mean of."""

    @classmethod
    def of(cls, log: WatchLog) -> Training:
        """Make that of a training that is read from its folder."""
        training = cls(int(log.steps["start_ns"][0]) if len(log.steps) else 0)
        ends = log.steps["start_ns"] + (1e3 * log.steps["duration_us"]).astype(np.int64)
        done = 0
        for event in (*log.events, None):
            if event is not None and not (isinstance(event.get("at_ns"), int) and "seconds" in event):
                training.add_event(event)
                continue
            upto = len(ends) if event is None else int(np.searchsorted(ends, event["at_ns"], side="right"))
            for first in range(done, upto, 2**20):
                training.add_steps(np.asarray(log.steps[first : min(upto, first + 2**20)]))
            done = max(done, upto)
            if event is not None:
                training.add_event(event)
        for row in log.samples[list(SAMPLE_COLUMNS)].to_numpy(np.float64):
            training.add_sample(row)
        return training

    def add_steps(self, steps: Steps) -> None:
        """Take the next steps, of any kind."""
        for piece in np.split(steps, np.flatnonzero(np.diff(steps["kind"])) + 1):
            if not len(piece):
                continue
            self._last_ns = int(piece["start_ns"][-1] + 1e3 * piece["duration_us"][-1])
            if piece["kind"][0] == VALIDATION:
                begin_ns = piece["start_ns"][0] if self._validated_ns is None else self._validated_ns[0]
                self._validated_ns = int(begin_ns), self._last_ns
            elif trained(piece)[0]:
                self._add_own(piece)

    def _add_own(self, own: Steps) -> None:
        """Take steps of training, before which a validation has ended if there was one."""
        if self._validated_ns is not None:
            (begin_ns, end_ns), self._validated_ns = self._validated_ns, None
            self._mark("validation", self.bins.n_steps, f"validation, {(end_ns - begin_ns) / 1e9:.3g} s")
        for place in np.flatnonzero(own["flags"] & EPOCH_BEGIN):
            self.n_epochs += 1
            self._mark("epoch", self.bins.n_steps + int(place), f"epoch {self.n_epochs:,}")
        self.bins.add(own)
        usual = own[own["flags"] & (PROFILED | AFTER_WINDOW) == 0]
        self.latest = np.concatenate([self.latest, usual])[-N_KEPT:]

    def add_event(self, event: Mapping[str, Any]) -> None:
        """Take what happened behind the steps so far."""
        kind, seconds = event.get("kind"), event.get("seconds")
        if kind == "begin":
            self.title = str(event.get("title", ""))
        elif kind == "end":
            self.outcome, self.ended_ns = str(event.get("outcome")), event.get("at_ns")
        elif kind == "window":
            steps = {name: event.get(name) for name in ("first_step", "last_step")}
            head = {"index": len(self.windows) + 1, **steps, "why": str(event.get("why"))}
            self.windows.append({**head, "state": "reading", "words": ""})
        elif (
            kind == "epoch_end" and isinstance(seconds, int | float) and seconds >= LONG_END_S and self._marks["epoch"]
        ):
            last = self._marks["epoch"][-1]
            last["words"] = f"{last['words'].partition(',')[0]}, {seconds:.3g} s of callbacks"

    def add_sample(self, row: Sequence[float] | npt.NDArray[np.float64]) -> None:
        """Take a sample of the machine, with `SAMPLE_COLUMNS`; where there are too many, each two become one."""
        self._waiting.append(np.asarray(row, np.float64))
        if len(self._waiting) < self._width:
            return
        self._rows.append(np.mean(self._waiting, axis=0))
        self._waiting = []
        if len(self._rows) >= MAX_ROWS:
            pairs = np.array(self._rows[: len(self._rows) // 2 * 2]).reshape(-1, 2, len(SAMPLE_COLUMNS))
            self._rows = list(pairs.mean(axis=1))
            self._width *= 2

    @property
    def batches(self) -> str:
        """`5 batches in one call, 0.961 ms a batch` of the latest steps; "" where each is one batch."""
        rows = self.latest[-N_LATEST:]
        return batch_words(rows["n_batches"].astype(np.int64), rows["duration_us"] / 1e3)

    def line(self, n_windows: int, n_anomalies: int) -> str:
        """`tfprof: step 12,345, 4.81 ms a step, 208 steps/s, waits 3 %, loss 0.41; 2 windows; 1 anomaly`, on a terminal."""
        n_steps, found = self.bins.n_steps, figures(self.latest)
        if not n_steps:
            return "tfprof: waiting for the first step"
        parts = [plural(n_steps, "step")]
        if math.isfinite(found["step_ms"]):
            batches = f" ({self.batches})" if self.batches else ""
            parts += [f"{number(found['step_ms'])} ms a step{batches}", f"{number(found['steps_per_s'])} steps/s"]
        if math.isfinite(found["wait_ratio"]):
            parts.append(f"waits for data {100 * found['wait_ratio']:.0f} %")
        if math.isfinite(found["loss"]):
            parts.append(f"loss {found['loss']:.4g}")
        told = [plural(n, word) for n, word in ((n_windows, "window"), (n_anomalies, "anomaly")) if n]
        return "; ".join([f"tfprof: {', '.join(parts)}", *told]).replace("anomalys", "anomalies")

    def show_in(
        self,
        view: LiveView,
        *,
        without_end: str,
        anomalies: Sequence[Anomaly],
        opened: Sequence[Any],
        **head: Any,
    ) -> None:
        """Show it in its widget, with the dashboards of the windows that are `opened`; NaN stands for what is not known.

        `without_end` is its state where it has no end.
        """
        now_ns, columns = time.time_ns(), self.bins.columns()
        marks = [mark for marks in self._marks.values() for mark in marks] + _marks(
            Places(columns), anomalies[-MOST_TOLD:], self.windows
        )
        shown = {
            "title": self.title,
            "state": _STATES.get(self.outcome, "ended") if self.outcome else without_end,
            "n_steps": self.bins.n_steps,
            **figures(self.latest),
            "batches": self.batches,
            "epoch": self.n_epochs or None,
            "elapsed_s": ((self.ended_ns or now_ns) - self.started_ns) / 1e9,
            "quiet_s": math.nan if self._last_ns is None else (now_ns - self._last_ns) / 1e9,
            "now_ns": now_ns,
            "marks": marks[-3 * MOST_TOLD :],
            "anomalies": [_told(one) for one in anomalies[-MOST_TOLD:]],
            "windows": self.windows[-MOST_TOLD:],
        }
        table = np.array(self._rows).reshape(-1, len(SAMPLE_COLUMNS))
        values = dict(zip(SAMPLE_COLUMNS, table.T, strict=True))
        samples = {"time_s": (values.pop("time_ns") - self.started_ns) / 1e9, **values}
        view.push(shown | head, bins=columns, samples=samples, opened=opened)

    def _mark(self, kind: str, at: int, words: str) -> None:
        marks = self._marks[kind]
        marks.append({"kind": kind, "at": at, "to": None, "words": words, "index": None})
        if len(marks) > MAX_MARKS:
            del marks[1::2]


def _marks(places: Places, anomalies: Sequence[Anomaly], windows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of windows and anomalies, whose places in the order of steps are found by their numbers."""
    found = [
        ("window", window["first_step"], window["last_step"], window["why"], window["index"])
        for window in windows
        if window["first_step"] is not None
    ] + [
        ("anomaly", one.first_step, one.last_step if one.kind in STRETCHES else one.first_step, one.title, i)
        for i, one in enumerate(anomalies)
    ]
    return [
        {"kind": kind, "at": places.of(first), "to": places.of(last), "words": words, "index": index}
        for kind, first, last, words, index in found
    ]


class Places:
    """Numbers of steps -> which steps of training they are in order: numbers count batches, and loops may number anew."""

    def __init__(self, columns: Mapping[str, Floats]) -> None:
        self._numbers, self._ordinals = columns["first_number"], columns["first_ordinal"]
        self._is_sorted = bool(np.all(np.diff(self._numbers) > 0))

    def of(self, step: int | None) -> float | None:
        """The ordinal of a step, within its bin by its number; the number itself where numbers are ambiguous."""
        if step is None or not self._is_sorted or not len(self._numbers):
            return step
        i = int(np.searchsorted(self._numbers, step, side="right")) - 1
        if i < 0 or i == len(self._numbers) - 1:
            return float(self._ordinals[i]) + (step - float(self._numbers[i]) if i >= 0 else 0.0)
        return float(np.interp(step, self._numbers[i : i + 2], self._ordinals[i : i + 2]))


def view_of(log: WatchLog, windows: Sequence[Profile]) -> LiveView:
    """The widget of a training that is read from its folder."""
    from .analysis.watching.anomalies import anomalies_of, unrecorded_of
    from .show.live import LiveView

    unrecorded, view, training, opened = unrecorded_of(log), LiveView(), Training.of(log), []
    for i, head in enumerate(training.windows):
        dashboard = _dashboard_of(windows[i] if i < len(windows) else None)
        head["state"] = "failed" if dashboard is None else "ready"
        opened += [] if dashboard is None else [dashboard]
    if training.ended_ns is None and len(log.steps):
        training.ended_ns = int(log.steps["start_ns"][-1] + log.steps["duration_us"][-1] * 1e3)
    training.show_in(
        view,
        without_end="lost",
        anomalies=anomalies_of(log),
        opened=opened,
        file=str(log.folder),
        notices=[*unrecorded, *log.notices],
        is_recorded=not unrecorded,
    )
    return view


_STATES = {"complete": "ended", "exception": "failed", "interrupted": "interrupted"}
"""Outcomes -> states of the widget."""


def _dashboard_of(window: Profile | None) -> Any:
    """None for a window whose files are not whole."""
    try:
        return None if window is None else window.dashboard()
    except TfProfError:
        return None


def _told(anomaly: Anomaly) -> dict[str, Any]:
    names = ("title", "evidence", "severity", "first_step", "last_step", "window")
    window = None if anomaly.window is None else anomaly.window + 1
    return {**{name: getattr(anomaly, name) for name in names}, "window": window, "goes_on": anomaly.last_step is None}
