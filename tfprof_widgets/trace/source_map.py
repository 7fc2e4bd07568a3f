"""`SourceMap`: which source line and which Keras layer made each op of a program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np
import pandas as pd

MAX_RANK = 254
"""The most dimensions of TensorFlow's tensors."""
_FRAMEWORK = re.compile(r"(?:^|/)(?:tensorflow/python|(?:tf_)?keras/src)/")
_OF_SOURCE_MAP = re.compile(
    r"Source lines were read |(?:No )?FLOP counts |[\d,]+ of [\d,]+ source files are shown in part"
)
_DIMENSION = re.compile(r"-1|[0-9]{1,18}", re.ASCII)

INT, TEXT, FLAG = "int64", "text", "bool"


def declared(text: str) -> dict[str, dict[str, list[str]]]:
    """`table: column kind, ...`, a line a table -> by table and column the kind, and what else is said of it."""
    lines = (line.partition(": ")[::2] for line in text.strip().split("\n"))
    return {table: {(words := one.split())[0]: words[1:] for one in columns.split(", ")} for table, columns in lines}


_DECLARED = declared("""
ops: graph int64 functions, op text, type text, frame int64 frames
frames: parent int64 frames, file int64 files, line int64, function text
files: file text, title text, is_user bool, text text
roots: root text
layers: layer text, name text, class_name text, model text, file int64 files, line int64
functions: graph text, file int64 files, line int64, function text
samples: time_ns int64, frame int64 frames, other int64 frames
calls: begin_ns int64, end_ns int64, frame int64 frames
facts: name text, value text
details: op int64 ops, device text, float_ops int64, input_shapes text, output_shapes text, variable int64 variables, dtype text
edges: op int64 ops, slot int64, source int64 ops, source_output int64
variables: name text, shape text, dtype text, trainable bool, layer text, device text
""")
SOURCE_TABLES = {name: {column: kind for column, (kind, *_) in own.items()} for name, own in _DECLARED.items()}
"""Tables and columns of the sidecar and of `SourceMap`."""
REFERENCES = {(name, column): of[1] for name, own in _DECLARED.items() for column, of in own.items() if of[1:]}
"""Columns that are rows of another table; -1 for none."""


class Sources(Protocol):
    """What is known of the program of a trace: read already, or to be read when it is first asked for."""

    @property
    def facts(self) -> pd.DataFrame:
        """As of a `SourceMap`; known at once."""

    def read(self) -> SourceMap:
        """The whole of it, which may take a second or two the first time."""


@cache
def _no_rows(name: str) -> pd.DataFrame:
    return table_frame(name, {})


