"""Byte strings as they occur -> a table in which each text is stored once, and its index."""

from __future__ import annotations

import gzip
import io
import struct
import zlib

import numpy as np

from ...errors import TraceError
from ...trace.trace import StatKind, StatValue
from ..wire.varints import ByteView, Int64

MAX_COMPRESSED_TEXT_BYTES = 64 * 2**20
"""How much text the compressed strings of one trace may hold together; beyond it lies a decompression bomb."""


class StringTable:
    """Texts and blobs of one trace, each once. Index 0 is the empty text.

    Bytes that are not UTF-8 are data: they become backslash escapes (`\\xff`), which any file or browser can hold.
    """

    def __init__(self) -> None:
        """Start with the empty text only."""
        self.texts: list[str] = [""]
        self.blobs: list[bytes] = []
        self._by_text = {"": 0}
        self._by_bytes = {b"": 0}
        self._blob_ids: dict[bytes, int] = {}
        self._decompressed_bytes = 0

    def text_id(self, raw: bytes) -> int:
        """The index of a text given as UTF-8."""
        known = self._by_bytes.get(raw)
        if known is None:
            text = raw.decode("utf-8", "backslashreplace")
            known = self._by_text.setdefault(text, len(self.texts))
            if known == len(self.texts):
                self.texts.append(text)
            self._by_bytes[raw] = known
        return known

    def blob_id(self, raw: bytes) -> int:
        """The index of a blob."""
        known = self._blob_ids.setdefault(raw, len(self.blobs))
        if known == len(self.blobs):
            self.blobs.append(raw)
        return known

    def compressed_text_id(self, raw: bytes) -> int:
        """The index of a text given as gzip.

        Raises:
            TraceError: it is not gzip, or unpacks to more than a trace may hold.
        """
        allowed = MAX_COMPRESSED_TEXT_BYTES - self._decompressed_bytes
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
                text = stream.read(allowed + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise TraceError(
                f"A compressed string of {len(raw)} bytes is not gzip ({error}); write the trace again."
            ) from error
        if len(text) > allowed:
            raise TraceError(
                f"The compressed strings unpack to more than {MAX_COMPRESSED_TEXT_BYTES} bytes, the limit: "
                "capture fewer steps."
            )
        self._decompressed_bytes += len(text)
        return self.text_id(text)

    def value(self, kind: int, bits: int) -> StatValue:
        """A stat's value from its kind and bits."""
        if kind == StatKind.STRING:
            return self.texts[bits]
        if kind == StatKind.BYTES:
            return self.blobs[bits]
        if kind == StatKind.DOUBLE:
            return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])
        return bits - 2**64 if kind == StatKind.INT64 and bits >= 2**63 else bits

    def text_ids(self, view: ByteView, at: Int64, length: Int64) -> Int64:
        """The index of each text `view.content[at:at + length]`."""
        content, known = view.content, self._by_bytes.get
        ends = zip(at.tolist(), (at + length).tolist(), strict=True)
        ids = np.array([known(content[low:high], -1) for low, high in ends], np.int64)
        for row in np.flatnonzero(ids < 0).tolist():  # texts not met before
            ids[row] = self.text_id(content[int(at[row]) : int(at[row] + length[row])])
        return ids
