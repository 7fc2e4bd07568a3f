"""Analysis -> the tables of a pack: what ran, its ops, events, flows and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from ..analysis.analysis import Analysis
from ..analysis.common import PS_PER_MS, hosts_of, unique_codes
from ..analysis.hosts.workers import Workers
from ..analysis.memory.memory import TIMELINE
from ..analysis.ops.kernels import Kernels
from ..analysis.ops.ops import rates_of
from ..analysis.ops.other import copy_rows
from ..analysis.ops.shares import FAMILIES, families, hlo_families, op_families
from ..analysis.steps.categories import STEP_CATEGORIES
from ..analysis.steps.steps import STEPS
from ..analysis.timeline import Flows, compute_flows
from ..analysis.xla.programs import leading_categories
from ..trace.arrays import Int32, Int64, UInt8, UInt64
from ..trace.building import whole_stats
from ..trace.stats import ranges
from ..trace.trace import StatKind, Trace, dtype_name
from .counters import Tiles, even_share
from .pack import PART_BYTES, Rows, Table, columns_of, pack_bytes

MAX_CHARACTERS = 1000
"""Of one string, as one of 100 MB would keep everything else waiting."""


_PART_CHARACTERS = 2**18
"""Of the first part, which comes with the first picture, some 64 KB, and some 4,000 names whose families are found."""


class Names:
    """The strings of a payload by id, the trace's first, with slice family and number of events; see `tell`."""

    def __init__(self, trace: Trace) -> None:
        self.cut = Cutter()
        """Cuts other strings of the same payload alike."""
        self._strings = self.cut.all(trace.strings)
        self._ids, self._added = trace.string_ids, dict[str, int]()
        self._of_column = dict[int, tuple[tuple[str, ...], Int64]]()
        """With the column, as its identity could be reused."""
        self._number: Int32 | None = None
        self._order: Int64 | None = None

    @property
    def n_rows(self) -> int:
        return len(self._strings)

    @property
    def n_characters(self) -> int:
        return sum(map(len, self._strings))

    def ids(self, texts: Iterable[str]) -> Int64:
        """The trace's id of each text, or a new one behind those."""
        texts = list(texts)
        found = np.fromiter(map(self._ids.get, texts, repeat(-1)), np.int64, len(texts))
        left = np.flatnonzero(found < 0)
        missing = [texts[row] for row in left.tolist()]
        new = [text for text in dict.fromkeys(missing) if text not in self._added]
        self._added.update(zip(new, range(self.n_rows, self.n_rows + len(new)), strict=True))
        self._strings += self.cut.all(new)
        found[left] = np.fromiter(map(self._added.__getitem__, missing), np.int64, len(missing))
        return found

    def ids_of(self, column: tuple[str, ...]) -> Int64:
        """`ids` of a column that is asked for again, found once."""
        known = self._of_column.get(id(column))
        if known is None:
            known = self._of_column[id(column)] = column, self.ids(column)
        return known[1]

    def put_first(self, wanted: Int64) -> None:
        """Number the names anew, those `wanted` (ids in order, repeated or not) first; nothing can be added from then on."""
        _, first = np.unique(wanted, return_index=True)
        head = wanted[np.sort(first)]
        is_left = np.ones(self.n_rows, np.bool_)
        is_left[head] = False
        self._order = np.concatenate([head, np.flatnonzero(is_left)])
        self._number = np.empty(self.n_rows, np.int32)
        self._number[self._order] = np.arange(self.n_rows, dtype=np.int32)

    def numbers(self, ids: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """The numbers that names have in the payload, from ids; -1 for none stays."""
        return ids if self._number is None else np.where(ids < 0, -1, self._number[ids])

    def tell(self, count: Int64, used: Int64, told: Mapping[int, int]) -> None:
        """Say of numbered names what travels with them."""
        self._count, self._told = count, told
        self._is_drawn = np.zeros(self.n_rows, np.bool_)
        self._is_drawn[: len(count)] = count > 0
        self._is_drawn[used] = True

    def texts(self, begin: int, end: int) -> list[str]:
        """The names from one number to before another."""
        if self._order is None:
            return self._strings[begin:end]
        return [self._strings[i] for i in self._order[begin:end].tolist()]

    def table(self, begin: int, end: int) -> Table:
        """Slice family and number of events of the names from one number to before another."""
        ids, count = np.arange(begin, end) if self._order is None else self._order[begin:end], self._count
        family = np.full(len(ids), FAMILIES.index("runtime"), np.uint8)
        chosen = np.flatnonzero(self._is_drawn[ids])
        family[chosen] = families([self._strings[i] for i in ids[chosen].tolist()])
        for i in np.flatnonzero(np.isin(ids, list(self._told))).tolist():
            family[i] = self._told[int(ids[i])]
        n_events = np.where(ids < len(count), count[np.minimum(ids, len(count) - 1)] if len(count) else 0, 0)
        return Table({"family": (family, "u1"), "count": (n_events, "u4")})

    @cached_property
    def _edges(self) -> list[int]:
        lengths = np.fromiter(map(len, self.texts(0, self.n_rows)), np.int64)
        part = np.cumsum(lengths + 3) // _PART_CHARACTERS
        return [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), self.n_rows]

    @property
    def n_parts(self) -> int:
        return len(self._edges) - 1

    def part(self, index: int) -> bytes:
        """One part: a pack with `first` and `names` in its meta object and the rows of the table `names` for those."""
        begin, end = self._edges[index : index + 2]
        return pack_bytes({"first": begin, "names": self.texts(begin, end)}, {"names": self.table(begin, end)})


