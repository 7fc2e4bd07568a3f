"""The stats of all events -> a table that keeps them small, and gives those of a key or of some events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .arrays import AnyInt, AnyUInt, Int32, Int64, UInt8, UInt64

_KINDS = 16


@dataclass(frozen=True)
class Shapes:
    """The shapes of one table of stats. The stats of shape `i` are rows `offsets[i]:offsets[i + 1]`."""

    offsets: Int64
    key: Int32
    """Number of the key in `StatTable.keys`."""
    kind: UInt8

    @cached_property
    def n_stats(self) -> Int64:
        return np.diff(self.offsets)

    def count_of(self, key: int) -> Int64:
        return np.bincount(self._owner[self.key == key], minlength=len(self.offsets) - 1)

    @cached_property
    def _owner(self) -> Int64:
        return np.repeat(np.arange(len(self.n_stats)), self.n_stats)

    def rows(self, shape: AnyInt) -> Int64:
        """For events of these shapes, stat by stat the row in `key` and `kind`."""
        return ranges(self.offsets[shape], self.n_stats[shape])


def ranges(first: Int64, n: Int64) -> Int64:
    """The integers `first[i]`, `first[i] + 1`, ..., `n[i]` of them, for each `i` in turn."""
    within = np.arange(int(n.sum()))
    within += np.repeat(first - (np.cumsum(n) - n), n)
    return within


class ShapeIndex:
    """Numbers shapes, found by 64-bit sums of random numbers, drawn anew so that no file can make two collide."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        """Number of a key -> key."""
        self._number_of = np.empty(0, np.int32)
        self._random = np.random.default_rng()
        self._weights = np.empty(0, np.uint64)
        self._at_place = np.empty(0, np.uint64)
        self._known = np.empty(0, np.uint64)
        """The sums of the shapes, ascending."""
        self._shape_of = np.empty(0, np.int32)
        self._shapes: list[tuple[Int32, UInt8]] = []

    def __len__(self) -> int:
        return len(self._shapes)

    def numbers(self, key: Int32) -> Int32:
        highest = int(key.max(initial=-1))
        if highest >= len(self._number_of):
            self._number_of = np.append(self._number_of, np.full(2 * highest + 1 - len(self._number_of), -1, np.int32))
        number: Int32 = self._number_of.take(key)
        if number.min(initial=0) < 0:
            new = np.unique(key[number < 0])
            self._number_of[new] = len(self.keys) + np.arange(len(new))
            self.keys += new.tolist()
            number = self._number_of[key]
        return number

    def shapes_of(self, n_stats: Int64, number: Int32, kind: UInt8) -> Int32:
        """The shape of each event, given how many stats it has, and the number of the key and the kind of each."""
        sums = self._sums(n_stats, number, kind)
        shape, is_known = self._looked_up(sums)
        if not is_known.all():
            new, first = np.unique(sums[~is_known], return_index=True)
            order = np.argsort(first)  # numbers as they occur, whatever the random numbers are
            event, ends = np.flatnonzero(~is_known)[first[order]], np.cumsum(n_stats)
            place = np.searchsorted(self._known, new)
            self._shape_of = np.insert(self._shape_of, place, len(self) + np.argsort(order))
            self._known = np.insert(self._known, place, new)
            for low, high in zip((ends - n_stats)[event].tolist(), ends[event].tolist(), strict=True):
                self._shapes.append((number[low:high].copy(), kind[low:high].copy()))
            shape, _ = self._looked_up(sums)
        return shape

    def _looked_up(self, sums: UInt64) -> tuple[Int32, npt.NDArray[np.bool_]]:
        if not len(self._known):
            return np.zeros(len(sums), np.int32), np.zeros(len(sums), np.bool_)
        place = np.minimum(np.searchsorted(self._known, sums), len(self._known) - 1)
        return self._shape_of.take(place), self._known.take(place) == sums

    def _sums(self, n_stats: Int64, number: Int32, kind: UInt8) -> UInt64:
        column = number * np.int32(_KINDS) + kind
        self._weights = self._drawn(self._weights, int(column.max(initial=-1)) + 1)
        self._at_place = self._drawn(self._at_place, int(n_stats.max(initial=0)))
        running = np.zeros(len(column) + 1, np.uint64)
        place = ranges(np.zeros_like(n_stats), n_stats)
        np.cumsum(self._weights.take(column) * self._at_place.take(place), out=running[1:])
        ends = np.cumsum(n_stats)
        return running.take(ends) - running.take(ends - n_stats)

    def _drawn(self, numbers: UInt64, n: int) -> UInt64:
        if n <= len(numbers):
            return numbers
        return np.append(numbers, self._random.integers(2**64, size=2 * n - len(numbers), dtype=np.uint64))

    def shapes(self) -> Shapes:
        return Shapes(
            offsets=np.cumsum([0, *(len(key) for key, _ in self._shapes)]).astype(np.int64),
            key=np.concatenate([np.empty(0, np.int32), *(key for key, _ in self._shapes)]),
            kind=np.concatenate([np.empty(0, np.uint8), *(kind for _, kind in self._shapes)]),
        )


_NOTHING: AnyUInt = np.empty(0, np.uint8)
_LARGEST = np.array([0, 2**8 - 1, 2**16 - 1, 2**32 - 1], np.uint64)
_DTYPES = (None, np.uint8, np.uint16, np.uint32, np.uint64)


@dataclass(frozen=True)
class StatValues:
    """Packed values. A key whose values are all equal takes no bytes; of the others the smallest is subtracted."""

    key: Int64
    """Ascending."""
    n: Int64
    smallest: UInt64
    rest: tuple[AnyUInt, ...]
    """For each key its values minus the smallest, in the order of the events; empty where all are equal."""

    def values_at(self, place: int) -> UInt64:
        """The values of the key at a place in `key`, in the order of the events."""
        rest = self.rest[place]
        if not len(rest):
            return np.full(self.n[place], self.smallest[place])
        # By itself NumPy before 2.0 would add in the bytes of `rest`.
        values: UInt64 = np.add(rest, self.smallest[place], dtype=np.uint64)
        return values

    def unpacked(self, key: AnyInt) -> UInt64:
        """All values in their old order, given the key of each."""
        by_key = np.repeat(self.smallest, self.n)
        end = 0
        for rest, n in zip(self.rest, self.n.tolist(), strict=True):
            begin, end = end, end + n
            if len(rest):
                by_key[begin:end] += rest
        bits = np.empty_like(by_key)
        bits[np.argsort(key, kind="stable")] = by_key
        return bits


def packed_values(key: AnyInt, bits: UInt64) -> StatValues:
    counts = np.bincount(key)
    keys = np.flatnonzero(counts)
    n = counts[keys]
    if not len(keys):
        return StatValues(keys, n, np.empty(0, np.uint64), ())
    begin = np.cumsum(n) - n
    values = bits[np.argsort(key, kind="stable")]
    smallest = np.minimum.reduceat(values, begin)
    width = np.searchsorted(_LARGEST, np.maximum.reduceat(values, begin) - smallest)
    rest = []
    for low, n_values, least, dtype in zip(
        begin.tolist(), n.tolist(), smallest, (_DTYPES[w] for w in width.tolist()), strict=True
    ):  # one turn per key
        own = values[low : low + n_values]
        rest.append(_NOTHING if dtype is None else (own - least).astype(dtype))
    return StatValues(keys, n, smallest, tuple(rest))


_BLOCK_EVENTS = 2**15
_MANY_SHAPES = 16
_FEW_STATS = 2**18
"""Up to so many the plain columns stay in memory once asked for (4 MB), so that looping over events is cheap."""


@dataclass(frozen=True)
class Stats:
    """The stats of some events as plain columns, event after event."""

    n: Int64
    key: Int32
    kind: UInt8
    bits: UInt64


@dataclass(frozen=True)
class KeyedStats:
    event: Int64
    """Row of each stat's event, ascending; repeated where an event has several of the key."""
    kind: UInt8
    bits: UInt64

    def __post_init__(self) -> None:
        for column in (self.event, self.kind, self.bits):
            column.flags.writeable = False


