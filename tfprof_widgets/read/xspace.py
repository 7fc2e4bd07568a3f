"""The bytes of an XSpace file (`*.xplane.pb`) -> a `Trace`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import EmptyTraceError, TraceError
from ..trace.arrays import Int32, Int64, UInt8, UInt64
from ..trace.building import MetadataColumns, MetadataRow, assemble, joined_metadata, metadata_table, session_around
from ..trace.capture_facts import decoded
from ..trace.stats import Stats
from ..trace.trace import (
    MAX_PS,
    EventTable,
    EventTableBuilder,
    Line,
    Plane,
    Session,
    StatKind,
    StatValue,
    Trace,
    in_order,
)
from .protobuf import BYTES, PADDING, BytesContent, ByteView, Content, FramingError, MessageRows, fields, varint
from .xspace_events import (
    MAX_LINES,
    MAX_PLANES,
    EventBytes,
    RawStrings,
    StatFields,
    check_counts,
    check_start,
    event_columns,
    follow_events,
    joined_events,
    message_class,
    not_an_xspace,
    padded,
    parse_space,
    plain,
)

_PIECE_BYTES = 2**23
_EVENT = 0x22
"""The tag of an event in a line."""
_FIRST_FIELD = 0x08
"""An event begins with its metadata id."""
_RUN_UP_FIELDS = 32
_N_TRIES = 8
_EVENT_METADATA = 0x22
"""The tag of an entry of a plane's table of event metadata."""
_PLANES, _LINES, _EVENTS = 1, 3, 4


@dataclass
class LinePart:
    """A line whose events are still in the file."""

    content: Content
    pieces: list[tuple[int, int]]
    """Ranges of bytes, each a line message with some of the events."""
    id: int = 0
    name: bytes = b""
    timestamp_ns: int = 0
    display_name: bytes = b""
    n_events: int = 0

    def events(self) -> Iterator[EventBytes]:
        """The serialised events, piece by piece."""
        for begin, end in self.pieces:
            raw = self.content.read(begin, end)
            events = _followed(raw)
            yield joined_events(list(message_class("Line").FromString(raw).events)) if events is None else events


@dataclass
class PlanePart:
    """A plane whose events are still in the file."""

    message: Any
    """The Plane message without lines."""
    lines: list[LinePart] = field(default_factory=list)


@dataclass
class SpaceParts:
    message: Any
    """The Space message without planes."""
    planes: list[PlanePart] = field(default_factory=list)


def space_parts(content: Content) -> SpaceParts:
    """Find the planes and lines of a file."""
    from google.protobuf.message import DecodeError

    start = content.read(0, min(content.size, 8))
    check_start(start, content.size)
    try:
        parts = _space(content)
    except (FramingError, DecodeError):
        space = parse_space(content.read(0, content.size))
        space.DiscardUnknownFields()
        parts = _space(BytesContent(space.SerializeToString()))
    told = parts.message
    if not (any(map(_has_content, parts.planes)) or told.errors or told.warnings or told.hostnames):
        raise not_an_xspace(start, content.size)
    return parts


def _has_content(plane: PlanePart) -> bool:
    message = plane.message
    return bool(message.name or plane.lines or message.event_metadata or message.stats)


def _space(content: Content) -> SpaceParts:
    rest, ranges = _split(content, 0, content.size, _PLANES, MAX_PLANES)
    check_counts(len(ranges), 0)
    space = SpaceParts(message_class("Space").FromString(rest))
    n_lines = 0
    for begin, end in ranges:
        rest, lines = _split(content, begin, end, _LINES, MAX_LINES - n_lines)
        n_lines += len(lines)
        check_counts(len(ranges), n_lines)
        plane = PlanePart(message_class("Plane").FromString(rest), [_line(content, *line) for line in lines])
        space.planes.append(plane)
    return space


def _line(content: Content, begin: int, end: int) -> LinePart:
    line = LinePart(content, [])
    for piece_begin, piece_end, message in _line_pieces(content, begin, end):
        line.pieces.append((piece_begin, piece_end))
        line.n_events += len(message.events)
        line.id = message.id or line.id
        line.name = message.name or line.name
        line.timestamp_ns = message.timestamp_ns or line.timestamp_ns
        line.display_name = message.display_name or line.display_name
    return line


