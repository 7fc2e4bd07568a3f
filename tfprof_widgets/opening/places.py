"""A path or URL, or a pattern of either -> places, which every reader takes as a `Path`."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from ..trace.regular_file import opened
from .url_file_system import file_system_of
from .url_path import UrlPath

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a URL of anything but this machine's files."""
    return isinstance(path, UrlPath) or (isinstance(path, str) and _URL.search(path) is not None)


def place_of(path: str | os.PathLike[str], *, is_fresh: bool = False) -> Path:
    """The place that a path or URL names, which the readers take as a `Path`.

    Args:
        path: of a file or directory, or a pattern of either.
        is_fresh: whether to forget what is remembered of the listings of a URL's file system.

    Raises:
        TraceError: no file system for such a URL is installed; the message says what to install.
    """
    if isinstance(path, UrlPath):
        return cast(Path, path)
    if not isinstance(path, str) or not is_url(path):
        return Path(path).expanduser()
    if path.startswith("file://"):
        return Path(unquote(path.removeprefix("file://"))).expanduser()
    # Readers use of a path only what `UrlPath` has; a common type would have to repeat all of pathlib's signatures.
    return cast(Path, UrlPath(path, file_system_of(path), is_fresh=is_fresh))


def url_of(place: Path) -> str:
    """What `place_of` makes the same place of, in this process or another: with the secrets that `str` leaves out."""
    return place.url if isinstance(place, UrlPath) else str(place)


def first_bytes(place: Path, n_bytes: int) -> bytes:
    """The beginning of a file; of one behind a URL no more is fetched, where it is large."""
    if isinstance(place, UrlPath):
        return place.first_bytes(n_bytes)
    with opened(place) as file:
        return file.read(n_bytes)


def matches_of(pattern: str | Path) -> list[Path]:
    """What a pattern of paths or URLs matches, by name."""
    if isinstance(pattern, UrlPath):
        return pattern.matches()
    return sorted(Path(match) for match in glob.glob(str(pattern), recursive=True))  # noqa: PTH207 - absolute ones too


def has_magic(place: Path) -> bool:
    """Whether a path is a pattern. In a URL a question mark begins its query."""
    if isinstance(place, UrlPath):
        return any(sign in place.path for sign in "*[")
    return glob.has_magic(str(place))
