"""Rows and step times of two runs -> what changed, and how sure it is, with the scatter of most rows as noise. Source: B. Efron,
Large-scale simultaneous hypothesis testing: the choice of a null hypothesis, JASA 99 (2004)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64
from ..common import US_PER_MS, block_middles, two_sided
from ..facts import Facts
from ..names import base_name
from .rows import Quantities

FEWEST_CELLS = 6
"""Fewer steps tell nothing of the noise."""
_MOST_BLOCKS = 16
_FEWEST_BLOCKS = 5
_CELLS_PER_BLOCK = 5
STEADY = 0.75
"""A row that occurs in this share of the steps is typified by the middle half of its steps, a rarer one by the mean."""
_TRIMMED = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """What a run says of each row."""

    typical: Float64
    """Of a steady row the mean of the middle half of the steps, of any other the plain mean."""
    error: Float64
    """Standard error of `typical`; NaN where there are too few steps to tell."""
    degrees: int
    """Degrees of freedom of `error`, 0 where it is NaN."""


def measure(per_cell: Float64, *, is_steady: Bool) -> Measured:
    """The typical value of each row, a trimmed mean, and its error. Source: K. Yuen, The two-sample trimmed t for unequal
    population variances, Biometrika 61 (1974), with means of blocks in place of single values."""
    n_rows, n_cells = per_cell.shape
    typical, kept, share = per_cell.mean(axis=1), per_cell, np.ones(n_rows)
    if is_steady.any():
        kept = per_cell.copy()
        typical[is_steady] = middle_mean(per_cell[is_steady])
        low, high = np.quantile(per_cell[is_steady], [_TRIMMED, 1 - _TRIMMED], axis=1)
        kept[is_steady] = np.clip(per_cell[is_steady], low[:, None], high[:, None])
        share[is_steady] = 1 - 2 * _TRIMMED
    if n_cells < FEWEST_CELLS:
        return Measured(typical, np.full(n_rows, np.nan), 0)
    first = block_starts(n_cells)
    length = np.diff(np.append(first, n_cells))
    blocks = np.add.reduceat(kept, first, axis=1) / length
    error = blocks.std(axis=1, ddof=1) / np.sqrt(len(first)) / share
    return Measured(typical, np.asarray(error, np.float64), len(first) - 1)


def block_starts(n_cells: int) -> Int64:
    """Where blocks of neighbouring cells begin: 5 to 16 blocks, of about five cells or more."""
    n_blocks = min(_MOST_BLOCKS, max(_FEWEST_BLOCKS, n_cells // _CELLS_PER_BLOCK), n_cells)
    return np.linspace(0, n_cells, n_blocks, endpoint=False).round().astype(np.int64)


def middle_mean(values: Float64) -> Float64:
    """The mean of the middle half along the last axis; of the outermost values of it a part counts."""
    n = values.shape[-1]
    trimmed, place = n * _TRIMMED, np.arange(n)
    weight = np.clip(np.minimum(place + 1, n - trimmed) - np.maximum(place, trimmed), 0, 1)
    middle: Float64 = np.sort(values, axis=-1) @ weight / weight.sum()
    return middle


FEWEST_ROWS = 12
"""With fewer rows of both runs there is no common change."""
LEAST_SCATTER = 0.02
"""Rows of one program differ at least that much from run to run, in parts of their time."""
_MOST_SCATTER = 0.25
"""More is no scatter of unchanged rows: the programs differ."""
UNKNOWN_SCATTER = 0.05
"""The scatter of unknown rows: too few ops, or rows of other kinds than ops."""
COUNTING = 1e-3
"""Rows below this part of a step do not count: they tell more of the clock than of the machine."""
_MEDIAN_OF_NORMAL = 0.6745
_MOST_ALIKE = 4.0
"""A busier machine makes no program so many times slower; another program, or another device, does: that is a change."""


@dataclass(frozen=True)
class CommonChange:
    """Of hosts or of devices."""

    ratio: float = 1.0
    """b / a of the middle row; 1 where there are too few to tell."""
    scatter: float = UNKNOWN_SCATTER
    """Standard deviation of an unchanged row around it, as a part of its time, beyond what `Measured.error` tells."""
    n_rows: int = 0
    """How many rows tell that."""

    def with_scatter_from(self, least: float) -> CommonChange:
        """The same for rows of another kind: the scatter of ops tells nothing of them below `least`."""
        return replace(self, scatter=max(self.scatter, least))


@dataclass(frozen=True)
class StepEffect:
    """What the ops tell of how far two steps of one program differ."""

    ratio: float = 1.0
    """b / a that nearly all ops have in common."""
    scatter: float = 0.0
    """Standard deviation, as a part of the step, of what its ops add that scatter between runs."""
    least: float = UNKNOWN_SCATTER
    """By which part steps of one program differ between runs in any case, however alike those of each run are."""
    machine: float = 1.0
    """By which factor other programs, as the samples tell, may have made steps of the slower run longer."""


def common_change(time_a: Measured, time_b: Measured, is_counted: Bool, *, step_ms: float) -> CommonChange:
    if not (time_a.degrees and time_b.degrees):
        return CommonChange()
    larger = np.maximum(time_a.typical, time_b.typical)
    counted = is_counted & (larger >= COUNTING * step_ms) & (time_a.typical > 0) & (time_b.typical > 0)
    n = int(counted.sum())
    if n < FEWEST_ROWS:
        return CommonChange(n_rows=n)
    a, b = time_a.typical[counted], time_b.typical[counted]
    change = np.log(b / a)
    middle = float(np.median(change))
    if abs(middle) > np.log(_MOST_ALIKE):
        return CommonChange(n_rows=n)
    own = (time_a.error[counted] / a) ** 2 + (time_b.error[counted] / b) ** 2
    return CommonChange(float(np.exp(middle)), _scatter(np.abs(change - middle), own), n)


def step_effect(
    host: CommonChange, device: CommonChange, op_ms: Float64, is_device: Bool, is_slower: bool
) -> StepEffect:
    """Find what the ops tell of the steps."""
    ratio = (max if is_slower else min)(host.ratio, device.ratio)
    scatter = np.where(is_device, *((one.scatter if one.n_rows >= FEWEST_ROWS else 0.0) for one in (device, host)))
    total = float(op_ms.sum())
    # The variances of independent parts add up: one large op makes the step differ by more than many small ones.
    return StepEffect(ratio, float(np.sqrt(((scatter * op_ms) ** 2).sum())) / total if total else 0.0)


def _scatter(off: Float64, own_variance: Float64) -> float:
    """The standard deviation with which the middle row is as far off as the middle one of normal draws."""
    low, high = LEAST_SCATTER, _MOST_SCATTER
    for _ in range(30):  # halves the interval
        scatter = (low + high) / 2
        if np.median(off / np.sqrt(own_variance + scatter**2)) > _MEDIAN_OF_NORMAL:
            low = scatter
        else:
            high = scatter
    return high


ALPHA = 0.01
"""How often all tables of a comparison of two runs of one program together may name a change that is none."""
_N_FAMILIES = 3
"""So many tables count as independent: ops, input and memory; the others show the same time in another way."""
SAME, NOT_SURE = "same", "not sure"
UNCHANGED = (SAME, NOT_SURE)
"""States of rows of which no change is proven."""
_ALIKE, _ALIKE_OF_STEP = 0.25, 0.02
"""A row is proven the same where its change, with all that noise may hide, is less than this part of it, or of a step."""
_LEAST_PART = 5e-3
"""A smaller part of a step is never beyond noise: rows this small differ between equal runs by up to 0.35 % of a step."""


@dataclass(frozen=True)
class Scale:
    """What the rows of one table are judged by."""

    is_per_step: bool
    step: float = 0.0
    """A step in the unit of the rows: changes are worth mentioning against it."""
    waiting: tuple[float, float] = (0.0, 0.0)
    """By how much rows that wait may rise and fall without a reason in the program: by all that steps get longer or shorter."""
    host: CommonChange = field(default_factory=CommonChange)
    device: CommonChange = field(default_factory=CommonChange)
    working: tuple[float, float] = (0.0, 0.0)
    """By which part the working rows of hosts may rise and fall at least: of those that make up the step, as the step may."""
    words: tuple[str, str] = ("slower", "faster")


def measured_pair(a: Quantities, b: Quantities, partner: Int64) -> tuple[Measured, Measured, Bool]:
    """Rows of both runs measured in the same way; and which rows of `a` occur in almost every step of both."""
    partner_seen = np.append(b.seen, 1.0)[partner]
    steady_a = (a.seen >= STEADY) & (partner_seen >= STEADY)
    steady_b = b.seen >= STEADY
    matched = partner >= 0
    steady_b[partner[matched]] = steady_a[matched]
    return measure(a.per_cell, is_steady=steady_a), measure(b.per_cell, is_steady=steady_b), steady_a & matched


def row_changes(a: Quantities, b: Quantities, partner: Int64, scale: Scale, *, name: str = "") -> pd.DataFrame:
    """Compare the rows of two runs: one is slower or faster if it changed beyond its noise and more than nearly all rows."""
    time_a, time_b, _ = measured_pair(a, b, partner)
    n_b = len(b)
    only_b = np.setdiff1d(np.arange(n_b), partner)
    none = np.full(len(only_b), -1)
    rows_a, rows_b = np.concatenate([np.arange(len(partner)), none]), np.concatenate([partner, only_b])
    values, errors, seen, count = (
        tuple(_side(one, rows) for one, rows in zip(columns, (rows_a, rows_b), strict=True))
        for columns in (
            (time_a.typical, time_b.typical),
            (time_a.error, time_b.error),
            (a.seen, b.seen),
            (a.count, b.count),
        )
    )
    n_cells = a.per_cell.shape[1], b.per_cell.shape[1]
    is_device, is_waiting = (
        np.where(rows_b >= 0, _side(second, rows_b), _side(first, rows_a)).astype(np.bool_)
        for first, second in ((a.is_device, b.is_device), (a.is_waiting, b.is_waiting))
    )
    change = values[1] - values[0]
    noise = _noise(values, errors, min(time_a.degrees, time_b.degrees), is_device, scale)
    works = ~is_waiting & ~is_device
    noise = np.where(works, np.maximum(noise, values[0] * np.where(change >= 0, *scale.working)), noise)
    noise = np.where(is_waiting, np.hypot(noise, np.where(change >= 0, *scale.waiting)), noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(values[0] != 0, values[1] / values[0], np.nan)
    both = pd.concat([b.labels, a.labels], ignore_index=True)
    frame = both.iloc[np.where(rows_b >= 0, rows_b, len(b) + rows_a)].reset_index(drop=True)
    frame = frame.assign(
        a=values[0],
        b=values[1],
        change=change,
        ratio=ratio,
        a_count=count[0],
        b_count=count[1],
        noise=noise,
        state=pd.Series(_states((rows_a, rows_b), values, change, noise, seen, n_cells, scale), dtype=object),
    )
    if name:
        frame["a_name"] = pd.Series([*a.labels[name], ""], dtype=object).to_numpy()[rows_a]
    if scale.is_per_step:  # what only ran in steps that the averages leave out has nothing to compare
        frame = frame[(seen[0] > 0) | (seen[1] > 0)]
        change = change[(seen[0] > 0) | (seen[1] > 0)]
    order = np.argsort(-np.abs(change), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _side(column: Float64 | Bool, rows: Int64) -> Float64:
    """A column by row, 0 for row -1."""
    return np.append(column, 0)[rows].astype(np.float64)


def _noise(
    values: tuple[Float64, ...], errors: tuple[Float64, ...], degrees: int, is_device: Bool, scale: Scale
) -> Float64:
    """The bound of each change in its direction."""
    a, b = values
    if not degrees or not scale.is_per_step:
        return np.full(len(a), np.nan)
    # Rows too small to be worth mentioning cannot be mentioned wrongly either.
    n_rows = max(int((np.maximum(a, b) >= _LEAST_PART * scale.step).sum()), 1)
    quantile = two_sided(ALPHA / _N_FAMILIES / n_rows, 2 * degrees)
    ratio = np.where(is_device, scale.device.ratio, scale.host.ratio)
    scatter = np.where(is_device, scale.device.scatter, scale.host.scatter)
    # A row that only one run has was expected to be there: it is not noise by itself, but its value has some.
    spread = np.sqrt(errors[0] ** 2 + errors[1] ** 2 + (scatter * (a + b) / 2) ** 2)
    common = a * (ratio - 1)
    # Without a reason a row stays as it is or does as all do; the farther of both, in the direction of its change.
    expected = np.where(b >= a, np.maximum(common, 0), np.maximum(-common, 0))
    return np.asarray(np.maximum(expected + quantile * spread, _LEAST_PART * scale.step), np.float64)


def _states(
    rows: tuple[Int64, Int64],
    values: tuple[Float64, ...],
    change: Float64,
    noise: Float64,
    seen: tuple[Float64, ...],
    n_cells: tuple[int, ...],
    scale: Scale,
) -> list[str]:
    (rows_a, rows_b), (values_a, values_b) = rows, values
    states = np.full(len(change), NOT_SURE, dtype=object)
    with np.errstate(invalid="ignore"):
        alike = np.maximum(_ALIKE * np.maximum(values_a, values_b), _ALIKE_OF_STEP * scale.step)
        states[(change == 0) | (np.abs(change) + noise <= alike)] = SAME
        states[change > noise] = scale.words[0]
        states[change < -noise] = scale.words[1]
    # One that occurs now and then may by chance not occur at all in the other run.
    limit = ALPHA / _N_FAMILIES / max(len(change), 1)
    for word, here, there, other in (("added", 1, 0, rows_a), ("removed", 0, 1, rows_b)):
        is_alone = other < 0
        by_chance = (1 - np.minimum(seen[here], 1)) ** n_cells[there]
        states[is_alone] = np.where(by_chance[is_alone] < limit, word, NOT_SURE)
    return [str(state) for state in states]


Middle = Callable[..., Any]
"""`np.median` or `np.mean`: of an array, or of each of its rows with `axis=1`."""
N_RESAMPLES = 2_000
_FEWER_RESAMPLES = 400
_MANY_STEPS = 10_000
SEED = 20_240_601
_NORMAL_95 = 1.959964
_CONFIDENCE = 95.0
_N_STRETCHES = 5
_LEAST_MS = 1e-9
BUSY_MACHINE = 1.4
"""By up to this factor steps, of nearly all ops, are put down to a busy machine: of 154 pairs of runs a quarter differed so."""


@dataclass(frozen=True)
class StepTimes:
    """How long the averaged steps take; NaN for a run without steps."""

    a_ms: float
    b_ms: float
    """Medians."""
    n_a: int
    n_b: int
    ratio: float
    """b / a; NaN without steps in both."""
    interval: tuple[float, float]
    """95 % interval of the ratio, toward 1 with what a busy machine explains; NaN with fewer than `FEWEST_CELLS` steps."""
    own: tuple[float, float] = (math.nan, math.nan)
    """Logarithms by which the ratio may be too high and too low, by the step times alone; NaN likewise."""

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.interval[0])

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the interval leaves out 1."""
        return self.is_known and not self.interval[0] <= 1 <= self.interval[1]

    @property
    def is_only_alike(self) -> bool:
        """Whether the steps differ by more than they do within each run, but nearly all ops do as much and explain it."""
        if not self.is_known or self.is_beyond_noise:
            return False
        below, above = self.own
        return not -above <= math.log(self.ratio) <= below

    @property
    def noise_ms(self) -> float:
        """By how much the step of `b` may be longer, or shorter where it is, without a difference; NaN likewise."""
        return self.a_ms * noise_part(self.ratio, self.interval)


