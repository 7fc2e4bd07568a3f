"""The first bytes of a file of any name -> what it is: JSON, or a message of TensorFlow."""

from __future__ import annotations

from enum import Enum

from .framing import BYTES, FramingError, varint

PEEKED_BYTES = 4096
"""So many tell what a file is."""


class FileKind(Enum):
    """Kinds of files; the value is what to call one in a message."""

    EMPTY = "empty"
    JSON = "JSON"
    XSPACE = "an XSpace"
    RUN_METADATA = "a RunMetadata or StepStats"
    STEP_STATS = "a StepStats"
    PROFILE = "a ProfileProto of tfprof"
    GRAPH = "a GraphDef"
    OP_LOG = "an OpLogProto of tfprof"
    UNKNOWN = "nothing known"


STEP_KINDS = (FileKind.RUN_METADATA, FileKind.STEP_STATS, FileKind.PROFILE)
"""Messages that are steps of a profile, several of which may be one."""
_SPACE = b"\xef\xbb\xbf \t\r\n"


def kind_of(start: bytes) -> FileKind:
    """What a file is by its first bytes (`PEEKED_BYTES` of them do), unpacked: the fields that each message begins with."""
    if not start:
        return FileKind.EMPTY
    if start.lstrip(_SPACE)[:1] in (b"{", b"[") and _is_text(start):
        return FileKind.JSON
    number, inner, _ = _first(start)
    if number == 4:  # id_to_string or has_trace of a profile without nodes, hostnames of an empty XSpace
        return FileKind.PROFILE if inner[:1] == b"\x08" else FileKind.UNKNOWN
    return _kind_of_first(inner) if number == 1 else FileKind.UNKNOWN


def _is_text(start: bytes) -> bool:
    """Whether no byte is one that JSON never has: the first two of an XSpace can be a line feed and a brace."""
    return not any(byte < 0x20 and byte not in b"\t\r\n" for byte in start[:256])


def _kind_of_first(inner: bytes) -> FileKind:
    """The same of what field 1 of the file holds."""
    if inner[:1] == b"\x08":  # a number comes first: a map's key, or the id of a plane
        number, content, _ = _first(_after_number(inner))
        return FileKind.PROFILE if number == 2 and content[:1] == b"\x0a" and _is_name(content) else FileKind.XSPACE
    number, content, end = _first(inner)
    if number != 1:
        return FileKind.XSPACE if number == 2 else FileKind.UNKNOWN
    deeper = _first(content)
    if deeper[0] == 1 and deeper[1][:1] == b"/":
        return FileKind.RUN_METADATA
    if content[:1] == b"/" and b"/" in content[1:]:
        return FileKind.STEP_STATS
    # What begins with a name: a NodeDef has its op's type next, an entry of a log anything else.
    following = inner[end : end + 1]
    if following == b"\x12":
        return FileKind.GRAPH
    return FileKind.OP_LOG if following in (b"\x10", b"\x1a", b"\x22") else FileKind.UNKNOWN


def _is_name(node: bytes) -> bool:
    """Whether a message begins with a text, as a node of a profile does."""
    number, text, _ = _first(node)
    return number == 1 and bool(text) and all(byte >= 0x20 for byte in text[:64])


def _first(data: bytes) -> tuple[int, bytes, int]:
    """Number, content (as much as is there) and end of the first field where that is a message or a text; else zeros."""
    try:
        key, at = varint(data, 0)
        if key & 7 == BYTES:
            length, at = varint(data, at)
            return key >> 3, data[at : at + length], at + length
    except FramingError:
        pass
    return 0, b"", 0


def _after_number(data: bytes) -> bytes:
    """What follows the number that is the first field."""
    try:
        return data[varint(data, 1)[1] :]
    except FramingError:
        return b""
