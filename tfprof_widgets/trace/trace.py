"""`Trace`: all events of all planes as one frozen table of columns."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import without_controls
from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt64
from .capture_facts import clean_text
from .stats import KeyedStats, Stats, StatTable, StatTableBuilder

_PIECE_EVENTS = 2**17
_MAX_SMALL_DEPTH = 2**14
"""Deeper than this needs 32 bits; there is room above it, so that adding one to an int16 never wraps."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Nesting:
    """How events nest within their line; arrays of one entry per event, in the order of the input."""

    depth: npt.NDArray[np.int16] | Int32
    """Number of enclosing events; int16 unless events nest deeper than that holds."""
    parent: Int32
    """Row of the innermost enclosing event, -1 for the outermost."""
    span_ps: Int64
    """Its duration, cut where a later event starts inside it and outlives it: the part in which it can be on top."""
    self_ps: Int64
    """`span_ps` minus the `span_ps` of its direct children: at every instant one event of a line is charged."""

    def __post_init__(self) -> None:
        freeze((self.depth, self.parent, self.span_ps, self.self_ps))


def freeze(values: Iterable[object]) -> None:
    """Make the arrays among some values read-only."""
    for value in values:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


def nest(line_id: Int32, start_ps: Int64, duration_ps: Int64) -> Nesting:
    """Nest half-open intervals sorted by (line, start, longest first); an event that outlives its parent ends the
    parent's span. Differs from XProf: a child that ends with its parent, or overlaps its end, loses nothing (D4)."""
    n = len(line_id)
    depth, parent = np.empty(n, np.int16), np.empty(n, np.int32)
    span_ps, self_ps = duration_ps.view(), np.empty(n, np.int64)
    is_cut = False
    for rows in _pieces(line_id):
        part_depth, part_parent, part_span = _nest_lines(line_id[rows], start_ps[rows], duration_ps[rows])
        if part_depth.max() > _MAX_SMALL_DEPTH:
            depth = depth.astype(np.int32)
        depth[rows] = part_depth
        if part_span is not None:
            span_ps, is_cut = (span_ps if is_cut else span_ps.copy()), True
            span_ps[rows] = part_span
        has_parent = np.flatnonzero(part_parent >= 0)
        own = self_ps[rows]
        own[:] = span_ps[rows]
        np.subtract.at(own, part_parent[has_parent], span_ps[rows][has_parent])
        part_parent[has_parent] += rows.start
        parent[rows] = part_parent
    return Nesting(depth=depth, parent=parent, span_ps=span_ps, self_ps=self_ps)


def _pieces(line_id: Int32) -> list[slice]:
    """The rows cut between lines into pieces that fit in a cache."""
    if not len(line_id):
        return []
    ends = [*(np.flatnonzero(line_id[1:] != line_id[:-1]) + 1).tolist(), len(line_id)]
    pieces, low = [], 0
    for end, next_end in zip(ends, [*ends[1:], 2 * len(line_id) + _PIECE_EVENTS], strict=True):
        if next_end - low > _PIECE_EVENTS:
            pieces.append(slice(low, end))
            low = end
    return pieces


def _nest_lines(line_id: Int32, start_ps: Int64, duration_ps: Int64) -> tuple[Int32, Int32, Int64 | None]:
    """Depth, parent and span of the events of some lines; None for the span where it is the duration throughout."""
    start, end = _line_time_keys(line_id, start_ps, start_ps + duration_ps)
    depth, parent = _nested(start, end, duration_ps > 0)
    inner = np.flatnonzero(parent >= 0)
    outlives = inner[end[inner] > end[parent[inner]]]
    if not len(outlives):
        return depth, parent, None
    # Nothing reaches over an event at depth 0: what stands between two of them nests, or does not, by itself.
    stretch = np.cumsum(depth == 0)
    does_overlap = np.zeros(stretch[-1] + 1, np.bool_)
    does_overlap[stretch[outlives]] = True
    rows = np.flatnonzero(does_overlap[stretch])
    own_start, own_end, span_ps = start[rows], end[rows], duration_ps.copy()
    n = len(own_start)
    n_inside = np.searchsorted(own_start, own_end) - np.arange(n)
    by = _first_larger(own_end, int(n_inside.max()).bit_length())
    outlived = np.flatnonzero(np.append(own_start, _NEVER)[by] < own_end)
    by = by[outlived]
    span_ps[rows[outlived]] = start_ps[rows[by]] - start_ps[rows[outlived]]
    own_end[outlived] = own_start[by]
    depth[rows], own_parent = _nested(own_start, own_end, duration_ps[rows] > 0)
    parent[rows] = np.where(own_parent >= 0, rows[own_parent], -1)
    return depth, parent, span_ps


