"""Claims: which rows of `attribution` each piece of advice speaks of; no two speak of the same time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...trace.arrays import Bool, Float64
from ..attribution import CATEGORIES
from ..card import CAUSE, LAST, MEDIUM_GAIN, Advice, Rule, severity_of
from ..common import PS_PER_MS, number, sum_by

if TYPE_CHECKING:
    from .run import Run

MUCH = 0.25
"""An advice of whose time others hold all but this part is explained; one that only names a place, if they hold as much."""
_SAID = 0.1
"""Where others hold more of its time than this, an advice says so."""


class Claims:
    """The time of the averaged steps that no advice speaks of yet."""

    def __init__(self, run: Run) -> None:
        self._run = run
        rows = run.facts.attribution
        self._is_own = np.isin(rows.step, run.steps.row)
        self._free_ps: Float64 = np.where(self._is_own, rows.time_ps, 0).astype(np.float64)
        self._whole_ps = float(self._free_ps.sum())

    @property
    def taken_ms(self) -> Float64:
        """For each averaged step what advice speaks of already."""
        rows, steps = self._run.facts.attribution, self._run.steps
        taken = np.where(self._is_own, rows.time_ps, 0) - self._free_ps
        return sum_by(rows.step[self._is_own], taken[self._is_own], steps.n_all)[steps.row] / PS_PER_MS

    def settle(self, rule: Rule, one: Advice) -> Advice | None:
        """Give an advice the time that it speaks of, as far as it is free; None where others explain it."""
        if not rule.claims or not self._whole_ps or not self._is_of_these(rule):
            return replace(one, ops=None)
        own = self._rows(rule, one.ops)
        free, whole = float(self._free_ps[own].sum()), float(self._run.facts.attribution.time_ps[own].sum())
        if rule.level == LAST and not one.gain_ratio:
            return replace(one, ops=None) if free > (1 - MUCH) * whole else None
        wanted = one.gain_ratio * self._whole_ps
        got = min(wanted, free)
        if got < MUCH * min(wanted, whole):
            return None
        if free:
            self._free_ps[own] *= 1 - got / free
        gain, lost = got / self._whole_ps, min(wanted, whole) - got
        if lost and gain < MEDIUM_GAIN and rule.level != CAUSE:
            return None
        title = one.title
        if lost > _SAID * wanted:
            title += f" {number(lost / PS_PER_MS / len(self._run.steps))} ms of that are in other cards."
        return replace(one, ops=None, title=title, gain_ratio=gain, severity=severity_of(gain))

    def _is_of_these(self, rule: Rule) -> bool:
        """Whether the rule is about the steps that averages are over, and not about those that compile as well."""
        return "compile" not in rule.claims or self._run.with_compiling is self._run

    def _rows(self, rule: Rule, ops: Bool | None) -> Bool:
        rows = self._run.facts.attribution
        own: Bool = self._is_own & np.isin(rows.category, [CATEGORIES.index(name) for name in rule.claims])
        return own if ops is None else own & np.append(ops, False)[rows.op]
