"""What comes from outside -> what no reader has to look at twice: texts that any encoder and terminal takes, within limits."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

from ..errors import TraceError, without_controls

MAX_DOCUMENT_BYTES = 64 * 2**20
"""How large a document beside a trace (a sidecar, a saved profile) may be, or become when unpacked."""
_FIRST_CHUNK = 2**10
_PADDING = re.compile(rb"\0*")
"""What tapes and disks write behind a file."""
GZIP = b"\x1f\x8b"
"""How compressed files begin."""


def decoded(raw: bytes) -> str:
    """UTF-8 as text; bytes that are none are data, too: they become backslash escapes (`\\xff`), and so do controls."""
    return without_controls(raw.decode("utf-8", "backslashreplace"))


def all_decoded(raws: Sequence[bytes]) -> list[str]:
    """The same of many, at once where all are UTF-8."""
    try:
        found = without_controls(b"\x0b".join(raws).decode()).split("\x0b")
    except UnicodeDecodeError:
        found = []
    return found if len(found) == len(raws) else [decoded(raw) for raw in raws]  # a text may hold one, too


def clean_text(value: object) -> str:
    """Any value as text that every encoder and terminal takes: halves of surrogate pairs and controls become backslash
    escapes, as in an XSpace."""
    text = str(value)
    return without_controls(text) if text.isascii() else decoded(text.encode("utf-8", "surrogatepass"))


def texts(values: object) -> list[str]:
    """A list of JSON that must hold texts; halves of surrogate pairs, which no encoder takes, become question marks, and
    controls backslash escapes.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a text is none")
    return [
        without_controls(value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8"))
        for value in values
    ]


def whole(value: object, low: int, high: int) -> int:
    """A number of JSON that must be an integer from `low` to before `high`.

    Raises:
        ValueError: it is something else.
    """
    if type(value) is not int or not low <= value < high:
        raise ValueError(f"{str(value)[:40]} is no whole number in [{low}, {high})")
    return value


def unpacked(content: bytes, most: int) -> bytes:
    """What was compressed by gzip, in one stream or in several, one after the other.

    Args:
        content: the compressed bytes.
        most: so many bytes it may become.

    Raises:
        TraceError: it is not whole, or becomes more; the message begins with `it` or `its`.
    """
    parts, n_bytes, at = [], 0, 0
    while at < len(content):
        unpacker, chunk = zlib.decompressobj(wbits=31), _FIRST_CHUNK
        while not unpacker.eof and at < len(content):
            piece = content[at : at + chunk]
            # Streams may be many and short: what is handed over is copied, so the pieces of each begin small.
            at, chunk = at + len(piece), 4 * chunk
            try:
                parts.append(unpacker.decompress(piece, most - n_bytes + 1))
            except zlib.error as error:
                raise TraceError(f"it is not whole: {error}") from error
            n_bytes += len(parts[-1])
            if n_bytes > most:
                raise TraceError(f"it unpacks to more than {most} bytes, the limit")
        if not unpacker.eof:
            raise TraceError(f"it is truncated: its {len(content)} bytes end inside the gzip stream")
        at = _PADDING.match(content, at - len(unpacker.unused_data)).end()  # type: ignore[union-attr]  # it matches nothing, too
    return b"".join(parts)


def check_brackets(text: bytes, most: int) -> None:
    """Refuse JSON that would take much more memory than its bytes: each bracket may be a list, which takes 30 times as many.

    Raises:
        TraceError: it has more; the message begins with `it`. Those in texts count, too.
    """
    if text.count(b"[") + text.count(b"{") > most:
        raise TraceError(f"it has more than {most} lists, the limit")


def document(text: bytes, version: int, *, most_brackets: int) -> dict[str, Any]:
    """An object of JSON that this package wrote, of a version that is read.

    Raises:
        TraceError: it is none, or has more brackets; the message begins with `it`.
    """
    check_brackets(text, most_brackets)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"it is no JSON: {type(error).__name__}: {error}") from error
    if not isinstance(found, dict) or found.get("version") != version:
        raise TraceError(f"its version is not {version}")
    return found
