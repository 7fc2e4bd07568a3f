"""Trace -> `Facts`: everything that is told of it without a judgement, each computed when first asked for and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd

from ...trace.capture_facts import Failure
from ...trace.op_graph import OpGraph
from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Int32, SmallInt, Trace, small_int
from ..base.events import compute_events
from ..hosts.communication import compute_communication, training_first
from ..hosts.environment import Environment, compute_environment
from ..hosts.host_table import host_table
from ..hosts.roles import HostFacts, host_facts, not_training
from ..hosts.stragglers import compute_stragglers
from ..hosts.workers import Workers, compute_workers
from ..input.input_pipeline import InputPipeline, compute_input_pipeline
from ..input.tf_data import TfData, compute_tf_data
from ..layers.layer_memory import OpMemory, memory_by_op
from ..layers.layers import Layers, compute_layers
from ..layers.op_scopes import OpScopes, compute_op_scopes
from ..layers.scopes import Scopes, compute_scopes
from ..memory.memory import MemoryProfile, compute_memory
from ..ops.hlo_ops import HloOps, compute_hlo_ops
from ..ops.host_totals import HostTotals, compute_host_totals
from ..ops.kernels import Kernels, compute_kernels
from ..ops.op_occurrences import Occurrences, op_occurrences
from ..ops.op_shares import OpShares, compute_op_shares
from ..ops.op_totals import OpTotals, totals_of
from ..ops.ops import OpSums, aggregate_ops, idle_by_side, op_sums, ops_table
from ..ops.tf_functions import compute_tf_functions
from ..ops.unit_totals import UnitTotals, compute_unit_totals
from ..source.source_lines import SourceLines, compute_source_lines
from ..steps.averaged_steps import choose_steps
from ..steps.steps import Steps, compute_steps
from ..timeline.counters import Counters, compute_counters
from ..timeline.flows import Flows, compute_flows

_MANY_EVENTS = 1_000_000
_INTERNAL_STEP_COLUMNS = ["start_ps", "duration_ps"]


@dataclass(frozen=True)
class Facts:
    """What can be told of one trace without a judgement; tables and columns are as their own types describe them."""

    trace: Trace
    source_map: SourceMap | None = None
    """Which source line and which layer made each graph op; None where nobody recorded it."""
    system: pd.DataFrame | None = None
    """Samples of the machine on the clock of the trace, the columns of `Profile.system`; None where none were taken."""
    failure: Failure | None = None
    """The allocation whose failure ended the profiled code; None where it ended otherwise."""
    stored_graph: OpGraph | None = None
    """The ops and their costs as files of TensorFlow's first profiler hold them; None for traces, which they are computed of."""

    @cached_property
    def steps(self) -> Steps:
        """Steps with their breakdown, and the step of each event."""
        return compute_steps(self.trace)

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the capture noted of the machine and of versions, by name; empty where nobody did."""
        noted = None if self.source_map is None else self.source_map.facts
        return {} if noted is None else dict(zip(noted["name"], noted["value"], strict=True))

    @cached_property
    def environment(self) -> Environment:
        """Where the trace was recorded: hosts, devices, cores."""
        return compute_environment(self.trace, self.noted)

    @cached_property
    def step_frame(self) -> pd.DataFrame:
        """The `steps` table as a user sees it."""
        return self.steps.frame.drop(columns=_INTERNAL_STEP_COLUMNS)

    @property
    def is_averaged(self) -> Bool:
        """For each step whether the averages are over it."""
        return self.averaged_steps[0]

    @cached_property
    def averaged_steps(self) -> tuple[Bool, str]:
        """The same, and a sentence on the others; see `choose_steps`."""
        coordinators = not_training(self.host_facts)
        return choose_steps(self.steps.frame, coordinators=coordinators, has_failed=self.failure is not None)

    @cached_property
    def occurrences(self) -> Occurrences:
        """Every execution of every op."""
        return op_occurrences(self.trace, grouping=self.steps.grouping)

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

    @property
    def is_reduced(self) -> bool:
        """Whether the events of each host were read elsewhere and only their sums are here."""
        return False

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
    def op_sums(self) -> OpSums:
        """What each framework op sums up to over the whole trace."""
        return op_sums(self.occurrences, self.op_shares)

    @cached_property
    def ops(self) -> pd.DataFrame:
        """The `ops` table of the whole trace, without idle time."""
        return ops_table(self.op_shares, self.op_sums)

    @property
    def ops_and_idle(self) -> pd.DataFrame:
        """The same with a row `IDLE` a side for the time in which no op ran."""
        return aggregate_ops(self.occurrences, shares=self.op_shares, idle=True)

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
    def memory(self) -> MemoryProfile:
        """Memory by allocator."""
        return compute_memory(
            self.trace,
            event_step=self.steps.event_step,
            steps=self.steps.frame,
            grouping=self.steps.grouping,
        )

    @cached_property
    def memory_by_op(self) -> OpMemory:
        """Bytes by the op that allocated them."""
        return memory_by_op(self.memory)

    @cached_property
    def tf_data(self) -> TfData:
        """tf.data pipelines and iterators."""
        return compute_tf_data(self.trace, grouping=self.steps.grouping)

    @cached_property
    def counters(self) -> Counters:
        """What rose and fell: memory in use, tf.data buffers, counters of devices, the machine."""
        return compute_counters(self.trace, self.memory, self.tf_data, self.system)

    @cached_property
    def input_pipeline(self) -> InputPipeline:
        """The verdict on the input."""
        steps = self.steps.frame.assign(is_averaged=self.is_averaged)
        return compute_input_pipeline(self.trace, steps=steps, ops=self.ops, tf_data=self.tf_data)

    @property
    def clock_notices(self) -> tuple[str, ...]:
        """That the clocks of hosts disagree, where they do."""
        notice = self.workers.clocks.notice if len(self.host_facts) > 1 else ""
        return (notice,) if notice else ()

    @cached_property
    def op_shares(self) -> OpShares:
        """Which framework ops each executed unit stands for."""
        return compute_op_shares(self.occurrences)

    @cached_property
    def hlo_ops(self) -> HloOps:
        """Ops of XLA programs."""
        return compute_hlo_ops(self.occurrences, self.op_shares)

    @cached_property
    def kernels(self) -> Kernels:
        """Code that ran on device streams."""
        return compute_kernels(self.trace, self.occurrences, self.op_shares)

    @cached_property
    def op_totals(self) -> OpTotals:
        """Time and executions of each framework op."""
        return totals_of(self.op_sums, self.op_shares)

    @cached_property
    def op_scopes(self) -> OpScopes:
        """Name scope and role of each framework op."""
        return compute_op_scopes(self.trace, self.occurrences, self.op_shares, self.source_map)

    @cached_property
    def tf_functions(self) -> pd.DataFrame:
        """What calls of `tf.function`s cost."""
        return compute_tf_functions(self.trace)

    @cached_property
    def layers(self) -> Layers:
        """Time and memory by Keras layer."""
        return compute_layers(
            self.op_scopes, self.op_totals, shares=self.op_shares, source_map=self.source_map, memory=self.memory_by_op
        )

    @cached_property
    def source_lines(self) -> SourceLines:
        """Time by line of source code."""
        return compute_source_lines(self.trace, self.occurrences, self.op_shares, self.source_map, ops=self.ops)

    @cached_property
    def scopes(self) -> Scopes:
        """Time by name scope."""
        return compute_scopes(self.op_scopes, self.op_totals)

    @cached_property
    def workers(self) -> Workers:
        """Steps of each host, side by side."""
        several = len(self.host_facts) > 1
        return compute_workers(self.trace, self.steps, self.host_facts, self.communication if several else None)

    @cached_property
    def host_facts(self) -> tuple[HostFacts, ...]:
        """What tells of each host what it is for."""
        return host_facts(self.trace)

    @cached_property
    def hosts(self) -> pd.DataFrame:
        """The `hosts` table."""
        return host_table(self.host_facts, self.steps.frame)

    @cached_property
    def stragglers(self) -> pd.DataFrame:
        """Hosts that hold the others up."""
        return compute_stragglers(self.workers)

    @cached_property
    def communication(self) -> pd.DataFrame:
        """What hosts exchanged; those that train first."""
        return training_first(compute_communication(self.trace, self.steps), not_training(self.host_facts))
