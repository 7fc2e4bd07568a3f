"""A failed request -> the allocator that it was made to, and the last snapshot before it failed."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..base.units import PS_PER_NS
from ..facts.facts import Facts
from .request import FailedRequest

_LATE_S = 5.0
"""The exception arrives later than its allocation failed, and clocks differ."""
_GPU = re.compile(r"GPU:(\d+)")


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When and where an allocation failed."""

    allocator: str
    """The one that the message names; where it names none the one with the largest peak."""
    row: int
    """Of `Snapshots`: the last one before the failure."""
    op: str
    """The op that failed, as the trace calls it; "" where it is not in the trace."""
    step: int
    """Row of the `steps` table, -1 for none."""
    failed_ps: int
    """When it failed, after the trace origin: at that snapshot or later."""


def find_moment(facts: Facts, request: FailedRequest, at_ns: int, *, allocators: tuple[str, ...]) -> Moment | None:
    """Find the failure in a trace; None where the trace does not hold it.

    Args:
        facts: the analyses of the trace.
        request: what failed.
        at_ns: Unix time at which the exception arrived.
        allocators: those that may be meant where the message names none.

    The executor notes how long an op ran even where it failed, so the end of its last execution is the moment. Where it is
    not known the moment is that of the last allocation that worked: what follows is only the memory being given back.
    """
    trace, memory = facts.trace, facts.memory
    at_ps = (at_ns - trace.origin_ns) * PS_PER_NS
    if memory.is_empty or seconds_since_capture(facts, at_ns) > _LATE_S:
        return None
    allocator = allocator_of(facts, request, allocators)
    if not allocator:
        return None
    rows = memory.snapshots.rows_of(allocator)
    time_ps = memory.snapshots.time_ps[rows]
    op, event = _last_execution(facts, request.op, at_ps)
    if event >= 0:
        place = int(np.searchsorted(time_ps, trace.end_ps[event], side="right")) - 1
    else:
        made = np.flatnonzero(~memory.snapshots.is_free[rows] & (time_ps <= at_ps))
        place = int(made[-1]) if len(made) else -1
    if place < 0:
        return None
    row = rows.start + place
    by = event if event >= 0 else int(memory.snapshots.event[row])
    return Moment(
        allocator=allocator,
        row=row,
        op=op,
        step=int(facts.steps.event_step[by]),
        failed_ps=int(trace.end_ps[event] if event >= 0 else memory.snapshots.time_ps[row]),
    )


def seconds_since_capture(facts: Facts, at_ns: int) -> float:
    """For how long no session of the profiler had run when the exception arrived; negative where one ran, 0 where unknown."""
    stops = [session.stop_ps for session in facts.trace.sessions]
    return ((at_ns - facts.trace.origin_ns) * PS_PER_NS - max(stops)) / 1e12 if stops else 0.0


def allocator_of(facts: Facts, request: FailedRequest, allocators: tuple[str, ...]) -> str:
    """The name of the allocator in the trace; "" where it is not there."""
    memory = facts.memory
    if request.allocator:
        for name in memory.allocators:
            if name == request.allocator or name.endswith(f": {request.allocator}"):
                return name
        return ""
    gpu = _GPU.search(request.device)
    if gpu:
        names = [
            name for name in memory.allocators if re.search(rf"(?i)GPU_?{gpu[1]}(_bfc)?$|gpu_async_{gpu[1]}$", name)
        ]
        return names[0] if names else ""
    summary = memory.summary[memory.summary["allocator"].isin(allocators)]
    if summary.empty:
        return ""
    return str(summary["allocator"].iloc[int(summary["peak_bytes"].to_numpy().argmax())])


def _last_execution(facts: Facts, op: str, at_ps: int) -> tuple[str, int]:
    """Name and event of the last execution of an op, which its graph calls so, in the last step; -1 for none."""
    if not op:
        return "", -1
    occurrences, trace = facts.occurrences, facts.trace
    units = [i for i, name in enumerate(occurrences.name) if name == op or name.endswith(f"/{op}")]
    found = np.flatnonzero(np.isin(occurrences.op, units) & (trace.start_ps[occurrences.event] <= at_ps))
    if not len(found):
        return "", -1
    last = int(found[np.argmax(trace.end_ps[occurrences.event[found]])])
    event = int(occurrences.event[last])
    event_step = facts.steps.event_step
    if event_step[event] != event_step.max(initial=-1):  # an earlier step's: the one that failed left no event
        return "", -1
    return occurrences.name[int(occurrences.op[last])], event
