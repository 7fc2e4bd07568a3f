"""The bytes of a line -> where each of its events begins and ends, followed at a thousand places at once.

protobuf gives each event as an object of its own; for millions of them that takes longer than to decode them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..wire.varints import PADDING, Int64, UInt8

_EVENT = 0x22
"""The tag of an event in a line."""
_FIRST_FIELD = 0x08
"""How an event begins: with its metadata id."""
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
"""An id of so many bytes is found: those of 268 million metadata."""
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
        """The events from `first` to before `last`."""
        low = int(self.begin[first])
        return EventBytes(
            self.raw[low : int(self.end[last - 1])], self.begin[first:last] - low, self.end[first:last] - low
        )


def joined_events(parts: list[bytes]) -> EventBytes:
    """Events that are there one by one."""
    end = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    return EventBytes(b"".join(parts), np.append(0, end[:-1])[: len(parts)], end)


def padded(parts: list[bytes]) -> EventBytes:
    """Messages that are there one by one, their bytes followed by `PADDING`."""
    joined = joined_events([*parts, PADDING])
    return EventBytes(joined.raw, joined.begin[:-1], joined.end[:-1])


def follow_events(raw: bytes, first: int) -> tuple[EventBytes, int] | None:
    """The events that stand in a row from `first` on, and where the row ends.

    The row is cut into chains. Only the first is known to begin at an event; that each chain ends exactly where the next
    begins proves it of all.

    Returns:
        None where it is not worth it, or where chains do not meet; protobuf has to look then.
    """
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
    """Where the event at each place ends; beyond everything where there is none, or one so long that its length takes 3 bytes."""
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
