"""The serialised events of a plane, joined -> columns of events and stats, decoded together by NumPy.

Fields are taken in the order in which protobuf writes them. Whatever else is legal (other orders, repeated or unknown fields,
redundant bytes) is noticed, event by event, and goes through protobuf, which writes it again plainly.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import StatKind
from ..wire.framing import FramingError, varint
from ..wire.varints import PADDING, ByteView, Int64
from .event_framing import EventBytes, joined_events
from .event_messages import plain_event
from .raw_strings import RawStrings

_COMPRESSED = 8
_UNSET = 4  # a stat without a value reads as the int64 0
_NOT_A_VALUE = 255
_MOST_ROUNDS = 64
"""Stats are found round by round, the k-th of every event at once; of events with more than this one by one."""

_KIND_OF_TAG = np.full(256, _NOT_A_VALUE, np.uint8)
for _tag, _kind in ((0x11, 2), (0x18, 3), (0x20, 4), (0x2A, 5), (0x32, 6), (0x38, 7), (0x42, 8)):
    _KIND_OF_TAG[_tag] = _kind


def event_columns(events: EventBytes, strings: RawStrings) -> tuple[EventFields, StatFields]:
    """The columns of some events and of their stats, ids as they stand in the file.

    Args:
        events: their bytes, one after the other, which end with `PADDING`.
        strings: takes up the texts and blobs.

    Raises:
        TraceError: an event is not a readable XEvent; the message says which.
    """
    found = EventFields(events)
    stats = found.stats()
    found.is_irregular[stats.owners()[~stats.is_regular]] = True
    irregular = np.flatnonzero(found.is_irregular)
    if len(irregular):
        found = EventFields(_plain(events, irregular))
        stats = found.stats()
    stats.intern(strings)
    return found, stats


def _plain(events: EventBytes, rows: Int64) -> EventBytes:
    """The events, those of some rows as protobuf writes them."""
    parts = [events.raw[low:high] for low, high in zip(events.begin.tolist(), events.end.tolist(), strict=True)]
    for row in rows.tolist():
        parts[row] = plain_event(parts[row], row)
    joined = joined_events([*parts, PADDING])
    return EventBytes(joined.raw, joined.begin[:-1], joined.end[:-1])


class EventFields:
    """The fields of each event before and after its stats, and where its stats lie."""

    def __init__(self, events: EventBytes) -> None:
        self.view, self.end = ByteView(events.raw), events.end
        self.is_irregular = np.zeros(len(events), np.bool_)
        self._at = events.begin.copy()
        self.metadata_id = self._field(0x08)
        self.offset_ps = self._field(0x10)
        self.duration_ps = self._field(0x18)
        self._find_stats()
        self.n_occurrences = self._field(0x28)
        self.offset_ps[self.n_occurrences != 0] = 0  # one of the two: the later field wins
        self.is_irregular |= self._at != self.end

    def _field(self, tag: int) -> Int64:
        """The value of a varint field where it comes next, else 0; moves on behind it."""
        present = (self.view.octets.take(self._at) == tag) & (self._at < self.end)
        n_present = np.count_nonzero(present)
        if n_present == len(present):
            value, size = self.view.varints(self._at + 1)
            self._at += size + 1
            self.is_irregular |= (size == 0) | (self._at > self.end)
            np.minimum(self._at, self.end, out=self._at)
            return value.view(np.int64)
        column = np.zeros(len(present), np.int64)
        if n_present:
            rows = np.flatnonzero(present)
            value, size = self.view.varints(self._at[rows] + 1)
            column[rows] = value.view(np.int64)
            at = self._at[rows] + size + 1
            self.is_irregular[rows] |= (size == 0) | (at > self.end[rows])
            self._at[rows] = np.minimum(at, self.end[rows])
        return column

    def _find_stats(self) -> None:
        """Walk over the stats of all events in step: one round per position in the event."""
        octets = self.view.octets
        rows = np.flatnonzero((octets.take(self._at) == 0x22) & (self._at < self.end))
        at, end = self._at[rows], self.end[rows]
        self._rounds: list[tuple[Int64, Int64 | int, Int64, Int64]] = []
        while len(rows):
            if len(self._rounds) == _MOST_ROUNDS:
                self._rounds += [self._walked(row) for row in rows.tolist()]
                break
            length, size = self.view.varints(at + 1)
            begin = at + 1
            begin += size
            at = np.minimum(length, np.uint64(len(octets))).view(np.int64)
            at += begin
            is_inside = (at <= end) & (size > 0)
            if not is_inside.all():
                self.is_irregular[rows[~is_inside]] = True
                rows, begin, at, end = rows[is_inside], begin[is_inside], at[is_inside], end[is_inside]
            self._at[rows] = at
            self._rounds.append((rows, len(self._rounds), begin, at))
            goes_on = (at < end) & (octets.take(at) == 0x22)
            if not goes_on.all():
                rows, at, end = rows[goes_on], at[goes_on], end[goes_on]

    def _walked(self, row: int) -> tuple[Int64, Int64, Int64, Int64]:
        """The stats of one event from where it was left; as a round: its row and, of each, position, begin and end."""
        content, at, end = self.view.content, int(self._at[row]), int(self.end[row])
        found: list[tuple[int, int]] = []
        while at < end and content[at] == 0x22:
            try:
                length, begin = varint(content, at + 1)
            except FramingError:
                length, begin = end, end
            if begin + length > end:
                self.is_irregular[row] = True
                break
            at = begin + length
            found.append((begin, at))
        self._at[row] = at
        n = len(found)
        begins, ends = np.array(found, np.int64).reshape(-1, 2).T
        return np.full(n, row), _MOST_ROUNDS + np.arange(n), begins, ends

    def stats(self) -> StatFields:
        """The stats, event by event."""
        n_stats = np.zeros(len(self.end), np.int64)
        for rows, _, _, _ in self._rounds:
            n_stats += np.bincount(rows, minlength=len(n_stats))
        offsets = np.cumsum(n_stats) - n_stats
        begin = np.empty(int(n_stats.sum()), np.int64)
        end = np.empty_like(begin)
        for rows, position, round_begin, round_end in self._rounds:
            slots = offsets[rows] + position
            begin[slots], end[slots] = round_begin, round_end
        self._rounds = []
        return StatFields(self.view, n_stats, begin, end)


class StatFields:
    """Key, kind and value of each stat, event after event.

    A kind is a `StatKind`, or 7 for a stat whose bits are a stat metadata id, until the plane's table turns it into a text.
    """

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
        """The event of each stat."""
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
