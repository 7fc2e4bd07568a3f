"""A pack of `tfprof_widgets.show` -> its meta object and columns, as `js/src/data/pack.ts` reads them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tfprof_widgets.show import Payload

Values = npt.NDArray[Any]
Columns = dict[str, npt.NDArray[Any]]
Pack = tuple[dict[str, Any], dict[str, Columns]]
_DTYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "u4": "<u4", "u2": "<u2", "u1": "<u1", "u8": "<u8"}


def unpack(data: bytes) -> Pack:
    """Read a pack back as `(meta, {table: {column: values}})`, as the browser does."""
    raw = zlib.decompress(data)
    body = 4 + int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4:body])
    return header["meta"], {name: _columns(table, memoryview(raw)[body:]) for name, table in header["tables"].items()}


def joined(packs: Iterable[Pack]) -> Pack:
    """What some packs hold together; tables and lists in several parts in the order of those."""
    meta: dict[str, Any] = {}
    tables: dict[str, Columns] = {}
    for more_meta, more_tables in packs:
        for name, value in more_meta.items():
            meta[name] = [*meta[name], *value] if isinstance(meta.get(name), list) else value
        for name, columns in more_tables.items():
            known = tables.get(name)
            tables[name] = {c: np.concatenate([known[c], v]) if known else v for c, v in columns.items()}
    return {"names": [], **meta}, tables


def first_of(payload: Payload) -> Pack:
    """What the first parts of a payload hold, tiles under their number such as `events:0`."""
    found = []
    for key, part in payload.first.items():
        meta, tables = unpack(part)
        name, _, number = key.partition(":")
        is_tile = name in ("events", "stats")
        found.append((meta, {f"{table}:{number}": columns for table, columns in tables.items()} if is_tile else tables))
    return joined(found)


def is_here(payload: Payload) -> set[str]:
    """The tables, lists and tiles that the first parts hold whole."""
    late = {key.partition(":")[0] for key in payload.keys}
    return set(payload.all) - late


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
        left += of
    else:
        left[:1] = code.get("first", 0)
        left[1:] += of[:-1]
        left = np.cumsum(left)
    return (left / code["over"] if "over" in code else left).astype(dtype)
