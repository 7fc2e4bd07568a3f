"""The bytes of an XSpace line -> its events as columns, followed at a thousand places at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import TraceError
from ..trace.arrays import Int64, UInt8
from ..trace.capture_facts import GZIP, MAX_DOCUMENT_BYTES, decoded, unpacked
from ..trace.trace import StatKind, StringTable
from .protobuf import PADDING, ByteView, MessageRows, Messages, describe_damage

_EVENT = 0x22
"""The tag of an event in a line."""
_FIRST_FIELD = 0x08
"""An event begins with its metadata id."""
_OFFSET = 0x10
"""What follows it."""
_CONTINUED = 0x80
"""From this on a byte of a length is followed by another one."""
_NOWHERE = 2**40
_CHAIN_BYTES = 2**11
_LOOKED_AT = 2**8
"""Bytes of each chain in which its first event is looked for."""
_MOST_ROUNDS = 2**13
"""A chain of more events is one that found no other to end at, and protobuf is faster than it."""
_ID_BYTES = 4
"""Ids up to so many bytes are found: those of 268 million metadata."""
_MIN_BYTES = 2**20
"""Of less, protobuf is faster."""
_RUN_UP = 8
"""A chain of fields can be entered anywhere: a walk that starts wrong soon falls in step with it, or gets lost."""


@dataclass(frozen=True)
class EventBytes:
    """Serialised events, in order: event `i` is `raw[begin[i]:end[i]]`."""

    raw: bytes
    begin: Int64
    end: Int64

    def __len__(self) -> int:
        return len(self.begin)

    def part(self, first: int, last: int) -> EventBytes:
        low = int(self.begin[first])
        return EventBytes(
            self.raw[low : int(self.end[last - 1])], self.begin[first:last] - low, self.end[first:last] - low
        )


def joined_events(parts: list[bytes]) -> EventBytes:
    end = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    return EventBytes(b"".join(parts), np.append(0, end[:-1])[: len(parts)], end)


def padded(parts: list[bytes]) -> EventBytes:
    """Messages that are there one by one, their bytes followed by `PADDING`."""
    joined = joined_events([*parts, PADDING])
    return EventBytes(joined.raw, joined.begin[:-1], joined.end[:-1])


def follow_events(raw: bytes, first: int) -> tuple[EventBytes, int] | None:
    """The events in a row from `first` on, and its end: chains of which each ends where the next begins."""
    if len(raw) - first < _MIN_BYTES:
        return None
    octets = np.frombuffer(raw, np.uint8)
    at = _starts(octets, first, len(raw))
    stop, tags, ends = np.append(at[1:], len(raw)), [], []
    row_end = len(raw)
    for _ in range(_MOST_ROUNDS):  # as many as there are events in the longest chain
        if not len(at):
            break
        end = _ends(octets, at)
        lost = np.flatnonzero(end > stop)
        if len(lost):
            if stop[lost[0]] < len(raw):
                return None
            row_end = int(at[-1])  # the last chain ends with the row
            at, stop, end = at[:-1], stop[:-1], end[:-1]
        tags.append(at)
        ends.append(end)
        is_open = end < stop
        at, stop = (end, stop) if is_open.all() else (end[is_open], stop[is_open])
    if len(at):
        return None
    begin, end = (np.sort(np.concatenate(each), kind="stable") for each in (tags, ends))
    begin += 2
    begin += octets.take(begin - 1) >= _CONTINUED
    return EventBytes(raw, begin, end), row_end


def _starts(octets: UInt8, first: int, last: int) -> Int64:
    """Places that are probably events, ascending; the first one is `first`."""
    n = (last - first) // _CHAIN_BYTES - 1  # a chain begins in each stretch of so many bytes but the first and last
    begin = first + _CHAIN_BYTES
    stretch = octets[begin : begin + n * _CHAIN_BYTES].reshape(n, _CHAIN_BYTES)[:, :_LOOKED_AT]
    n_looked = _LOOKED_AT - _ID_BYTES - 3
    octet = [stretch[:, k : k + n_looked] for k in range(_ID_BYTES + 4)]
    looks_like = (octet[0] == _EVENT) & (octet[2] == _FIRST_FIELD)
    # The offset comes after the id. Stats look alike but for this: they have no such field.
    is_offset = octet[-1] == _OFFSET
    for k in range(_ID_BYTES + 1, 2, -1):
        is_offset = np.where(octet[k] < _CONTINUED, octet[k + 1] == _OFFSET, is_offset)
    looks_like &= is_offset
    at = np.flatnonzero(looks_like.any(axis=1))
    at = begin + at * _CHAIN_BYTES + looks_like[at].argmax(axis=1)
    for _ in range(_RUN_UP):
        at = _ends(octets, at)
        at = at[at < last]
    return np.append(first, np.unique(at[octets.take(at) == _EVENT]))


def _ends(octets: UInt8, at: Int64) -> Int64:
    """The end of the event at each place; beyond everything for none, or one whose length takes 3 bytes."""
    # At the end of the bytes the last one is read again: such an event reaches beyond them in any case.
    length = octets.take(at + 1, mode="clip")
    end = at + 2
    end += length
    wide = np.flatnonzero(length >= _CONTINUED)
    if len(wide):
        high = octets.take(at[wide] + 2, mode="clip").astype(np.int64)
        end[wide] += np.where(high < _CONTINUED, (high << 7) - _CONTINUED + 1, _NOWHERE)
    is_event = octets.take(at) == _EVENT
    if not is_event.all():
        end[~is_event] = _NOWHERE
    return end


MAX_BYTES = 2**31 - 1
MAX_PLANES = 10_000
"""A plane is a host or a device."""
MAX_LINES = 250_000
"""A line is a thread or a stream, and costs a Python object."""

_MESSAGES = Messages(
    "tfprof_widgets.columns",
    """
