"""Summaries of hosts -> `ClusterResults`: tables, overview and advice of a run of many hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import ClassVar
from weakref import ref

import numpy as np
import pandas as pd

from ...errors import TraceError
from ...trace.arrays import Bool, Float64, Int64, SmallInt
from ...trace.op_graph import OpGraph
from ...trace.source_map import SourceMap
from ...trace.trace import small_int
from ..advice.card import MEDIUM_GAIN, Advice, Highlight, ranked, severity_of, without_explained
from ..advice.rules import CLUSTER_RULES, FoundAdvice, find_advice
from ..common import PS_PER_NS, hosts_of, percent, plural, sum_by, typed_table
from ..facts import Totals
from ..graph.op_graph import compute_captured_graph, compute_variables
from ..hosts.hosts import Environment, HostFacts, compute_environment, host_table, not_training
from ..hosts.workers import training_first
from ..layers.layers import OpMemory
from ..names import parse_op_names
from ..ops.executions import Units
from ..ops.kernels import KernelTable
from ..ops.ops import HostTotals, OpSums, StepTotals, UnitTotals, ops_table, sums_of_units
from ..ops.other import HloOps
from ..ops.shares import OpShares
from ..overview import Overview, OverviewParts, overview_of
from ..steps.steps import Steps
from ..tables import TABLES
from ..timeline import Counters
from ..verdict import framework_notices, idle_of, op_time_of
from ..xla.programs import GraphsSwitchedOff
from .merged import (
    MergedHlo,
    MergedOps,
    MergedSteps,
    ReducedMemory,
    ReducedTfData,
    merge_copies,
    merge_hlo,
    merge_kernels,
    merge_memory,
    merge_ops,
    merge_steps,
    merge_tf_data,
    total_costs,
)
from .one_host import HostSummary, left_out
from .summaries import OTHER_OPS, OWNER, Stack, as_guide, merge_low_detail, pieces_of, united

MIN_SHARE = MEDIUM_GAIN
"""Of the step time of all hosts. What costs single hosts that much is told where it costs all of them as much, as in a profile
read whole: of a thousand hosts some have anything by chance."""
_MOST_NOTICES = 3
_WITHOUT_EVENTS = ("memory_timeline", "source_view")
"""Views that show of a reduced profile nothing of a moment: not the allocations, nor the lines at which Python was."""
_OF_NAMES = ("op_table", "input_graph")
"""Views in which only what has a name can be selected; of a host with very many ops or pipelines not all travel."""


@dataclass(frozen=True, eq=False, repr=False)
class HostAdvice:
    """What the rules found on one host, and where that is in a reduced profile."""

    host: str
    found: FoundAdvice
    step_time_ms: float
    """Of all steps that averages are over; 0 without any."""
    shift_ps: int
    """By how much its times move."""
    rows: Int64
    """Of each of its steps that travelled the row of `steps`."""


def reduced_advice(results: ClusterResults) -> FoundAdvice:
    """What the tables of all hosts tell, and what the rules that need events found on each; in the order of `ranked`."""
    whole, hosts = find_advice(results, CLUSTER_RULES), merge_advice(_training(results), _known(results))
    told = without_explained((*whole.advice, *hosts.advice))
    return FoundAdvice(ranked(map(_visible, told)), (*whole.notices, *hosts.notices))


def merge_advice(hosts: Sequence[HostAdvice], known: Collection[str]) -> FoundAdvice:
    """Make one advice of each rule, of one on layers for each layer: that of the host where it could win most, or the first such.

    Its `gain_ratio` is the share of the step time of all hosts, see `Advice.gain_ratio`: the mean over the hosts, each weighed
    by the time of its steps, with 0 where the rule found nothing. What could win less than 5 % of that is left out, unless it
    could not win as much on any host either: advice that is not about time.
    """
    by_subject: dict[tuple[str, str], dict[str, tuple[HostAdvice, Advice]]] = {}
    for one in hosts:
        for advice in one.found.advice:  # ranked: of several on one subject the first could win most
            by_subject.setdefault(_subject(advice), {}).setdefault(one.host, (one, advice))
    told = []
    for found in (list(own.values()) for own in by_subject.values()):
        host, worst = max(found, key=lambda one: one[1].gain_ratio)  # of equals the first
        gain = _share_of_all(hosts, found)
        if gain >= MIN_SHARE or worst.gain_ratio < MIN_SHARE:
            told.append(_of_all(_moved(worst, host, known), gain, n_found=len(found), n_all=len(hosts)))
    return FoundAdvice(tuple(told), tuple(_failures(hosts)))


def _subject(one: Advice) -> tuple[str, str]:
    """What is told once of all hosts. They run one program, so that a layer of one is that of all; an input, a function or an
    allocator is each host's own."""
    return one.rule, str(one.evidence.get("layer", ""))


