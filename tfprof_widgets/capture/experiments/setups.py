"""setups: the variants that answer a question -> their runs, measured, with everything put back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..session.active import active_capture
from ..session.tf_profiler import import_tensorflow
from .inputs import Batches
from .kept import Kept, run_preserved
from .measure import N_WARM_UP, Advance, Bounds, Measured, Run, Variant, measure, timed
from .training import Training, warn_epoch_end

INPUT, MODEL, TOGETHER = "input alone", "model alone", "together"
WITH, WITHOUT = "with callbacks", "without callbacks"
WHOLE = "everything"
AS_IS = "as it is"
"""Names of variants."""


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


def same_sizes(whole: Batches, other: Batches) -> bool:
    """Whether the first batches agree in all dimensions that one step needs: a stage may have made the batches."""
    import tensorflow as tf

    first, second = (next(iter(batches.examples.values())) for batches in (whole, other))
    pairs = zip(tf.nest.flatten(first), tf.nest.flatten(second), strict=True)
    return all(tuple(a.shape[1:]) == tuple(b.shape[1:]) for a, b in pairs if hasattr(a, "shape") and len(a.shape))


def surveyed(data: Any, bounds: Bounds, *, where: str = "ds") -> Batches:
    """The batches of a data set, as many looked at as an experiment needs; `where` is what to call it in a message."""
    batches = Batches(data, where=where)
    batches.survey(N_WARM_UP + bounds.n_steps, bounds.max_seconds)
    return batches


def measure_planned(plan: Callable[[Kept], Plan], bounds: Bounds, advance: Advance, *roots: Any) -> Measured:
    """Measure what is planned, say what a reader of the numbers must know, and put back what `roots` held.

    Raises:
        CaptureError: TensorFlow is not installed.
    """
    import_tensorflow()

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


def distinct(names: Sequence[str]) -> list[str]:
    """Names told apart by a number where they are the same."""
    return [name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}" for i, name in enumerate(names)]
