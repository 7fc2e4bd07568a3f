"""Iterators of a run -> how long steps wait for new ones, and for a shuffle to fill its buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Float64, Session
from ..base.units import PS_PER_MS
from ..input.iterator_calls import MAKES_ITERATOR
from ..steps.averaged_steps import MIN_STEPS
from .advice import HIGH_GAIN, MEDIUM_GAIN

if TYPE_CHECKING:
    from .run_facts import RunFacts

OFTEN = 0.5
"""An iterator made in so many steps is one made in each: an epoch has more steps than two."""
MIN_FILL_MS = 50.0


def new_iterator_ms(run: RunFacts) -> Float64:
    """For each step how long it takes from the making of a new iterator until that has given a batch; 0 where most make none.

    What `fit` makes is the epoch's. The steps of a loop of the user's that make one each read the data from the start each time.
    """
    steps, trace = run.steps, run.trace
    none = np.zeros(len(steps))
    if len(steps) < MIN_STEPS or run.is_keras_loop:
        return none
    made = np.flatnonzero(trace.names_matching(MAKES_ITERATOR) & (run.entry >= 0))
    fetched = steps.wait_pieces[steps.wait_pieces["category"] == "input"]
    first, last = np.full(len(steps), np.iinfo(np.int64).max), np.zeros(len(steps), np.int64)
    np.minimum.at(first, run.entry[made], trace.start_ps[made])
    entry = np.full(steps.n_all, -1, np.int64)
    entry[steps.row] = np.arange(len(steps))
    at = entry[fetched["step"].to_numpy(np.int64)]
    np.maximum.at(last, at, fetched["start_ps"].to_numpy(np.int64) + fetched["duration_ps"].to_numpy(np.int64))
    spent_ms: Float64 = np.where(last > first, (last - np.minimum(first, last)) / PS_PER_MS, 0.0)
    return spent_ms if (spent_ms > 0).mean() >= OFTEN else none


@dataclass(frozen=True)
class ShuffleFill:
    """A shuffle that fetches until its buffer is full before it gives the first element, in each epoch."""

    row: int
    """In the table of iterators."""
    ms: float
    """For which the training waited, in all."""
    n_times: int
    ratio: float
    """Share of the time captured."""


def shuffle_fill_of(run: RunFacts) -> ShuffleFill | None:
    """Find the one that is waited for longest; None where nothing is waited for, or it is not known of what that is a share."""
    iterators, coverage = run.results.tf_data.iterators, run.results.coverage
    if iterators.empty or not coverage.captured_ps or not _are_one(run.trace.sessions):
        return None
    row = int(iterators["fill_time_ms"].to_numpy(np.float64).argmax())
    ms = float(iterators["fill_time_ms"].iloc[row])
    ratio = ms / (coverage.captured_ps / PS_PER_MS)
    # Beside other programs a buffer takes longer to fill than it would.
    if ms < MIN_FILL_MS or ratio < (HIGH_GAIN if run.is_machine_busy else MEDIUM_GAIN):
        return None
    of_pipeline = iterators["pipeline"] == iterators["pipeline"].iloc[row]
    n_times = int(iterators["n_iterators"][of_pipeline & (iterators["parent_id"] < 0)].sum())
    return ShuffleFill(row, ms, n_times, ratio)


def _are_one(sessions: Sequence[Session]) -> bool:
    """Whether sessions have less between them than they last: a long capture, written in parts, and no chosen steps."""
    in_order = sorted(sessions, key=lambda one: one.start_ps)
    between_ps = sum(max(after.start_ps - before.stop_ps, 0) for before, after in pairwise(in_order))
    return between_ps <= sum(one.stop_ps - one.start_ps for one in sessions)
