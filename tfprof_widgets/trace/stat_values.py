"""The values of some events' stats -> the same, key by key, each key in as few bytes as the range of its values needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
AnyInt = npt.NDArray[np.integer]
AnyUInt = npt.NDArray[np.unsignedinteger]

_NOTHING: AnyUInt = np.empty(0, np.uint8)
_LARGEST = np.array([0, 2**8 - 1, 2**16 - 1, 2**32 - 1], np.uint64)
_DTYPES = (None, np.uint8, np.uint16, np.uint32, np.uint64)


@dataclass(frozen=True)
class StatValues:
    """Packed values. A key whose values are all equal takes no bytes; of the others the smallest is subtracted."""

    key: Int64
    """The keys that occur, ascending."""
    n: Int64
    """How many values each has."""
    smallest: UInt64
    rest: tuple[AnyUInt, ...]
    """For each key its values, in the order of the events, minus the smallest; empty where they are all equal."""

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
    """Pack the values of stats.

    Args:
        key: the key of each, as numbers from 0. With 16 bits or less they are sorted by radix.
        bits: the value of each.
    """
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
