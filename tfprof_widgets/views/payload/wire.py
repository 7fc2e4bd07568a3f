"""Tables of NumPy columns -> one compressed pack of bytes, typed arrays in the browser (`js/src/data/pack.ts`)."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
        blocks: list[memoryview | bytes] = []
        offset = 0
        for name, dtype, code, data in TableCoder(table.columns).coded():
            told = {"dtype": dtype, "offset": offset}
            self.columns[name] = told if code is None else {**told, "code": code}
            blocks += [np.ascontiguousarray(data).view(np.uint8).data, bytes(-data.nbytes % 8)]
            offset += data.nbytes + len(blocks[-1])
        self.columns = {name: self.columns[name] for name in table.columns}
        self.block = Block.of(b"".join(blocks))

    @property
    def row_bytes(self) -> int:
        """Of one row before compression."""
        return sum(np.dtype(_DTYPES[column["dtype"]]).itemsize for column in self.columns.values())

    def header(self, offset: int) -> dict[str, Any]:
        """What the header of a pack says of the table when it begins at `offset`."""
        moved = {name: {**column, "offset": column["offset"] + offset} for name, column in self.columns.items()}
        return {"n": self.n, "columns": moved}


class Block(NamedTuple):
    """Some bytes of a pack, deflated on their own: they refer to nothing before them."""

    data: bytes
    """Whole blocks of deflate."""
    adler: int
    """The checksum of the bytes."""
    n_raw_bytes: int

    @classmethod
    def of(cls, raw: bytes) -> Block:
        """Deflate bytes."""
        compressor = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS)
        return cls(compressor.compress(raw) + compressor.flush(zlib.Z_FULL_FLUSH), zlib.adler32(raw), len(raw))

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """The bytes of some blocks, one after the other; Source of the checksum: RFC 1950, section 9."""
        low, high, n = 1, 0, 0
        for block in blocks:
            high += (block.adler >> 16) + block.n_raw_bytes * (low - 1)
            low += (block.adler & 0xFFFF) - 1
            n += block.n_raw_bytes
        return cls(b"".join(block.data for block in blocks), high % _ADLER_BASE << 16 | low % _ADLER_BASE, n)


def json_text(value: object) -> str:
    """A value as JSON without spaces."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def pack(meta: Mapping[str, Any], tables: Mapping[str, Table | Segment], members: Sequence[Block] = ()) -> bytes:
    """Compress `meta` (JSON) and `tables` into one pack; its layout is in `js/src/data/pack.ts`.

    Args:
        meta: the meta object.
        tables: by name.
        members: more of the meta object, of which something must be in `meta`: `,"name":value` each.
    """
    segments = {name: table if isinstance(table, Segment) else Segment(table) for name, table in tables.items()}
    head: dict[str, Any] = {}
    offset = 0
    for name, segment in segments.items():
        head[name] = segment.header(offset)
        offset += segment.block.n_raw_bytes
    begin, end = f'{{"tables":{json_text(head)},"meta":{json_text(meta)[:-1]}'.encode(), b"}}"
    n = len(begin) + sum(block.n_raw_bytes for block in members) + len(end)
    padding = -(4 + n) % 8
    first = Block.of((n + padding).to_bytes(4, "little") + begin)
    whole = Block.joined([first, *members, Block.of(end + b" " * padding), *(one.block for one in segments.values())])
    return b"".join([_ZLIB_HEADER, whole.data, _LAST_BLOCK, whole.adler.to_bytes(4, "big")])


def packed_tightly(data: bytes) -> bytes:
    """The same pack in fewer bytes, for what is written to a disk: it takes about as long again as making the pack."""
    return zlib.compress(zlib.decompress(data), _KEPT_LEVEL)


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
