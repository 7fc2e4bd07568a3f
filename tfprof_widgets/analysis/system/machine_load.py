"""Samples of the machine -> how many of its cores the program, other programs and nobody used while the steps ran."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Int64
from ..base.units import PS_PER_MS
from ..base.wording import number
from .samples import Samples

FREE = 1.0
"""Cores, below which whatever else computes takes them from the model."""
_LEAST_CORES, _LEAST_PART = 0.25, 1 / 8
"""Other programs that take less, in cores and as a part of all cores, slow nobody down by much."""
_FEWEST_SAMPLES = 3
_CORE = re.compile(r"cpu\d+_pct")


@dataclass(frozen=True)
class MachineLoad:
    """Means over the samples from the first step to the last, in cores."""

    n_cores: int
    """Cores that the program may run on."""
    own: float
    """Of the process that was profiled."""
    others: float
    """Of all programs but that one and the processes that it started."""
    children: float = 0.0
    """Of the processes that it started, such as workers that read data."""
    quota: float = 0.0
    """How many cores the program may use at most where it is limited, as in a container; 0 where it is not."""

    @property
    def free(self) -> float:
        """Cores that nobody used."""
        return max(self.n_cores - self.own - self.children - self.others, 0.0)

    @property
    def notable(self) -> float:
        """How many cores more or fewer make a difference."""
        return max(_LEAST_CORES, _LEAST_PART * self.n_cores)

    @property
    def is_busy(self) -> bool:
        """Whether other programs took cores that the program could have used: the one answer to that question."""
        most = min(self.quota or self.n_cores, self.n_cores)
        missing = most - self.own - self.children
        return self.others >= self.notable and self._is_full and missing >= max(_LEAST_CORES, _LEAST_PART * most)

    @property
    def _is_full(self) -> bool:
        return self.free < max(FREE, _LEAST_PART * self.n_cores)

    @property
    def sentence(self) -> str:
        """Who took the cores from the process that was profiled; "" where nobody did."""
        got = f"of {self.n_cores} cores meanwhile; this one got {number(self.own)}"
        if self.is_busy:
            return f"Other programs used {number(self.others)} {got}: times may be longer than on a free machine."
        if self._is_full and self.children >= self.notable and self.children > self.own:
            return f"Processes that this one started used {number(self.children)} {got}."
        return ""


def machine_load(
    system: pd.DataFrame | None, start_ps: Int64, end_ps: Int64, *, quota: float = 0.0
) -> MachineLoad | None:
    """Average the samples.

    Args:
        system: the columns of `Profile.system`.
        start_ps: of the steps.
        end_ps: of the steps.
        quota: as in `MachineLoad`.

    Returns:
        None where the machine was not sampled, or too few samples are from the time of the steps.
    """
    columns = ("cpu_pct", "process_cpu_pct", "children_cpu_pct")
    whole, own, children = (_mean_during(system, start_ps, end_ps, name) for name in columns)
    n_cores = 0 if system is None else sum(bool(_CORE.fullmatch(str(name))) for name in system.columns)
    if whole is None or own is None or not n_cores:
        return None
    started = children or 0.0
    return MachineLoad(n_cores, own / 100, max(whole * n_cores - own - started, 0.0) / 100, started / 100, quota)


def _mean_during(system: pd.DataFrame | None, start_ps: Int64, end_ps: Int64, column: str) -> float | None:
    """The mean of a column of the samples from the first step to the last; None where nobody sampled it."""
    samples = Samples.of(system)
    if samples is None or not len(start_ps):
        return None
    seconds, values = samples.known(column)
    ps = seconds * 1e3 * PS_PER_MS
    inside = (ps >= np.min(start_ps)) & (ps <= np.max(end_ps))
    return float(values[inside].mean()) if inside.sum() >= _FEWEST_SAMPLES else None
