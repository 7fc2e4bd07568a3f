"""Samples of the user's line outside of training steps -> the functions that take that time, again and again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Float64, Int64, Trace
from ..base.units import PS_PER_MS
from ..steps.coverage import Coverage
from ..steps.step_names import kinds_of
from .python_gaps import CodeLine, code_line, covered, sample_times, step_call

SPARSE_MS = 100.0
"""A stretch with fewer than one sample for so long is one in which Python's lock was held: nobody knows where."""


@dataclass(frozen=True)
class OutsideWork:
    """What one function of the user's, or what it calls, does outside of the steps that a training consists of."""

    line: CodeLine
    """At which it was most often."""
    is_training_call: bool
    """Whether this is the line at which the training's steps run, too, such as that of `fit`: it is what the framework does."""
    ms: float
    """In all, each stretch without a training step counted as the usual one: the first may trace, compile or import."""
    n_times: int
    """In so many stretches, with steps between them."""
    is_between: bool
    """Whether training steps came before and after any of that: it is more than how a program begins and ends."""
    kind: str
    """Of the steps that ran meanwhile the most frequent kind, such as `test` of a validation; empty for none."""
    n_steps: int
    """How many of that kind there are in all."""


def outside_work(
    trace: Trace, source_map: SourceMap | None, coverage: Coverage, frame: pd.DataFrame, averaged: Bool
) -> tuple[OutsideWork, ...]:
    """Find it, what takes most time first; nothing where nobody sampled lines.

    Args:
        trace: the trace.
        source_map: with the samples.
        coverage: where the time outside is.
        frame: the `steps` table.
        averaged: for each step whether the averages are over it.
    """
    if source_map is None or not len(source_map.samples) or not len(coverage.start_ps):
        return ()
    time_ps, frame_row = sample_times(trace, source_map)
    kinds = kinds_of(frame["name"])
    is_trained = np.isin(kinds, np.unique(kinds[averaged]))
    begins, others = np.sort(frame["start_ps"].to_numpy(np.int64)), frame[~is_trained]
    gap = np.searchsorted(begins, time_ps, side="right")
    in_step = covered(time_ps, frame[is_trained])
    main = step_call(source_map, frame_row[in_step], gap[in_step])[:2] if in_step.any() else (-1, -1)
    stretch, weight_ms = _weights(time_ps, coverage)
    samples = source_map.frames.iloc[frame_row][["file", "line", "function"]].reset_index(drop=True)
    samples = samples.assign(
        stretch=stretch,
        gap=gap,
        ms=weight_ms,
        kind=_kind_at(time_ps, others, kinds[~is_trained]),
    )[weight_ms > 0]
    samples = samples[samples["file"] >= 0].copy()  # of a damaged map of sources some frames are in no file
    first, last = _first_and_last(coverage, frame["start_ps"][is_trained])
    samples["is_between"] = (samples["stretch"] > first) & (samples["stretch"] < last)
    samples["is_main"] = (samples["file"] == main[0]) & (samples["line"] == main[1])
    found = []
    for _, own in samples.groupby(["file", "function", "is_main"]):  # one turn per function
        by_line = own.groupby("line")["ms"].sum().sort_values(ascending=False)
        is_main, top = bool(own["is_main"].iloc[0]), int(by_line.index[0])
        known = own["kind"][(own["line"] == top) & (own["kind"] != "")]
        kind = str(known.mode().iloc[0]) if len(known) else ""
        if is_main and not kind:  # a framework begins and ends a call of its own once, which is nothing between epochs
            own = own[own["is_between"]]
            if own.empty:
                continue
        found.append(
            OutsideWork(
                line=code_line(source_map, int(own["file"].iloc[0]), top, len(own) / len(samples)),
                is_training_call=is_main,
                ms=_usual_ms(own),
                is_between=bool(own["is_between"].any()),
                n_times=int(own["stretch" if is_main else "gap"].nunique()),
                kind=kind,
                n_steps=int((kinds == kind).sum()) if kind else 0,
            )
        )
    return tuple(sorted(found, key=lambda one: -one.ms))


def _first_and_last(coverage: Coverage, start_ps: pd.Series) -> tuple[int, int]:
    """The stretch before the first training step, and the one after the last."""
    before, after = np.searchsorted(coverage.start_ps, [start_ps.min(), start_ps.max()], side="left")
    return int(before) - 1, int(after)


def _usual_ms(samples: pd.DataFrame) -> float:
    of_stretch = np.sort(samples.groupby("stretch")["ms"].sum().to_numpy())
    n = len(of_stretch)
    return float(np.minimum(of_stretch, of_stretch[n // 2 if n > 2 else 0]).sum())


def _weights(time_ps: Int64, coverage: Coverage) -> tuple[Int64, Float64]:
    """For each sample its stretch outside of steps, -1 for none, and how much of that it stands for, in ms."""
    n = len(coverage.start_ps)
    stretch = np.searchsorted(coverage.start_ps, time_ps, side="right") - 1
    stretch[(stretch >= 0) & (time_ps >= coverage.end_ps[stretch])] = -1
    count = np.bincount(stretch[stretch >= 0], minlength=n)
    length_ms = (coverage.end_ps - coverage.start_ps) / PS_PER_MS
    each_ms = np.where(count * SPARSE_MS >= length_ms, length_ms / np.maximum(count, 1), 0.0)
    return stretch, np.append(each_ms, 0.0)[stretch]


def _kind_at(time_ps: Int64, steps: pd.DataFrame, kinds: np.ndarray) -> np.ndarray:
    """For each moment the kind of the step that runs then; empty for none."""
    found = np.full(len(time_ps), "", object)
    for kind in np.unique(kinds.astype(str)).tolist():  # a handful
        found[covered(time_ps, steps[kinds == kind])] = kind
    return found
