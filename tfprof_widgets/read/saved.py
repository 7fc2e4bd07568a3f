"""`tfprof.profile.json` beside a trace -> what the trace does not have: samples, notices, bookmarks, the source map."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import TraceError
from ..trace.capture_facts import (
    MAX_DOCUMENT_BYTES,
    CaptureCost,
    CaptureFacts,
    Failure,
    check_brackets,
    document,
    texts,
    unpacked,
)
from ..trace.scratch import content_of
from ..trace.source_map import (
    FLAG,
    REFERENCES,
    SOURCE_TABLES,
    TEXT,
    SourceMap,
    empty_source_map,
    is_framework_path,
    made_source_map,
    merge_source_maps,
    table_frame,
)

SAVED = "tfprof.profile.json"
"""At the top of a directory that `Profile.save` wrote; TensorBoard and XProf ignore it."""
VERSION = 1
MAX_SAVED_BYTES = MAX_DOCUMENT_BYTES
_MAX_COLUMNS = 1_000
_MAX_BRACKETS = 2**20
"""Bookmarks, columns and pauses are few."""
_MAX_TEXT = 20_000
_COSTS = ("start_s", "stop_s", "n_bytes")


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedProfile:
    """What a saved profile knows beside its events. All of it may be empty."""

    title: str = ""
    notices: tuple[str, ...] = ()
    """Of the capture; one sentence each."""
    n_missing_hosts: int = 0
    """Hosts that were asked for a trace and sent none; a notice names them."""
    system: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    """Samples of the machine, with `time_ns` in Unix time; no columns where none were taken."""
    cost: CaptureCost | None = None
    """None for a trace that was loaded."""
    capture: CaptureFacts | None = None
    """None for a trace that was loaded."""
    bookmarks: tuple[Any, ...] = ()
    """As in the timeline's trait."""
    runs: tuple[str, ...] = ()
    """Names of the run directories below `plugins/profile`, in time order."""

    def document(self) -> dict[str, Any]:
        """The same as a document of JSON; numbers that are not there become null."""
        return {
            "version": VERSION,
            "title": self.title,
            "notices": list(self.notices),
            "n_missing_hosts": self.n_missing_hosts,
            "system": {str(name): _numbers(self.system[name]) for name in self.system.columns},
            "cost": {} if self.cost is None else {name: getattr(self.cost, name) for name in _COSTS},
            "capture": None if self.capture is None else _capture_document(self.capture),
            "bookmarks": list(self.bookmarks),
            "runs": list(self.runs),
        }


def read_saved(directory: Path) -> SavedProfile | None:
    """Read the sidecar of a directory; None where there is none."""
    file = directory / SAVED
    if not file.is_file():
        return None
    try:
        content = content_of(file, MAX_SAVED_BYTES)
        check_brackets(content, _MAX_BRACKETS)
        return parse_saved(json.loads(content))
    except (OSError, ValueError, RecursionError) as error:
        raise TraceError(
            f"{file} cannot be read: {type(error).__name__}: {error}. Remove it to load the run."
        ) from error
    except TraceError as error:
        raise TraceError(f"{file} cannot be read: {error}. Remove it to load the run alone.") from error