class Cutter:
    """Cuts long strings, equal ones equally and different ones differently."""

    def __init__(self) -> None:
        self._cut: dict[str, str] = {}
        self._whole: dict[str, str] = {}
        self._n_alike: dict[str, int] = {}

    def __call__(self, text: str) -> str:
        """The text, or its beginning and how long it is."""
        if len(text) <= MAX_CHARACTERS:
            return text
        known = self._cut.get(text)
        if known is None:
            end = f"… ({len(text):,} characters)"
            first = text[:MAX_CHARACTERS] + end
            known, n = first, self._n_alike.get(first, 1)
            while known in self._whole:
                n += 1
                known = f"{text[:MAX_CHARACTERS]} #{n}{end}"
            self._cut[text], self._n_alike[first] = known, n
            self._whole[known] = text
        return known

    def whole(self, text: str) -> str:
        """The text that was cut to this one, or the same."""
        return self._whole.get(text, text)

    def all(self, texts: Iterable[str]) -> list[str]:
        found = [*texts]
        if max(map(len, found), default=0) > MAX_CHARACTERS:
            found = [self(text) for text in found]
        return found


def cut_texts(value: Any, cut: Callable[[str], str]) -> Any:
    """A JSON-safe value with every string in it cut; the keys of objects are our own."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, dict):
        return {key: cut_texts(item, cut) for key, item in value.items()}
    if isinstance(value, list):
        return [cut_texts(item, cut) for item in value]
    return value


_CATEGORIES_MS = " ".join(f"{category}_ms" for category in STEP_CATEGORIES)


def host_rows(trace: Trace) -> dict[str, int]:
    """The place of each host among the `hosts` of the meta object."""
    return {host: row for row, host in enumerate(hosts_of(trace))}


def step_table(results: Analysis, rows: Rows) -> Table:
    """One row per step; its categories in ms; its host as the meta object counts them."""
    frame = results.steps.frame
    hosts = host_rows(results.trace)
    return Table(
        {
            **columns_of(frame, rows, f8="start_ps duration_ps"),
            **columns_of(frame, rows, **STEPS.by_dtype),
            **columns_of(results.overview, rows, u1="is_averaged"),
            **columns_of(frame, rows, f8=_CATEGORIES_MS),
            "source": (frame["source"].to_numpy()[rows] == "inferred", "u1"),
            "host": (np.array([hosts.get(host, -1) for host in frame["host"].to_numpy()[rows]], np.int64), "i4"),
        }
    )


def piece_table(results: Analysis, rows: Rows) -> Table:
    """What each step was made of, in time order."""
    pieces = results.steps.pieces
    category = pieces["category"].cat.codes.to_numpy()[rows]
    return Table({**columns_of(pieces, rows, i4="step", f8="start_ps duration_ps"), "category": (category, "u1")})


def worker_step_table(workers: Workers, rows: Rows) -> Table:
    """One row per aligned step and host, by step: `host` in `worker_hosts`, `step` of the aligned, `row` in the steps table."""
    place = {host: i for i, host in enumerate(workers.hosts)}
    host = np.array([place[host] for host in workers.frame["host"].iloc[rows]], np.int64)
    others = columns_of(workers.frame, rows, i4="step row:own_step", f8=f"step_time_ms {_CATEGORIES_MS}")
    return Table({"host": (host, "i4"), **others})


def iterator_call_table(results: Analysis, rows: Rows) -> Table:
    """Every call of every tf.data iterator: `node` of the pipeline, `root` the row of its root call, `wait_ps` its own."""
    calls, iterators = results.tf_data.calls, results.input_pipeline.iterators
    pipeline = iterators["pipeline"].to_numpy(np.int64)
    order = np.argsort(pipeline, kind="stable")
    node = np.empty(len(order), np.int64)
    node[order] = np.arange(len(order)) - np.searchsorted(pipeline[order], pipeline[order])
    return Table(
        {
            **columns_of(calls, rows, i4="pipeline root:root_call", f8="start_ps duration_ps self_ps wait_ps"),
            **columns_of(calls, rows, u1="is_blocking is_startup"),
            "node": (node[calls["iterator"].to_numpy(np.int64)[rows]], "i4"),
        }
    )


def kernel_run_table(trace: Trace, kernels: Kernels, rows: Rows) -> Table:
    """Every execution of every kernel, so that the browser can add up any time range; of several hosts on which one."""
    events = kernels.run_event[rows]
    times = columns_of(trace, events, f8="start_ps duration_ps")
    return Table({**columns_of(kernels, rows, i4="kernel:run_kernel"), **times, **_host_column(trace, events)})


def copy_run_table(results: Analysis, rows: Rows) -> Table:
    """Every copy between host and devices: `copy` is a row of the list `copies`, `exposed_ps` without a kernel on its device."""
    trace, runs = results.trace, results.copy_runs.iloc[rows]
    events = runs["event"].to_numpy(np.int64)
    columns = {
        "copy": (copy_rows(results.copies, runs), "i4"),
        **columns_of(trace, events, f8="start_ps duration_ps"),
        "exposed_ps": (runs["exposed_time_ms"].to_numpy(np.float64) * PS_PER_MS, "f8"),
        "bytes": (runs["bytes"].to_numpy(np.int64), "f8"),
        "is_back": (runs["round_trips"].to_numpy(np.int64), "u1"),
        "is_steady": (np.append(results.is_averaged, False)[results.steps.event_step[events]], "u1"),
    }
    return Table({**columns, **_host_column(trace, events)})


def _host_column(trace: Trace, events: Int64) -> dict[str, tuple[npt.NDArray[Any], str]]:
    """The host of each event; nothing for a single one."""
    hosts = host_rows(trace)
    if len(hosts) < 2:
        return {}
    of_line = np.array([hosts[trace.planes[line.plane].host] for line in trace.lines], np.int64)
    return {"host": (of_line[trace.line_id[events]], "i4")}


AS_ALLOCATED = -2
"""The op of a release of which all else is that of its allocation, too, and stands only there."""


def memory_table(results: Analysis, names: Names, rows: Rows) -> Table:
    """Every allocation and deallocation, with the state of its allocator after it; `address` 0 where it is not known."""
    snapshots = results.memory.snapshots
    dtypes, place = unique_codes(snapshots.dtype[rows])
    dtype_names = names.numbers(names.ids(dtype_name(code) for code in dtypes.tolist()))
    texts: dict[str, npt.NDArray[np.integer]] = {
        key: names.numbers(getattr(snapshots, key)[rows]) for key in ("op", "region", "shape")
    }
    texts["dtype"] = dtype_names[place]
    sizes = columns_of(snapshots, rows, **TIMELINE.by_dtype)
    told = snapshots.as_allocated[rows]
    texts = {key: np.where(told, AS_ALLOCATED, numbers) for key, numbers in texts.items()}
    for key in ("requested_bytes", "allocation_bytes"):
        sizes[key] = np.where(told, 0, sizes[key][0]), sizes[key][1]
    is_known = (np.abs(snapshots.address) < 2**53) & ~(snapshots.is_free & snapshots.has_owner)
    return Table(
        {
            **columns_of(snapshots, rows, i4="allocator:allocator_id session:session_id freed_at", u1="is_free"),
            **columns_of(snapshots, rows, f8="time_ps capacity_bytes"),
            "taken_bytes": (np.nan_to_num(snapshots.taken_bytes[rows]), "f8"),
            "largest_free_bytes": (snapshots.rounded_piece_bytes[rows], "f8"),
            "address": (np.where(is_known, snapshots.address, 0)[rows].astype(np.float64), "f8"),
            **sizes,
            **{key: (numbers, "i4") for key, numbers in texts.items()},
            "step": (results.steps.event_step[snapshots.event[rows]], "i4"),
        }
    )


def op_table(results: Analysis, names: Names, rows: Rows) -> Table:
    """The framework ops: name, type, the family of their colour, where they ran, and whether they only wait."""
    shares = results.op_shares
    texts = {"name": shares.name, "type": shares.type}
    numbers = {key: (names.numbers(names.ids_of(column)[rows]), "i4") for key, column in texts.items()}
    family = op_families(
        np.array(shares.name, np.object_)[rows].tolist(), np.array(shares.type, np.object_)[rows].tolist()
    )
    flags = columns_of(shares, rows, u1="is_device is_eager only_waits")
    return Table({**numbers, "family": (family, "u1"), **flags})


def op_place_table(results: Analysis, rows: Rows) -> Table:
    """For each framework op its layer and source line as rows of the meta object's lists, `phase` and `line_phase`."""
    return Table(
        {
            **columns_of(results.layers, rows, i4="layer:op_entry", u1="phase:op_phase"),
            **columns_of(results.source_lines, rows, i4="line:op_entry", u1="line_phase:op_phase"),
        }
    )


