"""Executions -> the `ops` table, and sums by op, unit, host and step, of the whole trace or a part."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...read.hlo_messages import Frames
from ...trace.arrays import Bool, Float64, Int32, Int64, UInt8
from ...trace.trace import Trace
from ..common import PS_PER_MS, PS_PER_NS, PS_PER_US, host_of_plane, sum_by, table_of_arrays
from ..grouping import N_UNITS, on_tensor_cores, time_by_unit, unit_ratios
from ..summaries import MOST, OTHER_OPS, OWNER, travels, united
from ..table import table
from ..xla.units import HloUnits
from .executions import Occurrences, Units, op_occurrences
from .shares import OpShares, dominant_ops

OPS = table(
    """
    ops: an op, those of devices before those of the host, most self time first
        rank                    int    the row, from 1
        device                  text   the side it ran on, `Device` or `Host`
        type                    text   such as `MatMul`
        name                    text   of the op in its graph, or its type where it was run eagerly
        *self_times
        eager                   bool   whether it was run eagerly, outside of any function
        flop_rate_gflops        float  arithmetic over total time; NaN where nothing is known
        memory_bandwidth_gibps  float  bytes accessed over total time; NaN where nothing is known
        tensor_core_ratio       float  part of its kernel time on Tensor Cores; NaN where nothing is known
        *units

    Times are microseconds over the whole capture; self time is without the ops that ran inside. Idle time has no
    row, and op types none: `select().op_statistics(by="type", idle=True)` has both. Empty where no op ran.
    """,
    file="ops",
)

travels("ops", lambda facts: _op_rows(facts.op_shares, facts.travelling_units, facts.op_scopes.is_input))
travels(
    "units",
    lambda facts: _unit_sums(facts.occurrences, facts.travelling_units),
    n_all=lambda facts: facts.travelling_units.n_all,
    most="units",
    did="ran more ops",
    told=f"the {{}} that took most time are listed, the time of the others is in the row {OTHER_OPS!r}",
    refers={"op": "ops", "hlo": "hlo_ops"},
)
travels("pairs", lambda facts: _pairs(facts.op_shares, facts.travelling_units), refers={"hlo": "hlo_ops", "op": "ops"})
travels(
    "kinds",
    lambda facts: _kind_sums(
        facts.occurrences, facts.travelling_units, np.append(facts.steps.kind, -1)[facts.steps.event_step]
    ),
    refers={"unit": "units"},
)

OP_TYPES = table("""
    select().op_statistics(by="type"): an op type, those of devices before those of the host, most self time first
        rank    int   the row, from 1
        device  text  the side it ran on, `Device` or `Host`
        type    text  such as `MatMul`
        n_ops   int   how many ops of the type ran
        *self_times
