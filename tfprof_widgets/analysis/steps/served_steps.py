"""Functions that another task had this one run, as the coordinator of parameter servers does -> steps.

A worker of `ParameterServerStrategy` has no loop of its own: it runs what it is sent, and each run is one step.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.event_names import by_ends
from ..base.grouping import Grouping
from .step_table import StepTable, members

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
    """Steps of the groups of `sessions` (one flag per session) that are such calls, labelled inferred.

    Each lasts from its call until the last of what it led to on the host has ended; where somebody waited for it, until
    that wait ended. They are named by the function. A call that began before the capture is no complete step.

    Differs from XProf: its step is the call that starts the function, some of the time a hundredth of it.
    """
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
    is_call = by_ends(trace, lambda names, _: [name.startswith(_CALLS) for name in names], np.bool_)
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
