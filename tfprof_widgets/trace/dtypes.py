"""TensorFlow's `DataType` numbers, as memory events carry them <-> the names TensorFlow prints for them."""

from __future__ import annotations

_NAMES = (
    "INVALID",
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "string",
    "complex64",
    "int64",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "half",
    "resource",
    "variant",
    "uint32",
    "uint64",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
    "int4",
    "uint4",
    "int2",
    "uint2",
    "float4_e2m1fn",
)
_FIRST_REF = 100
ITEM_BYTES = {
    "bool": 1,
    "bfloat16": 2,
    **{f"{kind}{bits}": bits // 8 for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
    "complex64": 8,
    "complex128": 16,
}
"""Bytes of one element by NumPy's name of its dtype; those of strings and the like are not known."""

MISSING = -1
"""The code of an event that has no `data_type` stat; its name is empty."""


def dtype_name(code: int) -> str:
    """Name of a `DataType` number as `DataTypeString` prints it; empty for `MISSING`.

    Source: tensorflow/core/framework/types.proto; numbers from 101 on are references (`float_ref`).
    """
    if code == MISSING:
        return ""
    is_ref = code > _FIRST_REF
    value = code - _FIRST_REF if is_ref else code
    if not 0 <= value < len(_NAMES):
        return f"unknown dtype enum ({code})"
    return _NAMES[value] + ("_ref" if is_ref else "")


def dtype_number(name: str) -> int:
    """Number of a `DataType` by its name, as printed or as in files of text (`DT_FLOAT_REF`); 0 where there is none such."""
    plain = name.removeprefix("DT_").lower()
    is_ref = plain.endswith("_ref")
    plain = plain.removesuffix("_ref")
    return _NAMES.index(plain) + _FIRST_REF * is_ref if plain in _NAMES[1:] else 0
