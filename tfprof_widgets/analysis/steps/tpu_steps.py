"""TensorCore planes -> the steps of a TPU, and what each was made of.

Source: semantics 2.4.7, 2.5, 5.4.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Int32, Int64, Trace, UInt8
from ..base.grouping import Grouping
from ..base.innermost import innermost
from .step_spans import SpanType
from .step_table import StepTable
from .tpu_categories import on_core_line, tpu_span_types


def tpu_steps(trace: Trace, grouping: Grouping) -> StepTable:
    """Steps as the TPU recorded them: the events of the line `Steps`, without such a line the programs on `XLA Modules`.

    The n-th step of a core goes with the n-th of every other core (of a file that came grouped: those of one group); a step
    that some core of its session lacks is left out, as in XProf. A step lasts as long, and is made of what it is made of, on
    the core that took longest for it: the others wait for that one.

    Differs from XProf: it mixes cores, the least compute with the most input, so that its parts exceed the step.
    """
    table = StepTable.empty(trace.n_events)
    steps, modules = on_core_line(trace, "Steps"), on_core_line(trace, "XLA Modules")
    for session in np.unique(trace.session_id[steps | modules]).tolist():  # bounded by the number of sessions
        in_session = trace.session_id == session
        is_marked = bool((steps & in_session).any())
        rows = np.flatnonzero((steps if is_marked else modules) & in_session & (trace.duration_ps > 0))
        table = table.joined(_session_steps(trace, grouping, rows, is_marked=is_marked))
    return table


def _session_steps(trace: Trace, grouping: Grouping, rows: Int64, *, is_marked: bool) -> StepTable:
    """Steps of one session from the step events of all its cores."""
    rows = rows[np.lexsort((trace.start_ps[rows], trace.plane_id[rows]))]
    core = trace.plane_id[rows].astype(np.int64)
    number = _numbers(grouping, rows, core)
    numbers, of_number = np.unique(number, return_inverse=True)
    n_cores = len(np.unique(core))
    complete = np.bincount(of_number, minlength=len(numbers)) == n_cores
    place = np.where(complete, np.cumsum(complete) - 1, -1)[of_number]
    kept = place >= 0
    rows, place = rows[kept], place[kept]
    order = np.lexsort((-trace.duration_ps[rows], place))
    longest = rows[order[np.flatnonzero(np.diff(place[order], prepend=-1))]]
    n_steps = len(longest)
    return StepTable(
        session=trace.session_id[longest].astype(np.int64),
        start_ps=trace.start_ps[longest],
        end_ps=trace.ends(longest),
        name=tuple(_name(trace, grouping, row) for row in longest.tolist()),
        is_inferred=np.full(n_steps, not is_marked),
        is_complete=np.ones(n_steps, np.bool_),
        is_tiling=np.zeros(n_steps, np.bool_),
        member=_members(trace, longest),
    )


def _numbers(grouping: Grouping, rows: Int64, core: Int64) -> Int64:
    """The group of each step event where all have one, else its place on its core."""
    group = grouping.group_id[rows].astype(np.int64)
    if len(rows) and (group >= 0).all() and len(np.unique(np.stack([core, group]), axis=1).T) == len(rows):
        return group
    return np.arange(len(rows)) - np.searchsorted(core, core)


def _name(trace: Trace, grouping: Grouping, row: int) -> str:
    group = int(grouping.group_id[row])
    name = str(grouping.groups["name"].iloc[group]) if group >= 0 else ""
    return name or trace.strings[trace.name_id[row]]


def _members(trace: Trace, rows: Int64) -> Int32:
    """For each event the step (an index into the step events `rows`) during which it starts on the core of that step."""
    member = np.full(trace.n_events, -1, np.int32)
    for core in np.unique(trace.plane_id[rows]).tolist():  # bounded by the number of cores
        own = np.flatnonzero(trace.plane_id[rows] == core)
        own = own[np.argsort(trace.start_ps[rows[own]], kind="stable")]
        events = np.arange(trace.n_events)[trace.events_of_plane(core)]
        events = events[trace.session_id[events] == trace.session_id[rows[0]]]
        at = np.searchsorted(trace.start_ps[rows[own]], trace.start_ps[events], side="right") - 1
        inside = (at >= 0) & (trace.start_ps[events] < trace.ends(rows[own[at]]))
        member[events[inside]] = own[at[inside]]
    return member


def tpu_pieces(trace: Trace, table: StepTable, host_types: UInt8) -> tuple[Int64, Int64, Int64, UInt8]:
    """Step, start, end and `SpanType` of the stretches in which one op ran, on the core that each step is told of.

    A loop contains its body; its own time is what no op of the body covers (semantics 4.2). Of a program without infeeds,
    which gets its data otherwise, the host's waiting for data counts as input where the core idles.

    Args:
        trace: the trace.
        table: the steps.
        host_types: the result of `classify`.

    Differs from XProf: where there are no infeeds, it takes as much of the idle time as the host took for input, wherever.
    """
    types = tpu_span_types(trace)
    if (types == SpanType.NONE).all():
        none = np.empty(0, np.int64)
        return none, none, none, types[:0]
    event, start, end = innermost(trace, (types != SpanType.NONE) & (table.member >= 0))
    wait, step = _waits_of_host(trace, table, types, host_types)
    return (
        np.concatenate([table.member[event], step]),
        np.concatenate([start, trace.start_ps[wait]]),
        np.concatenate([end, trace.ends(wait)]),
        # Of all input this kind gives way to whatever the core does.
        np.concatenate([types[event], np.full(len(wait), SpanType.HOST_TO_DEVICE, np.uint8)]),
    )


def _waits_of_host(trace: Trace, table: StepTable, types: UInt8, host_types: UInt8) -> tuple[Int64, Int64]:
    """Waits for data on the hosts of TPUs without infeeds, each with every step that it overlaps."""
    on_tpu = types != SpanType.NONE
    fed = np.unique(trace.session_id[types == SpanType.HOST_TO_DEVICE])
    rows, steps = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for session in np.setdiff1d(trace.session_id[on_tpu], fed).tolist():  # bounded by the number of sessions
        waits = np.flatnonzero((host_types == SpanType.WAIT_INPUT) & (trace.session_id == session))
        waits = waits[trace.duration_ps[waits] > 0]
        span, step = table.during(np.flatnonzero(table.session == session), trace.start_ps[waits], trace.ends(waits))
        rows.append(waits[span])
        steps.append(step)
    return np.concatenate(rows), np.concatenate(steps)
