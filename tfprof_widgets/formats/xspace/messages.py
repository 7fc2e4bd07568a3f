"""The XSpace messages, declared by hand -> protobuf classes that leave events and metadata as bytes for NumPy to decode.

Source: semantics 1.1. There is no generated code, so any protobuf release will do. Strings are declared as bytes:
profilers write names that are not UTF-8, and a string field would refuse the whole file.
"""

from __future__ import annotations

from typing import Any

from ...errors import TraceError
from ...trace.bounds import GZIP
from ..wire.messages import Messages
from ..wire.wire_walk import describe_damage

MAX_BYTES = 2**31 - 1
MAX_PLANES = 10_000
"""A plane is a host or a device."""
MAX_LINES = 250_000
"""A line is a thread or a stream, and costs a Python object."""

_SCHEMA: dict[str, tuple[tuple[str, int, str], ...]] = {
    "Stat": (
        ("metadata_id", 1, "int64"),
        ("double_value", 2, "double oneof"),
        ("uint64_value", 3, "uint64 oneof"),
        ("int64_value", 4, "int64 oneof"),
        ("str_value", 5, "bytes oneof"),
        ("bytes_value", 6, "bytes oneof"),
        ("ref_value", 7, "uint64 oneof"),
        ("compressed_str_value", 8, "bytes oneof"),
    ),
    "Event": (
        ("metadata_id", 1, "int64"),
        ("offset_ps", 2, "int64 oneof"),
        ("duration_ps", 3, "int64"),
        ("stats", 4, "Stat repeated"),
        ("num_occurrences", 5, "int64 oneof"),
    ),
    "EventMetadata": (("name", 2, "bytes"), ("display_name", 4, "bytes"), ("stats", 5, "Stat repeated")),
    "StatMetadata": (("name", 2, "bytes"),),
    # A map is on the wire a repeated pair. Those of a plane stay bytes, and so do its stats: they may be as many as events.
    "EventMetadataEntry": (("key", 1, "int64"), ("value", 2, "EventMetadata")),
    "StatMetadataEntry": (("key", 1, "int64"), ("value", 2, "StatMetadata")),
    "Line": (
        ("id", 1, "int64"),
        ("name", 2, "bytes"),
        ("timestamp_ns", 3, "int64"),
        ("events", 4, "bytes repeated"),
        ("display_name", 11, "bytes"),
    ),
    "Plane": (
        ("name", 2, "bytes"),
        ("lines", 3, "Line repeated"),
        ("event_metadata", 4, "bytes repeated"),
        ("stat_metadata", 5, "bytes repeated"),
        ("stats", 6, "bytes repeated"),
    ),
    "Space": (
        ("planes", 1, "Plane repeated"),
        ("errors", 2, "bytes repeated"),
        ("warnings", 3, "bytes repeated"),
        ("hostnames", 4, "bytes repeated"),
    ),
}


_MESSAGES = Messages("tfprof_widgets.columns", _SCHEMA)


def message_class(name: str) -> Any:
    """The protobuf class of one message of the schema: `Space`, `Event`, ..."""
    return _MESSAGES[name]


def parse_space(data: bytes) -> Any:
    """The Space message of a file.

    Raises:
        TraceError: the bytes are truncated or no XSpace; the message says where and what.
    """
    from google.protobuf.message import DecodeError

    try:
        return message_class("Space").FromString(data)
    except DecodeError as error:
        raise TraceError(f"Not a whole XSpace: {describe_damage(data)}") from error


def check_start(start: bytes, size: int) -> None:
    """Refuse what protobuf need not look at, by its first bytes or its size.

    Raises:
        TraceError: it is compressed, or larger than protobuf's limit.
    """
    if start.startswith(GZIP):
        raise TraceError("It is compressed by gzip: give the path (tfprof.load unpacks *.gz), or unpack it first.")
    if size > MAX_BYTES:
        raise TraceError(f"It has {size} bytes, more than {MAX_BYTES}, protobuf's limit. Capture fewer steps.")


def check_counts(n_planes: int, n_lines: int) -> None:
    """Refuse more planes or lines than any profiler writes.

    Raises:
        TraceError: the message says how many of what.
    """
    if n_planes > MAX_PLANES or n_lines > MAX_LINES:
        what = f"{MAX_LINES:,} lines" if n_planes <= MAX_PLANES else f"{MAX_PLANES:,} planes"
        raise TraceError(f"The trace holds more than {what}: no profiler writes that. Capture it again.")


def not_an_xspace(start: bytes, size: int) -> TraceError:
    """The error for what parses by chance: protobuf takes any field it does not know."""
    return TraceError(
        f"Not an XSpace: {size} bytes that start with {start[:8].hex(' ')} hold no plane. Is it an *.xplane.pb file?"
    )
