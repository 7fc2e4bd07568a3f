"""A path or URL, or a pattern of either -> places, which every reader takes as a `Path`: they list, look up and open them.

A file behind a URL is copied to a scratch file when it is first opened; the copy lives as long as the `UrlPath`. Listings are
asked for once. Nothing is fetched that nobody opens.

Why not `universal_pathlib`: its `str` has password and query, `/` puts a name behind the query, each of `is_dir`, `is_file` and
`exists` is another request, and it has no limits. All that would have to be written anew.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import io
import os
import re
import tempfile
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote, unquote

from ..errors import TraceError
from ..formats.wire.content import watcher
from ..trace.regular_file import opened
from ..trace.scratch import process_folder
from . import url_files
from .url_files import Copying, Looking, checked_names, failure, file_system_of, remote_errors, shown_url

_WHOLE_SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
"""Files that are read whole once somebody looks at their beginning."""


@dataclass(frozen=True)
class UrlStatus:
    """Size and time of a file, named as `os.stat_result` names them."""

    st_size: int
    st_mtime_ns: int
    """When it was written, or what else changes with its content; 0 where the server tells neither."""

    @property
    def st_mtime(self) -> float:
        """The same in seconds."""
        return self.st_mtime_ns / 1e9


class UrlPath:
    """One place behind a URL. Its text has neither password nor query, and its errors are `TraceError`."""

    def __init__(
        self, url: str, file_system: Any = None, looking: Looking | None = None, *, is_fresh: bool = False
    ) -> None:
        """Name a place; nothing is asked yet.

        Args:
            url: as fsspec takes it.
            file_system: fsspec's for it, where it is known.
            looking: counts the listings of the load that it belongs to.
            is_fresh: forget what the file system remembers of its listings.
        """
        self.url = url
        self._fs = file_system or file_system_of(url)
        self._looking = looking or Looking()
        with remote_errors(url):
            if is_fresh:
                self._fs.invalidate_cache()
            self.path: str = self._fs._strip_protocol(url)
        self._copy: Path | None = None

    def __reduce__(self) -> tuple[type[UrlPath], tuple[str]]:
        return UrlPath, (self.url,)

    def __str__(self) -> str:
        return shown_url(self.url)

    def __repr__(self) -> str:
        return f"UrlPath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlPath) and other.url.rstrip("/") == self.url.rstrip("/")

    def __hash__(self) -> int:
        return hash(self.url.rstrip("/"))

    def __lt__(self, other: UrlPath) -> bool:
        return self.url < other.url

    # ---- names ------------------------------------------------------------------------------------------------------

    @property
    def _is_http(self) -> bool:
        return self.url.startswith(("http://", "https://"))

    @property
    def _soon(self) -> dict[str, float]:
        """How long fsspec waits for what is no file; other file systems than those of web servers have limits of their own."""
        return {"timeout": url_files.ANSWER_S} if self._is_http else {}

    @property
    def name(self) -> str:
        """The last part of the path, unquoted; at the top the host, without who logs in there."""
        below = self._parts[0].rpartition("://")[2].rstrip("/")
        above, _, last = below.rpartition("/")
        last = last if above else last.rpartition("@")[2]
        return unquote(last) if self._is_http else last

    @property
    def stem(self) -> str:
        """The name without its last suffix."""
        return Path(self.name).stem

    @property
    def _parts(self) -> tuple[str, str]:
        """The URL before its query, and the query of a request."""
        if not self._is_http:
            return self.url, ""
        head, mark, query = self.url.partition("?")
        return head, mark + query

    @property
    def parent(self) -> UrlPath:
        """The place that this one is in; itself at the top."""
        head, query = self._parts
        above, _, last = head.rstrip("/").rpartition("/")
        return self._other(f"{above}/{query}") if last and not above.endswith("/") else self

    def __truediv__(self, name: str | os.PathLike[str]) -> UrlPath:
        head, query = self._parts
        below = Path(name).as_posix()
        return self._other(f"{head.rstrip('/')}/{quote(below) if self._is_http else below}{query}")

    def _other(self, url: str) -> UrlPath:
        return UrlPath(url, self._fs, self._looking)

    def absolute(self) -> UrlPath:
        """Itself: a URL is."""
        return self

    # ---- what is there ----------------------------------------------------------------------------------------------

    @cached_property
    def _entries(self) -> tuple[UrlPath, ...] | None:
        """What a directory holds, by name; None where this is none."""
        try:
            with self._looking.at(self.url):
                found = checked_names(self.url, self._fs.ls(self._listed, detail=True, **self._soon))
        except TraceError:
            raise
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:
            if self._is_http and getattr(error, "status", None) is not None:  # a server that lists nothing
                return None
            raise failure(self.url, error) from None
        entries = [self._entry(one) for one in found if not self._is_itself(one)]
        if self._is_http and not entries and not self._is_page:
            return None
        return tuple(sorted(one for one in entries if one.name))

    @property
    def _listed(self) -> str:
        # A server's relative links are below an address that ends so.
        return f"{self.path.rstrip('/')}/" if self._is_http and "?" not in self.path else self.path

    @cached_property
    def _is_page(self) -> bool:
        return self._info is not None and str(self._info.get("mimetype", "")).startswith("text/html")

    def _is_itself(self, entry: dict[str, Any]) -> bool:
        name = str(entry["name"])
        is_link = self._is_http and ("?" in name or "#" in name)  # a listing's columns sort by such links
        return is_link or name.rstrip("/") == self.path.rstrip("/")

    def _entry(self, entry: dict[str, Any]) -> UrlPath:
        below = self._other(self._fs.unstrip_protocol(entry["name"]))
        below.__dict__["_kind"] = entry["type"]
        if not self._is_http:
            below.__dict__["_info"] = entry
        return below

    @cached_property
    def _info(self) -> dict[str, Any] | None:
        """What the file system tells of it; None where nothing is there."""
        try:
            return cast(dict[str, Any], self._fs.info(self.path, **self._soon))
        except FileNotFoundError as error:
            cause = error.__cause__
            if cause is None or getattr(cause, "status", None) == 404 or isinstance(cause, FileNotFoundError):
                return None
            raise failure(self.url, cause) from None
        except Exception as error:
            raise failure(self.url, error) from None

    @cached_property
    def _kind(self) -> str:
        """`file`, `directory`, or nothing where nothing is there."""
        if self._is_http:
            if self._info is None:
                return "directory" if self._entries else ""
            is_directory = self.url.endswith("/") or (self._is_page and self._entries is not None)
            return "directory" if is_directory else "file"
        return "" if self._info is None else str(self._info["type"])

    def is_dir(self) -> bool:
        """Whether it is a directory: of a web server, a page with links to what is below it."""
        return self._kind == "directory"

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self._kind == "file"

    def exists(self) -> bool:
        """Whether anything is there."""
        return bool(self._kind)

    def iterdir(self) -> Iterator[UrlPath]:
        """What a directory holds, by name."""
        return iter(self._entries or ())

    def glob(self, pattern: str) -> Iterator[UrlPath]:
        """What below it matches a pattern of names, `*` and `**`; nothing where nothing does."""
        first, _, rest = pattern.partition("/")
        if first == "**":
            yield from self.glob(rest or "*")
            rest = pattern
            first = "*"
        for entry in self._entries or ():
            if not fnmatch.fnmatchcase(entry.name, first):
                continue
            if not rest:
                yield entry
            elif entry.is_dir():
                yield from entry.glob(rest)

    def matches(self) -> list[Path]:
        """What it matches as a pattern, by name."""
        head, query = self._parts
        parts = head.split("/")
        n = next(i for i, part in enumerate(parts) if any(sign in part for sign in "*["))
        found = self._other(f"{'/'.join(parts[:n])}/{query}").glob(unquote("/".join(parts[n:])))
        return [cast(Path, one) for one in sorted(dict.fromkeys(found))]

    def stat(self) -> UrlStatus:
        """Its size and time.

        Raises:
            TraceError: it is not there.
        """
        info = self._info
        if info is None:
            raise TraceError(f"Nothing is at {self}. Check the address.")
        size = self._copy.stat().st_size if self._copy is not None else int(info.get("size") or 0)
        return UrlStatus(size, _changed_ns(info))

    # ---- what it holds ----------------------------------------------------------------------------------------------

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        """A file with its bytes, copied here the first time."""
        if mode != "rb":
            raise io.UnsupportedOperation(f"mode {mode!r}: files behind URLs are read only")
        return self._local().open("rb", buffering=buffering)

    def read_bytes(self) -> bytes:
        """All its bytes."""
        return self._local().read_bytes()

    def first_bytes(self, n_bytes: int) -> bytes:
        """Its first bytes."""
        if self._copy is not None or self.name.endswith(_WHOLE_SUFFIXES):
            with self.open() as file:
                return file.read(n_bytes)
        with remote_errors(self.url):
            if self._is_http:  # as a stream: not every server gives out a range
                with self._fs.open(self.path, "rb", block_size=0) as stream:
                    return _read(stream, n_bytes)
            return cast(bytes, self._fs.cat_file(self.path, start=0, end=n_bytes))

    def samefile(self, other: object) -> bool:
        """Whether another path is this one."""
        return self == other

    def _local(self) -> Path:
        if self._copy is None:
            folder = process_folder(int((self._info or {}).get("size") or 0))
            handle, name = tempfile.mkstemp(dir=folder)
            os.close(handle)
            copy = Path(name)
            try:
                with remote_errors(self.url):
                    told = Copying(self.url, watcher())
                    self._fs.get_file(self.path, str(copy), callback=told)
            except BaseException:
                copy.unlink(missing_ok=True)
                raise
            self._copy = copy
            weakref.finalize(self, _remove, copy, os.getpid())
        return self._copy


def _read(stream: BinaryIO, n_bytes: int) -> bytes:
    """So many bytes of a stream that gives out what came, as far as they come soon."""
    parts, begin_s = [], time.monotonic()
    while n_bytes > 0 and (part := stream.read(n_bytes)):
        if time.monotonic() - begin_s > url_files.ANSWER_S:
            raise TimeoutError
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _remove(copy: Path, process_id: int) -> None:
    if os.getpid() == process_id:  # and not where a fork of that process ends
        with contextlib.suppress(OSError):
            copy.unlink(missing_ok=True)


def _changed_ns(info: dict[str, Any]) -> int:
    """A number that changes with a file, of whatever its file system tells."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created", "ETag", "etag"):
        value: Any = info.get(key)
        if isinstance(value, datetime):
            return round(value.timestamp() * 1e9)
        if isinstance(value, (int, float)):
            return round(value * 1e9)
        if isinstance(value, str):
            return int.from_bytes(value.encode()[-7:], "big")
    return 0


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
