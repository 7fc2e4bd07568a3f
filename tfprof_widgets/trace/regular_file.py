"""A path -> a file that is open, or its bytes, where it is a regular file: a pipe or a device may have no end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from ..errors import TraceError

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Not to block: opening a pipe waits for who writes into it."""


def opened(file: Path, *, buffering: int = -1) -> BinaryIO:
    """Open a file to read it.

    Raises:
        TraceError: it is neither a regular file nor a directory.
        OSError: it cannot be opened, as no directory can.
    """
    if not isinstance(file, Path):  # behind a URL
        return file.open("rb", buffering=buffering)
    descriptor = os.open(file, _FLAGS)
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        raise TraceError(f"{file} is a pipe or a device. Copy what comes out of it to a file, and load that.")
    try:
        return os.fdopen(descriptor, "rb", buffering=buffering)
    except OSError:  # a directory
        os.close(descriptor)
        raise


def content_of(file: Path, most: int) -> bytes:
    """The bytes of a file.

    Raises:
        TraceError: it is no regular file, or has more than `most` bytes; then the message begins with `it`.
        OSError: it cannot be read.
    """
    with opened(file) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise TraceError(f"it has more than {most} bytes, the limit")
    return content
