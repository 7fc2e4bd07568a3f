"""Steps, samples and events of a training -> its folder, appended to and handed to the system at once.

What was appended survives the end of the process, whatever ends it. Nothing here raises: a training must not end because
a disk is full.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import without_controls
from ...trace.watched import SAMPLE_COLUMNS, STEP, Steps
from .layout import (
    EVENTS,
    FORMAT,
    HEADER,
    MAX_EVENT_BYTES,
    MAX_EVENTS,
    MAX_LINE_BYTES,
    MAX_SAMPLE_BYTES,
    MAX_STEP_BYTES,
    SAMPLES,
    STEPS,
    VERSION,
)


class WatchWriter:
    """A folder that is appended to, from any thread."""

    def __init__(self, folder: Path) -> None:
        """Make the folder, which may be there, and its files, which may not."""
        self.folder = folder
        self.notice = ""
        """Why something is not kept, one sentence; empty while all is."""
        self._lock = threading.Lock()
        self._n_events = 0
        self._files: dict[str, _Appended] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / HEADER).open("xb") as file:
                file.write(
                    json.dumps({"format": FORMAT, "version": VERSION, "sample_columns": SAMPLE_COLUMNS}).encode()
                )
            for name, most in ((STEPS, MAX_STEP_BYTES), (SAMPLES, MAX_SAMPLE_BYTES), (EVENTS, MAX_EVENT_BYTES)):
                self._files[name] = _Appended(folder / name, most)
        except OSError as error:
            self._stop(error)

    def add_steps(self, rows: Steps) -> None:
        """Append rows of `STEP`; those beyond `MAX_STEP_BYTES` are left out."""
        self._append(STEPS, np.ascontiguousarray(rows, STEP).tobytes(), STEP.itemsize)

    def add_sample(self, row: Sequence[float]) -> None:
        """Append one sample, as `SAMPLE_COLUMNS`."""
        content = np.asarray(row, "<f8").tobytes()
        self._append(SAMPLES, content, len(content))

    def add_event(self, event: Mapping[str, Any]) -> None:
        """Append one event, a line of JSON; what JSON has no word for becomes a number or a text."""
        line = json.dumps(event, default=_plain).encode() + b"\n"
        self._n_events += 1
        if self._n_events >= MAX_EVENTS and event.get("kind") != "end":
            self._tell(
                f"{self.folder / EVENTS} is full at {MAX_EVENTS:,} events, the limit: what happens later is not in it."
            )
            return
        if len(line) > MAX_LINE_BYTES:
            self._tell(
                f"An event of {len(line):,} bytes is not in {self.folder / EVENTS}: the limit is {MAX_LINE_BYTES:,}."
            )
        else:
            self._append(EVENTS, line, len(line))

    def read_steps(self, first_row: int, last_row: int) -> Steps:
        """Rows that were appended, from `first_row` to before `last_row`; fewer where the file has no more or is broken."""
        try:
            return np.fromfile(
                self.folder / STEPS, STEP, count=max(last_row - first_row, 0), offset=first_row * STEP.itemsize
            )
        except OSError:
            return np.empty(0, STEP)

    def close(self) -> None:
        """Close the files; what is added later is not kept."""
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()

    def _append(self, name: str, content: bytes, record_bytes: int) -> None:
        with self._lock:
            file = self._files.get(name)
            if file is None:
                return
            try:
                is_whole = file.append(content, record_bytes)
            except OSError as error:
                self._stop(error)
                return
        if not is_whole:
            self._tell(
                f"{self.folder / name} is full at {file.n_bytes:,} bytes, the limit: what comes later is not in it."
            )

    def _stop(self, error: OSError) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._tell(f"{self.folder} is written no more, the training goes on: {error.strerror or error}.")

    def _tell(self, notice: str) -> None:
        self.notice = self.notice or without_controls(notice)


class _Appended:
    """A file that did not exist, of at most so many bytes."""

    def __init__(self, path: Path, most: int) -> None:
        self.n_bytes = 0
        self._most = most
        self._file = FileIO(path, "xb")

    def append(self, content: bytes, record_bytes: int) -> bool:
        """Append as many whole records as there is room for.

        Returns:
            Whether that were all of them.
        """
        n_fit = (self._most - self.n_bytes) // record_bytes * record_bytes
        waiting = memoryview(content)[: max(n_fit, 0)]
        while waiting:
            n_written = self._file.write(waiting) or 0  # a disk that is nearly full takes a part
            self.n_bytes += n_written
            waiting = waiting[n_written:]
        return len(content) <= n_fit

    def close(self) -> None:
        with suppress(OSError):  # of a network's file system, which tells late
            self._file.close()


def _plain(value: object) -> object:
    """A scalar of NumPy as Python's; anything else as text."""
    return value.item() if isinstance(value, np.generic) else str(value)
