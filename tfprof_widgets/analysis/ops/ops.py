"""Executions of ops -> totals per op over the whole trace or a time range.

Source: semantics 4.1-4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Bool, Float64, Int32, Int64
from ..base.compute_units import N_UNITS, on_tensor_cores, time_by_unit, unit_ratios
from ..base.matching import sum_by
from ..base.table_types import table_of_arrays
from ..base.units import PS_PER_US
from ..columns.registry import TABLES
from .op_occurrences import Occurrences, op_occurrences
from .op_shares import OpShares

__all__ = ["IDLE", "OPS_COLUMNS", "Occurrences", "aggregate_ops", "by_type", "op_occurrences"]

OPS_COLUMNS = TABLES["ops"].names
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

    Args:
        occurrences: the result of `op_occurrences`.
        shares: the result of `compute_op_shares`, which turns HLO ops into framework ops; without it every unit, HLO ops
            included, is a row.
        time_range_ps: count only the time between these two; an op that overlaps the range counts as executed, one
            without duration when it lies inside. Total time is then the overlap, self time the overlap of the op's own span
            less that of its direct children. `None` is the whole trace.
        idle: add one row `IDLE` per side: time of host threads (summed over threads) and of devices (summed over devices)
            between their first and last event in which no op ran. A side of which nothing was observed within the range
            has none; one that was never idle has one of 0, as in XProf (the browser leaves that out).

    Returns:
        The columns `OPS_COLUMNS`, sorted by (`device` first devices then host, self time falling, name); `device` is
        `Device` or `Host`; ratios are of the side's total, with or without idle time. `flop_rate_gflops` and
        `memory_bandwidth_gibps` are over total time, for compiled ops only: from figures in the trace, else from our
        estimates (`hlo_cost.py`); `tensor_core_ratio` is the part of an op's kernel time on Tensor Cores, and four columns
        divide that time by what computes, see `unit_ratios`. All are NaN where nothing is known. An op that several HLO ops
        stand for was executed as often as the most frequent of them.

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
    """The table of `aggregate_ops` of sums that are known.

    Args:
        ops: the framework ops.
        sums: theirs.
        idle_ps: of each side (`Device`, `Host`) that has a row `IDLE` its idle time.
    """
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
    """Add the ops of one type and side up.

    Args:
        ops: the result of `aggregate_ops`, with or without idle time.

    Returns:
        The columns of `op_statistics(by="type")`, sorted as `ops`; averages are over occurrences, 0 where there are none.
    """
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