def _nested(start: Int64, end: Int64, can_enclose: npt.NDArray[np.bool_]) -> tuple[Int32, Int32]:
    """Depth and parent of events of which none outlives one that it starts in; of others where they start."""
    n_started: Int64 = np.cumsum(can_enclose) - can_enclose
    # Events without duration enclose nothing; leaving them out makes "ended by then" imply "came before".
    # Ends are nearly in order, of which only the stable sort makes use; so are most columns of times.
    n_ended = np.searchsorted(np.sort(end[can_enclose], kind="stable"), start, side="right")
    depth = (n_started - n_ended).astype(np.int32)
    return depth, _latest_one_level_up(depth, can_enclose)


def _first_larger(values: Int64, n_levels: int) -> Int64:
    """For each value the place of the first larger one among the next `2**n_levels`, else one beyond."""
    largest = [np.append(values, _NEVER)]
    for _ in range(n_levels):
        below = largest[-1] if len(largest[-1]) % 2 == 0 else np.append(largest[-1], _NEVER)
        largest.append(np.maximum(below[::2], below[1::2]))
    at = np.arange(1, len(values) + 1)

    def pass_by(level: int, rows: Int64) -> None:
        rows = rows[largest[level][at[rows] >> level] <= values[rows]]
        at[rows] += 1 << level

    for level in range(n_levels):
        pass_by(level, np.flatnonzero(at & ((2 << level) - 1) == 1 << level))
    for level in range(n_levels, -1, -1):
        pass_by(level, np.flatnonzero(at & ((1 << level) - 1) == 0))
    return at


def _line_time_keys(line_id: Int32, start_ps: Int64, end_ps: Int64) -> tuple[Int64, Int64]:
    """Start and end of each event as one int64 ordered by (line, time), so that an earlier line's ends come first."""
    if not len(start_ps):
        return start_ps, end_ps
    first, last = int(start_ps.min()), int(end_ps.max())
    width = last - first + 1
    line = line_id.astype(np.int64)
    if width * (int(line[-1]) + 1) < 2**63:
        base = line * width - first
        return base + start_ps, base + end_ps
    # Too wide to pack: order the times by their rank instead.
    times, rank = np.unique(np.concatenate([start_ps, end_ps]), return_inverse=True)
    base = line * len(times)
    return base + rank[: len(line)], base + rank[len(line) :]


def _latest_one_level_up(depth: Int32, can_enclose: npt.NDArray[np.bool_]) -> Int32:
    """Per event the last row before it one level up with a duration, or -1: the parent, or an event that it outlives."""
    n = len(depth)
    parent = np.full(n, -1, np.int32)
    enclosing = np.flatnonzero(can_enclose)
    enclosing = enclosing[np.argsort(depth[enclosing], kind="stable")]
    key = depth[enclosing].astype(np.int64) * n + enclosing
    inner = np.flatnonzero(depth > 0)
    inner = inner[np.argsort(depth[inner], kind="stable")]  # ascending queries keep searchsorted in cache
    found = np.searchsorted(key, (depth[inner].astype(np.int64) - 1) * n + inner) - 1
    parent[inner] = enclosing[found]
    return parent


StatValue = float | int | str | bytes

