"""The first bytes of a file of any name -> what it is: JSON, or a message of TensorFlow."""

from __future__ import annotations

from enum import Enum

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
    first = _first(start)
    if first is None:
        return FileKind.UNKNOWN
    number, inner = first
    if number == 4:  # id_to_string or has_trace of a profile without nodes, hostnames of an empty XSpace
        return FileKind.PROFILE if _first_number(inner) == 1 and inner[:1] == b"\x08" else FileKind.UNKNOWN
    return _kind_of_first(inner) if number == 1 else FileKind.UNKNOWN


def _is_text(start: bytes) -> bool:
    """Whether no byte is one that JSON never has: the first two of an XSpace can be a line feed and a brace."""
    return not any(byte < 0x20 and byte not in b"\t\r\n" for byte in start[:256])


def _kind_of_first(inner: bytes) -> FileKind:
    """The same of what field 1 of the file holds."""
    if inner[:1] == b"\x08":  # a number comes first: a map's key, or the id of a plane
        value = _first(_after_varint(inner, 1))
        if value is not None and value[0] == 2 and value[1][:1] == b"\x0a" and _is_name(value[1]):
            return FileKind.PROFILE
        return FileKind.XSPACE
    told = _first(inner)
    if told is None:
        return FileKind.UNKNOWN
    number, content = told
    if number != 1:
        return FileKind.XSPACE if number == 2 else FileKind.UNKNOWN
    deeper = _first(content)
    if deeper is not None and deeper[0] == 1 and deeper[1][:1] == b"/":
        return FileKind.RUN_METADATA
    if content[:1] == b"/" and b"/" in content[1:]:
        return FileKind.STEP_STATS
    return _graph_or_log(inner)


def _graph_or_log(inner: bytes) -> FileKind:
    """What begins with a name: a NodeDef has its op's type next, an entry of a log anything else."""
    end = _end_of_first(inner)
    if end is None or end >= len(inner):
        return FileKind.UNKNOWN
    following = inner[end]
    if following == 0x12:
        return FileKind.GRAPH
    return FileKind.OP_LOG if following in (0x10, 0x1A, 0x22) else FileKind.UNKNOWN


def _is_name(node: bytes) -> bool:
    """Whether a message begins with a text, as a node of a profile does."""
    first = _first(node)
    return first is not None and first[0] == 1 and bool(first[1]) and all(byte >= 0x20 for byte in first[1][:64])


def _first(data: bytes) -> tuple[int, bytes] | None:
    """Number and content (as much as is there) of the first field where that is a message or a text."""
    key = _varint(data, 0)
    if key is None or key[0] & 7 != 2:
        return None
    length = _varint(data, key[1])
    if length is None:
        return None
    return key[0] >> 3, data[length[1] : length[1] + length[0]]


def _first_number(data: bytes) -> int:
    key = _varint(data, 0)
    return key[0] >> 3 if key else 0


def _end_of_first(data: bytes) -> int | None:
    key = _varint(data, 0)
    length = _varint(data, key[1]) if key else None
    return length[1] + length[0] if length else None


def _after_varint(data: bytes, at: int) -> bytes:
    found = _varint(data, at)
    return data[found[1] :] if found else b""


def _varint(data: bytes, at: int) -> tuple[int, int] | None:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            return None
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    return None