def _followed(raw: bytes) -> EventBytes | None:
    """The events of a line message whose events stand in one row; None where they may not."""
    try:
        first = _first_event(raw, 0)
        found = None if first is None else follow_events(raw, first)
        return found[0] if found is not None and _first_event(raw, found[1]) is None else None
    except FramingError:
        return None


def _first_event(raw: bytes, begin: int) -> int | None:
    """Place of the first event among the fields from `begin` on."""
    found = fields(BytesContent(raw), begin, len(raw))
    return next((start for number, kind, start, _, _ in found if number == _EVENTS and kind == BYTES), None)


def _line_pieces(content: Content, begin: int, end: int) -> Iterator[tuple[int, int, Any]]:
    """Ranges of bytes that hold whole fields of a line, each with its message."""
    while end - begin > _PIECE_BYTES:
        raw = content.read(begin, begin + _PIECE_BYTES)
        cut, message = _cut(raw)
        if not cut:
            break
        yield begin, begin + cut, message
        begin += cut
    yield begin, end, message_class("Line").FromString(content.read(begin, end))


def _cut(raw: bytes) -> tuple[int, Any]:
    """A place near the end of a line's beginning between two fields, 0 for none, and the message up to it."""
    from google.protobuf.message import DecodeError

    for attempt in range(1, _N_TRIES + 1):
        try:
            cut = _probable_end(raw, len(raw) - attempt * len(raw) // (4 * _N_TRIES))
            if cut:
                return cut, message_class("Line").FromString(raw[:cut])
        except (FramingError, DecodeError):
            continue
    return 0, None


def _probable_end(raw: bytes, at: int) -> int:
    """Where a walk over fields from what looks like an event comes by; 0 where it gets lost."""
    at = raw.find(_EVENT, at)
    while at >= 0 and raw[at + 2 : at + 3] != bytes([_FIRST_FIELD]):
        at = raw.find(_EVENT, at + 1)
    for _ in range(_RUN_UP_FIELDS):
        if at < 0 or at + 6 > len(raw) or raw[at] != _EVENT:
            return 0
        length, begin = varint(raw, at + 1)
        at = begin + length
    return at if 0 < at <= len(raw) else 0


def _split(content: Content, begin: int, end: int, number: int, most: int) -> tuple[bytes, list[tuple[int, int]]]:
    """The joined fields of a message other than this number, and the ranges of those of it, no more than one beyond `most`."""
    others: list[tuple[int, int]] = []
    wanted = []
    for field_number, wire_type, start, first, last in fields(content, begin, end, rows_of=_EVENT_METADATA):
        if field_number == number and wire_type == BYTES:
            wanted.append((first, last))
            if len(wanted) > most:
                break
        elif others and others[-1][1] == start:
            others[-1] = others[-1][0], last
        else:
            others.append((start, last))
    return b"".join(content.read(*other) for other in others), wanted


_LOOKS_ABSOLUTE_NS = 10**15
"""Eleven days: a line timestamp beyond it counts from 1970, not from the start of a capture."""


@dataclass(frozen=True)
class Clock:
    origin_ns: int
    """Unix time; 0 where the file does not say."""
    stop_ps: int | None
    """End of the session after the origin; None where the file does not say."""

    def line_start_ps(self, timestamp_ns: int) -> int:
        """A line's timestamp as picoseconds after the origin; producers make only those after the session's start relative."""
        is_absolute = self.origin_ns > _LOOKS_ABSOLUTE_NS and timestamp_ns > _LOOKS_ABSOLUTE_NS
        return (timestamp_ns - self.origin_ns if is_absolute else timestamp_ns) * 1000


def read_clock(planes: Sequence[PlanePart], environment: dict[str, StatValue]) -> Clock:
    """The clock of a space. Source: semantics 1.3."""
    start, stop = environment.get("profile_start_time"), environment.get("profile_stop_time")
    if isinstance(start, int) and 0 < start < 2**63:  # a start that no clock can show is not one
        duration_ps = (stop - start) * 1000 if isinstance(stop, int) and stop >= start else None
        return Clock(start, None if duration_ps is None else min(duration_ps, MAX_PS))
    timestamps = [line.timestamp_ns for plane in planes for line in plane.lines if line.n_events]
    absolute = [timestamp for timestamp in timestamps if timestamp > _LOOKS_ABSOLUTE_NS]
    return Clock(min(absolute), None) if absolute else Clock(0, None)


REF = 7


class IdMap:
    """int64 ids of a file -> small ints; ids that are not in the map give `default`."""

    def __init__(self, ids: Int64, values: Int32, *, default: int) -> None:
        """Of several values of an id the last counts; dense ids give a direct table, others a sorted one."""
        self._default = default
        order = np.argsort(ids, kind="stable")
        ids, values = ids[order], values[order]
        is_last = np.append(ids[1:] != ids[:-1], True)[: len(ids)]
        ids, values = ids[is_last], values[is_last]
        self._is_dense = len(ids) > 0 and ids[0] >= 0 and int(ids[-1]) < 8 * len(ids) + 4096
        if self._is_dense:
            self._table = np.full(int(ids[-1]) + 1, default, np.int32)
            self._table[ids] = values
        else:
            self._ids, self._table = ids, values

    def of(self, ids: Int64) -> Int32:
        if not len(self._table):
            return np.full(len(ids), self._default, np.int32)
        if self._is_dense:
            # Seen as unsigned a negative id is a large one.
            if int(ids.view(np.uint64).max(initial=0)) < len(self._table):
                return self._table.take(ids)
            known = (ids >= 0) & (ids < len(self._table))
            return np.where(known, self._table[np.where(known, ids, 0)], self._default).astype(np.int32)
        slot = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[slot] == ids, self._table[slot], self._default).astype(np.int32)


