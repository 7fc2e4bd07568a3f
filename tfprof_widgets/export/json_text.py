"""Columns of a trace -> texts of JSON, column-wise: what a document of a million events is put together from."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..trace.trace import Int64, StatKind, Trace, UInt8, UInt64

Texts = npt.NDArray[np.object_]
"""One string per row."""

_PS_PER_US = 1_000_000
_PS_PER_NS = 1_000


def microseconds(time_ps: Int64) -> list[str]:
    """Times as decimals that give back every picosecond: `12.000345`, `12.5`, `12`.

    Clocks of CPUs count nanoseconds, so whole columns of three decimals are the usual case.
    """
    whole, rest = np.divmod(np.abs(time_ps), _PS_PER_US)
    if not rest.any():
        texts = list(map(str, whole.tolist()))
    elif not (rest % _PS_PER_NS).any():
        texts = list(map("%d.%03d".__mod__, zip(whole.tolist(), (rest // _PS_PER_NS).tolist(), strict=True)))
    else:
        texts = list(map("%d.%06d".__mod__, zip(whole.tolist(), rest.tolist(), strict=True)))
    for row in np.flatnonzero(time_ps < 0).tolist():  # before the origin: of a few events, if any
        texts[row] = f"-{texts[row]}"
    return texts


def quoted(text: str) -> str:
    """A string of JSON. Beyond ASCII it stays UTF-8: Perfetto's reader of object members knows no `\\u` escapes."""
    return json.dumps(text, ensure_ascii=False)


def compact(value: object) -> str:
    """Any value as JSON without spaces; refuses what JSON has no word for."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def real(value: float) -> str:
    """A double that reads back the same; what JSON has no word for is an object that `store.chrome_stats` knows."""
    return repr(value) if math.isfinite(value) else f'{{"$double":"{value}"}}'


def plain(value: Any) -> Any:
    """A stat's value as something JSON can hold, in the same form as in the stats of events."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$double": str(value)}
    return value


class StatTexts:
    """Stats -> members of JSON objects such as `"group_id":7`; each string of the trace is quoted once."""

    def __init__(self, trace: Trace) -> None:
        self._strings = trace.strings
        self._blobs = trace.blobs
        self._quoted: Texts = np.empty(len(trace.strings), object)
        self._is_quoted = np.zeros(len(trace.strings), np.bool_)

    def strings(self, ids: npt.NDArray[np.integer[Any]]) -> Texts:
        """The quoted string of each index into `Trace.strings`."""
        new = np.unique(ids)
        new = new[~self._is_quoted[new]]
        for i in new.tolist():  # once for each string
            self._quoted[i] = quoted(self._strings[i])
        self._is_quoted[new] = True
        texts: Texts = self._quoted[ids]
        return texts

    def members(self, key: npt.NDArray[np.integer[Any]], kind: UInt8, bits: UInt64) -> list[str]:
        """Name and value of each stat."""
        values: Texts = np.empty(len(key), object)
        for one in np.unique(kind).tolist():
            rows = np.flatnonzero(kind == one)
            values[rows] = self._values(one, bits[rows])
        return list(map("%s:%s".__mod__, zip(self.strings(key).tolist(), values.tolist(), strict=True)))

    def _values(self, kind: int, bits: UInt64) -> Any:
        if kind == StatKind.STRING:
            return self.strings(bits.astype(np.int64))
        if kind == StatKind.BYTES:
            return [compact(plain(self._blobs[i])) for i in bits.tolist()]
        if kind == StatKind.DOUBLE:
            return list(map(real, bits.view(np.float64).tolist()))
        return list(map(str, (bits.view(np.int64) if kind == StatKind.INT64 else bits).tolist()))
