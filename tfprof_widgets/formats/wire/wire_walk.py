"""Bytes that protobuf refuses -> a sentence that says at which byte they stop being a file of a kind, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from .content import BytesContent
from .framing import BYTES, FramingError, fields

_SPACE, _PLANE, _LINE = "the file", "plane", "line"
Children = Mapping[str, tuple[int, str]]
_CHILD: Children = {_SPACE: (1, _PLANE), _PLANE: (3, _LINE)}
"""Per message: the number of the field whose messages are looked into, and what they are called."""


def describe_damage(data: bytes, *, children: Children = _CHILD, kind: str = "an *.xplane.pb file") -> str:
    """Where `data` breaks the protobuf wire format, looked for in the file and the messages of `children` in it.

    Args:
        data: the content of the file.
        children: from a message, `"the file"` first, to the number of the field looked into and what its messages are called.
        kind: what the file should be.
    """
    told = _first_damage(data, children)
    if not told:
        return "its events or metadata break the protobuf wire format. Capture it again."
    return f"{told} {'Copy or capture it again.' if 'truncated' in told else f'Is it {kind}?'}"


def break_of(data: bytes) -> str:
    """Where any message breaks the protobuf wire format, as far as its outermost fields tell."""
    told = _first_damage(data, {}) or f"a message within its {len(data)} bytes breaks the protobuf wire format."
    return f"{told} Copy it again."


def _first_damage(data: bytes, children: Children) -> str:
    try:
        _check(BytesContent(data), 0, len(data), _SPACE, _SPACE, children)
    except FramingError as error:
        return f"byte {error.at} of {len(data)}: {error.what.format(error.where)}."
    return ""


def _check(content: BytesContent, begin: int, end: int, kind: str, where: str, children: Children) -> None:
    wanted, child = children.get(kind, (0, ""))
    seen = 0
    try:
        for number, wire_type, _, first, last in fields(content, begin, end):
            if number == wanted and wire_type == BYTES:
                own = f"{child} {seen}" if kind == _SPACE else f"{child} {seen} of {where}"
                _check(content, first, last, child, own, children)
                seen += 1
    except FramingError as error:
        error.where = error.where or where
        raise