class Entries(MessageRows):
    """The entries of a metadata map: of each its id, where its texts lie, and its stats; ids as they stand in the file."""

    def __init__(self, messages: EventBytes) -> None:
        super().__init__(ByteView(messages.raw), messages.begin, messages.end)
        self.id = self.varint(0x08)
        value = MessageRows(self.view, *self.content(0x12))
        self.finish()
        value.varint(0x08)  # the id once more
        self.name = value.content(0x12)
        value.content(0x1A)  # of an event what only its profiler reads, of a stat its description
        self.display_name = value.content(0x22)
        stats = value.repeated(0x2A)
        value.finish()
        self.stats = StatFields(self.view, *stats)
        self.is_irregular |= value.is_irregular
        self.is_irregular[self.stats.owners()[~self.stats.is_regular]] = True


def _entries(raw: Sequence[bytes], kind: str) -> Entries:
    messages = padded(list(raw))
    found = Entries(messages)
    irregular = np.flatnonzero(found.is_irregular)
    return Entries(plain(messages, irregular, kind)) if len(irregular) else found


def event_metadata(
    plane: int, raw: Sequence[bytes], first_row: int, stat_names: IdMap, strings: RawStrings
) -> tuple[MetadataColumns, IdMap]:
    """A plane's event metadata as rows from `first_row` on, and the row of each id (the last entry of an id counts)."""
    entries = _entries(raw, "EventMetadataEntry")
    stats, shown = entries.stats, entries.display_name
    stats.intern(strings)
    kind, bits = resolved_columns(stats.kind, stats.bits, stat_names)
    name, shown_name = (strings.text_ids(entries.view, begin, end - begin) for begin, end in (entries.name, shown))
    return MetadataColumns(
        name_id=name.astype(np.int32),
        plane_id=np.full(len(name), plane, np.int32),
        display_name_id=np.where(shown[1] > shown[0], shown_name, -1).astype(np.int32),
        stats=Stats(stats.n_stats, stat_names.of(stats.key), kind, bits),
    ), IdMap(entries.id, np.arange(first_row, first_row + len(name), dtype=np.int32), default=0)


