"""Samples of the user's line outside of training steps -> the functions that take that time, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Float64, Int64, Trace
from ..base.units import PS_PER_MS
from ..steps.coverage import Coverage
from ..steps.step_names import kinds_of
from .evaluations import Evaluations, find_evaluations
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
    """In all: of a validation from the begin of each to its end; else each stretch without a training step as the usual one."""
    usual_ms: float
    """In all, each time counted as the usual one: the first may trace, compile or import."""
    n_times: int
    """So often; what is no validation in so many stretches, with steps between them."""
    is_between: bool
    """Whether training steps came before and after any of that: it is more than how a program begins and ends."""
    kind: str
    """Of the steps that ran meanwhile the most frequent kind, such as `test` of a validation; empty for none."""
    n_steps: int
    """How many of that kind there are in all; of a validation its own."""


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
        time_ps=time_ps,
        stretch=stretch,
        gap=gap,
        ms=weight_ms,
        kind=_kind_at(time_ps, others, kinds[~is_trained]),
    )[weight_ms > 0]
    samples = samples[samples["file"] >= 0].copy()  # of a damaged map of sources some frames are in no file
    first, last = _first_and_last(coverage, frame["start_ps"][is_trained])
    samples["is_between"] = (samples["stretch"] > first) & (samples["stretch"] < last)
    samples["is_main"] = (samples["file"] == main[0]) & (samples["line"] == main[1])
    evaluations = find_evaluations(trace, others, kinds[~is_trained], coverage)
    samples["evaluation"] = evaluations.of(samples["time_ps"].to_numpy(np.int64))
    validations = _validations(evaluations, samples)
    validates = (samples["is_main"] & (validations.of(samples["time_ps"].to_numpy(np.int64)) >= 0)).to_numpy()
    found = [
        *_each_kind(source_map, validations, samples, validates),
        *_each_function(source_map, samples[~validates], len(samples), kinds, are_told=evaluations.are_told),
    ]
    return tuple(sorted(found, key=lambda one: -one.ms))


def _each_kind(
    source_map: SourceMap, validations: Evaluations, samples: pd.DataFrame, validates: Bool
) -> Iterator[OutsideWork]:
    """Validations by the kind of their steps, at the line that runs the training."""
    for kind in np.unique(validations.kind.astype(str)).tolist():  # a handful
        own, seen = validations.at(np.flatnonzero(validations.kind == kind)), samples[validates].iloc[0]
        yield OutsideWork(
            line=code_line(source_map, int(seen["file"]), int(seen["line"]), float(validates.mean())),
            is_training_call=True,
            ms=float(own.ms.sum()),
            usual_ms=_usual_ms(own.ms),
            n_times=len(own.ms),
            is_between=True,
            kind=kind,
            n_steps=int(own.n_steps.sum()),
        )


def _each_function(
    source_map: SourceMap, samples: pd.DataFrame, n_all: int, kinds: npt.NDArray[np.object_], *, are_told: bool
) -> Iterator[OutsideWork]:
    """What is no validation, by function; where `are_told`, each evaluation is known to be one."""
    for _, own in samples.groupby(["file", "function", "is_main"]):  # one turn per function
        by_line = own.groupby("line")["ms"].sum().sort_values(ascending=False)
        is_main, top = bool(own["is_main"].iloc[0]), int(by_line.index[0])
        known = own["kind"][(own["line"] == top) & (own["kind"] != "")]
        kind = str(known.mode().iloc[0]) if len(known) and not is_main else ""
        if is_main:  # a framework begins and ends a call of its own once, which is nothing between epochs
            own = own[own["is_between"]]
            if own.empty:
                continue
        ms = _usual_ms(own.groupby("stretch")["ms"].sum().to_numpy())
        evaluations = own["evaluation"][own["evaluation"] >= 0]
        times = evaluations if kind and are_told else own["stretch" if is_main else "gap"]
        yield OutsideWork(
            line=code_line(source_map, int(own["file"].iloc[0]), top, len(own) / n_all),
            is_training_call=is_main,
            ms=ms,
            usual_ms=ms,
            n_times=int(times.nunique()),
            is_between=bool(own["is_between"].any()),
            kind=kind,
            n_steps=int((kinds == kind).sum()) if kind else 0,
        )


def _first_and_last(coverage: Coverage, start_ps: pd.Series) -> tuple[int, int]:
    """The stretch before the first training step, and the one after the last."""
    before, after = np.searchsorted(coverage.start_ps, [start_ps.min(), start_ps.max()], side="left")
    return int(before) - 1, int(after)


def _validations(found: Evaluations, samples: pd.DataFrame) -> Evaluations:
    """Those that the line of the training's steps runs: of a kind seen there, and mostly seen there themselves, if at all."""
    own = samples["evaluation"].to_numpy(np.int64)
    is_main = samples["is_main"].to_numpy(np.bool_)
    at_main, elsewhere = (
        np.bincount(own[chosen & (own >= 0)], minlength=len(found.ms)) for chosen in (is_main, ~is_main)
    )
    known = np.unique(found.kind[at_main > elsewhere].astype(str))
    return found.at(np.flatnonzero((at_main >= elsewhere) & np.isin(found.kind.astype(str), known)))


def _usual_ms(each_ms: Float64) -> float:
    each_ms = np.sort(each_ms)
    n = len(each_ms)
    return float(np.minimum(each_ms, each_ms[n // 2 if n > 2 else 0]).sum())


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
