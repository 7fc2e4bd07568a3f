"""What is known of a training that is watched -> the figures and words of its widget, its line and its last state."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.base.wording import number, plural
from ..analysis.steps.step_batches import batch_words
from ..analysis.watched.bins import Floats, StepBins
from ..errors import TfProfError
from ..trace.watched import AFTER_WINDOW, PROFILED, SAMPLE_COLUMNS, STEP, Steps, WatchLog, trained
from .watch_borders import Borders, borders_of
from .watch_samples import SampleBins

if TYPE_CHECKING:
    from ..analysis.watched.anomaly import Anomaly
    from ..views.widgets.live import LiveView
    from .one_run import Profile
    from .watch_windows import WatchedWindow

STRETCHES = frozenset(("slower", "wait_grows", "outside_grows", "gpu_idles", "clocks_dropped", "machine_busy"))
"""Kinds of anomalies that hold from their first step to their last; others are single steps, or slow growth."""
MOST_TOLD = 100
"""Of anomalies, windows and marks, the latest so many are shown; the file has all."""
N_LATEST, N_KEPT = 20, 200
"""Figures are of so many of the latest steps, of which more are kept: what the last ones of an epoch waited is not known, as
their iterator is gone, and those before tell it.
"""


def latest_of(before: Steps | None, steps: Steps) -> Steps | None:
    """The latest steps of training that no profiler held up, at most `N_KEPT`, as the next ones come; None: none yet."""
    usual = steps[trained(steps) & (steps["flags"] & (PROFILED | AFTER_WINDOW) == 0)]
    if not len(usual):
        return before
    return (usual if before is None else np.concatenate([before, usual]))[-N_KEPT:]


def figures(latest: Steps | None) -> dict[str, float]:
    """`step_ms` (median), `steps_per_s`, `wait_ratio`, `outside_ratio` and `loss` of the latest steps; NaN where not known."""
    latest = np.empty(0, STEP) if latest is None else latest
    rows = latest[-N_LATEST:]
    nan = float("nan")
    if not len(rows):
        return dict.fromkeys(("step_ms", "steps_per_s", "wait_ratio", "outside_ratio", "loss"), nan)
    whole = float(rows["duration_us"].sum())
    share = {
        name: _share(latest, column) for name, column in (("wait_ratio", "wait_us"), ("outside_ratio", "outside_us"))
    }
    losses = rows["loss"][np.isfinite(rows["loss"])]
    return {
        "step_ms": float(np.median(rows["duration_us"])) / 1e3,
        "steps_per_s": len(rows) / whole * 1e6 if whole else nan,
        **share,
        "loss": float(losses[-1]) if len(losses) else nan,
    }


def batches_told(latest: Steps | None) -> str:
    """`5 batches in one call, 0.961 ms a batch` of the latest steps; "" where each is one batch."""
    rows = np.empty(0, STEP) if latest is None else latest[-N_LATEST:]
    return batch_words(rows["n_batches"].astype(np.int64), rows["duration_us"] / 1e3)


def _share(latest: Steps, column: str) -> float:
    """What a part is of the time of the latest steps of which it is known; NaN where that is less than half of them."""
    is_known = np.isfinite(latest[column])
    known = latest[is_known][-N_LATEST:]
    whole = float(known["duration_us"].sum())
    return float(known[column].sum()) / whole if whole and 2 * is_known.sum() >= len(latest) else float("nan")


def line_of(n_steps: int, found: Mapping[str, float], n_windows: int, n_anomalies: int, *, batches: str = "") -> str:
    """`tfprof: step 12,345, 4.81 ms a step, 208 steps/s, waits 3 %, loss 0.41; 2 windows; 1 anomaly`."""
    if not n_steps:
        return "tfprof: waiting for the first step"
    parts = [plural(n_steps, "step")]
    if math.isfinite(found["step_ms"]):
        batches = f" ({batches})" if batches else ""
        parts += [f"{number(found['step_ms'])} ms a step{batches}", f"{number(found['steps_per_s'])} steps/s"]
    if math.isfinite(found["wait_ratio"]):
        parts.append(f"waits for data {100 * found['wait_ratio']:.0f} %")
    if math.isfinite(found["loss"]):
        parts.append(f"loss {found['loss']:.4g}")
    told = [plural(n, word) for n, word in ((n_windows, "window"), (n_anomalies, "anomaly")) if n]
    return "; ".join([f"tfprof: {', '.join(parts)}", *told]).replace("anomalys", "anomalies")


def head_of(
    *,
    title: str,
    state: str,
    columns: Mapping[str, Floats],
    n_steps: int,
    latest: Steps | None,
    borders: Borders,
    started_ns: int,
    ended_ns: int | None,
    anomalies: Sequence[Anomaly],
    windows: Sequence[dict[str, Any]],
    **more: Any,
) -> dict[str, Any]:
    """The head of `LiveView`; NaN stands for what is not known."""
    now_ns, places = time.time_ns(), Places(columns)
    marks = borders.marks
    marks += [
        {
            "kind": "window",
            "at": places.of(window["first_step"]),
            "to": places.of(window["last_step"]),
            "words": window["why"],
            "index": window["index"],
        }
        for window in windows
        if window["first_step"] is not None
    ]
    marks += [
        {
            "kind": "anomaly",
            "at": places.of(one.first_step),
            "to": places.of(one.last_step if one.kind in STRETCHES else one.first_step),
            "words": one.title,
            "index": i,
        }
        for i, one in enumerate(anomalies[-MOST_TOLD:])
    ]
    return {
        "title": title,
        "state": state,
        "n_steps": n_steps,
        **figures(latest),
        "batches": batches_told(latest),
        "epoch": borders.n_epochs or None,
        "epochs": None,
        "elapsed_s": ((ended_ns or now_ns) - started_ns) / 1e9,
        "started_ns": started_ns,
        "now_ns": now_ns,
        "marks": marks[-3 * MOST_TOLD :],
        "anomalies": [_told(one) for one in anomalies[-MOST_TOLD:]],
        "windows": list(windows[-MOST_TOLD:]),
        **more,
    }


class Places:
    """Numbers of steps -> which steps of training they are in order: numbers count batches, and loops may number anew."""

    def __init__(self, columns: Mapping[str, Floats]) -> None:
        """Take the columns of `StepBins`."""
        self._numbers, self._ordinals = columns["first_number"], columns["first_ordinal"]
        self._is_sorted = bool(np.all(np.diff(self._numbers) > 0))

    def of(self, step: int | None) -> float | None:
        """The ordinal of a step, within its bin by its number; the number itself where numbers do not tell."""
        if step is None or not self._is_sorted or not len(self._numbers):
            return step
        i = int(np.searchsorted(self._numbers, step, side="right")) - 1
        if i < 0 or i == len(self._numbers) - 1:
            return float(self._ordinals[i]) + (step - float(self._numbers[i]) if i >= 0 else 0.0)
        return float(np.interp(step, self._numbers[i : i + 2], self._ordinals[i : i + 2]))


def window_head(found: WatchedWindow) -> dict[str, Any]:
    """What the widget shows of a window."""
    window = found.window
    return {
        "index": found.index + 1,  # as its profile is called
        "first_step": window.first_step,
        "last_step": window.last_step,
        "why": found.why,
        "state": found.state,
        "words": found.words,
    }


def view_of(log: WatchLog, windows: Sequence[Profile]) -> LiveView:
    """The widget of a training that is read from its folder."""
    from ..analysis.watched.told import anomalies_of, unrecorded_of
    from ..views.widgets.live import LiveView

    started_ns = int(log.steps["start_ns"][0]) if len(log.steps) else 0
    bins, samples = StepBins(started_ns=started_ns), SampleBins()
    for first in range(0, len(log.steps), 2**20):
        bins.add(np.asarray(log.steps[first : first + 2**20]))
    for row in log.samples[list(SAMPLE_COLUMNS)].to_numpy(np.float64):
        samples.add(row)
    end = next((event for event in reversed(log.events) if event["kind"] == "end"), None)
    told = [event for event in log.events if event["kind"] == "window"]
    dashboards = [_dashboard_of(windows[i] if i < len(windows) else None) for i in range(len(told))]
    view = LiveView()
    view.push(
        head_of(
            title=str(next((event.get("title", "") for event in log.events if event["kind"] == "begin"), "")),
            state=_STATES.get(str(end.get("outcome")), "ended") if end else "lost",
            columns=bins.columns(),
            n_steps=bins.n_steps,
            latest=latest_of(None, log.steps[-1000:]),
            borders=borders_of(log),
            started_ns=started_ns,
            ended_ns=int(log.steps["start_ns"][-1] + log.steps["duration_us"][-1] * 1e3) if len(log.steps) else None,
            anomalies=anomalies_of(log),
            windows=[
                {
                    "index": i + 1,
                    "first_step": event.get("first_step"),
                    "last_step": event.get("last_step"),
                    "why": str(event.get("why", "")),
                    "state": "failed" if dashboards[i] is None else "ready",
                    "words": "",
                }
                for i, event in enumerate(told)
            ],
            file=str(log.folder),
            notices=[*unrecorded_of(log), *log.notices],
            is_recorded=not unrecorded_of(log),
        ),
        bins=bins.columns(),
        samples=samples.columns(started_ns),
        opened=[dashboard for dashboard in dashboards if dashboard is not None],
    )
    return view


_STATES = {"complete": "ended", "exception": "failed", "interrupted": "interrupted"}


def state_of_outcome(outcome: str) -> str:
    """The state of the widget when a training has ended like this."""
    return _STATES.get(outcome, "ended")


def _dashboard_of(window: Profile | None) -> Any:
    """None of a window whose files are not whole."""
    try:
        return None if window is None else window.dashboard()
    except TfProfError:
        return None


def _told(anomaly: Anomaly) -> dict[str, Any]:
    names = ("title", "evidence", "severity", "first_step", "last_step", "window")
    window = None if anomaly.window is None else anomaly.window + 1
    return {**{name: getattr(anomaly, name) for name in names}, "window": window, "goes_on": anomaly.last_step is None}