ALLOCATORS_PLANE = "Allocators"
"""Plane on which readers of the first profiler put the counters of allocators."""
DERIVED_LINE_BASE = -559038737
"""The id of the first derived line (0xdeadbeef as int32); Source: semantics 1.8."""
DERIVED_LINE_COUNT = 390


_FEW_NAMES = 8
"""Up to so many names are compared one by one, which is faster than a table."""

_MOST_SMALL = 2**15 - 1


class StatKind(IntEnum):
    """How `stat_bits` is to be read. The values are the field numbers of XStat's oneof."""

    DOUBLE = 2
    UINT64 = 3
    INT64 = 4
    STRING = 5
    """An index into `Trace.strings` (str_value, ref_value and compressed_str_value all end here)."""
    BYTES = 6
    """An index into `Trace.blobs`."""


@dataclass(frozen=True)
class Plane:
    """A host, or a device of one host: an element of `Trace.planes`."""

    name: str
    """Such as `/host:CPU` or `/device:GPU:0`."""
    host: str
    """The machine that it is of."""
    stats: dict[str, StatValue] = field(default_factory=dict)
    """What the profiler recorded of it, by name."""

    @property
    def is_host(self) -> bool:
        """Whether its lines are threads of a host CPU."""
        return self.name.startswith("/host:CPU")

    @property
    def is_device(self) -> bool:
        """Whether its lines are streams of an accelerator."""
        return self.name.startswith("/device:")


@dataclass(frozen=True)
class Line:
    """A thread of a host, or a stream of a device: an element of `Trace.lines`."""

    plane: int
    """Index into `Trace.planes`."""
    id: int
    """As the file has it."""
    name: str
    """Of the thread or stream."""
    display_name: str
    """What to show for it; empty where that is its name."""

    @property
    def is_derived(self) -> bool:
        """Whether the line was generated from others (`Steps`, `TensorFlow Ops`, ...): its time counts elsewhere."""
        low = (self.id + 2**31) % 2**32 - 2**31
        return DERIVED_LINE_BASE <= low < DERIVED_LINE_BASE + DERIVED_LINE_COUNT


