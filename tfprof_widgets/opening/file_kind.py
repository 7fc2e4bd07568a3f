"""A file of any name -> what it is by its content, without reading all of it."""

from __future__ import annotations

import zlib
from enum import Enum
from pathlib import Path

from ..formats.wire.proto_kind import PEEKED_BYTES, ProtoKind, kind_of
from .places import first_bytes

_GZIP = b"\x1f\x8b"
_SPACE = b"\xef\xbb\xbf \t\r\n"


class FileKind(Enum):
    """Kinds of files; the value is what to call one in a message."""

    EMPTY = "empty"
    JSON = "JSON"
    XSPACE = "an XSpace"
    STEP = "a RunMetadata or StepStats"
    PROFILE = "a ProfileProto of tfprof"
    GRAPH = "a GraphDef"
    OP_LOG = "an OpLogProto of tfprof"
    UNKNOWN = "nothing known"


_OF_PROTO = {
    ProtoKind.XSPACE: FileKind.XSPACE,
    ProtoKind.RUN_METADATA: FileKind.STEP,
    ProtoKind.STEP_STATS: FileKind.STEP,
    ProtoKind.PROFILE: FileKind.PROFILE,
    ProtoKind.GRAPH: FileKind.GRAPH,
    ProtoKind.OP_LOG: FileKind.OP_LOG,
    ProtoKind.UNKNOWN: FileKind.UNKNOWN,
}


def kind_of_file(file: Path) -> FileKind:
    """What a file is by its first bytes, unpacked where it is compressed."""
    start = head_of_file(file, PEEKED_BYTES)
    return FileKind.UNKNOWN if start is None else kind_of_bytes(start)


def head_of_file(file: Path, n_bytes: int) -> bytes | None:
    """The first bytes of a file, unpacked where it is compressed; None where that is broken."""
    start = first_bytes(file, n_bytes)
    if not start.startswith(_GZIP):
        return start
    try:
        return zlib.decompressobj(wbits=31).decompress(start, n_bytes)
    except zlib.error:
        return None


def kind_of_bytes(start: bytes) -> FileKind:
    """What a file is by its first bytes."""
    if not start:
        return FileKind.EMPTY
    if start.lstrip(_SPACE)[:1] in (b"{", b"[") and _is_text(start):
        return FileKind.JSON
    return _OF_PROTO[kind_of(start)]


def _is_text(start: bytes) -> bool:
    """Whether no byte is one that JSON never has: the first two of an XSpace can be a line feed and a brace."""
    return not any(byte < 0x20 and byte not in b"\t\r\n" for byte in start[:256])
