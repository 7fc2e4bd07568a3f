"""A training that was watched -> how long its steps took, what they waited for, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trace.capture_facts import PROFILED, VALIDATION, Event, Steps, WatchLog, trained
from ..common import US_PER_MS, milliseconds, number, percent, plural
from ..steps.steps import batch_words
from .pace import UNUSUAL, WARM_UP_STEPS

_LATEST = 1000
_MOSTLY_KNOWN = 0.9
"""With waits known for a smaller part of the time, their share is not the whole training's."""


@dataclass(frozen=True)
class Outcome:
    """What came out of it."""

    title: str
    state: str
    """`complete`, `exception`, `interrupted`; "" where the end was not written: it was killed, or goes on."""
    n_steps: int
    """Of training."""
    figures: dict[str, str]
    """By what they are; the median and what comes with it are of steps of training without flags."""
    epochs: tuple[Event, ...]
    """Of each that ended."""


def outcome_of(log: WatchLog) -> Outcome:
    steps = log.steps
    is_own = trained(steps)
    us, flags = (steps[name][is_own] for name in ("duration_us", "flags"))
    # Where all steps were captured, those are the usual ones.
    is_usual = flags & (UNUSUAL if ((flags & PROFILED) == 0).any() else UNUSUAL & ~PROFILED) == 0
    ms = us[is_usual] / US_PER_MS
    batches = batch_words(steps["n_batches"][is_own][is_usual][-_LATEST:].astype(np.int64), ms[-_LATEST:])
    ms = ms[WARM_UP_STEPS:] if len(ms) > 2 * WARM_UP_STEPS else ms
    last = steps[-1:]
    spent_s = float((last["start_ns"] - steps["start_ns"][:1]).sum()) / 1e9 + float(last["duration_us"].sum()) / 1e6
    figures = {"steps": f"{len(us):,} in {number(spent_s)} s"}
    if len(ms):
        longest = int(np.argmax(us))
        middle, high = np.quantile(ms, (0.5, 0.95)).tolist()
        figures["step (median)"] = milliseconds(middle)
        figures |= {"a step": batches} if batches else {}
        figures["step (95th percentile)"] = milliseconds(high)
        at = f"step {int(steps['number'][is_own][longest]):,}"
        figures["step (longest)"] = f"{milliseconds(float(us[longest]) / US_PER_MS)}, {at}"
        rate = 1e6 * len(us) / float(us.sum(dtype=np.float64))
        figures["throughput"] = f"{number(rate)} steps/s inside of steps"
    waited, known = _of_the_time(steps["wait_us"][is_own], us)
    if known and known < _MOSTLY_KNOWN:
        waited += f" of the steps where it is known ({percent(known)} of all time)"
    figures["waited for data"] = waited
    figures["outside of the training function"] = _of_the_time(steps["outside_us"][is_own], us)[0]
    if n := int(np.count_nonzero(steps["kind"] == VALIDATION)):
        figures["steps of validation"] = f"{n:,}"
    if n := int(np.count_nonzero(flags & PROFILED)):
        figures["profiled"] = plural(n, "step")
    begin = next((event for event in log.events if event["kind"] == "begin"), {})
    end = next((event for event in reversed(log.events) if event["kind"] == "end"), {})
    title, epochs = (
        str(begin.get("title") or log.folder.name),
        (one for one in log.events if one["kind"] == "epoch_end"),
    )
    return Outcome(title, str(end.get("outcome", "")), len(us), figures, tuple(epochs))


def _of_the_time(part: Any, whole: Any) -> tuple[str, float]:
    """A part of the time of the steps of which it is known, in words, and the share of these."""
    is_known = np.isfinite(part)
    found_us, known_us, all_us = (float(us.sum(dtype=np.float64)) for us in (part[is_known], whole[is_known], whole))
    return (f"{percent(found_us / known_us)} of the time", known_us / all_us) if known_us else ("not known", 0.0)


BIN_COLUMNS: tuple[str, ...] = (
    *("first_ordinal", "first_number", "start_s", "n", "mean_ms", "min_ms", "max_ms", "p95_ms"),
    *("wait_ms", "outside_ms", "loss", "profiled"),
)
"""Of `StepBins.columns`, in this order."""
P95 = 0.95
_SUMS = ("duration", "wait", "n_wait", "outside", "n_outside", "loss", "n_loss", "profiled")

Floats = npt.NDArray[np.float64]


