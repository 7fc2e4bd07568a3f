"""Summaries of hosts -> `ClusterResults`: the results of all of them, as far as they go without events.

merge_hosts(summaries) -> ClusterResults
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import ClassVar
from weakref import ref

import numpy as np
import pandas as pd

from ...errors import TraceError
from ...trace.op_graph import OpGraph
from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Int64, SmallInt, small_int
from ..advice.advice import Advice
from ..advice.engine import FoundAdvice
from ..base.hosts import hosts_of
from ..base.table_types import typed_table
from ..columns.registry import TABLES
from ..facts.totals import Totals
from ..graph.op_graph import compute_captured_graph, compute_variables
from ..hosts.communication import training_first
from ..hosts.environment import Environment, compute_environment
from ..hosts.host_table import host_table
from ..hosts.roles import HostFacts, not_training
from ..layers.layer_memory import OpMemory
from ..ops.hlo_ops import HloOps
from ..ops.host_totals import HostTotals
from ..ops.kernels import KernelTable
from ..ops.op_occurrences import Units
from ..ops.op_shares import OpShares
from ..ops.ops import OpSums, ops_table, sums_of_units
from ..ops.step_totals import StepTotals
from ..ops.unit_totals import UnitTotals
from ..overview.framework_words import framework_notices
from ..overview.overview import Overview
from ..steps.steps import Steps
from ..timeline.counters import Counters
from ..xla.command_buffers import GraphsSwitchedOff
from .columns import OWNER, Stack
from .host_summary import HostSummary
from .left_out import left_out
from .low_detail import as_guide, merge_low_detail, pieces_of
from .merged_advice import reduced_advice
from .merged_copies import merge_copies
from .merged_costs import total_costs
from .merged_hlo import MergedHlo, merge_hlo
from .merged_input import ReducedTfData, merge_tf_data
from .merged_kernels import merge_kernels
from .merged_memory import ReducedMemory, merge_memory
from .merged_ops import MergedOps, merge_ops
from .merged_overview import merge_host_facts, merge_overview, merge_tf_functions
from .merged_steps import MergedSteps, merge_steps
from .op_summary import OTHERS


@dataclass(frozen=True)
class ClusterResults(Totals):
    """The results of all hosts of a reduced profile.

    Tables are of the whole capture; `trace` holds what `merge_low_detail` lays out. What needs every event of a host is not
    here, as its type tells: one host can be opened in full.
    """

    is_reduced = True
    memory_failure: ClassVar[None] = None
    """What lived when an allocation failed is on its host."""
    counters: ClassVar[Counters] = Counters(())
    """None: what rose and fell on a host is there."""

    summaries: tuple[HostSummary, ...] = ()
    every: Stack = field(kw_only=True, repr=False)
    """The tables of all hosts."""
    low_step: Int64 = field(kw_only=True, repr=False)
    """For each event of `trace` its step in the order of the stack, -1 for none."""

    @cached_property
    def merged_steps(self) -> MergedSteps:
        """The steps of all hosts, and which of them are of each."""
        return merge_steps(self.every["steps"])

    @cached_property
    def sums(self) -> Counter[str]:
        """What is added up over all hosts; a side (`Device`, `Host`) on which nothing was observed is missing."""
        total: Counter[str] = Counter()
        for one in self.summaries:
            total.update(one.sums)
        return total

    @cached_property
    def steps(self) -> Steps:
        """The steps of all hosts; their pieces are in outline, the categories of each step are exact."""
        frame = self.merged_steps.frame
        event_step: SmallInt = np.append(self.merged_steps.row, -1)[self.low_step].astype(small_int(len(frame)))
        return Steps(
            frame=frame,
            pieces=(pieces := pieces_of(self.trace, event_step)),
            guide_pieces=as_guide(pieces),
            event_step=event_step,
            compute_16bit_ps=self.sums["compute_16bit_ps"],
            compute_32bit_ps=self.sums["compute_32bit_ps"],
        )

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the hosts noted; where they differ, what the first of them did."""
        return {name: value for one in reversed(self.summaries) for name, value in one.facts.items()}

    @cached_property
    def environment(self) -> Environment:
        """Where the hosts were recorded."""
        return replace(
            compute_environment(self.trace, self.noted),
            n_events=self.sums["n_events"],
            n_threads=self.sums["n_threads"],
            n_active_devices=self.sums["n_active_devices"],
            framework=next((one.framework for one in self.summaries if one.framework != "TensorFlow"), "TensorFlow"),
        )

    @cached_property
    def tf_functions(self) -> pd.DataFrame:
        """What calls of `tf.function`s cost on all hosts."""
        return merge_tf_functions(self.every["tf_functions"])

    @cached_property
    def merged_ops(self) -> MergedOps:
        """The ops of all hosts, and of each."""
        return merge_ops(self.every, self.merged_hlo)

    @cached_property
    def merged_hlo(self) -> MergedHlo:
        """The HLO ops of all hosts."""
        return merge_hlo(self.every["hlo_ops"])

    @cached_property
    def hlo_ops(self) -> HloOps:
        """Ops of XLA programs."""
        return self.merged_hlo.table(self.merged_ops.n_ordinary)

    @cached_property
    def kernels(self) -> KernelTable:
        """Code that ran on device streams."""
        return merge_kernels(self.every["kernels"])

    @cached_property
    def copies(self) -> pd.DataFrame:
        """The `copies` table."""
        return merge_copies(self.every["copies"])

    @cached_property
    def units(self) -> Units:
        """The table of units: the ordinary ops of all hosts, then their HLO ops."""
        ops, hlo, n = self.merged_ops.shares, self.merged_hlo.units(self.trace), self.merged_ops.n_ordinary
        return Units(
            name=ops.name[:n] + hlo.name,
            type=ops.type[:n] + hlo.category,
            is_device=np.append(ops.is_device[:n], hlo.is_device),
            is_eager=np.append(ops.is_eager[:n], np.zeros(len(hlo), np.bool_)),
            hlo=hlo,
        )

    @cached_property
    def op_shares(self) -> OpShares:
        """Which framework ops each unit stands for."""
        return self.merged_ops.shares

    @cached_property
    def unit_totals(self) -> UnitTotals:
        """Executions and time of each unit over the whole capture, of all hosts."""
        sums = self.merged_ops.sums
        unit = np.flatnonzero(sums.count)
        return UnitTotals(unit, sums.count[unit], np.asarray(sums.total_ps[unit]), np.asarray(sums.self_ps[unit]))

    @cached_property
    def idle_ps(self) -> tuple[int, int]:
        """Time in which host threads and devices ran no op, each summed."""
        return self.sums["Host"], self.sums["Device"]

    @cached_property
    def host_totals(self) -> HostTotals:
        """Executions and time of each unit, host by host."""
        own = self._by_host(self.merged_ops.units)
        sums = own.groupby(["host", "unit"], as_index=False)[["count", "total_ps", "self_ps"]].sum()
        return HostTotals(hosts_of(self.trace), *(sums[name].to_numpy() for name in sums))

    @cached_property
    def step_totals(self) -> StepTotals:
        """Executions and time of each unit within the averaged steps, host by host."""
        kinds = self.merged_ops.kinds
        own = self._by_host(kinds[self.merged_steps.of_their_kinds(self.is_averaged, kinds)])
        sums = own.groupby(["host", "unit"], as_index=False)[["count", "total_ps", "self_ps"]].sum()
        return StepTotals(*(sums[name].to_numpy() for name in sums))

    @cached_property
    def top_ops(self) -> pd.DataFrame:
        """The same, without the time of ops that did not travel, which is no op."""
        top = super().top_ops
        is_op = np.array([self.op_shares.type[i] != OTHERS for i in top["op"]], np.bool_)
        return top[is_op].reset_index(drop=True)

    @cached_property
    def step_ops(self) -> pd.DataFrame:
        """The same, likewise."""
        ops = super().step_ops
        return ops[ops["type"] != OTHERS].reset_index(drop=True)

    def _by_host(self, owned: pd.DataFrame) -> pd.DataFrame:
        """The same rows with the number of their host among all, `host`."""
        number = {name: i for i, name in enumerate(hosts_of(self.trace))}
        place = [number[one.trace.planes[0].host] if one.trace.planes else 0 for one in self.summaries]
        return owned.assign(host=np.array(place, np.int64)[owned[OWNER]])

    @cached_property
    def op_sums(self) -> OpSums:
        """What each framework op sums up to on all hosts."""
        return sums_of_units(self.merged_ops.sums, self.op_shares)

    @cached_property
    def ops_and_idle(self) -> pd.DataFrame:
        """The same with idle time."""
        idle = {side: self.sums[side] for side in ("Device", "Host") if side in self.sums}
        return ops_table(self.op_shares, self.op_sums, idle)

    @property
    def idle(self) -> pd.DataFrame:
        """Empty: the gaps of a host's devices are there."""
        return typed_table([], TABLES["idle"].types)

    @property
    def kernel_launches(self) -> pd.DataFrame:
        """Empty, likewise."""
        return typed_table([], TABLES["kernel_launches"].types)

    @property
    def input_ops(self) -> Bool:
        """Which ops ran only within tf.data."""
        return self.merged_ops.is_input

    @cached_property
    def host_facts(self) -> tuple[HostFacts, ...]:
        """What tells of each host what it is for."""
        return merge_host_facts(self.every["hosts"])

    @cached_property
    def hosts(self) -> pd.DataFrame:
        """The `hosts` table, with the path of each host's file (of several files the first)."""
        first = self.every["hosts"].drop_duplicates("host")
        path = {host: self.summaries[i].path for host, i in zip(first["host"], first[OWNER], strict=True)}
        return host_table(self.host_facts, self.steps.frame, [path[one.host] for one in self.host_facts])

    @cached_property
    def communication(self) -> pd.DataFrame:
        """What hosts exchanged; those that train first."""
        return training_first(self.every["communication"].drop(columns=OWNER), not_training(self.host_facts))

    @cached_property
    def memory(self) -> ReducedMemory:
        """Memory by allocator, without its events."""
        return merge_memory(self._host_names, self.every, self.summaries[0].memory_remedy)

    @cached_property
    def memory_by_op(self) -> OpMemory:
        """Bytes by the op that allocated them."""
        return self.memory.by_op

    @cached_property
    def tf_data(self) -> ReducedTfData:
        """tf.data pipelines and iterators, without their calls."""
        return merge_tf_data(self._host_names, self.every)

    @cached_property
    def enqueue_ps(self) -> tuple[int, int]:
        """See `enqueue_times`; of all hosts."""
        return self.sums["enqueue_busy_ps"], self.sums["enqueue_period_ps"]

    @cached_property
    def variables(self) -> pd.DataFrame:
        """The variables of the program."""
        return compute_variables(self)

    @cached_property
    def op_graph(self) -> OpGraph:
        """Ops and edges, with costs over the whole capture."""
        return compute_captured_graph(self, partial(total_costs, self))

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What to change, in the order of `ranked`."""
        return self._found_advice.advice

    @property
    def advice_notices(self) -> tuple[str, ...]:
        """Which rules of the advice failed; also among `notices` from when advice was first asked for."""
        return self._found_advice.notices

    @cached_property
    def _found_advice(self) -> FoundAdvice:
        """What the tables of all hosts tell, and what the rules found on each host."""
        return reduced_advice(self)

    @property
    def notices(self) -> tuple[str, ...]:
        """Whose traces they are, what did not travel, graphs switched off, clocks that disagree, and advice that failed."""
        advice = self._found_advice.notices if "_found_advice" in self.__dict__ else ()
        graphs = GraphsSwitchedOff(**{one.name: self.sums[one.name] for one in fields(GraphsSwitchedOff)}).notice
        told = *framework_notices(self), *left_out(self.summaries, self.sums), graphs, *self.clock_notices, *advice
        return tuple(filter(None, told))

    @property
    def _host_names(self) -> list[str]:
        return [one.host for one in self.summaries]

    @cached_property
    def overview(self) -> Overview:
        """Step time, verdict, environment."""
        known = ref(self)

        def advice() -> tuple[Advice, ...]:
            alive = known()
            return () if alive is None else alive.advice

        return merge_overview(self, advice=advice)


def merge_hosts(summaries: Sequence[HostSummary], *, source_map: SourceMap | None = None) -> ClusterResults:
    """Merge the hosts of one run.

    Args:
        summaries: at least one, in the order in which their files would be read.
        source_map: what the capture noted of the program, which all hosts run.

    Raises:
        TraceError: there is none, or two lie more than 13 days apart.
    """
    if not summaries:
        raise TraceError("There is no host to merge (0 given): give at least one.")
    tables = [one.tables for one in summaries]
    trace, low_step = merge_low_detail([one.trace for one in summaries], [len(one["steps"]) for one in tables])
    sessions = [len(one.trace.sessions) for one in summaries]
    shift_ps = [1000 * (one.trace.origin_ns - trace.origin_ns) if one.trace.origin_ns else 0 for one in summaries]
    every = Stack(tables, sessions, shift_ps)
    return ClusterResults(trace, source_map, summaries=tuple(summaries), every=every, low_step=low_step)
