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
        self._n_unpacked = 0

    def text_id(self, raw: bytes) -> int:
        """The index of a text given as UTF-8."""
        return self._numbers[decoded(raw)]

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
        found = np.zeros(len(at), np.int64)
        rows = np.flatnonzero(length)
        if len(rows):
            content = view.content.decode("latin-1")  # a character for each byte: cut into texts, without bytes first
            ends = zip(at[rows].tolist(), (at[rows] + length[rows]).tolist(), strict=True)
            raws = [content[low:high] for low, high in ends]
            texts = [raw if raw.isascii() else decoded(raw.encode("latin-1")) for raw in raws]
            found[rows] = np.fromiter(map(self._numbers.__getitem__, texts), np.int64, len(texts))
        return found
