"""What takes time outside of training steps, again and again -> advice on hooks of epochs, validation, and calls between fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.units import PS_PER_MS
from ..base.wording import milliseconds, percent, plural
from .advice import HIGH_GAIN, MEDIUM_GAIN, Advice, Highlight, advise, ns_range
from .code_text import one_line
from .fix import Fix

if TYPE_CHECKING:
    from .outside import OutsideWork
    from .run import Run

MIN_TIMES = 2
"""What is done once, such as reading the data or the last report, costs a long training nothing."""
MIN_MS = 50.0
"""In all; less may be a busy machine."""


def outside_steps(run: Run) -> Iterator[Advice]:
    """Time that passes between training steps, not in them.

    Gain: the share of the time captured, which the steps are a part of, that goes on at this place; of what a framework does of
    its own between epochs only where it is much.
    """
    for one in run.outside:
        if not (one.is_training_call and one.kind):
            yield from _told(run, "outside_steps", one)


def validation(run: Run) -> Iterator[Advice]:
    """Much of a training is its validation.

    Gain: the share of the time captured that lies between the begin and the end of each validation, taken as the usual one.
    """
    for one in run.outside:
        if one.is_training_call and one.kind:
            yield from _told(run, "validation", one)


def _told(run: Run, rule: str, one: OutsideWork) -> Iterator[Advice]:
    captured_ms = run.results.coverage.captured_ps / PS_PER_MS
    gain, share = one.usual_ms / captured_ms, one.ms / captured_ms
    # What is no hook of epochs may be what the program is for, such as the next of several models.
    least = MEDIUM_GAIN if one.line.function.startswith("on_") else HIGH_GAIN
    comes_again = one.n_times >= MIN_TIMES and (one.is_between or one.kind != "")
    if comes_again and one.ms >= MIN_MS and gain >= least:
        yield advise(
            rule,
            f"{_what(one)} takes {milliseconds(one.ms)} of the {milliseconds(captured_ms)} captured ({percent(share)}), outside "
            f"of training steps: {_made_of(one)}.",
            evidence={
                "outside_ms": one.ms,
                "captured_ms": captured_ms,
                "outside_ratio": share,
                "n_times": one.n_times,
                "n_steps": one.n_steps,
                "line": one.line.place,
                "function": one.line.function,
                "code": one.line.code,
            },
            fix=_fix(one),
            selection=_longest(run),
            gain_ratio=gain,
        )


def _what(one: OutsideWork) -> str:
    if not one.is_training_call:
        return one.line.where
    return "Validation" if one.kind else f"What the call at {one.line.place} does between epochs"


def _made_of(one: OutsideWork) -> str:
    if one.kind:
        return plural(one.n_steps, f"{one.kind} step")
    return f"{plural(one.n_times, 'time')}, {milliseconds(one.ms / one.n_times)} each"


def _longest(run: Run) -> Highlight:
    """The longest stretch without a training step that comes after one, with that step."""
    coverage, frame = run.results.coverage, run.results.steps.frame
    start_ps = frame["start_ps"].to_numpy(np.int64)
    length = np.where(coverage.start_ps > start_ps.min(), coverage.end_ps - coverage.start_ps, -1)
    at = int(np.argmax(length))
    step = int(np.flatnonzero(start_ps <= coverage.start_ps[at]).max(initial=0))
    begin_ps = min(int(start_ps[step]), int(coverage.start_ps[at]))
    return Highlight(time_range_ns=ns_range(begin_ps, int(coverage.end_ps[at])), step=step, view="timeline")


def _fix(one: OutsideWork) -> Fix:
    where = f" ({one_line(f'{one.line.place}: {one.line.code}')})"
    if one.is_training_call and one.kind:
        return Fix(
            f"Validate every fifth epoch, validation_freq=5 of fit, and on larger batches{where}. Callbacks that "
            "watch val_loss then act every fifth epoch, too."
        )
    if one.is_training_call:
        return Fix(
            f"Make fewer, longer epochs, as callbacks and metrics run at the end of each{where}: of a dataset that "
            "is repeated steps_per_epoch says how long one is."
        )
    if one.line.function.startswith("on_epoch_"):
        return Fix(f"Do it every tenth epoch instead of each, or in a thread of its own{where}.")
    if "predict" in one.kind:
        return Fix(
            f"Each call makes a pipeline of its own first{where}: predict all at once, in large batches "
            "(batch_size=256), or call the model itself on one batch, model(x, training=False)."
        )
    if one.kind:
        return Fix(f"Do it less often, and in larger batches (batch_size=256){where}.")
    return Fix(f"Do it less often, or in a thread of its own{where}.")
