"""Positions in a byte buffer -> the varints that stand there, all at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
UInt8 = npt.NDArray[np.uint8]

PADDING = bytes(24)
"""What a buffer must end with, so that a varint read at its last byte stays inside."""

_u = np.uint64
_TOP_BITS = _u(0x8080808080808080)
_LOW_BITS = _u(0x7F7F7F7F7F7F7F7F)


class ByteView:
    """A padded buffer seen as bytes (`octets`) and as the little-endian uint64 at every byte (`windows`)."""

    def __init__(self, content: bytes) -> None:
        """View `content`, which must end with `PADDING`."""
        self.content = content
        self.octets: UInt8 = np.frombuffer(content, np.uint8)
        self.windows: UInt64 = np.ndarray((len(content) - 7,), np.dtype("<u8"), content, strides=(1,))

    def varints(self, at: Int64) -> tuple[UInt64, Int64]:
        """The varint at each position and its length in bytes; length 0 where there is none within ten bytes.

        Seven bits of each byte are the value, the lowest first; the top bit says that another byte follows. Up to
        eight bytes are one window: the lowest clear top bit ends the varint, a mask cuts it there, and three shift
        steps close the one-bit gaps. Negative int64 take ten bytes; those few read two bytes more.
        """
        window = self.windows[at]
        clear = ~window & _TOP_BITS
        stop = clear & (~clear + _u(1))
        value = window & ((stop << _u(1)) - _u(1)) & _LOW_BITS
        value = (value & _u(0x007F007F007F007F)) | ((value & _u(0x7F007F007F007F00)) >> _u(1))
        value = (value & _u(0x00003FFF00003FFF)) | ((value & _u(0x3FFF00003FFF0000)) >> _u(2))
        value = (value & _u(0x000000000FFFFFFF)) | ((value & _u(0x0FFFFFFF00000000)) >> _u(4))
        size = (np.frexp(stop.astype(np.float64))[1] >> 3).astype(np.int64)
        long = np.flatnonzero(size == 0)
        if len(long):
            value[long], size[long] = self._finish_long(at[long] + 8, value[long])
        return value, size

    def _finish_long(self, at: Int64, low: UInt64) -> tuple[UInt64, Int64]:
        """Add the ninth and tenth byte, which stand at `at`, to the low 56 bits; length 0 where that is not the end."""
        ninth, tenth = self.octets[at].astype(np.uint64), self.octets[at + 1].astype(np.uint64)
        is_nine = ninth < 0x80
        is_ten = ~is_nine & (tenth <= 1)  # a larger tenth byte does not fit in 64 bits
        value = low | ((ninth & _u(0x7F)) << _u(56))
        value[is_ten] |= tenth[is_ten] << _u(63)
        return value, np.where(is_nine, 9, np.where(is_ten, 10, 0))
