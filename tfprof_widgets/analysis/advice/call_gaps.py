"""Long stretches of Python in steps -> the part of them in calls of functions, before these run any op."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Float64, Int32, Int64, Trace
from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from .python_gaps import PythonGap

_MODE = "tf_function_call"
"""A stat of each call of a function."""
_RUNS = ("TFE_Py_ExecuteCancelable", "TFE_Py_Execute", "TFE_Py_FastPathExecute_C", "EagerExecute")
"""With what a call begins to run anything."""


@dataclass(frozen=True, eq=False, repr=False)
class CallGaps:
    """The part of the long stretches of Python that lies in calls of functions, before anything of these runs."""

    functions: tuple[str, ...]
    """What the steps call, the most frequent first; empty where the trace tells of no call."""
    ms: Float64
    """For each step."""
    inside_ms: Float64
    """For each step what lies in calls at all, be it after ops of theirs."""


def call_gaps(trace: Trace, entry: Int32, gap: PythonGap) -> CallGaps:
    """Find them; `entry` is for each event its step among the counted ones, -1 for none."""
    calls = np.flatnonzero((trace.string_stat(_MODE) >= 0) & (entry >= 0))
    if not len(calls):
        return CallGaps((), np.zeros(len(gap.ms)), np.zeros(len(gap.ms)))
    start_ps = gap.pieces["start_ps"].to_numpy(np.int64)
    end_ps = start_ps + gap.pieces["duration_ps"].to_numpy(np.int64)

    def within_ms(until_ps: Int64) -> Float64:
        within = Stretches.of(trace.start_ps[calls], until_ps).within(start_ps, end_ps)
        return np.bincount(gap.pieces["entry"], within / PS_PER_MS, minlength=len(gap.ms)).astype(np.float64)

    names, count = np.unique(trace.name_id[calls], return_counts=True)
    return CallGaps(
        tuple(trace.strings[i] for i in names[np.argsort(-count, kind="stable")].tolist()),
        within_ms(_first_runs(trace, calls)),
        within_ms(trace.ends(calls)),
    )


def _first_runs(trace: Trace, calls: Int64) -> Int64:
    """For each call when it first runs anything, else when it ends."""
    rows = np.concatenate([calls, np.flatnonzero(trace.names_matching(_RUNS))])
    is_run = np.arange(len(rows)) >= len(calls)
    order = np.lexsort((is_run, trace.start_ps[rows], trace.line_id[rows]))
    place = np.where(is_run[order], np.arange(len(rows)), len(rows))
    following = np.append(np.minimum.accumulate(place[::-1])[::-1], len(rows))
    at = np.empty(len(rows), np.int64)
    at[order] = np.arange(len(rows))
    first = np.append(rows[order], -1)[following[at[: len(calls)]]]
    is_own = (first >= 0) & (trace.line_id[first] == trace.line_id[calls])
    found: Int64 = np.where(is_own, np.minimum(trace.start_ps[first], trace.ends(calls)), trace.ends(calls))
    return found
