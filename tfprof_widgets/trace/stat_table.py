"""The stats of all events -> a table that keeps them small, and gives those of a key, of some events, or all of them.

An event holds the number of its shape (`stat_shapes`), and a value only the bytes it needs (`stat_values`): some 15 bytes
an event where plain columns of key, kind and 64 bits take 50.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .stat_shapes import AnyInt, Int32, Int64, ShapeIndex, Shapes, UInt8, ranges
from .stat_values import StatValues, UInt64, packed_values

_BLOCK_EVENTS = 2**15
_MANY_SHAPES = 16
_FEW_STATS = 2**18
"""Of so many the plain columns are kept too once they were asked for: 4 MB, so that looping over events stays cheap."""


@dataclass(frozen=True)
class Stats:
    """The stats of some events as plain columns, event after event."""

    n: Int64
    """How many each event has."""
    key: Int32
    kind: UInt8
    bits: UInt64


@dataclass(frozen=True)
class KeyedStats:
    """All stats of one key."""

    event: Int64
    """The event of each, ascending; repeated where an event has several of the key."""
    kind: UInt8
    bits: UInt64

    def __post_init__(self) -> None:
        """Make the arrays read-only: they are shared."""
        for column in (self.event, self.kind, self.bits):
            column.flags.writeable = False


@dataclass(frozen=True, eq=False, repr=False)
class StatTable:
    """The stats of all events, packed block by block of consecutive events."""

    shape: AnyInt
    """The shape of each event, in as few bytes as there are shapes."""
    shapes: Shapes
    keys: Int32
    """From the number of a key in `shapes` and `blocks` to the key."""
    blocks: tuple[StatValues, ...]
    block_offsets: Int64
    """The values of block `b` are those of events `block_offsets[b]:block_offsets[b + 1]`."""

    def __post_init__(self) -> None:
        """Make the arrays read-only, as those of the trace are."""
        self.shape.flags.writeable = False

    @cached_property
    def n_rows(self) -> int:
        """How many stats there are."""
        return int(np.bincount(self.shape, minlength=len(self.shapes.n_stats)) @ self.shapes.n_stats)

    def parts(self) -> Iterator[Stats]:
        """The stats of all events as plain columns, some ten thousand events at a time."""
        for block in range(len(self.blocks)):
            yield self._part(block)

    def all_stats(self) -> Stats:
        """The stats of all events as plain columns: much memory, for what looks at everything."""
        return joined_stats(list(self.parts())) if self._kept is None else self._kept

    @cached_property
    def _kept(self) -> Stats | None:
        return joined_stats(list(self.parts())) if self.n_rows <= _FEW_STATS else None

    @cached_property
    def _kept_first(self) -> Int64:
        return np.cumsum(self.all_stats().n) - self.all_stats().n

    def of(self, events: AnyInt) -> Stats:
        """The stats of some events, in any order; a block of them is in memory at a time."""
        wanted = np.asarray(events, np.int64)
        if not len(wanted):
            return joined_stats([])
        if self._kept is not None:
            return _of_plain(self._kept, self._kept_first, wanted)
        order = np.argsort(wanted, kind="stable")
        cuts = np.searchsorted(wanted[order], self.block_offsets)
        parts = []
        for block in np.flatnonzero(np.diff(cuts)).tolist():
            plain = self._part(block)
            rows = wanted[order[cuts[block] : cuts[block + 1]]] - self.block_offsets[block]
            parts.append(_of_plain(plain, np.cumsum(plain.n) - plain.n, rows))
        found = joined_stats(parts)
        if len(parts) < 2 and bool((np.diff(order) > 0).all()):
            return found
        return _of_plain(found, np.cumsum(found.n) - found.n, np.argsort(order))

    def taken(self, order: Int64) -> StatTable:
        """The table for the events in another order, or for some of them."""
        plain = self.all_stats()
        return packed_stats(_of_plain(plain, np.cumsum(plain.n) - plain.n, order))

    def holds(self, key: int) -> npt.NDArray[np.bool_]:
        """For each event whether it has a stat of this key."""
        number = self._number(key)
        if number < 0:
            return np.zeros(len(self.shape), np.bool_)
        return _is_one_of(self.shape, np.flatnonzero(self.shapes.count_of(number)))

    def of_key(self, key: int) -> KeyedStats:
        """All stats of one key; empty where no event has it. Of a small trace they are kept, as several analyses ask for them."""
        number = self._number(key)
        known = self._keyed.get(number)
        if known is None:
            known = self._of_number(number)
            if self.n_rows <= _FEW_STATS:
                self._keyed[number] = known
        return known

    @cached_property
    def _keyed(self) -> dict[int, KeyedStats]:
        return {}

    def _of_number(self, number: int) -> KeyedStats:
        places = self._places.get(number)
        if places is None:
            return KeyedStats(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint64))
        count = self.shapes.count_of(number)
        holder = np.flatnonzero(_is_one_of(self.shape, np.flatnonzero(count)))
        event = np.repeat(holder, count[self.shape[holder]]) if count.max() > 1 else holder
        bits = np.concatenate([block.values_at(place) for block, place in places])
        return KeyedStats(event, self._kinds(number, holder), bits)

    @cached_property
    def _places(self) -> dict[int, list[tuple[StatValues, int]]]:
        """For the number of each key the blocks in which it occurs, and its place there."""
        places: dict[int, list[tuple[StatValues, int]]] = {}
        for block in self.blocks:
            for place, number in enumerate(block.key.tolist()):
                places.setdefault(number, []).append((block, place))
        return places

    def _kinds(self, number: int, holder: Int64) -> UInt8:
        """The kind of each stat of a key, given the events that have it."""
        n_each = self.shapes.count_of(number)
        own = np.flatnonzero(self.shapes.key == number)
        if n_each.max() == 1:
            of_shape = np.zeros(len(n_each), np.uint8)
            of_shape[np.flatnonzero(n_each)] = self.shapes.kind[own]
            return (
                of_shape[self.shape[holder]]
                if np.ptp(self.shapes.kind[own])
                else np.broadcast_to(self.shapes.kind[own[0]], len(holder))
            )
        rows = self.shapes.rows(self.shape[holder])
        mixed: UInt8 = self.shapes.kind[rows[self.shapes.key[rows] == number]]
        return mixed

    def _number(self, key: int) -> int:
        return self._numbers.get(key, -1)

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {key: number for number, key in enumerate(self.keys.tolist())}

    def _part(self, block: int) -> Stats:
        shape = self.shape[self.block_offsets[block] : self.block_offsets[block + 1]]
        rows = self.shapes.rows(shape)
        number = self.shapes.key[rows].astype(_number_dtype(len(self.keys)))
        key = self.keys[number] if len(self.keys) else np.empty(0, np.int32)
        return Stats(self.shapes.n_stats[shape], key, self.shapes.kind[rows], self.blocks[block].unpacked(number))


class StatTableBuilder:
    """Packs the stats of a trace block by block, as they are read."""

    def __init__(self) -> None:
        """Start with no events."""
        self._index = ShapeIndex()
        self._shapes: list[AnyInt] = []
        self._blocks: list[StatValues] = []

    def add(self, stats: Stats) -> None:
        """Append the stats of the next events."""
        index = self._index
        number = index.numbers(stats.key)
        shape = index.shapes_of(stats.n, number, stats.kind)
        self._shapes.append(shape.astype(_number_dtype(len(index))))
        self._blocks.append(packed_values(number.astype(_number_dtype(len(index.keys))), stats.bits))

    def table(self) -> StatTable:
        """The table of all events that were added."""
        lengths = [len(shape) for shape in self._shapes]
        return StatTable(
            shape=np.concatenate(self._shapes) if self._shapes else np.empty(0, np.uint8),
            shapes=self._index.shapes(),
            keys=np.array(self._index.keys, np.int32),
            blocks=tuple(self._blocks),
            block_offsets=np.cumsum([0, *lengths]).astype(np.int64),
        )


def packed_stats(plain: Stats) -> StatTable:
    """The table of stats that are there as plain columns."""
    builder = StatTableBuilder()
    ends = np.append(0, np.cumsum(plain.n))
    for first in range(0, len(plain.n), _BLOCK_EVENTS):
        events = slice(first, min(first + _BLOCK_EVENTS, len(plain.n)))
        rows = slice(int(ends[events.start]), int(ends[events.stop]))
        builder.add(Stats(plain.n[events], plain.key[rows], plain.kind[rows], plain.bits[rows]))
    return builder.table()


def _is_one_of(shape: AnyInt, wanted: Int64) -> npt.NDArray[np.bool_]:
    """Where a shape is among the wanted ones: a comparison for each is faster than a look-up while they are few."""
    if len(wanted) > _MANY_SHAPES:
        table = np.zeros(int(wanted[-1]) + 1, np.bool_)
        table[wanted] = True
        return (shape < len(table)) & table[np.minimum(shape, len(table) - 1)]
    found = np.zeros(len(shape), np.bool_)
    for one in wanted.tolist():
        found |= shape == one
    return found


def _number_dtype(n: int) -> type[np.integer]:
    """The smallest type for the numbers below `n`."""
    return np.uint8 if n <= 2**8 else np.uint16 if n <= 2**16 else np.int32


def _of_plain(plain: Stats, first: Int64, events: Int64) -> Stats:
    """The stats of some events, given where those of each begin."""
    n = plain.n[events]
    at = ranges(first[events], n)
    return Stats(n, plain.key[at], plain.kind[at], plain.bits[at])


def joined_stats(parts: list[Stats]) -> Stats:
    """The stats of some events after those of others."""
    return Stats(
        np.concatenate([np.empty(0, np.int64), *(part.n for part in parts)]),
        np.concatenate([np.empty(0, np.int32), *(part.key for part in parts)]),
        np.concatenate([np.empty(0, np.uint8), *(part.kind for part in parts)]),
        np.concatenate([np.empty(0, np.uint64), *(part.bits for part in parts)]),
    )
