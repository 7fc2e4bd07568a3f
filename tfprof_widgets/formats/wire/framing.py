"""The framing of a protobuf message -> its fields, with nothing parsed and nothing copied."""

from __future__ import annotations

from collections.abc import Iterator

from .content import Content

BYTES = 2
"""The wire type of messages and texts."""
_WINDOW_BYTES = 2**16
_LONGEST = 20
"""The number and the length of a field take no more bytes than this."""


class FramingError(Exception):
    """A byte at which the wire format breaks, or which only protobuf itself can read."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what
        self.where = ""
        """The message that is looked at; `what` has braces for it."""


def varint(raw: bytes, at: int) -> tuple[int, int]:
    """The varint at a place and where it ends.

    Raises:
        FramingError: there is none.
    """
    if at < len(raw) and raw[at] < 0x80:  # most are
        return raw[at], at + 1
    value = 0
    begin = at
    for shift in range(0, 70, 7):
        if at >= len(raw):
            raise FramingError(len(raw), "{} is truncated: it ends inside a number")
        octet = raw[at]
        value |= (octet & 0x7F) << shift
        at += 1
        if octet < 0x80:
            return value, at
    raise FramingError(begin, "a number of more than ten bytes in {}")


def row_end(raw: bytes, at: int, tag: int) -> int:
    """Where fields of a one-byte tag and of less than 16 kB end that stand in a row from `at` on, all of them within `raw`."""
    n = len(raw) - 3
    while at < n and raw[at] == tag:
        after, length = at + 2, raw[at + 1]
        if length >= 0x80:
            if raw[after] >= 0x80:
                break
            length += (raw[after] - 1) << 7
            after += 1
        if after + length > n + 3:
            break
        at = after + length
    return at


def fields(content: Content, begin: int, end: int, *, rows_of: int = 0) -> Iterator[tuple[int, int, int, int, int]]:
    """Number and wire type of each field of a message, where it starts, and where its content begins and ends.

    Args:
        content: where the message is.
        begin: of the message.
        end: of the message.
        rows_of: the tag of fields that may come as one for several that stand in a row, as nobody asks for the content of each.

    Raises:
        FramingError: a field is none, or ends behind the message.
    """
    window, base, at = b"", begin, begin
    try:
        while at < end:
            if (at + _LONGEST > base + len(window) and base + len(window) < end) or at < base:
                base = at
                window = content.read(at, min(at + _WINDOW_BYTES, end))
            key, after = varint(window, at - base)
            number, wire_type = key >> 3, key & 7
            first = base + after
            if not number or wire_type in (3, 4, 6, 7):
                octet = window[at - base]
                raise FramingError(at - base, f"0x{octet:02x} is not the start of a protobuf field in {{}}")
            if wire_type == 0:
                last = base + varint(window, after)[1]
            elif wire_type == BYTES:
                length, after = varint(window, after)
                first = base + after
                last = first + length
            else:
                last = first + (8 if wire_type == 1 else 4)
            if last > end:
                needs = f"a field that starts at byte {at} needs {last - end} bytes more"
                raise FramingError(end - base, f"{{}} is truncated: {needs}")
            if key == rows_of:
                last = max(last, base + row_end(window, at - base, rows_of))
            yield number, wire_type, at, first, last
            at = last
    except FramingError as error:
        error.at += base
        raise
