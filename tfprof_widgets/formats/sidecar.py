"""The sidecar of a run directory -> the `SourceMap` in it, and back."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import TraceError
from ..trace.bounds import MAX_DOCUMENT_BYTES, document, texts, unpacked
from ..trace.regular_file import content_of
from ..trace.source_map import (
    FLAG,
    REFERENCES,
    TABLES,
    TEXT,
    SourceMap,
    empty_source_map,
    made_source_map,
    merge_source_maps,
    table_frame,
)

SIDECAR = "tfprof.sources.json.gz"
"""Name of the file beside the traces of a run; TensorBoard and XProf ignore it."""
MAX_SIDECAR_BYTES = MAX_DOCUMENT_BYTES
"""How large a sidecar may become when unpacked."""
MAX_ROWS = 500_000
"""Of one table; a capture notes at most 200,000 ops."""
MAX_BRACKETS = 5 * 2**20
"""How many brackets may be in it: each may be a list, which takes 30 times its bytes. Those in texts are fewer."""
VERSION = 1


def read_source_map(run: Path) -> SourceMap:
    """Read the sidecars of a run directory: its own, and that of each host whose trace came over a network.

    Returns:
        The map; an empty one where there is no sidecar, or, with a warning, where it is broken: the trace beside it is
        whole, so nothing is raised.
    """
    return read_sidecars(sidecars_of(run))


def read_sidecars(files: Sequence[Path]) -> SourceMap:
    """Read those sidecars as one map; as `read_source_map`."""
    maps = [_read_sidecar(file) for file in files]
    return maps[0] if len(maps) == 1 else merge_source_maps(maps)


def sidecars_of(run: Path) -> list[Path]:
    """The sidecars in a run directory, by name."""
    return sorted(file for file in run.glob(f"*{SIDECAR}") if is_sidecar(file.name)) if run.is_dir() else []


def is_sidecar(name: str) -> bool:
    """Whether a file of this name is a sidecar: that of the run, or `<host>.tfprof.sources.json.gz` of one of its hosts."""
    return name == SIDECAR or name.endswith(f".{SIDECAR}")


def _read_sidecar(file: Path) -> SourceMap:
    try:
        return parse_source_map(content_of(file, MAX_SIDECAR_BYTES))
    except (TraceError, OSError) as error:
        return empty_source_map(warnings=(f"Source lines are unknown: {file} cannot be read: {error}",))


def parse_source_map(content: bytes) -> SourceMap:
    """Read the bytes of a sidecar.

    Raises:
        TraceError: it is no sidecar, or one beyond the limits.
    """
    found = document(unpacked(content, MAX_SIDECAR_BYTES), VERSION, most_brackets=MAX_BRACKETS)
    try:
        tables = {name: _table(found, name) for name in TABLES}
        notices = texts(found.get("notices", []))
        recorder = texts([found.get("recorder", "")])[0]
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise TraceError(f"a table of it is broken: {type(error).__name__}: {error}") from error
    return made_source_map(_checked(tables), (recorder,), tuple(notices))


def sidecar_bytes(source_map: SourceMap) -> bytes:
    """The bytes of a sidecar that holds the map of one capture."""
    tables = {
        name: {key: getattr(source_map, name)[key].tolist() for key in columns} for name, columns in TABLES.items()
    }
    about = {"version": VERSION, "recorder": "".join(source_map.recorders), "notices": list(source_map.warnings)}
    text = json.dumps(about | tables, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "replace"), compresslevel=5, mtime=0)


def _table(found: dict[str, Any], name: str) -> pd.DataFrame:
    given = found.get(name, {})
    if not isinstance(given, dict):
        raise TypeError(f"{name} is a {type(given).__name__}")
    columns: dict[str, Any] = {}
    for key, kind in TABLES[name].items():
        values = given.get(key, [])
        if not isinstance(values, list) or len(values) > MAX_ROWS:
            raise ValueError(f"{name}.{key} is no list of at most {MAX_ROWS}")
        columns[key] = texts(values) if kind == TEXT else _numbers(values, is_flag=kind == FLAG)
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError(f"the columns of {name} differ in length")
    return table_frame(name, columns)


def _numbers(values: list[Any], *, is_flag: bool) -> Any:
    if not all(type(value) in (int, bool) for value in values):
        raise TypeError("a number is none")
    return np.array(values, np.bool_ if is_flag else np.int64)


def _checked(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Take back references to rows that do not exist; a parent must come before its child, so that chains end."""
    for (name, column), target in REFERENCES.items():
        rows = tables[name][column]
        limit: Any = rows.index if (name, column) == ("frames", "parent") else len(tables[target])
        tables[name][column] = rows.where((rows >= 0) & (rows < limit), -1)
    tables["samples"] = tables["samples"].sort_values("time_ns", kind="stable", ignore_index=True)
    return tables
