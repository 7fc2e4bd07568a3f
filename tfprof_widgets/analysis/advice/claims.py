"""Claims: which rows of `attribution` each piece of advice is about; no two are about the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...trace.arrays import Bool, Float64, Int64
from ..card import (
    CAUSE,
    COMPILING,
    LAST,
    MEDIUM_GAIN,
    RULES,
    Advice,
    Claim,
    Highlight,
    Rule,
    Spans,
    ns_range,
    severity_of,
)
from ..common import PS_PER_MS, Stretches, number
from ..steps.owners import CATEGORIES, Attribution
from .facts import StepFacts

MUCH = 0.25
"""An advice of whose time others hold all but this part is explained; one that only names a place, if they hold as much."""
_SAID = 0.1
"""Where others hold more of its time than this, an advice says so."""
MOST_STRETCHES = 200
"""That a card shows of a step."""


class Claimed(NamedTuple):
    """The rows of `attribution`, cut where one advice ends and another begins."""

    rows: Attribution
    advice: Int64
    """The place of each row's advice in the list, -1 for none."""


class Claims:
    """Which advice each row of `attribution` belongs to."""

    def __init__(self, rows: Attribution, averaged: StepFacts, with_compiling: StepFacts) -> None:
        self.rows, self._averaged, self._with_compiling = rows, averaged, with_compiling
        self._entry_of = averaged.entry_of
        self._origin = np.arange(len(rows))
        self._owner = np.full(len(rows), -1)

    @property
    def taken_ms(self) -> Float64:
        """For each averaged step what advice is about already, with all waiting for data, whether a card says so or not."""
        return self._by_step(self._averaged, (self._owner >= 0) | (self.rows.category == CATEGORIES.index("input")))

    def free(self, rule: str, claim: Claim) -> tuple[Float64, Claim]:
        """What of each averaged step an advice of a rule is about that no other is about yet, and the claim to just that."""
        claim = replace(claim, n_before=int(self._owner.max(initial=-1)) + 1)
        before = self.rows, self._origin, self._owner
        ms = self._by_step(self._averaged, self._chosen(RULES[rule], claim))
        self.rows, self._origin, self._owner = before  # nothing is cut for what may not be said
        return ms, claim

    def settle(self, rule: Rule, one: Advice, n: int) -> Advice | None:
        """Give the `n`th advice the rows that it is about, as far as they are free; None where others explain it."""
        done = replace(one, claim=Claim(number=n, won=one.claim.won))
        chosen = self._chosen(rule, one.claim)
        free = chosen & (self._owner < 0)
        has_more = one.claim.spans is not None and bool((self._entry_of[self.rows.step[chosen]] < 0).any())
        steps = self._with_compiling if has_more else self._averaged
        if not rule.claims or not steps.mean_ms:
            return done
        whole_ms, there, left = float(steps.time_ms.sum()), self._by_step(steps, chosen), self._by_step(steps, free)
        there_ms, left_ms = float(there.sum()), float(left.sum())
        if not one.gain_ratio or rule.claims == COMPILING:  # whose gain is a share of more steps than these
            if rule.level == LAST and left_ms <= (1 - MUCH) * there_ms:
                return None
            self._owner[free] = n
            return done
        wanted_ms = min(one.gain_ratio * whole_ms, there_ms)
        is_about_all = rule.level == CAUSE or one.claim.rows is not None or one.claim.spans is not None
        part = left_ms / max(there_ms, 1e-9) if is_about_all else min(left_ms / max(wanted_ms, 1e-9), 1.0)
        # Of the mean step or of the usual one: no more than the rows hold of it.
        most = max(there_ms / whole_ms, float(np.median(there / steps.time_ms)))
        gain, lost_ms = min(one.gain_ratio, most) * part, (1 - part) * (there_ms if is_about_all else wanted_ms)
        if part < MUCH or (part < 1 and gain < MEDIUM_GAIN and rule.level != CAUSE):
            return None
        self._owner[free] = n
        told_ms = number(lost_ms / len(steps))
        more = f" {told_ms} ms of that are in other cards." if part < 1 - _SAID else ""
        return replace(done, title=one.title + more, gain_ratio=gain, severity=severity_of(gain))

    def of(self, advice: Sequence[Advice]) -> Claimed:
        """The rows with the place of their advice among those that are said."""
        place = np.full(int(self._owner.max(initial=-1)) + 2, -1)
        for at, one in enumerate(advice):
            if 0 <= one.claim.number < len(place) - 1:
                place[one.claim.number] = at
        return Claimed(self.rows, place[self._owner])

    def _by_step(self, steps: StepFacts, chosen: Bool) -> Float64:
        """The time of some rows in each of some steps, in ms."""
        entry = np.where(chosen, steps.entry_of[self.rows.step], -1)
        own = entry >= 0
        return np.bincount(entry[own], self.rows.time_ps[own] / PS_PER_MS, len(steps)).astype(np.float64)

    def _chosen(self, rule: Rule, claim: Claim) -> Bool:
        """The rows that an advice is about, of averaged steps alone where it names no time."""
        of_rule = np.zeros(len(CATEGORIES), np.bool_)
        of_rule[[CATEGORIES.index(name) for name in rule.claims]] = True
        spans = claim.spans
        chosen = np.ones(len(self.rows), np.bool_) if spans is None else self._in(spans) != claim.is_outside
        chosen = chosen & of_rule[self.rows.category] & ((self._owner < 0) | (self._owner >= claim.n_before))
        if claim.rows is not None:
            chosen &= claim.rows[self._origin]
        is_of_any = rule.claims == COMPILING or (claim.spans is not None and not claim.is_outside)
        found: Bool = chosen & ((self.rows.step if is_of_any else self._entry_of[self.rows.step]) >= 0)
        return found

    def _in(self, spans: Spans) -> Bool:
        """Which rows lie in some spans, after those in which one begins or ends are cut there."""
        begin, end = self._at(spans.step, spans.start_ps), self._at(spans.step, spans.end_ps)
        low, high = self._at(self.rows.step, self.rows.start_ps), self._at(self.rows.step, self.rows.end_ps)
        edges = np.unique(np.concatenate([begin, end]))
        first = np.searchsorted(edges, low, side="right")
        n_parts = np.maximum(np.searchsorted(edges, high, side="left") - first, 0) + 1
        if (n_parts > 1).any():
            of_row = np.repeat(np.arange(len(low)), n_parts)
            part = np.arange(len(of_row)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
            until = np.append(edges, 0)[np.minimum(first[of_row] + part, len(edges))] - low[of_row]
            until = np.where(part == n_parts[of_row] - 1, (high - low)[of_row], until)
            self._cut(of_row, np.where(part == 0, 0, np.append(0, until[:-1])), until)
            low = self._at(self.rows.step, self.rows.start_ps)
        opened, closed = (np.searchsorted(np.sort(one), low, side="right") for one in (begin, end))
        found: Bool = opened > closed
        return found

    def _cut(self, of_row: Int64, since: Int64, until: Int64) -> None:
        """Replace each row by its parts, which are picoseconds after its begin and have their share of its time."""
        rows = self.rows
        columns = {one.name: getattr(rows, one.name)[of_row] for one in fields(rows)}
        length = np.maximum(columns["end_ps"] - columns["start_ps"], 1)
        before, after = (np.rint(columns["time_ps"] * (at / length)).astype(np.int64) for at in (since, until))
        columns |= {"end_ps": columns["start_ps"] + until, "time_ps": after - before}
        columns["start_ps"] = columns["start_ps"] + since
        self.rows, self._origin, self._owner = Attribution(**columns), self._origin[of_row], self._owner[of_row]

    def _at(self, step: Int64, time_ps: Int64) -> Int64:
        """Moments of steps in one order: picoseconds of all steps before, and of its own; -1 outside of steps."""
        start, end = self._bounds
        before = np.append(np.cumsum(end - start + 1) - (end - start + 1), 0)
        at = (
            before[step]
            + np.clip(time_ps, np.append(start, 0)[step], np.append(end, 0)[step])
            - np.append(start, 0)[step]
        )
        return np.where(step >= 0, at, -1)

    @cached_property
    def _bounds(self) -> tuple[Int64, Int64]:
        """When each step begins and ends; both 0 for one without rows."""
        rows, n = self.rows, self._averaged.n_all
        start, end = np.full(n + 1, np.iinfo(np.int64).max), np.zeros(n + 1, np.int64)
        np.minimum.at(start, rows.step, rows.start_ps)
        np.maximum.at(end, rows.step, rows.end_ps)
        return np.minimum(start, end)[:-1], end[:-1]


def stretches_of(claimed: Claimed, place: int, at: Highlight) -> Highlight:
    """What to select, with the stretches of its step that the advice is about."""
    if at.step is None:
        return at
    rows = claimed.rows
    own = np.flatnonzero((claimed.advice == place) & (rows.step == at.step))
    every = Stretches.of(rows.start_ps[own], rows.end_ps[own])
    longest = np.sort(np.argsort(every.start - every.end, kind="stable")[:MOST_STRETCHES])
    spans = zip(every.start[longest].tolist(), every.end[longest].tolist(), strict=True)
    return replace(at, stretches_ns=tuple(ns_range(*one) for one in spans), n_stretches=len(every.start))
