"""Advice -> the list `advice` of a payload: what a card says, and what it selects in the other views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.advice.advice import Advice
from .meta import plain

_MOST_OPS = 100
"""Of one advice that are selected: more than these nobody tells apart."""


def advice_list(advice: Sequence[Advice]) -> list[dict[str, Any]]:
    """One object an advice, those that win most first; `js/src/model/wire/meta.ts` gives its type."""
    return [
        {
            "rule": one.rule,
            "severity": one.severity,
            "title": one.title,
            "evidence": [[name, plain(value)] for name, value in one.evidence.items()],
            "fix": one.fix,
            "gain_ratio": one.gain_ratio,
            "op_names": list(one.selection.op_names[:_MOST_OPS]),
            "time_range_ns": [int(t) for t in one.selection.time_range_ns],
            "step": -1 if one.selection.step is None else int(one.selection.step),
            "view": one.selection.view,
            "host": one.selection.host,
        }
        for one in advice
    ]
