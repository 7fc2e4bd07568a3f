"""Facts of two runs -> `RunDiff`: every table of what changed between them, each computed when first asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64
from ..advice.run import Run
from ..common import number, plural
from ..facts import Facts
from ..graph.op_graph import compute_variables
from ..machine import MachineLoad
from ..table import table
from .changes import (
    BUSY_MACHINE,
    NOT_SURE,
    STEADY,
    UNCHANGED,
    UNKNOWN_SCATTER,
    CommonChange,
    Measured,
    Samples,
    Scale,
    StepEffect,
    StepTimes,
    batches_per_step,
    common_change,
    compare_samples,
    compare_steps,
    measured_pair,
    pace_of,
    row_changes,
    step_effect,
    step_ms,
)
from .rows import (
    PEAK,
    SCATTER,
    OpSums,
    Path,
    Quantities,
    RunCells,
    category_rows,
    iterator_rows,
    kernel_rows,
    layer_rows,
    line_rows,
    memory_rows,
    op_rows,
    op_sums,
    pair_lines,
    pair_names,
    pair_rows,
    pair_stages,
    run_cells,
)

SUMMARY = table("""
    diff(a, b).summary: a metric of the runs as wholes
        *numbers
        is_beyond_noise  bool  whether it changed beyond that

    The metrics are `n_steps`, `step_time`, `batch_size`, `samples_per_second`, `time_per_sample_us`,
    `host_op_time`, `device_op_time`, `input_time`, `op_executions` and `peak_memory`; what neither run has is left
    out. It is never empty.
""")

CATEGORIES = table("""
    diff(a, b).categories: a category of the step time
        category   text   as the columns of the steps table are called
        a_ms       float  own time in a, a step where both runs have steps
        b_ms       float  own time in b
        change_ms  float  b - a
        ratio      float  b / a
        noise_ms   float  by how much it changes without a reason; NaN where that is not known
        state      text   `added`, `removed`, `slower`, `faster`, `same` or `unknown`

    Empty where a run has no steps.
""")

OPS = table("""
    diff(a, b).ops: an op
        type    text  such as `MatMul`
        name    text  in b, or in a where b has none
        device  text  the side it ran on, `Device` or `Host`
        *times
        a_name  text  what it is called in a, empty where a has none

    The numbers in names that TensorFlow appends may differ between the runs. Empty where no op ran in either.
""")

LAYERS = table("""
    diff(a, b).layers: a Keras layer, or what is in none
        layer       text  its path in the model, or what the row stands for
        class_name  text  the layer's class, empty where it is not known
        kind        text  `layer`, `loss`, `metrics`, `optimizer`, `input` or `other`
        device      text  the side it ran on, `Device` or `Host`
        *times
        a_name      text  what it is called in a, empty where a has none

    Empty where no op ran in either run.
""")

SOURCE_LINES = table("""
    diff(a, b).source_lines: a line of your code
        file      text  its path, or the title of a notebook's cell; empty for what is no line
        line      int   its number, 0 for what is no line
        function  text  the function it is in
        code      text  its text
        bucket    text  what a row without a line stands for; empty for a line
        device    text  the side it ran on, `Device` or `Host`
        *times

    Lines that moved are found again. Empty where no op ran in either run.
""")

KERNELS = table("""
    diff(a, b).kernels: a kernel by name and op
        name     text  its C++ signature
        op_name  text  the op that launched it
        *times

    A kernel is one row, whatever its launch configuration. Empty where nothing ran on a GPU in either run.
""")

ITERATORS = table("""
    diff(a, b).iterators: a tf.data iterator
        name       text  such as `Map`
        long_name  text  with the iterators around it
        *times

    A stage is found again below one that only one run has, such as a new `prefetch`. The time of those that work
    ahead is mostly waiting. Empty where tf.data did nothing in either run.
""")

MEMORY = table("""
    diff(a, b).memory: an allocator and metric
        allocator  text  its name, such as `GPU_0_bfc`
        *numbers
        state      text  `added`, `removed`, `slower`, `faster`, `same` or `unknown`

    The metrics are `peak_bytes`, `allocated_bytes` and `n_allocations`, of a typical step or, without steps, of the
    whole captures. Empty where no memory was recorded in either run.
