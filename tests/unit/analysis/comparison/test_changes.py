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
    FEWEST_CELLS,
    FEWEST_ROWS,
    Analysis,
    CommonChange,
    Measured,
    RunDiff,
    StepEffect,
    common_change,
    compare_steps,
    measure,
    middle_mean,
    samples_per_step,
    step_effect,
    two_sided,
    verdict_of,
)

STEADY = np.ones(1, np.bool_)


@pytest.mark.parametrize(
    ("alpha", "degrees", "bound"),
    [(0.05, 1, 12.7062), (0.05, 2, 4.30265), (0.05, 10, 2.22814), (0.001, 15, 4.07277), (0.05, 10_000, 1.9719)],
)
def test_quantiles_are_those_of_the_tables(alpha: float, degrees: int, bound: float) -> None:
    assert two_sided(alpha, degrees) == pytest.approx(bound, rel=1e-4)


def test_the_middle_half_is_averaged() -> None:
    assert middle_mean(np.array([1000.0, 2, 3, 0])) == 2.5
    assert middle_mean(np.array([[1.0], [4.0]])).tolist() == [1, 4]
    assert middle_mean(np.array([0.0, 1, 2, 3, 4, 5])) == pytest.approx((0.5 * 1 + 2 + 3 + 0.5 * 4) / 3)


def test_interrupted_steps_change_neither_the_value_nor_its_error() -> None:
    quiet = np.full((1, 80), 10.0) + np.linspace(-0.1, 0.1, 80)[np.random.default_rng(0).permutation(80)]
    busy = quiet.copy()
    busy[0, ::9] = 500
    one, other = (measure(values, is_steady=STEADY) for values in (quiet, busy))
    assert other.typical[0] == pytest.approx(one.typical[0], rel=0.01)
    assert other.error[0] < 0.1


def test_the_error_covers_the_spread_of_typical_values() -> None:
    rng = np.random.default_rng(3)
    draws = measure(10 + rng.standard_normal((2000, 80)), is_steady=np.ones(2000, np.bool_))
    assert draws.typical.std() == pytest.approx(draws.error.mean(), rel=0.15)


def test_neighbours_that_are_alike_make_the_error_larger() -> None:
    rng = np.random.default_rng(4)
    single = 10 + rng.standard_normal((200, 80))
    alike = 10 + np.repeat(rng.standard_normal((200, 8)), 10, axis=1)
    steady = np.ones(200, np.bool_)
    assert measure(alike, is_steady=steady).error.mean() > 2 * measure(single, is_steady=steady).error.mean()


def test_rare_rows_keep_their_mean() -> None:
    values = np.zeros((1, 40))
    values[0, ::10] = 8
    assert measure(values, is_steady=~STEADY).typical[0] == 0.8


def test_too_few_steps_have_no_error() -> None:
    found = measure(np.ones((1, FEWEST_CELLS - 1)), is_steady=STEADY)
    assert math.isnan(found.error[0])
    assert found.degrees == 0


def test_what_all_rows_do_alike_is_told_from_what_one_does() -> None:
    rng = np.random.default_rng(5)
    a = rng.uniform(1, 10, 40)
    b = a * 1.5 * np.exp(0.05 * rng.standard_normal(40))
    b[:4] *= 3
    error = np.full(40, 1e-3)
    found = common_change(Measured(a, error, 15), Measured(b, error, 15), np.ones(40, np.bool_), step_ms=100)
    assert found.ratio == pytest.approx(1.5, rel=0.05)
    assert 0.02 < found.scatter < 0.12


def test_few_rows_tell_of_no_common_change() -> None:
    n = FEWEST_ROWS - 1
    a = Measured(np.ones(n), np.full(n, 0.01), 15)
    b = Measured(np.full(n, 2.0), np.full(n, 0.01), 15)
    assert common_change(a, b, np.ones(n, np.bool_), step_ms=1).ratio == 1


def test_the_interval_holds_the_ratio_and_is_the_same_every_time() -> None:
    rng = np.random.default_rng(6)
    a, b = 10 + rng.standard_normal(80), 13 + rng.standard_normal(80)
    found = compare_steps(a, b)
    assert found.interval[0] < 1.3 < found.interval[1]
    assert found.is_beyond_noise
    assert found == compare_steps(a, b)


def test_drift_widens_the_interval() -> None:
    rng = np.random.default_rng(7)
    steady = 10 + 0.1 * rng.standard_normal(80)
    drifting = steady * np.linspace(1, 1.6, 80)
    narrow, wide = (
        math.log(found.interval[1] / found.interval[0])
        for found in (compare_steps(steady, steady[::-1]), compare_steps(steady, drifting))
    )
    assert wide > 3 * narrow


def test_an_equal_run_has_a_ratio_of_one() -> None:
    times = np.random.default_rng(8).uniform(5, 9, 50)
    found = compare_steps(times, times)
    assert found.ratio == 1
    assert found.interval[0] < 1 < found.interval[1]
    assert not found.is_beyond_noise


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


def test_ops_that_scatter_between_runs_widen_the_interval() -> None:
    a, b = (10 + 0.1 * np.random.default_rng(seed).standard_normal(80) for seed in (11, 12))
    assert compare_steps(a, 1.2 * b).is_beyond_noise
    assert not compare_steps(a, 1.2 * b, effect=StepEffect(scatter=0.1)).is_beyond_noise


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


def test_a_step_that_fetches_several_batches_takes_all_their_samples() -> None:
    assert samples_per_step(run(("BatchV2", 4), fetches=8)) == 32


def test_the_pipeline_of_the_training_counts_not_one_that_ran_beside_it() -> None:
    assert samples_per_step(run(("BatchV2", 4), other=[("BatchV2", 500), ("Shuffle", None)])) == 4


def test_nothing_is_known_without_tf_data_or_without_steps() -> None:
    assert math.isnan(samples_per_step(run()))
    assert math.isnan(samples_per_step(Analysis(trace(session()))))


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


def test_what_is_not_known_is_nan_and_the_sentence_is_on_steps() -> None:
    diff = RunDiff(run(("BatchV2", 2)), run())
    rows = diff.summary.set_index("metric")
    assert math.isnan(diff.samples.ratio)
    assert rows.loc[["batch_size", "samples_per_second", "time_per_sample_us"], "b"].isna().all()
    assert not rows.loc[["samples_per_second", "time_per_sample_us"], "is_beyond_noise"].any()
    assert "a step takes" in verdict_of(diff)


def test_few_steps_tell_no_noise_of_a_sample() -> None:
    diff = RunDiff(run(("BatchV2", 2), n_steps=3), run(("BatchV2", 4), n_steps=3))
    assert verdict_of(diff).startswith("What differs in b: batches of 4 samples, of 2 in a. Too few steps to judge: ")
    assert diff.samples.ratio == pytest.approx(0.5)
