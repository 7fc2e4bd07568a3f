"""The first bytes of a protobuf file -> which message of TensorFlow it is."""

from __future__ import annotations

from enum import Enum

PEEKED_BYTES = 4096
"""So many tell what a file is."""


class ProtoKind(Enum):
    """Kinds of files; the value is what to call one in a message."""

    XSPACE = "an XSpace"
    RUN_METADATA = "a RunMetadata"
    STEP_STATS = "a StepStats"
    PROFILE = "a ProfileProto of tfprof"
    GRAPH = "a GraphDef"
    OP_LOG = "an OpLogProto of tfprof"
    UNKNOWN = "nothing known"


def kind_of(start: bytes) -> ProtoKind:
    """What a file is by its first bytes (`PEEKED_BYTES` of them do): the fields that each message begins with."""
    first = _first(start)
    if first is None:
        return ProtoKind.UNKNOWN
    number, inner = first
    if number == 4:  # id_to_string or has_trace of a profile without nodes, hostnames of an empty XSpace
        return ProtoKind.PROFILE if _first_number(inner) == 1 and inner[:1] == b"\x08" else ProtoKind.UNKNOWN
    return _kind_of_first(inner) if number == 1 else ProtoKind.UNKNOWN


def _kind_of_first(inner: bytes) -> ProtoKind:
    """The same of what field 1 of the file holds."""
    if inner[:1] == b"\x08":  # a number comes first: a map's key, or the id of a plane
        value = _first(_after_varint(inner, 1))
        if value is not None and value[0] == 2 and value[1][:1] == b"\x0a" and _is_name(value[1]):
            return ProtoKind.PROFILE
        return ProtoKind.XSPACE
    told = _first(inner)
    if told is None:
        return ProtoKind.UNKNOWN
    number, content = told
    if number != 1:
        return ProtoKind.XSPACE if number == 2 else ProtoKind.UNKNOWN
    deeper = _first(content)
    if deeper is not None and deeper[0] == 1 and deeper[1][:1] == b"/":
        return ProtoKind.RUN_METADATA
    if content[:1] == b"/" and b"/" in content[1:]:
        return ProtoKind.STEP_STATS
    return _graph_or_log(inner)


def _graph_or_log(inner: bytes) -> ProtoKind:
    """What begins with a name: a NodeDef has its op's type next, an entry of a log anything else."""
    end = _end_of_first(inner)
    if end is None or end >= len(inner):
        return ProtoKind.UNKNOWN
    following = inner[end]
    if following == 0x12:
        return ProtoKind.GRAPH
    return ProtoKind.OP_LOG if following in (0x10, 0x1A, 0x22) else ProtoKind.UNKNOWN


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
