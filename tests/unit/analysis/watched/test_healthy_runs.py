"""Trainings that are well: nothing above info is said of them, whatever their noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.analysis.watched.drawn_runs import Run, healthy, show
from tfprof_widgets.trace import EPOCH_BEGIN

N = 6000


def _jitter(seed: int) -> Run:
    return healthy(seed, N, sigma=(0.05, 0.2, 0.4)[seed % 3])


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
    run.events = [(int(at), kind) for at in begins[1:] for kind in ("validation", "checkpoint")]
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


def _fast(seed: int) -> Run:
    return healthy(seed, N, ms=0.5)


def _few(seed: int) -> Run:
    return healthy(seed, 30, ms=500, sigma=0.3)


def _very_slow(seed: int) -> Run:
    return healthy(seed, 600, ms=5000, sigma=0.2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "draw",
    [
        *(_jitter, _collector, _epochs, _clocks, _ragged, _lengths, _warm_up, _busy_machine, _sawtooth_memory),
        *(_fast, _few, _very_slow),
    ],
    ids=lambda draw: draw.__name__.strip("_"),
)
def test_nothing_above_info_is_said_of_a_healthy_training(draw: Callable[[int], Run], seed: int) -> None:
    seen = show(draw(seed), call_s=20 if draw is _very_slow else 0.25)
    assert {kind: anomaly.title for kind, anomaly in seen.worst.items()} == {}


def test_a_machine_that_others_use_is_told_as_such() -> None:
    run = healthy(1, 4000)
    run.compute[2000:] *= 2
    run.others[2000:] = 0.8
    (found,) = show(run).last
    assert (found.kind, found.severity, found.first_step, found.wants_window) == ("machine_busy", "info", 2000, False)
    assert found.title.endswith("the machine is busy with other processes")
    assert "all cores are 8" in found.evidence


def test_a_steady_training_has_no_anomaly_at_all() -> None:
    assert show(healthy(1, N)).named == {}
