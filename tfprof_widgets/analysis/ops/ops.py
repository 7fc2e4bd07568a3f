"""Executions -> the `ops` table, and sums by op, unit, host and step, of the whole trace or a part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Float64, Int32, Int64, UInt8
from ...trace.trace import Trace
from ..common import PS_PER_MS, PS_PER_US, dense_codes, first_of, host_of_plane, hosts_of, sum_by, table_of_arrays
from ..grouping import N_UNITS, UNIT_RATIOS, ComputeUnit, on_tensor_cores, time_by_unit, unit_ratios
from ..steps.steps import Steps
from ..tables import table
from .executions import Occurrences, op_occurrences
from .kernels import Kernels
from .shares import OpShares

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


def aggregate_ops(
    occurrences: Occurrences,
    *,
    shares: OpShares | None = None,
    time_range_ps: tuple[int, int] | None = None,
    idle: bool = False,
) -> pd.DataFrame:
    """Totals per framework op, those that cost most of their own time first.

    Differs from XProf: nothing is cut off at 500 ops (D7).
    """
    sums = op_sums(occurrences, shares, time_range_ps=time_range_ps)
    return ops_table(
        occurrences if shares is None else shares, sums, idle_by_side(occurrences, time_range_ps) if idle else None
    )


@dataclass(frozen=True, eq=False, repr=False)
class OpSums:
    """Per unit or framework op; times are whole picoseconds for units, shares of such for framework ops."""

    count: Int64
    n_done: Float64
    """Executions, of those that a range cuts the part within it."""
    total_ps: Int64 | Float64
    self_ps: Int64 | Float64
    unit_ns: Float64
    """Time of kernels by `ComputeUnit`, of each in whole nanoseconds."""
    flops: Float64 | None = None
    """Of all executions together, NaN where unknown; None where nothing is known of any."""
    n_bytes: Float64 | None = None


def op_sums(
    occurrences: Occurrences, shares: OpShares | None = None, *, time_range_ps: tuple[int, int] | None = None
) -> OpSums:
    """What `aggregate_ops` makes its table of, in the order of the framework ops, without shares in that of the units."""
    total, own, counted = overlaps(occurrences, time_range_ps)
    n_units = len(occurrences.name)
    units = OpSums(
        count=counts_of(occurrences, counted),
        n_done=n_done_of(occurrences, total, counted),
        total_ps=sum_by(occurrences.op, total, n_units),
        self_ps=sum_by(occurrences.op, own, n_units),
        # Of each kernel in whole nanoseconds, as in XProf (semantics 6.2).
        unit_ns=time_by_unit(occurrences.op, occurrences.kernel_unit, total // 1000, n_units),
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
        count=shares.largest(units.count),
        n_done=np.asarray(shares.spread(units.n_done)),
        total_ps=shares.spread(units.total_ps),
        self_ps=shares.spread(units.self_ps),
        unit_ns=np.asarray(shares.spread(units.unit_ns)),
        flops=known(shares.flops),
        n_bytes=known(shares.bytes_accessed),
    )


def ops_table(ops: Occurrences | OpShares, sums: OpSums, idle_ps: Mapping[str, int] | None = None) -> pd.DataFrame:
    """The table of `aggregate_ops` of sums that are known."""
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


def n_done_of(occurrences: Occurrences, total: Int64, counted: Bool) -> Float64:
    """Executions per unit; of one that a range cuts the part of its time within it."""
    op, ran = _executions(occurrences, counted)
    inside, whole = (_sums(occurrences.execution, ps, len(op)) for ps in (total, occurrences.duration_ps))
    return _sums(op, np.divide(inside, whole, out=ran.astype(np.float64), where=whole > 0), len(occurrences.name))


def _sums(row: Int32, value: Int64 | Float64, n: int) -> Float64:
    return np.asarray(np.bincount(row, weights=value, minlength=n), np.float64)


def overlaps(occurrences: Occurrences, time_range_ps: tuple[int, int] | None) -> tuple[Int64, Int64, Bool]:
    """Total and self time of each execution within the range, and whether it counts."""
    if time_range_ps is None:
        return occurrences.duration_ps, occurrences.self_ps, np.ones(len(occurrences), np.bool_)
    low, high = time_range_ps
    start = occurrences.start_ps

    def overlap(length: Int64) -> Int64:
        inside = np.minimum(start + length, high) - np.maximum(start, low)
        positive: Int64 = np.maximum(inside, 0)
        return positive

    span = overlap(occurrences.span_ps)
    own = span.copy()
    inner = occurrences.parent >= 0
    np.subtract.at(own, occurrences.parent[inner], span[inner])
    total = overlap(occurrences.duration_ps)
    point = (occurrences.duration_ps == 0) & (start >= low) & (start < high)
    return total, own, (total > 0) | point


def counts_of(occurrences: Occurrences, counted: Bool) -> Int64:
    """Executions per op of which a part counts (semantics 4.2.5)."""
    op, ran = _executions(occurrences, counted)
    return np.bincount(op[ran], minlength=len(occurrences.name)).astype(np.int64)


def _executions(occurrences: Occurrences, counted: Bool) -> tuple[Int32, Bool]:
    """By number of execution the op, 0 for a number not given, and whether a part of it counts."""
    op = np.zeros(int(occurrences.execution.max(initial=-1)) + 1, np.int32)
    op[occurrences.execution] = occurrences.op
    ran = np.zeros(len(op), np.bool_)
    ran[occurrences.execution[counted]] = True
    return op, ran


def idle_by_side(occurrences: Occurrences, time_range_ps: tuple[int, int] | None = None) -> dict[str, int]:
    """For how long threads (`Host`) and devices (`Device`) ran no op between their first and last event, each summed.

    A side of which nothing was observed within the range is left out. Parallel streams may keep a device busier than time
    passes; it is then never idle.
    """
    first, last = occurrences.lane_first_ps, occurrences.lane_last_ps
    if time_range_ps is not None:
        first, last = np.maximum(first, time_range_ps[0]), np.minimum(last, time_range_ps[1])
    own = overlaps(occurrences, time_range_ps)[1]
    idle = np.maximum(last - first - sum_by(occurrences.lane, own, len(first)), 0)
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
    """Add the ops of one type and side up."""
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


@dataclass(frozen=True, eq=False, repr=False)
class OpTotals:
    """One entry per framework op; zeros for one that did not run."""

    is_device: Bool
    self_us: Float64
    occurrences: Int64
    unit_us: Float64
    """Kernel time by `ComputeUnit`, shape (ops, `N_UNITS`)."""


def op_totals(ops: pd.DataFrame, shares: OpShares) -> OpTotals:
    """Look each framework op up in the `ops` table (without idle time), where a name occurs once per side."""
    is_device = (ops["device"] == "Device").tolist()
    row_of = {key: row for row, key in enumerate(zip(is_device, ops["name"], strict=True))}
    keys = zip(shares.is_device.tolist(), shares.name, strict=True)
    row = np.fromiter((row_of.get(key, -1) for key in keys), np.int64, len(shares))
    # The last entry is what row -1 finds: an op that did not run.
    self_us = np.append(ops["total_self_time_us"].to_numpy(np.float64), 0.0)
    occurrences = np.append(ops["occurrences"].to_numpy(np.int64), 0)
    parts = {name: ops[name].fillna(0).to_numpy(np.float64) for name in ("tensor_core_ratio", *UNIT_RATIOS)}
    ratios = np.zeros((len(ops) + 1, N_UNITS))
    for name, (unit, *_) in UNIT_RATIOS.items():
        ratios[:-1, unit] = parts[name]
    ratios[:-1, ComputeUnit.TENSOR_OTHER] = (
        parts["tensor_core_ratio"] - parts["tensor_16bit_ratio"] - parts["tensor_tf32_ratio"]
    )
    return OpTotals(shares.is_device, self_us[row], occurrences[row], ratios[row] * self_us[row, None])


def side_table(
    entries: pd.DataFrame, op_entry: Int32, op_phase: UInt8, phases: Sequence[str], totals: OpTotals
) -> tuple[dict[str, npt.NDArray[Any]], Int64]:
    """What ops are charged to, side by side: all entries for devices, then all for hosts; and for each op its row."""
    n = len(entries)
    row = np.where(totals.is_device, 0, n) + op_entry
    own_us = [np.where(op_phase == code, totals.self_us, 0.0) for code in range(len(phases))]
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
        "occurrences": np.bincount(row, totals.occurrences, minlength=2 * n).astype(np.int64),
    }
    return columns, row.astype(np.int64)


@dataclass(frozen=True)
class UnitTotals:
    """One entry per unit that was executed."""

    unit: Int64
    """Row of the table of units, ascending."""
    count: Int64
    """Executions."""
    total_ps: Int64
    self_ps: Int64


def compute_unit_totals(occurrences: Occurrences) -> UnitTotals:
    """Add up the executions of each unit, as `aggregate_ops` does before framework ops get their shares."""
    total, own, counted = overlaps(occurrences, None)
    n_units = len(occurrences.name)
    count = counts_of(occurrences, counted)
    unit = np.flatnonzero(count)
    return UnitTotals(
        unit=unit,
        count=count[unit],
        total_ps=sum_by(occurrences.op, total, n_units)[unit],
        self_ps=sum_by(occurrences.op, own, n_units)[unit],
    )


@dataclass(frozen=True, eq=False)
class HostTotals:
    """One entry per host and unit that was executed there, by host, then unit."""

    hosts: tuple[str, ...]
    """All hosts of the trace, in its order."""
    host: Int64
    """Row of `hosts`."""
    unit: Int64
    """Row of the table of units."""
    count: Int64
    """Executions."""
    total_ps: Int64
    self_ps: Int64


def compute_host_totals(trace: Trace, occurrences: Occurrences) -> HostTotals:
    """Add up the executions of each unit on each host."""
    hosts = hosts_of(trace)
    n_units = len(occurrences.name)
    n = len(hosts) * n_units
    if not n or not len(occurrences):
        return HostTotals(hosts, *(np.empty(0, np.int64) for _ in range(5)))
    # One entry per host and unit, whether it ran there or not: both are few beside executions.
    key = host_and_unit(trace, occurrences)
    count = np.bincount(key[occurrences.is_first], minlength=n).astype(np.int64)
    found = np.flatnonzero(count)
    return HostTotals(
        hosts=hosts,
        host=found // n_units,
        unit=found % n_units,
        count=count[found],
        total_ps=sum_by(key, occurrences.duration_ps, n)[found],
        self_ps=sum_by(key, occurrences.self_ps, n)[found],
    )


def host_and_unit(trace: Trace, occurrences: Occurrences) -> Int64:
    """For each execution its host times the number of units, plus its unit."""
    of_plane = host_of_plane(trace)
    of_line = np.array([of_plane[line.plane] for line in trace.lines], np.int64)
    return of_line[occurrences.line] * len(occurrences.name) + occurrences.op


@dataclass(frozen=True, eq=False, repr=False)
class StepTotals:
    """One entry per host and unit of which a part was executed within the averaged steps, by host, then unit."""

    host: Int64
    """Index into `hosts_of`."""
    unit: Int64
    """Row of the table of units."""
    count: Int64
    """Executions."""
    total_ps: Int64
    self_ps: Int64


def compute_step_totals(trace: Trace, occurrences: Occurrences, steps: Steps, averaged: Bool) -> StepTotals:
    """Add up what each unit did on each host within the steps that are `averaged`."""
    rows = np.flatnonzero(np.append(averaged, False)[steps.event_step[occurrences.event]])
    key, n_units = host_and_unit(trace, occurrences)[rows], len(occurrences.name)
    n = int(key.max(initial=-1)) + 1
    of_execution = np.full(int(occurrences.execution.max(initial=-1)) + 1, -1, np.int64)
    of_execution[occurrences.execution[rows]] = key
    count = np.bincount(of_execution[of_execution >= 0], minlength=n).astype(np.int64)
    found = np.flatnonzero(count)
    total, own = (sum_by(key, ps[rows], n)[found] for ps in (occurrences.duration_ps, occurrences.self_ps))
    return StepTotals(found // n_units, found % n_units, count[found], total, own)


@dataclass(frozen=True, eq=False, repr=False)
class KernelTotals:
    """One entry per host and kernel that ran there, by host, then kernel."""

    host: Int64
    """Index into `hosts_of`."""
    kernel: Int64
    """Row of `Kernels.frame`."""
    count: Int64
    total_ps: Int64
    min_ps: Int64
    max_ps: Int64


def compute_kernel_totals(trace: Trace, kernels: Kernels, counted: Bool | None = None) -> KernelTotals:
    """Add up the executions of each kernel."""
    rows = np.arange(len(kernels.run_event)) if counted is None else np.flatnonzero(counted[kernels.run_event])
    event = kernels.run_event[rows]
    of_plane = host_of_plane(trace)
    of_line = np.array([of_plane[line.plane] for line in trace.lines], np.int64)
    host, kernel = of_line[trace.line_id[event]], kernels.run_kernel[rows].astype(np.int64)
    code, n = dense_codes(host, kernel)
    first = first_of(code, n)
    duration = trace.duration_ps[event]
    shortest, longest = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(shortest, code, duration)
    np.maximum.at(longest, code, duration)
    return KernelTotals(
        host=host[first],
        kernel=kernel[first],
        count=np.bincount(code, minlength=n).astype(np.int64),
        total_ps=sum_by(code, duration, n),
        min_ps=shortest,
        max_ps=longest,
    )


def step_ops(shares: OpShares, inside: StepTotals, n_steps: int) -> pd.DataFrame:
    """The ops that ran in the averaged steps, but for those that only wait for data."""
    n_units = len(shares.dominant)
    own = np.asarray(shares.spread(sum_by(inside.unit, inside.self_ps, n_units)), np.float64)
    count = shares.largest(sum_by(inside.unit, inside.count, n_units))
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


N_TOP_OPS = 10
ALL_HOSTS = -1


def compute_top_ops(
    shares: OpShares, inside: StepTotals, whole: HostTotals, *, host: Int64, averaged: Bool
) -> pd.DataFrame:
    """The `N_TOP_OPS` ops of each side with the most time of their own, without those that only wait for data."""
    n_averaged = np.bincount(host[averaged], minlength=len(whole.hosts))
    tops = [_top_of(shares, inside if averaged.any() else whole, ALL_HOSTS, int(averaged.sum()))]
    if len(whole.hosts) > 1:
        tops += [_top_of(shares, inside if n else whole, one, n) for one, n in enumerate(n_averaged.tolist())]
    return pd.concat(tops, ignore_index=True)


def _top_of(shares: OpShares, totals: StepTotals | HostTotals, host: int, n_steps: int) -> pd.DataFrame:
    rows = slice(None) if host == ALL_HOSTS else slice(*np.searchsorted(totals.host, [host, host + 1]))
    n_units = len(shares.dominant)
    own = shares.spread(sum_by(totals.unit[rows], totals.self_ps[rows], n_units))
    count = shares.largest(sum_by(totals.unit[rows], totals.count[rows], n_units))
    ops, sums = zip(*_sides(np.where(shares.only_waits, 0, own), shares.is_device), strict=True)
    op = np.concatenate(ops)
    of_side = np.repeat(np.maximum(sums, 1.0), [len(one) for one in ops])
    return pd.DataFrame(
        {
            "host": np.full(len(op), host),
            "op": op,
            "occurrences": count[op],
            "self_time_ms": own[op] / PS_PER_MS,
            "self_time_ms_per_step": own[op] / PS_PER_MS / max(n_steps, 1),
            "self_time_ratio": own[op] / of_side,
        }
    )


def _sides(own: Int64 | Float64, is_device: Bool) -> Iterator[tuple[Int64, float]]:
    """Of devices and of hosts the ops that cost most, and what all cost together."""
    for side in (is_device, ~is_device):
        some = np.flatnonzero(side & (own > 0))
        yield some[np.argsort(-own[some], kind="stable")][:N_TOP_OPS], float(own[side].sum())


_OF_EXECUTIONS = (
    *("op", "event", "line", "start_ps", "duration_ps", "span_ps", "parent", "execution", "kernel_unit", "lane"),
)
_OF_LANES = ("lane_line", "lane_is_device", "lane_first_ps", "lane_last_ps")
"""Columns of `Occurrences` with an entry per execution, and per lane."""


def lines_of(trace: Trace, host: str) -> Bool:
    """For each line of a trace whether the host recorded it."""
    return np.array([trace.planes[line.plane].host == host for line in trace.lines], np.bool_)


def occurrences_of(occurrences: Occurrences, trace: Trace, host: str) -> Occurrences:
    """The executions on one host. The units stay, also those that ran elsewhere only; lanes are the host's own."""
    is_own = lines_of(trace, host)
    rows, lanes = np.flatnonzero(is_own[occurrences.line]), np.flatnonzero(is_own[occurrences.lane_line])
    columns = {key: getattr(occurrences, key)[rows] for key in _OF_EXECUTIONS}
    columns |= {key: getattr(occurrences, key)[lanes] for key in _OF_LANES}
    columns["parent"] = _renumbered(columns["parent"], rows, len(occurrences))
    columns["lane"] = _renumbered(columns["lane"], lanes, len(occurrences.lane_line)).astype(np.int32)
    return replace(occurrences, **columns)


def _renumbered(values: Int32 | Int64, kept: Int64, n: int) -> Int64:
    """What rows are called among those kept; -1 stays, as does what is left out."""
    place: Int64 = np.full(n + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    renumbered: Int64 = place[values]
    return renumbered


def host_sums(totals: HostTotals, host: str, shares: OpShares) -> OpSums:
    """Sums of framework ops on one host, of the whole capture; nothing is known of kernels."""
    rows = np.flatnonzero(totals.host == totals.hosts.index(host))
    n_units = len(shares.dominant)

    def placed(values: Int64) -> Int64:
        whole = np.zeros(n_units, np.int64)
        whole[totals.unit[rows]] = values[rows]
        return whole

    count = placed(totals.count)
    units = OpSums(
        count=count,
        n_done=count.astype(np.float64),
        total_ps=placed(totals.total_ps),
        self_ps=placed(totals.self_ps),
        unit_ns=np.zeros((n_units, N_UNITS)),
    )
    return sums_of_units(units, shares)