@dataclass(frozen=True)
class Session:
    """One window in which the profiler ran: an element of `Trace.sessions`."""

    host: str
    """The machine on which it ran."""
    start_ps: int
    """Its begin, in ps after the trace origin."""
    stop_ps: int
    """Its end, likewise."""


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """All events as arrays, in the order of `Profile.events`: by plane, line and start, the longest first. `Profile.trace`
    gives it.

    It is for code that needs more than tables. Every array of events has length `n_events`; times are picoseconds after
    the trace origin. Texts live once, in `strings`, and arrays hold their places there. Arrays cannot be written to.

    Examples:
        >>> trace = prof.trace
        >>> longest = int(trace.duration_ps.argmax())
        >>> name = trace.strings[trace.name_id[longest]]
        >>> stats = trace.stats_of(longest)
    """

    planes: tuple[Plane, ...]
    """The hosts and devices."""
    lines: tuple[Line, ...]
    """The threads and streams of all of them."""
    sessions: tuple[Session, ...]
    """The windows in which the profiler ran."""
    origin_ns: int
    """Unix time of the trace origin, 0 where the file does not say."""
    strings: tuple[str, ...]
    """All texts: names, and values of stats."""
    blobs: tuple[bytes, ...]
    """All stats that are bytes."""

    start_ps: Int64
    """When each event began."""
    duration_ps: Int64
    """How long it took."""
    name_id: Int32
    """Its name: index into `strings`."""
    line_id: Int32
    """Its thread or stream: index into `lines`."""
    metadata_id: Int32 | npt.NDArray[np.uint16]
    """Its metadata, which events of one kind share: index into `display_name_id` and `metadata_stat_offsets`."""
    session_id: Int32
    """Its window: index into `sessions`. Ids in stats, such as `group_id`, are unique only within one."""
    n_occurrences: Int32
    """How often an aggregated event ran (`start_ps` is then the start of its line); 0 for a timed event."""

    stats: StatTable
    """The stats of all events, packed. Keys are indices into `strings`."""

    display_name_id: Int32
    """For each metadata row the text to show, -1 where there is none."""
    metadata_name_id: Int32
    """Likewise its name; rows may have no event, such as those that carry programs of XLA."""
    metadata_plane_id: Int32
    """Likewise the host or device whose it is, -1 for missing metadata."""
    metadata_stat_offsets: Int64
    """The stats of metadata row `i` are `metadata_stat_offsets[i]` to `metadata_stat_offsets[i + 1] - 1`."""
    metadata_stat_key: Int32
    """The name of each of these stats: index into `strings`."""
    metadata_stat_kind: UInt8
    """Its type."""
    metadata_stat_bits: UInt64
    """Its value, as 64 bits."""

    warnings: tuple[str, ...] = ()
    """What the profiler or the reader reported about this trace."""

    def __post_init__(self) -> None:
        freeze(getattr(self, column.name) for column in fields(self))

    def __repr__(self) -> str:
        return f"Trace({self.n_events} events, {len(self.lines)} lines, {len(self.planes)} planes)"

    @property
    def n_events(self) -> int:
        """How many events the trace holds."""
        return len(self.start_ps)

    @property
    def end_ps(self) -> Int64:
        """When each event ended, an array made anew each time; `ends` has it for some events."""
        end_ps = self.start_ps + self.duration_ps
        freeze((end_ps,))  # what is made when asked for must not look as if writing to it changed the trace
        return end_ps

    def ends(self, events: npt.NDArray[np.integer] | slice) -> Int64:
        """When some `events` ended (rows, or a slice of them), in ps after the trace origin."""
        return self.start_ps[events] + self.duration_ps[events]

    @cached_property
    def plane_id(self) -> npt.NDArray[np.int16]:
        """For each event its host or device: index into `planes`."""
        planes = np.array([line.plane for line in self.lines], np.int16)
        used = np.unique(planes[np.diff(self.line_offsets) > 0])
        if len(used) <= 1:  # no memory for what is the same everywhere
            return np.broadcast_to(used if len(used) else np.zeros(1, np.int16), self.n_events)
        return planes[self.line_id]

    @cached_property
    def line_offsets(self) -> Int64:
        """The events of `lines[k]` are rows `line_offsets[k]` to `line_offsets[k + 1] - 1`."""
        return np.searchsorted(self.line_id, np.arange(len(self.lines) + 1)).astype(np.int64)

    def on_lines(self, lines: Sequence[bool] | Bool) -> Bool:
        """For each event whether its thread or stream is chosen; `lines` has a flag for each of `Trace.lines`."""
        found = np.zeros(self.n_events, np.bool_)
        offsets = self.line_offsets.tolist()
        for line in np.flatnonzero(lines).tolist():  # as many turns as lines
            found[offsets[line] : offsets[line + 1]] = True
        return found

    def on_planes(self, planes: Sequence[bool] | Bool) -> Bool:
        """For each event whether its host or device is chosen; `planes` has a flag for each of `Trace.planes`."""
        return self.on_lines([bool(planes[line.plane]) for line in self.lines])

    def events_of_plane(self, plane: int) -> slice:
        """The rows of the events of one host or device, which follow each other; `plane` is an index into `planes`."""
        low, high = np.searchsorted(self.plane_id, [plane, plane + 1])
        return slice(int(low), int(high))

    @cached_property
    def nesting(self) -> Nesting:
        """Depth, parent and self time of every event within its line; an aggregated event encloses nothing."""
        aggregated = self.n_occurrences > 0
        duration_ps = np.where(aggregated, 0, self.duration_ps) if aggregated.any() else self.duration_ps
        return nest(self.line_id, self.start_ps, duration_ps)

    @property
    def depth(self) -> npt.NDArray[np.int16] | Int32:
        """How many events of the same thread or stream enclose each event."""
        return self.nesting.depth

    @cached_property
    def string_ids(self) -> dict[str, int]:
        """From a text to its place in `strings`."""
        return dict(zip(self.strings, range(len(self.strings)), strict=True))

    @cached_property
    def used_names(self) -> Int64:
        """The places in `strings` that name at least one event, ascending."""
        return np.flatnonzero(np.bincount(self.name_id, minlength=len(self.strings)))

    def names_matching(self, names: Sequence[str]) -> Bool:
        """For each event whether its name is exactly one of `names`."""
        ids = [self.string_ids[name] for name in dict.fromkeys(names) if name in self.string_ids]
        if len(ids) > _FEW_NAMES:
            return np.isin(self.name_id, ids)
        found = np.zeros(self.n_events, np.bool_)
        for id_ in ids:
            found |= self.name_id == id_
        return found

    def keyed_stats(self, key: str) -> KeyedStats:
        """All stats of one key: the event, kind and bits of each, in the order of the events; empty when none has it."""
        return self.stats.of_key(self.string_ids.get(key, -1))

    def has_stat(self, key: str) -> Bool:
        """For each event whether it carries a stat of the name `key`."""
        return self.stats.holds(self.string_ids.get(key, -1))

    def int_stat(self, key: str, *, default: int = 0, signed_only: bool = False) -> Int64:
        """A whole number that events carry as a stat of the name `key`, as an array: the last where there are two,
        `default` for none. With `signed_only` a number written without a sign is 0, as in XProf."""
        column = np.full(self.n_events, default, np.int64)
        found = self.keyed_stats(key)
        value = found.bits.view(np.int64)
        if signed_only:
            column[found.event] = np.where(found.kind == StatKind.INT64, value, 0)
        else:
            whole = (found.kind == StatKind.INT64) | (found.kind == StatKind.UINT64)
            column[found.event[whole]] = value[whole]
        return column

    def float_stat(self, key: str, *, default: float = np.nan) -> Float64:
        """The number that events carry as a stat of the name `key`; `default` where there is none, or another type."""
        column = np.full(self.n_events, default, np.float64)
        found = self.keyed_stats(key)
        real = found.kind == StatKind.DOUBLE
        column[found.event[real]] = found.bits[real].view(np.float64)
        return column

    def string_stat(self, key: str) -> Int32:
        """The text that events carry as a stat of the name `key`, as an array of places in `strings`; -1 where there is none."""
        column = np.full(self.n_events, -1, np.int32)
        found = self.keyed_stats(key)
        text = found.kind == StatKind.STRING
        column[found.event[text]] = found.bits[text].astype(np.int32)
        return column

    def metadata_stats_of(self, metadata: int) -> dict[str, StatValue]:
        """All stats of one kind of event by name, `metadata` as in `metadata_id`; of two with one name the later."""
        low, high = self.metadata_stat_offsets[metadata : metadata + 2]
        columns = (self.metadata_stat_key, self.metadata_stat_kind, self.metadata_stat_bits)
        rows = zip(*(column[low:high].tolist() for column in columns), strict=True)
        return {self.strings[key]: self._value(kind, bits) for key, kind, bits in rows}

    def stats_of(self, event: int) -> dict[str, StatValue]:
        """All stats of one `event`, a row, by name, those of its metadata first; of two with one name the later."""
        return self.stats_of_each(np.array([event]))[0]

    def stats_of_each(self, events: Int64) -> list[dict[str, StatValue]]:
        """The stats of some `events`, rows in any order: looked up together, which is much faster than one by one."""
        metadata = self.metadata_id[events].tolist()
        of_metadata = {row: self.metadata_stats_of(row) for row in set(metadata)}
        own = self.stats.of(events)
        ends = np.cumsum(own.n).tolist()
        columns = own.key.tolist(), own.kind.tolist(), own.bits.tolist()
        stats = [(self.strings[key], self._value(kind, bits)) for key, kind, bits in zip(*columns, strict=True)]
        spans = zip(metadata, [0, *ends], ends, strict=False)
        return [of_metadata[row] | dict(stats[low:high]) for row, low, high in spans]

    def _value(self, kind: int, bits: int) -> StatValue:
        return stat_value(kind, bits, self.strings, self.blobs)


