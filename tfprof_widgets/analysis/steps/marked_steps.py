"""Groups -> steps: those with a marker of a user or callback, and, where nobody marked any, those with device work.

Source: semantics 2.5, 2.6.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.grouping import Grouping
from .served_steps import is_served_call
from .step_spans import longest_device_marker, longest_host_marker, on_host, sessions_with_device
from .step_table import StepTable


def marked_steps(trace: Trace, grouping: Grouping, *, sessions: Bool, counts_left: bool = False) -> StepTable:
    """Steps of the groups of `sessions` (one flag per session) that have a marker on the host; those whose marker says that
    the program left them before their end (by `break`, say) only where they are asked for.

    A step with device work lasts from its marker's start to the end of its marker or its device work, whichever is later,
    but starts no sooner than the step before it ended: with kernels queued ahead, step times then add up to the elapsed
    time instead of counting it twice.

    Differs from XProf: its step is the device work alone (D1); a function that another task had this one run is no step
    here, see `served_steps`.
    """
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
    is_complete = _has_its_device_work(session, has_device, chosen)
    return StepTable.of_groups(grouping, chosen, start[chosen], end[chosen], is_complete=is_complete)


def device_steps(trace: Trace, grouping: Grouping, *, sessions: Bool) -> StepTable:
    """Steps of the groups of `sessions` (one flag per session) that kept a device busy, labelled inferred.

    Each lasts as long as the longest stretch of its work on one device, and bears the number of its group: XProf's steps of
    a capture without markers.
    """
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


def _has_its_device_work(session: Int64, has_device: Bool, chosen: Int64) -> Bool:
    """False for a step without device work where most steps of its session have some: it lies outside of the capture."""
    complete = np.ones(len(chosen), np.bool_)
    for index in np.unique(session[chosen]).tolist():  # bounded by the number of sessions
        own = session[chosen] == index
        if has_device[chosen[own]].mean() > 0.5:
            complete[own] = has_device[chosen[own]]
    return complete
