"""A path, URL or pattern -> places that list, look up and open files, with bounds on size, time and requests. A URL's file is
copied when first opened, for the life of its `UrlPath`; `universal_pathlib` has no limits and shows passwords."""

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
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote, unquote

import numpy as np

from ..errors import TraceError
from ..trace.capture_facts import GZIP, decoded, unpacked
from ..trace.scratch import opened, process_folder
from .protobuf import BYTES, PEEKED_BYTES, BytesContent, Content, FileKind, Watcher, kind_of, watcher
from .saved import is_sidecar

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^\s/?#]*@)?[^\s'\"<>]*")
"""In a text, where quotes mostly end a URL; but a password may hold some."""
_USER = re.compile(r"(://)(?:([^/?#]*)@|([^/?#@:]*:(?!\d*(?:[/?#]|$)).*)@)", re.DOTALL)
"""Who logs in, up to the last @; what follows a colon and is no port is a password even with signs that none may hold."""
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_SHORTEST = 3
"""Anything shorter is no secret, and stands in many a word."""


def shown_url(url: str) -> str:
    """A URL without user, password, query and fragment; dots stand for them."""
    return _QUERY.sub("?...", _USER.sub(r"\1...@", url))


def without_secrets(text: str, url: str = "") -> str:
    """A text of any file system with `shown_url` of each URL in it."""
    for secret in _secrets_of(url):
        text = text.replace(secret, "...")
    return _ADDRESS.sub(lambda match: shown_url(match[0]), text)


def _secrets_of(url: str) -> list[str]:
    """Users with their passwords, passwords alone, and the query, as a text may spell them; the longest first."""
    found = {_USER.sub("", url).partition("?")[2].partition("#")[0]}
    for _, *users in _USER.findall(url):
        user = "".join(users)
        found |= {user, user.partition(":")[2]}
    spelled = {
        form for one in found for form in (one, unquote(one), quote(one), quote(one, safe=""), quote(one, safe=":"))
    }
    return sorted((one for one in spelled if len(one) >= _SHORTEST), key=lambda one: (-len(one), one))


MAX_FILE_BYTES = 2 * 2**30
"""Of one file, as it comes: no message of protobuf is longer."""
MAX_LISTING_BYTES = 8 * 2**20
MAX_NAMES = 20_000
"""In one listing."""
MAX_LISTINGS = 5_000
"""In one load."""
MAX_LOOKING_S = 120.0
"""For the listings of one load together."""
SILENT_S = 20.0
"""Longest wait for the next byte."""
ANSWER_S = 60.0
"""For all of a listing, or the head of an answer."""
SLOW_S, SLOW_BYTES_PER_S = 60.0, 1000.0
"""A file must come faster than this on average, from this time on."""
_COPY = "Copy it to this machine, and load that."


class Looking:
    """Counts what one load lists, and ends it where that is too much."""

    def __init__(self) -> None:
        self._n, self._seconds = 0, 0.0

    @contextlib.contextmanager
    def at(self, url: str) -> Iterator[None]:
        """List one directory within the `with` block."""
        if self._n >= MAX_LISTINGS or self._seconds >= MAX_LOOKING_S:
            raise TraceError(
                f"{self._n:,} directories were listed in {self._seconds:.0f} s, the last one above {shown_url(url)}; the limits "
                f"are {MAX_LISTINGS:,} and {MAX_LOOKING_S:.0f} s. Give the address of the run itself, or a narrower pattern."
            )
        self._n += 1
        begin_s = time.monotonic()
        try:
            yield
        finally:
            self._seconds += time.monotonic() - begin_s


def checked_names(url: str, found: list[Any]) -> list[Any]:
    if len(found) > MAX_NAMES:
        raise TraceError(
            f"{shown_url(url)} lists {len(found):,} names; the limit is {MAX_NAMES:,}. "
            "Give the address of the run itself, or a narrower pattern."
        )
    return found