""")

_MOST_NAMED = 2
_PRODUCTS = r"(?:_Mkl|_Fused|_)*(?:Native)?(?:Fused)?(?:Batch)?(?:MatMul|Conv2D|Conv3D|DepthwiseConv2d|Einsum)"
"""Types of ops whose numbers are the ones that a model computes in begin so."""
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_FEWEST_MORE, _LEAST_MORE = 0.9, 0.1
"""Executions a step, and a part of them, that one program has more than the other: less is steps that were cut."""


def _variables(a: Run, b: Run) -> Iterator[str]:
    """How many numbers the weights of what ran hold, and which have another shape or type."""
    first, second = _weights(a), _weights(b)
    if first.empty or second.empty:
        return
    n_a, n_b = int(first["n_params"].sum()), int(second["n_params"].sum())
    pairs = pair_names(_paths(first), _paths(second), first["n_params"].to_numpy(), second["n_params"].to_numpy())
    changed = [
        (str(second["name"].iloc[j]), first[what].iloc[i], second[what].iloc[j])
        for what in ("shape", "dtype")
        for i, j in enumerate(pairs.tolist())
        if j >= 0 and first[what].iloc[i] != second[what].iloc[j]
    ]
    n_alone = int((pairs < 0).sum()) + len(second) - int((pairs >= 0).sum())
    if n_a == n_b and not changed:  # what has other names only is the same model
        return
    head = f"{n_b:,} parameters, {n_a:,} in a" if n_a != n_b else f"of {n_b:,} parameters, as many as in a, some differ"
    named = [f"{name} is {_said(now)}, was {_said(before)}" for name, before, now in changed[:_MOST_NAMED]]
    more = len(changed) - len(named)
    named += [f"and {more} more"] if more else []
    named += [f"{plural(n_alone, 'variable')} of one model only"] if n_alone else []
    yield f"{head} ({', '.join(named)})" if named else head


def _said(value: object) -> str:
    return "unknown" if value in (None, "") else str(value)


def _weights(run: Run) -> pd.DataFrame:
    """The variables that ops which ran read, else those of layers that ran; a name of two live models stands for none."""
    frame, traced, details = compute_variables(run.results), run.graph, run.source_map.details
    ran = traced.row[traced.row >= 0].unique()
    read = details.loc[details["op"].isin(ran) & (details["variable"] >= 0), "variable"].unique()
    if len(read):
        frame = frame.iloc[np.sort(read)]
    else:
        entries = run.results.layers.entries
        frame = frame[frame["layer"].isin(entries.loc[entries["kind"] == "layer", "layer"])]
    return frame[(frame["n_params"] > 0) & ~frame["name"].duplicated(keep=False)]


def _paths(frame: pd.DataFrame) -> list[Path]:
    return [tuple(name.split("/")) for name in frame["name"]]


def _layers(a: Run, b: Run) -> Iterator[str]:
    """Layers that ran in one run, and that the other did not even have."""
    noted = [run.source_map.layers["layer"].unique().tolist() for run in (a, b)]
    if not all(noted):
        return
    for run, own, others, word in ((b, noted[1], noted[0], "new"), (a, noted[0], noted[1], "gone")):
        entries = run.results.layers.entries
        ran = entries["layer"][(entries["kind"] == "layer") & entries["layer"].isin(own)].unique().tolist()
        paths, there = ([tuple(name.split("/")) for name in names] for names in (ran, others))
        is_there = pair_names(paths, there, np.zeros(len(paths)), np.zeros(len(there))) >= 0
        names = [name for name, known in zip(ran, is_there.tolist(), strict=True) if not known]
        if names:
            yield f"{_named(names)} {'is' if len(names) == 1 else 'are'} {word}"


def _batches(a: Facts, b: Facts) -> Iterator[str]:
    (size_a, n_a), (size_b, n_b) = batches_per_step(a), batches_per_step(b)
    if math.isfinite(size_a) and math.isfinite(size_b) and size_a != size_b:
        yield f"batches of {size_b:,.0f} samples, of {size_a:,.0f} in a"
    if math.isfinite(n_a) and math.isfinite(n_b) and n_a != n_b:
        yield f"a step takes {number(n_b)} batches, in a {number(n_a)}"


def _numbers(a: Run, b: Run) -> Iterator[str]:
    """What type of numbers most products of matrices and convolutions are of."""
    kinds = []
    for run in (a, b):
        traced = run.graph
        rows = traced.row[(traced.row >= 0).to_numpy()].unique()
        rows = rows[traced.type.iloc[rows].str.match(_PRODUCTS).to_numpy(np.bool_)]
        dtypes = traced.dtype.reindex(rows).dropna()
        kinds.append(dtypes[dtypes.isin(_FLOATS)].mode())
    if all(len(kind) == 1 for kind in kinds) and kinds[0].iloc[0] != kinds[1].iloc[0]:
        yield f"it computes in {kinds[1].iloc[0]}, in a in {kinds[0].iloc[0]}"


def _ops(a: Facts, b: Facts, ops: tuple[OpSums, OpSums]) -> Iterator[str]:
    """Types of ops that steps of one run execute more often."""
    first, second = (_executions(one, sums) for one, sums in zip((a, b), ops, strict=True))
    if first.empty or second.empty:
        return
    both = pd.DataFrame({"a": first, "b": second}).fillna(0.0)
    both = both.assign(more=(both["b"] - both["a"]).abs(), most=both.max(axis=1))
    both = both[(both["more"] >= _FEWEST_MORE) & (both["more"] >= _LEAST_MORE * both["most"])]
    both = both.sort_values("more", ascending=False, kind="stable")
    rows = zip(both.index.tolist(), both["a"].tolist(), both["b"].tolist(), strict=True)
    named = [f"{kind} runs {number(n_b)} times a step, in a {number(n_a)} times" for kind, n_a, n_b in rows]
    if named:
        yield ", ".join(named[:_MOST_NAMED]) + (
            f", and {len(named) - _MOST_NAMED} more types of ops" if named[2:] else ""
        )


def _executions(facts: Facts, sums: OpSums) -> pd.Series:
    """How often a step runs ops of each type, of those in (almost) every step and outside of the input."""
    steady: Bool = (sums.seen.mean(axis=1) >= STEADY) & ~np.asarray(facts.input_ops)
    types = pd.Series(np.array(facts.op_shares.type, np.object_)[steady], dtype=object)
    return pd.Series(sums.count[steady]).groupby(types).sum()


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return " and ".join(names[:_MOST_NAMED]) + (f" and {more} more layers" if more > 0 else "")


_MS = {"a": "a_ms", "b": "b_ms", "change": "change_ms", "noise": "noise_ms"}
_COUNTS = ["a_count", "b_count"]
_LEAST_OF_HOSTS, _LEAST_OF_DEVICES = 0.1, 0.02
"""By which part steps differ between runs of one program at least: another layout of memory, other cores, another clock."""
_MOSTLY = 0.5
_LEAST_CORES = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class RunDiff:
    """What changed from run `a` to run `b`. Times of frames are own times, in ms a step where both runs have steps."""

    a: Facts
    b: Facts

    @cached_property
    def is_per_step(self) -> bool:
        """Whether numbers are per averaged step; else, where a run has none, of the whole captures."""
        return all(bool(one.is_averaged.any()) for one in (self.a, self.b))

    @cached_property
    def cells(self) -> tuple[RunCells, RunCells]:
        first, second = (
            run_cells(one, by_step=self.is_per_step, n_rows=len(one.occurrences.name)) for one in (self.a, self.b)
        )
        return first, second

    @cached_property
    def step_times(self) -> StepTimes:
        """How long the averaged steps of both take."""
        return compare_steps(*self._step_ms, effect=self._step_effect)

    @cached_property
    def samples(self) -> Samples:
        """How many samples a step takes in each, and how long one takes."""
        return compare_samples(pace_of(self.a), pace_of(self.b), effect=self._step_effect)

    @cached_property
    def categories(self) -> pd.DataFrame:
        """What the step time is made of: `category`, then numbers as in `ops` without counts."""
        rows, scale, times = tuple(category_rows(*side) for side in self._sides), self._scale, self.step_times
        if times.is_known:  # what is nearly the whole step may differ by the same part
            rise, fall = times.own
            scale = replace(scale, working=(math.expm1(rise), -math.expm1(-fall)))
        return self._changes(rows, scale=scale).drop(columns=_COUNTS)

    @cached_property
    def ops(self) -> pd.DataFrame:
        """Framework ops: `type, name, device, a_ms, b_ms, change_ms, ratio, a_count, b_count, noise_ms, state, a_name`."""
        return self._changes(self._op_rows, self._op_pairs, name="name")

    @cached_property
    def layers(self) -> pd.DataFrame:
        """Keras layers and what is in none: `layer, class_name, kind, device`, then numbers as in `ops`."""
        rows = layer_rows(self.a, self.op_sums[0]), layer_rows(self.b, self.op_sums[1])
        return self._as_noted(self._changes(rows, name="layer"))

    @cached_property
    def source_lines(self) -> pd.DataFrame:
        """Lines of your code: `file, line, function, code, bucket, device`, then numbers as in `ops`."""
        first, second = (line_rows(one, sums) for one, sums in zip((self.a, self.b), self.op_sums, strict=True))
        return self._as_noted(self._changes((first, second), pair_lines(first, second)))

    def _as_noted(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The same; what only one run could know, as the other has no record of its program, is neither new nor gone."""
        is_noted = [one.source_map is not None and not one.source_map.is_empty for one in (self.a, self.b)]
        if is_noted[0] == is_noted[1]:
            return rows
        return rows.assign(state=rows["state"].where(~rows["state"].isin(["added", "removed"]), NOT_SURE))

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """Kernels of GPUs: `name, op_name`, then numbers as in `ops`."""
        return self._changes(tuple(kernel_rows(*side) for side in self._sides))

    @cached_property
    def iterators(self) -> pd.DataFrame:
        """tf.data iterators: `name, long_name`, then numbers as in `ops`."""
        first, second = (iterator_rows(*side) for side in self._sides)
        host = self._scale.host.with_scatter_from(UNKNOWN_SCATTER)
        return self._changes(
            (first, second), pair_stages(first, second, "long_name"), scale=replace(self._scale, host=host)
        )

    @cached_property
    def memory(self) -> pd.DataFrame:
        """Allocators: `allocator, metric, unit, a, b, change, ratio, noise, state`; `larger` and `smaller` are states."""
        first, second = (memory_rows(*side) for side in self._sides)
        scale = Scale(self.is_per_step, host=CommonChange(scatter=SCATTER), words=("larger", "smaller"))
        return row_changes(first, second, pair_rows(first, second), scale).drop(columns=_COUNTS)

    @cached_property
    def summary(self) -> pd.DataFrame:
        return summarize(self, self._scale)

    @cached_property
    def program(self) -> tuple[str, ...]:
        """What of the programs differs, in words with figures; empty where nothing is known to."""
        runs = Run(self.a), Run(self.b)
        compiled = [run.compiles_functions or run.is_compiled for run in runs]
        found = [*_variables(*runs), *_layers(*runs), *_batches(self.a, self.b), *_numbers(*runs)]
        if compiled[0] != compiled[1]:
            found.append("XLA compiles it, not so in a" if compiled[1] else "XLA does not compile it, but does in a")
        elif not (compiled[0] or found):  # what XLA fuses has no executions, and what was found explains other ops
            found += _ops(self.a, self.b, self.op_sums)
        return tuple(found)

    @cached_property
    def loads(self) -> tuple[MachineLoad | None, MachineLoad | None]:
        """Who used the cores of the machine during the steps of each."""
        return Run(self.a).load, Run(self.b).load

    @property
    def busy_machine(self) -> str:
        """Which run other programs disturbed, such as `other programs used 1.20 of 2 cores during a`; "" for none."""
        if self._is_of_devices:
            return ""
        busy = [(load, name) for load, name in zip(self.loads, "ab", strict=True) if load is not None and load.is_busy]
        told = [f"{number(load.others)} of {load.n_cores} cores during {name}" for load, name in busy]
        return f"other programs used {' and '.join(told)}" if told else ""

    @property
    def is_machine_busier(self) -> bool:
        """Whether the samples tell that other programs took more cores from the slower run than from the other."""
        return self._machine > 1

    @cached_property
    def common(self) -> tuple[CommonChange, CommonChange]:
        """What changed alike in nearly all ops: of hosts, and of devices."""
        rows, partner = self._op_rows, self._op_pairs
        time_a, time_b, is_steady = self._op_times
        matched = np.flatnonzero(is_steady & ~rows[0].is_waiting)
        found = []
        for is_device in (False, True):
            chosen = matched[rows[0].is_device[matched] == is_device]
            first, second = _rows_of(time_a, chosen), _rows_of(time_b, partner[chosen])
            found.append(common_change(first, second, np.ones(len(chosen), np.bool_), step_ms=self._least_step_ms))
        return found[0], found[1]

    # ---- how rows are judged ----------------------------------------------------------------------------------------

    @property
    def _sides(self) -> tuple[tuple[Facts, RunCells], tuple[Facts, RunCells]]:
        return (self.a, self.cells[0]), (self.b, self.cells[1])

    @cached_property
    def _step_ms(self) -> tuple[Float64, Float64]:
        return step_ms(self.a), step_ms(self.b)

    @cached_property
    def _least_step_ms(self) -> float:
        # Of the steps alone: how sure their comparison is depends on the ops, which are judged by this.
        return min(float(np.median(ms)) for ms in self._step_ms) if self.is_per_step else 0.0

    @cached_property
    def _step_effect(self) -> StepEffect:
        """What the ops, and the samples of the machine, tell of the steps."""
        rows, (time_a, _, is_steady) = self._op_rows, self._op_times
        works = is_steady & ~rows[0].is_waiting
        found = step_effect(*self._alike, time_a.typical[works], rows[0].is_device[works], self._is_slower)
        return replace(
            found, least=_LEAST_OF_DEVICES if self._is_of_devices else _LEAST_OF_HOSTS, machine=self._machine
        )

    @cached_property
    def _alike(self) -> tuple[CommonChange, CommonChange]:
        """What the machine did to all ops alike: of two programs nobody knows that."""
        return (CommonChange(), CommonChange()) if self.program else self.common

    @cached_property
    def _is_of_devices(self) -> bool:
        """Whether devices make up most of the steps of both."""
        parts = [
            (run.ratio("device_compute"), run.ratio("device_collectives"))
            for run in (Run(self.a).steps, Run(self.b).steps)
        ]
        return min(map(sum, parts)) >= _MOSTLY

    @cached_property
    def _machine(self) -> float:
        """By which factor other programs may have made the steps of the slower run longer; 1 where no sample tells that."""
        other, slower = self.loads if self._is_slower else self.loads[::-1]
        if slower is None or not slower.is_busy or self._is_of_devices:
            return 1.0
        if other is not None and slower.others - other.others < slower.notable:
            return 1.0
        # As much as the cores are fewer, twice: a thread waits for the one that lost its core, too.
        left = max(slower.n_cores - slower.others, slower.own, _LEAST_CORES)
        return max(BUSY_MACHINE, (slower.n_cores / left) ** 2)

    @property
    def _is_slower(self) -> bool:
        if not self.is_per_step:
            return False
        first, second = self._step_ms
        return bool(np.median(second) > np.median(first))

    @cached_property
    def op_sums(self) -> tuple[OpSums, OpSums]:
        """Framework ops of both runs, step by step."""
        first, second = (op_sums(*side) for side in self._sides)
        return first, second

    @cached_property
    def _op_rows(self) -> tuple[Quantities, Quantities]:
        return op_rows(self.a, self.op_sums[0]), op_rows(self.b, self.op_sums[1])

    @cached_property
    def _op_pairs(self) -> Int64:
        return pair_stages(*self._op_rows, "name")

    @cached_property
    def _op_times(self) -> tuple[Measured, Measured, Bool]:
        return measured_pair(*self._op_rows, self._op_pairs)

    @cached_property
    def _scale(self) -> Scale:
        host, device = self._alike
        scale = Scale(is_per_step=self.is_per_step, step=self._least_step_ms, host=host, device=device)
        times = self.step_times
        if not (self.is_per_step and times.is_known):
            return scale
        # Either what rows that wait wait for, or what they wait beside, may have changed as nearly all ops did.
        alike = abs(math.log(host.ratio))
        rise, fall = (width + alike for width in times.own)
        return replace(scale, waiting=(times.a_ms * math.expm1(rise), -times.a_ms * math.expm1(-fall)))

    def _changes(
        self, rows: tuple[Quantities, ...], partner: Int64 | None = None, *, name: str = "", scale: Scale | None = None
    ) -> pd.DataFrame:
        first, second = rows
        partner = pair_rows(first, second) if partner is None else partner
        return row_changes(first, second, partner, scale or self._scale, name=name).rename(columns=_MS)


