"""Step times out of nothing -> the states that a `LiveView` is given, as if a training had just pushed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widgets.show import LiveView

Columns = dict[str, NDArray[np.float64]]


def bins(step_ms: NDArray[np.float64], wait_ms: float = 0.1) -> Columns:
    """A bin a step, of which all are known."""
    n = len(step_ms)
    starts = np.concatenate([[0.0], np.cumsum(step_ms)[:-1]]) / 1e3
    each = {"n": np.ones(n), "wait_ms": np.full(n, wait_ms), "outside_ms": np.full(n, 0.2), "profiled": np.zeros(n)}
    times = dict.fromkeys(("mean_ms", "min_ms", "max_ms", "p95_ms"), step_ms)
    numbers = np.arange(float(n))
    return {
        "first_ordinal": numbers,
        "first_number": numbers + 1,
        "start_s": starts,
        "loss": 1 / (1 + numbers),
        **each,
        **times,
    }


def samples(seconds: float) -> Columns:
    """CPU and memory at every tenth of the time."""
    time = np.linspace(0, seconds, 11)
    return {"time_s": time, "cpu_pct": np.full(11, 40.0), "rss_bytes": 1e9 + 1e8 * time}


@dataclass
class Training:
    """A training whose steps take 4 ms, and 8 ms from the 200th on; its windows are what `opened` has the dashboards of."""

    n_steps: int = 300
    title: str = "fit"
    state: str = "running"
    opened: list[Any] = field(default_factory=list)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the head that are to be others."""

    def push(self, view: LiveView) -> None:
        """Have a view show it."""
        step_ms = np.where(np.arange(self.n_steps) < 200, 4.0, 8.0) + 0.1 * np.sin(np.arange(self.n_steps))
        seconds = float(step_ms.sum() / 1e3)
        view.push(self.head(seconds), bins=bins(step_ms), samples=samples(seconds), opened=self.opened)

    def head(self, seconds: float) -> dict[str, Any]:
        """Figures and words."""
        is_slow = self.n_steps > 200
        windows = [_window(i + 1) for i in range(len(self.opened))]
        marks = [
            {"kind": "epoch", "at": at, "to": None, "words": f"epoch {at // 100 + 1}", "index": at // 100}
            for at in range(0, self.n_steps, 100)
        ]
        marks += [
            {"kind": "window", "at": w["first_step"] - 1, "to": w["last_step"] - 1, "words": "", "index": w["index"]}
            for w in windows
        ]
        anomalies = []
        if is_slow:
            title = "Steps take 8.0 ms since step 201, 4.0 ms before: they wait for data 4.0 ms of it"
            place = {"first_step": 201, "last_step": None, "window": 1 if windows else None, "goes_on": True}
            anomalies.append({"title": title, "evidence": "median of 20 steps", "severity": "high", **place})
            marks.append({"kind": "anomaly", "at": 200, "to": None, "words": title, "index": 0})
        return {
            "title": self.title,
            "state": self.state,
            "n_steps": self.n_steps,
            "step_ms": 8.0 if is_slow else 4.0,
            "steps_per_s": 125.0 if is_slow else 250.0,
            "wait_ratio": 0.5 if is_slow else 0.025,
            "outside_ratio": 0.05,
            "loss": 1 / self.n_steps,
            "epoch": 1 + self.n_steps // 100,
            "epochs": 10,
            "elapsed_s": seconds,
            "now_ns": 1_764_143_400_000_000_000,
            "file": "/tmp/tfprof-watch",
            "trigger_file": "/tmp/tfprof-watch/capture",
            "budget": f"{len(windows)} of 8 windows",
            "marks": marks,
            "anomalies": anomalies,
            "windows": windows,
            **self.more,
        }


def _window(index: int) -> dict[str, Any]:
    first = 110 + 100 * (index - 1)
    steps = {"first_step": first, "last_step": first + 4}
    return {"index": index, **steps, "why": "slow steps", "state": "ready", "words": ""}
