"""Texts and blobs as they occur -> tables in which each is stored once, and its index; values -> what a stat holds of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import without_controls
from .bounds import clean_text
from .stat_table import Stats
from .trace import Int64, StatKind, StatValue, stat_value

StatRow = tuple[int, int, int]
"""One stat: its key (an index into the texts), its kind and its bits."""


class _Numbers(dict[str, int]):
    """From a text to its index in a list, to which it is added when first asked for."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__((text, i) for i, text in enumerate(texts))
        self._texts = texts

    def __missing__(self, text: str) -> int:
        shown = without_controls(text)
        if shown != text:
            number = self[text] = self[shown]
            return number
        number = self[text] = len(self._texts)
        self._texts.append(text)
        return number


class StringTable:
    """The texts and blobs of one trace that is being made, each once. Index 0 is the empty text."""

    def __init__(self) -> None:
        """Start with the empty text only."""
        self.texts: list[str] = [""]
        self.blobs: list[bytes] = []
        self._numbers = _Numbers(self.texts)
        self._blob_ids: dict[bytes, int] = {}

    def id_of(self, text: str) -> int:
        """The index of a text."""
        known = self._numbers.get(text)
        return self._numbers[clean_text(text)] if known is None else known

    def ids_of(self, texts: Iterable[str]) -> Int64:
        """The index of each text."""
        return np.array([self.id_of(text) for text in texts], np.int64)

    def blob_id(self, blob: bytes) -> int:
        """The index of a blob."""
        known = self._blob_ids.setdefault(blob, len(self.blobs))
        if known == len(self.blobs):
            self.blobs.append(blob)
        return known

    def stat(self, name: str, value: StatValue, *, is_unsigned: bool = False) -> StatRow:
        """A stat of this name with a value; integers must fit 64 bits."""
        key = self.id_of(name)
        if isinstance(value, str):
            return key, StatKind.STRING, self.id_of(value)
        if isinstance(value, bytes):
            return key, StatKind.BYTES, self.blob_id(value)
        if isinstance(value, float):
            return key, StatKind.DOUBLE, struct.unpack("<Q", struct.pack("<d", value))[0]
        if value >= 2**63 or (is_unsigned and value >= 0):
            return key, StatKind.UINT64, value
        return key, StatKind.INT64, value % 2**64

    def value(self, kind: int, bits: int) -> StatValue:
        """What a stat of this kind and these bits holds."""
        return stat_value(kind, bits, self.texts, self.blobs)


def stats_of_rows(rows: Sequence[Sequence[StatRow]]) -> Stats:
    """The stats of some events or metadata, given those of each, as columns."""
    columns = np.array([stat for own in rows for stat in own], object).reshape(-1, 3)
    return Stats(
        np.array([len(own) for own in rows], np.int64),
        columns[:, 0].astype(np.int32),
        columns[:, 1].astype(np.uint8),
        columns[:, 2].astype(np.uint64),
    )
