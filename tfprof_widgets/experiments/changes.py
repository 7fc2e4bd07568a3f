"""Other batch sizes, and a training without its callbacks, stages of its input or its loss: what each costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..analysis.experiments.sentences import batch_sizes_sentence, changes_sentence
from ..capture.experiments.callbacks import CallbackSet
from ..capture.experiments.inputs import Batches, are_alike
from ..capture.experiments.kept import Kept
from ..capture.experiments.measure import Bounds
from ..capture.experiments.setups import WHOLE, WITH, WITHOUT, Plan, distinct, same_sizes, surveyed
from ..capture.experiments.training import Training, check_model, has_own_loss, other_loss
from .measuring import measured
from .result import ExperimentResult

Stages = Mapping[str, Callable[[Any], Any]]
"""Functions from data set to data set by name."""
_OWN_LOSS = "The model has a train_step or compute_loss of its own, which may not use the other loss."


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

    Args:
        model: a compiled Keras model.
        make_ds: makes the data set for a batch size, such as `lambda size: samples.batch(size).prefetch(2)`.
        sizes: to try; the first is what the others are compared with.
        n_steps: measured steps of one run, at most.
        max_seconds: for how many seconds the runs of one variant are measured, all together.
        n_repeats: runs of each variant; an interval needs two, and three make it useful.

    Returns:
        The result, with a variant for each size.

    Raises:
        TypeError: no Keras model, or what `make_ds` makes is no data set.
        ValueError: the model is not compiled, a size or a bound is not positive, or a data set is empty.

    Examples:
        >>> samples = dataset.unbatch()
        >>> result = tfprof.experiments.batch_sizes(model, samples.batch, [4, 8], n_steps=5, n_repeats=1)
        >>> result.table["variant"].tolist()
        ['batch 4', 'batch 8']
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    check_model(model)
    wanted = tuple(dict.fromkeys(sizes))
    if not wanted or not all(isinstance(size, int) and size > 0 for size in wanted):
        raise ValueError(f"sizes={sizes!r} must be whole numbers of at least 1, such as [32, 64, 128].")

    def plan(kept: Kept) -> Plan:
        made = [surveyed(make_ds(size), bounds, where=f"make_ds({size})") for size in wanted]
        variants = [Training(f"batch {n}", model, batches, kept) for n, batches in zip(wanted, made, strict=True)]
        for size, batches, variant in zip(wanted, made, variants, strict=True):
            if batches.sizes[0] != size:
                variant.notices.append(f"make_ds({size}) makes batches of {batches.sizes[0]:,} samples.")
        return Plan(variants, made, may_lack_memory=True)

    return measured("batch_sizes", plan, bounds, (model, make_ds), len(wanted), batch_sizes_sentence)


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
    that is deleted; callbacks of your own write where they always do.

    Args:
        model: a compiled Keras model.
        ds: what it trains on, as of `input_only`.
        callbacks: as for `model.fit`.
        each: also leave out one callback at a time.
        n_steps: measured steps of one run, at most.
        max_seconds: for how many seconds the runs of one variant are measured, all together.
        n_repeats: runs of each variant; an interval needs two, and three make it useful.

    Returns:
        The result, with a variant with all callbacks, one without any and, with `each`, one without each.

    Raises:
        TypeError: no Keras model, no data set, or one that can be read only once.
        ValueError: the model is not compiled, there are no callbacks, the data set is empty, or a bound is not
            positive.
    """
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    check_model(model)
    given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    if not given or not all(hasattr(callback, "on_train_batch_end") for callback in given):
        raise ValueError(f"callbacks={callbacks!r} must be a list of Keras callbacks, with at least one.")
    chosen: dict[str, Sequence[Any]] = {WITH: given, WITHOUT: []}
    if each and len(given) > 1:
        names = distinct([type(callback).__name__ for callback in given])
        for name, callback in zip(names, given, strict=True):
            chosen[f"without {name}"] = [other for other in given if other is not callback]

    def plan(kept: Kept) -> Plan:
        batches = surveyed(ds, bounds)
        sets = {name: CallbackSet(some, kept.shared) for name, some in chosen.items()}
        return Plan([Training(name, model, batches, kept, callbacks=one) for name, one in sets.items()], [batches])

    return measured("without_callbacks", plan, bounds, (model, ds, *given), len(chosen), changes_sentence)


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

    Args:
        model: a compiled Keras model.
        make_ds: where the stages begin: a `tf.data.Dataset`, or a function without arguments that returns one.
        stages: functions from data set to data set by name, in the order in which they are applied; of a sequence of
            functions their `__name__` is the name.
        drop: names of stages to leave out in turn; all where it is not given.
        replace: what to put in the place of a stage, such as a cheap stand-in with the same output; one variant each.
        loss: another loss, as `compile` takes it; the loss weights stay. None leaves the loss alone.
        n_steps: measured steps of one run, at most.
        max_seconds: for how many seconds the runs of one variant are measured, all together.
        n_repeats: runs of each variant; an interval needs two, and three make it useful.

    Returns:
        The result, with the whole training and a variant for each change.

    Raises:
        TypeError: no Keras model, or no `tf.data.Dataset`.
        ValueError: the model is not compiled, a name is no stage, nothing is left to compare, or a bound is not
            positive.

    Examples:
        >>> stages = {"shuffle": lambda ds: ds.shuffle(64), "prefetch": lambda ds: ds.prefetch(2)}
        >>> result = tfprof.experiments.ablate(model, dataset, stages, n_steps=5, n_repeats=1)
        >>> result.table["variant"].tolist()
        ['everything', 'without shuffle', 'without prefetch']
    """
    named, other = _named(stages), dict(replace or {})
    bounds = Bounds(n_steps, max_seconds, n_repeats)
    check_model(model)
    ways = _ways(named, drop, other)
    fields = None if loss is None else other_loss(model, loss)

    def plan(kept: Kept) -> Plan:
        whole = surveyed(_staged(make_ds, named), bounds, where="the data set with all stages")
        every = {name: _fitting(_staged(make_ds, chosen), whole, name, bounds) for name, chosen in ways.items()}
        fitting = {WHOLE: whole} | {name: batches for name, batches in every.items() if batches is not None}
        notices = [
            f'"{name}" was left out: its batches have other shapes. Replace that stage instead.'
            for name, batches in every.items()
            if batches is None
        ]
        variants = [Training(name, model, batches, kept) for name, batches in fitting.items()]
        if fields is not None:
            variants.append(Training(_loss_name(loss), model, whole, kept, fields=fields))
            notices += [_OWN_LOSS] if has_own_loss(model) else []
        if len(variants) == 1:
            raise ValueError(
                " ".join(["There is nothing to compare: give stages to drop or replace, or a loss.", *notices])
            )
        return Plan(variants, list(fitting.values()), notices)

    n_variants = 1 + len(ways) + (loss is not None)
    roots = (model, make_ds, *named.values(), *other.values())
    return measured("ablate", plan, bounds, roots, n_variants, changes_sentence)


def _loss_name(loss: Any) -> str:
    return f"loss {getattr(loss, 'name', None) or getattr(loss, '__name__', None) or loss}"


def _ways(named: Stages, drop: Sequence[str] | None, other: Stages) -> dict[str, Stages]:
    """The stages of each variant: those without one of `drop` (None: of all), and those with one of `other` in its place."""
    for name in (*(drop or ()), *other):
        if name not in named:
            raise ValueError(f"{name!r} is no stage; the stages are {', '.join(map(repr, named)) or 'none'}.")
    without = named if drop is None else drop
    ways: dict[str, Stages] = {f"without {name}": {k: v for k, v in named.items() if k != name} for name in without}
    return ways | {f"{name} replaced": {**named, name: other[name]} for name in named if name in other}


def _fitting(ds: Any, whole: Batches, name: str, bounds: Bounds) -> Batches | None:
    """The batches of a variant; None where they have other shapes than those of all stages."""
    if not are_alike(whole.dataset.element_spec, getattr(ds, "element_spec", None)):
        return None
    batches = surveyed(ds, bounds, where=f"the data set {name}")
    return batches if same_sizes(whole, batches) else None


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
