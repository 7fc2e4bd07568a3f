"""What a rule found -> `Advice`: why, how sure, what to write, what to look at, and how much it could win."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd

from ..base.units import PS_PER_NS
from .fix import Fix
from .headlines import headline_of

Severity = Literal["high", "medium", "low"]

HIGH_GAIN, MEDIUM_GAIN = 0.20, 0.05
"""From these shares of the step time on, advice is of severity high and medium: XProf's bounds for the wait for input."""
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")
MAY_BE_CHANCE = frozenset(("straggler_step",))
"""Rules on what happened in few steps, of which no cause in the program is known."""
OF_CAPTURE = frozenset(("outside_steps", "validation", "shuffle_fill"))
"""Rules whose gain is a share of all the time captured, of which steps may be a small part."""
OF_SAMPLE = frozenset(("small_batch", "few_blocks", "low_utilisation"))
"""Rules that larger batches answer, which make a step longer: their gain is a share of the time that a sample takes."""
STAGES = (
    *("slow_read", "slow_map", "no_prefetch", "no_parallel_map", "sequential_stage", "generator"),
    *("python_map", "element_map", "filter_after", "few_threads"),
)


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """What to select in the views to see the evidence of an advice."""

    op_names: tuple[str, ...] = ()
    """Names of ops as in `Profile.ops`, or of events as in `Profile.events`."""
    time_range_ns: tuple[int, int] | tuple[()] = ()
    """Nanoseconds after the trace origin; `()` for the whole capture."""
    step: int | None = None
    """Row of `Profile.steps` in which it is seen well; None for no step."""
    view: str = "timeline"
    """The view that shows it best, such as `input_graph`: the name of the method of `Profile`."""
    host: str = ""
    """Of advice that a reduced profile has from its hosts the one that it is shown for; else empty."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One thing to change: an element of `Profile.advice`."""

    rule: str
    """The name of the rule that found it, such as `input_bound`."""
    severity: Severity
    """By `gain_ratio`: `high` from 0.20 on, `medium` from 0.05 on, `low` below, and where it is not about time."""
    title: str
    """Why: one sentence with the numbers."""
    evidence: Mapping[str, float | str]
    """The numbers, read-only; each name ends in its unit, such as `input_ms` or `input_ratio`. `estimate` says how
    `gain_ratio` was estimated, where it is no upper bound.
    """
    fix: Fix
    """What to do: `fix.words`, and `fix.code` where code runs as it is pasted, with your own names; `print` gives both."""
    selection: Highlight
    """What to select to see the evidence: a `Highlight` with `op_names`, `time_range_ns`, `step`, `view` and `host`."""
    gain_ratio: float
    """The share of the step time that the fix could win at most, in [0, 1]; 0 where it is not about time. With an
    `estimate` among the evidence about as much, or more.

    Of a run of several hosts it is a share of the step time of all of them, in a reduced profile as in one read whole:
    on the average of the hosts, each counted by the time of its steps, and 0 for those on which the rule found nothing.
    It is no more than the host where it costs most could win, and no sum. What hosts that wait for each other wait for
    one of them is not in it: the rule `straggler` tells that. `share_of` names what else than a step it is a share of,
    where it is.

    It is told from this capture: a bound of what these steps could have saved. What a fix wins is measured in another
    run, on a machine that other programs may slow down more or less by then, so it may come out above the bound.
    """
    stage: str = ""
    """For the rule `input_bound` what in the input is slow, such as `slow_map`, `no_prefetch` or `generator`; else empty."""

    @property
    def bound(self) -> Literal["at most", "about"]:
        """How to read the gain: `at most` for a bound, `about` for an estimate."""
        return "about" if "estimate" in self.evidence else "at most"

    @property
    def share_of(self) -> Literal["step", "sample", "time captured"]:
        """What the gain is a share of: `step`, `sample` (larger batches make a step longer), or `time captured`."""
        return "time captured" if self.rule in OF_CAPTURE else "sample" if self.rule in OF_SAMPLE else "step"

    @property
    def without_gain(self) -> str:
        """What stands in place of a gain of 0: what has no fix may still be worth a change."""
        return "no speed-up" if self.fix.words else "gain not known"

    @property
    def headline(self) -> str:
        """What to do, in a few words."""
        return headline_of(self.rule, self.stage)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"evidence": dict(self.evidence)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"evidence": MappingProxyType(state["evidence"])})

    def __repr__(self) -> str:
        return f"Advice({self.rule}, {self.severity}, {self.gain_ratio:.2f}: {self.title})"


def advise(
    rule: str,
    title: str,
    *,
    evidence: Mapping[str, float | str],
    fix: Fix,
    selection: Highlight,
    gain_ratio: float = 0.0,
    stage: str = "",
) -> Advice:
    """Make an advice: its severity follows from the gain, which is kept within [0, 1]."""
    gain = min(max(float(gain_ratio), 0.0), 1.0)
    return Advice(
        rule=rule,
        severity=severity_of(gain),
        title=title,
        evidence=MappingProxyType(dict(evidence)),
        fix=fix,
        selection=selection,
        gain_ratio=gain,
        stage=stage,
    )


def ns_range(start_ps: int, end_ps: int) -> tuple[int, int]:
    """The whole nanoseconds from the one in which something begins to the one in which it ends."""
    return start_ps // PS_PER_NS, -(-end_ps // PS_PER_NS)


def step_highlight(frame: pd.DataFrame, row: int, *, view: str, op_names: tuple[str, ...] = ()) -> Highlight:
    """Select a step, a row of the `steps` table or of a part of it, and ops."""
    start_ps, duration_ps, step = (int(frame[name].iloc[row]) for name in ("start_ps", "duration_ps", "step"))
    time_range = ns_range(start_ps, start_ps + duration_ps)
    return Highlight(op_names=op_names, time_range_ns=time_range, step=step, view=view)


def severity_of(gain_ratio: float) -> Severity:
    """The severity that a gain stands for."""
    if gain_ratio >= HIGH_GAIN:
        return "high"
    return "medium" if gain_ratio >= MEDIUM_GAIN else "low"


def ranked(found: Iterator[Advice], *, covered: float = 1.0) -> tuple[Advice, ...]:
    """The largest gain first, as a share of the time captured; of equals the more severe one, then by name of the rule.

    What came in a few steps and may be chance counts as a small gain here: it comes behind each cause in every step that is
    worth a word.

    Args:
        found: the pieces of advice.
        covered: the share of the time captured that lies in steps.
    """
    return tuple(
        sorted(found, key=lambda one: (-_weight(one, covered), SEVERITIES.index(one.severity), one.rule, one.title))
    )


def _weight(one: Advice, covered: float) -> float:
    gain = min(one.gain_ratio, MEDIUM_GAIN) if one.rule in MAY_BE_CHANCE else one.gain_ratio
    return gain if one.rule in OF_CAPTURE else gain * covered
