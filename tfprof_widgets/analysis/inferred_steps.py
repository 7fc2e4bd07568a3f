"""Sessions that nobody marked -> steps found in the rhythm of the main thread.

    infer_steps(trace, sessions=mask) -> StepTable

A training loop repeats: fetch a batch, call a function (or many ops). One repetition is one step, from its fetch (or its
call, where the fetch happens inside the function) to the next one's. XProf has no steps for such programs (D2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..store.trace import Bool, Int64, Trace
from .event_graph import build_graph
from .step_table import StepTable

_FETCH = ("EagerLocalExecute: IteratorGetNext",)
_MIN_SHARE = 0.3
"""A function is the body of the loop when it takes at least this share of a repetition."""
_PAUSE = 3.0
"""A repetition longer than this many medians may hold something that is not the loop's."""
_MIN_STEPS = 2
"""What happens once is no loop."""


@dataclass(frozen=True)
class _Calls:
    """Outermost calls on one line, by time."""

    line: int
    name: str
    rows: Int64


def infer_steps(trace: Trace, *, sessions: Bool) -> StepTable:
    """Steps of the sessions marked in `sessions` (one flag per session), labelled inferred; empty where nothing repeats."""
    table = StepTable.empty(trace.n_events)
    graph = None
    for session in np.flatnonzero(sessions).tolist():  # bounded by the number of sessions
        found = _loop_of(trace, session)
        if found is None:
            continue
        line, name, start, end = found
        graph = graph or build_graph(trace)
        top = _outermost(trace, line, session)
        step = np.searchsorted(start, trace.start_ps[top], side="right") - 1
        inside = (step >= 0) & (trace.start_ps[top] < end[step])
        member = graph.reach(top[inside], step[inside], nearest=False)
        member[trace.session_id != session] = -1
        n_steps = len(start)
        steps = StepTable(
            session=np.full(n_steps, session, np.int64),
            start_ps=start,
            end_ps=end,
            name=tuple(f"{name} {i}" for i in range(n_steps)),
            is_inferred=np.ones(n_steps, np.bool_),
            is_complete=np.ones(n_steps, np.bool_),
            member=member,
        )
        table = table.joined(steps)
    return table


def _loop_of(trace: Trace, session: int) -> tuple[int, str, Int64, Int64] | None:
    """The line of the loop, what to call its steps, and where each starts and ends."""
    function = _body_function(trace, session)
    fetches = _fetches(trace, session, line=function.line if function else None)
    if function is not None and (_is_dominant(trace, function) or fetches is None):
        line, name, start = function.line, function.name, _from_fetch(trace, function, fetches)
        body_end = trace.end_ps[function.rows]
    elif fetches is not None:
        line, name, start = fetches.line, "step", _working_fetches(trace, fetches, session)
        body_end = start
    else:
        return None
    if len(start) < _MIN_STEPS:
        return None
    return line, name, start, _ends(trace, line, start, session, body_end=body_end)


def _body_function(trace: Trace, session: int) -> _Calls | None:
    """The `tf.function` that takes most time among those called at least twice from the top of one line."""
    called = trace.has_stat("tf_function_call") & (trace.session_id == session)
    if not called.any():
        called = trace.names_matching(["SessionRun"]) & (trace.session_id == session)
    rows = np.flatnonzero(called)
    rows = rows[~_inside(trace, called)[rows]]
    if not len(rows):
        return None
    key = trace.line_id[rows].astype(np.int64) * len(trace.strings) + trace.name_id[rows]
    keys, code, count = np.unique(key, return_inverse=True, return_counts=True)
    total = np.zeros(len(keys), np.int64)
    np.add.at(total, code, trace.duration_ps[rows])
    total[count < 2] = -1
    best = int(np.argmax(total))
    if total[best] < 0:
        return None
    rows = rows[code == best]
    return _Calls(int(trace.line_id[rows[0]]), trace.strings[trace.name_id[rows[0]]], rows)


def _inside(trace: Trace, marked: Bool) -> Bool:
    """For each event whether one that encloses it is marked."""
    parent = trace.nesting.parent
    inside = np.zeros(trace.n_events, np.bool_)
    at = parent.copy()
    while True:
        active = np.flatnonzero((at >= 0) & ~inside)
        if not len(active):
            return inside
        hit = marked[at[active]]
        inside[active[hit]] = True
        at[active[~hit]] = parent[at[active[~hit]]]


