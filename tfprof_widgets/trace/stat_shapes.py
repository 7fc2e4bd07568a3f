"""The keys and kinds of each event's stats -> its *shape*: a number that stands for all of them, in order.

Profilers write the same stats with every event of a kind, so a capture of millions of events has some thirty shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]
AnyInt = npt.NDArray[np.integer]

_KINDS = 16
"""More than there are kinds of stats."""


@dataclass(frozen=True)
class Shapes:
    """The shapes of one table of stats. The stats of shape `i` are rows `offsets[i]:offsets[i + 1]`."""

    offsets: Int64
    key: Int32
    """Number of the key; see `StatTable.keys`."""
    kind: UInt8

    @cached_property
    def n_stats(self) -> Int64:
        """How many stats an event of each shape has."""
        return np.diff(self.offsets)

    def count_of(self, key: int) -> Int64:
        """How often each shape holds a key."""
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
    """Numbers shapes as they occur.

    A shape is told by a sum of 64 bits over its stats: a random number of the key and kind times one of the place. They
    are drawn anew for each index, so that no file can hold two shapes of the same sum other than by luck.
    """

    def __init__(self) -> None:
        """Start with no shape."""
        self.keys: list[int] = []
        """From the number of a key to the key."""
        self._number_of = np.empty(0, np.int32)
        self._random = np.random.default_rng()
        self._weights = np.empty(0, np.uint64)
        self._at_place = np.empty(0, np.uint64)
        self._known = np.empty(0, np.uint64)
        """The sums of the shapes, ascending."""
        self._shape_of = np.empty(0, np.int32)
        """The shape of each."""
        self._shapes: list[tuple[Int32, UInt8]] = []

    def __len__(self) -> int:
        return len(self._shapes)

    def numbers(self, key: Int32) -> Int32:
        """The number of each key."""
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
        """These random numbers, and more where there are fewer than `n`."""
        if n <= len(numbers):
            return numbers
        return np.append(numbers, self._random.integers(2**64, size=2 * n - len(numbers), dtype=np.uint64))

    def shapes(self) -> Shapes:
        """All shapes so far."""
        return Shapes(
            offsets=np.cumsum([0, *(len(key) for key, _ in self._shapes)]).astype(np.int64),
            key=np.concatenate([np.empty(0, np.int32), *(key for key, _ in self._shapes)]),
            kind=np.concatenate([np.empty(0, np.uint8), *(kind for _, kind in self._shapes)]),
        )
