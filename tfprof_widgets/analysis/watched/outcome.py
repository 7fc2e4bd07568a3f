"""A training that was watched -> its figures: how long steps took, what they waited for, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...trace.trace import Float64
from ...trace.watched import PROFILED, VALIDATION, Event, Steps, WatchLog, trained
from ..base.units import US_PER_MS
from ..base.wording import milliseconds
from ..comparison.changes import BUSY_MACHINE, compare_steps
from ..comparison.words import speed_words
from ..steps.step_batches import batch_words
from .phases import WARM_UP_STEPS
from .rows import UNUSUAL

COMPARED_STEPS = 4000
"""Of a run that are compared with those of another, spread over it."""
_AT_ONCE = 2**20
_LATEST = 1000


@dataclass(frozen=True)
class Outcome:
    """What came out of it; NaN where not known."""

    title: str
    state: str
    """`complete`, `exception`, `interrupted`; "" where the end was not written: it was killed, or goes on."""
    n_steps: int
    """Of training."""
    n_validation: int
    n_profiled: int
    seconds: float
    """From the begin of its first step of any kind to the end of the last."""
    median_ms: float
    """Of steps of training without flags, and so the next."""
    batches: str
    """How many batches the latest of them took in one call, and the time of each; empty for one."""
    p95_ms: float
    longest_ms: float
    longest_number: int
    steps_per_s: float
    """Of the time inside of steps."""
    wait_ratio: float
    """Of the time of the steps of training of which that is known."""
    wait_known_ratio: float
    """Their share of the time of all steps of training."""
    outside_ratio: float
    """Likewise."""
    epochs: tuple[Event, ...]
    """Of each that ended."""


def outcome_of(log: WatchLog) -> Outcome:
    """The figures of a log."""
    steps = log.steps
    ms = usual_ms(steps)
    latest = steps[-_LATEST:]
    latest = latest[trained(latest) & ((latest["flags"] & UNUSUAL) == 0)]
    sums, longest_ms, longest_number = _sums(steps)
    begin = next((event for event in log.events if event["kind"] == "begin"), {})
    end = next((event for event in reversed(log.events) if event["kind"] == "end"), {})
    spent_ns = int(steps["start_ns"][-1]) - int(steps["start_ns"][0]) if len(steps) else 0
    last_s = float(steps["duration_us"][-1]) / 1e6 if len(steps) else 0.0
    middle, high = np.quantile(ms, (0.5, 0.95)).tolist() if len(ms) else (np.nan, np.nan)
    return Outcome(
        title=str(begin.get("title") or log.folder.name),
        state=str(end.get("outcome", "")),
        n_steps=int(sums["n"]),
        n_validation=int(sums["n_validation"]),
        n_profiled=int(sums["n_profiled"]),
        seconds=spent_ns / 1e9 + last_s,
        median_ms=middle,
        batches=batch_words(latest["n_batches"].astype(np.int64), latest["duration_us"] / US_PER_MS),
        p95_ms=high,
        longest_ms=longest_ms,
        longest_number=longest_number,
        steps_per_s=1e6 * sums["n"] / sums["us"] if sums["us"] > 0 else np.nan,
        wait_ratio=_ratio(sums, "wait"),
        wait_known_ratio=sums["wait_of_us"] / sums["us"] if sums["us"] > 0 else np.nan,
        outside_ratio=_ratio(sums, "outside"),
        epochs=tuple(event for event in log.events if event["kind"] == "epoch_end"),
    )


def usual_ms(steps: Steps) -> Float64:
    """The times of the steps of training that have no reason of their own to be longer; without the first ones."""
    parts = []
    for at in range(0, len(steps), _AT_ONCE):
        part = steps[at : at + _AT_ONCE]
        parts.append(part["duration_us"][trained(part) & ((part["flags"] & UNUSUAL) == 0)])
    ms = np.concatenate(parts).astype(np.float64) / US_PER_MS if parts else np.empty(0)
    return ms[WARM_UP_STEPS:] if len(ms) > 2 * WARM_UP_STEPS else ms


def compared(before: Float64, now: Float64) -> str:
    """How the steps of a run compare with those of the last: `step 4.81 ms (median), last run 5.22 ms: 1.09 times faster (95 %
    interval 1.05 to 1.12)`; "" where there are none.

    Args:
        before: `usual_ms` of the last run.
        now: that of this one.
    """
    if not len(before) or not len(now):
        return ""
    times = compare_steps(_some(before), _some(now))
    figures = f"step {milliseconds(float(np.median(now)))} (median), last run {milliseconds(float(np.median(before)))}"
    if not times.is_known:
        return f"{figures}; too few steps to tell whether that is a difference"
    if not times.is_beyond_noise:
        return f"{figures}: no sure change"
    factor, sure = speed_words(times.ratio, times.interval)
    doubt = "; a busy machine does that, too" if max(times.ratio, 1 / times.ratio) < BUSY_MACHINE else ""
    return f"{figures}: {factor} ({sure}){doubt}"


def _some(ms: Float64) -> Float64:
    """At most `COMPARED_STEPS`, spread evenly."""
    return ms[np.linspace(0, len(ms) - 1, min(len(ms), COMPARED_STEPS)).astype(np.int64)]


def _sums(steps: Steps) -> tuple[dict[str, float], float, int]:
    """What is counted and added up, and the longest step of training and its number."""
    sums: dict[str, float] = dict.fromkeys(("n", "n_validation", "n_profiled", "us"), 0.0)
    for name in ("wait", "outside"):
        sums[f"{name}_us"] = sums[f"{name}_of_us"] = 0.0
    longest_us, number = -1.0, 0
    for at in range(0, len(steps), _AT_ONCE):
        part: Any = steps[at : at + _AT_ONCE]
        sums["n_validation"] += np.count_nonzero(part["kind"] == VALIDATION)
        part = part[trained(part)]
        if not len(part):
            continue
        sums["n"] += len(part)
        sums["us"] += float(part["duration_us"].sum(dtype=np.float64))
        sums["n_profiled"] += np.count_nonzero(part["flags"] & PROFILED)
        for name in ("wait", "outside"):
            is_known = np.isfinite(part[f"{name}_us"])
            sums[f"{name}_us"] += float(part[f"{name}_us"][is_known].sum(dtype=np.float64))
            sums[f"{name}_of_us"] += float(part["duration_us"][is_known].sum(dtype=np.float64))
        i = int(np.argmax(part["duration_us"]))
        if part["duration_us"][i] > longest_us:
            longest_us, number = float(part["duration_us"][i]), int(part["number"][i])
    return sums, longest_us / US_PER_MS if longest_us >= 0 else np.nan, number


def _ratio(sums: Mapping[str, float], name: str) -> float:
    return sums[f"{name}_us"] / sums[f"{name}_of_us"] if sums[f"{name}_of_us"] else np.nan
