"""Iterators that are made, or begin, too often -> advice on one made in each step, and on shuffles that fill their buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.trace import Float64, Session
from ..base.iterator_names import base_name
from ..base.units import PS_PER_MS
from ..base.wording import milliseconds, number, percent, plural
from ..input.iterator_calls import MAKES_ITERATOR
from ..input.iterator_table import slowest_below
from ..steps.averaged_steps import MIN_STEPS
from .advice import HIGH_GAIN, MEDIUM_GAIN, Advice, advise, step_highlight
from .fix import Fix
from .mapped_function import mapped_function
from .step_facts import StepPart

if TYPE_CHECKING:
    from .run import Run

OFTEN = 0.5
"""An iterator made in so many steps is one made in each: an epoch has more steps than two."""
MIN_FILL_MS = 50.0
_PREPARES = frozenset(
    ("Map", "ParallelMap", "MapAndBatch", "ParseExample", "Interleave", "ParallelInterleave", "Generator")
)
_REPEATS = frozenset(("Repeat", "ForeverRepeat", "FiniteRepeat"))


def new_iterator_ms(run: Run) -> Float64:
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


def new_iterator(run: Run) -> Iterator[Advice]:
    """A loop makes an iterator in each step: it starts threads and fills buffers for a single batch.

    Gain: the time from the making of each until its batch is there, of a usual step. It is about that: the threads go on
    to prepare what nobody takes, beside the rest of the step, and are ended in it.
    """
    steps, spent_ms = run.steps, run.new_iterator_ms
    if not len(steps) or not spent_ms.any():
        return
    part = StepPart("new_iterator", float(np.median(spent_ms)), steps.median_ms)
    if part.ratio < MEDIUM_GAIN:
        return
    n = int((spent_ms > 0).sum())
    yield advise(
        "new_iterator",
        f"{n} of {plural(len(steps), 'step')} make an iterator of their own, which begins the data anew and takes {part} to give "
        "its first batch.",
        evidence=part.evidence
        | {
            "n_iterators": n,
            "n_steps": len(steps),
            "estimate": "the first batch of each iterator; its threads take more beside the step",
        },
        fix=Fix(
            "Make one iterator, iter(...), before the loop, and take next(iterator) in each step. Each step then "
            "gets the next batch; an iterator made anew begins the data from its start."
        ),
        selection=steps.usual(spent_ms, view="timeline", op_names=run.known("IteratorGetNext")),
        gain_ratio=part.ratio,
    )


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


def shuffle_fill_of(run: Run) -> ShuffleFill | None:
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


def shuffle_fill(run: Run) -> Iterator[Advice]:
    """A shuffle fills its buffer at the begin of each epoch, while the training waits.

    Gain: the share of the time captured in which it does.
    """
    fill = run.shuffle_fill
    if fill is None or run.new_iterator_ms.any():
        return
    iterators = run.results.tf_data.iterators
    shuffle = iterators.iloc[fill.row]
    below = [str(name) for name in iterators["name"].iloc[slowest_below(iterators, fill.row)]]
    prepared = next((name for name in below if base_name(name) in _PREPARES), "")
    repeated = any(base_name(name) in _REPEATS for name in below)
    size = number(float(shuffle["buffer_size"])) if shuffle["buffer_size"] > 0 else "its"
    by = f", which {prepared} prepares" if prepared else ""
    yield advise(
        "shuffle_fill",
        f"The training waits {milliseconds(fill.ms)} of the {milliseconds(fill.ms / fill.ratio)} captured "
        f"({percent(fill.ratio)}) until {shuffle['name']} has filled its buffer of {size} elements{by}: "
        f"{plural(fill.n_times, 'time')}, before the first batch of each iterator.",
        evidence={
            "fill_ms": fill.ms,
            "fill_ratio": fill.ratio,
            "n_fills": fill.n_times,
            "bottleneck": str(shuffle["long_name"]),
            "settings": str(shuffle["settings"]),
        },
        fix=_smaller_fill(run, shuffle, prepared, is_repeated=repeated),
        selection=step_highlight(
            run.results.steps.frame,
            int(run.results.steps.frame["input_ms"].to_numpy().argmax()),
            view="input_graph",
            op_names=tuple(shuffle["event_names"]),
        ),
        gain_ratio=fill.ratio,
    )


def _smaller_fill(run: Run, shuffle: pd.Series, prepared: str, *, is_repeated: bool) -> Fix:
    costly = mapped_function(run) if prepared else None
    note = (
        " Shuffle before repeat(): behind it the buffer takes the same elements several times." if is_repeated else ""
    )
    if prepared:
        return Fix(
            "Shuffle elements, names or indices first, and prepare them "
            f"afterwards{f' by {costly.words}' if costly else ''}: a full buffer then costs little, and the order is "
            f"as random.{note}"
        )
    size = int(shuffle["buffer_size"])
    smaller = f", such as of {max(size // 10, 1):,} elements," if size > 0 else ""
    return Fix(f"A smaller buffer{smaller} is full sooner; it shuffles less.{note}")