def _rows_of(measured: Measured, rows: Int64) -> Measured:
    return Measured(measured.typical[rows], measured.error[rows], measured.degrees)


COLUMNS = SUMMARY.names


def summarize(diff: RunDiff, scale: Scale) -> pd.DataFrame:
    steps = diff.step_times
    rows: list[tuple[object, ...]] = [_row("n_steps", "steps", steps.n_a, steps.n_b, np.nan, is_beyond=False)]
    if diff.is_per_step:
        rows.append(_row("step_time", "ms", steps.a_ms, steps.b_ms, steps.noise_ms, is_beyond=steps.is_beyond_noise))
        rows += _samples(diff)
    per_step = " a step" if diff.is_per_step else ""
    sums_a, sums_b = diff.op_sums
    for metric, is_device in (("host_op_time", False), ("device_op_time", True)):
        rows += _whole(diff, metric, f"ms{per_step}", is_device, scale)
    frame = diff.categories[diff.categories["category"] == "input"]
    frame = frame.rename(columns={"a_ms": "a", "b_ms": "b", "noise_ms": "noise"})
    rows += _rows(frame, "input_time", "ms a step")
    n_a, n_b = float(sums_a.count.sum()), float(sums_b.count.sum())
    rows.append(_row("op_executions", f"executions{per_step}", n_a, n_b, np.nan, is_beyond=False))
    rows += _peak(diff.memory)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"a": np.float64, "b": np.float64, "noise": np.float64})


