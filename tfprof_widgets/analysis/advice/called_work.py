"""Samples of the user's line within steps -> what functions of the user's take of them, such as hooks that Keras calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Float64, Trace
from .python_gaps import CodeLine, code_line, covered, sample_times, step_call
from .step_facts import StepFacts

MIN_SAMPLES = 8
"""Of one function in all steps, or of fewer samples all"""
FEW_SAMPLES = 3
"""at least so many, each in a step of its own: where cores are few, samples are, too."""
MOST_OF_STALL = 0.5
"""Of what a step takes longer than others: whoever was seen at so much of it explains it."""
_MOST = 0.5
_COMPUTES = ("host_compute", "device_compute")


@dataclass(frozen=True, eq=False, repr=False)
class CalledWork:
    """A function of the user's beside the one that runs the steps, with all that it calls."""

    line: CodeLine
    """At which it was most often."""
    ms: Float64
    """For each step what it took; 0 for those in which nobody saw it."""

    @property
    def n_steps(self) -> int:
        """In how many steps it was seen."""
        return int((self.ms > 0).sum())


def called_work(
    trace: Trace, source_map: SourceMap | None, steps: StepFacts, *, calls_only_hooks: bool
) -> tuple[CalledWork, ...]:
    """Find it, what takes most time first; nothing where nobody sampled lines.

    Args:
        trace: the trace.
        source_map: with the samples.
        steps: the steps that averages are over.
        calls_only_hooks: whether whatever the steps call of the user's is no part of the computation, as in `fit`. Elsewhere a
            function counts only where no op runs in most of its time: it may be another part of the model.
    """
    if source_map is None or not len(source_map.samples) or not len(steps):
        return ()
    time_ps, frame = sample_times(trace, source_map)
    order = np.argsort(steps.start_ps, kind="stable")
    at = np.searchsorted(steps.start_ps[order], time_ps, side="right") - 1
    entry = np.where(at >= 0, order[at], -1)
    inside = (entry >= 0) & (time_ps < steps.end_ps[entry])
    time_ps, entry = time_ps[inside], entry[inside]
    samples = source_map.frames.iloc[frame[inside]][["file", "line", "function"]].reset_index(drop=True)
    computes = covered(time_ps, steps.pieces[steps.pieces["category"].isin(_COMPUTES)])
    waits = covered(time_ps, steps.pieces[steps.pieces["category"] == "input"])
    if not computes.any():
        return ()
    main = step_call(source_map, frame[inside][computes], entry[computes])
    count = np.bincount(entry, minlength=len(steps))
    each_ms = (steps.time_ms / np.maximum(count, 1))[entry]
    is_main: Bool = ((samples["file"] == main[0]) & (samples["function"] == main[2])).to_numpy()
    samples = samples.assign(entry=entry, ms=each_ms, computes=computes)[~is_main & ~waits & (samples["file"] >= 0)]
    found = []
    for _, own in samples.groupby(["file", "function"]):  # one turn per function
        n_seen = own["entry"].nunique()
        if len(own) < MIN_SAMPLES and n_seen < max(len(own), FEW_SAMPLES):
            continue
        if not calls_only_hooks and own["computes"].mean() > 1 - _MOST:
            continue
        file, line = int(own["file"].iloc[0]), int(own["line"].mode().iloc[0])
        share = len(own) / max(int(inside.sum()), 1)
        ms = np.bincount(own["entry"], own["ms"], minlength=len(steps)).astype(np.float64)
        found.append(CalledWork(code_line(source_map, file, line, share), ms))
    return tuple(sorted(found, key=lambda one: -float(one.ms.sum())))
