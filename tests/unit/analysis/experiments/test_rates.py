"""Rates, intervals and sentences of runs that are drawn by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from tfprof_widgets.analysis import (
    batch_sizes_sentence,
    changes_sentence,
    input_only_sentence,
    input_or_model_sentence,
    median_and_interval,
    rate_table,
    run_frame,
    saved_ratio,
    saving_sentence,
    synthetic_sentence,
)
from tfprof_widgets.experiments import ExperimentResult


def table_of(**rates: list[float]) -> pd.DataFrame:
    """Rates of each repeat by variant; an underscore stands for a blank."""
    runs = [
        (name.replace("_", " "), repeat, 10, 320, 320 / rate)
        for name, found in rates.items()
        for repeat, rate in enumerate(found)
    ]
    return rate_table(run_frame(runs), [name.replace("_", " ") for name in rates])


def test_the_first_variant_that_ran_is_the_one_compared_with() -> None:
    table = table_of(lost=[], small=[100.0, 100.0], large=[150.0, 150.0])
    assert table["ratio"].tolist()[1:] == pytest.approx([1, 1.5])
    assert math.isnan(table["ratio"][0])
    assert batch_sizes_sentence(table).startswith("Large is the fastest: 150 samples/s, 1.50 times as many as small")


def test_one_value_has_no_interval_and_none_no_median() -> None:
    assert median_and_interval([5.0])[0] == pytest.approx(5)
    assert all(math.isnan(limit) for limit in median_and_interval([5.0])[1:])
    assert all(math.isnan(value) for value in median_and_interval([]))


@pytest.mark.parametrize("n_repeats", [2, 3, 5, 12, 40])
def test_the_interval_holds_the_true_value_in_at_least_19_of_20_tries(n_repeats: int) -> None:
    rng = np.random.default_rng(1)
    n_inside = 0
    for _ in range(1000):
        _, low, high = median_and_interval(np.exp(rng.normal(math.log(100), 0.05, n_repeats)).tolist())
        n_inside += low <= 100 <= high
    assert n_inside >= 940


def test_the_sentence_names_what_limits_the_training() -> None:
    bound = table_of(input_alone=[309.0, 310.0, 311.0], model_alone=[1236.0, 1240.0, 1244.0], together=[305.0] * 3)
    assert input_or_model_sentence(bound) == (
        "Input alone 310 samples/s, model alone 1,240 samples/s: input-bound by 4.0 times. "
        "Together 305 samples/s, 98 % of the slower one."
    )
    other = table_of(input_alone=[1236.0, 1240.0, 1244.0], model_alone=[309.0, 310.0, 311.0], together=[250.0] * 3)
    assert "model-bound by 4.0 times" in input_or_model_sentence(other)
    assert input_or_model_sentence(other).endswith("end the data set with .prefetch(tf.data.AUTOTUNE).")


def test_what_noise_may_explain_is_not_called_a_difference() -> None:
    noisy = table_of(input_alone=[100.0, 200.0, 150.0], model_alone=[210.0, 110.0, 160.0], together=[90.0, 95.0, 100.0])
    assert "no difference that can be told from noise" in input_or_model_sentence(noisy)
    assert "costs nothing that can be told from noise" in synthetic_sentence(noisy.head(2))
    assert "no difference" in changes_sentence(noisy)
    assert batch_sizes_sentence(table_of(batch_8=[100.0, 120.0], batch_16=[119.0, 110.0])).startswith("No batch size")


def test_a_measured_saving_and_its_sentence_say_the_same() -> None:
    clear = table_of(together=[100.0, 101.0, 99.0], model_alone=[400.0, 404.0, 396.0])
    assert saved_ratio(clear) == pytest.approx(0.75)
    assert "which saves 75 % (95 % interval 75 % to 75 %)" in saving_sentence(clear, "alone")
    noisy = table_of(together=[100.0, 200.0, 150.0], model_alone=[210.0, 110.0, 160.0])
    slower = table_of(together=[100.0, 101.0, 99.0], model_alone=[50.0, 50.5, 49.5])
    for table in (noisy, slower):
        assert saved_ratio(table) == 0
        assert "no difference beyond noise" in saving_sentence(table, "alone")


def test_the_other_sentences_give_rates_and_shares() -> None:
    fast = table_of(together=[100.0, 101.0, 99.0], model_alone=[400.0, 404.0, 396.0])
    assert synthetic_sentence(fast).endswith("the input costs 75 % of a step.")
    assert input_only_sentence(fast).startswith("The input alone gives 100 samples/s (9")
    changes = changes_sentence(
        table_of(everything=[100.0] * 3, without_augment=[180.0] * 3, without_prefetch=[50.0] * 3)
    )
    assert changes == (
        "Everything 100 samples/s; without prefetch 0.50 times as many (0.500 to 0.500); "
        "without augment 1.80 times as many (1.80 to 1.80)."
    )


def test_a_result_is_one_line_a_table_and_html_without_scripts() -> None:
    table = table_of(**{"<b>": [100.0, 110.0], "other": []})
    result = ExperimentResult("ablate", run_frame([]), table, "A & B.", ("Told <i>.",))
    bundle = result._repr_mimebundle_()
    assert repr(result) == "<ExperimentResult ablate: A & B.>"
    assert bundle["text/plain"].splitlines()[0] == "A & B."
    assert bundle["text/plain"].splitlines()[-1] == "Told <i>."
    for raw in ("<b>", "<i>", "A & B", "<script"):
        assert raw not in bundle["text/html"]
    assert "out of memory" in bundle["text/html"]
