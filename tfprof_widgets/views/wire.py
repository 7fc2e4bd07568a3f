"""Tables of NumPy columns -> one compressed pack of bytes that the browser decodes into typed arrays (`js/src/core/wire.ts`)."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_DTYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "u4": "<u4", "u2": "<u2", "u1": "<u1", "u8": "<u8"}
_LEVEL = 1
"""Of zlib. Higher levels cost several times the time for a tenth of the bytes."""


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


def pack(meta: Mapping[str, Any], tables: Mapping[str, Table]) -> bytes:
    """Compress `meta` (JSON) and `tables` into one pack; its layout is in `js/src/core/wire.ts`."""
    header_tables: dict[str, Any] = {}
    blocks: list[bytes] = []
    offset = 0
    for table_name, table in tables.items():
        columns = {}
        for column_name, (values, dtype) in table.columns.items():
            block = np.ascontiguousarray(values).tobytes()
            block += bytes(-len(block) % 8)
            columns[column_name] = {"dtype": dtype, "offset": offset}
            blocks.append(block)
            offset += len(block)
        header_tables[table_name] = {"n": table.n, "columns": columns}
    header = json.dumps({"meta": meta, "tables": header_tables}, allow_nan=False, separators=(",", ":")).encode()
    header += b" " * (-(4 + len(header)) % 8)
    compressor = zlib.compressobj(_LEVEL)
    parts = [compressor.compress(len(header).to_bytes(4, "little") + header)]
    parts += [compressor.compress(block) for block in blocks]
    return b"".join([*parts, compressor.flush()])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, dict[str, npt.NDArray[Any]]]]:
    """Read a pack back as `(meta, {table: {column: values}})`, as the browser does."""
    raw = zlib.decompress(data)
    body = 4 + int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4:body])
    tables = {
        name: {
            column: np.frombuffer(raw, _DTYPES[spec["dtype"]], table["n"], body + spec["offset"])
            for column, spec in table["columns"].items()
        }
        for name, table in header["tables"].items()
    }
    return header["meta"], tables


def as_text(data: bytes) -> str:
    """Base64, for traits (binary buffers do not survive a saved notebook) and for front ends that drop buffers."""
    return base64.b64encode(data).decode("ascii")
