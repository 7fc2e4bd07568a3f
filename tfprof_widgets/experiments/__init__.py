"""experiments: parts of a training program switched off, replaced or resized -> how much faster it would be, measured.

    tfprof.experiments.input_or_model(model, ds)

Every experiment runs a few steps for real and puts everything back bit for bit, also after Ctrl-C and after an error, which is
raised again: weights, optimizer, metrics, random state (Keras, TensorFlow, NumPy, Python), compiled functions, history,
`stop_training`, attributes of the model, of its callbacks and of your own objects that they hold. What was not built before
is not built afterwards. What cannot be put back: what callbacks and data sets of your own write to files or send away, and
the position of a generator that others read too.

Variants are measured in turns, every other round backwards, and a run begins on a new iterator with the model's own weights.
Tracing and the first steps do not count. A data set that is too short is repeated; the result says so.

Arguments that all have:
    n_steps: of one run, at most.
    max_seconds: of the measured steps of one variant, all its runs together; warm-up and tracing come on top. A step that has
        begun ends, and one step is always measured.
    n_repeats: runs of each variant; an interval needs two, and three make it useful.

A data set is a `tf.data.Dataset`, a `keras.utils.PyDataset`, a tuple `(x, y)` or `(x, y, sample_weight)` of arrays, or a
function without arguments that returns one.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .result import ExperimentResult

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.experiments.measure import Advance, Bounds, Measured

__all__ = [
    "ExperimentResult",
    "ablate",
    "batch_sizes",
    "input_only",
    "input_or_model",
    "synthetic",
    "without_callbacks",
]

_SLOW_S = 1.0


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

    bounds = _bounds(n_steps, max_seconds, n_repeats)
    with _progress("input", bounds, n_variants=1) as advance:
        measured = setups.input_only(ds, bounds, advance)
    return _result("input_only", measured, input_only_sentence)


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

    bounds = _bounds(n_steps, max_seconds, n_repeats)
    with _progress("input or model", bounds, n_variants=3) as advance:
        measured = setups.input_or_model(model, ds, bounds, advance)
    names = (setups.INPUT, setups.MODEL, setups.TOGETHER)
    return _result("input_or_model", measured, lambda table: input_or_model_sentence(table, *names))


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

    bounds = _bounds(n_steps, max_seconds, n_repeats)
    with _progress("synthetic", bounds, n_variants=2) as advance:
        measured = setups.synthetic(model, ds, bounds, advance)
    return _result("synthetic", measured, lambda table: synthetic_sentence(table, setups.TOGETHER, setups.MODEL))


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

    bounds = _bounds(n_steps, max_seconds, n_repeats)
    with _progress("batch sizes", bounds, n_variants=len(sizes)) as advance:
        measured = setups.batch_sizes(model, make_ds, sizes, bounds, advance)
    return _result("batch_sizes", measured, batch_sizes_sentence)


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

    bounds = _bounds(n_steps, max_seconds, n_repeats)
    n_variants = 2 + (len(callbacks) if each and len(callbacks) > 1 else 0)
    with _progress("callbacks", bounds, n_variants=n_variants) as advance:
        measured = setups.without_callbacks(model, ds, callbacks, bounds, advance, each=each)
    return _result("without_callbacks", measured, changes_sentence)


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
    bounds = _bounds(n_steps, max_seconds, n_repeats)
    n_variants = 1 + len(named if drop is None else drop) + len(other) + (loss is not None)
    with _progress("ablation", bounds, n_variants=n_variants) as advance:
        measured = setups.ablate(model, make_ds, named, bounds, advance, drop=drop, replace=other, loss=loss)
    return _result("ablate", measured, changes_sentence)


def _named(
    stages: Mapping[str, Callable[[Any], Any]] | Sequence[Callable[[Any], Any]],
) -> dict[str, Callable[[Any], Any]]:
    if isinstance(stages, Mapping):
        return dict(stages)
    named = {getattr(stage, "__name__", repr(stage)): stage for stage in stages}
    if len(named) != len(stages):
        raise ValueError("Several stages have the same name: give a dict of names and functions.")
    return named


def _bounds(n_steps: int, max_seconds: float, n_repeats: int) -> Bounds:
    from ..capture.experiments.measure import Bounds

    return Bounds(n_steps=n_steps, max_seconds=max_seconds, n_repeats=n_repeats)


def _result(name: str, measured: Measured, sentence: Callable[[pd.DataFrame], str]) -> ExperimentResult:
    from ..analysis.experiments.rates import rate_table, run_frame

    runs = [(run.variant, run.repeat, run.n_steps, run.n_samples, run.seconds) for run in measured.runs]
    frame = run_frame(runs)
    table = rate_table(frame, measured.variants)
    return ExperimentResult(name, frame, table, sentence(table), measured.notices)


@contextlib.contextmanager
def _progress(name: str, bounds: Bounds, *, n_variants: int) -> Iterator[Advance]:
    """A bar for what takes longer than a second, where someone watches; gives what is told how many more steps are done."""
    from tqdm.auto import tqdm

    from ..profiles.display import in_notebook

    is_watched = in_notebook() or sys.stderr.isatty()
    total = n_variants * bounds.n_repeats * bounds.n_steps
    with tqdm(total=total, unit=" step", desc=name, delay=_SLOW_S, leave=False, disable=not is_watched) as bar:
        yield bar.update
        # What ran into its bound of time is done, too: a bar closed before its total is drawn as one that failed.
        bar.total = bar.n
