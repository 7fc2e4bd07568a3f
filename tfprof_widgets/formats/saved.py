"""`tfprof.profile.json`, beside or inside a saved profile -> what its trace does not hold: samples, notices, bookmarks."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import TraceError
from ..trace.bounds import MAX_DOCUMENT_BYTES, check_brackets, texts
from ..trace.capture_facts import CaptureCost, CaptureFacts, Failure
from ..trace.regular_file import content_of

SAVED = "tfprof.profile.json"
"""Name of the file at the top of a directory that `Profile.save` wrote; TensorBoard and XProf ignore it."""
VERSION = 1
MAX_SAVED_BYTES = MAX_DOCUMENT_BYTES
_MAX_COLUMNS = 1_000
_MAX_BRACKETS = 2**20
"""Of bookmarks, columns and pauses there are few."""
_MAX_TEXT = 20_000
_COSTS = ("start_s", "stop_s", "n_bytes")


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
    cost: CaptureCost | None = None
    """What the capture took; None for a trace that was loaded."""
    capture: CaptureFacts | None = None
    """How it was captured; None for a trace that was loaded."""
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
            "cost": {} if self.cost is None else {name: getattr(self.cost, name) for name in _COSTS},
            "capture": None if self.capture is None else _capture_document(self.capture),
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
    """Check a document and take it up.

    Raises:
        TraceError: it is none, or one of another version.
    """
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
    """What is not known becomes null."""
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
    failure = known["failure"]
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
    return Failure(
        kind=kind[:_MAX_TEXT],
        text=text[:_MAX_TEXT],
        at_ns=_count(known["at_ns"]),
        file=file[:_MAX_TEXT],
        line=_count(known["line"]) if file else 0,
        code=code[:_MAX_TEXT],
        batch_size=_count(known["batch_size"]),
        selection=texts([known["selection"]])[0][:_MAX_TEXT],
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
