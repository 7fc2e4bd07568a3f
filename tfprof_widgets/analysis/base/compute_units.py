"""What kernels of GPUs compute on, and on how many bits: the words and the codes.

Source: semantics 6.3.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ...trace.trace import Bool, Float64, Int64, UInt8


class ComputeUnit(IntEnum):
    """What a kernel computes on, and in which type."""

    VECTOR_32 = 0
    """Ordinary cores, on 32 bits, or on integers of more."""
    VECTOR_16 = 1
    """Ordinary cores, on fewer."""
    TENSOR_TF32 = 2
    """Tensor Cores, on the upper 19 bits of float32."""
    TENSOR_16 = 3
    """Tensor Cores, or AMD's matrix cores, on 16 bits or fewer."""
    TENSOR_OTHER = 4
    """Tensor Cores on float64; AMD's matrix cores on float32 and float64."""
    VECTOR_64 = 5
    """Ordinary cores, on float64."""
    UNKNOWN = 255
    """The trace does not tell, or the event computes nothing."""


UNIT_TEXTS: dict[int, str] = {
    ComputeUnit.VECTOR_32: "32-bit vector",
    ComputeUnit.VECTOR_16: "16-bit vector",
    ComputeUnit.TENSOR_TF32: "TF32 Tensor Core",
    ComputeUnit.TENSOR_16: "16-bit Tensor Core",
    ComputeUnit.TENSOR_OTHER: "other Tensor Core",
    ComputeUnit.VECTOR_64: "64-bit vector",
    ComputeUnit.UNKNOWN: "",
}
N_UNITS = 6
"""How many are known."""
UNIT_RATIOS = {
    "tensor_16bit_ratio": (ComputeUnit.TENSOR_16,),
    "tensor_tf32_ratio": (ComputeUnit.TENSOR_TF32,),
    "vector_16bit_ratio": (ComputeUnit.VECTOR_16,),
    "vector_32bit_ratio": (ComputeUnit.VECTOR_32, ComputeUnit.VECTOR_64),
}
"""Columns of tables: the part of the kernel time in some units, those of 32 bits or more in one."""


def on_tensor_cores(unit: npt.NDArray[np.integer]) -> Bool:
    """Which of some `ComputeUnit`s are Tensor Cores."""
    found: Bool = (unit >= ComputeUnit.TENSOR_TF32) & (unit <= ComputeUnit.TENSOR_OTHER)
    return found


def in_16_bits(unit: npt.NDArray[np.integer]) -> Bool:
    """Which of some `ComputeUnit`s compute on 16 bits or fewer."""
    found: Bool = (unit == ComputeUnit.VECTOR_16) | (unit == ComputeUnit.TENSOR_16)
    return found


def time_by_unit(row: npt.NDArray[np.integer], unit: UInt8, time: Int64, n_rows: int) -> Float64:
    """Time of kernels by what they are part of and by unit, shape (n_rows, N_UNITS); that in unknown ones is left out.

    Args:
        row: for each kernel what it is part of, -1 for nothing.
        unit: for each its `ComputeUnit`.
        time: for each its time.
        n_rows: how many rows there are.
    """
    is_told = (row >= 0) & (unit < N_UNITS)
    place = row[is_told].astype(np.int64) * N_UNITS + unit[is_told]
    total = np.bincount(place, time[is_told], minlength=n_rows * N_UNITS)
    return np.asarray(total, np.float64).reshape(n_rows, N_UNITS)


def unit_ratios(time: Float64) -> dict[str, Float64]:
    """Columns of tables, from `time_by_unit`: the part of each class in a row's time, NaN where there is none."""
    whole = time.sum(axis=1)
    part = time / np.where(whole > 0, whole, np.nan)[:, None]
    return {name: part[:, list(units)].sum(axis=1) for name, units in UNIT_RATIOS.items()}
