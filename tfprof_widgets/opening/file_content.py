"""A file -> what it is by its content, its bytes, unpacked where it is compressed, and how many they are."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from ..errors import TraceError
from ..formats.wire.content import BytesContent, Content
from ..formats.wire.file_kind import PEEKED_BYTES, FileKind, kind_of
from ..formats.wire.framing import BYTES
from ..trace.bounds import GZIP, unpacked
from ..trace.regular_file import opened
from .places import first_bytes, is_url

_FEW_BYTES = 2**20
"""What so small a file becomes fits anywhere."""
_N_PIECES, _PIECE_BYTES = 64, 2**13
_MOST_EMPTY = 0.1
"""Of bytes. In real traces it is less than a hundredth, as in random bytes."""
MAX_UNPACKED_BYTES = 512 * 2**20
"""How large a compressed trace may become."""


def file_bytes(file: Path) -> bytes:
    """The bytes of a file, unpacked.

    Raises:
        TraceError: its compression is broken, or it unpacks to too much.
    """
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
    """Refuse a file of empty messages: each takes two bytes, and a hundred times as many when it is read.

    Raises:
        TraceError: they are a large part of it, by pieces that are drawn anew each time.
    """
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
    """How many bytes `file_bytes` gives; None where only reading the file tells: compressed, behind a URL, or unreadable."""
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
