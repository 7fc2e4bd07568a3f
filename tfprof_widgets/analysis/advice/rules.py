"""All rules -> the advice on one run, what matters most first."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from ..card import LAST, RULES, Advice, Fix, FoundAdvice, Rule, ranked
from ..common import typed_table
from ..events import Framework
from ..facts import Facts
from ..table import table
from . import busy, calls, device, host, input_rules, loops, memory_traffic, model, ops, python, workers  # noqa: F401 - these declare the rules
from .claims import MUCH, Claimed, stretches_of
from .run import Run

ADVICE = table(
    """
    advice_table: a piece of advice, the largest gain first, a larger batch behind causes
        rule        text   the rule that gave it
        severity    text   `high`, `medium` or `low`
        title       text   what to change, in a sentence
        gain_ratio  float  part of the step time that it could win at most
        fix         text   what to do: words, and code that can be pasted
        view        text   the view that shows it

    The list `advice` as a table, in the same order. Empty where that is.
    """,
    file="advice",
    read=lambda results: advice_table(results.advice),
)


__all__ = ["RULES", "Rule", "advice_table", "find_advice", "fitting", "without_explained"]

logger = logging.getLogger(__name__)

_OF_TENSORFLOW = re.compile(r"\btf\b|keras|tensorflow|dataset|on_train_batch|model\.\w+\(|TF_", re.I)
"""What a program of another framework has nothing of."""


def find_advice(results: Facts, rules: Iterable[Rule] | None = None) -> tuple[FoundAdvice, Claimed | None]:
    """Ask rules what to change, those on causes first, and which time each is about; gains are upper bounds. A rule that fails
    takes no other along; none is asked where memory ran out or what computed the steps is missing."""
    environment = results.environment
    if results.failure is not None or environment.unrecorded or environment.framework == "PyTorch":
        return FoundAdvice(()), None
    run = Run(results)
    found: list[Advice] = []
    failed: dict[str, list[str]] = {}
    asked = [*(RULES.values() if rules is None else rules)]
    for level in range(LAST + 1):
        of_level: list[tuple[Rule, Advice]] = []
        for one in (one for one in asked if one.level == level):
            try:
                of_level += [(one, advice) for advice in one.ask(run)]
            except Exception as error:
                logger.exception("the advice rule %s failed", one.name)
                failed.setdefault(f"{type(error).__name__}: {error}", []).append(one.name)
        explained = _explained([advice for _, advice in of_level])
        for one, advice in sorted(of_level, key=lambda both: (explained(both[1]), -both[1].gain_ratio)):
            settled: Advice | None = advice
            if results.has_events:
                settled = run.claims.settle(one, advice, len(found))
            found += [] if settled is None else [settled]
    said = ranked(fitting(without_explained(found), results.environment.framework), covered=results.coverage.ratio)
    claimed = run.claims.of(said) if results.has_events else None
    if claimed is not None:
        said = tuple(replace(one, selection=stretches_of(claimed, at, one.selection)) for at, one in enumerate(said))
    return FoundAdvice(said, tuple(_failure(names, why) for why, names in failed.items())), claimed


def without_explained(found: Sequence[Advice]) -> list[Advice]:
    """Leave out what a more specific piece of advice explains."""
    explained = _explained(found)
    return [one for one in found if not explained(one)]


def _explained(found: Sequence[Advice]) -> Callable[[Advice], bool]:
    """Whether a more specific one among these explains a piece of advice."""
    most: dict[str, float] = {}
    for cause in found:
        for name in RULES[cause.rule].explains if cause.rule in RULES else ():
            most[name] = max(most.get(name, 0.0), cause.gain_ratio)
    return lambda one: most.get(one.rule, -1.0) >= MUCH * one.gain_ratio


def fitting(advice: Iterable[Advice], framework: Framework) -> Iterator[Advice]:
    """The advice that a program of the framework can follow; all of it of TensorFlow."""
    for one in advice:
        fix = RULES[one.rule].fixes.get(framework) if one.rule in RULES else None
        said = replace(one, fix=Fix(fix)) if fix else one
        if framework == "TensorFlow" or not _OF_TENSORFLOW.search(f"{said.headline}\n{said.title}\n{said.fix}"):
            yield said


def _failure(rules: list[str], why: str) -> str:
    named = " and ".join([", ".join(rules[:-1])] * (len(rules) > 1) + rules[-1:])
    return f"The advice rule{'s' if len(rules) > 1 else ''} {named} failed: {why}. The other advice is not affected."


def advice_table(advice: tuple[Advice, ...]) -> pd.DataFrame:
    """The same as a table: `rule, severity, title, gain_ratio, fix, view`, in the same order."""
    return typed_table([vars(one) | {"fix": str(one.fix), "view": one.selection.view} for one in advice], ADVICE.types)
