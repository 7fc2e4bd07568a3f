"""The description of a device in a trace -> what it can compute and move a second at most.

Rates of dense matrices, sums in 32 bits, at the highest clock that the device reports. Sources: Nvidia's architecture papers
of Volta (V100), Turing (T4), GA100 and GA102, Ada, Hopper (H100), the CUDA programming guide's table of arithmetic
instructions, and the data sheets of A10G, H100 NVL, H200 NVL and B200. A device that the table does not have, or that does not
describe itself, has no peaks: they are NaN.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...trace.trace import Float64, Trace
from ..base.compute_units import N_UNITS, ComputeUnit
from ..hosts.environment import is_accelerator

_NAN = float("nan")


@dataclass(frozen=True)
class Peaks:
    """Of one device; NaN where nothing is known, or where it has no such units."""

    tensor_16: float = _NAN
    """Operations a second on Tensor Cores with operands of 16 bits."""
    tensor_32: float = _NAN
    """The same with operands of TF32."""
    vector_16: float = _NAN
    vector_32: float = _NAN
    vector_64: float = _NAN
    """In float64 without Tensor Cores."""
    bytes_per_s: float = _NAN
    """To and from the device's memory."""


@dataclass(frozen=True)
class _Rates:
    """Operations that a multiprocessor does in a cycle."""

    tensor_16: float
    tensor_32: float
    vector_16: float
    """In float16; bfloat16 has half of it on GA100."""
    vector_32: float
    vector_64: float


_ARCHITECTURES: dict[tuple[object, object], _Rates] = {
    (7, 0): _Rates(1024, _NAN, 256, 128, 64),
    (7, 5): _Rates(1024, _NAN, 256, 128, 4),
    (8, 0): _Rates(2048, 1024, 512, 128, 64),
    (8, 6): _Rates(1024, 512, 256, 256, 4),
    (8, 9): _Rates(1024, 512, 256, 256, 4),
    (9, 0): _Rates(4096, 2048, 512, 256, 128),
    (10, 0): _Rates(8192, 4096, 512, 256, 128),
    (12, 0): _Rates(1024, 512, 256, 256, 4),
}
"""By compute capability."""
_TENSOR_CLOCKS: dict[tuple[object, object], tuple[tuple[re.Pattern[str], float], ...]] = {
    # 1,830 of 1,980 MHz in an H100, an H200 or a GH200, 1,620 of 1,755 in an H100 PCIe.
    (9, 0): ((re.compile(r"\bNVL\b"), 1545 / 1785), (re.compile(""), 1830 / 1980)),
    (10, 0): ((re.compile(r"\bB200\b"), 1855 / 1965),),
}
"""At which part of the highest clock the data sheet has Tensor Cores work, by the first pattern that the card's name holds; not
known where it holds none. Those of other architectures work at all of it."""
_HALF_RATE = re.compile(r"GeForce|\bA10G\b|\bL[24]0\b")
"""Cards that add up products of 16 bits in 32 bits at half the rate of others of their architecture."""
_WITHOUT_TENSOR_CORES = re.compile(r"\bGTX 16\d\d\b|\bMX\d{3}\b|\bT(?:4|5|6|10|12|20)[05]0\b")
"""Small cards of Turing."""
_UNLIKE_OTHERS = re.compile(r"\bH20\b|\b5090 D\b|\bCMP\b")
"""Cards whose Tensor Cores are slower than those of their architecture, by what the data sheet does not derive from clocks."""


def peaks_of(stats: Mapping[str, object]) -> Peaks:
    """The peaks of a device, of the stats of its plane."""
    n_bytes = _number(stats, "memory_bandwidth")
    rates = _ARCHITECTURES.get(_capability(stats))
    cycles = _number(stats, "clock_rate") * 1e3 * _number(stats, "core_count")
    name = str(stats.get("gpu_device_name", ""))
    if rates is None or _UNLIKE_OTHERS.search(name) or stats.get("device_vendor", "Nvidia") != "Nvidia":
        return Peaks(bytes_per_s=n_bytes)
    tensor = cycles * _tensor_clock(stats, name) * (0.5 if _HALF_RATE.search(name) else 1.0)
    return Peaks(
        tensor_16=tensor * rates.tensor_16,
        tensor_32=tensor * rates.tensor_32,
        vector_16=cycles * rates.vector_16,
        vector_32=cycles * rates.vector_32,
        vector_64=cycles * rates.vector_64,
        bytes_per_s=n_bytes,
    )


def _capability(stats: Mapping[str, object]) -> tuple[object, object]:
    return stats.get("compute_cap_major"), stats.get("compute_cap_minor")


def _tensor_clock(stats: Mapping[str, object], name: str) -> float:
    """The part of the highest clock at which Tensor Cores work; NaN where there are none, or nobody knows."""
    if _WITHOUT_TENSOR_CORES.search(name):
        return _NAN
    clocks = _TENSOR_CLOCKS.get(_capability(stats))
    return 1.0 if clocks is None else next((part for pattern, part in clocks if pattern.search(name)), _NAN)


def peak_table(trace: Trace) -> Float64:
    """For each plane operations a second by `ComputeUnit`, then, as the last column, bytes a second; NaN where not known."""
    table = np.full((len(trace.planes), N_UNITS + 1), np.nan)
    for number, plane in enumerate(trace.planes):
        if is_accelerator(plane):
            peaks = peaks_of(plane.stats)
            table[number, ComputeUnit.TENSOR_16] = peaks.tensor_16
            table[number, ComputeUnit.TENSOR_TF32] = peaks.tensor_32
            table[number, ComputeUnit.VECTOR_16] = peaks.vector_16
            table[number, ComputeUnit.VECTOR_32] = peaks.vector_32
            table[number, ComputeUnit.VECTOR_64] = peaks.vector_64
            table[number, -1] = peaks.bytes_per_s
    return table


def _number(stats: Mapping[str, object], name: str) -> float:
    value = stats.get(name)
    return float(value) if isinstance(value, int | float) and value > 0 else _NAN
