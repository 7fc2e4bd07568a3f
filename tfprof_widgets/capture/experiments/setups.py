"""setups: a model, its data and a question -> the variants that answer it, measured, with everything put back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..session.active import active_capture
from ..session.tf_profiler import import_tensorflow
from .callbacks import CallbackSet
from .inputs import Batches, are_alike
from .kept import Kept, run_preserved
from .measure import N_WARM_UP, Advance, Bounds, Measured, Run, Variant, measure, timed
from .training import Training, check_model, has_own_loss, other_loss, warn_epoch_end

INPUT, MODEL, TOGETHER = "input alone", "model alone", "together"
WITH, WITHOUT = "with callbacks", "without callbacks"
WHOLE = "everything"


class Reading:
    """Reads batches and does nothing with them."""

    def __init__(self, name: str, batches: Batches) -> None:
        self.name = name
        self.notices = list(batches.notices)
        self._batches = batches

    def prepare(self) -> None:
        """Nothing: a new iterator is made for each run."""

    def run(self, repeat: int, bounds: Bounds, advance: Advance) -> Run:
        """Measure one run on a new iterator."""
        try:
            n_steps, seconds = timed(functools.partial(next, self._batches.open()), bounds, advance)
        finally:
            self._batches.stop()
        return Run(self.name, repeat, n_steps, self._batches.n_samples(N_WARM_UP, n_steps), seconds)


def input_only(ds: Any, bounds: Bounds, advance: Advance) -> Measured:
    """The input pipeline alone."""
    import_tensorflow()

    def action(_: Kept) -> Measured:
        batches = _surveyed(ds, bounds)
        return _finished([Reading(INPUT, batches)], bounds, advance, [batches])

    return run_preserved(action, ds)


def input_or_model(model: Any, ds: Any, bounds: Bounds, advance: Advance) -> Measured:
    """The input alone, the model alone on one batch in memory, and both together."""
    import_tensorflow()
    check_model(model)

    def action(kept: Kept) -> Measured:
        batches = _surveyed(ds, bounds)
        variants: list[Variant] = [
            Reading(INPUT, batches),
            Training(MODEL, model, batches.again_and_again(), kept),
            Training(TOGETHER, model, batches, kept),
        ]
        return _finished(variants, bounds, advance, [batches])

    return run_preserved(action, model, ds)


def synthetic(model: Any, ds: Any, bounds: Bounds, advance: Advance) -> Measured:
    """Training as it is, and on one batch in memory."""
    import_tensorflow()
    check_model(model)

    def action(kept: Kept) -> Measured:
        batches = _surveyed(ds, bounds)
        variants = [
            Training(TOGETHER, model, batches, kept),
            Training(MODEL, model, batches.again_and_again(), kept),
        ]
        return _finished(variants, bounds, advance, [batches])

    return run_preserved(action, model, ds)


def batch_sizes(
    model: Any, make_ds: Callable[[int], Any], sizes: Sequence[int], bounds: Bounds, advance: Advance
) -> Measured:
    """Training at several batch sizes; one that does not fit into memory is left out."""
    import_tensorflow()
    check_model(model)
    wanted = tuple(dict.fromkeys(sizes))
    if not wanted or not all(isinstance(size, int) and size > 0 for size in wanted):
        raise ValueError(f"sizes={sizes!r} must be whole numbers of at least 1, such as [32, 64, 128].")

    def action(kept: Kept) -> Measured:
        made = [_surveyed(make_ds(size), bounds, where=f"make_ds({size})") for size in wanted]
        variants = [Training(f"batch {n}", model, batches, kept) for n, batches in zip(wanted, made, strict=True)]
        for size, batches, variant in zip(wanted, made, variants, strict=True):
            if batches.sizes[0] != size:
                variant.notices.append(f"make_ds({size}) makes batches of {batches.sizes[0]:,} samples.")
        return _finished(variants, bounds, advance, made, may_lack_memory=True)

    return run_preserved(action, model, make_ds)


def without_callbacks(
    model: Any, ds: Any, callbacks: Sequence[Any], bounds: Bounds, advance: Advance, *, each: bool
) -> Measured:
    """Training with callbacks, without them and, with `each`, without one of them at a time."""
    import_tensorflow()
    check_model(model)
    given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    if not given or not all(hasattr(callback, "on_train_batch_end") for callback in given):
        raise ValueError(f"callbacks={callbacks!r} must be a list of Keras callbacks, with at least one.")

    def action(kept: Kept) -> Measured:
        batches = _surveyed(ds, bounds)

        def variant(name: str, some: Sequence[Any]) -> Training:
            return Training(name, model, batches, kept, callbacks=CallbackSet(some, kept.shared))

        variants = [variant(WITH, given), variant(WITHOUT, [])]
        if each and len(given) > 1:
            names = _distinct([type(callback).__name__ for callback in given])
            variants += [
                variant(f"without {name}", [other for other in given if other is not callback])
                for name, callback in zip(names, given, strict=True)
            ]
        measured = _finished(variants, bounds, advance, [batches])
        return _with_notices(measured, warn_epoch_end(variants))

    return run_preserved(action, model, ds, *given)


def ablate(
    model: Any,
    source: Any,
    stages: Mapping[str, Callable[[Any], Any]],
    bounds: Bounds,
    advance: Advance,
    *,
    drop: Sequence[str] | None,
    replace: Mapping[str, Callable[[Any], Any]],
    loss: Any,
) -> Measured:
    """Training as it is, without one stage of the input at a time, with one replaced, and with another loss."""
    import_tensorflow()
    check_model(model)
    for name in (*(drop or ()), *replace):
        if name not in stages:
            raise ValueError(f"{name!r} is no stage; the stages are {', '.join(map(repr, stages)) or 'none'}.")
    dropped = tuple(stages) if drop is None else tuple(drop)
    fields = None if loss is None else other_loss(model, loss)

    def action(kept: Kept) -> Measured:
        def batches_of(chosen: Mapping[str, Callable[[Any], Any]], where: str) -> Any:
            ds = source() if callable(source) and not hasattr(source, "element_spec") else source
            if not hasattr(ds, "element_spec"):
                raise TypeError(f"make_ds gives a {type(ds).__name__}: stages are applied to a tf.data.Dataset.")
            for stage in chosen.values():
                ds = stage(ds)
            return ds if where == WHOLE or are_alike(whole.dataset.element_spec, _spec(ds)) else None

        whole = _surveyed(batches_of(stages, WHOLE), bounds, where="the data set with all stages")
        variants = [Training(WHOLE, model, whole, kept)]
        made, notices = [whole], []
        ways = [(f"without {name}", {k: v for k, v in stages.items() if k != name}) for name in dropped]
        ways += [(f"{name} replaced", {**stages, name: replace[name]}) for name in stages if name in replace]
        for name, chosen in ways:
            ds = batches_of(chosen, name)
            batches = None if ds is None else _surveyed(ds, bounds, where=f"the data set {name}")
            if batches is None or not _same_sizes(whole, batches):
                notices.append(f'"{name}" was left out: its batches have other shapes. Replace that stage instead.')
                continue
            made.append(batches)
            variants.append(Training(name, model, batches, kept))
        if fields is not None:
            name = f"loss {getattr(loss, 'name', None) or getattr(loss, '__name__', None) or loss}"
            variants.append(Training(name, model, whole, kept, fields=fields))
            if has_own_loss(model):
                notices.append(
                    "The model has a train_step or compute_loss of its own, which may not use the other loss."
                )
        if len(variants) == 1:
            raise ValueError(
                " ".join(["There is nothing to compare: give stages to drop or replace, or a loss.", *notices])
            )
        return _with_notices(_finished(variants, bounds, advance, made), notices)

    return run_preserved(action, model, source, *stages.values(), *replace.values())


def _spec(ds: Any) -> Any:
    return getattr(ds, "element_spec", None)


def _same_sizes(whole: Batches, other: Batches) -> bool:
    """Whether the first batches agree in all dimensions that one step needs: a stage may have made the batches."""
    import tensorflow as tf

    first, second = (next(iter(batches.examples.values())) for batches in (whole, other))
    pairs = zip(tf.nest.flatten(first), tf.nest.flatten(second), strict=True)
    return all(tuple(a.shape[1:]) == tuple(b.shape[1:]) for a, b in pairs if hasattr(a, "shape") and len(a.shape))


def _surveyed(data: Any, bounds: Bounds, *, where: str = "ds") -> Batches:
    batches = Batches(data, where=where)
    batches.survey(N_WARM_UP + bounds.n_steps, bounds.max_seconds)
    return batches


def _finished(
    variants: Sequence[Variant],
    bounds: Bounds,
    advance: Advance,
    sources: Sequence[Batches],
    *,
    may_lack_memory: bool = False,
) -> Measured:
    """Measure, and say what a reader of the numbers must know."""
    measured = measure(variants, bounds, advance, may_lack_memory=may_lack_memory)
    told = []
    if active_capture() is not None:
        told.append("A capture was running meanwhile, which makes every step slower.")
    short = min((n for batches in sources if (n := batches.n_batches) is not None), default=None)
    if short is not None and short < bounds.n_steps:
        told.append(f"The data set has {short:,} batches, so it was repeated to get {bounds.n_steps:,} steps.")
    fewest = min((run.n_steps for run in measured.runs), default=bounds.n_steps)
    if fewest < bounds.n_steps:
        told.append(
            f"The bound of {bounds.max_seconds:g} s a variant was met: runs of {fewest:,} steps instead of {bounds.n_steps:,}."
        )
    if bounds.n_repeats == 1:
        told.append("One repeat gives no interval.")
    return _with_notices(measured, told)


def _with_notices(measured: Measured, more: Sequence[str]) -> Measured:
    return Measured(measured.variants, measured.runs, tuple(dict.fromkeys([*measured.notices, *more])))


def _distinct(names: Sequence[str]) -> list[str]:
    """Names told apart by a number where they are the same."""
    return [name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}" for i, name in enumerate(names)]
