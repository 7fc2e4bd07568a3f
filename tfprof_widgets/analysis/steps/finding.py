"""Trace -> where its steps begin and end: marked, of a served model, of a TPU, or found as what repeats on a thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.arrays import Bool, Int32, Int64, UInt8
from ...trace.trace import MAX_PS, Trace
from ..events import build_graph, innermost, nearest_marked, program_calls, torch_ops
from ..grouping import Grouping
from ..names import by_ends
from .categories import on_core_line, tpu_span_types
from .spans import (
    SpanType,
    StepTable,
    longest_device_marker,
    longest_host_marker,
    members,
    on_host,
    sessions_with_device,
)

_STARTED = "KernelAndDeviceFunc::RunAsync"
"""The runtime marks it as the root of a step; it only starts the function."""
_WAITED = "KernelAndDeviceFunc::Run"
"""Around it where somebody waits for the function to end."""
_CALLS = ("EagerLocalExecute: ", "EagerLocalExecuteAsync: ")
_INFERENCE = "__inference_"


def is_served_call(trace: Trace, grouping: Grouping) -> Bool:
    """For each group whether its root is such a call, which nobody marked as a step."""
    root = grouping.groups["root"].to_numpy(np.int64)
    if _STARTED not in trace.string_ids:
        return np.zeros(len(root), np.bool_)
    found: Bool = (root >= 0) & (trace.name_id[root] == trace.string_ids[_STARTED])
    return found


def served_steps(trace: Trace, grouping: Grouping, *, sessions: Bool) -> StepTable:
    """Inferred steps of calls from outside in `sessions` (flags), until what a call led to on the host, and who waited for it,
    ended. Differs from XProf: its step is the call that starts the function."""
    session = grouping.groups["session"].to_numpy(np.int64)
    chosen = np.flatnonzero(is_served_call(trace, grouping) & sessions[session])
    if not len(chosen):
        return StepTable.empty(trace.n_events)
    root = grouping.groups["root"].to_numpy(np.int64)[chosen]
    member = members(grouping, chosen)
    start, end = trace.start_ps[root], trace.ends(root)
    own = np.flatnonzero((member >= 0) & trace.on_planes([plane.is_host for plane in trace.planes]))
    np.maximum.at(end, member[own], trace.ends(own))
    around = trace.nesting.parent[root].astype(np.int64)
    waits = (around >= 0) & (trace.name_id[around] == trace.string_ids.get(_WAITED, -1))
    start = np.where(waits, trace.start_ps[around], start)
    end = np.where(waits, np.maximum(end, trace.ends(around)), end)
    function = _functions(trace, root)
    names = _names(trace, function, session[chosen])
    return StepTable.of_groups(grouping, chosen, start, end, is_complete=function >= 0, is_inferred=True, name=names)


def _functions(trace: Trace, root: Int64) -> Int64:
    """For each call the name of the event that tells its function, -1 where that began before the capture."""
    function = np.full(len(root), -1, np.int64)
    is_call = by_ends(trace, lambda name, *_: name.startswith(_CALLS))
    at = trace.nesting.parent[root].astype(np.int64)
    while (open_ := (at >= 0) & (function < 0)).any():  # bounded by the depth of nesting
        named = open_ & is_call[trace.name_id[at]]
        function[named] = trace.name_id[at[named]]
        at = np.where(open_, trace.nesting.parent[at], at)
    return function


def _names(trace: Trace, function: Int64, session: Int64) -> tuple[str, ...]:
    """The function of each call and its number among those of the session and the same function."""
    seen: dict[tuple[int, str], int] = {}
    names = []
    for one, text in zip(session.tolist(), function.tolist(), strict=True):  # by start within a session
        title = trace.strings[text].partition(": ")[2].removeprefix(_INFERENCE) if text >= 0 else _STARTED
        number = seen[one, title] = seen.get((one, title), -1) + 1
        names.append(f"{title} {number}")
    return tuple(names)


def marked_steps(trace: Trace, grouping: Grouping, *, sessions: Bool, counts_left: bool = False) -> StepTable:
    """Steps of `sessions` (flags) with a marker on the host, without those left early unless asked, each to the end of its marker
    or device work, from the end of the one before. Differs from XProf: the device work alone (D1)."""
    session = grouping.groups["session"].to_numpy(np.int64)
    marker = np.where(is_served_call(trace, grouping), -1, longest_host_marker(trace, grouping))
    device_start, device_duration = longest_device_marker(trace, grouping)
    has_device = device_duration >= 0
    if not counts_left:
        marker = np.where(trace.has_stat("step_left")[marker] & (marker >= 0), -1, marker)
    chosen = np.flatnonzero((marker >= 0) & sessions[session])
    is_marked = marker >= 0
    start, end = np.zeros(len(marker), np.int64), np.zeros(len(marker), np.int64)
    start[is_marked], end[is_marked] = trace.start_ps[marker[is_marked]], trace.ends(marker[is_marked])
    end = np.where(has_device, np.maximum(end, device_start + device_duration), end)
    queues = sessions_with_device(trace)
    later = np.maximum(end, _ends_of_programs(trace, grouping))
    queues[session[chosen[later[chosen] > end[chosen]]]] = True
    start, end = _without_overlap(start, later, session, chosen, queues), later
    is_complete = np.ones(len(chosen), np.bool_)
    for index in np.unique(session[chosen]).tolist():  # bounded by the number of sessions
        own = session[chosen] == index
        if has_device[chosen[own]].mean() > 0.5:
            is_complete[own] = has_device[chosen[own]]
    ran = np.sort(trace.start_ps[torch_ops(trace)])
    if len(ran):  # `torch.profiler` begins a step as the last one ends, in which nothing runs
        is_complete &= np.searchsorted(ran, end[chosen]) > np.searchsorted(ran, start[chosen])
    return StepTable.of_groups(grouping, chosen, start[chosen], end[chosen], is_complete=is_complete)


def device_steps(trace: Trace, grouping: Grouping, *, sessions: Bool) -> StepTable:
    """Inferred steps of `sessions` (flags) of groups that used a device, by the longest stretch on one device."""
    session = grouping.groups["session"].to_numpy(np.int64)
    start, duration = longest_device_marker(trace, grouping)
    chosen = np.flatnonzero((duration >= 0) & sessions[session])
    begin = start[chosen]
    return StepTable.of_groups(grouping, chosen, begin, begin + duration[chosen], is_inferred=True)


def _ends_of_programs(trace: Trace, grouping: Grouping) -> Int64:
    """For each group when the last op of an XLA program ended that it ran on the host, 0 for none."""
    end = np.zeros(len(grouping.groups), np.int64)
    rows = np.unique(trace.keyed_stats("hlo_op").event)
    rows = rows[(grouping.group_id[rows] >= 0) & on_host(trace)[rows]]
    np.maximum.at(end, grouping.group_id[rows], trace.ends(rows))
    return end


def _without_overlap(start: Int64, end: Int64, session: Int64, chosen: Int64, with_device: Bool) -> Int64:
    """Let each step of a session in `with_device` start no sooner than those before it ended."""
    start = start.copy()
    for index in np.flatnonzero(with_device).tolist():  # bounded by the number of sessions
        rows = chosen[session[chosen] == index]
        rows = rows[np.argsort(start[rows], kind="stable")]
        before = np.maximum.accumulate(end[rows])[:-1]
        late = rows[1:]
        start[late] = np.where(before < end[late], np.maximum(start[late], before), start[late])
    return start


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
    fetch = inside & by_ends(trace, lambda name, *_: name.startswith(_EAGER_FETCH))[trace.name_id]
    if function is not None:
        fetches = np.flatnonzero(fetch & (trace.line_id == function.line))
        # Whether the calls take most of a repetition; of medians, so that a pause between epochs does not count
        period = np.median(np.diff(trace.start_ps[function.rows]))
        if bool(np.median(trace.duration_ps[function.rows]) >= _MIN_SHARE * period) or not len(fetches):
            return [_from_fetch(trace, function, fetches)]
    loop = _eager_loop(trace, inside, fetch)
    return [loop] if loop else []


def _function(trace: Trace, inside: Bool) -> Loop | None:
    """The function that takes most time among those called at least twice, outside of another, on one line."""
    called = trace.has_stat("tf_function_call") & inside
    if not called.any():
        called = trace.names_matching(["SessionRun"]) & inside
    rows = np.flatnonzero(called)
    parent = trace.nesting.parent
    rows = rows[~(np.append(nearest_marked(parent, called), -1)[parent[rows]] >= 0)]
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
    """Fetches followed by work before the next one, of several in a row the first: the last of an epoch adds no step."""
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


_PAUSE = 3.0
"""A repetition longer than this many medians may hold something that is not the loop's."""
_FAIR_SHARE = 0.005
"""Of the time captured; what repeats for less is no training. Of a second of data and models that nobody marked, 5 ms."""


