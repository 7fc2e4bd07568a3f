"""Advice -> its part of a report: what to change, how much it could win, why, the code, and where to look."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analysis.advice.advice import Advice, Highlight
from ...analysis.advice.engine import RULES
from ...analysis.base.units import PS_PER_MS, PS_PER_NS
from ...analysis.base.wording import number, plural, size
from .figures import share
from .markdown import code, fence, sentence
from .subject import Room, Subject

_UNITS = (
    ("_gflops", "GFLOP/s"),
    ("_pct", "%"),
    ("_ms", "ms"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_px", "px"),
    ("_s", "s"),
)
_MOST_EVIDENCE = 12
_MOST_OPS = 3


def advice_section(subject: Subject, room: Room) -> Iterator[str]:
    """The blocks of it; never none."""
    advice = subject.results.advice
    if not advice:
        yield _without(subject)
        return
    shown = advice[: room.advice]
    yield (
        f"{len(shown)} of {len(advice)} piece{'' if len(advice) == 1 else 's'} of advice (all: `prof.advice`), the largest "
        "possible gain first. A gain is what the fix wins by itself; two do not add up. Apply one, capture "
        "again, and compare: "
        "`print(tfprof.diff(before, after).verdict)`."
    )
    for rank, one in enumerate(shown, 1):
        yield from _piece(rank, one, room)


def _without(subject: Subject) -> str:
    if subject.results.overview.environment.unrecorded:
        return "No advice: what ran is not in this capture."
    n_steps = subject.results.overview.n_steps
    asked = f"None of the {len(RULES)} rules has anything to say"
    if n_steps:
        return f"{asked}. Rules that had nothing to judge by (see the limits below) are silent too."
    return f"{asked}: most compare steps, and this capture has none. See how to record steps in the limits below."


TIME = {"step": "step time", "sample": "time of a sample", "time captured": "time captured"}
"""By what a gain is a share of."""


def _piece(rank: int, one: Advice, room: Room) -> Iterator[str]:
    gain = (
        f"gain {one.bound} {share(one.gain_ratio)} of the {TIME[one.share_of]}"
        if one.gain_ratio > 0
        else one.without_gain
    )
    stage = f", `{one.stage}`" if one.stage else ""
    what = f"{one.headline} " if one.headline else ""
    yield f"### {rank}. {what}(`{one.rule}`{stage}): severity {one.severity}, {gain}"
    yield sentence(one.title, room.sentence)
    told = [*one.evidence.items()]
    evidence = "; ".join(f"{code(name, 40)} {_value(name, value, room)}" for name, value in told[:_MOST_EVIDENCE])
    if len(told) > _MOST_EVIDENCE:
        evidence += f" ({_MOST_EVIDENCE} of {len(told)} figures)"
    fix = f"\n- Fix: {sentence(one.fix.words, room.code)}" if one.fix.words else ""
    yield f"- Evidence: {evidence or 'none'}\n- Look at: {_place(one.selection, room)}{fix}"
    if 0 < len(one.fix.code) <= room.code:  # cut code would not run
        yield fence(one.fix.code, room.code)


def _value(name: str, value: float | str, room: Room) -> str:
    if isinstance(value, str):
        return code(value, room.name)
    if not math.isfinite(value):
        return "unknown"
    if name.endswith("_bytes") or name.startswith("bytes_"):
        return size(value)
    if name.endswith("_ratio"):
        return share(value)
    return f"{number(value)}{next((f' {unit}' for end, unit in _UNITS if name.endswith(end)), '')}"


def _place(at: Highlight, room: Room) -> str:
    parts = [f"{code(f'prof.{at.view}()', 40)}"]
    if at.host:
        parts.append(f"host {code(at.host, room.name)}")
    if at.step is not None:
        parts.append(f"row {at.step:,} of `prof.steps`")
    if at.time_range_ns:
        low, high = at.time_range_ns
        at_ms, for_ms = (one * PS_PER_NS / PS_PER_MS for one in (low, high - low))
        parts.append(f"{number(for_ms)} ms from {number(at_ms)} ms on: `prof.select(time_range=({low}, {high}))` (ns)")
    if at.op_names:
        names = ", ".join(code(name, room.name) for name in at.op_names[:_MOST_OPS])
        count = f"{_MOST_OPS} of " if len(at.op_names) > _MOST_OPS else ""
        parts.append(f"{count}{plural(len(at.op_names), 'op')}: {names}")
    return "; ".join(parts)
