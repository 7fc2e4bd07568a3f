"""What a server may send -> limits on its bytes, its time and its listings, each told with what to do instead.

Looking: the listings of one load.     Copying: the bytes of one file on their way here.
session_options(): what makes fsspec's sessions give up on servers that keep silent or send pages without end.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from ..errors import TraceError
from ..formats.wire.content import Watcher
from .shown_url import shown_url

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


def no_answer(url: str) -> TraceError:
    """What to tell of a server that keeps silent, or takes too long."""
    return TraceError(
        f"{shown_url(url)} does not answer: nothing came for {SILENT_S:.0f} s, or an answer took more than {ANSWER_S:.0f} s, the "
        "limits. Try again later, or copy the files to this machine and load those."
    )


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
