"""Analysis results -> the tables of a pack, any rows of each; `js/src/model/wire/meta.ts` and views read them by these names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...analysis.ops.host_totals import HostTotals, hosts_of
from ...analysis.ops.op_families import hlo_families
from ...analysis.ops.unit_totals import UnitTotals
from ...analysis.results import Results
from ...analysis.steps.steps import STEP_CATEGORIES
from ...trace.dtypes import dtype_name
from ...trace.trace import Trace
from .names import Names
from .positions import Positions
from .tiles import Tiles
from .wire import Rows, Table

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


def as_f8(values: npt.NDArray[np.integer]) -> Float64:
    """Times and bytes as the browser's numbers: exact to 2^53 (2.5 hours in ps, 8 PiB), the nearest double beyond."""
    return values.astype(np.float64)


def step_table(results: Results, rows: Rows) -> Table:
    """One row per step; its categories in ms; its host as the meta object counts them."""
    frame = results.steps.frame.iloc[rows]
    columns: dict[str, tuple[npt.ArrayLike, str]] = {
        "start_ps": (as_f8(frame["start_ps"].to_numpy()), "f8"),
        "duration_ps": (as_f8(frame["duration_ps"].to_numpy()), "f8"),
        "source": ((frame["source"] == "inferred").to_numpy(), "u1"),
        "is_complete": (frame["is_complete"].to_numpy(np.bool_), "u1"),
        "is_averaged": (results.overview.is_averaged[rows], "u1"),
        "session": (frame["session"].to_numpy(), "i4"),
        "host": (frame["host"].map(host_rows(results.trace)).fillna(-1).to_numpy(np.int64), "i4"),
    }
    columns |= {f"{category}_ms": (frame[f"{category}_ms"].to_numpy(), "f8") for category in STEP_CATEGORIES}
    return Table(columns)


def piece_table(results: Results, rows: Rows) -> Table:
    """What each step was made of, in time order."""
    pieces = results.steps.pieces.iloc[rows]
    return Table(
        {
            "step": (pieces["step"].to_numpy(), "i4"),
            "start_ps": (as_f8(pieces["start_ps"].to_numpy()), "f8"),
            "duration_ps": (as_f8(pieces["duration_ps"].to_numpy()), "f8"),
            "category": (pieces["category"].cat.codes.to_numpy(), "u1"),
        }
    )


def occurrence_table(results: Results, rows: Rows, lines: npt.NDArray[np.int32]) -> Table:
    """Every execution of every unit, so that the browser can add up any time range; `line` is where its idle time counts.

    `op` is the unit; `op_share_table` says which framework ops that is. `variant` is there only where a device ran ops:
    it numbers the kernels of each, of which the most frequent says how often the op was executed.

    Args:
        results: of the trace.
        rows: which executions.
        lines: for each line of the trace its number in the browser.
    """
    occurrences = results.occurrences
    op = occurrences.op[rows]
    columns: dict[str, tuple[npt.ArrayLike, str]] = {
        "op": (op, "i4"),
        "line": (lines[occurrences.lane_line[occurrences.lane[rows]]], "i4"),
        "start_ps": (as_f8(occurrences.start_ps[rows]), "f8"),
        "duration_ps": (as_f8(occurrences.duration_ps[rows]), "f8"),
        "span_ps": (as_f8(occurrences.span_ps[rows]), "f8"),
        "parent": (occurrences.parent[rows], "i4"),
    }
    if occurrences.is_device[: occurrences.n_ops].any():
        on_device = occurrences.is_device[op] & (op < occurrences.n_ops)
        columns["variant"] = (np.where(on_device, occurrences.variant[rows], -1), "i4")
    return Table(columns)


def op_table(results: Results, names: Names, rows: Rows) -> Table:
    """The framework ops: name and type as numbers of names, and where they ran."""
    shares = results.op_shares
    return Table(
        {
            "name": (names.numbers(names.ids(shares.name[rows])), "i4"),
            "type": (names.numbers(names.ids(shares.type[rows])), "i4"),
            "is_device": (shares.is_device[rows], "u1"),
            "is_eager": (shares.is_eager[rows], "u1"),
        }
    )


def unit_total_table(totals: UnitTotals, rows: Rows) -> Table:
    """Executions and time of each unit over the whole capture."""
    return Table(
        {
            "unit": (totals.unit[rows], "i4"),
            "occurrences": (as_f8(totals.count[rows]), "f8"),
            "total_ps": (as_f8(totals.total_ps[rows]), "f8"),
            "self_ps": (as_f8(totals.self_ps[rows]), "f8"),
        }
    )


def host_rows(trace: Trace) -> dict[str, int]:
    """The place of each host among the `hosts` of the meta object."""
    return {host: row for row, host in enumerate(hosts_of(trace))}


def host_total_table(totals: HostTotals, rows: Rows) -> Table:
    """Executions and time of each unit on each host; the hosts are counted as in the meta object."""
    return Table(
        {
            "host": (totals.host[rows], "i4"),
            "unit": (totals.unit[rows], "i4"),
            "occurrences": (as_f8(totals.count[rows]), "f8"),
            "total_ps": (as_f8(totals.total_ps[rows]), "f8"),
            "self_ps": (as_f8(totals.self_ps[rows]), "f8"),
        }
    )


def op_share_table(results: Results, rows: Rows) -> Table:
    """Which framework ops each unit stands for."""
    shares = results.op_shares
    return Table(
        {"unit": (shares.unit[rows], "i4"), "op": (shares.op[rows], "i4"), "ratio": (shares.ratio[rows], "f8")}
    )


