"""experiments: parts of a training program switched off, replaced or resized -> how much faster it would be, measured.

Examples:
    >>> result = tfprof.experiments.input_or_model(model, dataset, n_steps=5, n_repeats=1)
    >>> what_limits = result.sentence

Every experiment runs a few steps for real and puts everything back bit for bit, also after Ctrl-C and after an error, which is
raised again: weights, optimizer, metrics, random state (Keras, TensorFlow, NumPy, Python), compiled functions, history,
`stop_training`, attributes of the model, of its callbacks and of your own objects that they hold. What was not built before
is not built afterwards. What cannot be put back: what callbacks and data sets of your own write to files or send away, and
the position of a generator that others read too.

Variants are measured in turns, every other round backwards, and a run begins on a new iterator with the model's own weights.
Tracing and the first steps do not count. A data set that is too short is repeated; the result says so.

All raise a TypeError for what is no model or data set, or can be read only once, and a ValueError for a model that is not
compiled, an empty data set, and a bound that is not positive.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .analysis import experiments as words
from .analysis.common import number
from .analysis.table import TableProperty
from .capture import experiments as capture
from .capture.experiments import INPUT, MODEL, TOGETHER, Bounds, Plan, Variant
from .capture.restoring import Kept
from .export.document import BarRow, bar_table
from .progress import Progress

__all__ = [
    "ExperimentResult",
    "ablate",
    "batch_sizes",
    "input_only",
    "input_or_model",
    "synthetic",
    "without_callbacks",
]

Sentence = Callable[[pd.DataFrame], str]
"""From the table of rates."""
Stages = Mapping[str, Callable[[Any], Any]]
"""Functions from data set to data set by name."""


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What an experiment measured; it holds numbers and texts only, nothing of the model. A notebook shows a bar for each
    variant with its interval, as HTML without scripts.
    """

    name: str
    """Name of the function that made it."""
    _frame: pd.DataFrame
    _table: pd.DataFrame
    sentence: str
    """What was found; differences within noise are called so."""
    notices: tuple[str, ...]
    """What you must know first, such as a bound that was met; a sentence each, mostly empty."""

    frame = TableProperty("experiment(...).frame", lambda self: self._frame)
    table = TableProperty("experiment(...).table", lambda self: self._table)

    def __repr__(self) -> str:
        return f"<ExperimentResult {self.name}: {self.sentence}>"

    def __str__(self) -> str:
        rows = self.table.to_string(index=False, float_format=lambda value: f"{value:,.4g}")
        return "\n".join([self.sentence, rows, *self.notices])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        rates, highs = (list(filter(math.isfinite, self.table[key])) for key in ("samples_per_second", "high"))
        # An interval of two repeats can reach far out: it may take half of the room, and is cut there.
        longest = min(max([*rates, *highs], default=1.0), 2 * max(rates, default=1.0))
        columns = ("", "samples/s", "95 % interval", "ms a step", "ratio")
        bars = [_bar_row(row) for row in self.table.to_dict("records")]
        chart = bar_table(self.sentence, columns, bars, longest=longest, notices=self.notices)
        return {"text/plain": str(self), "text/html": chart}


def _bar_row(row: dict[Any, Any]) -> BarRow:
    rate, low, high = row["samples_per_second"], row["low"], row["high"]
    if not math.isfinite(rate):
        return BarRow(str(row["variant"]), ("out of memory",))
    interval = f"{number(low)} to {number(high)}" if math.isfinite(low) and high < 1e9 else "unknown"
    cells = (number(rate), interval, number(row["step_time_ms"]), f"{row['ratio']:.2f}")
    return BarRow(str(row["variant"]), cells, rate, (low, high))


_TITLES = {"input_only": "input", "without_callbacks": "callbacks", "ablate": "ablation"}


def progress_of(name: str, bounds: Bounds, *, n_variants: int) -> Progress:
    """The progress of all steps at most; what runs into its bound of time is done as well."""
    total = n_variants * bounds.n_repeats * bounds.n_steps
    return Progress(_TITLES.get(name, name.replace("_", " ")), unit="step", total=total, is_scaled=False)


def measured(
    name: str, plan: Plan, bounds: Bounds, roots: Sequence[Any], n_variants: int, sentence: Sentence
) -> ExperimentResult:
    """Measure what is planned, at most `n_variants`; `roots` are models, data sets and callbacks that are put back."""
    with progress_of(name, bounds, n_variants=n_variants) as bar:
        found = capture.measure(plan, bounds, bar.tell, *roots)
    frame = words.run_frame(found.runs)
    table = words.rate_table(frame, found.variants)
    return ExperimentResult(name, frame, table, sentence(table), found.notices)


def _with_parts(
    name: str, model: Any, ds: Any, bounds: Bounds, variants: Sequence[str], sentence: Sentence
) -> ExperimentResult:
    def plan(_: Kept) -> list[Variant]:
        return capture.parts(model, capture.surveyed(ds, bounds), variants)

    return measured(name, plan, bounds, (model, ds), len(variants), sentence)


