"""Other batch sizes, and a training without its callbacks, stages of its input or its loss: what each costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .measuring import make_bounds, progress_of, result_of
from .result import ExperimentResult


def batch_sizes(
    model: Any,
    make_ds: Callable[[int], Any],
    sizes: Sequence[int],
    *,
    n_steps: int = 50,
    max_seconds: float = 10,
    n_repeats: int = 3,
) -> ExperimentResult:
    """Samples a second by batch size. A size that does not fit into memory has no numbers, and the result says so.

    Args:
        model: compiled Keras model.
        make_ds: makes the data set for a batch size, such as `lambda size: samples.batch(size).prefetch(2)`.
        sizes: to try; the first is what the others are compared with.
        n_steps: of one run, at most.
        max_seconds: of each size.
        n_repeats: runs of each size.

    Raises:
        TypeError: no Keras model, or what `make_ds` makes is no data set.
        ValueError: the model is not compiled, a size or a bound is not positive, or a data set is empty.
    """
    from ..analysis.experiments.sentences import batch_sizes_sentence
    from ..capture.experiments import setups

    bounds = make_bounds(n_steps, max_seconds, n_repeats)
    with progress_of("batch sizes", bounds, n_variants=len(sizes)) as bar:
        measured = setups.batch_sizes(model, make_ds, sizes, bounds, bar.tell)
    return result_of("batch_sizes", measured, batch_sizes_sentence)


def without_callbacks(
    model: Any,
    ds: Any,
    callbacks: Sequence[Any],
    *,
    each: bool = False,
    n_steps: int = 50,
    max_seconds: float = 10,
    n_repeats: int = 3,
) -> ExperimentResult:
    """What the callbacks of a training cost: the training with them and without any.

    They run on copies, or themselves where they cannot be copied (a notice names them), for one epoch of `n_steps` steps. Its
    end is called too, with the metrics of the training in place of a validation, and told in a notice, as it comes once an
    epoch only. `ModelCheckpoint`, `BackupAndRestore`, `CSVLogger` and `TensorBoard` write into a folder that is deleted;
    callbacks of your own write where they always do.

    Args:
        model: compiled Keras model.
        ds: what it trains on.
        callbacks: as for `model.fit`.
        each: also leave out one callback at a time.
        n_steps: of one run, at most.
        max_seconds: of each variant.
        n_repeats: runs of each variant.

    Raises:
        TypeError: no Keras model, no data set, or one that can be read only once.
        ValueError: the model is not compiled, there are no callbacks, the data set is empty, or a bound is not positive.
    """
    from ..analysis.experiments.sentences import changes_sentence
    from ..capture.experiments import setups

    bounds = make_bounds(n_steps, max_seconds, n_repeats)
    n_variants = 2 + (len(callbacks) if each and len(callbacks) > 1 else 0)
    with progress_of("callbacks", bounds, n_variants=n_variants) as bar:
        measured = setups.without_callbacks(model, ds, callbacks, bounds, bar.tell, each=each)
    return result_of("without_callbacks", measured, changes_sentence)


def ablate(
    model: Any,
    make_ds: Any,
    stages: Mapping[str, Callable[[Any], Any]] | Sequence[Callable[[Any], Any]] = (),
    *,
    drop: Sequence[str] | None = None,
    replace: Mapping[str, Callable[[Any], Any]] | None = None,
    loss: Any = None,
    n_steps: int = 50,
    max_seconds: float = 10,
    n_repeats: int = 3,
) -> ExperimentResult:
    """What each stage of the input costs, and what the loss costs: the training without one of them at a time.

        ablate(
            model,
            files,
            stages={"decode": lambda ds: ds.map(decode), "augment": lambda ds: ds.map(augment), "batch": lambda ds: ds.batch(32)},
            replace={"decode": lambda ds: ds.map(blank_image)},
            loss=lambda y, y_pred: keras.ops.mean(y_pred),
        )

    A stage that the model cannot do without, because its batches would have other shapes, is left out with a notice.

    Args:
        model: compiled Keras model.
        make_ds: where the stages begin: a `tf.data.Dataset`, or a function without arguments that returns one.
        stages: functions from data set to data set by name, in the order in which they are applied; of a sequence of
            functions their `__name__` is the name.
        drop: names of stages to leave out in turn; all where it is not given.
        replace: what to put in the place of a stage, such as a cheap stand-in with the same output; one variant each.
        loss: another loss, as `compile` takes it; the loss weights stay. None leaves the loss alone.
        n_steps: of one run, at most.
        max_seconds: of each variant.
        n_repeats: runs of each variant.

    Raises:
        TypeError: no Keras model, or no `tf.data.Dataset`.
        ValueError: the model is not compiled, a name is no stage, nothing is left to compare, or a bound is not positive.
    """
    from ..analysis.experiments.sentences import changes_sentence
    from ..capture.experiments import setups

    named = _named(stages)
    other = dict(replace or {})
    bounds = make_bounds(n_steps, max_seconds, n_repeats)
    n_variants = 1 + len(named if drop is None else drop) + len(other) + (loss is not None)
    with progress_of("ablation", bounds, n_variants=n_variants) as bar:
        measured = setups.ablate(model, make_ds, named, bounds, bar.tell, drop=drop, replace=other, loss=loss)
    return result_of("ablate", measured, changes_sentence)


def _named(
    stages: Mapping[str, Callable[[Any], Any]] | Sequence[Callable[[Any], Any]],
) -> dict[str, Callable[[Any], Any]]:
    if isinstance(stages, Mapping):
        return dict(stages)
    named = {getattr(stage, "__name__", repr(stage)): stage for stage in stages}
    if len(named) != len(stages):
        raise ValueError("Several stages have the same name: give a dict of names and functions.")
    return named