""")


__all__ = ["IDLE", "OPS_COLUMNS", "Occurrences", "aggregate_ops", "by_type", "op_occurrences"]

OPS_COLUMNS = OPS.names
_Columns = dict[str, npt.NDArray[Any]]
IDLE = "IDLE"
"""Type and name of the row that stands for the time in which a thread or device ran no op."""


def aggregate_ops(occurrences: Occurrences, *, shares: OpShares | None = None, idle: bool = False) -> pd.DataFrame:
    """Facts per framework op, those that cost most of their own time first. Differs from XProf: no cut at 500 ops (D7)."""
    sums = op_sums(occurrences, shares)
    return ops_table(occurrences if shares is None else shares, sums, idle_by_side(occurrences) if idle else None)


@dataclass(frozen=True, eq=False, repr=False)
class OpSums:
    """Executions and times per unit or framework op; whole picoseconds for units, shares of such for framework ops."""

    is_device: Bool
    count: Int64
    n_done: Float64
    """Executions, of those that a range cuts the part within it."""
    total_ps: Int64 | Float64
    self_ps: Int64 | Float64
    unit_ns: Float64
    """Time of kernels by `ComputeUnit`, of each in whole nanoseconds."""
    flops: Float64 | None = None
    """Of all executions together, NaN where unknown; None where all are unknown."""
    n_bytes: Float64 | None = None

    @cached_property
    def self_us(self) -> Float64:
        return np.asarray(self.self_ps / PS_PER_US, np.float64)

    @cached_property
    def unit_us(self) -> Float64:
        return self.unit_ns * PS_PER_NS / PS_PER_US


def op_sums(occurrences: Occurrences, shares: OpShares | None = None) -> OpSums:
    """What `aggregate_ops` makes its table of, in the order of the framework ops, without shares in that of the units."""
    n_units = len(occurrences.name)
    op, ran = _executions(occurrences)
    whole_ps = occurrences.duration_ps if occurrences.whole_ps is None else occurrences.whole_ps
    inside, whole = (_sums(occurrences.execution, ps, len(op)) for ps in (occurrences.duration_ps, whole_ps))
    units = OpSums(
        is_device=occurrences.is_device,
        count=counts_of(occurrences),
        n_done=_sums(op, np.divide(inside, whole, out=ran.astype(np.float64), where=whole > 0), len(occurrences.name)),
        total_ps=sum_by(occurrences.op, occurrences.duration_ps, n_units),
        self_ps=sum_by(occurrences.op, occurrences.self_ps, n_units),
        # Of each kernel in whole nanoseconds, as in XProf (semantics 6.2).
        unit_ns=time_by_unit(occurrences.op, occurrences.kernel_unit, occurrences.duration_ps // 1000, n_units),
    )
    return units if shares is None else sums_of_units(units, shares)


def sums_of_units(units: OpSums, shares: OpShares) -> OpSums:
    """Sums of framework ops from those of the units that stand for them."""
    if shares.is_identity:
        return units
    executed = units.count > 0

    def known(per_execution: Float64) -> Float64:
        is_known = executed & ~np.isnan(per_execution)
        total = shares.spread(np.where(is_known, per_execution * units.n_done, 0.0))
        return np.where(shares.largest(is_known), total, np.nan)

    return OpSums(
        is_device=shares.is_device,
        count=shares.largest(units.count),
        n_done=np.asarray(shares.spread(units.n_done)),
        total_ps=shares.spread(units.total_ps),
        self_ps=shares.spread(units.self_ps),
        unit_ns=np.asarray(shares.spread(units.unit_ns)),
        flops=known(shares.flops),
        n_bytes=known(shares.bytes_accessed),
    )


def ops_table(ops: Occurrences | OpShares, sums: OpSums, idle_ps: Mapping[str, int] | None = None) -> pd.DataFrame:
    return _finish(_with_idle(_columns(ops, sums), idle_ps or {}))


def _columns(ops: Occurrences | OpShares, totals: OpSums) -> _Columns:
    """Those of the table that sums tell, of the ops that ran."""
    ran = np.flatnonzero(totals.count > 0)
    columns = {
        "device": np.where(ops.is_device, "Device", "Host"),
        "type": np.array(list(ops.type), np.object_),
        "name": np.array(list(ops.name), np.object_),
        "occurrences": totals.count,
        "total_ps": totals.total_ps,
        "self_ps": totals.self_ps,
        "eager": ops.is_eager,
        **rates_of(totals),
        **unit_ratios(totals.unit_ns),
    }
    return {name: column[ran] for name, column in columns.items()}


def _with_idle(columns: _Columns, idle_ps: Mapping[str, int]) -> _Columns:
    """The same and behind them for each side its row `IDLE`."""
    if not idle_ps:
        return columns
    n, time_ps = len(idle_ps), np.array(list(idle_ps.values()), np.int64)
    idle = {
        "device": np.array(list(idle_ps)),
        **{name: np.array([IDLE] * n, np.object_) for name in ("type", "name")},
        "occurrences": np.zeros(n, np.int64),
        "total_ps": time_ps,
        "self_ps": time_ps,
        "eager": np.zeros(n, np.bool_),
    }
    return {name: np.append(column, idle.get(name, np.full(n, np.nan))) for name, column in columns.items()}


def rates_of(totals: OpSums) -> dict[str, Float64]:
    """The columns of rates of each op, NaN where nothing is known."""
    unknown = np.full(len(totals.count), np.nan)
    seconds = np.where(totals.total_ps > 0, totals.total_ps / 1e12, np.nan)
    flops, n_bytes = (unknown if one is None else one for one in (totals.flops, totals.n_bytes))
    return {
        "flop_rate_gflops": flops / seconds / 1e9,
        "memory_bandwidth_gibps": n_bytes / seconds / 2**30,
        "tensor_core_ratio": totals.unit_ns[:, on_tensor_cores(np.arange(N_UNITS))].sum(axis=1)
        / np.where(totals.unit_ns.any(axis=1), totals.unit_ns.sum(axis=1), np.nan),
    }


def _sums(row: Int32, value: Int64 | Float64, n: int) -> Float64:
    return np.asarray(np.bincount(row, weights=value, minlength=n), np.float64)


def counts_of(occurrences: Occurrences) -> Int64:
    """Executions per op of which a part counts (semantics 4.2.5)."""
    op, ran = _executions(occurrences)
    return np.bincount(op[ran], minlength=len(occurrences.name)).astype(np.int64)


def _executions(occurrences: Occurrences) -> tuple[Int32, Bool]:
    """By number of execution the op, 0 for a number not given, and whether a part of it counts."""
    op = np.zeros(int(occurrences.execution.max(initial=-1)) + 1, np.int32)
    op[occurrences.execution] = occurrences.op
    ran = np.zeros(len(op), np.bool_)
    counted = occurrences.is_counted
    ran[occurrences.execution if counted is None else occurrences.execution[counted]] = True
    return op, ran


def idle_by_side(occurrences: Occurrences) -> dict[str, int]:
    """For how long threads (`Host`) and devices (`Device`) ran no op between their first and last event."""
    first, last = occurrences.lane_first_ps, occurrences.lane_last_ps
    idle = np.maximum(last - first - sum_by(occurrences.lane, occurrences.self_ps, len(first)), 0)
    sides = {side: (occurrences.lane_is_device == (side == "Device")) & (first <= last) for side in ("Device", "Host")}
    return {side: int(idle[chosen].sum()) for side, chosen in sides.items() if chosen.any()}


def _finish(columns: _Columns) -> pd.DataFrame:
    order = _order(columns)
    columns = {name: column[order] for name, column in columns.items()}
    count = columns["occurrences"]
    total_us, self_us = (columns[name] / PS_PER_US for name in ("total_ps", "self_ps"))
    columns |= {
        "total_time_us": total_us,
        "avg_time_us": np.where(count > 0, total_us / np.maximum(count, 1), 0.0),
        "total_self_time_us": self_us,
        "avg_self_time_us": np.where(count > 0, self_us / np.maximum(count, 1), 0.0),
        **_ranks(columns["device"] == "Device", columns["self_ps"]),
    }
    return table_of_arrays({name: columns[name] for name in OPS_COLUMNS})


def _order(columns: _Columns) -> Int64:
    """Rows by device, then self time falling, then name."""
    side = (columns["device"] == "Host").astype(np.int64)
    own_ps = columns["self_ps"]  # sums of damaged times may be beyond what whole numbers hold
    order = np.lexsort((-own_ps, side))
    is_same = (np.diff(side[order]) == 0) & (np.diff(own_ps[order]) == 0)
    tied = order[np.append(is_same, False) | np.append(False, is_same)[: len(order)]]
    rank = np.zeros(len(side), np.int64)
    by_name = sorted(range(len(tied)), key=columns["name"][tied].tolist().__getitem__)  # few, but for times of 0
    rank[tied[by_name]] = np.arange(len(tied))
    return np.lexsort((rank, -own_ps, side))


def ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `rank` in the order of the rows, and `self_time_ratio` and `cumulative_ratio` of the `self_ps` of their `device`."""
    return frame.assign(**_ranks((frame["device"] == "Device").to_numpy(np.bool_), frame["self_ps"].to_numpy()))