def input_only(ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3) -> ExperimentResult:
    """How many samples a second the input pipeline alone can give: the data set is read, and nothing done with it.

    Args:
        ds: a `tf.data.Dataset`, a `keras.utils.PyDataset`, arrays `(x, y)` or `(x, y, sample_weight)`, or a function
            without arguments that returns one.
        n_steps: measured steps of one run, at most.
        max_seconds: for how many seconds the runs of one variant are measured, all together; warm-up and tracing come
            on top. A step that has begun ends, and one step is always measured.
        n_repeats: runs of each variant; an interval needs two, and three make it useful.

    Examples:
        >>> result = tfprof.experiments.input_only(dataset, n_steps=5, n_repeats=1)
        >>> result.table["variant"].tolist()
        ['input alone']
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    return _with_parts("input_only", None, ds, bounds, (INPUT,), words.input_only_sentence)


def input_or_model(
    model: Any, ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3
) -> ExperimentResult:
    """Whether the input or the model limits the training, and whether they overlap.

    Three variants: `input alone` reads the data set, `model alone` trains on one batch in memory, `together` trains on
    the data set. Where both alone are much faster than together, they wait for each other. `n_steps`, `max_seconds` and
    `n_repeats` are as of `input_only`.

    Args:
        model: a compiled Keras model.
        ds: what it trains on, as of `input_only`.

    Examples:
        >>> result = tfprof.experiments.input_or_model(model, dataset, n_steps=5, n_repeats=1)
        >>> result.table["variant"].tolist()
        ['input alone', 'model alone', 'together']
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    capture.check_model(model)
    return _with_parts("input_or_model", model, ds, bounds, (INPUT, MODEL, TOGETHER), words.input_or_model_sentence)


