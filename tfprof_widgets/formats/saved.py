"""`tfprof.profile.json`, beside or inside a saved profile -> what its trace does not hold: samples, notices, bookmarks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import TraceError
from ..trace.saved_capture import SavedCapture, parse_capture

SAVED = "tfprof.profile.json"
"""Name of the file at the top of a directory that `Profile.save` wrote; TensorBoard and XProf ignore it."""
VERSION = 1
MAX_SAVED_BYTES = 64 * 2**20
_MAX_COLUMNS = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedProfile:
    """What a saved profile knows beside its events. All of it may be empty."""

    title: str = ""
    notices: tuple[str, ...] = ()
    """What the capture had to tell; one sentence each."""
    n_missing_hosts: int = 0
    """Hosts that were asked for a trace and sent none; a notice names them."""
    system: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    """Samples of the machine, with `time_ns` in Unix time; no columns where none were taken."""
    cost: Mapping[str, float] = field(default_factory=dict)
    """`start_s`, `stop_s` and `n_bytes` of the capture; empty for a trace that was loaded."""
    capture: SavedCapture | None = None
    """How it was captured; None for a trace that was loaded, and where an earlier version saved it."""
    bookmarks: tuple[Any, ...] = ()
    """As the timeline's trait of that name holds them."""
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
            "cost": dict(self.cost),
            "capture": None if self.capture is None else self.capture.document(),
            "bookmarks": list(self.bookmarks),
            "runs": list(self.runs),
        }


def read_saved(directory: Path) -> SavedProfile | None:
    """Read the sidecar of a directory; None where there is none.

    Raises:
        TraceError: it is there and cannot be read.
    """
    file = directory / SAVED
    if not file.is_file():
        return None
    try:
        if (size := file.stat().st_size) > MAX_SAVED_BYTES:
            raise TraceError(f"it has {size} bytes, more than {MAX_SAVED_BYTES}, the limit")
        return parse_saved(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise TraceError(
            f"{file} cannot be read: {type(error).__name__}: {error}. Remove it to load the run."
        ) from error
    except TraceError as error:
        raise TraceError(f"{file} cannot be read: {error}. Remove it to load the run alone.") from error


def parse_saved(document: object) -> SavedProfile:
    """Check a document and take it up.

    Raises:
        TraceError: it is none, or one of another version.
    """
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise TraceError(f"its version is not {VERSION}")
    try:
        cost = document.get("cost", {})
        bookmarks = document.get("bookmarks", [])
        if not isinstance(cost, dict) or not isinstance(bookmarks, list):
            raise TypeError("cost is no object or bookmarks no list")
        return SavedProfile(
            title=texts([document.get("title", "")])[0],
            notices=tuple(texts(document.get("notices", []))),
            n_missing_hosts=_count(document.get("n_missing_hosts", 0)),
            system=_frame(document.get("system", {})),
            cost={texts([name])[0]: _finite(value) for name, value in cost.items()},
            capture=parse_capture(document.get("capture")),
            bookmarks=tuple(bookmarks),
            runs=tuple(_directory_name(name) for name in texts(document.get("runs", []))),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TraceError(f"a part of it is broken: {error}") from error


def texts(values: object) -> list[str]:
    """A list of JSON that must hold texts; halves of surrogate pairs, which no encoder takes, become question marks.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a text is none")
    return [value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8") for value in values]


def _directory_name(name: str) -> str:
    """A name that stays below the directory it is looked up in."""
    if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of a run directory")
    return name


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value} is no number of hosts")
    return value


def _finite(value: Any) -> float:
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{value} is no cost")
    return number


def _numbers(column: pd.Series[Any]) -> list[float | int | None]:
    return [None if pd.isna(value) else value for value in column.tolist()]


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
