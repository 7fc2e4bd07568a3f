"""Draws trainings, healthy and faulty, and shows them to a finder as a watcher does: some rows and a sample at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.unit.analysis.watched.drawn_steps import STARTED_NS
from tfprof_widgets.analysis import Anomaly, AnomalyFinder
from tfprof_widgets.capture import MEMORY_NS
from tfprof_widgets.trace import EPOCH_BEGIN, SAMPLE_COLUMNS, STEP


@dataclass
class Run:
    """Parts of steps in ms, and what the machine did during them."""

    compute: Any
    wait: Any
    outside: Any
    flags: Any
    gap_ms: Any
    """After each step, before the next: a validation."""
    others: Any
    """Load of other processes during each step, of 0 to 1."""
    rng: Any
    rss: Callable[[Any, Any], Any] = lambda seconds, steps: 2e9 + 0 * seconds
    gpu_pct: Any = None
    clock: Any = None
    throttled: Any = None
    events: list[tuple[int, str]] = field(default_factory=list)
    """Of each step that something came before: validation, checkpoint."""
    places: dict[int, str] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.compute)

    def rows(self) -> Any:
        ms = self.compute + np.nan_to_num(self.wait) + self.outside
        rows = np.zeros(self.n, STEP)
        starts = np.concatenate([[0.0], np.cumsum(ms + self.gap_ms)[:-1]])
        rows["start_ns"] = STARTED_NS + (starts * 1e6).astype(np.int64)
        rows["duration_us"], rows["wait_us"], rows["outside_us"] = ms * 1e3, self.wait * 1e3, self.outside * 1e3
        rows["number"], rows["n_batches"], rows["flags"], rows["loss"] = np.arange(self.n), 1, self.flags, np.nan
        return rows

    def samples(self, rows: Any) -> Any:
        """One a second, each of what was since the one before."""
        end = rows["start_ns"][-1] + int(rows["duration_us"][-1] * 1e3)
        times = np.arange(STARTED_NS, end, 10**9)
        at = np.clip(np.searchsorted(rows["start_ns"], times, side="right") - 1, 0, self.n - 1)
        ms = rows["duration_us"] / 1e3
        edges = np.concatenate([[0], at])

        def mean(values: Any) -> Any:
            sums, all_ms = (np.concatenate([[0.0], np.cumsum(of)]) for of in (values * ms, ms))
            begin, stop = edges[:-1], np.maximum(edges[1:], edges[:-1] + 1)
            return (sums[stop] - sums[begin]) / (all_ms[stop] - all_ms[begin])

        found = np.full((len(times), len(SAMPLE_COLUMNS)), np.nan)
        others = mean(self.others)
        found[:, 0] = times
        found[:, 1] = np.minimum(30 + 70 * others + self.rng.normal(0, 2, len(times)), 100)
        found[:, 2] = 220 * (1 - 0.4 * others) + self.rng.normal(0, 8, len(times))
        seconds = (times - STARTED_NS) / 1e9
        found[:, 3] = self.rss(seconds, at) + self.rng.normal(0, 1e6, len(times))
        if self.gpu_pct is not None:
            found[:, 4] = 4e9
            found[:, 5] = mean(self.gpu_pct) + self.rng.normal(0, 2, len(times))
            found[:, 7] = mean(self.clock) if self.clock is not None else 1980
            found[:, 8] = (mean(self.throttled) > 0.5) if self.throttled is not None else 0
        return found

    def memory(self, rows: Any) -> Any:
        """Time and memory of this process at the begin of a step, where the last was read long enough before."""
        starts = rows["start_ns"]
        at = [0]
        while (due := int(np.searchsorted(starts, starts[at[-1]] + MEMORY_NS))) < self.n:
            at.append(due)
        times = starts[at]
        noise = np.random.default_rng(0).normal(0, 1e6, len(times))
        return np.column_stack([times, self.rss((times - STARTED_NS) / 1e9, np.array(at)) + noise])


def healthy(seed: int, n: int, ms: float = 4.0, sigma: float = 0.1) -> Run:
    """Steps with jitter, a slow begin, and a single epoch."""
    rng = np.random.default_rng(seed)
    compute = 0.95 * ms * rng.lognormal(0, sigma, n)
    compute[:20] *= rng.uniform(1, 4, min(n, 20))
    zeros = np.zeros(n)
    flags = np.zeros(n, np.uint8)
    flags[0] = EPOCH_BEGIN
    return Run(
        compute,
        0.02 * ms * rng.lognormal(0, 0.5, n),
        0.03 * ms * rng.lognormal(0, 0.5, n),
        flags,
        zeros,
        zeros.copy(),
        rng,
    )


@dataclass
class Seen:
    """What a finder said of a run."""

    named: dict[str, tuple[int, Anomaly]]
    """The first that was said of each kind, and how many steps had been shown."""
    worst: dict[str, Anomaly]
    """The first of each kind that was above info."""
    last: list[Anomaly]
    history: list[tuple[int, list[Anomaly]]]


def show(run: Run, finder: AnomalyFinder | None = None, *, call_s: float = 0.25, end: bool = True) -> Seen:
    """Show a run to a finder, a quarter of a second at a time."""
    finder = finder or AnomalyFinder(n_cores=8)
    seen = Seen({}, {}, [], [])
    for n, feed in _calls(run, call_s):
        feed(finder)
        for anomaly in (found := finder.anomalies):
            seen.named.setdefault(anomaly.kind, (n, anomaly))
            if anomaly.severity != "info":
                seen.worst.setdefault(anomaly.kind, anomaly)
        if not seen.history or [*map(str, found)] != [*map(str, seen.history[-1][1])]:
            seen.history.append((n, found))
            del seen.history[:-400]
    if end:
        finder.add_event({"kind": "end", "at_ns": 0, "step": None, "outcome": "complete"})
    seen.last = finder.anomalies
    return seen


def _calls(run: Run, call_s: float) -> Iterator[tuple[int, Callable[[AnomalyFinder], None]]]:
    rows = run.rows()
    samples, memory = run.samples(rows), run.memory(rows)
    events = sorted(run.events)
    end = rows["start_ns"] + (rows["duration_us"] * 1e3).astype(np.int64)
    at, n_samples = 0, 0
    time = STARTED_NS
    while at < run.n:
        begin = time
        time = max(time + int(call_s * 1e9), int(end[at]))
        stop = int(np.searchsorted(end, time, side="right"))
        n_until = int(np.searchsorted(samples[:, 0], time, side="right"))
        now = [one for one in events if at <= one[0] < stop]
        lines = [(step, place) for step, place in run.places.items() if at <= step < stop]

        def feed(
            finder: AnomalyFinder,
            at=at,
            stop=stop,
            first=n_samples,
            n_until=n_until,
            now=now,
            lines=lines,
            begin=begin,
            time=time,
        ) -> None:
            for row in samples[first:n_until]:
                finder.add_samples(row)
            for ns, n_bytes in memory[slice(*np.searchsorted(memory[:, 0], (begin, time), side="right"))]:
                finder.add_memory(ns, {"rss_bytes": n_bytes, "tf_bytes": np.nan})
            for step, kind in now:
                finder.add_event(
                    {"kind": kind, "at_ns": int(rows["start_ns"][step]) - 1000, "step": step, "seconds": 1.0}
                )
            finder.add_steps(rows[at:stop])
            for step, place in lines:
                finder.add_event({"kind": "line", "at_ns": 0, "step": step, "ms": 50.0, "place": place})

        yield stop, feed
        at, n_samples = stop, n_until
