"""Times of steps inside and outside of a capture's windows -> the cost of the capture, and how sure it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tfprof_widgets.analysis import CaptureSummary, measure_interference, step_sentence
from tfprof_widgets.trace import Interference

MS = 1_000_000


def times(*groups: tuple[str, int, float], name: str = "train", noise: float = 0.05, seed: int = 3) -> pd.DataFrame:
    """Steps in groups of (phase, count, ms a step), with noise of a fixed seed; the first of all takes a second."""
    rng = np.random.default_rng(seed)
    phases = [phase for phase, count, _ in groups for _ in range(count)]
    durations = np.concatenate([ms * (1 + noise * rng.standard_normal(count)) for _, count, ms in groups]) * MS
    durations[0] = 1000 * MS
    return pd.DataFrame(
        {
            "number": range(len(phases)),
            "name": name,
            "start_ns": np.append(0, np.cumsum(durations)[:-1]).astype(np.int64),
            "duration_ns": durations.astype(np.int64),
            "phase": phases,
        }
    )


def test_the_ratio_is_that_of_the_medians_without_the_first_step_and_those_cut() -> None:
    frame = times(("before", 11, 10), ("cut", 3, 500), ("during", 20, 12), ("cut", 2, 900), ("after", 10, 10), noise=0)
    found = measure_interference(frame)
    assert (found.overhead_ratio, found.n_steps_inside, found.n_steps_outside) == (pytest.approx(0.2), 20, 20)
    assert found.overhead_interval == (pytest.approx(0.2), pytest.approx(0.2))


def test_the_interval_holds_the_truth_and_is_the_same_each_time() -> None:
    frame = times(("before", 60, 10), ("during", 40, 10.5), ("after", 60, 10))
    found = measure_interference(frame)
    low, high = found.overhead_interval
    assert low < 0.05 < high < 0.15
    assert measure_interference(frame) == found
    assert not found.is_distorting


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    held = 0
    for seed in range(40):
        low, high = measure_interference(times(("before", 41, 10), ("during", 40, 11), seed=seed)).overhead_interval
        held += low <= 0.1 <= high
    assert held >= 34


def test_steps_that_drift_have_a_wider_interval_than_the_same_steps_shuffled() -> None:
    frame = times(("before", 100, 10), ("during", 100, 10), noise=0.0)
    swing = frame.assign(duration_ns=(frame["duration_ns"] * (1 + 0.3 * np.sin(np.arange(200) / 6))).astype(np.int64))
    shuffled = swing.copy()
    for phase in ("before", "during"):
        rows = shuffled.index[(shuffled["phase"] == phase) & (shuffled.index > 0)]
        shuffled.loc[rows, "duration_ns"] = np.random.default_rng(1).permutation(swing.loc[rows, "duration_ns"])
    width, narrow = (np.ptp(measure_interference(one).overhead_interval) for one in (swing, shuffled))
    assert width > 1.3 * narrow


def test_training_is_compared_with_training_and_not_with_validation() -> None:
    train = times(("before", 20, 10), ("during", 20, 11), noise=0)
    test = times(("during", 500, 1), ("after", 6, 1), name="test", noise=0)
    found = measure_interference(pd.concat([train, test]))
    assert (found.overhead_ratio, found.n_steps_inside, found.n_steps_outside) == (pytest.approx(0.1), 20, 19)


@pytest.mark.parametrize("groups", [[("during", 30, 10.0)], [("before", 30, 10.0)]])
def test_with_nothing_to_compare_with_the_cost_is_not_known(groups: list[tuple[str, int, float]]) -> None:
    found = measure_interference(times(*groups))
    assert math.isnan(found.overhead_ratio)
    assert math.isnan(found.overhead_interval[0])
    assert found.n_steps_inside + found.n_steps_outside == 29
    assert "steps=range(10, 20)" in step_sentence(found, "normal")
    empty = measure_interference(times(*groups).iloc[:0])
    assert (empty.n_steps_inside, empty.n_steps_outside) == (0, 0)


def test_few_steps_give_a_ratio_without_an_interval() -> None:
    found = measure_interference(times(("before", 10, 10), ("during", 3, 11), noise=0))
    assert found.overhead_ratio == pytest.approx(0.1)
    assert math.isnan(found.overhead_interval[0])
    assert "too few for an interval" in step_sentence(found, "normal")


def test_a_capture_that_distorts_says_so_with_what_to_do_and_others_do_not() -> None:
    distorted = measure_interference(times(("before", 50, 10), ("during", 50, 14)))
    assert distorted.is_distorting
    assert 'detail="normal"' in step_sentence(distorted, "high")
    assert 'detail="low"' in step_sentence(distorted, "normal")
    assert "steps_per_execution" in step_sentence(distorted, "low")
    for ms in (10.0, 10.8):
        calm = measure_interference(times(("before", 50, 10), ("during", 50, ms)))
        assert not calm.is_distorting
        assert "distorts" not in step_sentence(calm, "normal")
    noisy = Interference(0.5, (-0.1, 1.2), 9, 9)
    assert "noise" in step_sentence(noisy, "normal")


def summary(**fields: Any) -> CaptureSummary:
    known: dict[str, Any] = {
        "start_s": 0.012, "stop_s": 0.3, "n_bytes": 2**20, "n_events": 5000, "n_steps": 100, "outcome": "complete",
        "detail": "normal", "overhead_ratio": 0.04, "overhead_interval": (0.01, 0.07), "n_steps_inside": 10,
        "n_steps_outside": 89,
    }  # fmt: skip
    return CaptureSummary(**(known | fields))


def test_the_sentence_names_every_cost() -> None:
    assert summary().sentence == (
        "A step took 4.00 % longer while it was captured (95 % interval 1.00 to 7.00 %; 10 steps inside, 89 outside). "
        "Starting took 12.0 ms, stopping 300 ms, for 5,000 events in 1.00 MiB."
    )
    assert summary(n_steps=0).sentence.startswith("What the capture cost a step is not known: no step was marked.")
    assert summary(overhead_interval=(0.11, 0.2)).is_distorting
