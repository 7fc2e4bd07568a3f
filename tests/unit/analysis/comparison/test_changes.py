"""What changed between two runs and what noise may hide: spread of rows, steps and samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.input.iterator_drawings import ROOT, call
from tfprof_widgets.analysis import (
    BUSY_MACHINE,
    FEWEST_ROWS,
    Analysis,
    CommonChange,
    RunDiff,
    StepEffect,
    compare_steps,
    samples_per_step,
    step_effect,
    two_sided,
    verdict_of,
)


@pytest.mark.parametrize(
    ("alpha", "degrees", "bound"),
    [(0.05, 1, 12.7062), (0.05, 2, 4.30265), (0.05, 10, 2.22814), (0.001, 15, 4.07277), (0.05, 10_000, 1.9719)],
)
def test_quantiles_are_those_of_the_tables(alpha: float, degrees: int, bound: float) -> None:
    assert two_sided(alpha, degrees) == pytest.approx(bound, rel=1e-4)


@pytest.mark.parametrize("scale", [0.2, 0.7, 0.97, 1.0, 1.05, 1.6, 9.0])
def test_a_change_is_larger_than_its_noise_just_where_the_interval_leaves_out_1(scale: float) -> None:
    rng = np.random.default_rng(9)
    a, b = rng.uniform(5, 15, 60), scale * rng.uniform(5, 15, 60)
    found = compare_steps(a, b)
    assert (abs(found.b_ms - found.a_ms) > found.noise_ms) == found.is_beyond_noise
    if scale < 0.9:
        assert found.noise_ms < found.a_ms


def test_ops_that_are_all_slower_explain_slower_steps_but_no_faster_ones() -> None:
    rng = np.random.default_rng(10)
    a, b = 10 + 0.1 * rng.standard_normal(80), 12 + 0.1 * rng.standard_normal(80)
    assert compare_steps(a, b).is_beyond_noise
    explained = compare_steps(a, b, effect=StepEffect(ratio=1.2))
    assert not explained.is_beyond_noise
    assert explained.is_only_alike
    assert compare_steps(b, a, effect=StepEffect(ratio=1.2)) == compare_steps(b, a)
    assert not compare_steps(b, a, effect=StepEffect(ratio=1 / 1.2)).is_beyond_noise
    assert compare_steps(a, 2 * a, effect=StepEffect(ratio=2.0)).is_beyond_noise
    assert compare_steps(a, a * BUSY_MACHINE * 1.2, effect=StepEffect(ratio=9.0)).is_beyond_noise


def test_a_large_op_makes_steps_differ_by_more_than_many_small_ones() -> None:
    host, none = CommonChange(ratio=1.3, scatter=0.1, n_rows=FEWEST_ROWS), CommonChange()
    on_host = np.zeros(100, np.bool_)
    many = step_effect(host, none, np.ones(100), on_host, True)
    assert many.scatter == pytest.approx(0.01)
    assert many.ratio == 1.3
    assert step_effect(host, none, np.ones(100), on_host, False).ratio == 1
    assert step_effect(host, none, np.append(np.zeros(99), 1.0), on_host, True).scatter == pytest.approx(0.1)
    assert step_effect(none, none, np.ones(100), on_host, True) == StepEffect()
    assert step_effect(host, none, np.zeros(0), np.zeros(0, np.bool_), True).scatter == 0


@pytest.mark.parametrize(("n_a", "n_b"), [(0, 0), (0, 9), (9, 0), (1, 1), (5, 80)])
def test_few_steps_have_no_interval(n_a: int, n_b: int) -> None:
    found = compare_steps(np.ones(n_a), np.ones(n_b))
    assert not found.is_known
    assert not found.is_beyond_noise
    assert math.isnan(found.ratio) == (min(n_a, n_b) == 0)


Stage = tuple[str, int | None]
"""Name and batch size."""
PREFETCH: Stage = ("Prefetch", None)


def run(
    *stages: Stage,
    n_steps: int = 12,
    step_us: Sequence[float] = (1_000.0,),
    fetches: int = 1,
    other: Sequence[Stage] = (),
) -> Analysis:
    """Steps that fetch from a chain of iterators, the training's first; `other` ran once before them."""
    events, at = _fetch(other, 0.0, 100), 200.0
    for i in range(n_steps):
        us = step_us[i % len(step_us)]
        events.append(event("train", at, us, _r=1, step_num=i))
        for k in range(fetches):
            events += _fetch(stages, at + 20 * k, 1)
        events.append(event("net/dense/MatMul:MatMul", at + 20 * fetches, us - 20 * fetches))
        at += us
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=at)))


