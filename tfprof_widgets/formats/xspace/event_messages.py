"""Single messages of events, metadata and stats -> the same message in the plainest encoding; the values of stats."""

from __future__ import annotations

import struct
from typing import Any

from ...errors import TraceError
from ...trace.trace import StatKind
from ..wire.varints import Int64
from .event_framing import EventBytes, padded
from .messages import message_class
from .raw_strings import RawStrings

StatRow = tuple[int, int, int]
"""Stat metadata id, kind (a `StatKind`, or 7 for a reference to a stat metadata) and bits."""

_FIELD_KINDS = {
    "double_value": 2,
    "uint64_value": 3,
    "int64_value": 4,
    "str_value": 5,
    "bytes_value": 6,
    "ref_value": 7,
    "compressed_str_value": 8,
}


def plain(messages: EventBytes, rows: Int64, kind: str) -> EventBytes:
    """Serialised messages of a kind (`Event`, ...), those of some rows as protobuf writes them: known fields in order, each once.

    Raises:
        TraceError: one is no such message; its text says which one.
    """
    parts = [messages.raw[low:high] for low, high in zip(messages.begin.tolist(), messages.end.tolist(), strict=True)]
    for row in rows.tolist():
        parts[row] = _plain_message(parts[row], row, kind)
    return padded(parts)


def _plain_message(content: bytes, row: int, kind: str) -> bytes:
    from google.protobuf.message import DecodeError

    try:
        message = message_class(kind).FromString(content)
    except DecodeError as error:
        raise TraceError(
            f"{kind} {row} ({len(content)} bytes: {content[:16].hex(' ')}) is not an X{kind}: {error}."
        ) from error
    message.DiscardUnknownFields()
    return bytes(message.SerializeToString())


def stat_rows(stats: Any, strings: RawStrings) -> list[StatRow]:
    """The rows of a repeated XStat field."""
    return [(stat.metadata_id, *_kind_and_bits(stat, strings)) for stat in stats]


def _kind_and_bits(stat: Any, strings: RawStrings) -> tuple[int, int]:
    name = stat.WhichOneof("value")
    if name is None:
        return StatKind.INT64, 0
    kind, value = _FIELD_KINDS[name], getattr(stat, name)
    if kind == StatKind.DOUBLE:
        return kind, int.from_bytes(struct.pack("<d", value), "little")
    if kind == StatKind.INT64:
        return kind, value & 0xFFFFFFFFFFFFFFFF
    if kind == StatKind.STRING:
        return kind, strings.text_id(value)
    if kind == StatKind.BYTES:
        return kind, strings.blob_id(value)
    if name == "compressed_str_value":
        return StatKind.STRING, strings.compressed_text_id(value)
    return kind, value