def infer_steps(trace: Trace, *, sessions: Bool) -> StepTable:
    """Inferred steps of `sessions` (flags), empty where nothing repeats; events of its thread lead to what belongs to a step."""
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
    """Only the steps of sessions that they cover a fair share of, by their median: hundreds of quick checks are no steps."""
    kept = np.zeros(len(table.start_ps), np.bool_)
    for session in np.unique(table.session).tolist():  # bounded by the number of sessions
        own, events = table.session == session, trace.session_id == session
        captured_ps = trace.ends(np.flatnonzero(events)).max() - trace.start_ps[events].min()
        usual_ps = np.median(table.end_ps[own] - table.start_ps[own])
        kept[own] = usual_ps * own.sum() >= _FAIR_SHARE * captured_ps
    return table if kept.all() else table.at(np.flatnonzero(kept))


def _outermost(trace: Trace, loop: Loop, session: int) -> tuple[Int64, Int64]:
    """The outermost events of the loop's thread within one repetition, and which starts each repetition, -1 for none."""
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
    """Ends of the repetitions: where the next begins; at the end and before a pause after as many events as the median has."""
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
    """The steps that some calls of one session are, in the order in which their work begins."""
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


def tpu_steps(trace: Trace, grouping: Grouping) -> StepTable:
    """Steps on the TPU's line `Steps`, else the programs on `XLA Modules`, the n-th of each core together, as long as on the
    slowest. Differs from XProf: it mixes cores, so that parts exceed the step."""
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
    """Step, start, end and `SpanType` of the stretches in which one op ran, on each step's core, loops without their bodies
    (semantics 4.2). Differs from XProf: without infeeds the host's input counts only where the core idles."""
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