def synthetic(
    model: Any, ds: Any, *, n_steps: int = 50, max_seconds: float = 10, n_repeats: int = 3
) -> ExperimentResult:
    """How fast the training would be if its input cost nothing: the first batch is fed again and again.

    Two variants: `together` trains on the data set, `model alone` on one batch in memory, which is still copied to the
    device each step. `model`, `ds`, `n_steps`, `max_seconds` and `n_repeats` are as of `input_or_model`.
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    capture.check_model(model)
    return _with_parts("synthetic", model, ds, bounds, (TOGETHER, MODEL), words.synthetic_sentence)


def batch_sizes(
    model: Any,
    make_ds: Callable[[int], Any],
    sizes: Sequence[int],
    *,
    n_steps: int = 50,
    max_seconds: float = 10,
    n_repeats: int = 3,
) -> ExperimentResult:
    """How many samples a second the training takes with each batch size. A size that does not fit into memory has no
    numbers.

    `n_steps`, `max_seconds` and `n_repeats` are as of `input_only`.

    Args:
        model: a compiled Keras model.
        make_ds: makes the data set for a batch size, such as `lambda size: samples.batch(size).prefetch(2)`.
        sizes: to try; the first is what the others are compared with.

    Examples:
        >>> samples = dataset.unbatch()
        >>> result = tfprof.experiments.batch_sizes(model, samples.batch, [4, 8], n_steps=5, n_repeats=1)
        >>> result.table["variant"].tolist()
        ['batch 4', 'batch 8']
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    capture.check_model(model)
    wanted = dict.fromkeys(sizes)
    if not wanted or not all(isinstance(size, int) and size > 0 for size in wanted):
        raise ValueError(f"sizes={sizes!r} must be whole numbers of at least 1, such as [32, 64, 128].")

    def plan(_: Kept) -> list[Variant]:
        variants = []
        for size in wanted:
            batches = capture.surveyed(make_ds(size), bounds, where=f"make_ds({size})")
            variants.append(Variant(f"batch {size}", batches, model, may_lack_memory=True))
            if batches.sizes[0] != size:
                variants[-1].notices.append(f"make_ds({size}) makes batches of {batches.sizes[0]:,} samples.")
        return variants

    return measured("batch_sizes", plan, bounds, (model, make_ds), len(wanted), words.batch_sizes_sentence)


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

    They run on copies, or themselves where they cannot be copied (a notice names them), for one epoch of `n_steps`
    steps. Its end is called too, with the metrics of the training in place of a validation, and told in a notice, as it
    comes once an epoch only. `ModelCheckpoint`, `BackupAndRestore`, `CSVLogger` and `TensorBoard` write into a folder
    that is deleted; callbacks of your own write where they always do. `max_seconds` and `n_repeats` are as of
    `input_only`.

    Args:
        model: a compiled Keras model.
        ds: what it trains on, as of `input_only`.
        callbacks: as for `model.fit`, at least one.
        each: also leave out one callback at a time, a variant for each.
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    capture.check_model(model)
    given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    if not given or not all(hasattr(callback, "on_train_batch_end") for callback in given):
        raise ValueError(f"callbacks={callbacks!r} must be a list of Keras callbacks, with at least one.")
    sets: dict[str, Sequence[Any]] = {capture.WITH: given, capture.WITHOUT: []}
    if each and len(given) > 1:
        names = [type(callback).__name__ for callback in given]
        for i, (name, callback) in enumerate(zip(names, given, strict=True)):
            number = f" {names[: i + 1].count(name)}" if names.count(name) > 1 else ""
            sets[f"without {name}{number}"] = [other for other in given if other is not callback]

    def plan(kept: Kept) -> list[Variant]:
        return capture.with_sets(model, capture.surveyed(ds, bounds), sets, kept)

    return measured("without_callbacks", plan, bounds, (model, ds, *given), len(sets), words.changes_sentence)


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

    A stage that the model cannot do without, because its batches would have other shapes, is left out with a notice.
    `n_steps`, `max_seconds` and `n_repeats` are as of `input_only`.

    Args:
        model: a compiled Keras model.
        make_ds: where the stages begin: a `tf.data.Dataset`, or a function without arguments that returns one.
        stages: functions from data set to data set by name, in the order in which they are applied; of a sequence of
            functions their `__name__` is the name.
        drop: names of stages to leave out in turn; all where it is not given.
        replace: what to put in the place of a stage, such as a stand-in with the same output; one variant each.
        loss: another loss, as `compile` takes it; the loss weights stay. None leaves the loss alone.

    Raises:
        ValueError: a name is no stage, or nothing is to compare.

    Examples:
        >>> stages = {"shuffle": lambda ds: ds.shuffle(64), "prefetch": lambda ds: ds.prefetch(2)}
        >>> result = tfprof.experiments.ablate(model, dataset, stages, n_steps=5, n_repeats=1)
        >>> result.table["variant"].tolist()
        ['everything', 'without shuffle', 'without prefetch']
    """
    named, other = _named(stages), dict(replace or {})
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    capture.check_model(model)
    ways = _ways(named, drop, other)
    fields = None if loss is None else capture.other_loss(model, loss)

    notices: list[str] = []

    def plan(_: Kept) -> list[Variant]:
        fitting = _fitting_ways(make_ds, named, ways, bounds, notices)
        variants = [Variant(name, batches, model) for name, batches in fitting.items()]
        if fields is not None:
            loss_name = getattr(loss, "name", None) or getattr(loss, "__name__", None) or loss
            variants.append(Variant(f"loss {loss_name}", fitting[_WHOLE], model, fields))
            notices.extend([_OWN_LOSS] if capture.has_own_loss(model) else ())
        if len(variants) == 1:
            raise ValueError(" ".join([_NOTHING_TO_COMPARE, *notices]))
        return variants

    n_variants = 1 + len(ways) + (loss is not None)
    roots = (model, make_ds, *named.values(), *other.values())
    result = measured("ablate", plan, bounds, roots, n_variants, words.changes_sentence)
    return dataclasses.replace(result, notices=(*result.notices, *notices))


_WHOLE = "everything"
_NOTHING_TO_COMPARE = "There is nothing to compare: give stages to drop or replace, or a loss."
_OWN_LOSS = "The model has a train_step or compute_loss of its own, which may not use the other loss."


def _ways(named: Stages, drop: Sequence[str] | None, other: Stages) -> dict[str, Stages]:
    """The stages of each variant: those without one of `drop` (None: of all), and those with one of `other` in its place."""
    for name in (*(drop or ()), *other):
        if name not in named:
            raise ValueError(f"{name!r} is no stage; the stages are {', '.join(map(repr, named)) or 'none'}.")
    without = named if drop is None else drop
    ways: dict[str, Stages] = {f"without {name}": {k: v for k, v in named.items() if k != name} for name in without}
    return ways | {f"{name} replaced": {**named, name: other[name]} for name in named if name in other}


def _fitting_ways(
    make_ds: Any, named: Stages, ways: Mapping[str, Stages], bounds: Bounds, notices: list[str]
) -> dict[str, capture.Batches]:
    """The batches of all stages and of each variant whose batches have the same shapes; notices of the others are added."""
    whole = capture.surveyed(_staged(make_ds, named), bounds, where="the data set with all stages")
    fitting = {_WHOLE: whole}
    for name, stages in ways.items():
        batches = capture.fitting(whole, _staged(make_ds, stages), bounds, where=f"the data set {name}")
        if batches is not None:
            fitting[name] = batches
        else:
            notices.append(f'"{name}" was left out: its batches have other shapes. Replace that stage instead.')
    return fitting


def _staged(source: Any, stages: Stages) -> Any:
    """What the stages make of a `tf.data.Dataset`, or of what a function returns."""
    ds = source() if callable(source) and not hasattr(source, "element_spec") else source
    if not hasattr(ds, "element_spec"):
        raise TypeError(f"make_ds gives a {type(ds).__name__}: stages are applied to a tf.data.Dataset.")
    for stage in stages.values():
        ds = stage(ds)
    return ds


def _named(stages: Stages | Sequence[Callable[[Any], Any]]) -> Stages:
    if isinstance(stages, Mapping):
        return dict(stages)
    named = {getattr(stage, "__name__", repr(stage)): stage for stage in stages}
    if len(named) != len(stages):
        raise ValueError("Several stages have the same name: give a dict of names and functions.")
    return named
