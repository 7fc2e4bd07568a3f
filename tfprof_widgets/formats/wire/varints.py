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
_LOW_BITS = _u(0x7F7F7F7F7F7F7F7F)
_MANY = 0.7
"""From this share of varints of several bytes on it is not worth telling them from the others."""
_GAPS = (
    (_u(0x7F007F007F007F00), _u(1)),
    (_u(0x3FFF00003FFF0000), _u(2)),
    (_u(0x0FFFFFFF00000000), _u(4)),
)
"""Step by step: which bits have a gap below them, and how wide it is."""
_SIZE_OF_STOP = _u(1 | sum(size << (61 - 8 * size) for size in range(1, 8)))
"""Times the top bit of byte `size` of a window gives `size` in the highest four bits."""


class ByteView:
    """A padded buffer seen as bytes (`octets`) and as the little-endian uint64 at every byte (`windows`)."""

    def __init__(self, content: bytes) -> None:
        """View `content`, which must end with `PADDING`."""
        self.content = content
        self.octets: UInt8 = np.frombuffer(content, np.uint8)
        self.windows: UInt64 = np.ndarray((len(content) - 7,), np.dtype("<u8"), content, strides=(1,))

    def varints(self, at: Int64) -> tuple[UInt64, Int64]:
        """The varint at each position and its length in bytes; length 0 where there is none within ten bytes."""
        first = self.octets.take(at)
        long = np.flatnonzero(first >= 0x80)
        if len(long) > _MANY * len(at):
            return self._windowed(at)
        value, size = first.astype(np.uint64), np.ones(len(at), np.int64)
        if len(long):
            value[long], size[long] = self._windowed(at[long])
        return value, size

    def _windowed(self, at: Int64) -> tuple[UInt64, Int64]:
        """As `varints`, all at the price of long ones.

        Seven bits of each byte are the value, the lowest first; the top bit says that another byte follows. Up to
        eight bytes are one window: the lowest clear top bit ends the varint, a mask cuts it there, and three shift
        steps close the one-bit gaps. Negative int64 take ten bytes; those few read two bytes more.
        """
        window = self.windows[at]
        filled = window | _LOW_BITS
        stop = filled + _u(1)  # carries into the lowest clear top bit
        stop &= np.invert(filled, out=filled)
        value = np.subtract(stop, _u(1), out=filled)
        value &= window
        value &= _LOW_BITS
        for upper, shift in _GAPS:
            part = np.bitwise_and(value, upper, out=window)
            value ^= part
            part >>= shift
            value |= part
        stop *= _SIZE_OF_STOP
        stop >>= _u(60)
        size = stop.view(np.int64)
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
