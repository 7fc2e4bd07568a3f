"""A rule of the advice and the `fit` that it is about -> the training as it is and as the advice would have it, measured."""

from __future__ import annotations

from collections.abc import Callable

from ..source.fit_call import Fitted
from .callbacks import CallbackSet
from .inputs import Batches
from .kept import Kept
from .measure import Bounds, Measured, Variant
from .setups import MODEL, TOGETHER, WITH, WITHOUT, Plan, measure_planned, surveyed
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


_VARIANTS: dict[str, Variants] = {"input_bound": _without_input, "host_callback": _without_callbacks}
HOW = {"input_bound": "with one batch from memory", "host_callback": "without callbacks"}
"""In words how the second variant trains."""


def measurable_rules(fit: Fitted | None) -> tuple[str, ...]:
    """Rules of which the advice on this training can be measured."""
    if fit is None or not getattr(fit.model, "compiled", False):
        return ()
    return tuple(rule for rule in _VARIANTS if fit.callbacks or rule != "host_callback")


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
        return Plan(_VARIANTS[rule](fit, batches, kept), [batches])

    return measure_planned(plan, bounds, lambda _: None, fit.model, fit.data, *fit.callbacks)
