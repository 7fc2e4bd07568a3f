"""Facts of one run -> how long its steps took and how many samples each takes, by the batch sizes that tf.data tells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ...trace.trace import Float64
from ..base.iterator_names import base_name
from ..base.units import US_PER_MS
from ..facts.facts import Facts
from .common_change import StepEffect
from .step_times import StepTimes, compare_steps, noise_part

_FLATTENS = frozenset(("Unbatch", "FlatMap", "Interleave", "ParallelInterleave", "Window", "GroupByWindow", "Rebatch"))
"""How many samples an element has behind these, nobody notes."""
_FEW = 2
"""Calls more or less than steps, as at the begin and the end of an epoch."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples and their times in two runs; NaN where tf.data does not tell a batch size, or a run has no steps."""

    a: float
    """Samples a step."""
    b: float
    steps: StepTimes
    """Of the means, not the medians: a step that stalls costs samples, too."""

    @property
    def is_known(self) -> bool:
        """Whether both runs can be compared by sample."""
        return math.isfinite(self.ratio)

    @cached_property
    def ratio(self) -> float:
        """Time per sample of b over that of a."""
        return self.steps.ratio * self._per_step

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval; NaN with few steps."""
        low, high = self.steps.interval
        return low * self._per_step, high * self._per_step

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the interval leaves out 1."""
        return math.isfinite(self.interval[0]) and not self.interval[0] <= 1 <= self.interval[1]

    @property
    def us(self) -> tuple[float, float]:
        """Time per sample in each run."""
        return US_PER_MS * self.steps.a_ms / self.a, US_PER_MS * self.steps.b_ms / self.b

    @property
    def noise_parts(self) -> tuple[float, float]:
        """By which part the time per sample may differ, and the samples per second, without a difference in the program."""
        if not math.isfinite(self.interval[0]):
            return math.nan, math.nan
        low, high = self.interval
        return noise_part(self.ratio, self.interval), noise_part(1 / self.ratio, (1 / high, 1 / low))

    @property
    def _per_step(self) -> float:
        return self.a / self.b


@dataclass(frozen=True, eq=False)
class Pace:
    """The averaged steps of one run: all that is kept of it to compare the next run with."""

    step_ms: Float64
    """How long each took, in time order."""
    samples: float
    """How many a typical one takes; NaN where tf.data does not tell."""


def pace_of(facts: Facts) -> Pace:
    """How fast a run was."""
    return Pace(step_ms(facts), samples_per_step(facts))


def compare_samples(a: Pace, b: Pace, *, effect: StepEffect | None = None) -> Samples:
    """Compare two runs by sample; `effect` as in `compare_steps`, for steps of equally many samples only.

    Ops that take longer as they have more to do tell nothing of the machine.
    """
    alike = effect if effect is None or a.samples == b.samples else replace(effect, ratio=1.0, scatter=0.0)
    return Samples(a.samples, b.samples, compare_steps(a.step_ms, b.step_ms, middle=np.mean, effect=alike))


def step_ms(facts: Facts) -> Float64:
    """How long each averaged step took."""
    return facts.steps.frame["step_time_ms"].to_numpy(np.float64)[facts.is_averaged]


def samples_per_step(facts: Facts) -> float:
    """How many samples a typical averaged step fetches; NaN as in `batches_per_step`."""
    size, n_batches = batches_per_step(facts)
    return size * n_batches


def batches_per_step(facts: Facts) -> tuple[float, float]:
    """How many samples a batch has, and how many batches a typical averaged step fetches.

    NaN where no pipeline batches, where one flattens its batches again, and where several branches differ.
    """
    data, averaged = facts.tf_data, facts.is_averaged
    if data.is_empty or not averaged.any():
        return math.nan, math.nan
    sizes = _samples_of_elements(data.iterators)
    most, found = 0.0, (math.nan, math.nan)
    for pipeline in data.pipelines.loc[~data.pipelines["is_device"].astype(bool), "id"].tolist():
        root = int(data.iterators["id"][data.iterators["pipeline"] == pipeline].iloc[0])
        calls = data.calls.loc[data.calls["iterator"] == root, "event"].to_numpy(np.int64)
        step = facts.steps.event_step[calls]
        fetched = np.bincount(step[step >= 0], minlength=len(averaged))[averaged]
        typical = float(np.median(fetched))
        if not typical and abs(len(calls) - len(averaged)) <= _FEW:
            typical = 1.0  # a loop that marks its steps after the batch is there
        if typical and len(calls) > most:
            most, found = len(calls), (sizes[root], typical)
    return found


def _samples_of_elements(iterators: pd.DataFrame) -> dict[int, float]:
    """For each iterator how many samples one of its elements holds, NaN where nobody can tell."""
    found: dict[int, float] = {}
    below: dict[int, set[float]] = {}
    columns = (iterators[name].tolist() for name in ("id", "parent_id", "name", "params"))
    for row, parent, name, params in reversed(list(zip(*columns, strict=True))):  # a consumer comes before its source
        inner = below.get(row, set())
        nested = inner.pop() if len(inner) == 1 else math.nan
        size = params.get("batch_size")
        if isinstance(size, int) and size > 0:
            found[row] = size * (nested if math.isfinite(nested) else 1.0)
        else:
            found[row] = math.nan if base_name(name) in _FLATTENS else nested
        if math.isfinite(found[row]):
            below.setdefault(parent, set()).add(found[row])
    return found