def _row(metric: str, unit: str, a: float, b: float, noise: float, *, is_beyond: bool) -> tuple[object, ...]:
    return metric, unit, a, b, b - a, b / a if a else np.nan, noise, is_beyond


def _samples(diff: RunDiff) -> list[tuple[object, ...]]:
    samples = diff.samples
    a_us, b_us = samples.us
    a_hz, b_hz = (1e6 / us if us else np.nan for us in (a_us, b_us))
    us_noise, hz_noise = samples.noise_parts
    is_beyond = samples.is_beyond_noise
    return [
        _row("batch_size", "samples a step", samples.a, samples.b, np.nan, is_beyond=False),
        _row("samples_per_second", "samples/s", a_hz, b_hz, a_hz * hz_noise, is_beyond=is_beyond),
        _row("time_per_sample_us", "us", a_us, b_us, a_us * us_noise, is_beyond=is_beyond),
    ]


def _whole(diff: RunDiff, metric: str, unit: str, is_device: bool, scale: Scale) -> list[tuple[object, ...]]:
    """The own time of all ops of one side; as they ran beside one another it may be longer than the step."""
    one, other = (
        _sum_of(sums, np.asarray(facts.op_shares.is_device) == is_device, is_device)
        for sums, facts in zip(diff.op_sums, (diff.a, diff.b), strict=True)
    )
    if not (one.per_cell.any() or other.per_cell.any()):
        return []
    return _rows(row_changes(one, other, np.zeros(1, np.int64), scale), metric, unit)


def _sum_of(sums: OpSums, chosen: Bool, is_device: bool) -> Quantities:
    total: Float64 = sums.self_ms[chosen].sum(axis=0, keepdims=True)
    return Quantities.of(
        pd.DataFrame({"metric": ["sum"]}, dtype=object),
        [("sum",)],
        total,
        seen=np.ones(1),
        is_device=np.array([is_device]),
    )


def _rows(frame: pd.DataFrame, metric: str, unit: str) -> list[tuple[object, ...]]:
    return [
        _row(metric, unit, a, b, noise, is_beyond=state not in UNCHANGED)
        for a, b, noise, state in zip(*(frame[key].tolist() for key in ("a", "b", "noise", "state")), strict=True)
    ]


def _peak(memory: pd.DataFrame) -> list[tuple[object, ...]]:
    peaks = memory[memory["metric"] == PEAK]
    if peaks.empty:
        return []
    highest = peaks.iloc[[int(peaks[["a", "b"]].max(axis=1).to_numpy().argmax())]]
    return _rows(highest, "peak_memory", "bytes")
