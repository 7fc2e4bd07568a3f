"""Calls of a compiled function that repeat -> inferred steps of JAX and PyTorch/XLA programs that nobody marked.

The function whose runs take most time is the training. A step goes from the begin of one run on the device, or on the CPU's
threads, to that of the next: a program that does not wait for its results calls far ahead of what runs.
"""

from __future__ import annotations

import numpy as np

from ...trace.times import MAX_PS
from ...trace.trace import Bool, Int32, Int64, Trace
from ..base.event_graph import build_graph
from ..base.program_calls import program_calls
from .step_table import StepTable

_PAUSE = 3.0
"""A step longer than this many medians holds what is not its own, such as a validation: it ends with its work, as the last one
does, and is not complete, as what the program did before the next run is not in it."""


def program_steps(trace: Trace, *, sessions: Bool) -> StepTable:
    """Steps of the sessions marked in `sessions` (one flag per session), labelled inferred; empty where no call repeats."""
    table = StepTable.empty(trace.n_events)
    calls = program_calls(trace)
    calls = calls[sessions[trace.session_id[calls]]]
    if not len(calls):
        return table
    member = build_graph(trace).reach(calls, np.arange(len(calls)), nearest=False)
    work = np.unique(trace.keyed_stats("hlo_op").event)
    work = work[member[work] >= 0]
    begin, end, busy = np.full(len(calls), MAX_PS), trace.ends(calls), np.zeros(len(calls), np.int64)
    np.minimum.at(begin, member[work], trace.start_ps[work])
    np.maximum.at(end, member[work], trace.ends(work))
    np.add.at(busy, member[work], trace.duration_ps[work])
    for session in np.unique(trace.session_id[calls]).tolist():  # bounded by the number of sessions
        own = np.flatnonzero(trace.session_id[calls] == session)
        chosen = own[_training(trace, calls[own], busy[own])]
        chosen = chosen[np.argsort(begin[chosen], kind="stable")]
        if len(chosen) > 1:
            table = table.joined(_steps_of(trace, calls, chosen, (begin, end), member))
    return table


def _steps_of(trace: Trace, calls: Int64, chosen: Int64, work_ps: tuple[Int64, Int64], member: Int32) -> StepTable:
    """The steps that some calls of one session are, in the order in which their work begins.

    Args:
        trace: the trace.
        calls: all calls.
        chosen: those that are steps, rows of `calls`.
        work_ps: of each call when its work begins, and when the work and the call have ended.
        member: for each event the row of the call that led to it, -1 for none.
    """
    begin, end = work_ps
    start = begin[chosen]
    until = np.append(start[1:], end[chosen[-1]])
    is_open = until - start > _PAUSE * np.median(np.diff(start))
    is_open[-1] = True
    until[is_open] = np.clip(end[chosen], start, until)[is_open]
    place = np.full(len(calls) + 1, -1, np.int32)
    place[chosen] = np.arange(len(chosen))
    name = trace.strings[trace.name_id[calls[chosen[0]]]].partition("(")
    return StepTable(
        session=trace.session_id[calls[chosen]].astype(np.int64),
        start_ps=start,
        end_ps=until,
        name=tuple(f"{name[2].removesuffix(')') or name[0]} {i}" for i in range(len(chosen))),
        is_inferred=np.ones(len(chosen), np.bool_),
        is_complete=~is_open,
        is_tiling=np.ones(len(chosen), np.bool_),
        member=place[member],
    )


def _training(trace: Trace, calls: Int64, busy: Int64) -> Int64:
    """The calls of the function that keeps the machine busiest, those that led to any work."""
    names, code = np.unique(trace.name_id[calls], return_inverse=True)
    total = np.zeros(len(names), np.int64)
    np.add.at(total, code.reshape(-1), busy)
    return np.flatnonzero((code.reshape(-1) == int(np.argmax(total))) & (busy > 0))
