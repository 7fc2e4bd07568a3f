"""A file or bytes -> ranges of bytes on demand, so that a trace larger than memory's spare room can be read in pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Protocol

from ...errors import TraceError
from ...trace.regular_file import opened

Watcher = Callable[[int, int], None]
"""Is told, as files are read, how many bytes were read since the last time and how many more there will be."""
_WATCHER: ContextVar[Watcher | None] = ContextVar("tfprof_reading", default=None)


@contextmanager
def watched_reading(by: Watcher) -> Iterator[None]:
    """Tell `by` what is read from files inside the `with` block, by this thread."""
    token = _WATCHER.set(by)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def watcher() -> Watcher | None:
    """Who is told in this thread; a copy from a server comes in another one."""
    return _WATCHER.get()


def _tell(n_read: int, n_more: int) -> None:
    told = watcher()
    if told is not None:
        told(n_read, n_more)


class Content(Protocol):
    """Bytes of a known number."""

    size: int

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end`, which must lie inside."""
        ...


class BytesContent:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        """Give out parts of `data`."""
        self._data = data
        self.size = len(data)

    def read(self, begin: int, end: int) -> bytes:
        """As `Content.read`."""
        return self._data[begin:end]


class FileContent:
    """A file, read where it is asked for. It is not mapped: if it shrinks meanwhile that is an error, not a crash."""

    def __init__(self, path: Path) -> None:
        """Open the file; close it by leaving a `with` block."""
        self._path = path
        self._file = opened(path, buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size
        _tell(0, 2 * self.size)  # planes and lines are looked up first, then the events are read

    def __enter__(self) -> FileContent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, begin: int, end: int) -> bytes:
        """As `Content.read`.

        Raises:
            TraceError: the file became shorter.
        """
        self._file.seek(begin)
        parts, n_left = [], end - begin
        while n_left > 0:
            part = self._file.read(n_left)
            if not part:
                raise TraceError(f"{self._path} became shorter while it was read. Load it again when it is written.")
            parts.append(part)
            n_left -= len(part)
        _tell(end - begin, 0)
        return parts[0] if len(parts) == 1 else b"".join(parts)
