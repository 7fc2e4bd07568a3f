"""The serialised events of a plane, joined -> columns of events and stats, decoded together by NumPy.

Fields are taken in the order in which protobuf writes them. Whatever else is legal (other orders, repeated or unknown fields,
redundant bytes) is noticed, event by event, and goes through protobuf, which writes it again plainly.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import StatKind
from ..wire.message_rows import MessageRows
from ..wire.varints import ByteView, Int64
from .event_framing import EventBytes
from .event_messages import plain
from .raw_strings import RawStrings

_COMPRESSED = 8
_UNSET = 4  # a stat without a value reads as the int64 0
_NOT_A_VALUE = 255

_KIND_OF_TAG = np.full(256, _NOT_A_VALUE, np.uint8)
for _tag, _kind in ((0x11, 2), (0x18, 3), (0x20, 4), (0x2A, 5), (0x32, 6), (0x38, 7), (0x42, 8)):
    _KIND_OF_TAG[_tag] = _kind


def event_columns(events: EventBytes, strings: RawStrings) -> EventFields:
    """The columns of some events and of their stats, ids as they stand in the file.

    Args:
        events: their bytes, one after the other, which end with `PADDING`.
        strings: takes up the texts and blobs.

    Raises:
        TraceError: an event is not a readable XEvent; the message says which.
    """
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