def op_rates(results: Analysis) -> dict[str, npt.NDArray[np.float64]] | None:
    """For each framework op its rates over the whole capture, NaN where nothing is known; None where that is so for all."""
    rates = rates_of(results.op_sums)
    return None if all(np.isnan(one).all() for one in rates.values()) else rates


def occurrence_table(results: Analysis, rows: Rows, lines: npt.NDArray[np.int32]) -> Table:
    """Every execution of every unit: `line` is where its idle time counts, `execution` its number where one has several rows."""
    occurrences = results.occurrences
    columns = columns_of(occurrences, rows, i4="op parent", f8="start_ps duration_ps span_ps")
    columns["line"] = (lines[occurrences.lane_line[occurrences.lane[rows]]], "i4")
    if not occurrences.is_first.all():
        on_device = occurrences.is_device[occurrences.op[rows]]
        columns["execution"] = (np.where(on_device, occurrences.execution[rows], -1), "i4")
    return Table(columns)


def op_line_table(results: Analysis, rows: Rows, lines: npt.NDArray[np.int32]) -> Table:
    """What can be idle, a host thread or a whole device under its first line, and from where to where it was observed."""
    occurrences = results.occurrences
    observed = columns_of(
        occurrences, rows, u1="device:lane_is_device", f8="first_ps:lane_first_ps last_ps:lane_last_ps"
    )
    return Table({"line": (lines[occurrences.lane_line[rows]], "i4"), **observed})


