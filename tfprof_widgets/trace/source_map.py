"""The sidecar of a run directory -> `SourceMap`: which source line and which Keras layer made each graph op."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import TraceError

SIDECAR = "tfprof.sources.json.gz"
"""Name of the file beside the traces of a run; TensorBoard and XProf ignore it."""
MAX_SIDECAR_BYTES = 64 * 2**20
"""How large a sidecar may become when unpacked."""
MAX_ROWS = 500_000
"""Of one table; a capture notes at most 200,000 ops."""
MAX_BRACKETS = 5 * 2**20
"""How many brackets may be in it: each may be a list, which takes 30 times its bytes. Those in texts are fewer."""
MAX_RANK = 254
"""TensorFlow has no tensors of more dimensions."""
VERSION = 1
_DIMENSION = re.compile(r"-1|[0-9]{1,18}", re.ASCII)

_INT, _TEXT, _FLAG = "int64", "text", "bool"
TABLES: dict[str, dict[str, str]] = {
    "ops": {"graph": _INT, "op": _TEXT, "type": _TEXT, "frame": _INT},
    "frames": {"parent": _INT, "file": _INT, "line": _INT, "function": _TEXT},
    "files": {"file": _TEXT, "title": _TEXT, "is_user": _FLAG, "text": _TEXT},
    "layers": {"layer": _TEXT, "name": _TEXT, "class_name": _TEXT, "model": _TEXT, "file": _INT, "line": _INT},
    "functions": {"graph": _TEXT, "file": _INT, "line": _INT, "function": _TEXT},
    "samples": {"time_ns": _INT, "frame": _INT},
    "facts": {"name": _TEXT, "value": _TEXT},
    "details": {
        "op": _INT,
        "device": _TEXT,
        "float_ops": _INT,
        "input_shapes": _TEXT,
        "output_shapes": _TEXT,
        "variable": _INT,
    },
    "edges": {"op": _INT, "slot": _INT, "source": _INT, "source_output": _INT},
    "variables": {
        "name": _TEXT,
        "shape": _TEXT,
        "dtype": _TEXT,
        "trainable": _FLAG,
        "layer": _TEXT,
        "device": _TEXT,
    },
}
"""Tables and columns of the sidecar and of `SourceMap`; a table that an older capture did not write is empty."""
_REFERENCES = {
    ("ops", "graph"): "functions",
    ("ops", "frame"): "frames",
    ("frames", "parent"): "frames",
    ("frames", "file"): "files",
    ("layers", "file"): "files",
    ("functions", "file"): "files",
    ("samples", "frame"): "frames",
    ("details", "op"): "ops",
    ("details", "variable"): "variables",
    ("edges", "op"): "ops",
    ("edges", "source"): "ops",
}
"""Columns that are rows of another table; -1 for none."""


@dataclass(frozen=True, eq=False, repr=False)
class SourceMap:
    """What a capture noted of the program that it captured. All tables may be empty."""

    ops: pd.DataFrame
    """One row per graph op: `graph` (row of `functions`), `op`, `type`, `frame` (row of `frames`, -1 for none)."""
    frames: pd.DataFrame
    """Frames of tracebacks as trees: `parent` (the caller's row, always an earlier one; -1 for the outermost), `file` (row
    of `files`), `line`, `function`. Frames inside TensorFlow are left out."""
    files: pd.DataFrame
    """`file` (its path, as in tracebacks), `title` (what to show), `is_user`, `text` ("" where unknown)."""
    layers: pd.DataFrame
    """Live Keras layers: `layer` (path of names below its model), `name`, `class_name`, `model`, `file` and `line` of the
    call that made it (-1 and 0 where unknown)."""
    functions: pd.DataFrame
    """One row per graph: `graph` (its name, which may repeat), and where its Python function was defined: `file`, `line`,
    `function` (-1, 0 and "" where unknown)."""
    samples: pd.DataFrame
    """The user's line that the main thread executed, sampled: `time_ns` (Unix time), `frame`; in time order."""
    facts: pd.DataFrame
    """What the program ran on: `name` (`tensorflow`, `keras`, `python`, `memory_bytes`, `n_cpus`, ...), `value` as text."""
    details: pd.DataFrame = field(default_factory=lambda: _frame("details", {}))
    """What else is known of some ops, a row each: `op` (row of `ops`), `device` (asked for; "" for none), `float_ops` (of one
    execution, by TensorFlow's own statistics; 0 where unknown), `input_shapes` and `output_shapes` (see `parse_shapes`),
    `variable` (row of `variables`, of the one that it reads or makes; -1 for none)."""
    edges: pd.DataFrame = field(default_factory=lambda: _frame("edges", {}))
    """One row per edge between ops: output `source_output` of op `source` is input `slot` of `op`; -1 as output for a control
    edge. Those from a function's arguments are left out."""
    variables: pd.DataFrame = field(default_factory=lambda: _frame("variables", {}))
    """Live variables: `name` (path of names), `shape` (see `parse_shapes`), `dtype`, `trainable`, `layer` (path as in
    `layers`, "" where none holds it), `device`."""
    recorders: tuple[str, ...] = ()
    """Which captures wrote it; maps of one capture hold the same graphs."""
    warnings: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known, as of traces that other tools captured."""
        return not (len(self.ops) or len(self.layers) or len(self.samples) or len(self.variables))

    def __repr__(self) -> str:
        return f"SourceMap({len(self.ops)} ops, {len(self.frames)} frames, {len(self.files)} files)"


def parse_shapes(text: str) -> list[tuple[int, ...] | None]:
    """The shapes that a text of the sidecar tells: `32x-1;();?` is `[(32, -1), (), None]`.

    Returns:
        One entry per shape, -1 for an unknown dimension, None for an unknown rank or what is no shape.
    """
    return [_shape(part) for part in text.split(";")] if text else []


def _shape(text: str) -> tuple[int, ...] | None:
    if text == "()":
        return ()
    parts = text.split("x", MAX_RANK)
    if len(parts) > MAX_RANK or not all(_DIMENSION.fullmatch(part) for part in parts):
        return None
    return tuple(map(int, parts))


def empty_source_map(*, warnings: tuple[str, ...] = ()) -> SourceMap:
    """The map of a trace beside which nothing was noted."""
    return replace(_nothing_noted(), warnings=warnings)


@cache
def _nothing_noted() -> SourceMap:
    """Made once, as its many columns take longer than a small trace takes to read."""
    return _source_map({}, (), ())


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
        if (size := file.stat().st_size) > MAX_SIDECAR_BYTES:
            raise TraceError(f"it has {size} bytes, more than {MAX_SIDECAR_BYTES}, the limit")
        return parse_source_map(file.read_bytes())
    except (TraceError, OSError) as error:
        return empty_source_map(warnings=(f"Source lines are unknown: {file} cannot be read: {error}",))


def parse_source_map(content: bytes) -> SourceMap:
    """Read the bytes of a sidecar.

    Raises:
        TraceError: it is no sidecar, or one beyond the limits.
    """
    try:
        packed = zlib.decompressobj(wbits=31)
        text = packed.decompress(content, MAX_SIDECAR_BYTES)
        if packed.unconsumed_tail:
            raise TraceError(f"it unpacks to more than {MAX_SIDECAR_BYTES} bytes, the limit")
        if not packed.eof:
            raise TraceError(f"its {len(content)} bytes end inside the gzip stream")
        if text.count(b"[") + text.count(b"{") > MAX_BRACKETS:
            raise TraceError(f"it has more than {MAX_BRACKETS} lists, the limit")
        document = json.loads(text)
    except (zlib.error, ValueError, RecursionError) as error:
        raise TraceError(f"it is no gzip of JSON: {type(error).__name__}: {error}") from error
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise TraceError(f"its version is not {VERSION}")
    try:
        tables = {name: _table(document, name) for name in TABLES}
        notices = _texts(document.get("notices", []))
        recorder = _texts([document.get("recorder", "")])[0]
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise TraceError(f"a table of it is broken: {type(error).__name__}: {error}") from error
    return _source_map(_checked(tables), (recorder,), tuple(notices))


def merge_source_maps(maps: Sequence[SourceMap]) -> SourceMap:
    """One map of several: of windows of one capture the fullest one, of different captures or hosts all rows.

    Layers and files of different captures stay apart, as the same path may name another file on another host.
    """
    fullest: dict[tuple[str, ...], SourceMap] = {}
    for one in maps:
        known = fullest.get(one.recorders)
        if known is None or (len(one.ops), len(one.samples)) >= (len(known.ops), len(known.samples)):
            fullest[one.recorders] = one
    warnings = tuple(dict.fromkeys(text for one in maps for text in one.warnings))
    chosen = [one for one in fullest.values() if not one.is_empty]
    if not chosen:
        return empty_source_map(warnings=warnings)
    offsets = dict.fromkeys(TABLES, 0)
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
    for one in chosen:
        for name in TABLES:
            moved = getattr(one, name).copy()
            for (table, column), target in _REFERENCES.items():
                if table == name:
                    moved[column] = moved[column].where(moved[column] < 0, moved[column] + offsets[target])
            parts[name].append(moved)
        for name in TABLES:
            offsets[name] += len(getattr(one, name))
    tables = {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}
    tables["samples"] = tables["samples"].sort_values("time_ns", kind="stable", ignore_index=True)
    return _source_map(tables, tuple(name for one in chosen for name in one.recorders), warnings)


def _source_map(tables: dict[str, pd.DataFrame], recorders: tuple[str, ...], warnings: tuple[str, ...]) -> SourceMap:
    whole = {name: tables[name] if name in tables else _frame(name, {}) for name in TABLES}
    return SourceMap(**whole, recorders=recorders, warnings=warnings)


def _frame(name: str, columns: dict[str, Any]) -> pd.DataFrame:
    dtypes = {_INT: np.dtype(np.int64), _TEXT: np.dtype(object), _FLAG: np.dtype(np.bool_)}
    return pd.DataFrame(
        {key: pd.Series(columns.get(key, []), dtype=dtypes[kind]) for key, kind in TABLES[name].items()}
    )


def _table(document: dict[str, Any], name: str) -> pd.DataFrame:
    given = document.get(name, {})
    if not isinstance(given, dict):
        raise TypeError(f"{name} is a {type(given).__name__}")
    columns: dict[str, Any] = {}
    for key, kind in TABLES[name].items():
        values = given.get(key, [])
        if not isinstance(values, list) or len(values) > MAX_ROWS:
            raise ValueError(f"{name}.{key} is no list of at most {MAX_ROWS}")
        columns[key] = _texts(values) if kind == _TEXT else _numbers(values, is_flag=kind == _FLAG)
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError(f"the columns of {name} differ in length")
    return _frame(name, columns)


def _numbers(values: list[Any], *, is_flag: bool) -> Any:
    if not all(type(value) in (int, bool) for value in values):
        raise TypeError("a number is none")
    return np.array(values, np.bool_ if is_flag else np.int64)


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a text is none")
    # JSON can hold halves of surrogate pairs, which no encoder takes later.
    return [value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8") for value in values]


def _checked(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Take back references to rows that do not exist; a parent must come before its child, so that chains end."""
    for (name, column), target in _REFERENCES.items():
        rows = tables[name][column]
        limit: Any = rows.index if (name, column) == ("frames", "parent") else len(tables[target])
        tables[name][column] = rows.where((rows >= 0) & (rows < limit), -1)
    tables["samples"] = tables["samples"].sort_values("time_ns", kind="stable", ignore_index=True)
    return tables
