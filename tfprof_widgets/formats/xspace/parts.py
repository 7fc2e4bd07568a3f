"""The content of an XSpace file -> its planes and lines without their events, and the events of a line piece by piece.

protobuf would hold a copy of the whole file. Here its planes and lines are found by their framing, and it parses only what
fits in a piece. Framing that is legal but odd goes through protobuf as a whole once, which writes it again plainly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..wire.content import BytesContent, Content
from ..wire.framing import BYTES, FramingError, fields, varint
from .event_framing import EventBytes, follow_events, joined_events
from .messages import MAX_LINES, MAX_PLANES, check_counts, check_start, message_class, not_an_xspace, parse_space

_PIECE_BYTES = 2**23
_EVENT = 0x22
"""The tag of an event in a line."""
_FIRST_FIELD = 0x08
"""How an event begins: with its metadata id."""
_RUN_UP_FIELDS = 32
_N_TRIES = 8
_EVENT_METADATA = 0x22
"""The tag of an entry of a plane's table of event metadata."""
_PLANES, _LINES, _EVENTS = 1, 3, 4
"""Numbers of the fields."""


@dataclass
class LinePart:
    """A line whose events are still in the file."""

    content: Content
    pieces: list[tuple[int, int]]
    """Ranges of bytes, each a line message with some of the events."""
    id: int = 0
    name: bytes = b""
    timestamp_ns: int = 0
    display_name: bytes = b""
    n_events: int = 0

    def events(self) -> Iterator[EventBytes]:
        """The serialised events, piece by piece."""
        for begin, end in self.pieces:
            raw = self.content.read(begin, end)
            events = _followed(raw)
            yield joined_events(list(message_class("Line").FromString(raw).events)) if events is None else events


@dataclass
class PlanePart:
    """A plane whose events are still in the file."""

    message: Any
    """The Plane message without lines."""
    lines: list[LinePart] = field(default_factory=list)


@dataclass
class SpaceParts:
    """What a file holds."""

    message: Any
    """The Space message without planes."""
    planes: list[PlanePart] = field(default_factory=list)


def space_parts(content: Content) -> SpaceParts:
    """Find the planes and lines of a file.

    Raises:
        TraceError: the bytes are truncated or no XSpace; the message says where and what.
    """
    from google.protobuf.message import DecodeError

    start = content.read(0, min(content.size, 8))
    check_start(start, content.size)
    try:
        parts = _space(content)
    except (FramingError, DecodeError):
        space = parse_space(content.read(0, content.size))
        space.DiscardUnknownFields()
        parts = _space(BytesContent(space.SerializeToString()))
    told = parts.message
    if not (any(map(_has_content, parts.planes)) or told.errors or told.warnings or told.hostnames):
        raise not_an_xspace(start, content.size)
    return parts


def _has_content(plane: PlanePart) -> bool:
    message = plane.message
    return bool(message.name or plane.lines or message.event_metadata or message.stats)


def _space(content: Content) -> SpaceParts:
    rest, ranges = _split(content, 0, content.size, _PLANES, MAX_PLANES)
    check_counts(len(ranges), 0)
    space = SpaceParts(message_class("Space").FromString(rest))
    n_lines = 0
    for begin, end in ranges:
        rest, lines = _split(content, begin, end, _LINES, MAX_LINES - n_lines)
        n_lines += len(lines)
        check_counts(len(ranges), n_lines)
        plane = PlanePart(message_class("Plane").FromString(rest), [_line(content, *line) for line in lines])
        space.planes.append(plane)
    return space


def _line(content: Content, begin: int, end: int) -> LinePart:
    line = LinePart(content, [])
    for piece_begin, piece_end, message in _line_pieces(content, begin, end):
        line.pieces.append((piece_begin, piece_end))
        line.n_events += len(message.events)
        line.id = message.id or line.id
        line.name = message.name or line.name
        line.timestamp_ns = message.timestamp_ns or line.timestamp_ns
        line.display_name = message.display_name or line.display_name
    return line


def _followed(raw: bytes) -> EventBytes | None:
    """The events of a line message whose events stand in one row; None where they may not."""
    try:
        first = _first_event(raw, 0)
        found = None if first is None else follow_events(raw, first)
        return found[0] if found is not None and _first_event(raw, found[1]) is None else None
    except FramingError:
        return None


def _first_event(raw: bytes, begin: int) -> int | None:
    """Where the first event among the fields from `begin` on stands."""
    found = fields(BytesContent(raw), begin, len(raw))
    return next((start for number, kind, start, _, _ in found if number == _EVENTS and kind == BYTES), None)


def _line_pieces(content: Content, begin: int, end: int) -> Iterator[tuple[int, int, Any]]:
    """Ranges of bytes that hold whole fields of a line, each with the message it is."""
    while end - begin > _PIECE_BYTES:
        raw = content.read(begin, begin + _PIECE_BYTES)
        cut, message = _cut(raw)
        if not cut:
            break
        yield begin, begin + cut, message
        begin += cut
    yield begin, end, message_class("Line").FromString(content.read(begin, end))


def _cut(raw: bytes) -> tuple[int, Any]:
    """Where a beginning of a line can be cut between two fields, near its end, and the message up to there; 0 for nowhere.

    A chain of fields can be entered anywhere: a walk that starts wrong soon falls in step with it. That protobuf can
    parse everything up to a place proves that a field ends there.
    """
    from google.protobuf.message import DecodeError

    for attempt in range(1, _N_TRIES + 1):
        try:
            cut = _probable_end(raw, len(raw) - attempt * len(raw) // (4 * _N_TRIES))
            if cut:
                return cut, message_class("Line").FromString(raw[:cut])
        except (FramingError, DecodeError):
            continue
    return 0, None


def _probable_end(raw: bytes, at: int) -> int:
    """Where a walk over fields that starts at an event, or what looks like one, comes by; 0 where it gets lost."""
    at = raw.find(_EVENT, at)
    while at >= 0 and raw[at + 2 : at + 3] != bytes([_FIRST_FIELD]):
        at = raw.find(_EVENT, at + 1)
    for _ in range(_RUN_UP_FIELDS):
        if at < 0 or at + 6 > len(raw) or raw[at] != _EVENT:
            return 0
        length, begin = varint(raw, at + 1)
        at = begin + length
    return at if 0 < at <= len(raw) else 0


def _split(content: Content, begin: int, end: int, number: int, most: int) -> tuple[bytes, list[tuple[int, int]]]:
    """The fields of a message that are not messages of this number, joined, and the ranges of those that are; no more than one
    beyond `most`, of which nobody reads any."""
    others: list[tuple[int, int]] = []
    wanted = []
    for field_number, wire_type, start, first, last in fields(content, begin, end, rows_of=_EVENT_METADATA):
        if field_number == number and wire_type == BYTES:
            wanted.append((first, last))
            if len(wanted) > most:
                break
        elif others and others[-1][1] == start:
            others[-1] = others[-1][0], last
        else:
            others.append((start, last))
    return b"".join(content.read(*other) for other in others), wanted