def stat_name_map(raw: Sequence[bytes], strings: RawStrings) -> IdMap:
    """A plane's stat metadata: the text of each id, as an index into the string table."""
    entries = _entries(raw, "StatMetadataEntry")
    begin, end = entries.name
    return IdMap(entries.id, strings.text_ids(entries.view, begin, end - begin).astype(np.int32), default=0)


def plane_stats(raw: Sequence[bytes], stat_names: IdMap, strings: RawStrings) -> dict[str, StatValue]:
    """A plane's own stats, of several of a name the last."""
    messages = padded(list(raw))
    n = np.array([len(raw)], np.int64)
    stats = StatFields(ByteView(messages.raw), n, messages.begin, messages.end)
    irregular = np.flatnonzero(~stats.is_regular)
    if len(irregular):
        messages = plain(messages, irregular, "Stat")
        stats = StatFields(ByteView(messages.raw), n, messages.begin, messages.end)
    stats.intern(strings)
    kind, bits = resolved_columns(stats.kind, stats.bits, stat_names)
    last = {key: row for row, key in enumerate(stat_names.of(stats.key).tolist())}
    return {strings.texts[key]: strings.value(int(kind[row]), int(bits[row])) for key, row in last.items()}


def resolved_columns(kind: UInt8, bits: UInt64, stat_names: IdMap) -> tuple[UInt8, UInt64]:
    """Kind and bits of stats with references turned into indices of the string table, in place."""
    rows = np.flatnonzero(kind == REF)
    bits[rows] = stat_names.of(bits[rows].view(np.int64)).astype(np.uint64)
    kind[rows] = StatKind.STRING
    return kind, bits


_BLOCK_EVENTS = 2**14
"""Events of lines decoded together: enough against NumPy's overhead, few enough for small temporary arrays."""

_Block = list[tuple[int, int, EventBytes]]
"""Serialised events of some lines of one plane: the number of the line, when it starts, and its events."""


def read_xspace(data: bytes | Content, *, host: str = "", source: str = "") -> Trace:
    """Read an XSpace. Source: semantics 1.1-1.4."""
    where = source or "The trace"
    content = BytesContent(data) if isinstance(data, bytes) else data
    if not content.size:
        raise EmptyTraceError(f"{where} is empty (0 bytes): the capture wrote nothing. Capture again.")
    try:
        reader = _Reader()
        reader.read(space_parts(content), host)
        return reader.trace()
    except TraceError as error:
        raise type(error)(f"{where}: {error}") from error.__cause__