def hlo_name_families(results: Results) -> dict[int, int]:
    """The slice family of each event name that stands for an HLO op: that of the op, its name says little."""
    occurrences, shares = results.occurrences, results.op_shares
    rows = np.flatnonzero(occurrences.op >= occurrences.n_ops)
    if not len(rows):
        return {}
    names, first = np.unique(results.trace.name_id[occurrences.event[rows]], return_index=True)
    units = occurrences.op[rows[first]].tolist()
    found = hlo_families(
        [occurrences.type[unit] for unit in units], [shares.type[op] for op in shares.dominant[units].tolist()]
    )
    return dict(zip(names.tolist(), found.tolist(), strict=True))


def op_line_table(results: Results, rows: Rows, lines: npt.NDArray[np.int32]) -> Table:
    """What can be idle, a host thread or a whole device under its first line, and from where to where it was observed."""
    occurrences = results.occurrences
    return Table(
        {
            "line": (lines[occurrences.lane_line[rows]], "i4"),
            "device": (occurrences.lane_is_device[rows], "u1"),
            "first_ps": (as_f8(occurrences.lane_first_ps[rows]), "f8"),
            "last_ps": (as_f8(occurrences.lane_last_ps[rows]), "f8"),
        }
    )


def memory_table(results: Results, names: Names, rows: Rows) -> Table:
    """Every allocation and deallocation, with the state of its allocator after it."""
    snapshots = results.memory.snapshots
    dtypes, place = np.unique(snapshots.dtype[rows], return_inverse=True)
    dtype_names = names.numbers(names.ids(dtype_name(code) for code in dtypes.tolist()))
    return Table(
        {
            "allocator": (snapshots.allocator_id[rows], "i4"),
            "session": (snapshots.session_id[rows], "i4"),
            "time_ps": (as_f8(snapshots.time_ps[rows]), "f8"),
            "is_free": (snapshots.is_free[rows], "u1"),
            "requested_bytes": (as_f8(snapshots.requested_bytes[rows]), "f8"),
            "allocation_bytes": (as_f8(snapshots.allocation_bytes[rows]), "f8"),
            "in_use_bytes": (as_f8(snapshots.stack_bytes[rows] + snapshots.heap_bytes[rows]), "f8"),
            "stack_bytes": (as_f8(snapshots.stack_bytes[rows]), "f8"),
            "heap_bytes": (as_f8(snapshots.heap_bytes[rows]), "f8"),
            "free_bytes": (as_f8(snapshots.free_bytes[rows]), "f8"),
            "fragmentation_ratio": (snapshots.fragmentation_ratio[rows], "f8"),
            "op": (names.numbers(snapshots.op[rows]), "i4"),
            "step": (results.steps.event_step[snapshots.event[rows]], "i4"),
            "region": (names.numbers(snapshots.region[rows]), "i4"),
            "dtype": (dtype_names[place], "i4"),
            "shape": (names.numbers(snapshots.shape[rows]), "i4"),
            "freed_at": (snapshots.freed_at[rows], "i4"),
        }
    )


def iterator_call_table(results: Results, rows: Rows) -> Table:
    """Every call of every tf.data iterator; `node` counts within the pipeline, as in the meta object.

    `root` is the row of the root call that it was made for (-1 where none was captured), of which it `is_blocking` when
    that one waited for it, for `wait_ps` of its own work; `is_startup` calls belong to the first execution of an epoch.
    """
    calls = results.input_pipeline.tf_data.calls.iloc[rows]
    return Table(
        {
            "pipeline": (calls["pipeline"].to_numpy(np.int64), "i4"),
            "node": (node_in_pipeline(results)[calls["iterator"].to_numpy(np.int64)], "i4"),
            "start_ps": (as_f8(calls["start_ps"].to_numpy(np.int64)), "f8"),
            "duration_ps": (as_f8(calls["duration_ps"].to_numpy(np.int64)), "f8"),
            "self_ps": (as_f8(calls["self_ps"].to_numpy(np.int64)), "f8"),
            "wait_ps": (as_f8(calls["wait_ps"].to_numpy(np.int64)), "f8"),
            "root": (calls["root_call"].to_numpy(np.int64), "i4"),
            "is_blocking": (calls["is_blocking"].to_numpy(np.bool_), "u1"),
            "is_startup": (calls["is_startup"].to_numpy(np.bool_), "u1"),
        }
    )


def node_in_pipeline(results: Results) -> Int64:
    """For each iterator its place among the nodes of its own pipeline."""
    iterators = results.input_pipeline.iterators
    if iterators.empty:
        return np.empty(0, np.int64)
    return np.asarray(iterators.groupby("pipeline").cumcount(), np.int64)


def row_table(positions: Positions) -> Table:
    """The rows of events in the order of positions."""
    return Table(
        {
            "line": (positions.row_line, "i4"),
            "depth": (positions.row_depth, "u4"),
            "n": (np.diff(positions.row_offsets), "u4"),
            "is_filled": (positions.row_is_filled, "u1"),
        }
    )


def tile_table(tiles: Tiles) -> Table:
    """The windows of time in which events travel, and how many start in each."""
    return Table(
        {"t0_ps": (tiles.edges_ps[:-1], "f8"), "t1_ps": (tiles.edges_ps[1:], "f8"), "n": (tiles.counts(), "u4")}
    )
