"""Trainings with one fault each: it is named soon after its begin, with numbers that were measured."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.unit.analysis.watched.drawn_steps import STARTED_NS, steps
from tfprof_widgets.analysis import Anomaly, AnomalyFinder, StepBins
from tfprof_widgets.capture import MEMORY_NS
from tfprof_widgets.trace import (
    AFTER_WINDOW,
    COMPILED,
    EPOCH_BEGIN,
    PROFILED,
    SAMPLE_COLUMNS,
    STEP,
    VALIDATION,
    XLA_COMPILED,
)


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


def show(run: Run, finder: AnomalyFinder | None = None, *, call_s: float = 0.25) -> Seen:
    """Show a run to a finder, a quarter of a second at a time."""
    finder, seen = finder or AnomalyFinder(n_cores=8), Seen({}, {}, [], [])
    rows = run.rows()
    samples, memory = run.samples(rows), run.memory(rows)
    ends = rows["start_ns"] + (rows["duration_us"] * 1e3).astype(np.int64)
    n, time = 0, STARTED_NS - 1
    while n < run.n:
        first, span = n, (time, time := max(time + int(call_s * 1e9), int(ends[n])))
        n = int(np.searchsorted(ends, time, side="right"))
        for row in samples[slice(*np.searchsorted(samples[:, 0], span, side="right"))]:
            finder.add_samples(row)
        for ns, n_bytes in memory[slice(*np.searchsorted(memory[:, 0], span, side="right"))]:
            finder.add_memory(ns, {"rss_bytes": n_bytes, "tf_bytes": np.nan})
        finder.add_steps(rows[first:n])
        for step, place in run.places.items():
            if first <= step < n:
                finder.add_event({"kind": "line", "at_ns": 0, "step": step, "ms": 50.0, "place": place})
        for anomaly in (found := finder.anomalies):
            seen.named.setdefault(anomaly.kind, (n, anomaly))
            if anomaly.severity != "info":
                seen.worst.setdefault(anomaly.kind, anomaly)
        if not seen.history or [*map(str, found)] != [*map(str, seen.history[-1][1])]:
            seen.history.append((n, found))
            del seen.history[:-400]
    finder.add_event({"kind": "end", "at_ns": 0, "step": None, "outcome": "complete"})
    seen.last = finder.anomalies
    return seen


N = 6000
CALL_S = 0.02
"""Five steps or so are shown at a time."""

every_seed = pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])


@every_seed
def test_an_input_that_becomes_slow_is_named_within_20_steps(seed: int) -> None:
    run = healthy(seed, N)
    run.wait[2000:] += 4 * run.rng.lognormal(0, 0.2, N - 2000)
    seen = show(run, call_s=CALL_S)
    n, first = seen.named["wait_grows"]
    assert 2000 < n <= 2020
    assert (first.first_step, first.wants_window) == (2000, True)
    (last,) = seen.last
    ms = run.compute + run.wait + run.outside
    now, before, wait = (f"{np.median(part):.2f} ms" for part in (ms[-512:], ms[10:2000], run.wait[-512:]))
    assert last.title.startswith(
        f"Steps take {now} since step 2,000, {before} before: they wait for data {wait} of it, "
    )
    assert (last.severity, last.last_step) == ("high", None)
    assert last.evidence.startswith("Medians of the last 512 steps of it and of the 1,9")


def test_a_phase_that_is_much_slower_than_one_just_before_begins_where_it_begins() -> None:
    run = healthy(1, 2500)
    run.compute[1700:1960] += 4
    run.wait[2000:] += 40
    found = show(run, call_s=CALL_S).named["wait_grows"][1]
    assert found.first_step == 2000


def test_a_phase_that_begins_in_a_slower_one_has_its_own_begin_and_pace() -> None:
    run = healthy(1, 600)
    run.compute[218:] *= 3
    run.wait[400:] += 40
    seen = show(run, call_s=CALL_S)
    assert (seen.named["slower"][1].first_step, seen.named["wait_grows"][1].first_step) == (218, 400)
    slower, waits = sorted(seen.last, key=lambda one: one.first_step)
    ms = run.compute + run.wait + run.outside
    assert (slower.kind, slower.first_step, slower.last_step) == ("slower", 218, 399)
    assert waits.title.startswith(
        f"Steps take {np.median(ms[400:]):.1f} ms since step 400, {np.median(ms[218:400]):.1f} ms before"
    )


@pytest.mark.parametrize("begin", [1990, 2040])
def test_a_phase_that_begins_while_a_window_is_read_begins_where_it_begins(begin: int) -> None:
    run = healthy(1, 3000)
    run.flags[1980:1985], run.flags[1985:2100] = PROFILED, AFTER_WINDOW
    run.compute[1980:2100] *= 2
    run.wait[begin:] += 40 * run.rng.lognormal(0, 0.2, 3000 - begin)
    found = show(run, call_s=CALL_S).named["wait_grows"][1]
    assert found.first_step == begin


@pytest.mark.parametrize("at", [700, pytest.param(3000, marks=pytest.mark.nightly)])
def test_slow_computing_is_named_and_no_other_cause(at: int) -> None:
    run = healthy(1, N)
    run.compute[at:] *= 1.5
    seen = show(run, call_s=CALL_S)
    assert at < seen.named["slower"][0] <= at + 20
    (last,) = seen.last
    assert (last.kind, last.first_step) == ("slower", at)
    assert "inside the training function" in last.title


def test_what_ends_says_so_and_what_comes_again_is_told_with_it() -> None:
    run = healthy(1, N)
    for begin in (2000, 4000):
        run.outside[begin : begin + 1000] += 3
    (last,) = show(run).last
    assert (last.kind, last.first_step, last.last_step) == ("slower", 4000, 4999)
    assert "from step 4,000 to 4,999" in last.title
    assert last.evidence.endswith("The same before: step 2,000 to 2,999.")
    assert not last.wants_window


def test_a_callback_that_is_heavy_now_and_then_is_named_with_its_period_and_place() -> None:
    run = healthy(1, N)
    run.outside[500::500] += 120
    run.places = dict.fromkeys(range(500, N, 500), "cell:12 my_callback")
    seen = show(run, call_s=CALL_S)
    n, single = seen.named["slow_steps"]
    assert n <= 520
    assert single.title.startswith("Step 500 took 124 ms, 30")
    assert "cell:12 my_callback" in single.evidence
    n, series = next((n, one) for n, found in seen.history for one in found if one.next_at is not None)
    assert n <= 1520
    assert series.title == "Every 500 steps, 120 ms outside of the training function (cell:12 my_callback)"
    assert (series.first_step, series.next_at, series.wants_window) == (500, 2000, True)
    (last,) = seen.last
    assert (last.severity, last.next_at) == ("low", 6000)


def test_a_series_that_ends_says_so() -> None:
    run = healthy(1, N)
    run.outside[1000:4000:100] += 60
    (last,) = show(run).last
    assert (last.kind, last.first_step, last.last_step, last.next_at) == ("slow_steps", 1000, 3900, None)


@pytest.mark.parametrize(
    ("bytes_per_step", "n", "words"), [(1e6, 12_000, "97[67] KiB"), (2e4, 40_000, r"19\.[3-7] KiB")]
)
def test_memory_that_grows_is_named_with_its_rate(bytes_per_step: float, n: int, words: str) -> None:
    run = healthy(1, n)
    run.rss = lambda seconds, steps: 2e9 + bytes_per_step * np.maximum(steps - 3000, 0)
    seen = show(run)
    at, _ = seen.named["memory_grows"]
    assert at < 3000 + (4 if bytes_per_step > 1e5 else 22) / 4e-3
    (last,) = seen.last
    assert re.search(f"grows by {words} a step since about step (2,[89]|3,[01])", last.title)
    assert (last.severity != "info") == (n > 30_000)  # for longer than a buffer fills


def test_a_gpu_that_idles_and_one_that_is_throttled_are_told_apart() -> None:
    idle = healthy(1, N)
    idle.compute[3000:] *= 2
    idle.gpu_pct = np.where(np.arange(N) < 3000, 95, 48)
    (found,) = show(idle).last
    assert found.kind == "slower"
    assert re.search(r"The GPU is busy 4\d % of the time, 9\d % before", found.evidence)
    hot = healthy(1, N)
    hot.compute[3000:] *= 1.5
    hot.gpu_pct, hot.throttled = np.full(N, 97.0), np.where(np.arange(N) < 3000, 0.0, 1.0)
    hot.clock = np.where(np.arange(N) < 3000, 1980, 1200)
    (found,) = show(hot).last
    assert (found.kind, found.wants_window) == ("slower", False)
    assert "the GPU's clock is 1,200 MHz, 1,980 MHz before, lowered for heat or power" in found.title


def test_steps_that_are_long_for_a_reason_are_none() -> None:
    run = healthy(1, N)
    run.flags[2000:2100], run.flags[3000], run.flags[0] = PROFILED, EPOCH_BEGIN, COMPILED
    run.compute[2000:2100] *= 3
    run.compute[3000] *= 100
    run.compute[0] *= 500
    assert show(run).last == []


def test_steps_in_which_functions_were_traced_are_told_as_that_and_not_as_waits() -> None:
    run = healthy(1, N)
    run.flags[0] = run.flags[400:N:400] = COMPILED
    run.compute[0] *= 500
    run.compute[400:N:400] *= 100
    run.wait[0] = run.wait[400:N:400] = np.nan
    run.wait[399:N:400] = np.nan
    (found,) = show(run).last
    assert found.kind == "slow_steps"
    assert found.title.startswith(
        f"TensorFlow traced a function in {len(range(400, N, 400))} steps after the first: they took "
    )
    assert found.severity in ("low", "medium")
    assert "wait" not in found.title + found.evidence


def test_a_window_over_its_steps_is_told_and_no_other_wanted() -> None:
    finder = AnomalyFinder(n_cores=8)
    rows = steps(np.r_[np.full(1000, 4.0), np.full(1000, 8.0)] * np.random.default_rng(0).lognormal(0, 0.05, 2000))
    finder.add_steps(rows)
    (found,) = finder.anomalies
    assert found.wants_window
    finder.add_event({"kind": "window", "at_ns": 0, "step": 500, "index": 0, "first_step": 500, "last_step": 510})
    assert finder.anomalies[0].window is None
    finder.add_event({"kind": "window", "at_ns": 0, "step": 1500, "index": 1, "first_step": 1500, "last_step": 1510})
    (found,) = finder.anomalies
    assert (found.window, found.wants_window) == (1, False)
    json.dumps(asdict(found))


def test_times_that_are_not_known_are_not_told() -> None:
    finder = AnomalyFinder(n_cores=8)
    finder.add_steps(steps(np.r_[np.full(1000, 4.0), np.full(1000, 8.0)], wait_ms=np.nan, outside_ms=np.nan))
    (found,) = finder.anomalies
    assert found.title == "Steps take 8.00 ms since step 1,000, 4.00 ms before"
    assert "not known" in found.evidence


@pytest.mark.parametrize(("wait_ms", "kind"), [(40, "wait_grows"), (9, "slower")])
def test_a_wait_that_grows_by_far_more_than_a_busy_machine_slows_all_else_has_its_own_cause(
    wait_ms: float, kind: str
) -> None:
    run = healthy(2, 3000, ms=7)
    run.compute[2000:] *= 1.2
    run.others[2000:] = 0.7
    run.wait[2000:] += wait_ms * run.rng.lognormal(0, 0.2, 1000)
    (found,) = [one for one in show(run).last if one.kind != "slow_steps"]
    assert found.kind == kind
    assert abs(found.first_step - 2000) <= 3


def _profiled(run: Run, *windows: tuple[int, int]) -> None:
    for begin, end in windows:
        run.flags[begin:end] |= PROFILED
        run.flags[end : end + 50] |= AFTER_WINDOW


def test_memory_that_grows_while_the_profiler_runs_is_not_the_programs() -> None:
    run = healthy(1, 9000)
    _profiled(run, (3000, 4500))
    run.rss = lambda seconds, steps: 2e9 + 1e6 * np.clip(steps - 3000, 0, 1500)
    assert not show(run).named


def test_a_leak_is_named_from_what_lies_between_windows_and_with_its_own_rate() -> None:
    run = healthy(1, 60_000)
    _profiled(run, (30_000, 30_100), (45_000, 45_100))
    run.rss = lambda seconds, steps: 2e9 + 2e4 * np.maximum(steps - 3000, 0) + 1e9 * np.searchsorted((3e4, 45e3), steps)
    seen = show(run)
    assert list(seen.named) == ["memory_grows"]
    (last,) = seen.last
    assert re.search(r"grows by 19\.[3-7] KiB a step at least since step 46,\d\d\d: 4\.5\d GiB then", last.title)
    assert last.severity != "info", "it grew for over a minute before"


def _collector(seed: int) -> Run:
    run = healthy(seed, N)
    hit = run.rng.random(N) < (0.001, 0.01, 0.03)[seed % 3]
    run.outside[hit] += 4 * run.rng.uniform(1, 4, hit.sum())
    return run


def _epochs(seed: int) -> Run:
    run = healthy(seed, N)
    begins = np.arange(0, N, (200, 500, 1250)[seed % 3])
    run.flags[begins] = EPOCH_BEGIN
    run.wait[begins] += 4 * run.rng.uniform(5, 50, len(begins))
    run.gap_ms[begins[1:] - 1] = run.rng.uniform(100, 2000, len(begins) - 1)
    run.rss = lambda seconds, steps: 2e9 + 5e8 * (1 - np.exp(-seconds / 15))
    return run


def _clocks(seed: int) -> Run:
    run = healthy(seed, N)
    run.compute *= 1 + 0.05 * np.sin(2 * np.pi * np.arange(N) / run.rng.uniform(500, N) + seed)
    return run


def _ragged(seed: int) -> Run:
    run = healthy(seed, N)
    run.compute[run.rng.random(N) < (0.05, 0.2, 0.5)[seed % 3]] *= (2, 3, 5)[seed // 3 % 3]
    return run


def _lengths(seed: int) -> Run:
    run = healthy(seed, N)
    run.compute *= np.minimum(run.rng.gamma(2, 0.5, N) + 0.3, 5)
    return run


def _warm_up(seed: int) -> Run:
    run = healthy(seed, N)
    n = int(run.rng.integers(20, 1500))
    run.compute[:n] *= np.linspace(3, 1, n) if seed % 2 else 2
    run.wait[: int(run.rng.integers(5, 60))] = 0
    run.rss = lambda seconds, steps: 1e9 + 1e9 * (1 - np.exp(-seconds / 20))
    return run


def _busy_machine(seed: int) -> Run:
    run = healthy(seed, N)
    at = 0
    while (at := at + int(run.rng.exponential(2000)) + 100) < N:
        end = at + int(run.rng.exponential((125, 750, 2500)[seed % 3])) + 1
        run.compute[at:end] *= run.rng.uniform(1.2, 3)
        run.others[at:end] = run.rng.uniform(0.5, 1)
        at = end
    return run


def _sawtooth_memory(seed: int) -> Run:
    run = healthy(seed, N)
    seconds_each, rate = run.rng.uniform(5, 40), run.rng.uniform(1e6, 2e7)
    run.rss = lambda seconds, steps: 2e9 + (seconds % seconds_each) * rate
    return run


DRAWS: dict[str, Callable[[int], Run]] = {
    "jitter": lambda seed: healthy(seed, N, sigma=(0.05, 0.2, 0.4)[seed % 3]),
    "fast": lambda seed: healthy(seed, N, ms=0.5),
    "few": lambda seed: healthy(seed, 30, ms=500, sigma=0.3),
    "very_slow": lambda seed: healthy(seed, 600, ms=5000, sigma=0.2),
    **{draw.__name__.strip("_"): draw for draw in (_collector, _epochs, _clocks, _ragged, _lengths)},
    **{draw.__name__.strip("_"): draw for draw in (_warm_up, _busy_machine, _sawtooth_memory)},
}


@every_seed
@pytest.mark.parametrize("name", DRAWS)
def test_nothing_above_info_is_said_of_a_healthy_training(name: str, seed: int) -> None:
    seen = show(DRAWS[name](seed), call_s=20 if name == "very_slow" else 0.25)
    assert {kind: anomaly.title for kind, anomaly in seen.worst.items()} == {}


@pytest.mark.parametrize("n", [1, 7, 8, 9, 17, 1000])
@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_bins_say_what_their_steps_say(n: int, at_once: int) -> None:
    rng = np.random.default_rng(0)
    rows = steps(rng.lognormal(1, 0.3, n), wait_ms=rng.random(n), outside_ms=rng.random(n), loss=rng.random(n))
    rows["wait_us"][rng.random(n) < 0.2] = np.nan
    rows["kind"][rng.random(n) < 0.1] = VALIDATION
    rows["flags"][rng.random(n) < 0.1] = PROFILED
    bins = StepBins(8, started_ns=STARTED_NS)
    for at in range(0, n, at_once):
        bins.add(rows[at : at + at_once])
    columns, table = bins.columns(), pd.DataFrame(rows[rows["kind"] != VALIDATION])
    assert len(columns["n"]) <= 8
    assert columns["n"].sum() == bins.n_steps == len(table)
    table["profiled"] = table["flags"] == PROFILED
    groups = table.astype(np.float64).groupby(np.arange(len(table)) // bins.width)
    means, us = groups.mean(), groups["duration_us"]
    expected = {
        "first_number": groups["number"].first(),
        "start_s": (groups["start_ns"].first() - STARTED_NS) / 1e9,
        "n": us.count(),
        **{
            f"{name}_ms": values / 1e3 for name, values in {"mean": us.mean(), "min": us.min(), "max": us.max()}.items()
        },
        **{f"{name}_ms": means[f"{name}_us"] / 1e3 for name in ("wait", "outside")},
        **{name: means[name] for name in ("loss", "profiled")},
    }
    for name, values in expected.items():
        np.testing.assert_allclose(columns[name], values, rtol=1e-6, atol=1e-6, err_msg=name)
    # That of bins that became one is the mean of theirs.
    np.testing.assert_allclose(columns["p95_ms"], us.quantile(0.95) / 1e3, rtol=0.5 if bins.width > 1 else 1e-6)


def test_what_is_plain_is_named_in_a_run_of_few_steps() -> None:
    run = healthy(1, 90, ms=50)
    run.wait[45:] += 300
    assert {one.kind for one in show(run).last} == {"wait_grows"}


def test_steps_for_which_xla_compiled_again_are_told_as_that() -> None:
    run = healthy(1, 240)
    run.flags[20::20] = XLA_COMPILED
    run.compute[20::20] += 1700
    (found,) = show(run).last
    assert found.title.startswith("XLA compiled a function in 11 steps after the first: they took 1.70 s (median), ")
    assert (found.severity, found.next_at) == ("high", 240)


def test_slow_steps_that_begin_a_phase_are_told_once() -> None:
    run = healthy(1, 1000)
    run.compute[500:] *= 5
    assert [one.kind for one in show(run).last] == ["slower"]


def test_a_wait_in_which_others_take_the_cores_that_it_leaves_is_not_blamed_on_them() -> None:
    finder = AnomalyFinder(n_cores=2)
    run = healthy(1, 3000, ms=10)
    run.wait[1500:] += 20
    rows = run.rows()
    samples = run.samples(rows)
    is_late = samples[:, 0] > rows["start_ns"][1500]
    samples[:, SAMPLE_COLUMNS.index("cpu_pct")] = 100
    samples[:, SAMPLE_COLUMNS.index("process_cpu_pct")] = np.where(is_late, 30, 120)
    for row in samples:
        finder.add_samples(row)
    finder.add_steps(rows)
    assert [one.kind for one in finder.anomalies] == ["wait_grows"]
