"""Bytes that protobuf refuses -> a sentence that says at which byte they stop being a file of a kind, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_SPACE, _PLANE, _LINE = "the file", "plane", "line"
Children = Mapping[str, tuple[int, str]]
_CHILD: Children = {_SPACE: (1, _PLANE), _PLANE: (3, _LINE)}
"""Per message: the number of the field whose messages are looked into, and what they are called."""


@dataclass(frozen=True)
class _Field:
    number: int
    begin: int
    """Where its content begins."""
    end: int
    is_message: bool


class _DamageError(Exception):
    """A byte at which the wire format breaks."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what


def describe_damage(data: bytes, *, children: Children = _CHILD, kind: str = "an *.xplane.pb file") -> str:
    """Where `data` breaks the protobuf wire format, looked for in the file and the messages of `children` in it.

    Args:
        data: the content of the file.
        children: from a message, `"the file"` first, to the number of the field looked into and what its messages are called.
        kind: what the file should be.
    """
    try:
        _check(data, 0, len(data), _SPACE, _SPACE, children)
    except _DamageError as damage:
        advice = "Copy or capture it again." if "truncated" in damage.what else f"Is it {kind}?"
        return f"byte {damage.at} of {len(data)}: {damage.what}. {advice}"
    return "its events or metadata break the protobuf wire format. Capture it again."


def _check(data: bytes, begin: int, end: int, kind: str, where: str, children: Children) -> None:
    number, child = children.get(kind, (0, ""))
    seen = 0
    for field in _fields(data, begin, end, where):
        if field.is_message and field.number == number:
            _check(
                data,
                field.begin,
                field.end,
                child,
                f"{child} {seen}" if kind == _SPACE else f"{child} {seen} of {where}",
                children,
            )
            seen += 1


def _fields(data: bytes, begin: int, end: int, where: str) -> Iterator[_Field]:
    at = begin
    while at < end:
        key, after_key = _varint(data, at, end, where)
        number, wire_type = key >> 3, key & 7
        if number == 0 or wire_type in (3, 4, 6, 7):
            raise _DamageError(at, f"0x{data[at]:02x} is not the start of a protobuf field in {where}")
        if wire_type == 0:
            _, stop = _varint(data, after_key, end, where)
            content = after_key
        elif wire_type == 2:
            length, content = _varint(data, after_key, end, where)
            stop = content + length
        else:
            content, stop = after_key, after_key + (8 if wire_type == 1 else 4)
        if stop > end:
            raise _DamageError(
                end, f"{where} is truncated: a field that starts at byte {at} needs {stop - end} bytes more"
            )
        yield _Field(number, content, stop, wire_type == 2)
        at = stop


def _varint(data: bytes, at: int, end: int, where: str) -> tuple[int, int]:
    """The varint at `at` and the position behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise _DamageError(end, f"{where} is truncated: it ends inside a number")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise _DamageError(at - 10, f"a number of more than ten bytes in {where}")


def break_of(data: bytes) -> str:
    """Where any message breaks the protobuf wire format, as far as its outermost fields tell."""
    try:
        for _ in _fields(data, 0, len(data), _SPACE):
            pass
    except _DamageError as damage:
        return f"byte {damage.at} of {len(data)}: {damage.what}. Copy it again."
    return f"a message within its {len(data)} bytes breaks the protobuf wire format. Copy it again."
