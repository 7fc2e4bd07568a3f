"""The parts of an HLO module that only few instructions have: tracebacks, what a dot contracts, how a convolution slides."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from ...trace.nesting import freeze
from ...trace.trace import Int32, Int64


@dataclass(frozen=True, eq=False, repr=False)
class Frames:
    """Frames of tracebacks: `parent` is the caller's row, -1 for the outermost."""

    parent: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    file: tuple[str, ...] = ()
    line: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    function: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        freeze(getattr(self, column.name) for column in fields(self))

    def stack(self, frame: int) -> tuple[tuple[str, int, str], ...]:
        """File, line and function from `frame` outwards; empty for -1."""
        found: list[tuple[str, int, str]] = []
        while 0 <= frame < len(self.file) and len(found) < len(self.file):  # a damaged file may hold a cycle
            found.append((self.file[frame], int(self.line[frame]), self.function[frame]))
            frame = int(self.parent[frame])
        return tuple(found)


@dataclass(frozen=True, eq=False, repr=False)
class Dots:
    """What each `dot`, or call of cuBLAS, sums over."""

    instruction: Int64
    n_elements: Int64
    n_bytes: Int64
    """Of the product: a call of cuBLAS has room to work in as a second result."""
    offsets: Int64
    lhs_contracting: Int64
    """CSR: dimensions of the first operand."""

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        freeze(getattr(self, column.name) for column in fields(self))


@dataclass(frozen=True)
class WindowDimension:
    """How a window slides along one spatial dimension."""

    size: int
    stride: int
    padding_low: int
    window_dilation: int
    base_dilation: int
    input_size: int
    output_size: int


@dataclass(frozen=True)
class Convolution:
    """How a `convolution`, or a call of cuDNN, slides its kernel. The gradients of one cost as many operations as it."""

    instruction: int
    window: tuple[WindowDimension, ...]
    input_features: int
    """Of one group."""
    output_features: int
    batch: int
    """Of one group."""
    n_bytes: int
    """Of the result: a call of cuDNN has room to work in as a second one."""
    reads_input: bool
    """Whether its first operand is what the window slides over: not of a gradient of that."""
    is_base_dilated: bool
    is_window_dilated: bool
