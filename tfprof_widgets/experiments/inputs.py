"""The input of a training against the model: what each gives alone, and together."""

from __future__ import annotations

from typing import Any

from .measuring import make_bounds, progress_of, result_of
from .result import ExperimentResult


def input_only(ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3) -> ExperimentResult:
    """How many samples a second the input pipeline alone can give: the data set is read, and nothing done with it.

    Args:
        ds: a data set.
        n_steps: of one run, at most.
        max_seconds: of all runs.
        n_repeats: runs.

    Raises:
        TypeError: no data set, or one that can be read only once.
        ValueError: it is empty, or a bound is not positive.
    """
    from ..analysis.experiments.sentences import input_only_sentence
    from ..capture.experiments import setups

    bounds = make_bounds(n_steps, max_seconds, n_repeats)
    with progress_of("input", bounds, n_variants=1) as bar:
        measured = setups.input_only(ds, bounds, bar.tell)
    return result_of("input_only", measured, input_only_sentence)


def input_or_model(
    model: Any, ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3
) -> ExperimentResult:
    """Whether the input or the model limits the training, and whether they overlap.

    Three variants: `input alone` reads the data set, `model alone` trains on one batch in memory, `together` trains on the
    data set. Where both alone are much faster than together, they wait for each other.

    Args:
        model: compiled Keras model.
        ds: what it trains on.
        n_steps: of one run, at most.
        max_seconds: of each variant.
        n_repeats: runs of each variant.

    Raises:
        TypeError: no Keras model, no data set, or one that can be read only once.
        ValueError: the model is not compiled, the data set is empty, or a bound is not positive.
    """
    from ..analysis.experiments.sentences import input_or_model_sentence
    from ..capture.experiments import setups

    bounds = make_bounds(n_steps, max_seconds, n_repeats)
    with progress_of("input or model", bounds, n_variants=3) as bar:
        measured = setups.input_or_model(model, ds, bounds, bar.tell)
    names = (setups.INPUT, setups.MODEL, setups.TOGETHER)
    return result_of("input_or_model", measured, lambda table: input_or_model_sentence(table, *names))


def synthetic(
    model: Any, ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3
) -> ExperimentResult:
    """How fast the training would be if its input cost nothing: the first batch is fed again and again.

    Two variants: `together` trains on the data set, `model alone` on one batch in memory, which is still copied to the device
    each step.

    Args:
        model: compiled Keras model.
        ds: what it trains on.
        n_steps: of one run, at most.
        max_seconds: of each variant.
        n_repeats: runs of each variant.

    Raises:
        TypeError: no Keras model, no data set, or one that can be read only once.
        ValueError: the model is not compiled, the data set is empty, or a bound is not positive.
    """
    from ..analysis.experiments.sentences import synthetic_sentence
    from ..capture.experiments import setups

    bounds = make_bounds(n_steps, max_seconds, n_repeats)
    with progress_of("synthetic", bounds, n_variants=2) as bar:
        measured = setups.synthetic(model, ds, bounds, bar.tell)
    return result_of("synthetic", measured, lambda table: synthetic_sentence(table, setups.TOGETHER, setups.MODEL))
