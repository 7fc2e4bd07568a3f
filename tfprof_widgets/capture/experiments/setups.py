"""setups: a model, its data and a question -> the variants that answer it, measured, with everything put back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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


@dataclass
class Plan:
    """What an experiment runs."""

    variants: Sequence[Variant]
    sources: Sequence[Batches]
    """What they read."""
    notices: list[str] = field(default_factory=list)
    may_lack_memory: bool = False
    """Whether a variant that runs out of memory is left out, with a notice, instead of raising."""


def input_only(ds: Any, bounds: Bounds, advance: Advance) -> Measured:
    """The input pipeline alone."""
    import_tensorflow()

    def plan(_: Kept) -> Plan:
        batches = _surveyed(ds, bounds)
        return Plan([Reading(INPUT, batches)], [batches])

    return _measured(plan, bounds, advance, ds)


def input_or_model(model: Any, ds: Any, bounds: Bounds, advance: Advance) -> Measured:
    """The input alone, the model alone on one batch in memory, and both together."""
    check_model(model)

    def plan(kept: Kept) -> Plan:
        batches = _surveyed(ds, bounds)
        alone = Training(MODEL, model, batches.again_and_again(), kept)
        return Plan([Reading(INPUT, batches), alone, Training(TOGETHER, model, batches, kept)], [batches])

    return _measured(plan, bounds, advance, model, ds)


def synthetic(model: Any, ds: Any, bounds: Bounds, advance: Advance) -> Measured:
    """Training as it is, and on one batch in memory."""
    check_model(model)

    def plan(kept: Kept) -> Plan:
        batches = _surveyed(ds, bounds)
        alone = Training(MODEL, model, batches.again_and_again(), kept)
        return Plan([Training(TOGETHER, model, batches, kept), alone], [batches])

    return _measured(plan, bounds, advance, model, ds)


def batch_sizes(
    model: Any, make_ds: Callable[[int], Any], sizes: Sequence[int], bounds: Bounds, advance: Advance
) -> Measured:
    """Training at several batch sizes; one that does not fit into memory is left out."""
    check_model(model)
    wanted = tuple(dict.fromkeys(sizes))
    if not wanted or not all(isinstance(size, int) and size > 0 for size in wanted):
        raise ValueError(f"sizes={sizes!r} must be whole numbers of at least 1, such as [32, 64, 128].")

    def plan(kept: Kept) -> Plan:
        made = [_surveyed(make_ds(size), bounds, where=f"make_ds({size})") for size in wanted]
        variants = [Training(f"batch {n}", model, batches, kept) for n, batches in zip(wanted, made, strict=True)]
        for size, batches, variant in zip(wanted, made, variants, strict=True):
            if batches.sizes[0] != size:
                variant.notices.append(f"make_ds({size}) makes batches of {batches.sizes[0]:,} samples.")
        return Plan(variants, made, may_lack_memory=True)

    return _measured(plan, bounds, advance, model, make_ds)


def without_callbacks(
    model: Any, ds: Any, callbacks: Sequence[Any], bounds: Bounds, advance: Advance, *, each: bool
) -> Measured:
    """Training with callbacks, without them and, with `each`, without one of them at a time."""
    check_model(model)
    given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    if not given or not all(hasattr(callback, "on_train_batch_end") for callback in given):
        raise ValueError(f"callbacks={callbacks!r} must be a list of Keras callbacks, with at least one.")

    def plan(kept: Kept) -> Plan:
        batches = _surveyed(ds, bounds)
        chosen: dict[str, Sequence[Any]] = {WITH: given, WITHOUT: []}
        if each and len(given) > 1:
            names = _distinct([type(callback).__name__ for callback in given])
            for name, callback in zip(names, given, strict=True):
                chosen[f"without {name}"] = [other for other in given if other is not callback]
        return Plan(
            [
                Training(name, model, batches, kept, callbacks=CallbackSet(some, kept.shared))
                for name, some in chosen.items()
            ],
            [batches],
        )

    return _measured(plan, bounds, advance, model, ds, *given)


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
    check_model(model)
    for name in (*(drop or ()), *replace):
        if name not in stages:
            raise ValueError(f"{name!r} is no stage; the stages are {', '.join(map(repr, stages)) or 'none'}.")
    dropped = tuple(stages) if drop is None else tuple(drop)
    fields = None if loss is None else other_loss(model, loss)

    def plan(kept: Kept) -> Plan:
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
        return Plan(variants, made, notices)

    return _measured(plan, bounds, advance, model, source, *stages.values(), *replace.values())


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


def _measured(plan: Callable[[Kept], Plan], bounds: Bounds, advance: Advance, *roots: Any) -> Measured:
    """Measure what is planned, say what a reader of the numbers must know, and put back what `roots` held."""

    def action(kept: Kept) -> Measured:
        made = plan(kept)
        found = measure(made.variants, bounds, advance, may_lack_memory=made.may_lack_memory)
        told = [*found.notices, *_reservations(made, found.runs, bounds), *made.notices]
        return replace(found, notices=tuple(dict.fromkeys(told)))

    return run_preserved(action, *roots)


def _reservations(plan: Plan, runs: Sequence[Run], bounds: Bounds) -> Iterator[str]:
    if active_capture() is not None:
        yield "A capture was running meanwhile, which makes every step slower."
    short = min((n for batches in plan.sources if (n := batches.n_batches) is not None), default=None)
    if short is not None and short < bounds.n_steps:
        yield f"The data set has {short:,} batches, so it was repeated to get {bounds.n_steps:,} steps."
    fewest = min((run.n_steps for run in runs), default=bounds.n_steps)
    if fewest < bounds.n_steps:
        yield f"The bound of {bounds.max_seconds:g} s a variant was met: runs of {fewest:,} steps instead of {bounds.n_steps:,}."
    if bounds.n_repeats == 1:
        yield "One repeat gives no interval."
    yield from warn_epoch_end([variant for variant in plan.variants if isinstance(variant, Training)])


def _distinct(names: Sequence[str]) -> list[str]:
    """Names told apart by a number where they are the same."""
    return [name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}" for i, name in enumerate(names)]