def _training(results: ClusterResults) -> list[HostAdvice]:
    """The hosts whose steps are those of the training."""
    row, others = results.merged_steps.row, not_training(results.host_facts)
    step_ms = results.steps.frame["step_time_ms"].where(results.is_averaged, 0.0).to_numpy()
    of_host = np.split(row, results.every.first_row("steps")[1:-1])
    return [
        HostAdvice(one.host, one.advice, float(step_ms[rows].sum()), shift_ps, rows)
        for one, rows, shift_ps in zip(results.summaries, of_host, results.every.shift_ps.tolist(), strict=True)
        if one.host not in others
    ]


def _known(results: ClusterResults) -> frozenset[str]:
    """Names of ops, of events that the timeline shows, and of iterators."""
    iterators = [name for names in results.tf_data.iterators["event_names"] for name in names]
    return frozenset((*results.ops["name"], *results.trace.strings, *iterators, *parse_op_names(iterators).name))


def _share_of_all(hosts: Sequence[HostAdvice], found: Sequence[tuple[HostAdvice, Advice]]) -> float:
    """Of the step time of all hosts what a fix on those where something was found could win at most."""
    whole_ms = sum(one.step_time_ms for one in hosts)
    if not whole_ms:
        return sum(advice.gain_ratio for _, advice in found) / len(hosts)
    return sum(advice.gain_ratio * one.step_time_ms for one, advice in found) / whole_ms


def _moved(one: Advice, host: HostAdvice, known: Collection[str]) -> Advice:
    """What a host says of itself, with the times, the steps and the names of the reduced profile."""
    at, shift_ns = one.selection, host.shift_ps // PS_PER_NS
    step = int(host.rows[at.step]) if at.step is not None and at.step < len(host.rows) else None
    return replace(
        one,
        selection=Highlight(
            op_names=tuple(name for name in at.op_names if name in known),
            time_range_ns=_shifted(at.time_range_ns, shift_ns),
            step=step,
            view=at.view,
            host=host.host,
        ),
    )


def _shifted(time_range_ns: tuple[int, int] | tuple[()], by_ns: int) -> tuple[int, int] | tuple[()]:
    return (time_range_ns[0] + by_ns, time_range_ns[1] + by_ns) if time_range_ns else ()


def _of_all(one: Advice, gain: float, *, n_found: int, n_all: int) -> Advice:
    """The same, said of all hosts."""
    is_costly = gain > 0
    every = "both hosts" if n_all == 2 else f"all {n_all:,} hosts"
    hosts = every if n_found == n_all else f"{n_found:,} of {n_all:,} hosts"
    where = f"On {hosts}{f' ({percent(gain)} of all step time)' if is_costly else ''}"
    shown = f"shown for {one.selection.host}{', where it costs most' if is_costly and n_found > 1 else ''}"
    evidence: dict[str, float | str] = {
        "host": one.selection.host,
        "host_gain_ratio": one.gain_ratio,
        "n_found": n_found,
        "n_hosts": n_all,
    }
    return replace(
        one,
        title=f"{one.title} {where}; {shown}." if n_all > 1 else one.title,
        severity=severity_of(gain),
        evidence=MappingProxyType({**one.evidence, **evidence}),
        gain_ratio=gain,
    )


