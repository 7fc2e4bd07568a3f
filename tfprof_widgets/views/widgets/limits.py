"""Notices of a profile -> the limits that its dashboard tells, each with the view that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_VIEWS = (
    (re.compile(r"^Source lines |lines are not known\.$|source files are shown in part"), "source_view"),
    (re.compile(r"^(?:No )?FLOP counts\b"), "op_table"),
    (
        re.compile(r"^Of the edges |variables (?:are known|were read)|which variables they use is not known\.$"),
        "tree_view",
    ),
    (re.compile(r"^A profiler made XLA launch "), "kernel_table"),
    (re.compile(r"^(?:A|The) compiled program|^Of [\d,]+ of [\d,]+ HLO ops? only"), "hlo_table"),
    (re.compile(r"than a reduced profile has: .*allocated most"), "memory_timeline"),
    (re.compile(r"ran more input pipelines than"), "input_graph"),
    (re.compile(r"ran more kernels than"), "kernel_table"),
    (re.compile(r"^To stay small, this page "), "timeline"),
    (re.compile(r"^The clocks of "), "worker_chart"),
)
"""How a notice begins or ends, and the view that it is about; what none of these tells is about the whole capture."""


_TOLD = re.compile(r"^Source lines were read |^To stay small, this page ")
"""What the view itself tells, in numbers of what it shows."""


def limits_of(notices: Iterable[str]) -> list[dict[str, Any]]:
    """One `{text, view, is_told}` a notice: the trait of the dashboard that it is about or "", and whether that view tells it."""
    return [{"text": text, "view": view_of(text), "is_told": _TOLD.search(text) is not None} for text in notices]


def view_of(notice: str) -> str:
    """The view that a notice is about, "" where it is about the whole capture."""
    return next((view for pattern, view in _VIEWS if pattern.search(notice)), "")