class Copying:
    """Tells of the bytes of a file as they come, and ends it where they are too many or too slow; as fsspec's callbacks."""

    def __init__(self, url: str, watcher: Watcher | None) -> None:
        """`watcher` gets the bytes that came and that will come."""
        self._url, self._watcher = url, watcher
        self._n, self._n_all = 0, 0
        self._since_s = time.monotonic()

    def set_size(self, size: int | None) -> None:
        """Set the number of bytes to come, where the server knows it."""
        self._n_all = size or 0
        self._check(self._n_all)
        self._tell(0, self._n_all)

    def relative_update(self, inc: int = 1) -> None:
        """Count bytes that came."""
        self._n += inc
        self._check(self._n)
        seconds = time.monotonic() - self._since_s
        if seconds > SLOW_S and self._n < SLOW_BYTES_PER_S * seconds:
            raise TraceError(
                f"{shown_url(self._url)} is too slow: {self._n:,} bytes came in {seconds:.0f} s, fewer than "
                f"{SLOW_BYTES_PER_S:,.0f} a second, the limit. {_COPY}"
            )
        self._tell(inc, 0 if self._n <= self._n_all else inc)

    def _check(self, n_bytes: int) -> None:
        if n_bytes > MAX_FILE_BYTES:
            raise TraceError(f"{shown_url(self._url)} has more than {MAX_FILE_BYTES:,} bytes, the limit. {_COPY}")

    def _tell(self, n_read: int, n_more: int) -> None:
        if self._watcher is not None:
            self._watcher(n_read, n_more)


@cache
def session_options(silent_s: float) -> dict[str, Any]:
    """How fsspec's sessions with web servers are made."""
    import aiohttp

    class Page(aiohttp.ClientResponse):
        """An answer whose text, which is a listing, ends somewhere."""

        async def text(self, encoding: str | None = None, errors: str = "strict") -> str:
            held = bytearray()
            async for part in self.content.iter_any():
                held += part
                if len(held) > MAX_LISTING_BYTES:
                    self.close()
                    raise TraceError(
                        f"The listing of {shown_url(str(self.url))} has more than {MAX_LISTING_BYTES:,} bytes, the limit. "
                        "Give the address of the run itself."
                    )
            with contextlib.suppress(LookupError):
                return held.decode(encoding or self.charset or "utf-8", errors)
            return held.decode("utf-8", errors)

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=silent_s, sock_read=silent_s)
    return {"timeout": timeout, "response_class": Page}


_PROGRAMS = {"gs": "gcsfs", "gcs": "gcsfs", "s3": "s3fs", "s3a": "s3fs", "http": "aiohttp", "https": "aiohttp"}
"""Package of each scheme."""


def file_system_of(url: str) -> Any:
    scheme = url.partition("://")[0].rpartition("::")[2].lower()
    try:
        from fsspec.core import url_to_fs

        is_web = scheme in ("http", "https") and url.lower().startswith(scheme)
        options = {"client_kwargs": session_options(SILENT_S)} if is_web else {}
        return url_to_fs(url, **options)[0]
    except ImportError as error:
        what = _PROGRAMS.get(scheme)
        remedy = f"pip install {what}" if what else without_secrets(str(error), url)
        raise TraceError(f"{shown_url(url)} cannot be read: no file system for {scheme}:// is here: {remedy}") from None
    except ValueError as error:
        raise TraceError(
            f"{shown_url(url)} cannot be read: {without_secrets(str(error), url)}. Copy it here and load that."
        ) from None
    except Exception as error:
        raise failure(url, error) from None


@contextlib.contextmanager
def remote_errors(url: str) -> Iterator[None]:
    """Whatever a file system raises inside the `with` block leaves it as a `TraceError` that names the URL."""
    try:
        yield
    except TraceError:
        raise
    except Exception as error:  # each file system has errors of its own
        raise failure(url, error) from None


def failure(url: str, error: BaseException) -> TraceError:
    """The text of a file system's error without secrets; the error is not chained, as its own text has them."""
    if isinstance(error, FileNotFoundError) and error.__cause__ is None:
        return TraceError(f"Nothing is at {shown_url(url)}. Check the address.")
    if isinstance(error, TimeoutError) or type(error).__name__ == "TimeoutError":
        return TraceError(
            f"{shown_url(url)} does not answer: nothing came for {SILENT_S:.0f} s, or an answer took more than {ANSWER_S:.0f} s, "
            "the limits. Try again later, or copy the files to this machine and load those."
        )
    reason = without_secrets(str(error), url).strip() or "no reason given"
    return TraceError(
        f"{shown_url(url)} cannot be read: {type(error).__name__}: {reason}. Check the address and your access to it."
    )


