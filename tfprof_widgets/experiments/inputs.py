"""The input of a training against the model: what each gives alone, and together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from ..analysis.experiments.sentences import input_only_sentence, input_or_model_sentence, synthetic_sentence
from ..capture.experiments.kept import Kept
from ..capture.experiments.measure import Bounds, Variant
from ..capture.experiments.setups import INPUT, MODEL, TOGETHER, Plan, Reading, surveyed
from ..capture.experiments.training import Training, check_model
from .measuring import measured
from .result import ExperimentResult


def input_only(ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3) -> ExperimentResult:
    """How many samples a second the input pipeline alone can give: the data set is read, and nothing done with it.

    Args:
        ds: a `tf.data.Dataset`, a `keras.utils.PyDataset`, arrays `(x, y)`, or a function without arguments that
            returns one.
        n_steps: measured steps of one run, at most.
        max_seconds: for how many seconds the runs of one variant are measured, all together.
        n_repeats: runs of each variant; an interval needs two, and three make it useful.

    Returns:
        The result, with one variant, `input alone`.

    Raises:
        TypeError: no data set, or one that can be read only once.
        ValueError: it is empty, or a bound is not positive.

    Examples:
        >>> result = tfprof.experiments.input_only(dataset, n_steps=5, n_repeats=1)
        >>> result.table["variant"].tolist()
        ['input alone']
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)

    def plan(_: Kept) -> Plan:
        batches = surveyed(ds, bounds)
        return Plan([Reading(INPUT, batches)], [batches])

    return measured("input_only", plan, bounds, (ds,), 1, input_only_sentence)


def input_or_model(
    model: Any, ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3
) -> ExperimentResult:
    """Whether the input or the model limits the training, and whether they overlap.

    Three variants: `input alone` reads the data set, `model alone` trains on one batch in memory, `together` trains on
    the data set. Where both alone are much faster than together, they wait for each other.

    Args:
        model: a compiled Keras model.
        ds: what it trains on, as of `input_only`.
        n_steps: measured steps of one run, at most.
        max_seconds: for how many seconds the runs of one variant are measured, all together.
        n_repeats: runs of each variant; an interval needs two, and three make it useful.

    Returns:
        The result, with these three variants.

    Raises:
        TypeError: no Keras model, no data set, or one that can be read only once.
        ValueError: the model is not compiled, the data set is empty, or a bound is not positive.

    Examples:
        >>> result = tfprof.experiments.input_or_model(model, dataset, n_steps=5, n_repeats=1)
        >>> result.table["variant"].tolist()
        ['input alone', 'model alone', 'together']
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    return _with_model("input_or_model", model, ds, bounds, (INPUT, MODEL, TOGETHER), input_or_model_sentence)


def synthetic(
    model: Any, ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3
) -> ExperimentResult:
    """How fast the training would be if its input cost nothing: the first batch is fed again and again.

    Two variants: `together` trains on the data set, `model alone` on one batch in memory, which is still copied to the
    device each step.

    Args:
        model: a compiled Keras model.
        ds: what it trains on, as of `input_only`.
        n_steps: measured steps of one run, at most.
        max_seconds: for how many seconds the runs of one variant are measured, all together.
        n_repeats: runs of each variant; an interval needs two, and three make it useful.

    Returns:
        The result, with these two variants.

    Raises:
        TypeError: no Keras model, no data set, or one that can be read only once.
        ValueError: the model is not compiled, the data set is empty, or a bound is not positive.
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    return _with_model("synthetic", model, ds, bounds, (TOGETHER, MODEL), synthetic_sentence)


def _with_model(
    name: str,
    model: Any,
    ds: Any,
    bounds: Bounds,
    variants: tuple[str, ...],
    sentence: Callable[[pd.DataFrame], str],
) -> ExperimentResult:
    """The variants of these names: the input alone, the model alone on one batch in memory, and both together."""
    check_model(model)

    def plan(kept: Kept) -> Plan:
        batches = surveyed(ds, bounds)
        made: dict[str, Callable[[], Variant]] = {
            INPUT: lambda: Reading(INPUT, batches),
            MODEL: lambda: Training(MODEL, model, batches.again_and_again(), kept),
            TOGETHER: lambda: Training(TOGETHER, model, batches, kept),
        }
        return Plan([made[one]() for one in variants], [batches])

    return measured(name, plan, bounds, (model, ds), len(variants), sentence)
