"""A session that nobody marked -> the loops in it: what repeats on a thread, and what each repetition begins with.

Three kinds are known: a loop that calls a `tf.function` (fetching a batch before the call, or inside it); a loop that runs
every op eagerly, which shows in its fetches; and a loop over a data set inside a `tf.function`, which TensorFlow runs as a
reduction on a thread of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.times import MAX_PS
from ...trace.trace import Bool, Int64, Trace
from ..base.event_graph import nearest_marked
from ..base.event_names import by_ends

_EAGER_FETCH = "EagerLocalExecute: IteratorGetNext"
_REDUCE_FETCH = "ReduceIterator::Root"
_MIN_SHARE = 0.3
"""A function is the body of the loop when it takes at least this share of a repetition."""
_MIN_REPETITIONS = 2
"""What happens once is no loop."""


@dataclass(frozen=True)
class Loop:
    """Something that repeats on one thread."""

    line: int
    name: str
    """What a repetition is called: the function's name, or `step`."""
    rows: Int64
    """The event each repetition begins with, by time."""
    body_end_ps: Int64
    """Until when each repetition runs at least."""
    stop_ps: int = MAX_PS
    """When a batch was asked for behind the last one, which then did not come."""


def find_loops(trace: Trace, session: int) -> list[Loop]:
    """The training loop of a session; one per thread where a data set is reduced on several; empty where nothing repeats."""
    inside = trace.session_id == session
    function = _function(trace, inside)
    reductions = _reductions(trace, inside)
    n_calls = len(function.rows) if function else 0
    if sum(len(loop.rows) for loop in reductions) > n_calls:
        return reductions
    fetch = (
        inside
        & by_ends(trace, lambda names, _: [name.startswith(_EAGER_FETCH) for name in names], np.bool_)[trace.name_id]
    )
    if function is not None:
        fetches = np.flatnonzero(fetch & (trace.line_id == function.line))
        if _is_body(trace, function) or not len(fetches):
            return [_from_fetch(trace, function, fetches)]
    loop = _eager_loop(trace, inside, fetch)
    return [loop] if loop else []


def _function(trace: Trace, inside: Bool) -> Loop | None:
    """The function that takes most time among those called at least twice, outside of another, on one line."""
    called = trace.has_stat("tf_function_call") & inside
    if not called.any():
        called = trace.names_matching(["SessionRun"]) & inside
    rows = np.flatnonzero(called)
    rows = rows[~_is_within(trace, rows, called)]
    if not len(rows):
        return None
    key = trace.line_id[rows].astype(np.int64) * len(trace.strings) + trace.name_id[rows]
    keys, code, count = np.unique(key, return_inverse=True, return_counts=True)
    total = np.zeros(len(keys), np.int64)
    np.add.at(total, code, trace.duration_ps[rows])
    total[count < _MIN_REPETITIONS] = -1
    best = int(np.argmax(total))
    if total[best] < 0:
        return None
    rows = rows[code == best]
    return Loop(int(trace.line_id[rows[0]]), trace.strings[trace.name_id[rows[0]]], rows, trace.ends(rows))


def _is_within(trace: Trace, rows: Int64, marked: Bool) -> Bool:
    """Whether an event that encloses each of `rows` is marked."""
    parent = trace.nesting.parent
    within: Bool = np.append(nearest_marked(parent, marked), -1)[parent[rows]] >= 0
    return within


def _is_body(trace: Trace, loop: Loop) -> bool:
    """Whether the calls take most of a repetition; of medians, so that a pause between epochs does not count."""
    period = np.median(np.diff(trace.start_ps[loop.rows]))
    return bool(np.median(trace.duration_ps[loop.rows]) >= _MIN_SHARE * period)


def _from_fetch(trace: Trace, loop: Loop, fetches: Int64) -> Loop:
    """The same loop, each repetition beginning with the first fetch since the call before, where there is one."""
    fetched = np.append(trace.start_ps[fetches], MAX_PS)
    first = np.searchsorted(fetched, np.append(-1, np.minimum(trace.ends(loop.rows), MAX_PS)), side="left")
    first, behind = first[:-1], first[-1]
    earlier = fetched[first] < trace.start_ps[loop.rows]
    rows = np.where(earlier, np.append(fetches, -1)[first], loop.rows)
    return Loop(loop.line, loop.name, rows, loop.body_end_ps, int(fetched[behind]))


def _eager_loop(trace: Trace, inside: Bool, fetch: Bool) -> Loop | None:
    rows = np.flatnonzero(fetch)
    if not len(rows):
        return None
    line = int(np.bincount(trace.line_id[rows]).argmax())
    rows = rows[trace.line_id[rows] == line]
    work = np.flatnonzero(trace.names_matching(["EagerExecute"]) & inside & (trace.line_id == line))
    rows = _followed_by_work(trace, rows, work)
    return Loop(line, "step", rows, trace.ends(rows)) if len(rows) >= _MIN_REPETITIONS else None


def _reductions(trace: Trace, inside: Bool) -> list[Loop]:
    """Loops over a data set inside a function. A reduction fetches until it finds nothing, so its last fetch is no step."""
    rows = np.flatnonzero(inside & trace.names_matching([_REDUCE_FETCH]))
    parent = trace.nesting.parent[rows]
    goes_on = np.append((parent[1:] == parent[:-1]) & (trace.line_id[rows[1:]] == trace.line_id[rows[:-1]]), False)
    steps, next_ps = rows[goes_on[: len(rows)]], trace.start_ps[rows[1:]][goes_on[: len(rows) - 1]]
    # Events are in order of lines.
    lines, first, n = np.unique(trace.line_id[steps], return_index=True, return_counts=True)
    return [
        Loop(line, "step", steps[low : low + count], next_ps[low : low + count])
        for line, low, count in zip(lines.tolist(), first.tolist(), n.tolist(), strict=True)
        if count >= _MIN_REPETITIONS
    ]


def _followed_by_work(trace: Trace, fetches: Int64, work: Int64) -> Int64:
    """Those fetches that are followed by work before the next one; of several in a row the first.

    So neither a loop over two data sets nor the last fetch of an epoch, which finds nothing, adds a step. What encloses a
    fetch, or lies within one, is not work.
    """
    start, end = trace.start_ps[fetches], trace.ends(fetches)
    low, high = trace.start_ps[work], trace.ends(work)
    holds_fetch = np.searchsorted(start, high) > np.searchsorted(start, low)
    before = np.searchsorted(start, low, side="right") - 1
    in_fetch = (before >= 0) & (low < end[before])
    busy = np.zeros(len(fetches), np.bool_)
    owner = before[~holds_fetch & ~in_fetch]
    busy[owner[owner >= 0]] = True
    fresh = np.append(True, busy[:-1])
    group = np.cumsum(fresh) - 1
    has_work = np.zeros(int(group[-1]) + 1, np.bool_)
    has_work[group[busy]] = True
    working: Int64 = fetches[fresh][has_work]
    return working
