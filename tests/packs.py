"""A pack of `tfprof_widgets.show` -> its meta object and columns, as `js/src/data/pack.ts` reads them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
_DTYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "u4": "<u4", "u2": "<u2", "u1": "<u1", "u8": "<u8"}


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


def decoded(data: memoryview, code: dict[str, Any], n: int, dtype: str, columns: Mapping[str, Values]) -> Values:
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