def hlo_name_families(results: Analysis) -> dict[int, int]:
    """The slice family of each event name that stands for an HLO op: that of the op, its name says little."""
    occurrences = results.occurrences
    rows = np.flatnonzero(occurrences.op >= occurrences.n_ops)
    if not len(rows):
        return {}
    names, first = np.unique(results.trace.name_id[occurrences.event[rows]], return_index=True)
    found = hlo_unit_families(results, occurrences.op[rows[first]].astype(np.int64))
    return dict(zip(names.tolist(), found.tolist(), strict=True))


def hlo_unit_families(results: Analysis, units: Int64) -> npt.NDArray[np.uint8]:
    """The slice family of HLO ops, given as units."""
    table, shares = results.units, results.op_shares
    instructions = table.hlo.instruction[units - (len(table.name) - len(table.hlo))]
    told = [table.type[unit] for unit in units.tolist()]
    types = [shares.type[op] for op in shares.dominant[units].tolist()]
    return hlo_families(leading_categories(table.hlo.modules, instructions, told), types)


Columns = tuple[npt.NDArray[Any], ...]


class FlowTiles:
    """The flows of a capture by tile: a flow lies in the tile of its source and in that of its target."""

    def __init__(
        self, flows: Flows, *, position: npt.NDArray[np.integer], tile: npt.NDArray[np.integer], n_tiles: int
    ) -> None:
        source, target = position[flows.from_event], position[flows.to_event]
        sent = (source >= 0) & (target >= 0)
        source, target, kind = source[sent].astype(np.uint32), target[sent].astype(np.uint32), flows.kind[sent]
        source_tile, target_tile = tile[flows.from_event[sent]], tile[flows.to_event[sent]]
        self._out, self._out_offsets = _by_tile((source, target, kind), source_tile, n_tiles)
        self._in, self._in_offsets = _by_tile((target, source, kind), target_tile, n_tiles)

    def tables(self, tile: int) -> dict[str, Table]:
        """`flows_out` (`from, to, kind`, by `from`) and `flows_in` (`to, from, kind`, by `to`) of a tile; ends are positions."""
        out = _within(self._out, self._out_offsets, tile)
        into = _within(self._in, self._in_offsets, tile)
        return {
            "flows_out": Table({"from": (out[0], "u4"), "to": (out[1], "u4"), "kind": (out[2], "u1")}),
            "flows_in": Table({"to": (into[0], "u4"), "from": (into[1], "u4"), "kind": (into[2], "u1")}),
        }


