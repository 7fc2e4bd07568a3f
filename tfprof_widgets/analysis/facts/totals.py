"""What is told of a whole capture, whether its events are here (`Facts`) or only what each host sent of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd

from ...trace.capture_facts import Failure
from ...trace.op_graph import OpGraph
from ...trace.source_map import SourceMap, Sources, empty_source_map
from ...trace.trace import Bool, Trace
from ..base.events import compute_events
from ..base.units import PS_PER_NS, PS_PER_US
from ..columns.registry import TABLES
from ..hosts.environment import Environment
from ..hosts.roles import HostFacts, not_training
from ..hosts.stragglers import compute_stragglers
from ..hosts.workers import Workers, compute_workers
from ..input.input_pipeline import InputPipeline, compute_input_pipeline
from ..input.tf_data import Pipelines
from ..layers.layer_memory import OpMemory
from ..layers.layers import Layers, compute_layers
from ..layers.op_scopes import OpScopes, op_scopes
from ..layers.op_sources import OpMatch, compute_op_scopes, match_ops
from ..layers.scopes import Scopes, compute_scopes
from ..memory.memory import MemoryTables
from ..ops.hlo_ops import HloOps
from ..ops.host_totals import HostTotals
from ..ops.kernels import KernelTable
from ..ops.op_shares import OpShares
from ..ops.op_totals import OpTotals
from ..ops.ops import OpSums, ops_table
from ..ops.step_ops import step_ops
from ..ops.step_totals import StepTotals
from ..ops.top_ops import compute_top_ops
from ..source.source_lines import SourceLines, compute_source_lines
from ..steps.averaged_steps import Averaged, choose_steps, is_selection
from ..steps.coverage import Coverage, step_coverage
from ..steps.steps import Steps, guide_of
from ..timeline.flows import Flows, compute_flows

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
