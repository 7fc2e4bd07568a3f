"""A file -> its bytes, unpacked where it is compressed."""

from __future__ import annotations

import zlib
from pathlib import Path

from ..errors import TraceError

MAX_UNPACKED_BYTES = 512 * 2**20
"""How large a compressed trace may become."""


def file_bytes(file: Path) -> bytes:
    """The bytes of a file, unpacked.

    Raises:
        TraceError: its compression is broken, or it unpacks to too much.
    """
    content = file.read_bytes()
    return _unpacked(content, file) if content.startswith(b"\x1f\x8b") else content


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
