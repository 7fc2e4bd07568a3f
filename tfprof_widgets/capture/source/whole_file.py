"""Bytes -> a file that is whole or not there."""

from __future__ import annotations

import contextlib
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody finds half of it, not even after a crash.

    Raises:
        OSError: it cannot be written; what was there before is still there.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