def parse_saved(document: object) -> SavedProfile:
    """Check a document and take it up."""
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise TraceError(f"its version is not {VERSION}")
    try:
        bookmarks = document.get("bookmarks", [])
        if not isinstance(bookmarks, list):
            raise TypeError("bookmarks is no list")
        return SavedProfile(
            title=texts([document.get("title", "")])[0],
            notices=tuple(texts(document.get("notices", []))),
            n_missing_hosts=_count(document.get("n_missing_hosts", 0), "hosts"),
            system=_frame(document.get("system", {})),
            cost=_cost(document.get("cost", {})),
            capture=_capture(document.get("capture")),
            bookmarks=tuple(bookmarks),
            runs=tuple(dict.fromkeys(_directory_name(name) for name in texts(document.get("runs", [])))),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TraceError(f"a part of it is broken: {error}") from error


def _directory_name(name: str) -> str:
    """A name that stays below the directory it is looked up in."""
    if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of a run directory")
    return name


def _cost(document: object) -> CaptureCost | None:
    """None where not all of it is there."""
    costs = _object(document, "cost")
    if not set(_COSTS) <= set(costs):
        return None
    start_s, stop_s, n_bytes = (_finite(costs[name]) for name in _COSTS)
    return CaptureCost(start_s=start_s, stop_s=stop_s, n_bytes=int(n_bytes))


def _capture_document(facts: CaptureFacts) -> dict[str, Any]:
    """With null for what is unknown."""
    ratio, (low, high) = facts.overhead_ratio, facts.overhead_interval
    known = {one.name: getattr(facts, one.name) for one in fields(CaptureFacts)}
    return known | {
        "overhead_ratio": _null(ratio),
        "overhead_interval": [_null(low), _null(high)],
        "failure": None if facts.failure is None else asdict(facts.failure),
    }


def _capture(document: object) -> CaptureFacts | None:
    """None for null, which profiles without a capture have."""
    if document is None:
        return None
    known = _object(document, "capture")
    low, high = known["overhead_interval"]
    failure = known.get("failure")
    return CaptureFacts(
        outcome=_word(known["outcome"]),
        detail=_word(known["detail"]),
        n_steps=_count(known["n_steps"]),
        overhead_ratio=_ratio(known["overhead_ratio"]),
        overhead_interval=(_ratio(low), _ratio(high)),
        n_steps_inside=_count(known["n_steps_inside"]),
        n_steps_outside=_count(known["n_steps_outside"]),
        pauses_ns=tuple((_count(begin), _count(end)) for begin, end in known["pauses_ns"]),
        failure=None if failure is None else _failure(_object(failure, "failure")),
    )


def _failure(known: dict[str, Any]) -> Failure:
    kind, text, file, code = texts([known[name] for name in ("kind", "text", "file", "code")])
    # Captures that knew no roots of libraries took Keras for the user's where it lay outside of `site-packages`.
    if is_framework_path(file):
        file = code = ""
    return Failure(
        kind=kind[:_MAX_TEXT],
        text=text[:_MAX_TEXT],
        at_ns=_count(known["at_ns"]),
        file=file[:_MAX_TEXT],
        line=_count(known["line"]) if file else 0,
        code=code[:_MAX_TEXT],
        batch_size=_count(known["batch_size"]),
        selection=texts([known.get("selection", "")])[0][:_MAX_TEXT],
    )


def _object(document: object, name: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise TypeError(f"{name} is no object")
    return document


def _word(value: object) -> str:
    if not isinstance(value, str) or not value.isidentifier():
        raise TypeError("capture has no word where there must be one")
    return value


def _count(value: object, what: str = "anything") -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value} is no number of {what}")
    return value


def _ratio(value: object) -> float:
    return math.nan if value is None else _finite(value)


def _finite(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(number := float(value)):  # type: ignore[arg-type]
        raise ValueError(f"{value} is no number")
    return number


def _null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _numbers(column: pd.Series[Any]) -> list[float | int | None]:
    return [value if math.isfinite(value) else None for value in column.tolist()]


def _frame(columns: object) -> pd.DataFrame:
    if not isinstance(columns, dict) or len(columns) > _MAX_COLUMNS:
        raise TypeError("system is no table")
    series = {}
    for name, values in columns.items():
        if not isinstance(values, list) or not all(type(value) in (int, float, type(None)) for value in values):
            raise TypeError(f"system.{name} is no list of numbers")
        is_whole = name == "time_ns"
        series[texts([name])[0]] = np.array(values, np.int64 if is_whole else np.float64)
    if len({len(values) for values in series.values()}) > 1:
        raise ValueError("the columns of system differ in length")
    if series and "time_ns" not in series:
        raise ValueError("system has no column time_ns")
    return pd.DataFrame(series)


SIDECAR = "tfprof.sources.json.gz"
"""Beside the traces of a run; TensorBoard and XProf ignore it."""
MAX_SIDECAR_BYTES = MAX_DOCUMENT_BYTES
"""Of a sidecar when unpacked."""
MAX_ROWS = 500_000
"""Of one table; a capture records at most 200,000 ops."""
MAX_BRACKETS = 5 * 2**20
"""Each may be a list, which takes 30 times its bytes; those in texts are fewer."""


def read_source_map(run: Path) -> SourceMap:
    """Read the sidecars of a run directory: its own, and that of each host whose trace came over a network."""
    return read_sidecars(sidecars_of(run))


def read_sidecars(files: Sequence[Path]) -> SourceMap:
    """Read those sidecars as one map; as `read_source_map`."""
    maps = [_read_sidecar(file) for file in files]
    return maps[0] if len(maps) == 1 else merge_source_maps(maps)


def sidecars_of(run: Path) -> list[Path]:
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
    found = document(unpacked(content, MAX_SIDECAR_BYTES), VERSION, most_brackets=MAX_BRACKETS)
    try:
        tables = {name: _table(found, name) for name in SOURCE_TABLES}
        notices = texts(found.get("notices", []))
        recorder = texts([found.get("recorder", "")])[0]
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise TraceError(f"a table of it is broken: {type(error).__name__}: {error}") from error
    # No references to rows that do not exist; a parent must come before its child, so that chains end.
    for (name, column), target in REFERENCES.items():
        rows = tables[name][column]
        limit: Any = rows.index if (name, column) == ("frames", "parent") else len(tables[target])
        tables[name][column] = rows.where((rows >= 0) & (rows < limit), -1)
    if tables["roots"].empty:
        # A capture without roots of libraries took all outside of `site-packages` for the user's.
        files, frames, samples = tables["files"], tables["frames"], tables["samples"]
        is_framework = np.array([is_framework_path(path) for path in files["file"]], np.bool_)
        files["is_user"] &= ~is_framework
        in_framework = np.append(np.append(is_framework, False)[frames["file"]], False)
        tables["samples"] = samples[~in_framework[samples["frame"]]].reset_index(drop=True)
    tables["samples"] = tables["samples"].sort_values("time_ns", kind="stable", ignore_index=True)
    return made_source_map(tables, (recorder,), tuple(notices))


def sidecar_bytes(source_map: SourceMap) -> bytes:
    tables = {
        name: {key: getattr(source_map, name)[key].tolist() for key in columns}
        for name, columns in SOURCE_TABLES.items()
    }
    about = {"version": VERSION, "recorder": "".join(source_map.recorders), "notices": list(source_map.warnings)}
    text = json.dumps(about | tables, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "replace"), compresslevel=5, mtime=0)


_MISSING: dict[str, Any] = {"dtype": "", "other": -1}


def _table(found: dict[str, Any], name: str) -> pd.DataFrame:
    given = found.get(name, {})
    if not isinstance(given, dict):
        raise TypeError(f"{name} is a {type(given).__name__}")
    columns: dict[str, Any] = {}
    for key, kind in SOURCE_TABLES[name].items():
        # Captures that noted neither types of tensors nor other threads have no columns of them.
        values = given.get(key, [_MISSING[key]] * len(next(iter(given.values()))) if given and key in _MISSING else [])
        if not isinstance(values, list) or len(values) > MAX_ROWS:
            raise ValueError(f"{name}.{key} is no list of at most {MAX_ROWS}")
        columns[key] = texts(values) if kind == TEXT else _column_of(values, is_flag=kind == FLAG)
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError(f"the columns of {name} differ in length")
    return table_frame(name, columns)


def _column_of(values: list[Any], *, is_flag: bool) -> Any:
    if not all(type(value) in (int, bool) for value in values):
        raise TypeError("a number is none")
    return np.array(values, np.bool_ if is_flag else np.int64)