def stat_value(kind: int, bits: int, strings: Sequence[str], blobs: Sequence[bytes]) -> StatValue:
    """What a stat holds, given the texts and blobs that its bits may point into."""
    if kind == StatKind.STRING:
        return strings[bits]
    if kind == StatKind.BYTES:
        return blobs[bits]
    if kind == StatKind.DOUBLE:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
    return bits - 2**64 if kind == StatKind.INT64 and bits >= 2**63 else bits


def small_int(n: int) -> type[np.int16] | type[np.int32]:
    """The type for the numbers below `n` and -1."""
    return np.int16 if n <= _MOST_SMALL else np.int32


MAX_PS = 2**60
"""Thirteen days: no time lies further from its trace's origin, so that sums of two times fit in an int64."""


_NAMES = (
    *("INVALID", "float", "double", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool"),
    *("qint8", "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128", "half", "resource"),
    *("variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz"),
    *("float8_e5m2fnuz", "int4", "uint4", "int2", "uint2", "float4_e2m1fn"),
)
_FIRST_REF = 100
ITEM_BYTES = {
    "bool": 1,
    "bfloat16": 2,
    **{f"{kind}{bits}": bits // 8 for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
    "complex64": 8,
    "complex128": 16,
}
"""Bytes of one element by the dtype's name; unknown for strings and the like."""

MISSING = -1
"""The code of an event without a `data_type` stat."""


def dtype_name(code: int) -> str:
    """Name of a `DataType` as `DataTypeString` prints it, "" for `MISSING`. Source: tensorflow/core/framework/types.proto."""
    if code == MISSING:
        return ""
    is_ref = code > _FIRST_REF
    value = code - _FIRST_REF if is_ref else code
    if not 0 <= value < len(_NAMES):
        return f"unknown dtype enum ({code})"
    return _NAMES[value] + ("_ref" if is_ref else "")


def dtype_number(name: str) -> int:
    """Number of a `DataType` by its name, as printed or as in files of text (`DT_FLOAT_REF`); 0 where there is none such."""
    plain = name.removeprefix("DT_").lower()
    is_ref = plain.endswith("_ref")
    plain = plain.removesuffix("_ref")
    return _NAMES.index(plain) + _FIRST_REF * is_ref if plain in _NAMES[1:] else 0


Column = npt.NDArray[Any]

_COLUMNS = {
    "start_ps": np.int64,
    "duration_ps": np.int64,
    "line_id": np.int32,
    "metadata_id": np.int32,
    "session_id": np.int32,
    "n_occurrences": np.int32,
}


@dataclass(frozen=True)
class EventTable:
    """The per-event columns of a `Trace`, and the stats of the events."""

    start_ps: Int64
    duration_ps: Int64
    line_id: Int32
    metadata_id: Int32
    session_id: Int32
    n_occurrences: Int32
    stats: StatTable


class EventTableBuilder:
    def __init__(self) -> None:
        self._blocks: dict[str, list[Column]] = {name: [] for name in _COLUMNS}
        self._stats = StatTableBuilder()

    def add(self, columns: Mapping[str, Column], *stats: Stats) -> None:
        """Append events: their columns, and their stats in one or more parts."""
        for name, column in columns.items():
            self._blocks[name].append(_lean(column.astype(_COLUMNS[name], copy=False)))
        for part in stats:
            self._stats.add(part)

    def table(self) -> EventTable:
        """All events in the order in which they were added; to be called once."""
        return EventTable(
            **{name: _united(self._blocks.pop(name), dtype) for name, dtype in _COLUMNS.items()},
            stats=self._stats.table(),
        )


def _lean(column: Column) -> Column:
    if len(column) and column[0] == column[-1] and (column == column[0]).all():
        return np.broadcast_to(column[0], len(column))
    return column


def _united(blocks: list[Column], dtype: type) -> Column:
    values = {int(block[0]) if block.strides == (0,) else None for block in blocks if len(block)}
    if len(values) == 1 and None not in values:
        return np.broadcast_to(dtype(values.pop()), sum(map(len, blocks)))
    return np.concatenate([np.empty(0, dtype), *blocks])


def in_order(table: EventTable) -> EventTable:
    """The table sorted by (line, start, longest first), stable; only lines out of order move."""
    line = table.line_id
    if not (line[1:] >= line[:-1]).all():
        table = _taken(table, np.argsort(line, kind="stable"))
        line = table.line_id
    start, duration = table.start_ps, table.duration_ps
    falls_back = start[1:] == start[:-1]
    falls_back &= duration[1:] > duration[:-1]
    falls_back |= start[1:] < start[:-1]
    falls_back &= line[1:] == line[:-1]
    wrong_lines = np.unique(line[1:][falls_back])
    if not len(wrong_lines):
        return table
    order = np.arange(len(line))
    first, last = np.searchsorted(line, wrong_lines), np.searchsorted(line, wrong_lines, side="right")
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        order[low:high] = low + np.lexsort((-duration[low:high], start[low:high]))
    return _taken(table, order)


def _taken(table: EventTable, order: Int64) -> EventTable:
    columns = {name: _moved(getattr(table, name), order) for name in _COLUMNS}
    return replace(table, stats=table.stats.taken(order), **columns)


def _moved(column: Column, order: Int64) -> Column:
    return column if column.strides == (0,) and len(order) == len(column) else column[order]


StatRow = tuple[int, int, int]
"""A key (an index into the texts), kind and bits."""


class _Numbers(dict[str, int]):
    def __init__(self, texts: list[str]) -> None:
        super().__init__((text, i) for i, text in enumerate(texts))
        self._texts = texts

    def __missing__(self, text: str) -> int:
        shown = without_controls(text)
        if shown != text:
            number = self[text] = self[shown]
            return number
        number = self[text] = len(self._texts)
        self._texts.append(text)
        return number


class StringTable:
    """The texts and blobs of one trace that is being made, each once. Index 0 is the empty text."""

    def __init__(self) -> None:
        self.texts: list[str] = [""]
        self.blobs: list[bytes] = []
        self._numbers = _Numbers(self.texts)
        self._blob_ids: dict[bytes, int] = {}

    def id_of(self, text: str) -> int:
        known = self._numbers.get(text)
        return self._numbers[clean_text(text)] if known is None else known

    def ids_of(self, texts: Iterable[str]) -> Int64:
        return np.array([self.id_of(text) for text in texts], np.int64)

    def blob_id(self, blob: bytes) -> int:
        known = self._blob_ids.setdefault(blob, len(self.blobs))
        if known == len(self.blobs):
            self.blobs.append(blob)
        return known

    def stat(self, name: str, value: StatValue, *, is_unsigned: bool = False) -> StatRow:
        """A stat of this name with a value; integers must fit 64 bits."""
        key = self.id_of(name)
        if isinstance(value, str):
            return key, StatKind.STRING, self.id_of(value)
        if isinstance(value, bytes):
            return key, StatKind.BYTES, self.blob_id(value)
        if isinstance(value, float):
            return key, StatKind.DOUBLE, struct.unpack("<Q", struct.pack("<d", value))[0]
        if value >= 2**63 or (is_unsigned and value >= 0):
            return key, StatKind.UINT64, value
        return key, StatKind.INT64, value % 2**64

    def value(self, kind: int, bits: int) -> StatValue:
        return stat_value(kind, bits, self.texts, self.blobs)


def stats_of_rows(rows: Sequence[Sequence[StatRow]]) -> Stats:
    """The stats of some events or metadata, given those of each, as columns."""
    columns = np.array([stat for own in rows for stat in own], object).reshape(-1, 3)
    return Stats(
        np.array([len(own) for own in rows], np.int64),
        columns[:, 0].astype(np.int32),
        columns[:, 1].astype(np.uint8),
        columns[:, 2].astype(np.uint64),
    )
