"""Serialised messages of one kind, one after the other -> their fields, a column each, decoded together by NumPy.

Fields are taken in the order in which protobuf writes them. Whatever else is legal (other orders, repeated or unknown fields,
redundant bytes) is noticed, message by message.
"""

from __future__ import annotations

import numpy as np

from .framing import FramingError, varint
from .varints import ByteView, Int64

_MOST_ROUNDS = 64
"""Repeated fields are found round by round, the k-th of every message at once; of messages with more than this one by one."""
_Round = tuple[Int64, Int64 | int, Int64, Int64]
"""Messages, and which of theirs a field is, where its content begins and where it ends."""


class MessageRows:
    """Some messages, each read up to `at`. All tags are those of one byte."""

    def __init__(self, view: ByteView, begin: Int64, end: Int64) -> None:
        """Messages `view.content[begin:end]`."""
        self.view, self.at, self.end = view, begin.copy(), end
        self.is_irregular = np.zeros(len(end), np.bool_)
        """Those that only protobuf can read; once all fields are taken, also those that go on behind them."""

    def finish(self) -> None:
        """Note which messages have not ended."""
        self.is_irregular |= self.at != self.end

    def varint(self, tag: int) -> Int64:
        """The value of a varint field where it comes next, else 0; moves on behind it."""
        present = (self.view.octets.take(self.at) == tag) & (self.at < self.end)
        n_present = np.count_nonzero(present)
        if n_present == len(present):
            value, size = self.view.varints(self.at + 1)
            self.at += size + 1
            self.is_irregular |= (size == 0) | (self.at > self.end)
            np.minimum(self.at, self.end, out=self.at)
            return value.view(np.int64)
        column = np.zeros(len(present), np.int64)
        if n_present:
            rows = np.flatnonzero(present)
            value, size = self.view.varints(self.at[rows] + 1)
            column[rows] = value.view(np.int64)
            at = self.at[rows] + size + 1
            self.is_irregular[rows] |= (size == 0) | (at > self.end[rows])
            self.at[rows] = np.minimum(at, self.end[rows])
        return column

    def content(self, tag: int) -> tuple[Int64, Int64]:
        """Where the content of a field of bytes begins and ends where it comes next, else nothing; moves on behind it."""
        rows = np.flatnonzero((self.view.octets.take(self.at) == tag) & (self.at < self.end))
        begin, end = self.at.copy(), self.at.copy()
        rows, begin_of_rows, end_of_rows = self._contents(rows, self.at[rows], self.end[rows])
        begin[rows], end[rows] = begin_of_rows, end_of_rows
        self.at = end.copy()
        return begin, end

    def repeated(self, tag: int) -> tuple[Int64, Int64, Int64]:
        """How many fields of bytes with this tag come next in each message, and where each begins and ends."""
        rounds = self._rounds(tag)
        n = np.zeros(len(self.end), np.int64)
        for rows, _, _, _ in rounds:
            n += np.bincount(rows, minlength=len(n))
        offsets = np.cumsum(n) - n
        begin = np.empty(int(n.sum()), np.int64)
        end = np.empty_like(begin)
        for rows, position, round_begin, round_end in rounds:
            slots = offsets[rows] + position
            begin[slots], end[slots] = round_begin, round_end
        return n, begin, end

    def _rounds(self, tag: int) -> list[_Round]:
        """Walk over the fields of all messages in step: one round per position in the message."""
        octets = self.view.octets
        rows = np.flatnonzero((octets.take(self.at) == tag) & (self.at < self.end))
        at, message_end = self.at[rows], self.end[rows]
        rounds: list[_Round] = []
        while len(rows):
            if len(rounds) == _MOST_ROUNDS:
                return rounds + [self._walked(row, tag) for row in rows.tolist()]
            rows, begin, at = self._contents(rows, at, message_end)
            if len(rows) < len(message_end):
                message_end = self.end[rows]
            self.at[rows] = at
            rounds.append((rows, len(rounds), begin, at))
            goes_on = (at < message_end) & (octets.take(at) == tag)
            if not goes_on.all():
                rows, at, message_end = rows[goes_on], at[goes_on], message_end[goes_on]
        return rounds

    def _contents(self, rows: Int64, at: Int64, message_end: Int64) -> tuple[Int64, Int64, Int64]:
        """Of fields of bytes at these places of some messages those that lie inside, and where each begins and ends."""
        length, size = self.view.varints(at + 1)
        begin = at + 1
        begin += size
        end = np.minimum(length, np.uint64(len(self.view.octets))).view(np.int64)
        end += begin
        is_inside = (end <= message_end) & (size > 0)
        if not is_inside.all():
            self.is_irregular[rows[~is_inside]] = True
            return rows[is_inside], begin[is_inside], end[is_inside]
        return rows, begin, end

    def _walked(self, row: int, tag: int) -> _Round:
        """The fields of one message from where it was left, one by one."""
        content, at, end = self.view.content, int(self.at[row]), int(self.end[row])
        found: list[tuple[int, int]] = []
        while at < end and content[at] == tag:
            try:
                length, begin = varint(content, at + 1)
            except FramingError:
                length, begin = end, end
            if begin + length > end:
                self.is_irregular[row] = True
                break
            at = begin + length
            found.append((begin, at))
        self.at[row] = at
        n = len(found)
        begins, ends = np.array(found, np.int64).reshape(-1, 2).T
        return np.full(n, row), _MOST_ROUNDS + np.arange(n), begins, ends
