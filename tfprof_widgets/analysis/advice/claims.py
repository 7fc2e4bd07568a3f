"""Claims: which rows of `attribution` each piece of advice speaks of; no two speak of the same time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...trace.arrays import Float64, Int64
from ..card import ANY_STEP, CAUSE, LAST, MEDIUM_GAIN, Advice, Claim, Rule, severity_of
from ..common import PS_PER_MS, number
from ..steps.owners import CATEGORIES, Attribution
from .facts import StepFacts

MUCH = 0.25
"""An advice of whose time others hold all but this part is explained; one that only names a place, if they hold as much."""
_SAID = 0.1
"""Where others hold more of its time than this, an advice says so."""


class Claims:
    """The time of the averaged steps that no advice speaks of yet."""

    def __init__(self, rows: Attribution, steps: StepFacts) -> None:
        self._steps = steps
        entry = np.full(steps.n_all + 1, -1, np.int64)
        entry[steps.row] = np.arange(len(steps))
        own = np.flatnonzero(entry[rows.step] >= 0)
        self._entry, self._category, self._op = entry[rows.step[own]], rows.category[own], rows.op[own]
        self._time_ms = rows.time_ps[own] / PS_PER_MS
        self._free_ms: Float64 = self._time_ms.copy()

    @property
    def taken_ms(self) -> Float64:
        """For each averaged step what advice speaks of already, with all waiting for data, whether that is told or not."""
        free = np.where(self._category == CATEGORIES.index("input"), 0.0, self._free_ms)
        return np.bincount(self._entry, self._time_ms - free, len(self._steps)).astype(np.float64)

    def settle(self, rule: Rule, one: Advice, *, compiles_too: bool = False) -> Advice | None:
        """Give an advice the time that it speaks of, as far as it is free; None where others explain it. With `compiles_too` what
        compiles is counted with steps that are not among these."""
        time_ms, n_steps, done = self._steps.time_ms, len(self._steps), replace(one, claim=Claim())
        is_of_others = one.claim.ms is not None and len(one.claim.ms) != n_steps
        if not rule.claims or not time_ms.sum() or is_of_others or ("compile" in rule.claims and compiles_too):
            return done
        rows = [self._rows(name, one.claim) for name in rule.claims]
        every = np.concatenate(rows)
        there, free = (np.bincount(self._entry[every], of[every], n_steps) for of in (self._time_ms, self._free_ms))
        if rule.level == LAST and not one.gain_ratio:
            return done if free.sum() > (1 - MUCH) * there.sum() else None
        ms = one.claim.ms if one.claim.ms is not None else free if rule.level == ANY_STEP else there
        wanted = np.minimum(ms * min(1.0, one.gain_ratio * time_ms.sum() / max(float(ms.sum()), 1e-9)), there)
        got = np.minimum(wanted, free)
        # Of the mean step or of the usual one: no more than the rows hold of it.
        most = max(float(there.sum() / time_ms.sum()), float(np.median(there / time_ms)))
        gain = min(one.gain_ratio, most) * float(got.sum() / max(wanted.sum(), 1e-9))
        lost_ms = float((wanted - got).sum())
        if got.sum() < MUCH * wanted.sum() or (lost_ms and gain < MEDIUM_GAIN and rule.level != CAUSE):
            return None
        # What it is known to be about is no other's, though its fix may win only part of that.
        spoken = got if one.claim.ms is None else np.minimum(np.maximum(ms, wanted), free)
        for own in rows:
            left = np.bincount(self._entry[own], self._free_ms[own], n_steps)
            taken = np.minimum(spoken, left)
            spoken = spoken - taken
            self._free_ms[own] *= (1 - taken / np.maximum(left, 1e-12))[self._entry[own]]
        more = f" {number(lost_ms / n_steps)} ms of that are in other cards." if lost_ms > _SAID * wanted.sum() else ""
        return replace(done, title=one.title + more, gain_ratio=gain, severity=severity_of(gain))

    def _rows(self, category: str, claim: Claim) -> Int64:
        own = self._category == CATEGORIES.index(category)
        return np.flatnonzero(own if claim.ops is None else own & np.append(claim.ops, False)[self._op])
