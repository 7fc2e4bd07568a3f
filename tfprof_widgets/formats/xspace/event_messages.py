"""Single messages of events, metadata and stats -> the same message in the plainest encoding."""

from __future__ import annotations

from ...errors import TraceError
from ..wire.varints import Int64
from .event_framing import EventBytes, padded
from .messages import message_class


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
