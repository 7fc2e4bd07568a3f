"""Texts of the stat `kernel_details`, names of ops -> how a kernel was launched, and whether Tensor Cores could serve it.

    parse_launch("regs:32 static_shared:16 grid:1,2,3 block:4,5,6 occ_pct:62.5") -> Launch
    is_eligible_op("dense/MatMul"), is_eligible_einsum("ab,bc->ac") -> True

Source: semantics 6 (xprof/utils/kernel_stats_utils.cc).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_UINT32_MAX = 2**32 - 1
_INTEGER = re.compile(r"[ \t\n\v\f\r]*\+?([0-9]+)[ \t\n\v\f\r]*", re.ASCII)

_ELIGIBLE_ENDS = (
    "Conv2D",
    "Conv2DBackpropFilter",
    "Conv2DBackpropInput",
    "Conv3D",
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput",
    "/MatMul",
    "FusedMatMul",
    "/CudnnRNN",
    "XlaDot",
    "XlaDotV2",
)
_ELIGIBLE_PARTS = ("BatchMatMul", "CudnnRNNV", "CudnnRNNForward", "CudnnRNNBackprop")


class Launch(NamedTuple):
    """How a kernel was launched: per thread, per block and the grid of blocks."""

    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    registers: int = 0
    static_shared_bytes: int = 0
    dynamic_shared_bytes: int = 0
    occupancy_pct: float = 0.0
    """Theoretical occupancy in per cent, 0 where the trace does not say."""

    @property
    def shared_memory_bytes(self) -> int:
        """Static and dynamic together, in 32 bits as in XProf's message."""
        return (self.static_shared_bytes + self.dynamic_shared_bytes) & _UINT32_MAX


def parse_launch(text: str) -> Launch:
    """Read `key:value` tokens between spaces and line ends; what is unknown or no number is left at its default.

    Old forms (`shm:`, or a packed `regs:` beyond 32 bits) say nothing that can be used, as in XProf.
    """
    found: dict[str, object] = {}
    for token in re.split("[ \n]", text):
        parts = token.split(":")
        if len(parts) != 2:
            continue
        key, value = parts
        if key in ("grid", "block"):
            found[key] = _dimensions(value) or found.get(key, (1, 1, 1))
        elif key == "occ_pct":
            found["occupancy_pct"] = _real(value, default=found.get("occupancy_pct", 0.0))
        elif key in _COUNTS and (count := _uint32(value)) is not None:
            found[_COUNTS[key]] = count
    return Launch(**found)  # type: ignore[arg-type]


_COUNTS = {"regs": "registers", "static_shared": "static_shared_bytes", "dynamic_shared": "dynamic_shared_bytes"}


def _uint32(text: str) -> int | None:
    match = _INTEGER.fullmatch(text)
    value = int(match.group(1)) if match and len(text) < 64 else _UINT32_MAX + 1
    return value if value <= _UINT32_MAX else None


def _real(text: str, *, default: object) -> object:
    try:
        return default if "_" in text else float(text)
    except ValueError:
        return default


def _dimensions(text: str) -> tuple[int, int, int] | None:
    values = [_uint32(part) for part in text.split(",")]
    return tuple(values) if len(values) == 3 and None not in values else None  # type: ignore[return-value]


def is_eligible_op(op: str) -> bool:
    """Whether Tensor Cores could serve an op of this name; a bare `MatMul` at the top is none, as in XProf."""
    return op.endswith(_ELIGIBLE_ENDS) or any(map(op.__contains__, _ELIGIBLE_PARTS))


def is_eligible_type(op_type: str) -> bool:
    """Whether Tensor Cores could serve ops of this type, whatever their names are."""
    return is_eligible_op(f"/{op_type}")


def is_eligible_einsum(equation: str) -> bool:
    """Whether an einsum equation is one product of two operands."""
    sides = equation.split("->")
    return len(sides) == 2 and len(sides[0].split(",")) == 2