def _ranks(on_device: Bool, own: Int64 | Float64) -> _Columns:
    whole, reached = np.zeros_like(own), np.zeros_like(own)
    for side in (on_device, ~on_device):
        whole[side], reached[side] = own[side].sum(), own[side].cumsum()
    ratio, cumulative = (np.divide(one, whole, out=np.zeros(len(own)), where=whole > 0) for one in (own, reached))
    return {"rank": np.arange(1, len(own) + 1), "self_time_ratio": ratio, "cumulative_ratio": cumulative}


def by_type(ops: pd.DataFrame) -> pd.DataFrame:
    sums = {name: (name, "sum") for name in ("occurrences", "total_time_us", "total_self_time_us", "self_time_ratio")}
    frame = ops.groupby(["device", "type"], as_index=False, sort=False).agg(n_ops=("name", "size"), **sums)
    frame = frame.sort_values(
        ["device", "total_self_time_us", "type"], ascending=[True, False, True], kind="stable", ignore_index=True
    )
    executed = frame["occurrences"].where(frame["occurrences"] > 0)
    frame["avg_time_us"] = (frame["total_time_us"] / executed).fillna(0.0)
    frame["avg_self_time_us"] = (frame["total_self_time_us"] / executed).fillna(0.0)
    frame["cumulative_ratio"] = frame.groupby("device", sort=False)["self_time_ratio"].cumsum()
    frame["rank"] = np.arange(1, len(frame) + 1)
    return frame[["n_ops" if name == "name" else name for name in OPS_COLUMNS[: OPS_COLUMNS.index("eager")]]]