def _by_tile(columns: Columns, tile: npt.NDArray[np.integer], n_tiles: int) -> tuple[Columns, npt.NDArray[np.int64]]:
    """Columns in the order of tiles, and each tile's begin; 16-bit keys make it a quick radix sort."""
    order = np.argsort(tile, kind="stable")
    return tuple(column[order] for column in columns), np.searchsorted(tile[order], np.arange(n_tiles + 1))


def _within(columns: Columns, offsets: npt.NDArray[np.int64], tile: int) -> Columns:
    """The rows of one tile, by the first column, then by the second."""
    own = tuple(column[offsets[tile] : offsets[tile + 1]] for column in columns)
    order = np.lexsort((own[1], own[0]))
    return tuple(column[order] for column in own)


_BLOCK_EVENTS = 2**18
_MAX_STATS = 300_000
"""Rows of one tile where many do not compress: 4 MiB of keys, kinds and values."""
_MOST_COUNTED = 2**16 - 1
"""Of one event, whose stats are counted in 16 bits."""


class EventTables:
    def __init__(self, results: Analysis, tiles: Tiles, names: Names) -> None:
        self._results, self._tiles, self._names = results, tiles, names

    @cached_property
    def _flows(self) -> FlowTiles:
        trace, positions, edges = self._results.trace, self._tiles.positions, self._tiles.edges_ps
        tile = np.empty(trace.n_events, np.uint16)
        for begin in range(0, trace.n_events, _BLOCK_EVENTS):  # by block, to spare memory
            starts = trace.start_ps[begin : begin + _BLOCK_EVENTS]
            tile[begin : begin + _BLOCK_EVENTS] = np.searchsorted(edges[1:-1], starts, side="right")
        # Not `results.flows`, which would be kept as well.
        flows = compute_flows(trace)
        return FlowTiles(flows, position=positions.of_trace_rows(trace.n_events), tile=tile, n_tiles=self._tiles.n)

    def at(self, positions: Int64) -> dict[str, tuple[np.ndarray, str]]:
        """Columns of the events at some positions, each with its main framework op, step and, if compiled, unit."""
        results, trace = self._results, self._results.trace
        rows = self._tiles.positions.order[positions]
        shares, unit = results.op_shares, results.event_unit[rows]
        columns: dict[str, tuple[np.ndarray, str]] = {
            **columns_of(trace, rows, f8="start_ps duration_ps"),
            **columns_of(trace.nesting, rows, f8="self_ps"),
            "name": (self._names.numbers(trace.name_id[rows]), "i4"),
            "op": (np.append(shares.dominant, np.int32(-1))[unit], "i4"),
            "step": (results.steps.event_step[rows], "i4"),
        }
        return columns if shares.is_identity else {**columns, "unit": (unit, "i4")}

    def tile(self, tile: int) -> dict[str, Table]:
        """`events` by position, `runs` (which rows they are of) and `flows_out` and `flows_in` of a tile."""
        low, high = self._tiles.bounds(tile)
        rows = np.flatnonzero(high > low)
        runs = {"row": (rows, "u4"), "first": (low[rows], "u4"), "n": ((high - low)[rows], "u4")}
        return {"events": Table(self.at(ranges(low, high - low))), "runs": Table(runs), **self._flows.tables(tile)}

    def stats(self, tile: int, *, most: int | None = None) -> dict[str, Table]:
        """`stats` of a tile's events in order and `stat_counts`; above a limit each event has its first ones, of `n_all`."""
        trace = self._results.trace
        events = self._tiles.positions.order[self._tiles.positions_in(tile)]
        stats = whole_stats(trace, events)
        n_all = stats.n
        n = np.minimum(n_all, _MOST_COUNTED if most is None else even_share(n_all, most, at_most=_MOST_COUNTED))
        rows = ranges(np.cumsum(n_all) - n_all, n)
        key, kind = stats.key[rows], stats.kind[rows]
        bits = self._bits(kind, stats.bits[rows])
        counts = {"n": (n, "u2")}
        if (n < n_all).any():
            counts["n_all"] = (n_all, "u4")
        return {
            "stats": Table({"key": (self._names.numbers(key), "i4"), "kind": (kind, "u1"), "bits": (bits, "u8")}),
            "stat_counts": Table(counts),
        }

    def part(self, tile: int) -> bytes:
        return pack_bytes({}, self.tile(tile))

    def stats_part(self, tile: int) -> bytes:
        """Their stats; where all are too much so few that they are small in any case."""
        packed = pack_bytes({}, self.stats(tile))
        return packed if len(packed) <= PART_BYTES else pack_bytes({}, self.stats(tile, most=_MAX_STATS))

    def _bits(self, kind: UInt8, bits: UInt64) -> UInt64:
        trace = self._results.trace
        texts = np.flatnonzero(kind == StatKind.STRING)
        bits[texts] = self._names.numbers(bits[texts].astype(np.int64)).astype(np.uint64)
        opaque = np.flatnonzero(kind == StatKind.BYTES)
        bits[opaque] = [len(trace.blobs[blob]) for blob in bits[opaque].tolist()]  # blobs are few
        return bits