_WHOLE_SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
"""Files that are read whole once their beginning is read."""


@dataclass(frozen=True)
class UrlStatus:
    """Size and time of a file, named as `os.stat_result` names them."""

    st_size: int
    st_mtime_ns: int
    """When it was written, or what else changes with its content; 0 where the server gives neither."""

    @property
    def st_mtime(self) -> float:
        return self.st_mtime_ns / 1e9


class UrlPath:
    """One place behind a URL. Its text has neither password nor query, and its errors are `TraceError`."""

    def __init__(
        self, url: str, file_system: Any = None, looking: Looking | None = None, *, is_fresh: bool = False
    ) -> None:
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
        """fsspec's limit for what is no file, on web servers; other file systems have their own."""
        return {"timeout": ANSWER_S} if self._is_http else {}

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
        """The file system's record of it; None where nothing is there."""
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
        return self._kind == "file"

    def exists(self) -> bool:
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
        head, query = self._parts
        parts = head.split("/")
        n = next(i for i, part in enumerate(parts) if any(sign in part for sign in "*["))
        found = self._other(f"{'/'.join(parts[:n])}/{query}").glob(unquote("/".join(parts[n:])))
        return [cast(Path, one) for one in sorted(dict.fromkeys(found))]

    def stat(self) -> UrlStatus:
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
        return self._local().read_bytes()

    def first_bytes(self, n_bytes: int) -> bytes:
        if self._copy is not None or self.name.endswith(_WHOLE_SUFFIXES):
            with self.open() as file:
                return file.read(n_bytes)
        with remote_errors(self.url):
            if self._is_http:  # as a stream: not every server gives out a range
                with self._fs.open(self.path, "rb", block_size=0) as stream:
                    return _read(stream, n_bytes)
            return cast(bytes, self._fs.cat_file(self.path, start=0, end=n_bytes))

    def samefile(self, other: object) -> bool:
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
    """So many bytes of a stream, as far as they come soon."""
    parts, begin_s = [], time.monotonic()
    while n_bytes > 0 and (part := stream.read(n_bytes)):
        if time.monotonic() - begin_s > ANSWER_S:
            raise TimeoutError
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _remove(copy: Path, process_id: int) -> None:
    if os.getpid() == process_id:  # and not where a fork of that process ends
        with contextlib.suppress(OSError):
            copy.unlink(missing_ok=True)


def _changed_ns(info: dict[str, Any]) -> int:
    """A number that changes with a file, from its file system's record."""
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
    """The place that a path or URL names, which the readers take as a `Path`."""
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
    if isinstance(pattern, UrlPath):
        return pattern.matches()
    return sorted(Path(match) for match in glob.glob(str(pattern), recursive=True))  # noqa: PTH207 - absolute ones too


def has_magic(place: Path) -> bool:
    """Whether a path is a pattern. In a URL a question mark begins its query."""
    if isinstance(place, UrlPath):
        return any(sign in place.path for sign in "*[")
    return glob.has_magic(str(place))


SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
CHROME_SUFFIXES = (".json", ".json.gz")
RUNS = Path("plugins") / "profile"
"""Where TensorBoard looks for runs below a log directory."""
GRAPH_NAMES = ("graph.pb", "graph.pbtxt")
"""Files beside those of steps that hold the program's GraphDef."""
OP_LOG_NAME = "tfprof_log"
"""As `tf.compat.v1.profiler.write_op_log` calls it."""
_NUMBER = re.compile(r"(\d+)(?!.*\d)")
_MOST_STEP = 2**53


def printable(name: str) -> str:
    """A file's name as text that any file or browser can hold: bytes that are not UTF-8 become backslash escapes."""
    return decoded(os.fsencode(name))


def some_names(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(printable, names[:most]))}{more}"


