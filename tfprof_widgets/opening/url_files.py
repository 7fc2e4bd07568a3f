"""URLs -> fsspec's file systems, within limits on what servers may send, and with errors that tell no password, key or token."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

from ..errors import TraceError
from ..formats.wire.content import Watcher

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^\s/?#]*@)?[^\s'\"<>]*")
"""In a text, where quotes mostly end a URL; but a password may hold some."""
_USER = re.compile(r"(://)(?:([^/?#]*)@|([^/?#@:]*:(?!\d*(?:[/?#]|$)).*)@)", re.DOTALL)
"""Who logs in, up to the last @. What follows a colon and is no port is a password even with signs that none may hold."""
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_SHORTEST = 3
"""Anything shorter is no secret, and stands in many a word."""


def shown_url(url: str) -> str:
    """A URL without user, password, query and fragment; what was there is told by dots."""
    return _QUERY.sub("?...", _USER.sub(r"\1...@", url))


def without_secrets(text: str, url: str = "") -> str:
    """A text of any file system with `shown_url` of each URL in it.

    Args:
        text: such as the message of an error.
        url: what the text is about. Its secrets are left out wherever they stand.
    """
    for secret in _secrets_of(url):
        text = text.replace(secret, "...")
    return _URL.sub(lambda match: shown_url(match[0]), text)


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
"""How long the listings of one load may take together."""
SILENT_S = 20.0
"""After so long without a byte nobody waits for the next one."""
ANSWER_S = 60.0
"""What is no file comes whole within this time: a listing, the head of an answer."""
SLOW_S, SLOW_BYTES_PER_S = 60.0, 1000.0
"""A file must come faster than this on average, from this time on."""
_COPY = "Copy it to this machine, and load that."


class Looking:
    """Counts what one load lists, and ends it where that is too much."""

    def __init__(self) -> None:
        """Nothing is listed yet."""
        self._n, self._seconds = 0, 0.0

    @contextlib.contextmanager
    def at(self, url: str) -> Iterator[None]:
        """List one directory within the `with` block.

        Raises:
            TraceError: too many were listed, or for too long.
        """
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
    """What a listing gave.

    Raises:
        TraceError: it is too long.
    """
    if len(found) > MAX_NAMES:
        raise TraceError(
            f"{shown_url(url)} lists {len(found):,} names; the limit is {MAX_NAMES:,}. "
            "Give the address of the run itself, or a narrower pattern."
        )
    return found


class Copying:
    """Tells of the bytes of a file as they come, and ends it where they are too many or too slow; as fsspec's callbacks."""

    def __init__(self, url: str, watcher: Watcher | None) -> None:
        """`watcher` is told how many came and how many more there will be."""
        self._url, self._watcher = url, watcher
        self._n, self._n_all = 0, 0
        self._since_s = time.monotonic()

    def set_size(self, size: int | None) -> None:
        """Is told how many bytes there will be, where the server knows."""
        self._n_all = size or 0
        self._check(self._n_all)
        self._tell(0, self._n_all)

    def relative_update(self, inc: int = 1) -> None:
        """Is told that so many bytes came."""
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
"""What to install for a scheme."""


def file_system_of(url: str) -> Any:
    """fsspec's file system for a URL.

    Raises:
        TraceError: there is none; the message says what to install.
    """
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
    """What to tell of an error of a file system: its text without secrets. It is not chained, as its own text has them."""
    if isinstance(error, FileNotFoundError) and error.__cause__ is None:
        return TraceError(f"Nothing is at {shown_url(url)}. Check the address.")
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return TraceError(
            f"{shown_url(url)} does not answer: nothing came for {SILENT_S:.0f} s, or an answer took more than {ANSWER_S:.0f} s, "
            "the limits. Try again later, or copy the files to this machine and load those."
        )
    reason = without_secrets(str(error), url).strip() or "no reason given"
    return TraceError(
        f"{shown_url(url)} cannot be read: {type(error).__name__}: {reason}. Check the address and your access to it."
    )
