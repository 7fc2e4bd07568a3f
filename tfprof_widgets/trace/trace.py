"""Trace: all events of all planes as one frozen table of columns, with their stats beside it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .nesting import Nesting, freeze, nest
from .stat_table import KeyedStats, StatTable

Int32 = npt.NDArray[np.int32]
SmallInt = npt.NDArray[np.int16 | np.int32]
"""Small numbers of which each event has one, -1 for none: in 16 bits where they fit."""
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
UInt8 = npt.NDArray[np.uint8]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

StatValue = float | int | str | bytes

ALLOCATORS_PLANE = "Allocators"
"""Name of the plane on which readers of the first profiler put the counters of allocators."""
DERIVED_LINE_BASE = -559038737
"""The id of the first derived line (0xdeadbeef as int32); Source: semantics 1.8."""
DERIVED_LINE_COUNT = 390


_FEW_NAMES = 8
"""So many are looked for one by one, which is faster than a table."""

_MOST_SMALL = 2**15 - 1
"""So many are numbered in 16 bits."""


class StatKind(IntEnum):
    """How `stat_bits` is to be read. The values are the field numbers of XStat's oneof."""

    DOUBLE = 2
    """The IEEE 754 bits of a double."""
    UINT64 = 3
    INT64 = 4
    """Two's complement."""
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
    """What the profiler noted of it, by name."""

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
        """Make the columns read-only: every analysis and every view of the trace shares them."""
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
        """Depth, parent and self time of every event within its line.

        An aggregated event is nowhere on the time axis: it encloses nothing and has no self time.
        """
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
        """A whole number that events carry as a stat of the name `key`, as an array; of one that carries it twice the last
        counts.

        Events without it have the `default`. With `signed_only` a number that was written without a sign is 0, as in
        XProf.
        """
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
        """A number that events carry as a stat of the name `key`, as an array; `default` for those without it, or of
        another type.
        """
        column = np.full(self.n_events, default, np.float64)
        found = self.keyed_stats(key)
        real = found.kind == StatKind.DOUBLE
        column[found.event[real]] = found.bits[real].view(np.float64)
        return column

    def string_stat(self, key: str) -> Int32:
        """A text that events carry as a stat of the name `key`, as an array of places in `strings`; -1 where there is
        none.
        """
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
