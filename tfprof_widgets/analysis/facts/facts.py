"""Trace -> `Facts`: everything that is told of it without a judgement, each computed when first asked for and kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int32, SmallInt, UInt8, small_int
from ...trace.unrecorded import framework_of_keras, known_name
from ..base.compute_units import ComputeUnit
from ..base.launches import Launches, compute_launches
from ..hosts.communication import compute_communication, training_first
from ..hosts.environment import Environment, compute_environment
from ..hosts.host_table import host_table
from ..hosts.roles import HostFacts, host_facts, not_training
from ..idle.idle_table import compute_idle
from ..idle.kernel_launches import compute_kernel_launches
from ..input.input_ops import enqueue_times
from ..input.input_work import input_work
from ..input.iterator_work import work_by_op, work_within
from ..input.tf_data import TfData, compute_tf_data
from ..layers.layer_memory import OpMemory, memory_by_op
from ..memory.memory import MemoryProfile, compute_memory
from ..ops.copies import compute_copy_runs, copy_table
from ..ops.hlo_ops import HloOps, compute_hlo_ops
from ..ops.host_totals import HostTotals, compute_host_totals
from ..ops.kernel_units import kernel_units
from ..ops.kernels import Kernels, compute_kernels
from ..ops.op_occurrences import Occurrences, Units, op_occurrences
from ..ops.op_shares import OpShares, compute_op_shares
from ..ops.ops import OpSums, aggregate_ops, idle_by_side, op_sums
from ..ops.step_totals import StepTotals, compute_step_totals
from ..ops.tf_functions import compute_tf_functions
from ..ops.unit_totals import UnitTotals, compute_unit_totals
from ..roofline.graph_flops import graph_flops
from ..roofline.roofline import Roofline, compute_roofline
from ..source.program_memory import compute_program_memory
from ..steps.steps import TracedSteps, compute_steps
from ..timeline.counters import Counters, compute_counters
from ..xla.hlo_units import HloExecutions, hlo_executions
from .totals import Totals


@dataclass(frozen=True)
class Facts(Totals):
    """What can be told of one trace without a judgement; tables and columns are as their own types describe them."""

    is_reduced = False

    @cached_property
    def steps(self) -> TracedSteps:
        """Steps with their breakdown, and the step of each event; none where what computed them is not in the trace."""
        if not self.unrecorded:
            return self._traced_steps
        return compute_steps(self.trace, grouping=self._traced_steps.grouping, units=self.kernel_units, finds_any=False)

    @cached_property
    def _traced_steps(self) -> TracedSteps:
        return compute_steps(self.trace, units=self.kernel_units, has_failed=self.failure is not None)

    @cached_property
    def unrecorded(self) -> str:
        """See `Environment.unrecorded`. A capture notes which Keras ran, and what else may have run where no TensorFlow did."""
        noted = self.noted
        backend = framework_of_keras(noted.get("keras_backend", ""))
        known, may_be = known_name(noted.get("unrecorded", "")), known_name(noted.get("may_compute", ""))
        if known or not (backend or may_be) or not len(self._traced_steps):
            return known
        rows = self._traced_steps.event_step[self.occurrences.event] >= 0
        ran = np.unique(self.occurrences.op[rows])
        if not len(ran):
            return backend or may_be
        is_input = input_work(self.trace, self.occurrences)
        names = (self.occurrences.name[i] for i in ran[~is_input[ran]].tolist())
        return backend if all("Iterator" in name for name in names) else ""

    @cached_property
    def epoch_starts(self) -> Bool:
        """For each step whether its marker says that it is the first of an epoch."""
        found = np.zeros(len(self.steps), np.bool_)
        step = self.steps.event_step[np.flatnonzero(self.trace.has_stat("epoch_start"))]
        found[step[step >= 0]] = True
        return found

    @cached_property
    def hlo_executions(self) -> HloExecutions:
        """Which events run which op of an XLA program."""
        return hlo_executions(self.trace, self.launches)

    @cached_property
    def kernel_units(self) -> UInt8:
        """For each event what its kernel computes on, a `ComputeUnit`."""
        if not any(plane.is_device for plane in self.trace.planes):
            return np.full(self.trace.n_events, ComputeUnit.UNKNOWN, np.uint8)
        return kernel_units(self.trace, self.hlo_executions)

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the capture noted of the machine and of versions, by name; empty where nobody did."""
        noted = None if self.sources is None else self.sources.facts
        return {} if noted is None else dict(zip(noted["name"], noted["value"], strict=True))

    @cached_property
    def environment(self) -> Environment:
        """Where the trace was recorded: hosts, devices, cores."""
        return replace(compute_environment(self.trace, self.noted), unrecorded=self.unrecorded)

    @cached_property
    def launches(self) -> Launches:
        """Each device event with the host's call that enqueued it."""
        return compute_launches(self.trace)

    @property
    def units(self) -> Units:
        """The table of what was executed."""
        return self.occurrences

    @cached_property
    def occurrences(self) -> Occurrences:
        """Every execution of every op."""
        return op_occurrences(
            self.trace,
            grouping=self._traced_steps.grouping,
            launches=self.launches,
            hlo=self.hlo_executions,
            units=self.kernel_units,
        )

    @cached_property
    def event_unit(self) -> SmallInt:
        """For each event the unit that it executes, a row of the table of `occurrences`; -1 for none."""
        unit = np.full(self.trace.n_events, -1, small_int(len(self.occurrences.name)))
        unit[self.occurrences.event] = self.occurrences.op
        return unit

    @cached_property
    def event_op(self) -> Int32:
        """For each event the framework op that it executes most of, a row of the table of `op_shares`; -1 for none."""
        return np.append(self.op_shares.dominant, np.int32(-1))[self.event_unit]

    @cached_property
    def unit_totals(self) -> UnitTotals:
        """Executions and time of each unit over the whole capture."""
        return compute_unit_totals(self.occurrences)

    @cached_property
    def idle_ps(self) -> tuple[int, int]:
        """Time in which host threads and devices ran no op, each summed."""
        idle = idle_by_side(self.occurrences)
        return idle.get("Host", 0), idle.get("Device", 0)

    @cached_property
    def host_totals(self) -> HostTotals:
        """Executions and time of each unit, host by host."""
        return compute_host_totals(self.trace, self.occurrences)

    @cached_property
    def step_totals(self) -> StepTotals:
        """Executions and time of each unit within the averaged steps, host by host."""
        return compute_step_totals(self.trace, self.occurrences, self.steps, self.is_averaged)

    @cached_property
    def op_sums(self) -> OpSums:
        """What each framework op sums up to over the whole trace."""
        return op_sums(self.occurrences, self.op_shares)

    @property
    def ops_and_idle(self) -> pd.DataFrame:
        """The same with a row `IDLE` a side for the time in which no op ran."""
        return aggregate_ops(self.occurrences, shares=self.op_shares, idle=True)

    @cached_property
    def memory(self) -> MemoryProfile:
        """Memory by allocator."""
        memory = compute_memory(
            self.trace,
            event_step=self.steps.event_step,
            steps=self.steps.frame,
            grouping=self.steps.grouping,
            machine_bytes=self.environment.host_memory_bytes,
        )
        return replace(memory, remedy=None) if self.unrecorded else memory

    @cached_property
    def memory_by_op(self) -> OpMemory:
        """Bytes by the op that allocated them."""
        return memory_by_op(self.memory, self.is_averaged)

    @cached_property
    def tf_data(self) -> TfData:
        """tf.data pipelines and iterators."""
        found = compute_tf_data(self.trace, grouping=self.steps.grouping)
        if not self.unrecorded:
            return found
        return replace(found, pipelines=found.pipelines.assign(suggestion="", suggestion_code=""))

    @cached_property
    def step_work_ms(self) -> dict[str, float]:
        """What iterators worked in the averaged steps, by the names of their ops."""
        ops = self.input_pipeline.ops
        totals = dict(zip(ops["op"], ops["total_time_ms"], strict=True))
        counts = np.append(self.is_averaged, False)[
            self.steps.event_step[self.tf_data.calls["event"].to_numpy(np.int64)]
        ]
        return work_by_op(self.tf_data.iterators, work_within(self.tf_data, counts), totals)

    @cached_property
    def enqueue_ps(self) -> tuple[int, int]:
        """See `enqueue_times`."""
        return enqueue_times(self.trace)

    @cached_property
    def counters(self) -> Counters:
        """What rose and fell: memory in use, tf.data buffers, counters of devices, the machine."""
        return compute_counters(self.trace, self.memory, self.tf_data, self.system)

    @cached_property
    def op_shares(self) -> OpShares:
        """Which framework ops each executed unit stands for."""
        return compute_op_shares(self.occurrences)

    @cached_property
    def hlo_ops(self) -> HloOps:
        """Ops of XLA programs."""
        return compute_hlo_ops(self.occurrences, self.op_shares)

    @cached_property
    def program_memory(self) -> pd.DataFrame:
        """What holds the memory of compiled programs at their peak."""
        return compute_program_memory(
            self.trace, self.occurrences.hlo, self.op_shares, layers=self.layers, lines=self.source_lines
        )

    @cached_property
    def kernels(self) -> Kernels:
        """Code that ran on device streams."""
        return compute_kernels(self.trace, self.occurrences, self.op_shares, self.kernel_units)

    @cached_property
    def copies(self) -> pd.DataFrame:
        """The `copies` table."""
        return copy_table(self.copy_runs)

    @cached_property
    def copy_runs(self) -> pd.DataFrame:
        """Each copy by itself."""
        return compute_copy_runs(self.trace, self.steps, self.event_op, self.op_shares)

    @cached_property
    def roofline(self) -> Roofline:
        """How near the work on GPUs comes to what they could do."""
        return compute_roofline(
            self.trace,
            self.occurrences,
            shares=self.op_shares,
            layers=self.layers,
            kernels=self.kernels,
            steps=self.steps,
            graph_flops=graph_flops(self.op_match, self.source_map),
        )

    @cached_property
    def idle(self) -> pd.DataFrame:
        """Gaps in the work of devices, and what they waited for."""
        return compute_idle(self.trace, self.steps, self.op_shares, self.event_op, self.layers)

    @cached_property
    def kernel_launches(self) -> pd.DataFrame:
        """How kernels were launched."""
        return compute_kernel_launches(self.trace, self.kernels)

    @cached_property
    def input_ops(self) -> Bool:
        """Which framework ops ran only within tf.data."""
        n_ops = self.occurrences.n_ops
        work = np.zeros(len(self.op_shares), np.bool_)
        work[:n_ops] = input_work(self.trace, self.occurrences)[:n_ops]
        return work

    @cached_property
    def tf_functions(self) -> pd.DataFrame:
        """What calls of `tf.function`s cost."""
        return compute_tf_functions(self.trace)

    @cached_property
    def host_facts(self) -> tuple[HostFacts, ...]:
        """What tells of each host what it is for."""
        return host_facts(self.trace)

    @cached_property
    def hosts(self) -> pd.DataFrame:
        """The `hosts` table."""
        return host_table(self.host_facts, self.steps.frame)

    @cached_property
    def communication(self) -> pd.DataFrame:
        """What hosts exchanged; those that train first."""
        return training_first(compute_communication(self.trace, self.steps), not_training(self.host_facts))
