"""The folder of a training that was watched -> `WatchLog`, also while it is written and where its end is cut off."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...errors import TraceError
from ...trace.bounds import check_brackets, clean_text, document, texts
from ...trace.regular_file import content_of, opened
from ...trace.watched import OTHER, SAMPLE_COLUMNS, STEP, Event, Steps, WatchLog
from .layout import (
    EVENTS,
    FOLDER,
    FORMAT,
    HEADER,
    MAX_COLUMNS,
    MAX_EVENT_BYTES,
    MAX_EVENTS,
    MAX_HEADER_BYTES,
    MAX_LINE_BYTES,
    MAX_SAMPLE_BYTES,
    MAX_STEP_BYTES,
    SAMPLES,
    STEPS,
    VERSION,
)

_MAPPED_BYTES = 32 * 2**20
"""A larger file of steps is mapped, not read."""
_CHECKED_ROWS = 2**18
_MOST_BRACKETS = 10_000
"""Of an event."""
_MAX_NS, _MAX_STEP = 2**62, 2**31


def is_watch_log(path: str | Path) -> bool:
    """Whether a path leads to a watched training: its folder, or the header or the steps in it."""
    if "://" in str(path):
        return False
    try:
        return _header_of(_folder_of(Path(path))) is not None
    except (OSError, ValueError, TraceError):
        return False


def newest_watch(logdir: str | Path) -> Path | None:
    """The folder of the last training that was watched with this `logdir`; None where there is none."""
    if "://" in str(logdir):
        return None
    try:
        found = sorted(Path(logdir).glob(f"{FOLDER}*"), reverse=True)
        return next((folder for folder in found if is_watch_log(folder)), None)
    except (OSError, ValueError):
        return None


def read_watch_log(path: str | Path) -> WatchLog:
    """Read the folder of a watched training.

    Args:
        path: the folder, or `watch.json` or `steps.bin` in it.

    Returns:
        What is whole; `notices` tells what is not. Many steps are a map of the file, read when they are looked at.

    Raises:
        TraceError: it is no such folder, or one of its files holds what no watch wrote, or more than the limits.
    """
    folder = _folder_of(Path(path))
    header = _header_of(folder)
    if header is None:
        raise TraceError(f"{folder} holds no watched training: there is no {HEADER} in it.")
    notices: list[str] = []
    events = _events(folder, notices)
    return WatchLog(
        folder=folder,
        header=header,
        steps=_steps(folder, notices),
        samples=_samples(folder, header, notices),
        events=events,
        windows=_windows(folder, events, notices),
        notices=tuple(notices),
    )


def _folder_of(path: Path) -> Path:
    return path.parent if path.name in (HEADER, STEPS) and not path.is_dir() else path


def _header_of(folder: Path) -> dict[str, Any] | None:
    """The header; None where there is none of this format."""
    file = folder / HEADER
    if not file.is_file():
        return None
    try:
        found = document(content_of(file, MAX_HEADER_BYTES), VERSION, most_brackets=_MOST_BRACKETS)
        if found.get("format") != FORMAT:
            return None
        columns = texts(found.get("sample_columns"))
    except (TraceError, TypeError) as error:
        raise TraceError(f"{file} cannot be read: {error}.") from error
    if not 0 < len(columns) <= MAX_COLUMNS or len(set(columns)) < len(columns):
        raise TraceError(f"{file} cannot be read: its {len(columns):,} columns of samples are not 1 to {MAX_COLUMNS}.")
    return {**_clean(found), "sample_columns": columns}


def _steps(folder: Path, notices: list[str]) -> Steps:
    file = folder / STEPS
    rows: Steps = _records(file, STEP, MAX_STEP_BYTES, notices)
    n_good = len(rows)
    for at in range(0, len(rows), _CHECKED_ROWS):
        part = rows[at : at + _CHECKED_ROWS]
        written = part["start_ns"] > 0
        if not written.all():  # a file system that lost power leaves zeros
            n_good = at + int(np.argmin(written))
            notices.append(f"{len(rows) - n_good:,} of {len(rows):,} steps were never written to {file}.")
        _check(part[: n_good - at], at, file)
        if n_good < at + len(part):
            break
    return rows[:n_good]


def _check(rows: Steps, at: int, file: Path) -> None:
    """Refuse what no watch writes: times that are none, kinds that there are not."""
    is_broken = (rows["kind"] > OTHER) | (rows["start_ns"] > _MAX_NS) | ~(rows["duration_us"] >= 0)
    is_broken |= ~np.isfinite(rows["duration_us"])
    for name in ("wait_us", "outside_us"):
        is_broken |= (rows[name] < 0) | np.isinf(rows[name])
    if is_broken.any():
        row = at + int(np.argmax(is_broken))
        raise TraceError(f"{file} is no file of steps: what its row {row:,} of {STEP.itemsize} bytes says is no step.")


def _samples(folder: Path, header: Mapping[str, Any], notices: list[str]) -> pd.DataFrame:
    columns = header["sample_columns"]
    kind = np.dtype([(f"f{i}", "<f8") for i in range(len(columns))])
    rows = _records(folder / SAMPLES, kind, MAX_SAMPLE_BYTES, notices)
    values = np.frombuffer(rows.tobytes(), "<f8").reshape(len(rows), len(columns))
    samples = pd.DataFrame(values, columns=columns).reindex(columns=list(SAMPLE_COLUMNS))
    is_timed = samples["time_ns"].between(1, _MAX_NS)
    return samples if is_timed.all() else samples[is_timed].reset_index(drop=True)


def _records(file: Path, kind: np.dtype[Any], most_bytes: int, notices: list[str]) -> Any:
    """The whole records of a file; of a large one a map."""
    try:
        with opened(file) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > most_bytes:
                raise TraceError(f"{file} has {size:,} bytes, more than {most_bytes:,}, the limit.")
            n = size // kind.itemsize
            if n * kind.itemsize > _MAPPED_BYTES:
                return np.asarray(np.memmap(stream, kind, "r", shape=(n,)))
            return np.frombuffer(stream.read(n * kind.itemsize), kind, count=-1)
    except (OSError, ValueError) as error:
        notices.append(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.")
        return np.empty(0, kind)


def _events(folder: Path, notices: list[str]) -> tuple[Event, ...]:
    file = folder / EVENTS
    try:
        content = content_of(file, MAX_EVENT_BYTES)
    except TraceError as error:
        raise TraceError(f"{file} cannot be read: {error}.") from error
    except OSError as error:
        notices.append(f"{file} cannot be read: {error.strerror or error}.")
        return ()
    content = content[: content.rfind(b"\n") + 1]  # the last line may be cut off
    n_lines = content.count(b"\n")
    if n_lines > MAX_EVENTS:
        raise TraceError(f"{file} has {n_lines:,} lines, more than {MAX_EVENTS:,}, the limit.")
    found = [event for line in content.splitlines() if (event := _event(line)) is not None]
    if len(found) < n_lines:
        notices.append(f"{n_lines - len(found):,} of {n_lines:,} lines of {file} are no events.")
    return tuple(found)


def _event(line: bytes) -> Event | None:
    """An event of a line; None where it is none."""
    try:
        if len(line) > MAX_LINE_BYTES:
            return None
        check_brackets(line, _MOST_BRACKETS)
        event = json.loads(line)
        if not (isinstance(event, dict) and isinstance(event.get("kind"), str)):
            return None
        at_ns, step = event.get("at_ns", 0), event.get("step")
        is_timed = type(at_ns) is int and 0 <= at_ns < _MAX_NS
        is_placed = step is None or (type(step) is int and -_MAX_STEP <= step < _MAX_STEP)
        return _clean(event) if is_timed and is_placed else None
    except (ValueError, RecursionError, TraceError):
        return None


def _clean(value: Any) -> Any:
    """A value of JSON with texts that every encoder and terminal takes."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _clean(one) for key, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list) else value


def _windows(folder: Path, events: Iterable[Event], notices: list[str]) -> tuple[Path, ...]:
    """The run directories of windows that are there, and within the folder: a log may name any path."""
    found, n_elsewhere = [], 0
    whole = folder.resolve()
    for event in events:
        if event["kind"] != "window" or not isinstance(path := event.get("path"), str):
            continue
        try:
            place = (folder / path).resolve()
            is_there = place.is_relative_to(whole) and place != whole and place.is_dir()
        except (OSError, ValueError, RuntimeError):
            is_there = False
        if is_there:
            found.append(folder / path)
        else:
            n_elsewhere += 1
    if n_elsewhere:
        notices.append(f"{n_elsewhere:,} of {n_elsewhere + len(found):,} profile windows are not in {folder}.")
    return tuple(dict.fromkeys(found))
