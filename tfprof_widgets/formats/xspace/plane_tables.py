"""A plane's metadata maps -> rows of the trace's metadata table, and what row or text an id of the file stands for; its stats.

The entries are decoded together by NumPy, as events are: a file may hold as many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...trace.assembly import MetadataColumns
from ...trace.stat_table import Stats
from ...trace.trace import Int32, Int64, StatKind, StatValue, UInt8, UInt64
from ..wire.message_rows import MessageRows
from ..wire.varints import ByteView
from .event_columns import StatFields
from .event_framing import EventBytes, padded
from .event_messages import plain
from .raw_strings import RawStrings

REF = 7


class IdMap:
    """int64 ids of a file -> small ints; ids that are not in the map give `default`."""

    def __init__(self, ids: Int64, values: Int32, *, default: int) -> None:
        """Keep the values, of several of an id the last, as a direct table where the ids are dense, sorted otherwise."""
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
        """The value of each id."""
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
    """A plane's event metadata as rows from `first_row` on, and the row of each id (the last entry of an id counts).

    Raises:
        TraceError: an entry is not readable; the message says which.
    """
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
    """A plane's stat metadata: the text of each id, as an index into the string table.

    Raises:
        TraceError: an entry is not readable; the message says which.
    """
    entries = _entries(raw, "StatMetadataEntry")
    begin, end = entries.name
    return IdMap(entries.id, strings.text_ids(entries.view, begin, end - begin).astype(np.int32), default=0)


def plane_stats(raw: Sequence[bytes], stat_names: IdMap, strings: RawStrings) -> dict[str, StatValue]:
    """A plane's own stats, of several of a name the last.

    Raises:
        TraceError: one is not readable; the message says which.
    """
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
