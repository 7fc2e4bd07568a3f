"""Steps and sessions of the profiler -> how much of the time captured lies in the training's steps, and where the rest is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int64, Trace
from ..base.stretches import Stretches
from .step_names import kinds_of


@dataclass(frozen=True, eq=False, repr=False)
class Coverage:
    """Of the sessions in which the program ran such steps; of several hosts, that wait for each other, it is not told."""

    captured_ps: int
    """From the begin of each session to its end."""
    outside_ps: int
    """Of that what lies in no such step; steps of another kind, such as those of a validation, count here."""
    edges_ps: int
    """Of `outside_ps` what comes before the first step of any kind and after the last: how a program begins and ends."""
    start_ps: Int64
    """When each stretch without such a step begins, in order of time; `end_ps` when it ends."""
    end_ps: Int64

    @property
    def ratio(self) -> float:
        """Share of the time captured that lies in steps; 1 where it is not told."""
        return 1 - self.outside_ps / self.captured_ps if self.captured_ps else 1.0

    @property
    def between_ps(self) -> int:
        """What lies outside of such steps between the first step and the last."""
        return self.outside_ps - self.edges_ps


def step_coverage(trace: Trace, frame: pd.DataFrame, averaged: Bool) -> Coverage:
    """Find it. It is not told of single runs of a session: what is between them was not recorded, and is in part the profiler's.

    Args:
        trace: the trace.
        frame: the `steps` table.
        averaged: for each step whether the averages are over it; all steps of the same kinds count here.
    """
    is_told = frame["host"].nunique() == 1 and not _is_of_single_runs(trace)
    sessions = trace.sessions if is_told else ()
    kinds = kinds_of(frame["name"])
    chosen = frame[np.isin(kinds, np.unique(kinds[averaged]))]
    start = chosen["start_ps"].to_numpy(np.int64)
    end = start + chosen["duration_ps"].to_numpy(np.int64)
    captured, edges, starts, ends = 0, 0, [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, session in enumerate(sessions):  # one turn per session
        own = chosen["session"].to_numpy() == number
        if not own.any():
            continue
        steps = Stretches.of(start[own], end[own])
        first, last = int(steps.start[0]), int(steps.end[-1])
        if len(sessions) == 1:  # of several the profiler begins and ends each around steps that were asked for
            first, last = min(first, session.start_ps), max(last, session.stop_ps)
            begins = frame["start_ps"].to_numpy(np.int64)
            edges = max(int(begins.min()) - first, 0) + max(last - int((begins + frame["duration_ps"]).max()), 0)
        captured += last - first
        starts.append(np.append(first, steps.end))
        ends.append(np.append(steps.start, last))
    begin, until = np.concatenate(starts), np.concatenate(ends)
    order = np.argsort(begin, kind="stable")
    order = order[until[order] > begin[order]]
    return Coverage(captured, int((until - begin)[order].sum()), edges, begin[order], until[order])


def _is_of_single_runs(trace: Trace) -> bool:
    """Whether TensorFlow's first profiler recorded it, which writes one file a run: the reader makes the line of its steps."""
    return any(line.name == "Steps" and trace.planes[line.plane].is_host for line in trace.lines)
