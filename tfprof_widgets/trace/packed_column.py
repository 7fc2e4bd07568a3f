"""A column of integers -> the same in as few bytes as the range of its values needs; nothing at all for equal values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
AnyUInt = npt.NDArray[np.unsignedinteger]

_SMALL = (np.uint8, np.uint16, np.uint32)


@dataclass(frozen=True, eq=False)
class PackedColumn:
    """Integers that are read seldom, and then all of them."""

    smallest: int
    rest: AnyUInt
    """Each value minus the smallest; of equal values a view of one."""

    def values(self) -> Int64:
        """The column, anew each time."""
        return self.rest.astype(np.int64) + self.smallest


def packed_column(values: Int64) -> PackedColumn:
    """Pack a column; one whose range needs 64 bits stays as it is."""
    if not len(values):
        return PackedColumn(0, np.empty(0, np.uint8))
    low, high = int(values.min()), int(values.max())
    if low == high:
        return PackedColumn(low, np.broadcast_to(np.uint8(0), len(values)))
    for dtype in _SMALL:
        if high - low <= np.iinfo(dtype).max:
            return PackedColumn(low, (values - low).astype(dtype))
    return PackedColumn(0, values.view(np.uint64))
