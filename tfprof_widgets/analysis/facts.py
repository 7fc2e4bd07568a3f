"""Trace, or the summaries of many hosts -> `Facts`: every table that needs no judgement, each computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd

from ..trace.arrays import Bool, Int32, SmallInt, UInt8
from ..trace.capture_facts import Failure, framework_of_keras, known_name
from ..trace.op_graph import OpGraph
from ..trace.source_map import SourceMap, Sources, empty_source_map
from ..trace.trace import Trace, small_int
from .common import hosts_of
from .events import Launches, compute_launches
from .grouping import ComputeUnit
from .hosts.hosts import (
    Environment,
    HostFacts,
    compute_environment,
    host_facts,
    host_table,
    merge_host_facts,
    not_training,
)
from .ops.executions import Occurrences, Units, kernel_units, op_occurrences
from .ops.ops import (
    MergedOps,
    OpSums,
    TravellingUnits,
    UnitSums,
    idle_by_side,
    merge_ops,
    op_sums,
    ops_table,
    step_ops,
    sums_of_units,
    travelling_units,
    unit_sums,
)
from .ops.shares import OpShares, compute_op_shares
from .steps.spans import Averaged, Coverage, choose_steps, is_selection, step_coverage
from .steps.steps import MergedSteps, TracedSteps, compute_steps, guide_of, merge_steps
from .summaries import OTHER_OPS, HostSums
from .table import TABLES
from .xla.units import HloExecutions, hlo_executions

if TYPE_CHECKING:
    from .hosts.workers import Workers
    from .input.pipeline import InputPipeline
    from .input.tf_data import TfData
    from .layers.layers import Layers
    from .layers.ops_of_graph import OpMatch
    from .layers.scopes import OpScopes, Scopes
    from .memory.memory import MemoryProfile, OpMemory
    from .ops.kernels import Kernels
    from .ops.other import HloOps, MergedHlo
    from .roofline import Roofline
    from .source import SourceLines
    from .steps.owners import Attribution
    from .timeline import Counters, Flows

_MANY_EVENTS = 1_000_000
_Fact = TypeVar("_Fact")
_Compute = Callable[[Any], _Fact]


def merged(of_hosts: Callable[[Any], Any]) -> Callable[[_Compute[_Fact]], cached_property[_Fact]]:
    """A fact that is computed of all events; of hosts that are summed up `of_hosts` gives it from their sums."""

    def fact(compute: _Compute[_Fact]) -> cached_property[_Fact]:
        return cached_property(wraps(compute)(lambda facts: (compute if facts.has_events else of_hosts)(facts)))

    return fact


def one_host(what: str) -> Callable[[_Compute[_Fact]], cached_property[_Fact]]:
    """A fact that needs the events of a host: of hosts that are summed up it raises TfProfError."""

    def refuse(facts: Facts) -> NoReturn:
        raise facts.of_hosts.no_events(what)

    return merged(refuse)


def declared(table: str) -> Any:
    """A fact that is computed as the declaration of a table says; of summed hosts merged, or refused, where it says so."""

    def fact(facts: Facts) -> Any:
        found = TABLES[table]
        if not facts.has_events and found.of_executions:
            raise facts.of_hosts.no_events(found.of_executions)
        if not facts.has_events and found.of_hosts:
            return found.of_hosts(facts.of_hosts)
        assert found.of_facts is not None
        return found.of_facts(facts)

    return cached_property(fact)


@dataclass(frozen=True)
class Facts:
    """All facts of a run, without a judgement; each module is imported where its table is asked for."""

    trace: Trace
    """All events; of summed hosts their steps and their longest events."""
    sources: Sources | None = None
    """The recorded facts on the program, read when first needed; None where nobody recorded them."""
    system: pd.DataFrame | None = None
    """Samples of the machine on the clock of the trace, the columns of `Profile.system`; None where none were taken."""
    failure: Failure | None = None
    """The allocation whose failure ended the profiled code; None where it ended otherwise."""
    stored_graph: OpGraph | None = None
    """The ops and their costs as files of TensorFlow's first profiler hold them; None for traces, which they are computed of."""
    summed: HostSums | None = None
    """The hosts whose events were read and summed up elsewhere; None where the trace has all events."""

    @property
    def has_events(self) -> bool:
        """Whether every event is in the trace."""
        return self.summed is None

    @cached_property
    def source_map(self) -> SourceMap | None:
        """Which source line and which layer made each graph op; None where nobody did. The first call may take seconds."""
        return None if self.sources is None else self.sources.read()

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the capture recorded of the machine and of versions, by name; where hosts differ, by the first of them."""
        if self.summed is not None:
            return self.summed.noted
        noted = None if self.sources is None else self.sources.facts
        return {} if noted is None else dict(zip(noted["name"], noted["value"], strict=True))

    # ---- as their tables are declared -------------------------------------------------------------------------------

    flows: ClassVar[cached_property[Flows]] = declared("flows")
    counters: ClassVar[cached_property[Counters]] = declared("counters")
    idle: ClassVar[cached_property[pd.DataFrame]] = declared("idle")
    kernels: ClassVar[cached_property[Kernels]] = declared("kernels")
    kernel_launches: ClassVar[cached_property[pd.DataFrame]] = declared("kernel_launches")
    copy_runs: ClassVar[cached_property[pd.DataFrame]] = declared("copies")
    tf_functions: ClassVar[cached_property[pd.DataFrame]] = declared("overview.tf_functions")
    program_memory: ClassVar[cached_property[pd.DataFrame]] = declared("program_memory")
    source_lines: ClassVar[cached_property[SourceLines]] = declared("source_lines")
    roofline: ClassVar[cached_property[Roofline]] = declared("roofline")
    layers: ClassVar[cached_property[Layers]] = declared("layers")
    scopes: ClassVar[cached_property[Scopes]] = declared("scopes")
    variables: ClassVar[cached_property[pd.DataFrame]] = declared("variables")
    workers: ClassVar[cached_property[Workers]] = declared("workers")
    stragglers: ClassVar[cached_property[pd.DataFrame]] = declared("stragglers")
    _exchanges: ClassVar[cached_property[pd.DataFrame]] = declared("communication")
    memory: ClassVar[cached_property[MemoryProfile]] = declared("memory.summary")
    tf_data: ClassVar[cached_property[TfData]] = declared("input_pipeline.pipelines")

    # ---- where and when ---------------------------------------------------------------------------------------------

    @cached_property
    def environment(self) -> Environment:
        found = compute_environment(self.trace, self.noted)
        if self.summed is None:
            return replace(found, unrecorded=self.unrecorded)
        sums = self.summed.sums
        return replace(
            found,
            n_events=sums["n_events"],
            n_threads=sums["n_threads"],
            n_active_devices=sums["n_active_devices"],
            framework=self.summed.framework,
        )

    @merged(lambda facts: merge_host_facts(facts.summed.every["hosts"]))
    def host_facts(self) -> tuple[HostFacts, ...]:
        """What tells of each host what it is for."""
        return host_facts(self.trace)

    @cached_property
    def hosts(self) -> pd.DataFrame:
        path = {} if self.summed is None else self.summed.paths
        return host_table(self.host_facts, self.steps.frame, [path.get(one.host, "") for one in self.host_facts])

    @merged(lambda facts: facts.merged_steps.steps(facts.trace, facts.summed))
    def steps(self) -> TracedSteps:
        """Steps with their breakdown, and the step of each event; none where what computed them is not in the trace."""
        if not self.unrecorded:
            return self._traced_steps
        return compute_steps(self.trace, grouping=self._traced_steps.grouping, units=self.kernel_units, finds_any=False)

    @cached_property
    def _traced_steps(self) -> TracedSteps:
        return compute_steps(self.trace, units=self.kernel_units, has_failed=self.failure is not None)

    @cached_property
    def merged_steps(self) -> MergedSteps:
        return merge_steps(self.of_hosts.every["steps"])

    @property
    def of_hosts(self) -> HostSums:
        """The hosts that are summed up; asked only where there are such."""
        assert self.summed is not None
        return self.summed

    @cached_property
    def unrecorded(self) -> str:
        """See `Environment.unrecorded`; a capture says which Keras ran, and what else may have run without TensorFlow."""
        from .input.iterators import input_work

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
    def step_frame(self) -> pd.DataFrame:
        return self.steps.frame[list(TABLES["steps"].names)]

    @cached_property
    def step_guide(self) -> pd.DataFrame:
        return guide_of(self.steps.frame)[list(TABLES["step_guide"].names)]

    @property
    def is_averaged(self) -> Bool:
        """For each step whether the averages are over it."""
        return self.averaged_steps[0]

    @cached_property
    def averaged_steps(self) -> Averaged:
        """The same, and why the others are left out; see `choose_steps`."""
        coordinators = not_training(self.host_facts)
        return choose_steps(
            self.steps.frame,
            coordinators=coordinators,
            has_failed=self.failure is not None,
            epoch_starts=self.epoch_starts,
        )

    @cached_property
    def epoch_starts(self) -> Bool:
        """For each step whether its marker says that it is the first of an epoch."""
        found = np.zeros(len(self.steps), np.bool_)
        if self.has_events:
            step = self.steps.event_step[np.flatnonzero(self.trace.has_stat("epoch_start"))]
            found[step[step >= 0]] = True
        return found

    @property
    def waits_are_usual(self) -> bool:
        """Whether the averaged steps wait for data as others do; not where a selection took the first of each epoch alone."""
        averaged = self.is_averaged
        return not (is_selection(self.steps.frame, averaged) and bool(self.epoch_starts[averaged].all()))

    @cached_property
    def coverage(self) -> Coverage:
        """How much of the time captured lies in steps of the kind that the averages are over."""
        return step_coverage(self.trace, self.steps.frame, self.is_averaged)

    @property
    def clock_notices(self) -> tuple[str, ...]:
        """That the clocks of hosts disagree, where they do."""
        notice = self.workers.clocks.notice if len(self.host_facts) > 1 else ""
        return (notice,) if notice else ()

    @cached_property
    def communication(self) -> pd.DataFrame:
        """What hosts exchanged; those that train first."""
        from .hosts.workers import training_first

        return training_first(self._exchanges, not_training(self.host_facts))

    # ---- events -----------------------------------------------------------------------------------------------------

    @property
    def events(self) -> pd.DataFrame:
        """The `events` table. It doubles what a trace takes, so of a long one it lives only as long as somebody holds it."""
        from .events import compute_events

        found = self._held_events.get("events")
        if found is None:
            found = self._held_events["events"] = compute_events(self.trace, self.steps.event_step)
        if self.trace.n_events <= _MANY_EVENTS:
            vars(self)["_kept_events"] = found
        return found

    @cached_property
    def _held_events(self) -> WeakValueDictionary[str, pd.DataFrame]:
        return WeakValueDictionary()

    @cached_property
    def launches(self) -> Launches:
        return compute_launches(self.trace)

    # ---- what was executed ------------------------------------------------------------------------------------------

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

    @merged(lambda facts: facts._merged_ops.all_units(facts._merged_hlo.units(facts.trace)))
    def units(self) -> Units:
        """The table of what was executed: ordinary ops, then those of compiled programs."""
        return self.occurrences

    @one_host("single executions")
    def occurrences(self) -> Occurrences:
        return op_occurrences(
            self.trace,
            grouping=self._traced_steps.grouping,
            launches=self.launches,
            hlo=self.hlo_executions,
            units=self.kernel_units,
        )

    @cached_property
    def event_unit(self) -> SmallInt:
        """For each event the unit that it executes, a row of the table of units; -1 for none, and where that is not known."""
        unit = np.full(self.trace.n_events, -1, small_int(len(self.units.name)))
        if self.has_events:
            unit[self.occurrences.event] = self.occurrences.op
        return unit

    @cached_property
    def event_op(self) -> Int32:
        """For each event the framework op that it executes most of, a row of the table of `op_shares`; -1 for none."""
        return np.append(self.op_shares.dominant, np.int32(-1))[self.event_unit]

    @merged(lambda facts: facts._merged_ops.shares)
    def op_shares(self) -> OpShares:
        """Which framework ops each executed unit stands for."""
        return compute_op_shares(self.occurrences)

    @cached_property
    def _merged_ops(self) -> MergedOps:
        return merge_ops(self.of_hosts.every, self._merged_hlo.frame, self._merged_hlo.row)

    @cached_property
    def _merged_hlo(self) -> MergedHlo:
        from .ops.other import merge_hlo

        return merge_hlo(self.of_hosts.every["hlo_ops"])

    @cached_property
    def travelling_units(self) -> TravellingUnits:
        return travelling_units(self.occurrences, self.op_shares)

    @merged(lambda facts: facts._merged_ops.is_input)
    def input_ops(self) -> Bool:
        """Which framework ops ran only within tf.data."""
        from .input.iterators import input_work

        n_ops = self.occurrences.n_ops
        work = np.zeros(len(self.op_shares), np.bool_)
        work[:n_ops] = input_work(self.trace, self.occurrences)[:n_ops]
        return work

    # ---- sums of executions -----------------------------------------------------------------------------------------

    @merged(lambda facts: sums_of_units(facts._merged_ops.sums, facts.op_shares))
    def op_sums(self) -> OpSums:
        return op_sums(self.occurrences, self.op_shares)

    @merged(lambda facts: facts._merged_ops.of_hosts(facts.summed.numbers(hosts_of(facts.trace))))
    def host_sums(self) -> UnitSums:
        """Executions and time of each unit, host by host."""
        return unit_sums(self.trace, self.occurrences)

    @cached_property
    def step_sums(self) -> UnitSums:
        """Executions and time of each unit within the averaged steps, host by host."""
        if self.summed is not None:
            kinds = self._merged_ops.kinds
            chosen = kinds[self.merged_steps.of_their_kinds(self.is_averaged, kinds)]
            return self._merged_ops.of_hosts(self.summed.numbers(hosts_of(self.trace)), chosen)
        inside = np.append(self.is_averaged, False)[self.steps.event_step[self.occurrences.event]]
        return unit_sums(self.trace, self.occurrences, np.flatnonzero(inside))

    @merged(lambda facts: {side: n for side, n in facts.summed.sums.items() if side in ("Device", "Host")})
    def idle_ps(self) -> dict[str, int]:
        """By side, `Host` and `Device`, how long threads and devices ran no op, each summed; a side not observed is missing."""
        return idle_by_side(self.occurrences)

    @merged(lambda facts: facts.summed.sums)
    def idle_times(self) -> Mapping[str, int]:
        from .idle import idle_times

        return idle_times(self.trace, self.occurrences)

    @cached_property
    def ops(self) -> pd.DataFrame:
        """The `ops` table of the whole trace, without idle time."""
        return ops_table(self.op_shares, self.op_sums)

    @property
    def ops_and_idle(self) -> pd.DataFrame:
        """The same with a row `IDLE` a side for the time in which no op ran."""
        return ops_table(self.op_shares, self.op_sums, self.idle_ps)

    @cached_property
    def step_ops(self) -> pd.DataFrame:
        """The ops of the averaged steps, a step; see `step_ops`. Empty without averaged steps."""
        ops = step_ops(self.op_shares, self.step_sums, max(int(self.is_averaged.sum()), 1))
        return self._without_others(ops, ops["type"].tolist())

    def _without_others(self, ops: pd.DataFrame, types: list[str]) -> pd.DataFrame:
        """The same without the row that stands for ops that did not travel from their hosts."""
        if self.has_events:
            return ops
        return ops[np.array([one != OTHER_OPS for one in types], np.bool_)].reset_index(drop=True)

    # ---- ops by what they are of ------------------------------------------------------------------------------------

    @cached_property
    def named_scopes(self) -> OpScopes:
        """What the name and type of each framework op tell of its scope and role."""
        from .layers.scopes import op_scopes

        return op_scopes(self.op_shares.name, self.op_shares.type)

    @cached_property
    def op_match(self) -> OpMatch:
        from .layers.ops_of_graph import match_ops

        named = self.named_scopes
        return match_ops(named.name, named.type, named, self.source_map or empty_source_map())

    @cached_property
    def op_scopes(self) -> OpScopes:
        from .layers.ops_of_graph import compute_op_scopes

        return compute_op_scopes(
            self.op_shares, self.named_scopes, self.op_match, self.source_map, is_input=self.input_ops
        )

    @merged(lambda facts: facts._merged_hlo.table(facts._merged_ops.n_ordinary))
    def hlo_ops(self) -> HloOps:
        from .ops.other import compute_hlo_ops

        return compute_hlo_ops(self.occurrences, self.op_shares)

    # ---- devices ----------------------------------------------------------------------------------------------------

    @cached_property
    def copies(self) -> pd.DataFrame:
        from .ops.other import copy_table

        return copy_table(self.copy_runs)

    @one_host("attribution of time")
    def attribution(self) -> Attribution:
        """What had each instant of each step."""
        from .steps.owners import compute_attribution

        return compute_attribution(self.trace, self.steps, event_unit=self.event_unit, event_op=self.event_op)

    # ---- memory and input -------------------------------------------------------------------------------------------

    @merged(lambda facts: facts.memory.by_op)
    def memory_by_op(self) -> OpMemory:
        from .memory.memory import memory_by_op

        return memory_by_op(self.memory, self.is_averaged)

    @cached_property
    def input_pipeline(self) -> InputPipeline:
        from .input.pipeline import compute_input_pipeline

        steps = guide_of(self.steps.frame).assign(is_averaged=self.is_averaged)
        return compute_input_pipeline(
            self.trace, steps=steps, ops=self.ops, tf_data=self.tf_data, enqueue_ps=self.enqueue_ps
        )

    @merged(lambda _: {})
    def step_work_ms(self) -> dict[str, float]:
        """What iterators worked in the averaged steps, by the names of their ops; nothing of summed hosts."""
        from .input.tf_data import work_by_op, work_within

        ops = self.input_pipeline.ops
        totals = dict(zip(ops["op"], ops["total_time_ms"], strict=True))
        counts = np.append(self.is_averaged, False)[
            self.steps.event_step[self.tf_data.calls["event"].to_numpy(np.int64)]
        ]
        return work_by_op(self.tf_data.iterators, work_within(self.tf_data, counts), totals)

    @merged(lambda facts: (facts.summed.sums["enqueue_busy_ps"], facts.summed.sums["enqueue_period_ps"]))
    def enqueue_ps(self) -> tuple[int, int]:
        from .input.iterators import enqueue_times

        return enqueue_times(self.trace)