Stat: metadata_id 1 int64, double_value 2 double oneof, uint64_value 3 uint64 oneof, int64_value 4 int64 oneof,
    str_value 5 bytes oneof, bytes_value 6 bytes oneof, ref_value 7 uint64 oneof,
    compressed_str_value 8 bytes oneof
Event: metadata_id 1 int64, offset_ps 2 int64 oneof, duration_ps 3 int64, stats 4 Stat repeated,
    num_occurrences 5 int64 oneof
EventMetadata: name 2 bytes, display_name 4 bytes, stats 5 Stat repeated
StatMetadata: name 2 bytes
EventMetadataEntry: key 1 int64, value 2 EventMetadata
StatMetadataEntry: key 1 int64, value 2 StatMetadata
Line: id 1 int64, name 2 bytes, timestamp_ns 3 int64, events 4 bytes repeated, display_name 11 bytes
Plane: name 2 bytes, lines 3 Line repeated, event_metadata 4 bytes repeated, stat_metadata 5 bytes repeated,
    stats 6 bytes repeated
Space: planes 1 Plane repeated, errors 2 bytes repeated, warnings 3 bytes repeated, hostnames 4 bytes repeated
""",
)
"""A map is on the wire a repeated pair. Those of a plane stay bytes, and so do its stats: they may be as many as events."""


def message_class(name: str) -> Any:
    """The protobuf class of one message of the schema: `Space`, `Event`, ..."""
    return _MESSAGES[name]


def parse_space(data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message_class("Space").FromString(data)
    except DecodeError as error:
        raise TraceError(f"Not a whole XSpace: {describe_damage(data)}") from error


def check_start(start: bytes, size: int) -> None:
    """Refuse what protobuf need not look at, by its first bytes or its size."""
    if start.startswith(GZIP):
        raise TraceError("It is compressed by gzip: give the path (tfprof.load unpacks *.gz), or unpack it first.")
    if size > MAX_BYTES:
        raise TraceError(f"It has {size} bytes, more than {MAX_BYTES}, protobuf's limit. Capture fewer steps.")


def check_counts(n_planes: int, n_lines: int) -> None:
    """Refuse more planes or lines than any profiler writes."""
    if n_planes > MAX_PLANES or n_lines > MAX_LINES:
        what = f"{MAX_LINES:,} lines" if n_planes <= MAX_PLANES else f"{MAX_PLANES:,} planes"
        raise TraceError(f"The trace holds more than {what}: no profiler writes that. Capture it again.")


def not_an_xspace(start: bytes, size: int) -> TraceError:
    """The error for what parses by chance: protobuf takes any field it does not know."""
    return TraceError(
        f"Not an XSpace: {size} bytes that start with {start[:8].hex(' ')} hold no plane. Is it an *.xplane.pb file?"
    )


def plain(messages: EventBytes, rows: Int64, kind: str) -> EventBytes:
    """Serialised messages of a kind (`Event`, ...), some rows as protobuf writes them: known fields in order, each once."""
    parts = [messages.raw[low:high] for low, high in zip(messages.begin.tolist(), messages.end.tolist(), strict=True)]
    for row in rows.tolist():
        parts[row] = _plain_message(parts[row], row, kind)
    return padded(parts)


def _plain_message(content: bytes, row: int, kind: str) -> bytes:
    from google.protobuf.message import DecodeError

    try:
        message = message_class(kind).FromString(content)
    except DecodeError as error:
        raise TraceError(
            f"{kind} {row} ({len(content)} bytes: {content[:16].hex(' ')}) is not an X{kind}: {error}."
        ) from error
    message.DiscardUnknownFields()
    return bytes(message.SerializeToString())


MAX_COMPRESSED_TEXT_BYTES = MAX_DOCUMENT_BYTES
"""Of the compressed strings of one trace together; beyond it lies a decompression bomb."""


class RawStrings(StringTable):
    """Texts and blobs of one trace, each once, as they stand in the file."""

    def __init__(self) -> None:
        super().__init__()
        self._n_unpacked = 0

    def text_id(self, raw: bytes) -> int:
        return self._numbers[decoded(raw)]

    def compressed_text_id(self, raw: bytes) -> int:
        try:
            text = unpacked(raw, MAX_COMPRESSED_TEXT_BYTES - self._n_unpacked)
        except TraceError as error:
            raise TraceError(
                f"A compressed string of {len(raw)} bytes is not gzip, or with those before it more than "
                f"{MAX_COMPRESSED_TEXT_BYTES} bytes, the limit: {error}. Capture fewer steps."
            ) from error
        self._n_unpacked += len(text)
        return self.text_id(text)

    def text_ids(self, view: ByteView, at: Int64, length: Int64) -> Int64:
        found = np.zeros(len(at), np.int64)
        rows = np.flatnonzero(length)
        if len(rows):
            content = view.content.decode("latin-1")  # a character for each byte: cut into texts, without bytes first
            ends = zip(at[rows].tolist(), (at[rows] + length[rows]).tolist(), strict=True)
            raws = [content[low:high] for low, high in ends]
            texts = [raw if raw.isascii() else decoded(raw.encode("latin-1")) for raw in raws]
            found[rows] = np.fromiter(map(self._numbers.__getitem__, texts), np.int64, len(texts))
        return found


_COMPRESSED = 8
_UNSET = 4  # a stat without a value reads as the int64 0
_NOT_A_VALUE = 255

_KIND_OF_TAG = np.full(256, _NOT_A_VALUE, np.uint8)
for _tag, _kind in ((0x11, 2), (0x18, 3), (0x20, 4), (0x2A, 5), (0x32, 6), (0x38, 7), (0x42, 8)):
    _KIND_OF_TAG[_tag] = _kind


def event_columns(events: EventBytes, strings: RawStrings) -> EventFields:
    """The columns of some events and of their stats, ids as they stand in the file."""
    found = EventFields(events)
    irregular = np.flatnonzero(found.is_irregular)
    if len(irregular):
        found = EventFields(plain(events, irregular, "Event"))
    found.stats.intern(strings)
    return found


class EventFields(MessageRows):
    """The fields of each event before and after its stats, and its stats."""

    def __init__(self, events: EventBytes) -> None:
        super().__init__(ByteView(events.raw), events.begin, events.end)
        self.metadata_id = self.varint(0x08)
        self.offset_ps = self.varint(0x10)
        self.duration_ps = self.varint(0x18)
        stats = self.repeated(0x22)
        self.n_occurrences = self.varint(0x28)
        self.offset_ps[self.n_occurrences != 0] = 0  # one of the two: the later field wins
        self.finish()
        self.stats = StatFields(self.view, *stats)
        self.is_irregular[self.stats.owners()[~self.stats.is_regular]] = True


class StatFields:
    """Key, kind and value of each stat by event; a kind is a `StatKind`, or 7 for a stat metadata id not yet looked up."""

    def __init__(self, view: ByteView, n_stats: Int64, begin: Int64, end: Int64) -> None:
        self.view, self.n_stats = view, n_stats
        octets = view.octets
        has_key = (octets.take(begin) == 0x08) & (begin < end)
        key, size = view.varints(begin + 1)
        self.key = key.view(np.int64)
        at = begin + 1
        at += size
        is_regular = (at <= end) & (size != 0)
        if not has_key.all():
            self.key = np.where(has_key, self.key, 0)
            at = np.where(has_key, at, begin)
            is_regular = (at <= end) & ~(has_key & (size == 0))
        is_unset = at >= end
        np.minimum(at, end, out=at)
        self.kind = _KIND_OF_TAG.take(octets.take(at))
        at += 1
        self.bits, size = view.varints(at)
        self.at = at + size
        is_double = self.kind == StatKind.DOUBLE
        self.bits[is_double] = view.windows[at[is_double]]
        self.at[is_double] += 8 - size[is_double]
        stop = self.at.copy()
        self.holds_bytes = (self.kind == 5) | (self.kind == 6) | (self.kind == _COMPRESSED)
        stop[self.holds_bytes] += np.minimum(self.bits[self.holds_bytes], np.uint64(len(octets))).astype(np.int64)
        if is_unset.any():
            self.kind[is_unset], self.bits[is_unset], stop[is_unset] = _UNSET, 0, end[is_unset]
            self.holds_bytes &= ~is_unset
        is_regular &= (self.kind != _NOT_A_VALUE) & (stop == end) & (is_unset | is_double | (size > 0))
        self.is_regular = is_regular

    def owners(self) -> Int64:
        return np.repeat(np.arange(len(self.n_stats)), self.n_stats)

    def intern(self, strings: RawStrings) -> None:
        """Replace, in place, the lengths of texts and blobs by their index in the string table."""
        kind, bits, at = self.kind, self.bits, self.at
        rows = np.flatnonzero(self.holds_bytes)
        texts = rows[kind[rows] == StatKind.STRING]
        if len(texts):
            bits[texts] = strings.text_ids(self.view, at[texts], bits[texts].view(np.int64)).view(np.uint64)
        for row in rows[kind[rows] != StatKind.STRING].tolist():  # blobs and compressed texts are few and large
            raw = self.view.content[int(at[row]) : int(at[row]) + int(bits[row])]
            is_blob = kind[row] == StatKind.BYTES
            bits[row] = strings.blob_id(raw) if is_blob else strings.compressed_text_id(raw)
        kind[kind == _COMPRESSED] = StatKind.STRING
