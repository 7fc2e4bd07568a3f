"""Serialised messages of one kind, one after the other -> all their fields as one table, whatever their order, by NumPy.

For messages of many fields, of which some are of no interest; `MessageRows` is quicker where the fields are few and known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from ...trace.stat_shapes import ranges
from ...trace.trace import Bool
from .varints import ByteView, Int64, UInt8

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_FIXED_BYTES = np.array([0, 8, 0, 0, 0, 4, 0, 0], np.int64)
_KNOWN_TYPES = np.array([True, True, True, False, False, True, False, False])
"""Groups are left to protobuf."""
_HIGHEST = 2**7
"""Fields of higher numbers are not kept."""
_MOST_FIELDS = 2**9
"""Of a message of more, protobuf leaves those that are known: each round is for the k-th field of every message."""
_Round = tuple[Int64, UInt8, UInt8, Int64, Int64]
"""Messages, the number and wire type of a field of each, its value or where its content begins, and where it ends."""
_AT_ONCE = 2**15
"""Messages that are looked at together: what is known of more of them does not stay in the processor's cache."""


class FieldRows:
    """The fields of some messages, round by round: the k-th of every message at once."""

    def __init__(self, view: ByteView, begin: Int64, end: Int64, wanted: Collection[int]) -> None:
        """Find the fields whose numbers are `wanted` in messages `view.content[begin:end]`."""
        self.view = view
        self.is_irregular = np.zeros(len(begin), np.bool_)
        """Messages that only protobuf can read."""
        is_wanted = np.zeros(_HIGHEST, np.bool_)
        is_wanted[list(wanted)] = True
        none, few = np.empty(0, np.int64), np.empty(0, np.uint8)
        found: list[_Round] = [(none, few, few, none, none)]
        for first in range(0, len(begin), _AT_ONCE):
            row = np.arange(first, min(first + _AT_ONCE, len(begin)))
            found += self._rounds(is_wanted, row, begin[row], end[row])
        columns = zip(*found, strict=True)
        self._row, self._number, self._kind, self._content, self._end = (np.concatenate(part) for part in columns)

    def _rounds(self, is_wanted: Bool, row: Int64, at: Int64, stop: Int64) -> Iterator[_Round]:
        """Of some messages the fields that are wanted."""
        for _ in range(_MOST_FIELDS):
            is_open = (at < stop) & ~self.is_irregular[row]
            if not is_open.any():
                return
            row, at, stop = row[is_open], at[is_open], stop[is_open]
            number, kind, value, first, at = self._next(row, at, stop)
            kept = np.flatnonzero(is_wanted[np.minimum(number, _HIGHEST - 1)] & ~self.is_irregular[row])
            kind = kind[kept]
            yield (
                row[kept],
                number[kept].astype(np.uint8),
                kind,
                np.where(kind == _BYTES, first[kept], value[kept]),
                at[kept],
            )
        self.is_irregular[row[at < stop]] = True

    def _next(self, row: Int64, at: Int64, stop: Int64) -> tuple[Int64, UInt8, Int64, Int64, Int64]:
        """Of the field at a place of each message its number and wire type, its value, where its content begins and it ends."""
        tag, size = self.view.varints(at)
        kind, number = (tag & np.uint64(7)).astype(np.uint8), (tag >> np.uint64(3)).view(np.int64)
        first = at + size
        is_odd = (size == 0) | (tag >= np.uint64(2**32)) | (number == 0) | ~_KNOWN_TYPES[kind] | (first > stop)
        np.minimum(first, stop, out=first)
        value, size = self.view.varints(first)
        has_varint = (kind == _VARINT) | (kind == _BYTES)
        is_odd |= has_varint & (size == 0)
        first = np.where(has_varint, first + size, first)
        length = np.minimum(value, np.uint64(len(self.view.octets))).view(np.int64)
        end = first + np.where(kind == _BYTES, length, _FIXED_BYTES[kind])
        is_odd |= end > stop
        self.is_irregular[row[is_odd]] = True
        return number, kind, value.view(np.int64), first, end

    def _of(self, number: int, kind: int) -> Int64:
        """The places of the one field of each message that has it; a message in which it is twice, or of another type, is odd."""
        found = np.flatnonzero(self._number == number)
        rows = self._row[found]
        is_of_kind = self._kind[found] == kind
        self.is_irregular[rows[~is_of_kind]] = True
        self.is_irregular |= np.bincount(rows, minlength=len(self.is_irregular)) > 1
        of_kind: Int64 = found[is_of_kind]
        return of_kind

    def varint(self, number: int) -> Int64:
        """The value of a varint field, 0 where a message has none."""
        found = self._of(number, _VARINT)
        column = np.zeros(len(self.is_irregular), np.int64)
        column[self._row[found]] = self._content[found]
        return column

    def content(self, number: int) -> tuple[Int64, Int64, Int64]:
        """The messages that have a field of bytes, and where its content begins and ends."""
        found = self._of(number, _BYTES)
        return self._row[found], self._content[found], self._end[found]

    def packed(self, number: int) -> tuple[Int64, Int64]:
        """How many varints a packed field of each message holds, and the varints, message after message."""
        rows, begin, end = self.content(number)
        order = np.argsort(rows, kind="stable")
        rows, begin, end = rows[order], begin[order], end[order]
        at = ranges(begin, end - begin)
        is_last = self.view.octets.take(at) < 0x80
        size = end - begin
        owner = np.repeat(np.arange(len(rows)), size)
        ends_well = np.ones(len(rows), np.bool_)
        stops = np.cumsum(size)[size > 0] - 1
        ends_well[size > 0] = is_last[stops]
        starts = np.append(True, is_last[:-1])[: len(at)]
        value, width = self.view.varints(at[starts])
        self.is_irregular[rows[~ends_well]] = True
        self.is_irregular[rows[owner[starts][width == 0]]] = True
        n = np.zeros(len(self.is_irregular), np.int64)
        n[rows] = np.bincount(owner[starts], minlength=len(rows))
        return n, value.view(np.int64)