@dataclass(frozen=True, eq=False, repr=False)
class StatTable:
    """The stats of all events, packed block by block of consecutive events."""

    shape: AnyInt
    """The shape of each event, in as few bytes as the number of shapes needs."""
    shapes: Shapes
    keys: Int32
    """Number of a key in `shapes` and `blocks` -> key."""
    blocks: tuple[StatValues, ...]
    block_offsets: Int64
    """The values of block `b` are those of events `block_offsets[b]:block_offsets[b + 1]`."""

    def __post_init__(self) -> None:
        self.shape.flags.writeable = False

    @cached_property
    def n_rows(self) -> int:
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
        number = self._number(key)
        if number < 0:
            return np.zeros(len(self.shape), np.bool_)
        return _is_one_of(self.shape, np.flatnonzero(self.shapes.count_of(number)))

    def of_key(self, key: int) -> KeyedStats:
        """All stats of one key; of a small trace they stay in memory, as several analyses ask for them."""
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
        places: dict[int, list[tuple[StatValues, int]]] = {}
        for block in self.blocks:
            for place, number in enumerate(block.key.tolist()):
                places.setdefault(number, []).append((block, place))
        return places

    def _kinds(self, number: int, holder: Int64) -> UInt8:
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
        lengths = [len(shape) for shape in self._shapes]
        return StatTable(
            shape=np.concatenate(self._shapes) if self._shapes else np.empty(0, np.uint8),
            shapes=self._index.shapes(),
            keys=np.array(self._index.keys, np.int32),
            blocks=tuple(self._blocks),
            block_offsets=np.cumsum([0, *lengths]).astype(np.int64),
        )


def packed_stats(plain: Stats) -> StatTable:
    builder = StatTableBuilder()
    ends = np.append(0, np.cumsum(plain.n))
    for first in range(0, len(plain.n), _BLOCK_EVENTS):
        events = slice(first, min(first + _BLOCK_EVENTS, len(plain.n)))
        rows = slice(int(ends[events.start]), int(ends[events.stop]))
        builder.add(Stats(plain.n[events], plain.key[rows], plain.kind[rows], plain.bits[rows]))
    return builder.table()


def _is_one_of(shape: AnyInt, wanted: Int64) -> npt.NDArray[np.bool_]:
    """Whether a shape is among the wanted ones; comparing is faster than a look-up while these are few."""
    if len(wanted) > _MANY_SHAPES:
        table = np.zeros(int(wanted[-1]) + 1, np.bool_)
        table[wanted] = True
        return (shape < len(table)) & table[np.minimum(shape, len(table) - 1)]
    found = np.zeros(len(shape), np.bool_)
    for one in wanted.tolist():
        found |= shape == one
    return found


def _number_dtype(n: int) -> type[np.integer]:
    return np.uint8 if n <= 2**8 else np.uint16 if n <= 2**16 else np.int32


def _of_plain(plain: Stats, first: Int64, events: Int64) -> Stats:
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
