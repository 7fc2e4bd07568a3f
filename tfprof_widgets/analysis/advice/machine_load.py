"""Samples of the machine -> what this process and others took of its cores while the steps ran."""

from __future__ import annotations

import re

import pandas as pd

from ..base.units import PS_PER_MS
from ..system.samples import Samples
from .step_facts import StepFacts

MANY_CORES = 0.25
"""What other programs take at least where steps may be slow because of them."""
FREE = 1.0
"""Cores, below which whatever else computes takes them from the model."""
_CORE = re.compile(r"cpu\d+_pct")


def mean_during(system: pd.DataFrame | None, steps: StepFacts, column: str) -> float | None:
    """The mean of a column of the samples from the first step to the last; None where nobody sampled it."""
    samples = Samples.of(system)
    if samples is None or not len(steps):
        return None
    seconds, values = samples.known(column)
    ps = seconds * 1e3 * PS_PER_MS
    inside = (ps >= steps.start_ps.min()) & (ps <= steps.end_ps.max())
    return float(values[inside].mean()) if inside.any() else None


def other_cores(system: pd.DataFrame | None, steps: StepFacts) -> float:
    """How many cores were busy with anything but this process; 0 where a core was free all the same, or nobody sampled that."""
    if (free_cores(system, steps) or 0.0) >= FREE:
        return 0.0
    whole, own = (mean_during(system, steps, name) for name in ("cpu_pct", "process_cpu_pct"))
    return 0.0 if whole is None or own is None else max(whole * _n_cores(system) - own, 0.0) / 100


def free_cores(system: pd.DataFrame | None, steps: StepFacts) -> float | None:
    """How many cores nobody used; None where nobody sampled that."""
    whole = mean_during(system, steps, "cpu_pct")
    return None if whole is None or not _n_cores(system) else _n_cores(system) * (1 - whole / 100)


def _n_cores(system: pd.DataFrame | None) -> int:
    return 0 if system is None else sum(bool(_CORE.fullmatch(str(name))) for name in system.columns)
