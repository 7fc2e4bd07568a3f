"""Analysis results -> the tables of a pack; `js/src/core/meta.ts` and the views read them by these names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from ..analysis.memory.dtypes import dtype_name
from ..analysis.ops.op_families import FAMILIES, families, hlo_families
from ..analysis.results import Results
from ..analysis.steps.steps import STEP_CATEGORIES
from ..store.trace import StatKind, Trace
from .wire import Table

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


class Names:
    """The strings of a pack: those of the trace under their own ids, and what the analyses add behind them."""

    def __init__(self, strings: Iterable[str]) -> None:
        self.strings = list(strings)
        self._n_of_trace = len(self.strings)
        self._ids: dict[str, int] = {}
        for i, text in enumerate(self.strings):
            self._ids.setdefault(text, i)

    def ids(self, texts: Iterable[str]) -> Int64:
        """The id of each text; new ones are added."""
        found = []
        for text in texts:  # bounded by the number of ops, dtypes and iterators
            if text not in self._ids:
                self._ids[text] = len(self.strings)
                self.strings.append(text)
            found.append(self._ids[text])
        return np.array(found, np.int64)

    def table(self, drawn: Int64, told: Mapping[int, int] | None = None) -> Table:
        """The slice family of every string; worked out only for those `drawn`, ids of event names, and for added ones.

        Args:
            drawn: string ids.
            told: families by string id that are known better than the string tells.
        """
        chosen = np.union1d(drawn, np.arange(self._n_of_trace, len(self.strings)))
        family = np.full(len(self.strings), FAMILIES.index("runtime"), np.uint8)
        family[chosen] = families([self.strings[i] for i in chosen.tolist()])
        for name, known in (told or {}).items():
            family[name] = known
        return Table({"family": (family, "u1")})


def as_f8(values: npt.NDArray[np.integer]) -> Float64:
    """Times and bytes as the browser's numbers: exact to 2^53 (2.5 hours in ps, 8 PiB), the nearest double beyond."""
    return values.astype(np.float64)


def event_table(results: Results, rows: Int64) -> Table:
    """The events at `rows` (ascending), each with the framework op it is most of, its step and the number of its stats.

    In a compiled run also with its unit, for which `op_share_table` has all framework ops.
    """
    trace = results.trace
    unit = {} if results.op_shares.is_identity else {"unit": (results.event_unit[rows], "i4")}
    return Table(
        {
            **unit,
            "start_ps": (as_f8(trace.start_ps[rows]), "f8"),
            "duration_ps": (as_f8(trace.duration_ps[rows]), "f8"),
            "self_ps": (as_f8(trace.nesting.self_ps[rows]), "f8"),
            "name": (trace.name_id[rows], "i4"),
            "line": (trace.line_id[rows], "i4"),
            "depth": (trace.nesting.depth[rows], "u4"),
            "op": (results.event_op[rows], "i4"),
            "step": (results.steps.event_step[rows], "i4"),
            "n_stats": (trace.stat_offsets[rows + 1] - trace.stat_offsets[rows], "u4"),
        }
    )


def stat_table(trace: Trace, begin: int, end: int) -> Table:
    """The stats of the events from `begin` to before `end`, in their order; of bytes only the length travels."""
    rows = slice(int(trace.stat_offsets[begin]), int(trace.stat_offsets[end]))
    kind, bits = trace.stat_kind[rows], trace.stat_bits[rows]
    opaque = np.flatnonzero(kind == StatKind.BYTES)
    if len(opaque):
        bits = bits.copy()
        bits[opaque] = [len(trace.blobs[blob]) for blob in bits[opaque].tolist()]  # blobs are few
    return Table({"key": (trace.stat_key[rows], "i4"), "kind": (kind, "u1"), "bits": (bits, "u8")})


def step_table(results: Results) -> Table:
    """One row per step; its categories in ms."""
    frame = results.steps.frame
    columns: dict[str, tuple[npt.ArrayLike, str]] = {
        "start_ps": (as_f8(frame["start_ps"].to_numpy()), "f8"),
        "duration_ps": (as_f8(frame["duration_ps"].to_numpy()), "f8"),
        "source": ((frame["source"] == "inferred").to_numpy(), "u1"),
        "is_complete": (frame["is_complete"].to_numpy(np.bool_), "u1"),
        "is_averaged": (results.overview.is_averaged, "u1"),
        "session": (frame["session"].to_numpy(), "i4"),
    }
    columns |= {f"{category}_ms": (frame[f"{category}_ms"].to_numpy(), "f8") for category in STEP_CATEGORIES}
    return Table(columns)


