"""Sessions that nobody marked -> steps, from the loops found in them.

A training loop repeats: fetch a batch, call a function (or many ops). One repetition is one step, from its first event to
the next one's. XProf has no steps for such programs (D2).
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.event_graph import build_graph
from .loop_search import Loop, find_loops
from .step_table import StepTable

_PAUSE = 3.0
"""A repetition longer than this many medians may hold something that is not the loop's."""
_FAIR_SHARE = 0.005
"""Of the time captured; what repeats for less is no training. Of a second of data and models that nobody marked, 5 ms."""


def infer_steps(trace: Trace, *, sessions: Bool) -> StepTable:
    """Steps of the sessions marked in `sessions` (one flag per session), labelled inferred; empty where nothing repeats.

    What belongs to a step is found as for a marked one: whatever the events of its thread lead to.
    """
    table = StepTable.empty(trace.n_events)
    graph = None
    for session in np.flatnonzero(sessions).tolist():  # bounded by the number of sessions
        for loop in find_loops(trace, session):
            graph = graph or build_graph(trace)
            top, first = _outermost(trace, loop, session)
            if (
                first < 0
            ).any():  # events of another session at the same time on its line, as where a capture is there twice
                continue
            start = trace.start_ps[top[first]]
            end = _ends(trace, loop, top, start)
            step = np.searchsorted(start, trace.start_ps[top], side="right") - 1
            inside = (step >= 0) & (trace.start_ps[top] < end[step])
            member = graph.reach(top[inside], step[inside], nearest=False)
            member[trace.session_id != session] = -1
            n_before = int((table.session == session).sum())
            table = table.joined(
                StepTable(
                    session=np.full(len(start), session, np.int64),
                    start_ps=start,
                    end_ps=end,
                    name=tuple(f"{loop.name} {n_before + i}" for i in range(len(start))),
                    is_inferred=np.ones(len(start), np.bool_),
                    is_complete=np.ones(len(start), np.bool_),
                    is_tiling=np.ones(len(start), np.bool_),
                    member=member,
                )
            )
    return table


def with_fair_share(trace: Trace, table: StepTable) -> StepTable:
    """Only the steps of sessions that they cover a fair share of, by their median: hundreds of checks whether a variable has
    been made are no steps, even where a long one comes last."""
    kept = np.zeros(len(table.start_ps), np.bool_)
    for session in np.unique(table.session).tolist():  # bounded by the number of sessions
        own, events = table.session == session, trace.session_id == session
        captured_ps = trace.ends(np.flatnonzero(events)).max() - trace.start_ps[events].min()
        usual_ps = np.median(table.end_ps[own] - table.start_ps[own])
        kept[own] = usual_ps * own.sum() >= _FAIR_SHARE * captured_ps
    return table if kept.all() else table.at(np.flatnonzero(kept))


def _outermost(trace: Trace, loop: Loop, session: int) -> tuple[Int64, Int64]:
    """The outermost events of the loop's thread that lie within one repetition, and with which of them each repetition
    starts, -1 for none.

    An event around several repetitions (an annotated epoch) is looked through; one around a single repetition (a marker
    without `_r`, as Keras writes them) is part of it, so that the repetition starts with it.
    """
    low, high = trace.line_offsets[loop.line : loop.line + 2].tolist()
    rows: Int64 = np.arange(low, high, dtype=np.int64)
    begun = trace.start_ps[loop.rows]
    n_held = np.searchsorted(begun, trace.ends(rows)) - np.searchsorted(begun, trace.start_ps[rows])
    parent = trace.nesting.parent[rows]
    is_around = n_held > 1
    is_top = ~is_around & ((parent < 0) | is_around[np.maximum(parent - low, 0)]) & (trace.session_id[rows] == session)
    top = rows[is_top]
    return top, np.searchsorted(trace.start_ps[top], begun, side="right") - 1


def _ends(trace: Trace, loop: Loop, top: Int64, start: Int64) -> Int64:
    """Ends of the repetitions: where the next begins; of the last one, and before a pause, after its usual events.

    What comes between two epochs (a validation, a pause) makes the repetition before it look long. Such a one ends with
    its body and as many events as the median repetition has, the last one before a batch is asked for that does not come.
    """
    behind = top[(trace.ends(top) > loop.stop_ps) & (trace.start_ps[top] >= loop.body_end_ps[-1])]
    end: Int64 = np.append(start[1:], trace.start_ps[behind[0]] if len(behind) else trace.ends(top).max())
    first = np.searchsorted(trace.start_ps[top], start)
    usual = int(np.median(np.diff(first)))
    usual_end = np.maximum.accumulate(trace.ends(top))[np.minimum(first + usual, len(top)) - 1]
    early = np.minimum(np.maximum(usual_end, loop.body_end_ps), end)
    is_long = (end - start > _PAUSE * np.median(np.diff(start))) & (early - start < (end - start) / 2)
    is_long[-1] = True
    end[is_long] = early[is_long]
    return end
