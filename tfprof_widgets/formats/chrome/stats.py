"""The `args` of Chrome trace events -> rows of stats, with each string stored once."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from typing import Any

from ...errors import TraceError
from ...trace.trace import StatKind, StatValue
from .json_reader import Real

StatRow = tuple[int, int, int]
"""Key (index into the strings), kind, bits."""

BYTES_MEMBER, DOUBLE_MEMBER = "$bytes", "$double"
"""The one member of the objects that stand for values for which JSON has no word: base64, and infinite or no numbers."""


class Texts:
    """The strings and blobs of a trace, each once. Index 0 is the empty text."""

    def __init__(self) -> None:
        self.texts: list[str] = [""]
        self.blobs: list[bytes] = []
        self._ids = {"": 0}
        self._blob_ids: dict[bytes, int] = {}

    def id_of(self, text: str) -> int:
        """The index of a text."""
        known = self._ids.get(text)
        if known is None:
            # Halves of surrogate pairs, and bytes that are no UTF-8, are data: they become escapes, as in an XSpace.
            clean = (
                str(text)
                if text.isascii()
                else text.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace")
            )
            known = self._ids.setdefault(clean, len(self.texts))
            if known == len(self.texts):
                self.texts.append(clean)
            self._ids[text] = known
        return known

    def blob_id(self, blob: bytes) -> int:
        """The index of a blob."""
        known = self._blob_ids.setdefault(blob, len(self.blobs))
        if known == len(self.blobs):
            self.blobs.append(blob)
        return known


def stat_rows(args: dict[str, Any], texts: Texts, unsigned: frozenset[str]) -> list[StatRow]:
    """The members of an `args` object as stats.

    Args:
        args: as decoded by `chrome_json`.
        texts: takes up the strings.
        unsigned: names whose integers are unsigned.
    """
    rows: list[StatRow] = []
    for name, value in args.items():
        kind = type(value)
        if kind is str:
            row: tuple[int, int] = (StatKind.STRING, texts.id_of(value))
        elif kind is int and -(2**63) <= value < 2**64:
            row = _integer(value, is_unsigned=name in unsigned)
        else:
            row = _other(value, texts)
        rows.append((texts.id_of(name), *row))
    return rows


def _integer(value: int, *, is_unsigned: bool) -> tuple[int, int]:
    if value >= 2**63 or (is_unsigned and value >= 0):
        return StatKind.UINT64, value
    return StatKind.INT64, value % 2**64


def _other(value: Any, texts: Texts) -> tuple[int, int]:
    if isinstance(value, bool):
        return StatKind.INT64, int(value)
    if isinstance(value, (Real, float)):
        return StatKind.DOUBLE, _double_bits(float(value))
    if isinstance(value, dict) and len(value) == 1:
        (name, content), *_ = value.items()
        try:
            if name == BYTES_MEMBER and isinstance(content, str):
                return StatKind.BYTES, texts.blob_id(base64.b64decode(content, validate=True))
            if name == DOUBLE_MEMBER and isinstance(content, str):
                return StatKind.DOUBLE, _double_bits(float(content))
        except (binascii.Error, ValueError) as error:
            raise TraceError(f"a value of {name} is broken: {error}") from error
    if isinstance(value, (dict, list)):
        value = json.dumps(_as_numbers(value), ensure_ascii=False)
    return StatKind.STRING, texts.id_of(value if type(value) is str else str(value))


def _as_numbers(value: Any) -> Any:
    """The same with numbers in place of their texts. Its depth is that of what the JSON reader could read."""
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, list):
        return [_as_numbers(one) for one in value]
    if isinstance(value, dict):
        return {name: _as_numbers(one) for name, one in value.items()}
    return value


def _double_bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def plain_value(row: StatRow, texts: Texts) -> StatValue:
    """The value of one stat."""
    _, kind, bits = row
    if kind == StatKind.STRING:
        return texts.texts[bits]
    if kind == StatKind.BYTES:
        return texts.blobs[bits]
    if kind == StatKind.DOUBLE:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
    return bits - 2**64 if kind == StatKind.INT64 and bits >= 2**63 else bits
