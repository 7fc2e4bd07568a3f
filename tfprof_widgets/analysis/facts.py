"""Trace -> `Facts`: every table that needs no judgement, each computed when first asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd

from ..trace.arrays import Bool, Int32, SmallInt, UInt8
from ..trace.capture_facts import Failure, framework_of_keras, known_name
from ..trace.op_graph import OpGraph
from ..trace.source_map import SourceMap, Sources, empty_source_map
from ..trace.trace import Trace, small_int
from .common import PS_PER_NS, PS_PER_US
from .events import Launches, compute_events, compute_launches
from .grouping import ComputeUnit
from .hosts.hosts import Environment, HostFacts, compute_environment, host_facts, host_table, not_training
from .hosts.workers import Workers, compute_communication, compute_stragglers, compute_workers, training_first
from .idle import compute_idle, compute_kernel_launches
from .input.iterators import enqueue_times, input_work
from .input.pipeline import InputPipeline, compute_input_pipeline
from .input.tf_data import Pipelines, TfData, compute_tf_data, work_by_op, work_within
from .layers.layers import Layers, OpMemory, compute_layers, memory_by_op
from .layers.ops_of_graph import OpMatch, compute_op_scopes, match_ops
from .layers.scopes import OpScopes, Scopes, compute_scopes, op_scopes
from .memory.memory import MemoryProfile, MemoryTables, compute_memory
from .ops.executions import Occurrences, Units, kernel_units, op_occurrences
from .ops.kernels import Kernels, KernelTable, compute_kernels
from .ops.ops import (
    HostTotals,
    OpSums,
    OpTotals,
    StepTotals,
    UnitTotals,
    aggregate_ops,
    compute_host_totals,
    compute_step_totals,
    compute_top_ops,
    compute_unit_totals,
    idle_by_side,
    op_sums,
    ops_table,
    step_ops,
)
from .ops.other import HloOps, compute_copy_runs, compute_hlo_ops, compute_tf_functions, copy_table
from .ops.shares import OpShares, compute_op_shares
from .roofline import Roofline, compute_roofline, graph_flops
from .source import SourceLines, compute_program_memory, compute_source_lines
from .steps.spans import Averaged, Coverage, choose_steps, is_selection, step_coverage
from .steps.steps import Steps, TracedSteps, compute_steps, guide_of
from .tables import TABLES
from .timeline import Counters, Flows, compute_counters, compute_flows
from .xla.units import HloExecutions, hlo_executions

_MANY_EVENTS = 1_000_000


@dataclass(frozen=True)
class Totals(ABC):
    """The tables of a whole capture, made of what a subclass adds up: of one trace, or of summaries of hosts."""

    is_reduced: ClassVar[bool]
    """Whether the events of each host were read elsewhere and only their sums are here."""

    trace: Trace
    sources: Sources | None = None
    """What is known of the program, read when it is first needed; None where nobody recorded it."""
    system: pd.DataFrame | None = None
    """Samples of the machine on the clock of the trace, the columns of `Profile.system`; None where none were taken."""
    failure: Failure | None = None
    """The allocation whose failure ended the profiled code; None where it ended otherwise."""
    stored_graph: OpGraph | None = None
    """The ops and their costs as files of TensorFlow's first profiler hold them; None for traces, which they are computed of."""

    @cached_property
    def source_map(self) -> SourceMap | None:
        """Which source line and which layer made each graph op; None where nobody did. The first call may take seconds."""
        return None if self.sources is None else self.sources.read()

    @property
    @abstractmethod
    def steps(self) -> Steps:
        """Steps with their breakdown, and the step of each event."""

    @property
    @abstractmethod
    def environment(self) -> Environment:
        """Where it was recorded: hosts, devices, cores."""

    @property
    @abstractmethod
    def op_shares(self) -> OpShares:
        """Which framework ops each executed unit stands for."""

    @property
    @abstractmethod
    def op_sums(self) -> OpSums:
        """What each framework op sums up to over the whole capture."""

    @property
    @abstractmethod
    def host_totals(self) -> HostTotals:
        """Executions and time of each unit, host by host."""

    @property
    @abstractmethod
    def step_totals(self) -> StepTotals:
        """The same within the averaged steps."""

    @property
    @abstractmethod
    def input_ops(self) -> Bool:
        """Which framework ops ran only within tf.data."""

    @property
    @abstractmethod
    def hlo_ops(self) -> HloOps:
        """Ops of XLA programs."""

    @property
    @abstractmethod
    def kernels(self) -> KernelTable:
        """Code that ran on device streams."""

    @property
    @abstractmethod
    def copies(self) -> pd.DataFrame:
        """The `copies` table."""

    @property
    @abstractmethod
    def idle(self) -> pd.DataFrame:
        """Gaps in the work of devices, and what they waited for."""

    @property
    @abstractmethod
    def kernel_launches(self) -> pd.DataFrame:
        """How kernels were launched."""

    @property
    @abstractmethod
    def memory(self) -> MemoryTables:
        """Memory by allocator."""

    @property
    @abstractmethod
    def memory_by_op(self) -> OpMemory:
        """Bytes by the op that allocated them."""

    @property
    @abstractmethod
    def tf_data(self) -> Pipelines:
        """tf.data pipelines and iterators."""

    @property
    @abstractmethod
    def enqueue_ps(self) -> tuple[int, int]:
        """See `enqueue_times`."""

    @property
    @abstractmethod
    def tf_functions(self) -> pd.DataFrame:
        """What calls of `tf.function`s cost."""

    @property
    @abstractmethod
    def host_facts(self) -> tuple[HostFacts, ...]:
        """What tells of each host what it is for."""

    @property
    @abstractmethod
    def hosts(self) -> pd.DataFrame:
        """The `hosts` table."""

    @property
    @abstractmethod
    def communication(self) -> pd.DataFrame:
        """What hosts exchanged; those that train first."""

    @cached_property
    def step_frame(self) -> pd.DataFrame:
        """The `steps` table as a user sees it."""
        return self.steps.frame[list(TABLES["steps"].names)]

    @cached_property
    def step_guide(self) -> pd.DataFrame:
        """The steps in the categories of TensorFlow's guide."""
        return guide_of(self.steps.frame)[list(TABLES["step_guide"].names)]

    @property
    def is_averaged(self) -> Bool:
        """For each step whether the averages are over it."""
        return self.averaged_steps[0]

    @cached_property
    def averaged_steps(self) -> Averaged:
        """The same, and what is told of the others; see `choose_steps`."""
        coordinators = not_training(self.host_facts)
        return choose_steps(
            self.steps.frame,
            coordinators=coordinators,
            has_failed=self.failure is not None,
            epoch_starts=self.epoch_starts,
        )

    @property
    def epoch_starts(self) -> Bool:
        """For each step whether it is known to be the first of an epoch."""
        return np.zeros(len(self.steps), np.bool_)

    @property
    def waits_are_usual(self) -> bool:
        """Whether how long the averaged steps wait for data tells how long others do: not where a selection took the first of
        each epoch alone."""
        averaged = self.is_averaged
        return not (is_selection(self.steps.frame, averaged) and bool(self.epoch_starts[averaged].all()))

    @cached_property
    def coverage(self) -> Coverage:
        """How much of the time captured lies in steps of the kind that the averages are over."""
        return step_coverage(self.trace, self.steps.frame, self.is_averaged)

    @cached_property
    def top_ops(self) -> pd.DataFrame:
        """The ops that cost most within the averaged steps, of each side, of all hosts and of each; see `compute_top_ops`."""
        hosts = self.host_totals.hosts
        host = pd.Index(hosts).get_indexer(pd.Index(self.steps.frame["host"]))
        return compute_top_ops(self.op_shares, self.step_totals, self.host_totals, host=host, averaged=self.is_averaged)

    @cached_property
    def step_ops(self) -> pd.DataFrame:
        """The ops of the averaged steps, a step; see `step_ops`. Empty without averaged steps."""
        return step_ops(self.op_shares, self.step_totals, max(int(self.is_averaged.sum()), 1))

    @cached_property
    def ops(self) -> pd.DataFrame:
        """The `ops` table of the whole trace, without idle time."""
        return ops_table(self.op_shares, self.op_sums)

    @property
    def events(self) -> pd.DataFrame:
        """The `events` table. It doubles what a trace takes, so of a long one it lives only as long as somebody holds it."""
        if self.trace.n_events <= _MANY_EVENTS:
            return self._events
        frame = self._held_events.get("events")
        if frame is None:
            frame = self._held_events["events"] = compute_events(self.trace, self.steps.event_step)
        return frame

    @cached_property
    def _events(self) -> pd.DataFrame:
        return compute_events(self.trace, self.steps.event_step)

    @cached_property
    def _held_events(self) -> WeakValueDictionary[str, pd.DataFrame]:
        return WeakValueDictionary()

    @cached_property
    def flows(self) -> Flows:
        """Which event made which other start."""
        return compute_flows(self.trace)

    @cached_property
    def input_pipeline(self) -> InputPipeline:
        """The verdict on the input."""
        steps = guide_of(self.steps.frame).assign(is_averaged=self.is_averaged)
        return compute_input_pipeline(
            self.trace, steps=steps, ops=self.ops, tf_data=self.tf_data, enqueue_ps=self.enqueue_ps
        )

    @property
    def clock_notices(self) -> tuple[str, ...]:
        """That the clocks of hosts disagree, where they do."""
        notice = self.workers.clocks.notice if len(self.host_facts) > 1 else ""
        return (notice,) if notice else ()

    @cached_property
    def op_totals(self) -> OpTotals:
        """Time and executions of each framework op."""
        sums = self.op_sums
        self_us = np.asarray(sums.self_ps / PS_PER_US, np.float64)
        return OpTotals(self.op_shares.is_device, self_us, sums.count, sums.unit_ns * PS_PER_NS / PS_PER_US)

    @cached_property
    def named_scopes(self) -> OpScopes:
        """What the name and type of each framework op tell of its scope and role."""
        return op_scopes(self.op_shares.name, self.op_shares.type)

    @cached_property
    def op_match(self) -> OpMatch:
        """The graph op of each framework op."""
        named = self.named_scopes
        return match_ops(named.name, named.type, named, self.source_map or empty_source_map())

    @cached_property
    def op_scopes(self) -> OpScopes:
        """Name scope and role of each framework op."""
        return compute_op_scopes(
            self.op_shares, self.named_scopes, self.op_match, self.source_map, is_input=self.input_ops
        )

    @cached_property
    def layers(self) -> Layers:
        """Time and memory by Keras layer."""
        return compute_layers(
            self.op_scopes, self.op_totals, shares=self.op_shares, source_map=self.source_map, memory=self.memory_by_op
        )

    @cached_property
    def source_lines(self) -> SourceLines:
        """Time by line of source code."""
        return compute_source_lines(
            self.trace,
            self.op_shares,
            self.source_map,
            totals=self.op_totals,
            scopes=self.named_scopes,
            match=self.op_match,
        )

    @cached_property
    def scopes(self) -> Scopes:
        """Time by name scope."""
        return compute_scopes(self.op_scopes, self.op_totals)

    @cached_property
    def workers(self) -> Workers:
        """Steps of each host, side by side."""
        return compute_workers(self.steps, self.host_facts, lambda: self.communication)

    @cached_property
    def stragglers(self) -> pd.DataFrame:
        """Hosts that hold the others up."""
        return compute_stragglers(self.workers)


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