def side_table(
    entries: pd.DataFrame, op_entry: Int32, op_phase: UInt8, phases: Sequence[str], sums: OpSums
) -> tuple[dict[str, npt.NDArray[Any]], Int64]:
    """What ops are charged to, side by side: all entries for devices, then all for hosts; and for each op its row."""
    n = len(entries)
    row = np.where(sums.is_device, 0, n) + op_entry
    own_us = [np.where(op_phase == code, sums.self_us, 0.0) for code in range(len(phases))]
    # Of no rows at all a count is whole numbers, whatever its weights.
    time_us = np.array([np.bincount(row, one, minlength=2 * n) for one in own_us], np.float64)
    whole_us = time_us.sum(axis=0)
    of_side = np.repeat([math.fsum(whole_us[:n]), math.fsum(whole_us[n:])], n)
    columns = {
        **{str(name): np.tile(column.to_numpy(), 2) for name, column in entries.items()},
        "device": np.repeat(["Device", "Host"], n),
        **{f"{phase}_time_us": one for phase, one in zip(phases, time_us, strict=True)},
        "self_time_us": whole_us,
        "self_time_ratio": np.divide(whole_us, of_side, out=np.zeros(2 * n), where=of_side > 0),
        "occurrences": np.bincount(row, sums.count, minlength=2 * n).astype(np.int64),
    }
    return columns, row.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class UnitSums:
    """Executions and time by host and unit: an entry for each that ran there, by host, then unit."""

    host: Int64
    """Index into `hosts_of`."""
    unit: Int64
    """Row of the table of units."""
    count: Int64
    total_ps: Int64
    self_ps: Int64

    def of_host(self, host: int) -> UnitSums:
        rows = slice(*np.searchsorted(self.host, [host, host + 1]))
        return UnitSums(*(getattr(self, one.name)[rows] for one in fields(self)))

    def on_all_hosts(self) -> UnitSums:
        """An entry for each unit that ran; its host is 0."""
        sums = self.by_unit(int(self.unit.max(initial=-1)) + 1)
        unit = np.flatnonzero(sums[0])
        return UnitSums(np.zeros(len(unit), np.int64), unit, *(values[unit] for values in sums))

    def of_units(self, is_device: Bool) -> OpSums:
        """The same per unit, without kernels."""
        count, total, own = self.by_unit(len(is_device))
        nothing = np.zeros((len(is_device), N_UNITS))
        return OpSums(is_device, count, count.astype(np.float64), total, own, nothing)

    def by_unit(self, n_units: int) -> tuple[Int64, Int64, Int64]:
        count, total, own = (sum_by(self.unit, values, n_units) for values in (self.count, self.total_ps, self.self_ps))
        return count, total, own


