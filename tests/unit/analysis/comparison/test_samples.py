"""How many samples a step takes, by what tf.data tells, and comparisons by sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.input.iterator_drawings import ROOT, call
from tfprof_widgets.analysis import Analysis, RunDiff, samples_per_step, verdict_of

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