def host_of(file: Path) -> str:
    """The host that a file's name says wrote it."""
    name = printable(file.name)
    known = (*reversed(SUFFIXES), ".trace.json.gz", ".trace.json", *reversed(CHROME_SUFFIXES))
    return next((name.removesuffix(suffix) for suffix in known if name.endswith(suffix)), file.stem)


def step_numbers(files: Sequence[Path]) -> list[int]:
    """The number of the step of each file: the last one in its name; where two are equal or one has none, 0, 1, 2, ..."""
    found = []
    for file in files:
        match = _NUMBER.search(file.name.split(".")[0])
        if match is None or int(match[1][-20:]) > _MOST_STEP:
            return list(range(len(files)))
        found.append(int(match[1][-20:]))
    return found if len(set(found)) == len(found) else list(range(len(files)))


def companion_name(file: Path) -> str:
    """Under which name a graph or a log is found beside the files that it was read with."""
    return OP_LOG_NAME if file.name == OP_LOG_NAME else GRAPH_NAMES[file.name.endswith(".pbtxt")]


def trace_files(run: Path) -> tuple[Path, ...]:
    """The trace files directly in a directory, by name; empty where it is no run."""
    return _files_named(run, SUFFIXES)


def chrome_files(run: Path) -> tuple[Path, ...]:
    """The Chrome traces directly in a directory, by name."""
    return tuple(file for file in _files_named(run, CHROME_SUFFIXES) if not is_sidecar(file.name))


def _files_named(run: Path, suffixes: tuple[str, ...]) -> tuple[Path, ...]:
    if not run.is_dir():
        return ()
    return tuple(sorted(file for file in run.iterdir() if file.name.endswith(suffixes) and file.is_file()))


_FEW_BYTES = 2**20
"""What so small a file becomes fits anywhere."""
_N_PIECES, _PIECE_BYTES = 64, 2**13
_MOST_EMPTY = 0.1
"""Of bytes; real traces, like random bytes, have less than a hundredth."""
MAX_UNPACKED_BYTES = 512 * 2**20
"""Of a compressed trace."""


def file_bytes(file: Path) -> bytes:
    """The bytes of a file, unpacked."""
    with opened(file) as stream:
        content = stream.read()
    if content.startswith(GZIP):
        try:
            content = unpacked(content, MAX_UNPACKED_BYTES)
        except TraceError as error:
            raise TraceError(f"{file} cannot be unpacked: {error}. Copy it again, or load what it holds.") from error
    check_filled(file, BytesContent(content))
    return content


def check_filled(file: Path, content: Content) -> None:
    """Refuse a file of empty messages: each takes two bytes, and a hundred times as many when it is read."""
    if content.size < _FEW_BYTES:
        return
    starts = np.random.default_rng().integers(0, content.size - _PIECE_BYTES, _N_PIECES)
    pieces = (np.frombuffer(content.read(at, at + _PIECE_BYTES), np.uint8) for at in starts.tolist())
    n = sum(int(np.count_nonzero(((one[:-1] & 7) == BYTES) & (one[1:] == 0))) for one in pieces)
    if (share := 2 * n / (_N_PIECES * _PIECE_BYTES)) > _MOST_EMPTY:
        raise TraceError(
            f"{file} is no trace: {share:.0%} of its {content.size:,} bytes are empty messages, which no profiler writes. "
            "Capture it again."
        )


def known_size(file: Path) -> int | None:
    """How many bytes `file_bytes` gives; None where unknown before reading: compressed, behind a URL, or unreadable."""
    if is_url(file):  # a server would be asked for each, and need not know
        return None
    try:
        return None if first_bytes(file, len(GZIP)) == GZIP else file.stat().st_size
    except OSError:
        return None


def kind_of_file(file: Path) -> FileKind:
    """What a file is by its first bytes, unpacked where it is compressed."""
    start = head_of_file(file, PEEKED_BYTES)
    return FileKind.UNKNOWN if start is None else kind_of(start)


def head_of_file(file: Path, n_bytes: int) -> bytes | None:
    """The first bytes of a file, unpacked where it is compressed; None where that is broken."""
    start = first_bytes(file, n_bytes)
    if not start.startswith(GZIP):
        return start
    try:
        return zlib.decompressobj(wbits=31).decompress(start, n_bytes)
    except zlib.error:
        return None