def _is_dominant(trace: Trace, calls: _Calls) -> bool:
    """Whether the calls take most of a repetition; of medians, so that a pause between epochs does not count."""
    period = np.median(np.diff(trace.start_ps[calls.rows]))
    return bool(np.median(trace.duration_ps[calls.rows]) >= _MIN_SHARE * period)


def _fetches(trace: Trace, session: int, *, line: int | None) -> _Calls | None:
    """Outermost events around eager `IteratorGetNext` calls, on the given line or the one with most of them."""
    names = [name.startswith(_FETCH) for name in trace.strings]
    fetch = np.array(names, np.bool_)[trace.name_id] & (trace.session_id == session)
    if line is not None:
        fetch &= trace.line_id == line
    rows = np.flatnonzero(fetch)
    if not len(rows):
        return None
    line = int(np.bincount(trace.line_id[rows]).argmax())
    rows = rows[trace.line_id[rows] == line]
    parent = trace.nesting.parent
    top = rows.copy()
    while (parent[top] >= 0).any():
        top = np.where(parent[top] >= 0, parent[top], top)
    return _Calls(line, "step", np.unique(top))


def _from_fetch(trace: Trace, function: _Calls, fetches: _Calls | None) -> Int64:
    """Starts of the repetitions: each call, moved back to the first fetch since the call before."""
    start, end = trace.start_ps[function.rows], trace.end_ps[function.rows]
    if fetches is None:
        return start
    fetched = trace.start_ps[fetches.rows]
    first = np.searchsorted(fetched, np.append(-1, end[:-1]), side="left")
    moved = np.append(fetched, np.iinfo(np.int64).max)[first]
    return np.minimum(start, moved)


def _working_fetches(trace: Trace, fetches: _Calls, session: int) -> Int64:
    """Starts of the fetches that are followed by work before the next one; several in a row are one fetch.

    So neither a loop over two data sets nor the last fetch of an epoch, which finds nothing, adds a step.
    """
    work = trace.names_matching(["EagerExecute"]) & (trace.line_id == fetches.line) & (trace.session_id == session)
    is_fetch = np.zeros(trace.n_events, np.bool_)
    is_fetch[fetches.rows] = True
    work &= ~_inside(trace, is_fetch)
    worked = np.searchsorted(trace.start_ps[np.flatnonzero(work)], trace.end_ps[fetches.rows])
    busy = np.append(worked[1:], int(work.sum())) > worked
    fresh = np.append(True, busy[:-1])
    starts = trace.start_ps[fetches.rows]
    group = np.cumsum(fresh) - 1
    has_work = np.zeros(int(group[-1]) + 1, np.bool_)
    has_work[group[busy]] = True
    return starts[fresh][has_work]


def _ends(trace: Trace, line: int, start: Int64, session: int, *, body_end: Int64) -> Int64:
    """Ends of the repetitions: where the next begins; of the last one, and before a pause, after its usual events.

    What comes between two epochs (a validation, a pause) makes the repetition before it look long. Such a one ends with
    its body and as many events as the median repetition has.
    """
    top = _outermost(trace, line, session)
    end = np.append(start[1:], trace.end_ps[top].max())
    first = np.searchsorted(trace.start_ps[top], start)
    usual = int(np.median(np.diff(first))) if len(start) > 1 else len(top)
    usual_end = np.maximum.accumulate(trace.end_ps[top])[np.minimum(first + usual, len(top)) - 1]
    early = np.minimum(np.maximum(usual_end, body_end), end)
    typical = np.median(np.diff(start)) if len(start) > 1 else 0
    is_long = (end - start > _PAUSE * typical) & (early - start < (end - start) / 2)
    is_long[-1] = True
    return np.where(is_long, early, end)


def _outermost(trace: Trace, line: int, session: int) -> Int64:
    top = np.arange(*trace.line_offsets[line : line + 2])
    return top[(trace.nesting.parent[top] < 0) & (trace.session_id[top] == session)]
