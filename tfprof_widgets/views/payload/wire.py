"""Tables of NumPy columns -> one compressed pack of bytes, typed arrays in the browser (`js/src/model/wire/wire.ts`)."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .column_code import TableCoder, decoded

_DTYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "u4": "<u4", "u2": "<u2", "u1": "<u1", "u8": "<u8"}
_LEVEL = 1
"""Of zlib. Higher levels cost several times the time for a tenth of the bytes: see `packed_tightly`."""
_KEPT_LEVEL = 6
_ZLIB_HEADER, _LAST_BLOCK = b"\x78\x01", b"\x03\x00"
_ADLER_BASE = 65521


Rows = slice | npt.NDArray[np.int64] | npt.NDArray[np.int32]
"""Which rows of a table to build."""


class Table:
    """Columns of equal length, each already converted to the dtype it has on the wire."""

    def __init__(self, columns: Mapping[str, tuple[npt.ArrayLike, str]]) -> None:
        """Convert each `(values, dtype)` exactly.

        Raises:
            TypeError: a column does not fit its wire dtype without loss, or differs in length; the message names it.
        """
        self.columns = {name: _exact(name, np.asarray(values), dtype) for name, (values, dtype) in columns.items()}
        lengths = {name: len(values) for name, (values, _) in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise TypeError(f"columns of one table differ in length: {lengths}")
        self.n = next(iter(lengths.values()), 0)


def columns_of(source: object, rows: Rows, **names: str) -> dict[str, tuple[npt.NDArray[Any], str]]:
    """Some rows of columns of a DataFrame or a dict, or of arrays that an object has, for `Table`.

    Args:
        source: the frame, the dict or the object.
        rows: which rows.
        names: for each dtype of the wire its columns, apart by spaces; `told:known` for one that the source knows by another
            name. Whole numbers of `f8`, times and bytes, become the browser's: exact to 2^53 (2.5 hours in ps, 8 PiB), the
            nearest double beyond.
    """
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


class Segment:
    """One table as it lies in a pack, compressed on its own: packs are put together, and measured, without doing it again."""

    def __init__(self, table: Table) -> None:
        self.n = table.n
        self.columns: dict[str, dict[str, Any]] = {}
        """By column its dtype, where it begins in the table, and how it is coded, if it is."""
        stream = _Stream()
        for name, dtype, code, data in TableCoder(table.columns).coded():
            told = {"dtype": dtype, "offset": stream.n_raw_bytes}
            self.columns[name] = told if code is None else {**told, "code": code}
            stream.add(np.ascontiguousarray(data).view(np.uint8).data)
        self.columns = {name: self.columns[name] for name in table.columns}
        self.data, self.adler, self.n_raw_bytes = stream.finish()

    @property
    def row_bytes(self) -> int:
        """Of one row before compression."""
        return sum(np.dtype(_DTYPES[column["dtype"]]).itemsize for column in self.columns.values())

    def header(self, offset: int) -> dict[str, Any]:
        """What the header of a pack says of the table when it begins at `offset`."""
        moved = {name: {**column, "offset": column["offset"] + offset} for name, column in self.columns.items()}
        return {"n": self.n, "columns": moved}


class _Stream:
    """Blocks of 8 bytes -> whole blocks of deflate that refer to nothing before them, with what a checksum needs."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS)
        self._parts: list[bytes] = []
        self._adler = 1
        self.n_raw_bytes = 0

    def add(self, block: bytes | memoryview) -> None:
        """Compress a block, padded with zeros to a multiple of 8."""
        for piece in (block, bytes(-len(block) % 8)):
            self._parts.append(self._compressor.compress(piece))
            self._adler = zlib.adler32(piece, self._adler)
            self.n_raw_bytes += len(piece)

    def finish(self) -> tuple[bytes, int, int]:
        """The compressed bytes, the checksum and the length of what went in."""
        return b"".join([*self._parts, self._compressor.flush(zlib.Z_FULL_FLUSH)]), self._adler, self.n_raw_bytes


def pack(meta: Mapping[str, Any], tables: Mapping[str, Table | Segment]) -> bytes:
    """Compress `meta` (JSON) and `tables` into one pack; its layout is in `js/src/model/wire/wire.ts`."""
    segments = {name: table if isinstance(table, Segment) else Segment(table) for name, table in tables.items()}
    head: dict[str, Any] = {}
    offset = 0
    for name, segment in segments.items():
        head[name] = segment.header(offset)
        offset += segment.n_raw_bytes
    text = json.dumps({"meta": meta, "tables": head}, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % 8)
    stream = _Stream()
    stream.add(len(text).to_bytes(4, "little") + text)
    data, adler, _ = stream.finish()
    for segment in segments.values():
        adler = _joined_adler(adler, segment.adler, segment.n_raw_bytes)
    return b"".join([_ZLIB_HEADER, data, *(s.data for s in segments.values()), _LAST_BLOCK, adler.to_bytes(4, "big")])


def packed_tightly(data: bytes) -> bytes:
    """The same pack in fewer bytes, for what is written to a disk: it takes about as long again as making the pack."""
    return zlib.compress(zlib.decompress(data), _KEPT_LEVEL)


def _joined_adler(first: int, second: int, n_second_bytes: int) -> int:
    """The Adler-32 of two blocks in a row from those of each; Source: RFC 1950, section 9."""
    low = (first & 0xFFFF) + (second & 0xFFFF) - 1
    high = (first >> 16) + (second >> 16) + n_second_bytes * ((first & 0xFFFF) - 1)
    return high % _ADLER_BASE << 16 | low % _ADLER_BASE


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, dict[str, npt.NDArray[Any]]]]:
    """Read a pack back as `(meta, {table: {column: values}})`, as the browser does."""
    raw = zlib.decompress(data)
    body = 4 + int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4:body])
    return header["meta"], {name: _columns(table, memoryview(raw)[body:]) for name, table in header["tables"].items()}


def _columns(table: dict[str, Any], body: memoryview) -> dict[str, npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[Any]] = {}
    for name, spec in sorted(table["columns"].items(), key=lambda one: "of" in one[1].get("code", ())):
        dtype, begin = _DTYPES[spec["dtype"]], spec["offset"]
        if "code" in spec:
            found[name] = decoded(body[begin:], spec["code"], table["n"], dtype, found)
        else:
            found[name] = np.frombuffer(body, dtype, table["n"], begin)
    return {name: found[name] for name in table["columns"]}


def as_text(data: bytes) -> str:
    """Base64, for traits (binary buffers do not survive a saved notebook) and for front ends that drop buffers."""
    return base64.b64encode(data).decode("ascii")
