"""How long steps took with and without the profiler -> by how much the profiler slowed them down, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...trace.capture_facts import UNKNOWN, CaptureFacts, Interference
from ...trace.trace import Float64
from ..base.intervals import block_middles
from ..base.wording import number, plural, size

MIN_STEPS = 5
"""Fewer on either side give no interval."""
_N_RESAMPLES = 2_000
_SEED = 20_240_229
_INTERVAL = (2.5, 97.5)
_MOST_STEPS = 2_000
"""Of a side that are resampled: the interval of more would not be told apart from theirs."""


def measure_interference(step_times: pd.DataFrame) -> Interference:
    """Compare the steps of a capture inside and outside of its windows.

    Only steps of one name are compared, `train` with `train`: of several names that with the most steps on its scarcer
    side. Its first step is left out: it traces and compiles. So are steps in which a window opened or closed.

    The interval is a bootstrap with a fixed seed over blocks of neighbouring steps: a program that drifts (a machine that
    others use, a data cache that fills) has alike neighbours, and its interval is wider for it.

    Args:
        step_times: columns `name, start_ns, duration_ns, phase` in the order of begins, as `CaptureRecord.step_times`.
    """
    found = [Interference()]
    for _, steps in step_times.groupby("name", sort=True):  # bounded by the names of markers: a handful
        steps = steps.iloc[1:]
        inside = steps.loc[steps["phase"] == "during", "duration_ns"].to_numpy(np.float64)
        outside = steps.loc[steps["phase"].isin(["before", "after"]), "duration_ns"].to_numpy(np.float64)
        found.append(_compared(inside, outside))
    return max(
        found, key=lambda one: (min(one.n_steps_inside, one.n_steps_outside), one.n_steps_inside + one.n_steps_outside)
    )


def _compared(inside: Float64, outside: Float64) -> Interference:
    n_inside, n_outside = len(inside), len(outside)
    if not n_inside or not n_outside:
        return Interference(n_steps_inside=n_inside, n_steps_outside=n_outside)
    ratio = float(np.median(inside) / max(np.median(outside), 1.0)) - 1
    interval = UNKNOWN
    if min(n_inside, n_outside) >= MIN_STEPS:
        rng = np.random.default_rng(_SEED)
        ratios = _medians(inside, rng) / np.maximum(_medians(outside, rng), 1.0) - 1
        low, high = np.percentile(ratios, _INTERVAL).tolist()
        # A median of few steps has few values: what was found is always one of those it may be.
        interval = (min(low, ratio), max(high, ratio))
    return Interference(ratio, interval, n_inside, n_outside)


def _medians(durations: Float64, rng: np.random.Generator) -> Float64:
    """Medians of resamples."""
    if len(durations) > _MOST_STEPS:
        durations = durations[np.linspace(0, len(durations) - 1, _MOST_STEPS).astype(np.int64)]
    length = max(1, round(len(durations) ** (1 / 3)))
    n_blocks = -(-len(durations) // length)
    return block_middles(durations, rng, np.median, length=length, n_blocks=n_blocks, n_resamples=_N_RESAMPLES)


@dataclass(frozen=True, kw_only=True)
class CaptureSummary(CaptureFacts):
    """What a capture was, and what it cost the program that it looked at: what `Profile.capture` gives."""

    start_s: float
    """Seconds that starting the profiler took, the sum over the windows. The program waited for it, between steps."""
    stop_s: float
    """Seconds that stopping it and writing its files took, likewise."""
    n_bytes: int
    """Size of its files."""
    n_events: int
    """Events in them."""
    windows: tuple[Any, ...] = field(default=(), repr=False, compare=False)
    """The sessions of the profiler in time order, each with `run_dir`, `first_step`, `last_step`, `n_steps`, times and
    size; empty for a profile that was loaded.
    """
    step_times: pd.DataFrame | None = field(default=None, repr=False, compare=False)
    """How long each marked step took, captured or not: `number` and `name` of the step, `start_ns` (Unix time),
    `duration_ns`, `phase` (`before` the first window, `during` one, `after` one, or `cut` by one). None for a profile
    that was loaded.
    """
    held_bytes: int = field(default=0, compare=False)
    """Memory of functions of the program that only this profile keeps, until its lines or layers are asked for."""

    @property
    def sentence(self) -> str:
        """What the capture cost, in a sentence or two; with advice where it distorts what it shows."""
        told = (
            step_sentence(self, self.detail)
            if self.n_steps
            else "What the capture cost a step is not known: no step was marked."
        )
        spent = f"Starting took {number(self.start_s * 1e3)} ms, stopping {number(self.stop_s * 1e3)} ms"
        spent += f", for {plural(self.n_events, 'event')} in {size(self.n_bytes)}."
        if self.held_bytes:
            spent += f" Until its lines are read it holds {size(self.held_bytes)} of functions that are gone otherwise."
        return f"{told} {spent}"


def step_sentence(interference: Interference, detail: str) -> str:
    """Say what a capture of this detail did to the time of a step, and what to do where it distorts."""
    ratio, (low, high) = interference.overhead_ratio, interference.overhead_interval
    n_inside, n_outside = interference.n_steps_inside, interference.n_steps_outside
    if math.isnan(ratio):
        where = "outside of" if n_inside else "inside"
        return (
            f"What the capture cost a step is not known: no step to compare ran {where} its windows. Capture some of the "
            "steps, such as `steps=range(10, 20)`."
        )
    taken = f"a step took {number(abs(ratio) * 100)} % {'longer' if ratio >= 0 else 'less'} while it was captured"
    compared = f"{plural(n_inside, 'step')} inside, {n_outside:,} outside"
    if math.isnan(low):
        return f"A{taken[1:]} ({compared}: too few for an interval)."
    evidence = f"95 % interval {_signed(low)} to {_signed(high)} %; {compared}"
    if interference.is_distorting:
        return f"The capture distorts what it shows: {taken} ({evidence}). {_advice(detail)}"
    if low <= 0 <= high:
        return f"No cost of the capture to a step can be told from noise ({evidence})."
    return f"A{taken[1:]} ({evidence})."


def _signed(ratio: float) -> str:
    return f"{'-' if ratio < 0 else ''}{number(abs(ratio) * 100)}"


def _advice(detail: str) -> str:
    if detail == "low":
        return (
            "Trust shares and ratios rather than times, and do more in a step while you profile: a larger batch, or "
            "`steps_per_execution` in `compile`."
        )
    less = "Record less of each step" if detail == "high" else "On a CPU, record less of each step"
    lower = "normal" if detail == "high" else "low"
    return f'{less} with `detail="{lower}"` (`--detail {lower}`), and trust shares and ratios rather than times until then.'
