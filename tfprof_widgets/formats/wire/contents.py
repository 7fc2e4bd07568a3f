"""Pieces of a byte buffer -> which of them hold the same bytes, all compared at once."""

from __future__ import annotations

import numpy as np

from .varints import ByteView, Int64, UInt64

_MOST_BYTES = 128
"""Longer pieces are few: they are compared by the number that Python has for them."""
_AT_ONCE = 2**15
"""Pieces that are looked at together: the bytes of more of them do not stay in the processor's cache."""
_FIRST_BYTES = np.array([*(256**n - 1 for n in range(8)), 2**64 - 1], np.uint64)
"""What leaves so many bytes of a window."""


def alike(view: ByteView, begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """For each piece the number of its content, as they occur, and for each number the first piece that has it.

    Contents are told apart by 64 bits that are mixed with random numbers, drawn anew each time, so that no file can hold
    two that have the same other than by luck.
    """
    odd = np.random.default_rng().integers(2**63, size=2, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    parts = (slice(low, low + _AT_ONCE) for low in range(0, len(begin), _AT_ONCE))
    mixed = [_mixed(view, begin[part], end[part], odd) for part in parts]
    _, first, number = np.unique(
        np.concatenate([np.empty(0, np.uint64), *mixed]), return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[number.reshape(-1)], first[order]


def _mixed(view: ByteView, begin: Int64, end: Int64, odd: UInt64) -> UInt64:
    size = end - begin
    mixed = size.astype(np.uint64)
    row = np.flatnonzero((size > 0) & (size <= _MOST_BYTES))
    at, left, before = begin[row], size[row], mixed[row]
    while len(row):  # eight bytes of each at a time
        window = view.windows[at]
        window &= _FIRST_BYTES.take(np.minimum(left, 8))
        window ^= before
        for one in odd:
            window *= one
            window ^= window >> np.uint64(32)
        mixed[row] = window
        more = np.flatnonzero(left > 8)
        row, at, left, before = row[more], at[more] + 8, left[more] - 8, window[more]
    long = np.flatnonzero(size > _MOST_BYTES)
    ends = zip(begin[long].tolist(), end[long].tolist(), strict=True)
    told = np.fromiter((hash(view.content[low:high]) for low, high in ends), np.int64, len(long))
    mixed[long] = told.view(np.uint64)
    return mixed