def noise_part(ratio: float, interval: tuple[float, float]) -> float:
    """Which part of `a` a change may be without meaning anything, at most 1 where `b` is less; NaN without an interval."""
    return ratio / interval[0] - 1 if ratio >= 1 else 1 - ratio / interval[1]


def compare_steps(
    a_ms: Float64, b_ms: Float64, *, middle: Middle = np.median, effect: StepEffect | None = None
) -> StepTimes:
    """Compare two runs' step times in time order; the interval is a circular block bootstrap with a fixed seed, widened by how
    fifths of a run differ, `effect.least` and what ops and samples say of the machine."""
    middle_a, middle_b = (float(middle(ms)) if len(ms) else math.nan for ms in (a_ms, b_ms))
    ratio = middle_b / middle_a if middle_a > 0 else math.nan
    if min(len(a_ms), len(b_ms)) < FEWEST_CELLS or not (ratio > 0):
        return StepTimes(middle_a, middle_b, len(a_ms), len(b_ms), ratio, (math.nan, math.nan))
    rng = np.random.default_rng(SEED)
    drawn = [np.log(_resampled(ms, rng, middle)) for ms in (a_ms, b_ms)]
    n = min(map(len, drawn))
    tails = [(100 - _CONFIDENCE) / 2, (100 + _CONFIDENCE) / 2]
    low, high = np.percentile(drawn[1][:n] - drawn[0][:n], tails).tolist()
    # So few blocks show too little of the variance; the factor is that of Student's t to the normal distribution.
    widened = two_sided(0.05, min(len(block_starts(len(ms))) for ms in (a_ms, b_ms)) - 1) / _NORMAL_95
    effect = effect or StepEffect()
    at, between = math.log(ratio), _between_runs(a_ms, b_ms, middle, effect.scatter)
    below, above = (max(width * widened, between, math.log1p(effect.least)) for width in (at - low, high - at))
    alike, most, machine = math.log(effect.ratio), math.log(BUSY_MACHINE), math.log(effect.machine)
    # Of a step that got longer only what got longer, too, explains a part, and the other way round.
    longer, shorter = (
        max(min(max(sign * alike, 0.0), most), min(machine, sign * at)) if sign * at > 0 else 0.0 for sign in (1, -1)
    )
    interval = math.exp(at - below - longer), math.exp(at + above + shorter)
    return StepTimes(middle_a, middle_b, len(a_ms), len(b_ms), ratio, interval, (below, above))


