"""Iterators that are made, or begin, too often -> advice on one made in each step, and on shuffles that fill their buffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..base.iterator_names import base_name
from ..base.wording import milliseconds, number, percent, plural
from ..input.iterator_table import slowest_below
from .advice import MEDIUM_GAIN, Advice, advise, step_highlight
from .fix import Fix
from .mapped_function import mapped_function
from .step_facts import StepPart

if TYPE_CHECKING:
    from .run import Run

_PREPARES = frozenset(
    ("Map", "ParallelMap", "MapAndBatch", "ParseExample", "Interleave", "ParallelInterleave", "Generator")
)
_REPEATS = frozenset(("Repeat", "ForeverRepeat", "FiniteRepeat"))


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
