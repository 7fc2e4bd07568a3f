"""Steps and sessions of the profiler -> how much of the time captured lies in the training's steps, and where the rest is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int64, Session
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


def step_coverage(sessions: Sequence[Session], frame: pd.DataFrame, averaged: Bool) -> Coverage:
    """Find it.

    Args:
        sessions: `Trace.sessions`.
        frame: the `steps` table.
        averaged: for each step whether the averages are over it; all steps of the same kinds count here.
    """
    kinds = kinds_of(frame["name"])
    chosen = frame[np.isin(kinds, np.unique(kinds[averaged]))]
    start = chosen["start_ps"].to_numpy(np.int64)
    end = start + chosen["duration_ps"].to_numpy(np.int64)
    captured, edges, starts, ends = 0, 0, [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, session in enumerate(sessions if frame["host"].nunique() == 1 else ()):  # one turn per session
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