def _failures(hosts: Sequence[HostAdvice]) -> Iterator[str]:
    count = Counter(notice for one in hosts for notice in one.found.notices)
    for notice, n in count.most_common(_MOST_NOTICES):
        yield f"{notice} This is so on {n:,} of {plural(len(hosts), 'host')}."
    if len(count) > _MOST_NOTICES:
        more = len(count) - _MOST_NOTICES
        yield f"{more:,} more of {len(count):,} such failures of rules are in the notices of single hosts."


def _visible(one: Advice) -> Advice:
    """The same, with another view where a reduced profile has nothing in the one that shows it best."""
    at = one.selection
    if at.view not in _WITHOUT_EVENTS and (at.view not in _OF_NAMES or at.op_names):
        return one
    return replace(one, selection=replace(at, view="timeline" if at.time_range_ns else "op_table"))


def merge_overview(results: ClusterResults, *, advice: Callable[[], Sequence[Advice]] = tuple) -> Overview:
    """Sum all hosts up, as `compute_overview` does of one trace of all of them."""
    ops = results.merged_ops
    eager = op_time_of(ops.shares, _within(results.is_averaged, results.merged_steps, ops))
    parts = OverviewParts(
        op_time=op_time_of(ops.shares, ops.shares.spread(ops.sums.self_ps)),
        idle=idle_of(results.sums),
        eager={"host": eager.host_eager_ratio, "device": eager.device_eager_ratio},
    )
    return overview_of(results, parts, advice=advice)


def _within(averaged: Bool, merged: MergedSteps, ops: MergedOps) -> Int64 | Float64:
    """Own time of each framework op within the averaged steps; over the whole capture where there are none."""
    kinds = ops.kinds[merged.of_their_kinds(averaged, ops.kinds)] if averaged.any() else ops.kinds
    return ops.shares.spread(sum_by(kinds["unit"].to_numpy(), kinds["self_ps"].to_numpy(), len(ops.sums.count)))


def merge_tf_functions(every: pd.DataFrame) -> pd.DataFrame:
    """Calls of functions of all hosts, those of one name added up."""
    frame = every.drop(columns=OWNER)
    sums = {name: "sum" for name in frame.columns if name.endswith(("_calls", "_time_ms"))}
    found = frame.groupby("function", sort=True, as_index=False).agg(
        {"compiler": _compiler, "tracing_count": "max", **sums}
    )
    found["expensive_ratio"] = found["expensive_time_ms"] / found["self_time_ms"].where(found["self_time_ms"] > 0, 1)
    found = found[list(frame.columns)].astype(frame.dtypes.to_dict())
    return found.sort_values("expensive_time_ms", ascending=False, kind="stable").reset_index(drop=True)


def _compiler(kinds: pd.Series[str]) -> str:
    found = {kind for kind in kinds.tolist() if kind}
    return "mixed" if len(found) > 1 else "".join(found)


def merge_host_facts(every: pd.DataFrame) -> tuple[HostFacts, ...]:
    """The facts of all hosts; of a host with several files what any of them tells."""
    any_of = dict.fromkeys(("has_accelerator", "is_served"), "any")
    found, _ = united(every, ["host"], {"task": "first", **any_of, "serving_ratio": "max", "n_events": "sum"})
    return tuple(HostFacts(*row) for row in found[[one.name for one in fields(HostFacts)]].itertuples(index=False))


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
        is_op = np.array([self.op_shares.type[i] != OTHER_OPS for i in top["op"]], np.bool_)
        return top[is_op].reset_index(drop=True)

    @cached_property
    def step_ops(self) -> pd.DataFrame:
        """The same, likewise."""
        ops = super().step_ops
        return ops[ops["type"] != OTHER_OPS].reset_index(drop=True)

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
    """Merge the hosts of one run."""
    if not summaries:
        raise TraceError("There is no host to merge (0 given): give at least one.")
    tables = [one.tables for one in summaries]
    trace, low_step = merge_low_detail([one.trace for one in summaries], [len(one["steps"]) for one in tables])
    sessions = [len(one.trace.sessions) for one in summaries]
    shift_ps = [1000 * (one.trace.origin_ns - trace.origin_ns) if one.trace.origin_ns else 0 for one in summaries]
    every = Stack(tables, sessions, shift_ps)
    return ClusterResults(trace, source_map, summaries=tuple(summaries), every=every, low_step=low_step)