class _Reader:
    def __init__(self) -> None:
        self.strings = RawStrings()
        self.metadata = [metadata_table([MetadataRow(-1, 0)])]
        """The first row stands for ids that no plane knows."""
        self.columns = EventTableBuilder()
        self.planes: list[Plane] = []
        self.lines: list[Line] = []
        self.n_out_of_range = 0
        self.host = ""
        self.warnings: tuple[str, ...] = ()

    def read(self, space: SpaceParts, host: str) -> None:
        texts = {
            name: tuple(map(decoded, getattr(space.message, name))) for name in ("hostnames", "errors", "warnings")
        }
        self.host = host or (texts["hostnames"][0] if texts["hostnames"] else "")
        self.warnings = texts["errors"] + texts["warnings"]
        stat_names = [stat_name_map(plane.message.stat_metadata, self.strings) for plane in space.planes]
        for plane, names in zip(space.planes, stat_names, strict=True):
            stats = plane_stats(plane.message.stats, names, self.strings)
            self.planes.append(Plane(decoded(plane.message.name), self.host, stats))
        environment = next((plane.stats for plane in self.planes if plane.name == "Task Environment"), {})
        self.clock = read_clock(space.planes, environment)
        for i, (plane, names) in enumerate(zip(space.planes, stat_names, strict=True)):
            n_rows = sum(len(one.name_id) for one in self.metadata)
            metadata, metadata_rows = event_metadata(i, plane.message.event_metadata, n_rows, names, self.strings)
            self.metadata.append(metadata)
            for block in self._blocks(i, plane):
                self._take_up(block, plane, metadata_rows, names)

    def _blocks(self, index: int, plane: PlanePart) -> Iterator[_Block]:
        """The events of a plane, some lines or a part of a line at a time; takes up its lines on the way."""
        line_of_id: dict[int, int] = {}
        block, n_events = _Block(), 0
        for line in plane.lines:
            line_id = line_of_id.setdefault(line.id, len(self.lines))
            if line_id == len(self.lines):
                self.lines.append(Line(index, line.id, decoded(line.name), decoded(line.display_name)))
            start_ps = self.clock.line_start_ps(line.timestamp_ns)
            if abs(start_ps) > MAX_PS:
                self.n_out_of_range += line.n_events
            start_ps = max(-MAX_PS, min(start_ps, MAX_PS))
            for events in line.events():
                for first in range(0, len(events), _BLOCK_EVENTS):
                    block.append((line_id, start_ps, events.part(first, min(first + _BLOCK_EVENTS, len(events)))))
                    n_events += len(block[-1][2])
                    if n_events >= _BLOCK_EVENTS:
                        yield block
                        block, n_events = _Block(), 0
        if n_events:
            yield block

    def _take_up(self, block: _Block, plane: PlanePart, metadata_rows: IdMap, names: IdMap) -> None:
        try:
            events = event_columns(_joined(block), self.strings)
        except TraceError as error:
            where = f"plane {decoded(plane.message.name)!r}, lines {[line_id for line_id, _, _ in block]}"
            raise TraceError(f"{where}: {error}") from error.__cause__
        n_events = [len(part) for _, _, part in block]
        line_id = np.repeat(np.array([line_id for line_id, _, _ in block], np.int32), n_events)
        line_start = np.repeat(np.array([start_ps for _, start_ps, _ in block], np.int64), n_events)
        stats = events.stats
        kind, bits = resolved_columns(stats.kind, stats.bits, names)
        self.columns.add(
            {
                "start_ps": line_start + self._in_range(events.offset_ps, low=-MAX_PS),
                "duration_ps": self._in_range(events.duration_ps, low=0),
                "line_id": line_id,
                "metadata_id": metadata_rows.of(events.metadata_id),
                "session_id": np.zeros(len(line_id), np.int32),
                "n_occurrences": np.clip(events.n_occurrences, 0, 2**31 - 1).astype(np.int32),
            },
            Stats(stats.n_stats, names.of(stats.key), kind, bits),
        )

    def _in_range(self, times_ps: Int64, *, low: int) -> Int64:
        """The times, those beyond what a trace can hold moved to its end and counted."""
        if not len(times_ps) or (times_ps.min() >= low and times_ps.max() <= MAX_PS):
            return times_ps
        clipped = np.clip(times_ps, low, MAX_PS)
        self.n_out_of_range += int(np.count_nonzero(clipped != times_ps))
        return clipped

    def trace(self) -> Trace:
        table = in_order(self.columns.table())
        warnings = self.warnings
        if self.n_out_of_range:
            warnings += (f"{self.n_out_of_range} times were negative or over 13 days long and were cut to that range.",)
        return assemble(
            table,
            joined_metadata(self.metadata),
            planes=self.planes,
            lines=self.lines,
            sessions=(_session(self.host, self.clock, table),),
            origin_ns=self.clock.origin_ns,
            strings=self.strings.texts,
            blobs=self.strings.blobs,
            warnings=warnings,
        )


def _joined(block: _Block) -> EventBytes:
    """All events one after the other, and `PADDING`."""
    before = np.cumsum([0, *(len(part.raw) for _, _, part in block)]).tolist()
    return EventBytes(
        b"".join([*(part.raw for _, _, part in block), PADDING]),
        np.concatenate([part.begin + n for (_, _, part), n in zip(block, before, strict=False)]),
        np.concatenate([part.end + n for (_, _, part), n in zip(block, before, strict=False)]),
    )


def _session(host: str, clock: Clock, table: EventTable) -> Session:
    """The profiler's window of the events, else their own."""
    return Session(host, 0, clock.stop_ps) if clock.stop_ps is not None else session_around(table, host)
