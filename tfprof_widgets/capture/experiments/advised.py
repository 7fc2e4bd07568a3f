"""A rule of the advice and the `fit` that it is about -> the training as it is and as the advice would have it, measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..source.fit_call import Fitted
from .callbacks import CallbackSet
from .inputs import Batches
from .kept import Kept
from .measure import N_WARM_UP, Bounds, Measured, Variant
from .setups import AS_IS, MODEL, TOGETHER, WITH, WITHOUT, Plan, measure_planned, surveyed
from .training import Training, check_model

BOUNDS = Bounds(n_steps=30, max_seconds=6, n_repeats=3)
"""Somebody waits for it, and the kernel does nothing else meanwhile."""

Variants = Callable[[Fitted, Batches, Kept], tuple[Variant, Variant]]


def _without_input(fit: Fitted, batches: Batches, kept: Kept) -> tuple[Variant, Variant]:
    again = batches.again_and_again()
    return Training(TOGETHER, fit.model, batches, kept), Training(MODEL, fit.model, again, kept)


def _without_callbacks(fit: Fitted, batches: Batches, kept: Kept) -> tuple[Variant, Variant]:
    sets = [CallbackSet(some, kept.shared) for some in (fit.callbacks, ())]
    own, none = (Training(n, fit.model, batches, kept, callbacks=s) for n, s in zip((WITH, WITHOUT), sets, strict=True))
    return own, none


def _compiled(fit: Fitted, batches: Batches, kept: Kept) -> tuple[Variant, Variant]:
    own = Training(AS_IS, fit.model, batches, kept)
    return own, Training("compiled", fit.model, batches, kept, fields={"_jit_compile": True})


def _twice_the_batch(fit: Fitted, batches: Batches, kept: Kept) -> tuple[Variant, Variant]:
    twice = batches.together(2)
    twice.survey(N_WARM_UP + 1, BOUNDS.max_seconds)
    return Training(AS_IS, fit.model, batches, kept), Training("twice the batch", fit.model, twice, kept)


def _has_callbacks(fit: Fitted) -> bool:
    return bool(fit.callbacks)


def _is_interpreted(fit: Fitted) -> bool:
    return not (fit.model.jit_compile or fit.model.run_eagerly)


@dataclass(frozen=True)
class Advised:
    """How a training is changed to measure what an advice saves."""

    how: str
    """In words how the second variant trains."""
    variants: Variants
    can_be: Callable[[Fitted], bool] = bool
    """Whether a training can be changed so; any can where nothing is said of it."""
    words: str = ""
    """What the advised fix says where this is what it does: a rule may advise another thing, too."""
    per: str = "step"
    """What the times are of: a `step`, or a `sample` where steps have different batches."""


_COMPILED = Advised("compiled by XLA", _compiled, _is_interpreted, words="jit_compile=True")
_TWICE = Advised("with twice the batch", _twice_the_batch, words="larger batch", per="sample")
ADVISED: dict[str, Advised] = {
    "input_bound": Advised("with one batch from memory", _without_input),
    "host_callback": Advised("without callbacks", _without_callbacks, _has_callbacks),
    "launch_bound": _COMPILED,
    "unfused_optimizer": _COMPILED,
    **dict.fromkeys(("small_batch", "few_blocks", "low_utilisation", "memory_headroom"), _TWICE),
}


def measurable_rules(fit: Fitted | None) -> dict[str, str]:
    """Rules of which the advice on this training can be measured, and what its fix says then."""
    if fit is None or not getattr(fit.model, "compiled", False):
        return {}
    return {rule: advised.words for rule, advised in ADVISED.items() if advised.can_be(fit)}


def measure_rule(rule: str, fit: Fitted, bounds: Bounds = BOUNDS) -> Measured:
    """Train some steps as they are and as the advice would have them at most; everything is put back.

    Args:
        rule: one of `measurable_rules`.
        fit: what to train.
        bounds: how much may be measured of each.

    Raises:
        TypeError, ValueError: it cannot be trained so; the message says why.
    """
    check_model(fit.model)

    def plan(kept: Kept) -> Plan:
        batches = surveyed(fit.data, bounds)
        return Plan(ADVISED[rule].variants(fit, batches, kept), [batches])

    return measure_planned(plan, bounds, lambda _: None, fit.model, fit.data, *fit.callbacks)