@dataclass(frozen=True, eq=False, repr=False)
class SourceMap:
    """What a capture recorded of its program; all tables may be empty."""

    ops: pd.DataFrame
    """One row per graph op: `graph` (row of `functions`), `op`, `type`, `frame` (row of `frames`, -1 for none)."""
    frames: pd.DataFrame
    """Trees of tracebacks without TensorFlow's frames: `parent` (the caller's row, always an earlier one; -1 for the
    outermost), `file` (row of `files`), `line`, `function`."""
    files: pd.DataFrame
    """`file` (its path, as in tracebacks), `title` (what to show), `is_user`, `text` ("" where unknown)."""
    layers: pd.DataFrame
    """Live Keras layers: `layer` (path of names below its model), `name`, `class_name`, `model`, `file` and `line` of the
    call that made it (-1 and 0 where unknown)."""
    functions: pd.DataFrame
    """One row per graph: `graph` (its name, which may repeat), `file`, `line`, `function` of its Python function (-1, 0,
    "" where unknown)."""
    samples: pd.DataFrame
    """The user's line that the main thread ran, sampled: `time_ns` (Unix time), `frame`, and `other`, the line of another
    thread of the program that ran Python since the sample before; -1 for none; in time order."""
    facts: pd.DataFrame
    """What the program ran on: `name` (`tensorflow`, `keras`, `python`, `memory_bytes`, `n_cpus`, ...), `value` as text."""
    details: pd.DataFrame = field(default_factory=lambda: _no_rows("details"))
    """What else is known of some ops, a row each: `op` (row of `ops`), `device` (asked for; "" for none), `float_ops` (of one
    execution, by TensorFlow's own statistics; 0 where unknown), `input_shapes` and `output_shapes` (see `parse_shapes`),
    `variable` (row of `variables`, of the one that it reads or makes; -1 for none), `dtype` (of what it makes first, such as
    `float32`; "" where unknown)."""
    edges: pd.DataFrame = field(default_factory=lambda: _no_rows("edges"))
    """One row per edge: output `source_output` of op `source` (-1: an argument) is input `slot` of `op`."""
    variables: pd.DataFrame = field(default_factory=lambda: _no_rows("variables"))
    """Live variables: `name`, `shape` (see `parse_shapes`), `dtype`, `trainable`, `layer` (path as in `layers`), `device`."""
    roots: pd.DataFrame = field(default_factory=lambda: _no_rows("roots"))
    """`root`: folders and modules of libraries where the program ran; no rows where the capture did not record them."""
    calls: pd.DataFrame = field(default_factory=lambda: _no_rows("calls"))
    """Calls of Keras' `fit`, `evaluate` and `predict`: `begin_ns`, `end_ns` (Unix time), `frame` (the user's line)."""
    recorders: tuple[str, ...] = ()
    """Ids of the captures that wrote it; maps of one capture hold the same graphs."""
    warnings: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known, as of traces that other tools captured."""
        return not (len(self.ops) or len(self.layers) or len(self.samples) or len(self.variables))

    def read(self) -> SourceMap:
        return self

    def __repr__(self) -> str:
        return f"SourceMap({len(self.ops)} ops, {len(self.frames)} frames, {len(self.files)} files)"


def is_framework_path(path: str) -> bool:
    """Whether a path by itself is of TensorFlow or Keras, wherever they lie."""
    return _FRAMEWORK.search(path.replace("\\", "/")) is not None


def parse_shapes(text: str) -> list[tuple[int, ...] | None]:
    """The shapes in a text of the sidecar: `32x-1;();?` is `[(32, -1), (), None]`."""
    return [_shape(part) for part in text.split(";")] if text else []


def _shape(text: str) -> tuple[int, ...] | None:
    if text == "()":
        return ()
    parts = text.split("x", MAX_RANK)
    if len(parts) > MAX_RANK or not all(_DIMENSION.fullmatch(part) for part in parts):
        return None
    return tuple(map(int, parts))


def empty_source_map(*, warnings: tuple[str, ...] = ()) -> SourceMap:
    """The map of a trace without a sidecar."""
    return made_source_map({}, (), warnings)


def merge_source_maps(maps: Sequence[SourceMap]) -> SourceMap:
    """Of windows of one capture the fullest map; of different captures or hosts all rows."""
    fullest: dict[tuple[str, ...], SourceMap] = {}
    for one in maps:
        known = fullest.get(one.recorders)
        if known is None or (len(one.ops), len(one.samples)) >= (len(known.ops), len(known.samples)):
            fullest[one.recorders] = one
    warnings = tuple(dict.fromkeys(text for one in maps for text in one.warnings))
    chosen = [one for one in fullest.values() if not one.is_empty]
    if not chosen:
        return empty_source_map(warnings=warnings)
    offsets = dict.fromkeys(SOURCE_TABLES, 0)
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in SOURCE_TABLES}
    for one in chosen:
        for name in SOURCE_TABLES:
            moved = getattr(one, name).copy()
            for (table, column), target in REFERENCES.items():
                if table == name:
                    moved[column] = moved[column].where(moved[column] < 0, moved[column] + offsets[target])
            parts[name].append(moved)
        for name in SOURCE_TABLES:
            offsets[name] += len(getattr(one, name))
    tables = {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}
    tables["samples"] = tables["samples"].sort_values("time_ns", kind="stable", ignore_index=True)
    return made_source_map(tables, tuple(name for one in chosen for name in one.recorders), warnings)


def made_source_map(
    tables: dict[str, pd.DataFrame], recorders: tuple[str, ...], warnings: tuple[str, ...]
) -> SourceMap:
    """The map of those tables; what is missing is empty."""
    whole = {name: tables[name] if name in tables else _no_rows(name) for name in SOURCE_TABLES}
    return SourceMap(**whole, recorders=recorders, warnings=warnings)


def table_frame(name: str, columns: dict[str, Any]) -> pd.DataFrame:
    """A table of these columns; those that are missing are empty."""
    dtypes = {INT: np.dtype(np.int64), TEXT: np.dtype(object), FLAG: np.dtype(np.bool_)}
    if not columns:
        return pd.DataFrame({key: np.empty(0, dtypes[kind]) for key, kind in SOURCE_TABLES[name].items()})
    return pd.DataFrame(
        {key: pd.Series(columns.get(key, []), dtype=dtypes[kind]) for key, kind in SOURCE_TABLES[name].items()}
    )


def lines_known(n: int, n_all: int) -> str:
    return (
        f"Source lines were read of the first {n:,} of {n_all:,} graph ops: the view of lines says for how much of the time "
        "they are known."
    )


def files_in_part(n: int, n_all: int, most_bytes: int, all_bytes: int) -> str:
    """That the text of some source files was cut."""
    parts = f"at most {most_bytes >> 10:,} KiB of each, {all_bytes >> 20:,} MiB in all"
    return f"{n:,} of {n_all:,} source files are shown in part: {parts}."


def is_of_source_map(notice: str) -> bool:
    """Whether a notice is on what a source map lacks, and so pointless without the map."""
    return _OF_SOURCE_MAP.match(notice) is not None
