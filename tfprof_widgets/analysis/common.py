"""Small things that every analysis uses: units, words for numbers, stretches of time, typed tables, matching, intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..trace.arrays import Float64, Int64
from ..trace.stats import ranges
from ..trace.trace import Trace

PS_PER_NS = 1_000
PS_PER_US = 1e6
PS_PER_MS = 1e9
US_PER_MS = 1e3


def hosts_of(trace: Trace) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plane.host for plane in trace.planes))


def host_of_plane(trace: Trace) -> Int64:
    """For each plane its host, an index into `hosts_of`."""
    row = {host: i for i, host in enumerate(hosts_of(trace))}
    return np.array([row[plane.host] for plane in trace.planes], np.int64)


Types = Mapping[str, type]
"""From each column of a table, in order, to `int`, `float`, `bool` or, for text and all else, `object`."""

_DTYPES = {int: np.int64, float: np.float64, bool: np.bool_, object: np.object_}


def typed_table(rows: Sequence[Mapping[str, object]], types: Types) -> pd.DataFrame:
    """Rows as a table whose columns have these types even where there are none; pandas' own types else."""
    return _without_rows(tuple(types.items())).copy() if not rows else pd.DataFrame(rows, columns=list(types))


def table_of_arrays(columns: Mapping[str, npt.NDArray[Any]]) -> pd.DataFrame:
    """Arrays as a table; those of type `object` stay so, where pandas would give texts its own type."""
    index = pd.RangeIndex(len(next(iter(columns.values()), ())))  # one for all, which spares comparing them
    typed = {name: pd.Series(one, index, dtype=object) if one.dtype == object else one for name, one in columns.items()}
    return pd.DataFrame(typed, index)


def text_column(texts: Iterable[str]) -> pd.Series:
    return pd.Series(list(texts), dtype=object)


def label_column(labels: Sequence[str], codes: Int64) -> pd.Series:
    """A column of some labels, "" for the code -1."""
    used, place = np.unique(codes, return_inverse=True)
    texts = np.array([labels[code] if code >= 0 else "" for code in used.tolist()], dtype=object)
    return text_column(texts[place])


@cache
def _without_rows(types: tuple[tuple[str, type], ...]) -> pd.DataFrame:
    """Made once: of many small traces the tables that stay empty would take longest."""
    return pd.DataFrame({name: np.empty(0, _DTYPES[kind]) for name, kind in types})


def number(value: float) -> str:
    """Three significant digits, never an exponent: `0.612`, `13.1`, `1,502`; `0` for what rounds to nothing below 0.001."""
    if not math.isfinite(value) or abs(value) < 0.0005:
        return "0" if math.isfinite(value) else "unknown"
    digits = max(0, min(3, 2 - math.floor(math.log10(abs(value)))))
    rounded = f"{value:,.{digits}f}"
    # 9.996 rounds up to a digit more than it needs.
    return f"{value:,.{digits - 1}f}" if digits and len(rounded.replace(".", "").lstrip("-0")) > 3 else rounded


def amount(count: float) -> str:
    """How many, which is not whole where it is a mean: `18`, `0.333`, `1,280`."""
    return f"{count:,.0f}" if abs(count - round(count)) < 1e-6 else number(count)


def milliseconds(ms: float) -> str:
    """A time in the unit that suits it: `12.3 µs`, `21.3 ms`, `1.03 s`."""
    scale, unit = (1e-3, "s") if ms >= 999.5 else (1, "ms") if ms >= 0.9995 or ms == 0 else (1e3, "µs")
    return f"{number(ms * scale)} {unit}"


def percent(ratio: float) -> str:
    """A share as whole percent; `<1 %` for a small one that is not nothing."""
    return "<1 %" if 0 < ratio < 0.01 else f"{ratio * 100:.0f} %"


