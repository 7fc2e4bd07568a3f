"""Integer key columns -> which row of one table belongs to which row of another, without a Python loop."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.stat_shapes import ranges
from ...trace.trace import Int64

_Integer = TypeVar("_Integer", bound=np.integer)
_Numbering = Callable[[npt.NDArray[np.integer]], tuple[Int64, int]]
_WIDE = 2
"""Values that are spread over more than so many times their number are sorted to be numbered."""


def distinct(values: Int64) -> Int64:
    """The values once each, ascending: `np.unique` hashes them first, which takes several times as long."""
    ordered = np.sort(values, kind="stable")
    found: Int64 = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def same_key(first: npt.NDArray[np.integer], *others: npt.NDArray[np.integer]) -> Int64:
    """Columns -> one integer a row from 0, equal exactly where all columns are equal; in no order."""
    return _combined(_hashed, first, *others)


def _combined(number: _Numbering, first: npt.NDArray[np.integer], *others: npt.NDArray[np.integer]) -> Int64:
    """The number of each row of columns, given how the values of one are numbered."""
    key, _ = number(first)
    for column in others:
        code, n_values = number(column)
        if n_values > 1:
            key, _ = number(key * n_values + code)
    return key


def _hashed(column: npt.NDArray[np.integer]) -> tuple[Int64, int]:
    """As `_numbered`, but values that are wide apart in the order in which they come: hashing them spares the sorting."""
    if not len(column) or not _is_wide(column):
        return _numbered(column)
    code, values = pd.factorize(column)
    return code.astype(np.int64, copy=False), len(values)


def _is_wide(column: npt.NDArray[np.integer]) -> bool:
    return int(column.max()) - int(column.min()) > _WIDE * len(column) + _WIDE


def _numbered(column: npt.NDArray[np.integer]) -> tuple[Int64, int]:
    """The number of each value among the distinct ones in their order, and how many those are."""
    if not len(column):
        return np.empty(0, np.int64), 0
    if _is_wide(column):
        values, code = np.unique(column, return_inverse=True)
        return code.astype(np.int64), len(values)
    low, high = int(column.min()), int(column.max())
    # Ids that count up lie close together: a table of them takes a tenth of the time of sorting.
    at = column.astype(np.int64) - low
    is_there = np.zeros(high - low + 1, np.bool_)
    is_there[at] = True
    number = np.cumsum(is_there, dtype=np.int64) - 1
    return number[at], int(number[-1]) + 1


def dense_codes(*columns: npt.NDArray[np.integer]) -> tuple[Int64, int]:
    """Number the distinct rows of equally long integer columns from 0, in their order; also how many there are."""
    code = _combined(_numbered, *columns)
    return code, int(code.max(initial=-1)) + 1


def unique_codes(column: npt.NDArray[_Integer]) -> tuple[npt.NDArray[_Integer], Int64]:
    """The distinct values, ascending, and for each row which: `np.unique` sorts even ids that lie close together for it."""
    code, n = _numbered(column)
    return column[first_of(code, n)], code


def match_in_time(
    wanted: tuple[Int64, ...], wanted_ps: Int64, offered: tuple[Int64, ...], offered_ps: Int64, *, prefers_later: bool
) -> Int64:
    """For each wanted row the offered row of equal key that is next to it in time, -1 where the key is not offered.

    Args:
        wanted: key columns, equally long.
        wanted_ps: time of each wanted row.
        offered: as many key columns of the other table.
        offered_ps: time of each offered row.
        prefers_later: take the first one at or after the wanted time, and the last one before it when there is none;
            otherwise the last one at or before it, and the first one after it when there is none.
    """
    n = len(wanted_ps)
    if not n or not len(offered_ps):
        return np.full(n, -1, np.int64)
    code = same_key(*(np.concatenate([a, b]) for a, b in zip(wanted, offered, strict=True)))
    want, offer = moments_of((code[:n], wanted_ps), (code[n:], offered_ps))
    order = np.argsort(offer, kind="stable")
    at = np.searchsorted(offer[order], want, side="left" if prefers_later else "right")
    after, before = np.minimum(at, len(order) - 1), np.maximum(at - 1, 0)
    first, second = (after, before) if prefers_later else (before, after)
    offered_code = code[n:][order]
    pick = np.where(offered_code[first] == code[:n], first, second)
    return np.where(offered_code[pick] == code[:n], order[pick], -1)


def moments_of(*moments: tuple[Int64, Int64]) -> list[Int64]:
    """Columns of owners and of times -> a number a row, in the order of owner, then time, over all columns together.

    A single search of such numbers finds what is next to a moment of the same owner.
    """
    some = [(owner, time) for owner, time in moments if len(time)]
    if not some:
        return [time.astype(np.int64) for _, time in moments]
    low, high = min(int(time.min()) for _, time in some), max(int(time.max()) for _, time in some)
    owners = max(max(int(owner.max()), -int(owner.min())) for owner, _ in some)
    width = high - low + 1
    if (owners + 1) * width < 2**63:
        return [owner.astype(np.int64, copy=False) * width + (time - low) for owner, time in moments]
    # Too far apart for one number: the rank of each time has room, but takes sorting.
    times, rank = np.unique(np.concatenate([time for _, time in moments]), return_inverse=True)
    ranks = np.split(rank.reshape(-1), np.cumsum([len(time) for _, time in moments])[:-1])
    return [
        owner.astype(np.int64, copy=False) * len(times) + one for (owner, _), one in zip(moments, ranks, strict=True)
    ]


def children_of(parent: Int64) -> tuple[Int64, Int64]:
    """For a parent column the rows ordered by parent and, for each row, where its children begin in that order."""
    order = np.argsort(parent, kind="stable")
    offsets = np.searchsorted(parent[order], np.arange(len(parent) + 1)).astype(np.int64)
    return order, offsets


def rows_below(order: Int64, offsets: Int64, rows: Int64) -> Int64:
    """The children of some rows, given what `children_of` returned."""
    below: Int64 = order[ranges(offsets[rows], offsets[rows + 1] - offsets[rows])]
    return below


def all_matches(wanted: npt.NDArray[np.integer], offered: npt.NDArray[np.integer]) -> tuple[Int64, Int64]:
    """All pairs of rows of equal value, as rows of `wanted` and of `offered`, which is sorted."""
    low, high = (np.searchsorted(offered, wanted, side=side) for side in ("left", "right"))
    return np.repeat(np.arange(len(wanted)), high - low), ranges(low, high - low)


def numbered(values: Iterable[Hashable]) -> Int64:
    """The number of each value, which is no integer, in the order in which they come first."""
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in values], np.int64)


def first_of(code: Int64, n: int) -> Int64:
    """The first row of each of the codes below `n`, which all occur."""
    first = np.zeros(n, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    return first


def sum_by(row: npt.NDArray[np.integer], value: Int64, n: int) -> Int64:
    """Sums of integer values by row, exact; shape (n,)."""
    total = np.zeros(n, np.int64)
    np.add.at(total, row, value)
    return total
