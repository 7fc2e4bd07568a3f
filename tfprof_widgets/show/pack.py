"""Tables of NumPy columns -> one compressed pack of bytes, typed arrays in the browser (`js/src/data/pack.ts`).

Whole numbers, less what a base gives and over their common factor, travel as zigzag (0, -1, 1, -2 become 0, 1, 2, 3) in as
many bytes as the largest needs, first the low bytes of all rows, then the next.
The bases, for row `i` of a column `x` and another column `y`, which has none of the two on the right itself:

    plain   0                       less    y[i]
    delta   x[i - 1]                gap     x[i - 1] + y[i - 1]: with durations the end of what came before

Numbers of up to three or nine decimals travel as whole ones, and are divided by `over`. Others keep their bits, the low
bytes of all rows first where that helps: `bits`.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..trace.arrays import Int64

Values = npt.NDArray[Any]
Code = dict[str, Any]
"""A column in the header: `base`, `width` in bytes, and unless 0 and 1 `first` and `scale`."""

_FEWEST_ROWS = 64
"""A shorter column is not worth its code."""
_PROBE_ROWS = 512
"""From the middle, to find the best base."""
_LAST_EXACT = 2**53
"""The largest whole number up to which a browser knows each."""
_OVER = (10**3, 10**9)
_LAST = "start_ps"
"""Coded behind all others, so that the end of what came before can be its base."""


class _Base(NamedTuple):
    kind: str
    of: str = ""


_PLAIN, _DELTA = _Base("plain"), _Base("delta")


class TableCoder:
    """Codes the columns of one table, of which those that were coded without another are bases of the next."""

    def __init__(self, columns: Mapping[str, tuple[Values, str]]) -> None:
        self._columns = columns
        self._known: dict[str, Int64] = {}
        """Columns of whole numbers that can be bases."""

    def coded(self) -> Iterator[tuple[str, str, Code | None, Values]]:
        """Name, dtype, code and bytes of each column."""
        for name in sorted(self._columns, key=lambda name: name == _LAST):
            values, dtype = self._columns[name]
            code, data = self._code(name, values)
            yield name, dtype, code, data

    def _code(self, name: str, values: Values) -> tuple[Code | None, Values]:
        whole = whole_numbers(values) if len(values) >= _FEWEST_ROWS else None
        if whole is None:
            for over in _OVER:
                whole = _decimals(values, over)
                found = None if whole is None else _coded(whole, self._best_base(whole, values.itemsize), self._known)
                if found is not None:
                    return {**found[0], "over": over}, found[1]
            return _bits(values)
        found = _coded(whole, self._best_base(whole, values.dtype.itemsize), self._known)
        if found is not None and values.dtype.kind == "f" and "of" not in found[0]:
            self._known[name] = whole
        return found or _bits(values)

    def _best_base(self, whole: Int64, n_bytes: int) -> _Base:
        """The base that leaves the smallest numbers, or none where those deflate better, in some rows."""
        begin = max(0, (len(whole) - _PROBE_ROWS) // 2)
        rows = slice(begin, begin + _PROBE_ROWS)
        some = whole[rows]
        best, left = _DELTA, _left(some, _DELTA, {})
        if not left.any() and (whole == whole[0]).all():  # all that is left of the same number everywhere is the first
            return best
        if n_bytes == 8 and self._known:
            others = {name: column[rows] for name, column in self._known.items()}
            bases = [_DELTA, *(_Base(kind, of) for of in others for kind in ("less", "gap"))]
            best, left = min(((base, _left(some, base, others)) for base in bases), key=lambda one: _n_digits(one[1]))
        return _PLAIN if _n_deflated(some) <= _n_deflated(left) else best


def whole_numbers(values: Values) -> Int64 | None:
    """The same numbers as integers, where each is one that a browser knows exactly; None else. Minus zero is no integer."""
    if values.dtype.itemsize == 8 and values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
        is_same = bool((whole.astype(np.float64).view(np.int64) == values.view(np.int64)).all())
        return whole if is_same and _are_exact(whole) else None
    return values.astype(np.int64) if values.dtype.kind in "iu" and values.dtype.itemsize < 8 else None


def _decimals(values: Values, over: int) -> Int64 | None:
    """Whole numbers that give each number to the last bit when they are divided; None else."""
    if len(values) < _FEWEST_ROWS or values.dtype != np.float64:
        return None
    with np.errstate(over="ignore"):
        left = np.rint(values * over)
    if not (np.abs(left) <= _LAST_EXACT).all():
        return None
    whole = left.astype(np.int64)
    return whole if ((whole / over).view(np.int64) == values.view(np.int64)).all() else None


def _coded(whole: Int64, base: _Base, others: Mapping[str, Int64]) -> tuple[Code, Values] | None:
    """Code and bytes; None where a sum on the way would not be exact in a browser."""
    left = _left(whole, base, others)
    if base.kind == "gap" and not _are_exact(whole - left):  # other bases say numbers of a column, which are exact
        return None
    scale = _common_factor(left)
    sign = _zigzag(left // scale if scale > 1 else left)
    largest = int(sign.max(initial=0))
    if largest > _LAST_EXACT or (largest + 1) // 2 * scale > _LAST_EXACT:
        return None
    width = (largest.bit_length() + 7) // 8
    code: Code = {"base": base.kind, "width": width}
    code |= {"of": base.of} if base.of else {}
    code |= {"scale": scale} if scale > 1 else {}
    if base.kind in ("delta", "gap") and whole[0]:
        code["first"] = int(whole[0])
    return code, _planes(sign, width)


def _left(whole: Int64, base: _Base, others: Mapping[str, Int64]) -> Int64:
    """The differences to a base; 0 for a first row, which is in the code."""
    if base == _PLAIN:
        return whole
    if base.kind == "less":
        return whole - others[base.of]
    left = np.empty_like(whole)
    left[:1] = 0
    np.subtract(whole[1:], whole[:-1], out=left[1:])
    if base.kind == "gap":
        left[1:] -= others[base.of][:-1]
    return left


def _are_exact(whole: Int64) -> bool:
    return not len(whole) or (int(whole.min()) >= -_LAST_EXACT and int(whole.max()) <= _LAST_EXACT)


def _common_factor(left: Int64) -> int:
    """The largest number that divides all, 1 for zeros; a few rows mostly show that there is none."""
    factor = int(np.gcd.reduce(left[:_PROBE_ROWS]))
    return factor if factor == 1 else max(1, int(np.gcd.reduce(left)))


def _zigzag(left: Int64) -> npt.NDArray[np.uint64]:
    return ((left << 1) ^ (left >> 63)).view(np.uint64)


def _planes(values: Values, width: int) -> Values:
    """The lowest byte of every row, then the next."""
    rows = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    return np.ascontiguousarray(rows[:, :width].T).reshape(-1)


def _bits(values: Values) -> tuple[Code | None, Values]:
    """Numbers as they are, their bytes apart where that deflates better in some rows."""
    width, n = values.dtype.itemsize, len(values)
    begin = max(0, (n - _PROBE_ROWS) // 2)
    some = np.ascontiguousarray(values[begin : begin + _PROBE_ROWS])
    if n < _FEWEST_ROWS or len(zlib.compress(some.data, 1)) <= len(zlib.compress(_planes(some, width).data, 1)):
        return None, values
    return {"base": "bits", "width": width}, _planes(np.ascontiguousarray(values), width)


def _n_digits(left: Int64) -> float:
    return float(np.log2(1.0 + np.abs(left)).sum())


def _n_deflated(left: Int64) -> int:
    factor = _common_factor(left)
    sign = _zigzag(left // factor)
    width = (int(sign.max(initial=0)).bit_length() + 7) // 8
    return len(zlib.compress(_planes(sign, width).data, 1))


_DTYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "u4": "<u4", "u2": "<u2", "u1": "<u1", "u8": "<u8"}
_LEVEL = 1
"""Of zlib: higher levels cost several times the time for a tenth of the bytes (see `packed_tightly`)."""
_KEPT_LEVEL = 8


Rows = slice | npt.NDArray[np.int64] | npt.NDArray[np.int32]


class Table:
    """Columns of equal length, each already converted to the dtype it has on the wire."""

    def __init__(self, columns: Mapping[str, tuple[npt.ArrayLike, str]]) -> None:
        """Convert each `(values, dtype)` exactly."""
        self.columns = {name: _exact(name, np.asarray(values), dtype) for name, (values, dtype) in columns.items()}
        lengths = {name: len(values) for name, (values, _) in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise TypeError(f"columns of one table differ in length: {lengths}")
        self.n = next(iter(lengths.values()), 0)

    @property
    def row_bytes(self) -> int:
        return sum(values.itemsize for values, _ in self.columns.values())


def columns_of(source: object, rows: Rows, **names: str) -> dict[str, tuple[npt.NDArray[Any], str]]:
    """Some rows of columns of a DataFrame or a dict, or of arrays that an object has, for `Table`."""
    found = {}
    for dtype, texts in names.items():
        for told, _, known in (text.partition(":") for text in texts.split()):
            column = (
                source[known or told] if isinstance(source, (pd.DataFrame, dict)) else getattr(source, known or told)
            )
            values = np.asarray(column)[rows]
            found[told] = (values.astype(np.float64) if dtype == "f8" else values, dtype)
    return found


def table_of(source: object, rows: Rows, **names: str) -> Table:
    """A table of nothing but `columns_of`."""
    return Table(columns_of(source, rows, **names))


def _exact(name: str, values: npt.NDArray[Any], dtype: str) -> tuple[npt.NDArray[Any], str]:
    wire = values.astype(_DTYPES[dtype], copy=False)
    if values.dtype.kind in "iub" and wire.dtype.kind == "f":
        exact = bool((wire.astype(values.dtype) == values).all())
    elif values.dtype.kind == "f" and wire.dtype.kind == "f":
        exact = wire.dtype.itemsize >= values.dtype.itemsize or bool(((wire == values) | np.isnan(values)).all())
    else:
        exact = bool((wire == values).all())
    if not exact:
        raise TypeError(f"column {name!r} ({values.dtype}) does not fit {dtype} without loss")
    return wire, dtype


def json_text(value: object) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def pack_bytes(meta: Mapping[str, Any], tables: Mapping[str, Table]) -> bytes:
    """Compress `meta` (JSON) and `tables` into one pack; its layout is in `js/src/data/pack.ts`."""
    head: dict[str, Any] = {}
    blocks: list[memoryview | bytes] = []
    offset = 0
    for name, table in tables.items():
        columns: dict[str, dict[str, Any]] = {}
        for column, dtype, code, data in TableCoder(table.columns).coded():
            columns[column] = {"dtype": dtype, "offset": offset} | ({} if code is None else {"code": code})
            blocks += [np.ascontiguousarray(data).view(np.uint8).data, bytes(-data.nbytes % 8)]
            offset += data.nbytes + len(blocks[-1])
        head[name] = {"n": table.n, "columns": {column: columns[column] for column in table.columns}}
    text = json_text({"tables": head, "meta": meta}).encode()
    text += b" " * (-(4 + len(text)) % 8)
    compressor = zlib.compressobj(_LEVEL)
    packed = [compressor.compress(raw) for raw in (len(text).to_bytes(4, "little"), text, *blocks)]
    return b"".join([*packed, compressor.flush()])


def packed_tightly(data: bytes) -> bytes:
    """The same pack in fewer bytes, for what is written to a disk: it takes about as long again as making the pack."""
    return zlib.compress(zlib.decompress(data), _KEPT_LEVEL)


def deflated(text: str) -> str:
    """A text, such as a script, as a trait has it."""
    return as_text(zlib.compress(text.encode("utf-8", "replace"), _KEPT_LEVEL))


def as_text(data: bytes) -> str:
    """Base64, for traits (binary buffers do not survive a saved notebook) and for front ends that drop buffers."""
    return base64.b64encode(data).decode("ascii")


PART_BYTES = 4 * 2**20
"""Of one message, as a browser holds several times as much while it decodes."""
MOST_COMPRESSED = 8
"""Columns seldom shrink more."""

_LIST_ROW_BYTES = 100
"""At least, where rows differ in size."""

Interval = tuple[Int64, Int64]


@dataclass(frozen=True, eq=False)
class Packed:
    """What others pack part by part: names, and events by tile."""

    n_rows: int
    row_bytes: int
    n_parts: int
    part: Callable[[int], bytes]

    @property
    def n_bytes(self) -> int:
        return self.n_rows * self.row_bytes


@dataclass(frozen=True, eq=False)
class Section:
    """A table, or a list of the meta object, of which any rows can be built: a long one is never whole in memory."""

    name: str
    n_rows: int
    """0 where finding out takes long."""
    build: Callable[[slice | Rows], Table | list[Any]]
    row_bytes: int
    """Of one row before compression; of a list at most so many."""
    interval: Callable[[], Interval] | None = None
    """Begin and end of each row, in ps; None for what cannot be cut to a window of time."""
    refers: str = ""
    """The column that names other rows of the table."""
    is_late: bool = False
    """Whether it takes long to find: it is found when it is asked for, and a capture is shown without it first."""
    is_list: bool = False
    _made: dict[int, bytes] = field(default_factory=dict)

    @property
    def _rows_per_part(self) -> int:
        # A column is padded to 8 bytes, and what does not compress grows a little.
        return max(1, (PART_BYTES - 2**16) // max(1, self.row_bytes))

    @property
    def n_parts(self) -> int:
        return max(1, -(-self.n_rows // self._rows_per_part))

    def part(self, index: int) -> bytes:
        """One part, a pack; lists and short tables are made once."""
        if index in self._made:
            return self._made[index]
        begin, n = index * self._rows_per_part, self._rows_per_part
        rows = self.build(slice(begin, None if index == self.n_parts - 1 else begin + n))
        packed = pack_bytes({self.name: rows}, {}) if isinstance(rows, list) else pack_bytes({}, {self.name: rows})
        if self.is_list or self.n_parts == 1:
            self._made[index] = packed
        return packed

    @property
    def n_bytes(self) -> int:
        """Of all rows, before compression; of a list at least so many."""
        return self.n_rows * (_LIST_ROW_BYTES if self.is_list else self.row_bytes)

    def rows_within(self, window_ps: tuple[float, float]) -> Int64:
        """The rows of a table with times that overlap a window, ascending."""
        assert self.interval is not None
        start, end = self.interval()
        return np.flatnonzero((start < window_ps[1]) & ((end > window_ps[0]) | (start >= window_ps[0])))

    def cut(self, window_ps: tuple[float, float]) -> Table:
        """Those rows; what refers to another one refers to it there."""
        rows = self.rows_within(window_ps)
        table = self.build(rows)
        assert isinstance(table, Table)
        if not self.refers or not len(rows):
            return table
        values, dtype = table.columns[self.refers]
        place = np.minimum(np.searchsorted(rows, values), len(rows) - 1)
        inside = np.where(rows[place] == values, place, -1)  # -1 leaves as it came: no row has that number
        return Table({**table.columns, self.refers: (inside, dtype)})
