"""A file -> its bytes, unpacked where it is compressed; and how many they are, where that is known before."""

from __future__ import annotations

import zlib
from pathlib import Path

from ..errors import TraceError
from .places import first_bytes, is_url

MAX_UNPACKED_BYTES = 512 * 2**20
"""How large a compressed trace may become."""
_GZIP = b"\x1f\x8b"


def file_bytes(file: Path) -> bytes:
    """The bytes of a file, unpacked.

    Raises:
        TraceError: its compression is broken, or it unpacks to too much.
    """
    content = file.read_bytes()
    return _unpacked(content, file) if content.startswith(_GZIP) else content


def known_size(file: Path) -> int | None:
    """How many bytes `file_bytes` gives; None where only reading the file tells: compressed, behind a URL, or unreadable."""
    if is_url(file):  # a server would be asked for each, and need not know
        return None
    try:
        return None if first_bytes(file, len(_GZIP)) == _GZIP else file.stat().st_size
    except OSError:
        return None


def _unpacked(content: bytes, file: Path) -> bytes:
    parts, room, rest = [], MAX_UNPACKED_BYTES, content
    while rest:  # a file may be several gzip streams, one after the other
        unpacker = zlib.decompressobj(wbits=31)
        try:
            parts.append(unpacker.decompress(rest, room))
        except zlib.error as error:
            raise TraceError(f"{file} is not whole: {error}. Copy it again.") from error
        if unpacker.unconsumed_tail:
            raise TraceError(
                f"{file} unpacks to more than {MAX_UNPACKED_BYTES} bytes, the limit. Unpack it and load that."
            )
        if not unpacker.eof:
            raise TraceError(
                f"{file} is truncated: its {len(content)} bytes end inside the gzip stream. Copy it again."
            )
        room, rest = max(1, room - len(parts[-1])), unpacker.unused_data.lstrip(b"\0")  # tapes and disks pad with zeros
    return b"".join(parts)
