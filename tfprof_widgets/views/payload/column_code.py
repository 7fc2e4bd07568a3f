"""The columns of a table -> bytes that deflate well: what other numbers do not tell of each; exact, or left as they are.

Whole numbers lose what a base tells of them, then a factor that all have in common; what is left is small. It travels as
zigzag (0, -1, 1, -2 become 0, 1, 2, 3) in as many bytes as the largest needs, first the low bytes of all rows, then the next.
The bases, for row `i` of a column `x` and another column `y`, which has none of the two on the right itself:

    plain   0                       less    y[i]
    delta   x[i - 1]                gap     x[i - 1] + y[i - 1]: with durations the end of what came before

The other numbers keep their bits, the low bytes of all rows first where that helps: `bits`. `js/src/data/pack.ts`
undoes it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...trace.trace import Int64

Values = npt.NDArray[Any]
Code = dict[str, Any]
"""What the header of a pack says of a column: `base`, `width` in bytes, and where they are not 0 and 1 `first` and `scale`."""

_FEWEST_ROWS = 64
"""Of fewer a column is not worth the words of its code."""
_PROBE_ROWS = 512
"""From the middle: they tell which base is best."""
_LAST_EXACT = 2**53
"""The largest whole number up to which a browser knows each."""
_LAST = "start_ps"
"""Is coded behind all others, so that the end of what came before can be its base."""


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


def decoded(data: memoryview, code: Code, n: int, dtype: str, columns: Mapping[str, Values]) -> Values:
    """A column again, from its bytes and those that have no base among columns."""
    planes = np.frombuffer(data, np.uint8, n * code["width"]).reshape(code["width"], n)
    if code["base"] == "bits":
        return np.ascontiguousarray(planes.T).view(dtype).reshape(n)
    number = np.zeros((n, 8), np.uint8)
    number[:, : code["width"]] = planes.T
    sign = number.view(np.uint64).reshape(n)
    left = (sign >> np.uint64(1)).astype(np.int64) ^ -(sign & np.uint64(1)).astype(np.int64)
    left *= code.get("scale", 1)
    of = columns[code["of"]].astype(np.int64) if "of" in code else np.zeros(n, np.int64)
    if code["base"] in ("plain", "less"):
        return (left + of).astype(dtype)
    left[:1] = code.get("first", 0)
    left[1:] += of[:-1]
    return np.cumsum(left).astype(dtype)


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
    """What a base does not tell; nothing of a first row, which the code tells."""
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
    """The largest number that divides all; 0 and 1 are not told apart. Most columns show in a few rows that they have none."""
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
    """How many binary digits the numbers have together."""
    return float(np.log2(1.0 + np.abs(left)).sum())


def _n_deflated(left: Int64) -> int:
    factor = _common_factor(left)
    sign = _zigzag(left // factor)
    width = (int(sign.max(initial=0)).bit_length() + 7) // 8
    return len(zlib.compress(_planes(sign, width).data, 1))
