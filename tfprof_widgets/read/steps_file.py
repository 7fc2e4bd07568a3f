"""The folder of a capture or a watch -> `WatchLog`: its steps and windows, also while it is written and where it is cut off."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import TraceError, without_controls
from ..trace.capture_facts import (
    SAMPLE_COLUMNS,
    STEP,
    Event,
    Steps,
    WatchLog,
    check_brackets,
    clean_text,
    document,
    texts,
)
from ..trace.scratch import content_of, opened
from .places import RUNS

HEADER, STEPS, SAMPLES, EVENTS = (
    f"tfprof.{name}" for name in ("steps.json", "steps.bin", "samples.bin", "events.jsonl")
)
FOLDER = "tfprof-watch-"
"""Begin of the name of a folder in a `logdir`, before its time."""
FORMAT = "tfprof steps"
VERSION = 1

MAX_HEADER_BYTES = 2**16
MAX_STEP_BYTES = 2**30
"""33.5 million steps."""
MAX_SAMPLE_BYTES = 2**28
"""Six weeks at one a second."""
MAX_EVENT_BYTES = 2**26
MAX_LINE_BYTES = 2**18
"""Of one event."""
MAX_EVENTS = 200_000
MAX_COLUMNS = 64
"""Of samples."""


_MAPPED_BYTES = 32 * 2**20
"""A larger file of steps is mapped, not read."""
_CHECKED_ROWS = 2**18
_MOST_BRACKETS = 10_000
"""Of an event."""
_MAX_NS, _MAX_STEP = 2**62, 2**31


def steps_folder(path: str | Path) -> Path | None:
    """The folder with the steps of a capture or a watch that a path leads to: itself, or that of the header or the steps."""
    if "://" in str(path):
        return None
    try:
        folder = _folder_of(Path(path))
        return None if _header_of(folder) is None else folder
    except (OSError, ValueError, TraceError):
        return None


def has_one_profile(folder: Path) -> bool:
    """Whether the windows in a folder with steps are those of one capture; of a watch each is a profile of its own."""
    return str((_header_of(folder) or {}).get("command", "watch")) != "watch"


def newest_watch(logdir: str | Path) -> Path | None:
    """The folder of the last training that was watched with this `logdir`; None where there is none."""
    if "://" in str(logdir):
        return None
    try:
        found = sorted(Path(logdir).glob(f"{FOLDER}*"), reverse=True)
        return next((folder for folder in found if steps_folder(folder) is not None), None)
    except (OSError, ValueError):
        return None


def read_watch_log(path: str | Path) -> WatchLog:
    folder = _folder_of(Path(path))
    header = _header_of(folder)
    if header is None:
        raise TraceError(f"{folder} holds no steps of a capture or a watch: there is no {HEADER} in it.")
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
    """None where there is none of this format."""
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
    """Refuse what no watch writes: times that are none."""
    is_broken = (rows["start_ns"] > _MAX_NS) | ~(rows["duration_us"] >= 0)
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
    """The run directories of windows that are in the folder: a file may name any."""
    names = [event.get("run") for event in events if event["kind"] == "window"]
    there = {run.name: run for run in (folder / RUNS).glob("*") if run.is_dir() and not run.is_symlink()}
    found = [there[name] for name in names if isinstance(name, str) and name in there]
    if len(found) < len(names):
        notices.append(f"{len(names) - len(found):,} of {len(names):,} profile windows are not in {folder}.")
    return tuple(dict.fromkeys(found))


class WatchWriter:
    """A folder that is appended to, from any thread."""

    def __init__(self, folder: Path, command: str = "watch") -> None:
        """Make the folder, which may exist, and its files, which must not; `command` is what was run, as of `CaptureOptions`."""
        self.folder = folder
        self.notice = ""
        """A sentence on why something is lost; "" while all is written."""
        self._lock = threading.Lock()
        self._n_events = 0
        self._files: dict[str, FileIO] = {}
        self._most = {STEPS: MAX_STEP_BYTES, SAMPLES: MAX_SAMPLE_BYTES, EVENTS: MAX_EVENT_BYTES}
        head = {"format": FORMAT, "version": VERSION, "command": command, "sample_columns": SAMPLE_COLUMNS}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / HEADER).open("xb") as file:
                file.write(json.dumps(head).encode())
            for name in self._most:
                self._files[name] = FileIO(folder / name, "xb")
        except OSError as error:
            self._stop(error)

    def add_steps(self, rows: Steps) -> None:
        """Append rows of `STEP`; those beyond `MAX_STEP_BYTES` are left out."""
        self._append(STEPS, np.ascontiguousarray(rows, STEP).tobytes(), STEP.itemsize)

    def steps(self) -> Steps:
        """What was appended until now."""
        rows: Steps = _records(self.folder / STEPS, STEP, MAX_STEP_BYTES, [])
        return rows

    def add_sample(self, row: Sequence[float]) -> None:
        content = np.asarray(row, "<f8").tobytes()
        self._append(SAMPLES, content, len(content))

    def add_event(self, event: Mapping[str, Any]) -> None:
        """Append one event, a line of JSON; what JSON has no word for becomes a number or a text."""
        line, file = json.dumps(event, default=_plain).encode() + b"\n", self.folder / EVENTS
        self._n_events += 1
        if self._n_events >= MAX_EVENTS and event.get("kind") != "end":
            self._tell(f"{file} is full at {MAX_EVENTS:,} events, the limit: what happens later is not in it.")
        elif len(line) > MAX_LINE_BYTES:
            self._tell(f"An event of {len(line):,} bytes is not in {file}: the limit is {MAX_LINE_BYTES:,}.")
        else:
            self._append(EVENTS, line, len(line))

    def close(self) -> None:
        """Close the files; what is added later is lost."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        for file in self._files.values():
            with suppress(OSError):  # of a network's file system, which tells late
                file.close()
        self._files.clear()

    def _append(self, name: str, content: bytes, record_bytes: int) -> None:
        """Append as many whole records as there is room for."""
        with self._lock:
            file = self._files.get(name)
            if file is None:
                return
            try:
                n_fit = max((self._most[name] - file.tell()) // record_bytes * record_bytes, 0)
                waiting = memoryview(content)[:n_fit]
                while waiting:
                    waiting = waiting[file.write(waiting) or 0 :]  # a disk that is nearly full takes a part
                if n_fit < len(content):
                    full = f"{self.folder / name} is full at {file.tell():,} bytes"
                    self._tell(f"{full}, the limit: what comes later is not in it.")
            except OSError as error:
                self._stop(error)

    def _stop(self, error: OSError) -> None:
        self._close()
        self._tell(f"{self.folder} is written no more, the training goes on: {error.strerror or error}.")

    def _tell(self, notice: str) -> None:
        self.notice = self.notice or without_controls(notice)


def _plain(value: object) -> object:
    """A scalar of NumPy as Python's; anything else as text."""
    return value.item() if isinstance(value, np.generic) else str(value)