def unit_sums(trace: Trace, occurrences: Occurrences, rows: Int64 | slice = slice(None)) -> UnitSums:
    """Add up executions, all or some, on each host; of an execution that has some of its rows among them, those."""
    n_units = max(len(occurrences.name), 1)
    of_plane = host_of_plane(trace)
    of_line = np.array([of_plane[line.plane] for line in trace.lines], np.int64)
    key = (of_line[occurrences.line] * len(occurrences.name) + occurrences.op)[rows]
    n = int(key.max(initial=-1)) + 1  # an entry per host and unit, ran or not: few beside executions
    of_execution = np.full(int(occurrences.execution.max(initial=-1)) + 1, -1, np.int64)
    of_execution[occurrences.execution[rows]] = key
    count = np.bincount(of_execution[of_execution >= 0], minlength=n).astype(np.int64)
    found = np.flatnonzero(count)
    total, own = (sum_by(key, ps[rows], n)[found] for ps in (occurrences.duration_ps, occurrences.self_ps))
    return UnitSums(found // n_units, found % n_units, count[found], total, own)


def step_ops(shares: OpShares, inside: UnitSums, n_steps: int) -> pd.DataFrame:
    """The ops that ran in the averaged steps, but for those that only wait for data."""
    n_executed, _, own_ps = inside.by_unit(len(shares.dominant))
    own, count = np.asarray(shares.spread(own_ps), np.float64), shares.largest(n_executed)
    rows = np.flatnonzero((count > 0) & ~shares.only_waits)
    rows = rows[np.lexsort((-own[rows], ~shares.is_device[rows]))]
    on_device = shares.is_device[rows]
    whole = np.array([own[rows[~on_device]].sum(), own[rows[on_device]].sum()])[on_device.astype(np.int64)]
    return table_of_arrays(
        {
            "device": np.where(on_device, "Device", "Host").astype(np.object_),
            "type": np.array([shares.type[row] for row in rows.tolist()], np.object_),
            "name": np.array([shares.name[row] for row in rows.tolist()], np.object_),
            "occurrences": count[rows] / n_steps,
            "self_time_ms": own[rows] / PS_PER_MS / n_steps,
            "self_time_ratio": np.divide(own[rows], whole, out=np.zeros(len(rows)), where=whole > 0),
        }
    )


SUMS = ("count", "n_done", "total_ps", "self_ps")
"""What is added up of each unit, see `OpSums`."""
UNIT_NS = tuple(f"unit_{unit}_ns" for unit in range(N_UNITS))
"""Likewise, the columns of `OpSums.unit_ns`."""


@dataclass(frozen=True)
class TravellingUnits:
    """Which units travel, and where they go."""

    n_all: int
    ordinary: Int64
    """Units that are ordinary ops, ascending."""
    others: tuple[bool, ...]
    """For each entry `OTHERS`, which follow the ordinary ops, whether it is of devices."""
    hlo: Int64
    """Units that are HLO ops, ascending."""
    place: Int64
    """For each unit its number in the summary, -1 for one that did not run."""
    compiled: Int64
    """Ops that only those HLO ops stand for, ascending."""

    @property
    def n_ordinary(self) -> int:
        return len(self.ordinary) + len(self.others)


def travelling_units(occurrences: Occurrences, shares: OpShares) -> TravellingUnits:
    """Choose the units with the most time of their own, and those ordinary ops that chosen HLO ops stand for, too."""
    n_units, n_ops = len(occurrences.name), occurrences.n_ops
    ran = np.unique(occurrences.op).astype(np.int64)
    is_kept = np.zeros(n_units, np.bool_)
    is_kept[ran] = True
    if len(ran) > MOST.units:
        own = sum_by(occurrences.op, occurrences.self_ps, n_units)
        is_kept[ran[np.argsort(-own[ran], kind="stable")[MOST.units :]]] = False
        paired = shares.op[is_kept[shares.unit] & (shares.unit >= n_ops)]
        is_kept[paired[paired < n_ops]] = True
    others = (True, False) if not is_kept[ran].all() else ()
    ordinary, hlo = np.flatnonzero(is_kept[:n_ops]), n_ops + np.flatnonzero(is_kept[n_ops:])
    place = np.full(n_units, -1, np.int64)
    place[ran] = len(ordinary) + np.where(occurrences.is_device[ran], 0, 1)
    place[ordinary] = np.arange(len(ordinary))
    place[hlo] = len(ordinary) + len(others) + np.arange(len(hlo))
    compiled = np.unique(shares.op[np.isin(shares.unit, hlo) & (shares.op >= n_ops)]).astype(np.int64)
    return TravellingUnits(len(ran), ordinary, others, hlo, place, compiled)


def _unit_sums(occurrences: Occurrences, units: TravellingUnits) -> pd.DataFrame:
    """Of each unit that travels what its executions add up to."""
    n, sums = units.n_ordinary, op_sums(occurrences)
    added = pd.DataFrame({name: getattr(sums, name) for name in SUMS}).assign(place=units.place)
    added[list(UNIT_NS)] = sums.unit_ns
    every = np.arange(n + len(units.hlo))
    added = added[units.place >= 0].groupby("place").sum().reindex(every, fill_value=0)
    return added.assign(op=np.where(every < n, every, -1), hlo=np.maximum(every - n, -1))


def _pairs(shares: OpShares, units: TravellingUnits) -> pd.DataFrame:
    """Which ops each HLO op that travels stands for."""
    place, chosen = np.full(len(shares), -1, np.int64), np.isin(shares.unit, units.hlo)
    place[units.ordinary] = np.arange(len(units.ordinary))
    place[units.compiled] = units.n_ordinary + np.arange(len(units.compiled))
    hlo = units.place[shares.unit[chosen]] - units.n_ordinary
    return pd.DataFrame({"hlo": hlo, "op": place[shares.op[chosen]], "ratio": shares.ratio[chosen]})


def _kind_sums(occurrences: Occurrences, units: TravellingUnits, step_kind: Int64) -> pd.DataFrame:
    """What each unit adds up to by kind of step; `step_kind` is that of the step of each event."""
    own = pd.DataFrame(
        {
            "unit": units.place[occurrences.op],
            "kind": step_kind[occurrences.event],
            "total_ps": occurrences.duration_ps,
            "self_ps": occurrences.self_ps,
            "count": occurrences.is_first.astype(np.int64),
        }
    )
    return own.groupby(["unit", "kind"], as_index=False).sum()


def _op_rows(shares: OpShares, units: TravellingUnits, is_input: Bool) -> pd.DataFrame:
    """The ordinary ops that travel, `OTHERS`, and what chosen HLO ops stand for."""
    listed = np.concatenate([units.ordinary, np.full(len(units.others), -1), units.compiled])
    every = {
        "name": [*shares.name, OTHER_OPS],
        "type": [*shares.type, OTHER_OPS],
        "is_device": np.append(shares.is_device, False),
        "is_eager": np.append(shares.is_eager, False),
        "is_input": np.append(is_input, False),
        "source_file": [*shares.source_file, ""],
        "source_line": np.append(shares.source_line, -1),
    }
    texts = dict.fromkeys(("name", "type", "source_file"), object)
    frame = pd.DataFrame(every).astype(texts).iloc[listed]
    is_device = frame["is_device"].to_numpy(np.bool_, copy=True)
    is_device[len(units.ordinary) : units.n_ordinary] = units.others
    return frame.assign(is_device=is_device, is_ordinary=np.arange(len(listed)) < units.n_ordinary)


@dataclass(frozen=True, eq=False, repr=False)
class MergedOps:
    """The units of all hosts and what they stand for, numbered as those of one trace: ordinary ops, then HLO ops."""

    n_ordinary: int
    shares: OpShares
    is_input: Bool
    sums: OpSums
    """For each unit, of all hosts."""
    units: pd.DataFrame
    """One row per unit of a host: the host's number, `owner`, the unit, and its sums there."""
    kinds: pd.DataFrame
    """One row per unit and kind of step of a host in which it ran: `owner`, `kind`, `unit`, its own time and executions."""

    def all_units(self, hlo: HloUnits) -> Units:
        """The table of units: the ordinary ops of all hosts, then their HLO ops."""
        ops, n = self.shares, self.n_ordinary
        return Units(
            name=ops.name[:n] + hlo.name,
            type=ops.type[:n] + hlo.category,
            is_device=np.append(ops.is_device[:n], hlo.is_device),
            is_eager=np.append(ops.is_eager[:n], np.zeros(len(hlo), np.bool_)),
            hlo=hlo,
        )

    def of_hosts(self, numbers: Int64, owned: pd.DataFrame | None = None) -> UnitSums:
        """Sums host by host, over the whole capture or of some rows of `kinds`; `numbers` are the hosts of the owners."""
        rows = self.units if owned is None else owned
        own = rows.assign(host=numbers[rows[OWNER]])
        sums = own.groupby(["host", "unit"], as_index=False)[["count", "total_ps", "self_ps"]].sum()
        return UnitSums(*(sums[name].to_numpy() for name in sums))


def merge_ops(every: Mapping[str, pd.DataFrame], hlo: pd.DataFrame, hlo_row: Int64) -> MergedOps:
    """Unite ops of one side and name; `hlo` are the united HLO ops, of which each of a host has the row `hlo_row`."""
    ops = every["ops"]
    is_ordinary = ops["is_ordinary"].to_numpy(np.bool_)
    order = np.argsort(~is_ordinary, kind="stable")  # ordinary ops of any host come first
    table, own = _united(ops.iloc[order])
    number = np.full(len(ops) + 1, -1, np.int64)
    number[order] = own
    n = int(number[:-1][is_ordinary].max(initial=-1)) + 1
    unit_of_hlo = np.append(n + hlo_row, -1)
    units = every["units"]
    op = units["op"].to_numpy()
    units = units.assign(unit=np.where(op >= 0, number[op], unit_of_hlo[units["hlo"]]))
    pairs, kinds = every["pairs"], every["kinds"]
    sums = units.groupby("unit")[[*SUMS, *UNIT_NS]].sum().reindex(np.arange(n + len(hlo)), fill_value=0)
    return MergedOps(
        n_ordinary=n,
        shares=_shares(table, n, hlo, pairs.assign(unit=unit_of_hlo[pairs["hlo"]], op=number[pairs["op"]])),
        is_input=table["is_input"].to_numpy(np.bool_),
        sums=OpSums(
            is_device=np.append(table["is_device"].to_numpy(np.bool_)[:n], hlo["device"] == "Device"),
            **{name: sums[name].to_numpy() for name in SUMS},
            unit_ns=sums[list(UNIT_NS)].to_numpy(),
        ),
        units=units,
        kinds=kinds.assign(unit=units["unit"].to_numpy()[kinds["unit"]]),
    )


def _united(ops: pd.DataFrame) -> tuple[pd.DataFrame, Int64]:
    """The table of framework ops in order of appearance, and the row of each op, described by the first host that ran it."""
    # As in one trace: any eager execution on a CPU makes an op eager, on a device the first one tells.
    ops = ops.assign(is_eager_on_host=ops["is_eager"] & ~ops["is_device"])
    ops["source"] = [
        (file, line) if file else "" for file, line in zip(ops["source_file"], ops["source_line"], strict=True)
    ]
    told = dict.fromkeys(("type", "is_eager", "source"), "first")
    table, own = united(ops, ["is_device", "name"], {**told, "is_eager_on_host": "any", "is_input": "all"})
    return table.assign(is_eager=table["is_eager"] | table["is_eager_on_host"]), own


def _shares(table: pd.DataFrame, n_ordinary: int, hlo: pd.DataFrame, pairs: pd.DataFrame) -> OpShares:
    """The table, with who stands for whom: of an HLO op that several hosts ran, what the first one tells."""
    source = [one or ("", -1) for one in table["source"]]
    pairs = pairs[pairs[OWNER] == pairs.groupby("unit")[OWNER].transform("min")].sort_values("unit", kind="stable")
    every, unknown = np.arange(n_ordinary), np.full(n_ordinary, np.nan)
    unit, op = np.append(every, pairs["unit"]), np.append(every, pairs["op"])
    ratio = np.append(np.ones(n_ordinary), pairs["ratio"])
    return OpShares(
        name=tuple(table["name"]),
        type=tuple(table["type"]),
        is_device=table["is_device"].to_numpy(np.bool_),
        is_eager=table["is_eager"].to_numpy(np.bool_),
        source_file=tuple(file for file, _ in source),
        source_line=np.array([line for _, line in source], np.int32),
        frame=np.full(len(table), -1, np.int32),
        frames=Frames(),
        unit=unit.astype(np.int32),
        op=op.astype(np.int32),
        ratio=ratio,
        dominant=dominant_ops(unit, op, ratio, n_ordinary + len(hlo)),
        is_identity=hlo.empty,
        flops=np.append(unknown, hlo["flops"].to_numpy(np.float64)),
        bytes_accessed=np.append(unknown, hlo["bytes_accessed"].to_numpy(np.float64)),
    )
