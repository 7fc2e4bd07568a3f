"""Events of one host -> the few that the timeline of a reduced profile shows of it: the longest of each plane.

longest_events(results) -> LongEvents
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Bool, Int32, Int64
from .columns import interned

if TYPE_CHECKING:
    from ..facts.facts import Facts

MAX_LONGEST = 32
"""Of one plane."""


@dataclass(frozen=True, eq=False, repr=False)
class LongEvents:
    """The longest events of each plane, by plane, then start; times are ps after the host's own origin."""

    plane: Int32
    """Row of `HostSummary.planes`."""
    name: tuple[str, ...]
    start_ps: Int64
    duration_ps: Int64
    session: Int32
    step: Int32
    """Row of the host's steps, -1 for none."""

    def __len__(self) -> int:
        return len(self.name)


def longest_events(results: Facts) -> LongEvents:
    """Choose executions of ops, the longest first; where a plane has too few, other events of it that are no markers of steps."""
    trace = results.trace
    is_op = np.zeros(trace.n_events, np.bool_)
    is_op[results.occurrences.event] = True
    counted = _counted(results)
    rows = [np.empty(0, np.int64)]
    for plane in range(len(trace.planes)):  # one turn per plane
        part = trace.events_of_plane(plane)
        own = part.start + np.flatnonzero(counted[part])
        ops, others = own[is_op[own]], own[~is_op[own]]
        chosen = _longest(ops, trace.duration_ps, MAX_LONGEST)
        chosen = np.append(chosen, _longest(others, trace.duration_ps, MAX_LONGEST - len(chosen)))
        rows.append(chosen[np.lexsort((-trace.duration_ps[chosen], trace.start_ps[chosen]))])
    chosen = np.concatenate(rows)
    return LongEvents(
        plane=trace.plane_id[chosen].astype(np.int32),
        name=interned(trace.strings[i] for i in trace.name_id[chosen].tolist()),
        start_ps=trace.start_ps[chosen],
        duration_ps=trace.duration_ps[chosen],
        session=trace.session_id[chosen].astype(np.int32),
        step=results.steps.event_step[chosen].astype(np.int32),
    )


def _counted(results: Facts) -> Bool:
    """Timed events of lines that were not made from others, without those that only mark steps."""
    trace = results.trace
    counted: Bool = ~trace.on_lines([line.is_derived for line in trace.lines]) & (trace.n_occurrences == 0)
    counted &= trace.duration_ps > 0
    marks = np.unique(results.steps.frame["name"].str.replace(r"\s*\d+\Z", "", regex=True)).tolist()
    counted &= ~trace.names_matching([str(name) for name in marks])
    return counted


def _longest(rows: Int64, duration_ps: Int64, n: int) -> Int64:
    if len(rows) > n:
        rows = rows[np.argsort(-duration_ps[rows], kind="stable")[: max(n, 0)]]
    return rows
