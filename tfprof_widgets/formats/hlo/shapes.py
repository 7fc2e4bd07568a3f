"""Shapes of HLO results -> their size, and their text as XLA writes it: `f32[32,8]{1,0}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TUPLE = 13
MAX_SIZE = 2**62
_MAX_PARTS = 50
_TYPES = {
    1: ("pred", 8), 2: ("s8", 8), 3: ("s16", 16), 4: ("s32", 32), 5: ("s64", 64), 6: ("u8", 8), 7: ("u16", 16),
    8: ("u32", 32), 9: ("u64", 64), 10: ("f16", 16), 11: ("f32", 32), 12: ("f64", 64), 14: ("opaque", 0),
    15: ("c64", 64), 16: ("bf16", 16), 17: ("token", 0), 18: ("c128", 128), 19: ("f8e5m2", 8), 20: ("f8e4m3fn", 8),
    21: ("s4", 4), 22: ("u4", 4), 23: ("f8e4m3b11fnuz", 8), 24: ("f8e5m2fnuz", 8), 25: ("f8e4m3fnuz", 8), 26: ("s2", 2),
    27: ("u2", 2), 28: ("f8e4m3", 8), 29: ("f8e3m4", 8), 30: ("s1", 1), 31: ("u1", 1), 32: ("f4e2m1fn", 4),
    33: ("f8e8m0fnu", 8),
}  # fmt: skip
"""Name and bits of an element of each `PrimitiveType` of xla_data.proto."""


def size_of(shape: Any) -> tuple[int, int]:
    """Elements and bytes of a shape, at most `MAX_SIZE`; those of a tuple are summed over its parts."""
    if shape.element_type == TUPLE:
        sizes = [size_of(part) for part in shape.tuple_shapes]  # as deep as protobuf allows messages to nest: 100
        return min(sum(size[0] for size in sizes), MAX_SIZE), min(sum(size[1] for size in sizes), MAX_SIZE)
    bits = _TYPES.get(shape.element_type, ("", 0))[1]
    n_elements = 1 if bits else 0
    for dim in shape.dimensions:
        n_elements = min(n_elements * max(dim, 0), MAX_SIZE)
    return n_elements, min(-(-n_elements * bits // 8), MAX_SIZE)


def layout_of(shape: Any) -> Sequence[int]:
    """The dimensions from minor to major; in C order where the file does not say."""
    minor: Sequence[int] = shape.layout.minor_to_major
    n_dims = len(shape.dimensions)
    return minor if len(minor) == n_dims else range(n_dims - 1, -1, -1)


def shape_text(shape: Any) -> str:
    """The text of a shape; a tuple of hundreds of parts says how many it leaves out."""
    if shape.element_type != TUPLE:
        layout = layout_of(shape)
        name = _TYPES.get(shape.element_type, ("?", 0))[0]
        return f"{name}[{','.join(map(str, shape.dimensions))}]" + (
            f"{{{','.join(map(str, layout))}}}" if len(layout) else ""
        )
    parts = [shape_text(part) for part in shape.tuple_shapes[:_MAX_PARTS]]
    n_parts = len(shape.tuple_shapes)
    if n_parts > _MAX_PARTS:
        parts.append(f"... {_MAX_PARTS} of {n_parts} parts")
    return f"({', '.join(parts)})"
