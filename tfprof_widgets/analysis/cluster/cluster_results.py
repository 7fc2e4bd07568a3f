"""Summaries of hosts -> `ClusterResults`: the results of all of them, as far as they go without events.

merge_hosts(summaries) -> ClusterResults
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar
from weakref import ref

import numpy as np
import pandas as pd

from ...errors import TraceError
from ...trace.op_graph import OpGraph
from ...trace.source_map import SourceMap
from ...trace.trace import SmallInt
from ..advice.advice import Advice
from ..advice.engine import FoundAdvice
from ..base.hosts import hosts_of
from ..base.matching import sum_by
from ..facts.totals import Totals
from ..hosts.communication import training_first
from ..hosts.environment import Environment
from ..hosts.host_table import host_table
from ..hosts.roles import HostFacts, not_training
from ..layers.layer_memory import OpMemory
from ..layers.op_scopes import OpScopes, op_scopes
from ..ops.hlo_ops import HloOps
from ..ops.host_totals import HostTotals
from ..ops.kernels import KernelTable
from ..ops.op_occurrences import Units
from ..ops.op_shares import OpShares
from ..ops.ops import OpSums, ops_table, sums_of_units
from ..ops.unit_totals import UnitTotals
from ..overview.overview import Overview
from ..steps.steps import Steps
from ..timeline.counters import Counters
from ..tree.captured_graph import compute_captured_graph
from ..tree.variables import compute_variables
from .columns import stacked
from .host_summary import HostSummary
from .left_out import left_out
from .merged_advice import reduced_advice
from .merged_clock import Clock, common_clock
from .merged_costs import total_costs
from .merged_hlo import MergedHlo, merge_hlo
from .merged_hosts import merge_host_facts
from .merged_input import ReducedTfData, merge_tf_data
from .merged_kernels import merge_kernels
from .merged_memory import ReducedMemory, merge_memory
from .merged_ops import MergedOps, merge_ops
from .merged_overview import merge_environment, merge_overview, merge_tf_functions
from .merged_steps import MergedSteps, merge_steps
from .merged_trace import merge_low_detail


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
    clock: Clock = field(kw_only=True, repr=False)
    merged_steps: MergedSteps = field(kw_only=True, repr=False)
    low_event_step: SmallInt = field(kw_only=True, repr=False)
    """For each event of `trace` the row of its step."""

    @cached_property
    def steps(self) -> Steps:
        """The steps of all hosts; their pieces are in outline, the categories of each step are exact."""
        return Steps(
            frame=self.merged_steps.frame,
            pieces=self.merged_steps.pieces,
            event_step=self.low_event_step,
            compute_16bit_ps=sum(one.steps.compute_16bit_ps for one in self.summaries),
            compute_32bit_ps=sum(one.steps.compute_32bit_ps for one in self.summaries),
        )

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the hosts noted; where they differ, what the first of them did."""
        return {name: value for one in reversed(self.summaries) for name, value in one.facts.items()}

    @cached_property
    def environment(self) -> Environment:
        """Where the hosts were recorded."""
        return merge_environment(self.trace, self.noted, self.summaries)

    @cached_property
    def tf_functions(self) -> pd.DataFrame:
        """What calls of `tf.function`s cost on all hosts."""
        return merge_tf_functions([one.tf_functions for one in self.summaries])

    @cached_property
    def merged_ops(self) -> MergedOps:
        """The ops of all hosts, and of each."""
        return merge_ops([one.ops for one in self.summaries], self.merged_steps.kind_offsets, self.merged_hlo)

    @cached_property
    def merged_hlo(self) -> MergedHlo:
        """The HLO ops of all hosts."""
        return merge_hlo([one.hlo_ops for one in self.summaries])

    @cached_property
    def hlo_ops(self) -> HloOps:
        """Ops of XLA programs."""
        return self.merged_hlo.table(self.merged_ops.n_ordinary)

    @cached_property
    def kernels(self) -> KernelTable:
        """Code that ran on device streams."""
        return merge_kernels([one.kernels for one in self.summaries])

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
        return UnitTotals(
            unit=unit,
            count=sums.count[unit],
            total_ps=sums.total_ps[unit].astype(np.int64),
            self_ps=sums.self_ps[unit].astype(np.int64),
        )

    @cached_property
    def idle_ps(self) -> tuple[int, int]:
        """Time in which host threads and devices ran no op, each summed."""
        host, device = (sum(one.ops.idle_ps.get(side, 0) for one in self.summaries) for side in ("Host", "Device"))
        return host, device

    @cached_property
    def host_totals(self) -> HostTotals:
        """Executions and time of each unit, host by host."""
        ops, hosts = self.merged_ops, hosts_of(self.trace)
        number = {name: i for i, name in enumerate(hosts)}
        place = np.array([number[one.planes[0].host] if one.planes else 0 for one in self.summaries], np.int64)
        key, entry = np.unique(place[ops.host] * len(ops.sums.count) + ops.unit, return_inverse=True)
        columns = (sum_by(entry.reshape(-1), column, len(key)) for column in (ops.count, ops.total_ps, ops.self_ps))
        return HostTotals(hosts, *np.divmod(key, max(len(ops.sums.count), 1)), *columns)

    @cached_property
    def op_sums(self) -> OpSums:
        """What each framework op sums up to on all hosts."""
        return sums_of_units(self.merged_ops.sums, self.op_shares)

    @cached_property
    def ops_and_idle(self) -> pd.DataFrame:
        """The same with idle time."""
        sides = {side for one in self.summaries for side in one.ops.idle_ps}
        host, device = self.idle_ps
        idle = {side: ps for side, ps in (("Device", device), ("Host", host)) if side in sides}
        return ops_table(self.op_shares, self.op_sums, idle)

    @cached_property
    def op_scopes(self) -> OpScopes:
        """Name scope and role of each op."""
        layers = self.source_map.layers if self.source_map is not None else None
        optimizers = frozenset(layers["name"][layers["layer"] == ""]) if layers is not None else frozenset()
        shares = self.op_shares
        return op_scopes(shares.name, shares.type, is_input=self.merged_ops.is_input, optimizers=optimizers)

    @cached_property
    def host_facts(self) -> tuple[HostFacts, ...]:
        """What tells of each host what it is for."""
        return merge_host_facts(self.summaries)

    @cached_property
    def hosts(self) -> pd.DataFrame:
        """The `hosts` table, with the path of each host's file (of several files the first)."""
        path = {facts.host: one.path for one in reversed(self.summaries) for facts in one.host_facts}
        return host_table(self.host_facts, self.steps.frame, [path[one.host] for one in self.host_facts])

    @cached_property
    def communication(self) -> pd.DataFrame:
        """What hosts exchanged; those that train first."""
        exchanges = stacked([one.communication for one in self.summaries])
        return training_first(exchanges, not_training(self.host_facts))

    @cached_property
    def memory(self) -> ReducedMemory:
        """Memory by allocator, without its events."""
        return merge_memory(self._host_names, [one.memory for one in self.summaries], self.clock.shift_ps)

    @cached_property
    def memory_by_op(self) -> OpMemory:
        """Bytes by the op that allocated them."""
        return self.memory.by_op

    @cached_property
    def tf_data(self) -> ReducedTfData:
        """tf.data pipelines and iterators, without their calls."""
        return merge_tf_data(self._host_names, [one.input for one in self.summaries], self.clock.shift_ps)

    @cached_property
    def enqueue_ps(self) -> tuple[int, int]:
        """See `enqueue_times`; of all hosts."""
        busy, period = (sum(one.input.enqueue_ps[i] for one in self.summaries) for i in (0, 1))
        return busy, period

    @cached_property
    def variables(self) -> pd.DataFrame:
        """The variables of the program."""
        return compute_variables(self)

    @cached_property
    def op_graph(self) -> OpGraph:
        """Ops and edges, with costs over the whole capture."""
        return compute_captured_graph(self, partial(total_costs, self)).graph

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
        """What of the hosts did not travel, clocks that disagree, and which rules of the advice failed."""
        found = self.__dict__.get("_found_advice")
        return (*left_out(self.summaries), *self.clock_notices, *(() if found is None else found.notices))

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
    clock = common_clock(summaries)
    steps = merge_steps(summaries, clock.shift_ps)
    low = merge_low_detail(summaries, clock, steps)
    return ClusterResults(
        low.trace,
        source_map,
        summaries=tuple(summaries),
        clock=clock,
        merged_steps=steps,
        low_event_step=low.event_step,
    )
