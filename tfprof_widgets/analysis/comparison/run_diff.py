"""Facts of two runs -> `RunDiff`: every table of what changed between them, each computed when first asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..advice.run import Run
from ..base.wording import number
from ..facts.facts import Facts
from ..system.machine_load import MachineLoad
from .common_change import UNKNOWN_SCATTER, CommonChange, StepEffect, common_change, step_effect
from .op_sums import OpSums, op_sums
from .program_changes import program_changes
from .quantities import Quantities, pair_rows
from .row_changes import NOT_SURE, Scale, measured_pair, row_changes
from .rows import (
    SCATTER,
    category_rows,
    iterator_rows,
    kernel_rows,
    layer_rows,
    line_rows,
    memory_rows,
    op_rows,
    pair_lines,
    pair_stages,
)
from .run_cells import RunCells, run_cells
from .samples import Samples, compare_samples, pace_of, step_ms
from .spread import Measured
from .step_times import BUSY_MACHINE, StepTimes, compare_steps
from .summary import summarize

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
        """What each run is divided into."""
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
        """The same; what only one run could know, as the other noted nothing of its program, is neither new nor gone."""
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
        """The runs as wholes; see `summarize`."""
        return summarize(self, self._scale)

    @cached_property
    def program(self) -> tuple[str, ...]:
        """What of the programs differs, in words with figures; empty where nothing is known to."""
        return program_changes(self.a, self.b, self.op_sums)

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
        self,
        rows: tuple[Quantities, ...],
        partner: Int64 | None = None,
        *,
        name: str = "",
        scale: Scale | None = None,
    ) -> pd.DataFrame:
        first, second = rows
        partner = pair_rows(first, second) if partner is None else partner
        return row_changes(first, second, partner, scale or self._scale, name=name).rename(columns=_MS)


def _rows_of(measured: Measured, rows: Int64) -> Measured:
    return Measured(measured.typical[rows], measured.error[rows], measured.degrees)
