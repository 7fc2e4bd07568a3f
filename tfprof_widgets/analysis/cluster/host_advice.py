"""Results of one host -> the advice on it that travels: bounded, and about this host alone.

host_advice(results) -> FoundAdvice
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..advice.advice import Advice
from ..advice.engine import HOST_RULES, FoundAdvice, find_advice
from ..advice.fix import Fix
from ..base.wording import head

if TYPE_CHECKING:
    from ..facts.facts import Facts

MAX_ADVICE = 24
"""Of one host, those that could win most; there are not so many rules."""
MAX_TEXT = 600
"""Characters of a title, of a text of the evidence, of a notice."""
MAX_FIX = 3_000
"""Characters of a fix; of what is longer the words travel, as code that is cut does not run."""
MAX_NAMES = 10
"""Ops that an advice selects; one whose name is longer than `MAX_TEXT` is left out."""


def host_advice(results: Facts) -> FoundAdvice:
    """Ask the rules that the events of one host answer; times are after its own origin, steps are rows of its own."""
    found = find_advice(results, HOST_RULES)
    return FoundAdvice(tuple(map(_bounded, found.advice[:MAX_ADVICE])), tuple(map(_cut, found.notices[:MAX_ADVICE])))


def _bounded(one: Advice) -> Advice:
    names = [name for name in one.selection.op_names if len(name) <= MAX_TEXT]
    return replace(
        one,
        title=_cut(one.title),
        evidence=MappingProxyType(
            {name: _cut(value) if isinstance(value, str) else value for name, value in one.evidence.items()}
        ),
        fix=one.fix if len(str(one.fix)) <= MAX_FIX else Fix(_cut(one.fix.words)),
        selection=replace(one.selection, op_names=tuple(names[:MAX_NAMES])),
    )


def _cut(text: str) -> str:
    return head(text, MAX_TEXT)