def piece_table(results: Results) -> Table:
    """What each step was made of, in time order."""
    pieces = results.steps.pieces
    return Table(
        {
            "step": (pieces["step"].to_numpy(), "i4"),
            "start_ps": (as_f8(pieces["start_ps"].to_numpy()), "f8"),
            "duration_ps": (as_f8(pieces["duration_ps"].to_numpy()), "f8"),
            "category": (pieces["category"].cat.codes.to_numpy(), "u1"),
        }
    )


def occurrence_table(results: Results) -> Table:
    """Every execution of every unit, so that the browser can add up any time range; `line` is where its idle time counts.

    `op` is the unit; `op_share_table` says which framework ops that is. `variant` is there only where a device ran ops:
    it numbers the kernels of each, of which the most frequent says how often the op was executed.
    """
    occurrences = results.occurrences
    columns: dict[str, tuple[npt.ArrayLike, str]] = {
        "op": (occurrences.op, "i4"),
        "line": (occurrences.lane_line[occurrences.lane], "i4"),
        "start_ps": (as_f8(occurrences.start_ps), "f8"),
        "duration_ps": (as_f8(occurrences.duration_ps), "f8"),
        "span_ps": (as_f8(occurrences.span_ps), "f8"),
        "parent": (occurrences.parent, "i4"),
    }
    on_device = occurrences.is_device[occurrences.op] & (occurrences.op < occurrences.n_ops)
    if on_device.any():
        columns["variant"] = (np.where(on_device, occurrences.variant, -1), "i4")
    return Table(columns)


def op_share_table(results: Results) -> Table | None:
    """Which framework ops each unit stands for; None where each stands for itself."""
    shares = results.op_shares
    if shares.is_identity:
        return None
    return Table({"unit": (shares.unit, "i4"), "op": (shares.op, "i4"), "ratio": (shares.ratio, "f8")})


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


def op_line_table(results: Results) -> Table:
    """What can be idle, a host thread or a whole device under its first line, and from where to where it was observed."""
    occurrences = results.occurrences
    return Table(
        {
            "line": (occurrences.lane_line, "i4"),
            "device": (occurrences.lane_is_device, "u1"),
            "first_ps": (as_f8(occurrences.lane_first_ps), "f8"),
            "last_ps": (as_f8(occurrences.lane_last_ps), "f8"),
        }
    )


def memory_table(results: Results, names: Names) -> Table:
    """Every allocation and deallocation, with the state of its allocator after it."""
    snapshots = results.memory.snapshots
    dtypes, place = np.unique(snapshots.dtype, return_inverse=True)
    return Table(
        {
            "allocator": (snapshots.allocator_id, "i4"),
            "session": (snapshots.session_id, "i4"),
            "time_ps": (as_f8(snapshots.time_ps), "f8"),
            "is_free": (snapshots.is_free, "u1"),
            "requested_bytes": (as_f8(snapshots.requested_bytes), "f8"),
            "allocation_bytes": (as_f8(snapshots.allocation_bytes), "f8"),
            "in_use_bytes": (as_f8(snapshots.in_use_bytes), "f8"),
            "stack_bytes": (as_f8(snapshots.stack_bytes), "f8"),
            "heap_bytes": (as_f8(snapshots.heap_bytes), "f8"),
            "free_bytes": (as_f8(snapshots.free_bytes), "f8"),
            "fragmentation_ratio": (snapshots.fragmentation_ratio, "f8"),
            "op": (snapshots.op, "i4"),
            "step": (results.steps.event_step[snapshots.event], "i4"),
            "region": (snapshots.region, "i4"),
            "dtype": (names.ids(dtype_name(code) for code in dtypes.tolist())[place], "i4"),
            "shape": (snapshots.shape, "i4"),
            "freed_at": (snapshots.freed_at, "i4"),
        }
    )


def iterator_call_table(results: Results) -> Table:
    """Every call of every tf.data iterator; `node` counts within the pipeline, as in the meta object.

    `root` is the row of the root call that it was made for (-1 where none was captured), of which it `is_blocking` when
    that one waited for it, for `wait_ps` of its own work; `is_startup` calls belong to the first execution of an epoch.
    """
    calls = results.input_pipeline.tf_data.calls
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
