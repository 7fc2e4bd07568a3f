"""The statistics below the tables: quantiles, typical values, errors of correlated steps, the interval of step times."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tfprof_widgets.analysis import (
    BUSY_MACHINE,
    FEWEST_CELLS,
    FEWEST_ROWS,
    CommonChange,
    Measured,
    StepEffect,
    common_change,
    compare_steps,
    measure,
    middle_mean,
    step_effect,
    two_sided,
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