def _fetch(stages: Sequence[Stage], at: float, id_: int) -> list[object]:
    if not stages:
        return []
    events = [call(ROOT, at, 18, id_)]
    for k, (_, size) in enumerate(stages):
        name = "::".join((ROOT, *(stage for stage, _ in stages[: k + 1])))
        stats = {} if size is None else {"batch_size": size}
        events.append(call(name, at + k + 1, 16 - 2 * k, id_ + k + 1, id_ + k, **stats))
    return events


@pytest.mark.parametrize(
    ("stages", "size"),
    [
        ([PREFETCH, ("BatchV2", 32), ("Map", None)], 32),
        ([("MapAndBatch", 16)], 16),
        ([("BatchV2", 2), ("Map", None), ("BatchV2", 4)], 8),
        ([("BatchV2", 32), ("Unbatch", None), ("BatchV2", 1000)], 32),
        ([PREFETCH, ("Unbatch", None), ("BatchV2", 1000)], math.nan),
        ([PREFETCH, ("FlatMap", None), ("BatchV2", 8)], math.nan),
        ([PREFETCH, ("Map", None)], math.nan),
        ([PREFETCH, ("BatchV2", -1)], math.nan),
    ],
)
def test_the_batch_is_what_the_last_batching_stage_makes(stages: list[Stage], size: float) -> None:
    assert samples_per_step(run(*stages)) == pytest.approx(size, nan_ok=True)


def test_the_pipeline_of_the_training_counts_not_one_that_ran_beside_it() -> None:
    assert samples_per_step(run(("BatchV2", 4), other=[("BatchV2", 500), ("Shuffle", None)])) == 4


def test_runs_with_other_batches_are_compared_by_sample() -> None:
    diff = RunDiff(run(("BatchV2", 2)), run(("BatchV2", 16), step_us=[2_000.0]))
    rows = diff.summary.set_index("metric")
    assert rows.loc["batch_size", ["a", "b", "ratio"]].tolist() == [2, 16, 8]
    assert rows.loc["samples_per_second", ["a", "b"]].tolist() == pytest.approx([2_000, 8_000])
    assert rows.loc["time_per_sample_us", ["a", "b", "ratio"]].tolist() == pytest.approx([500, 125, 0.25])
    assert rows.loc["time_per_sample_us", "is_beyond_noise"]
    assert diff.samples.interval == pytest.approx((0.25 / 1.1, 0.25 * 1.1))
    assert verdict_of(diff) == (
        "What differs in b: batches of 16 samples, of 2 in a. Samples of b are 4.00 times faster: a sample takes 125 µs in "
        "b, with 16 a step, and 500 µs in a, with 2 (95 % interval 3.64 to 4.40)."
    )


def test_a_step_that_stalls_costs_samples_though_the_median_knows_nothing_of_it() -> None:
    stalls = run(("BatchV2", 4), step_us=[1_000, 1_000, 1_000, 5_000])
    diff = RunDiff(stalls, run(("BatchV2", 4)))
    assert diff.step_times.ratio == 1
    assert diff.samples.ratio == pytest.approx(0.5)


def test_few_steps_tell_no_noise_of_a_sample() -> None:
    diff = RunDiff(run(("BatchV2", 2), n_steps=3), run(("BatchV2", 4), n_steps=3))
    assert verdict_of(diff).startswith("What differs in b: batches of 4 samples, of 2 in a. Too few steps to judge: ")
    assert diff.samples.ratio == pytest.approx(0.5)