def _between_runs(a_ms: Float64, b_ms: Float64, middle: Middle, scatter: float) -> float:
    """How far apart two runs are, as a logarithm, with 95 % confidence; `scatter` is the standard deviation from their ops."""
    variance = scatter**2
    for ms in (a_ms, b_ms):
        stretches = [float(middle(part)) for part in np.array_split(ms, _N_STRETCHES)]
        variance += float(np.var(np.log(np.maximum(stretches, _LEAST_MS)), ddof=1))
    return two_sided(0.05, 2 * (_N_STRETCHES - 1)) * math.sqrt(variance)


def _resampled(ms: Float64, rng: np.random.Generator, middle: Middle) -> Float64:
    n_blocks = len(block_starts(len(ms)))
    n_resamples = N_RESAMPLES if len(ms) <= _MANY_STEPS else _FEWER_RESAMPLES
    length = -(-len(ms) // n_blocks)
    middles = block_middles(ms, rng, middle, length=length, n_blocks=n_blocks, n_resamples=n_resamples)
    return np.maximum(middles, _LEAST_MS)


_FLATTENS = frozenset(("Unbatch", "FlatMap", "Interleave", "ParallelInterleave", "Window", "GroupByWindow", "Rebatch"))
"""After these the number of samples in an element is unknown."""
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
    """The averaged steps of one run, as the next run is compared with them."""

    step_ms: Float64
    samples: float
    """How many a typical one takes; NaN where tf.data does not tell."""


def pace_of(facts: Facts) -> Pace:
    return Pace(step_ms(facts), samples_per_step(facts))


def compare_samples(a: Pace, b: Pace, *, effect: StepEffect | None = None) -> Samples:
    """Compare two runs by sample; `effect` as in `compare_steps`, for steps of equally many samples only."""
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
    """Samples per batch and batches per averaged step; NaN without a batching pipeline, with unbatching or unequal branches."""
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
