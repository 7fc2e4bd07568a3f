"""Steps that several tasks of a job share -> what each task computes, and how long it waits for tensors of the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Bool, Float64, Int64
from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from .step_facts import job_of, trained

if TYPE_CHECKING:
    from .run_facts import RunFacts

RECEIVED = "RecvTensor"
"""The type under which TensorFlow notes the arrival of a tensor of another task."""


@dataclass(frozen=True, eq=False, repr=False)
class TaskWork:
    """One entry per step of each task, as in `Run.task_steps`."""

    host: tuple[str, ...]
    """Such as `/job:worker/replica:0/task:1`."""
    time_ms: Float64
    busy_ms: Float64
    """In which an op of the task ran, on its host or its devices; received tensors are none."""
    wait_ms: Float64
    """In which a tensor was on its way to the task and none of its ops ran."""
    received: Int64
    """What tasks that train received in the steps: rows of `Occurrences`."""

    @cached_property
    def is_trained(self) -> Bool:
        """Whether the task trains."""
        return np.isin(np.array(self.host, object), trained(self.host))


def task_work(run: RunFacts) -> TaskWork:
    """Find it; no entries for a program that is not spread over tasks."""
    steps, trace = run.task_steps, run.trace
    hosts = tuple(str(host) for host in steps.frame["host"]) if len(steps) else ()
    nothing = np.zeros(len(hosts), np.float64)
    if not any(job_of(host) for host in hosts):
        return TaskWork((), nothing[:0], nothing[:0], nothing[:0], np.empty(0, np.int64))
    occurrences = run.facts.occurrences
    is_received = np.array([kind == RECEIVED for kind in occurrences.type], np.bool_)[occurrences.op]
    of_plane = np.array([plane.host for plane in trace.planes], object)
    plane_of_line = np.array([line.plane for line in trace.lines], np.int64)
    host = of_plane[plane_of_line[occurrences.line]]
    busy, wait = nothing, nothing.copy()
    for name in dict.fromkeys(hosts):  # some dozen tasks
        own = np.array([one == name for one in hosts])
        here = host == name
        busy[own] = _covered_ms(run, here & ~is_received, own)
        wait[own] = _covered_ms(run, here, own) - busy[own]
    is_counted = is_received & (run.entry[occurrences.event] >= 0) & np.isin(host, trained(hosts))
    return TaskWork(hosts, steps.time_ms, busy, wait, np.flatnonzero(is_counted))


def _covered_ms(run: RunFacts, chosen: Bool, own: Bool) -> Float64:
    """For some steps how long any of some executions ran."""
    occurrences, steps = run.facts.occurrences, run.task_steps
    if not chosen.any():
        return np.zeros(int(own.sum()), np.float64)
    low = occurrences.start_ps[chosen]
    ran = Stretches.of(low, low + occurrences.duration_ps[chosen])
    inside = ran.within(steps.start_ps[own], steps.end_ps[own])
    return inside / PS_PER_MS