def plural(count: int, noun: str) -> str:
    """`1 step`, `40 steps`, `1,200 steps`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more of 5`: so many of some names."""
    more = f" and {len(names) - most:,} more of {len(names):,}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def head(text: str, most: int) -> str:
    """The begin of a text, at most so many characters with the `…` that stands for the rest."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def tail_of_text(text: str, most: int) -> str:
    """The end of a text likewise: of a path or the name of an op it tells more."""
    return text if len(text) <= most else f"…{text[1 - most :]}"


def size(n_bytes: float) -> str:
    """Bytes with a binary unit: `512 bytes`, `5.88 MiB`, `64.0 GiB`, `1.00 EiB`."""
    for unit, power in (("EiB", 60), ("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if abs(n_bytes) >= 2**power:
            return f"{number(n_bytes / 2**power)} {unit}"
    return plural(round(n_bytes), "byte")


def ends(text: str, most: int) -> str:
    """At most so many characters, without the middle of a longer text, and more of its end than of its beginning."""
    if len(text) <= most:
        return text
    n_head = (most - 1) // 3
    return f"{text[:n_head]}…{text[len(text) - (most - 1 - n_head) :]}"


@dataclass(frozen=True, eq=False)
class Stretches:
    """Disjoint stretches in order of time."""

    start: Int64
    end: Int64

    @classmethod
    def of(cls, start: Int64, end: Int64) -> Stretches:
        """What any of some spans covers."""
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        first = np.flatnonzero(np.append(True, start[1:] > reach[:-1])[: len(start)])
        last = np.append(first[1:], len(start))[: len(first)] - 1
        return cls(start[first], reach[last])

    def within(self, low: Int64, high: Int64) -> Int64:
        """How much of them lies in each span of time."""
        return self._before(high) - self._before(low)

    def _before(self, at: Int64) -> Int64:
        total = np.append(0, np.cumsum(self.end - self.start))
        k = np.searchsorted(self.start, at, side="right")
        inside = np.where(k > 0, np.maximum(np.append(self.end, 0)[k - 1] - at, 0), 0)
        return total[k] - inside


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
    """For each wanted row the offered row of equal key that is next to it in time, -1 where the key is not offered."""
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
    """Columns of owners and times -> a number a row in the order of owner, then time, over all columns."""
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
    return order[ranges(offsets[rows], offsets[rows + 1] - offsets[rows])]


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


MOST_DEGREES = 200
"""With more degrees of freedom the distribution is as good as normal."""


def tail_of_t(t: float, degrees: int) -> float:
    """Probability of an absolute value above `t`. Source: Abramowitz, Stegun, Handbook of Mathematical Functions, 26.7.3-4."""
    angle = math.atan2(t, math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if degrees % 2 else 1.0
    total = 0.0
    for k in range(3 if degrees % 2 else 2, degrees + 1, 2):  # at most MOST_DEGREES / 2 turns
        total += term
        term *= cosine * cosine * (k - 1) / k
    inside = 2 / math.pi * (angle + sine * total) if degrees % 2 else sine * total
    return 1 - inside


@lru_cache(maxsize=1024)
def two_sided(alpha: float, degrees: int) -> float:
    """The bound that the absolute value stays below with probability 1 - `alpha`."""
    degrees = min(max(degrees, 1), MOST_DEGREES)
    low, high = 0.0, 1.0
    while tail_of_t(high, degrees) > alpha and high < 1e9:
        high *= 2
    for _ in range(60):  # halves the interval to less than a rounding error
        middle = (low + high) / 2
        low, high = (middle, high) if tail_of_t(middle, degrees) > alpha else (low, middle)
    return high


_DRAWN_AT_ONCE = 2**21
"""Values, so that the resamples of many never lie in memory together."""


def block_middles(
    values: Float64,
    rng: np.random.Generator,
    middle: Callable[..., Any],
    *,
    length: int,
    n_blocks: int,
    n_resamples: int,
) -> Float64:
    """The middle of each resample in circular blocks. Source: D. Politis, J. Romano, Circular block-resampling (1992)."""
    n, found = len(values), []
    at_once = max(1, _DRAWN_AT_ONCE // (n_blocks * length))
    for first in range(0, n_resamples, at_once):
        start = rng.integers(0, n, (min(at_once, n_resamples - first), n_blocks, 1))
        place = ((start + np.arange(length)) % n).reshape(len(start), -1)[:, :n]
        found.append(middle(values[place], axis=1))
    return np.concatenate(found)


_OF_MEDIAN = math.sqrt(math.pi / 2)
"""How much less certain a median is than a mean, at most, where measurements are normally distributed."""


def median_and_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median of positive values and its 95 % interval: Student's t on logarithms, widened by `sqrt(pi / 2)`."""
    if not len(values):
        return math.nan, math.nan, math.nan
    logs = np.log(np.asarray(values, np.float64))
    center = float(np.median(logs))
    if len(logs) < 2:
        return math.exp(center), math.nan, math.nan
    half = min(_OF_MEDIAN * two_sided(0.05, len(logs) - 1) * float(np.std(logs, ddof=1)) / math.sqrt(len(logs)), 700.0)
    return math.exp(center), math.exp(center - half), math.exp(min(center + half, 700.0))
