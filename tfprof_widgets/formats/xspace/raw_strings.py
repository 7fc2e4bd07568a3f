"""Texts of an XSpace as they occur, as bytes -> a table in which each is stored once, and its index."""

from __future__ import annotations

import numpy as np

from ...errors import TraceError
from ...trace.bounds import MAX_DOCUMENT_BYTES, decoded, unpacked
from ...trace.string_table import StringTable
from ..wire.varints import ByteView, Int64

MAX_COMPRESSED_TEXT_BYTES = MAX_DOCUMENT_BYTES
"""How much text the compressed strings of one trace may hold together; beyond it lies a decompression bomb."""


class RawStrings(StringTable):
    """Texts and blobs of one trace, each once, as they stand in the file."""

    def __init__(self) -> None:
        """Start with the empty text only."""
        super().__init__()
        self._by_bytes = {b"": 0}
        self._n_unpacked = 0

    def text_id(self, raw: bytes) -> int:
        """The index of a text given as UTF-8."""
        known = self._by_bytes.get(raw)
        if known is None:
            known = self._by_bytes[raw] = self.id_of(decoded(raw))
        return known

    def compressed_text_id(self, raw: bytes) -> int:
        """The index of a text given as gzip.

        Raises:
            TraceError: it is not gzip, or unpacks to more than a trace may hold.
        """
        try:
            text = unpacked(raw, MAX_COMPRESSED_TEXT_BYTES - self._n_unpacked)
        except TraceError as error:
            raise TraceError(
                f"A compressed string of {len(raw)} bytes is not gzip, or with those before it more than "
                f"{MAX_COMPRESSED_TEXT_BYTES} bytes, the limit: {error}. Capture fewer steps."
            ) from error
        self._n_unpacked += len(text)
        return self.text_id(text)

    def text_ids(self, view: ByteView, at: Int64, length: Int64) -> Int64:
        """The index of each text `view.content[at:at + length]`."""
        content, known = view.content, self._by_bytes
        ends = zip(at.tolist(), (at + length).tolist(), strict=True)
        raws = [content[low:high] for low, high in ends]
        self._take_up([raw for raw in dict.fromkeys(raws) if raw not in known])
        return np.fromiter(map(known.__getitem__, raws), np.int64, len(raws))

    def _take_up(self, raws: list[bytes]) -> None:
        """Texts not met before, each once."""
        joined = b"\n".join(raws)
        texts = joined.decode("ascii").split("\n") if joined.isascii() else []
        if len(texts) != len(raws) or not self._ids.keys().isdisjoint(texts):
            for raw in raws:
                self.text_id(raw)
            return
        ids = range(len(self.texts), len(self.texts) + len(texts))
        self.texts += texts
        self._ids.update(zip(texts, ids, strict=True))
        self._by_bytes.update(zip(raws, ids, strict=True))