class StepBins:
    """The bins of one training; steps of validation and prediction are in none."""

    def __init__(self, max_bins: int = 600, *, started_ns: int | None = None) -> None:
        self.started_ns = started_ns
        self.n_steps = 0
        """Of training."""
        self.width = 1
        """Steps of a full bin."""
        self._most = max_bins
        self._sums = {name: np.zeros(max_bins) for name in _SUMS}
        self._min, self._max, self._p95 = (np.full(max_bins, value) for value in (np.inf, -np.inf, np.nan))
        self._first_number, self._first_ns = np.zeros(max_bins, np.int64), np.zeros(max_bins, np.int64)
        self._open = np.empty(0, np.float32)
        """Durations of the steps in the last bin, which is not full."""

    def add(self, rows: Steps) -> None:
        """Take the next steps, of any kind."""
        rows = rows[trained(rows)]
        if len(rows) and self.started_ns is None:
            self.started_ns = int(rows["start_ns"][0])
        while len(rows):
            room = self._most * self.width - self.n_steps
            if room == 0:
                self._merge()
                continue
            self._fill(rows[:room])
            rows = rows[room:]

    def columns(self) -> dict[str, Floats]:
        """One row a bin, in the order the steps came."""
        n_bins = -(-self.n_steps // self.width)
        first = np.arange(n_bins, dtype=np.float64) * self.width
        n = np.minimum(self.n_steps - first, self.width)
        sums = {name: values[:n_bins] for name, values in self._sums.items()}
        p95 = self._p95[:n_bins].copy()
        if len(self._open):
            p95[-1] = np.quantile(self._open, P95)
        with np.errstate(invalid="ignore"):
            means = {name: sums[name] / sums[f"n_{name}"] for name in ("wait", "outside", "loss")}
        found = (
            *(first, self._first_number[:n_bins], (self._first_ns[:n_bins] - (self.started_ns or 0)) / 1e9, n),
            *(sums["duration"] / n / US_PER_MS, self._min[:n_bins] / US_PER_MS, self._max[:n_bins] / US_PER_MS),
            *(p95 / US_PER_MS, means["wait"] / US_PER_MS, means["outside"] / US_PER_MS),
            *(means["loss"], sums["profiled"] / n),
        )
        return dict(zip(BIN_COLUMNS, (np.asarray(values, np.float64) for values in found), strict=True))

    def _fill(self, rows: Steps) -> None:
        """Put steps into the bins that have room for all of them."""
        bins = (self.n_steps + np.arange(len(rows))) // self.width
        starts = np.flatnonzero(np.diff(bins, prepend=-1))
        is_new = (self.n_steps + starts) % self.width == 0
        hit, new, begun = bins[starts], bins[starts[is_new]], starts[is_new]
        self._first_number[new] = rows["number"][begun]
        self._first_ns[new] = rows["start_ns"][begun]
        for name, values in _summed(rows).items():
            self._sums[name][hit] += np.add.reduceat(values, starts)
        duration = rows["duration_us"]
        self._min[hit] = np.minimum(self._min[hit], np.minimum.reduceat(duration, starts))
        self._max[hit] = np.maximum(self._max[hit], np.maximum.reduceat(duration, starts))
        self._close_full(np.concatenate([self._open, duration]), first=int(hit[0]))
        self.n_steps += len(rows)

    def _close_full(self, durations: npt.NDArray[np.float32], *, first: int) -> None:
        """Find the percentiles of the bins that these durations fill, from the bin `first` on, and keep the rest."""
        n_full = len(durations) // self.width
        self._open = durations[n_full * self.width :].copy()
        if n_full:
            filled = durations[: n_full * self.width].reshape(n_full, self.width)
            self._p95[first : first + n_full] = np.quantile(filled, P95, axis=1)

    def _merge(self) -> None:
        half = self._most // 2
        for values in self._sums.values():
            values[:half] = values[0::2] + values[1::2]
            values[half:] = 0.0
        self._min[:half] = np.minimum(self._min[0::2], self._min[1::2])
        self._max[:half] = np.maximum(self._max[0::2], self._max[1::2])
        self._min[half:], self._max[half:] = np.inf, -np.inf
        for first in (self._first_number, self._first_ns):
            first[:half] = first[0::2].copy()
        self._p95[:half] = (self._p95[0::2] + self._p95[1::2]) / 2
        self.width *= 2


def _summed(rows: Steps) -> dict[str, Floats]:
    """What is added up in bins: times and losses that are known, and how many those are."""
    found = {"duration": rows["duration_us"].astype(np.float64)}
    for name, column in (("wait", "wait_us"), ("outside", "outside_us"), ("loss", "loss")):
        values = rows[column].astype(np.float64)
        is_known = np.isfinite(values)
        found[name], found[f"n_{name}"] = np.where(is_known, values, 0.0), is_known.astype(np.float64)
    found["profiled"] = (rows["flags"] & PROFILED != 0).astype(np.float64)
    return found
