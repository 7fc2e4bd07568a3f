"""Advice on time that passes between training steps, and on what functions of the user's take of some of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tests.builders import Event, event, line, plane, session, trace
from tests.unit.analysis.advice.outside_drawings import GAP_US, N_STEPS, STEP_US, epochs, source_map, validation
from tests.unit.analysis.advice.test_host_rules import STEP_US as LONG_US
from tests.unit.analysis.advice.test_host_rules import WORK, only, rules, run, sampled
from tests.unit.analysis.input.iterator_drawings import ROOT, call
from tfprof_widgets.analysis import Analysis

SHARE = GAP_US / (GAP_US + N_STEPS * STEP_US)


def test_a_slow_hook_of_epochs_is_named_with_its_class_and_its_share_of_the_capture() -> None:
    advice = only(epochs(4))
    assert (advice.rule, advice.severity) == ("outside_steps", "high")
    assert advice.title.startswith("Plot.on_epoch_end (train.py:4) takes 800 ms of the 1.00 s captured (80 %)")
    assert "4 times, 200 ms each" in advice.title
    assert advice.gain_ratio == pytest.approx(SHARE)
    assert "Do it every tenth epoch instead of each" in advice.fix.words


def test_what_is_done_once_is_no_fault() -> None:
    assert epochs(4, n_epochs=1).advice == ()


def test_frames_that_are_in_no_file_are_blamed_for_nothing() -> None:
    drawn = epochs(4)
    known = drawn.source_map
    for files in (known.files, known.files.iloc[:0]):
        damaged = replace(known, frames=known.frames.assign(file=-1), files=files)
        found = Analysis(drawn.trace, damaged)
        assert "outside_steps" not in rules(found)
        assert found.advice_notices == ()


def test_how_a_program_begins_and_ends_is_no_fault() -> None:
    """The same line before the first training step and after the last one."""
    results = epochs(4, n_epochs=1, before_us=GAP_US)
    assert results.advice == ()


def test_nothing_is_blamed_where_nobody_looked() -> None:
    results = epochs(None)
    assert results.advice == ()
    assert results.overview.covered_ratio == pytest.approx(1 - SHARE)
    assert results.overview.verdict.startswith(
        "75 % of the time from the first step to the last is outside of training steps (600 ms of 800 ms). In them: Compute-bound"
    )


def test_how_a_capture_begins_and_ends_is_no_matter_of_its_verdict() -> None:
    results = epochs(None, n_epochs=1, before_us=4 * GAP_US)
    assert results.overview.covered_ratio < 0.2
    assert results.overview.verdict.startswith("Compute-bound")


def test_short_pauses_between_epochs_are_no_fault() -> None:
    results = epochs(1, gap_us=5_000)
    assert results.advice == ()
    assert results.overview.verdict.startswith("Compute-bound")


def test_what_a_framework_does_between_epochs_is_not_what_it_does_before_and_after_all_of_them() -> None:
    assert epochs(1, n_epochs=2, before_us=GAP_US).advice == ()
    advice = only(epochs(1, before_us=GAP_US))
    assert "does between epochs takes 600 ms of the 1.20 s captured (50 %)" in advice.title
    assert "3 times, 200 ms each" in advice.title


def test_validation_within_fit_is_told_as_such() -> None:
    advice, rest = epochs(1, others=validation).advice
    assert (advice.headline, advice.gain_ratio) == ("Validate less often", pytest.approx(4 * 0.099))
    assert advice.title.startswith("Validation takes 396 ms of the 1.00 s captured (40 %)")
    assert "40 test steps" in advice.title
    assert "validation_freq=5" in str(advice.fix)
    assert "does between epochs takes" in rest.title


def test_a_validation_lasts_from_its_own_begin_to_its_end() -> None:
    """What the call of `fit` does before the first training step and after the last one is none, nor what comes after it."""
    marked = partial(validation, begun_us=50_000)
    results = epochs(1, n_epochs=3, before_us=2 * GAP_US, others=lambda now: marked(now + 60_000))
    advice = next(one for one in results.advice if one.headline == "Validate less often")
    assert advice.evidence["outside_ms"] == pytest.approx(3 * (50 + 99))
    assert (advice.evidence["n_times"], advice.evidence["n_steps"]) == (3, 30)


def test_a_first_validation_that_traces_counts_as_long_as_it_takes_and_promises_no_more_than_others() -> None:
    first = iter([140_000.0, 0.0, 0.0, 0.0])
    results = epochs(1, gap_us=2 * GAP_US, others=lambda now: validation(now + 150_000, begun_us=next(first)))
    advice = next(one for one in results.advice if one.headline == "Validate less often")
    assert advice.evidence["outside_ms"] == pytest.approx(4 * 99 + 140)
    assert advice.gain_ratio == pytest.approx(4 * 0.099 / 1.8)


def test_averages_are_over_the_training_however_long_it_validates() -> None:
    results = epochs(
        1, n_epochs=1, gap_us=10 * GAP_US, others=lambda now: [e for k in range(9) for e in validation(now + k * 1e5)]
    )
    assert results.overview.step_time_avg_ms == pytest.approx(STEP_US / 1e3)


def test_a_single_evaluation_of_many_steps_is_done_once() -> None:
    """After the training, at a line of its own: its steps are no times that it comes again."""
    once = partial(validation, begun_us=1_000)
    assert epochs(7, n_epochs=1, others=lambda now: once(now + 1_500)).advice == ()


def test_a_call_of_predict_between_fits_is_told_with_its_line() -> None:
    advice = only(epochs(7, others=validation))
    assert advice.rule == "outside_steps"
    assert advice.title.startswith("report (train.py:7) takes")


def test_what_calls_ops_one_by_one_between_steps_is_to_be_a_function() -> None:
    def eagerly(now_us: float) -> list[Event]:
        return [event("EagerLocalExecute: AddV2", now_us + 400 * k, 350) for k in range(int(GAP_US / 400))]

    advice = only(epochs(7, others=eagerly))
    assert advice.title.endswith("4 times, 200 ms each, with 500 ops called one by one from Python.")
    assert "Put what computes there in a tf.function (train.py:7" in advice.fix.words
    assert "tf.function" not in only(epochs(7, others=lambda now_us: eagerly(now_us)[:100])).fix.words


def called_each(kind: str, *, n_pipelines: int) -> Analysis:
    """Steps of a call that makes a pipeline for each, or one for all, and is at its line between them."""
    events, moments = [event("multi_step_on_iterator", 0, 1)], []
    for i in range(8):
        at, of = i * 100_000.0, i % n_pipelines
        events += [event(kind, at, 9_000, _r=1, step_num=i), event("IteratorGetNext:IteratorGetNext", at + 10, 5_000)]
        events += [call(ROOT, at + 11, 4_900, 2 * of + 1, shapes=f"[{of}]")]
        events += [
            call(f"{ROOT}::Map", at + 12, 4_800, 2 * of + 2, 2 * of + 1),
            event("net/MatMul:MatMul", at + 5_100, 3_000),
        ]
        moments += [(at + 5_000 * k + 500, 1) for k in range(20)]
    return Analysis(
        trace(plane("/host:CPU", line("python", *events)), session(duration_us=800_000)), source_map(moments)
    )


@pytest.mark.parametrize(
    ("kind", "words"), [("predict", "Each call of predict or evaluate makes"), ("test", "give one call all batches")]
)
def test_a_call_for_each_batch_is_told_and_no_pipeline_of_its_own_is_blamed(kind: str, words: str) -> None:
    advice = only(called_each(kind, n_pipelines=8))
    assert advice.title.startswith("What the call at train.py:1 does for each batch takes")
    assert words in advice.fix.words
    assert advice.bound == "about"
    assert called_each(kind, n_pipelines=8).overview.verdict.endswith(
        "a new pipeline for each step, as each call of predict or evaluate makes one."
    )
    rest = called_each(kind, n_pipelines=1).advice
    assert [one.rule for one in rest if one.gain_ratio >= 0.05] == ["outside_steps", "input_bound"]
    assert "as callbacks (Plot) and metrics" in rest[0].fix.words


def test_an_evaluation_in_some_steps_is_a_callback_and_no_save() -> None:
    """It reads variables, traces, and takes the steps of its own with it."""
    reads = [("EagerLocalExecute: ReadVariableOp", 100_000 + 100 * i, 50) for i in range(8)]
    extra = [*reads, ("tf.function-graph_building", 110_000, 80_000), ("x:MatMul", 191_000, 8_000)]
    moments, at = [], 0.0
    for i in range(20):
        is_long = i % 5 == 4
        moments += [(at + us, 1 if us < LONG_US else 3) for us in range(5_000, 200_000 if is_long else 100_000, 10_000)]
        at += LONG_US * (2 if is_long else 1)
    seen = sampled(*moments)
    seen.frames.loc[seen.frames["line"] == 1, "function"] = "<module>"
    results = run(
        WORK,
        ("multi_step_on_iterator", 500, 96_000),
        n_steps=20,
        only=lambda i: i % 5 == 4,
        longer=100_000,
        extra=extra,
        source_map=seen,
    )
    assert rules(results)[0] == "host_callback"
    assert "checkpoint_stall" not in rules(results)
    first = results.advice[0]
    assert first.title.startswith("on_train_batch_end (train.py:3) takes 100 ms in 4 of 20 steps")
    assert first.gain_ratio == pytest.approx(400 / 2400, rel=0.05)
    compilations = [one for one in results.advice if one.rule == "compilation"]
    assert [one.gain_ratio for one in compilations] in ([], [0.0])
