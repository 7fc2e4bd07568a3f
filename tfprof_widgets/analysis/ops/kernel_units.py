"""Names of kernels, the HLO that they run and what their ops allocate -> which units of a GPU compute, on how many bits.

    unit_of_name("volta_h884gemm_128x64_nn") -> ComputeUnit.TENSOR_16
    kernel_units(trace, hlo) -> one ComputeUnit per event

Source: semantics 6.3.
"""

from __future__ import annotations

import math
import re

import numpy as np
import numpy.typing as npt

from ...formats.hlo.modules import HloModules
from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Float64, Int64, Trace, UInt8
from ..base.compute_units import ComputeUnit, on_tensor_cores
from ..base.event_names import by_stem, named_like
from ..steps.step_spans import on_stream
from ..xla.hlo_bytes import first_operand
from ..xla.hlo_units import HloExecutions

_NVIDIA, _AMD = "Nvidia", "AMD"
_NO_TENSOR_CORE = re.compile(
    r"ffma|simt|wgrad_alg0|gemv|winograd|splitkreduce|reducesplitk|nchwtonhwc|converttensor|init_device_workspace"
)
"""Kernels beside a product, or that make it on ordinary cores, whatever else their names say. Like all that follow but those
of AMD, of `nvjet` and `xmma` and of shapes, for names in small letters: `re` takes five times as long to ignore the case."""
_NO_NUMBERS = re.compile(r"init_device_workspace")
"""Kernels that write none of the numbers that their op allocates."""
_NOT_COMPUTE = re.compile(r"mem(?:cpy|set)")
_TENSOR_CORE = re.compile(
    r"tensorop|[hsdicz](?:884|1688|8816|16816|16832)|16816|hmma|imma|dmma|wgmma|tma[gu]mma|tcgen05|flash|fmha|sdpa"
)
"""From Volta's `h884` to Blackwell's `TmaUmma`; `sm100_tensorop` and `nvjet_sm100` need no rule of their own."""
_MATRIX_CORE = re.compile(r"xdl|mfma|gtcx|_MI\d+x\d+|wmma")
"""Of AMD: Tensile's kernels say the matrix instruction, those of MIOpen and Composable Kernel its name."""
_NVJET = re.compile(r"nvjet(?:_sm\d+)?_([a-z])")
_NVJET_TYPES = {"s": ComputeUnit.TENSOR_TF32, "d": ComputeUnit.TENSOR_OTHER}
"""By the first letter; all others (`t` bfloat16, `h` float16, `q` and `r` FP8) are 16 bits or fewer."""
_TYPE = r"(?:tf32|bf16|f16|f32|f64|e4m3|e5m2|[iu]\d+)"
_XMMA_TYPES = re.compile(rf"_{_TYPE}{_TYPE}(?=_)")
"""Of A and B, then of C and D, such as `_bf16bf16_bf16f32`; some name the inner type last, as `_f32f32_tf32f32`."""
_SIXTEEN = re.compile(
    r"half(?!_?pixel)|fp16|bf16|float16|df16|(?<![a-z])f16|fp8|e\dm\d|_(?:f8|b8|i8|[hb](?:hs|ss|hh|bs|bb|b|h)_)"
)
_DOUBLE_CORE = re.compile(r"[dz](?:884|1688|16816)|dmma|f64|double")
SIXTY_FOUR = re.compile(r"double(?!_?buffer)|f64|(?<![a-z])[dz](?:gemm|gemv)", re.IGNORECASE)
_THIRTY_TWO = re.compile(r"f32|tfloat32|s1688")
_PRODUCTS = ("dot", "convolution")
_F16, _F32, _F64, _BF16, _C128 = 10, 11, 12, 16, 18
_WIDE = (4, 5, 8, 9, _F64, 15, _C128)
"""Types of HLO of 32 bits or more that no Tensor Core multiplies for XLA: integers, float64 and complex numbers."""
_LEAST_CAPABILITY = {_F16: (7, 0), _BF16: (8, 0), _F32: (8, 0)}
"""By type of HLO: from which compute capability on Tensor Cores multiply it (float32 as TF32)."""
_SHAPE_BYTES = {"half": 2, "bfloat16": 2, "float": 4, "double": 8}
_SHAPE = re.compile(rf"\b({'|'.join(_SHAPE_BYTES)})\[([\d,]*)\]")
_DT_FLOAT, _DT_DOUBLE, _DT_SIXTEEN = (1,), (2,), (14, 19)
"""TensorFlow's types: float, double, bfloat16 and half."""


def unit_of_name(kernel: str) -> ComputeUnit:
    """What the kernel of this name computes on; unknown where its name tells neither Tensor Cores nor 16 or 64 bits."""
    small = kernel.lower()
    if not _NO_TENSOR_CORE.search(small):
        if "xmma_" in kernel:
            return _xmma_unit(kernel, small)
        if (jet := _NVJET.search(kernel)) is not None:
            return _NVJET_TYPES.get(jet[1], ComputeUnit.TENSOR_16)
        if _TENSOR_CORE.search(small) or "tfloat32_t" in kernel:
            return _tensor_unit(small)
        if _MATRIX_CORE.search(kernel):
            return ComputeUnit.TENSOR_16 if _SIXTEEN.search(small) else ComputeUnit.TENSOR_OTHER
    if _SIXTEEN.search(small):
        return ComputeUnit.VECTOR_16
    return ComputeUnit.VECTOR_64 if SIXTY_FOUR.search(small) else ComputeUnit.UNKNOWN


def _xmma_unit(kernel: str, small: str) -> ComputeUnit:
    """Kernels `xmma` of cuDNN and cuBLAS say the types of their operands."""
    types = "".join(_XMMA_TYPES.findall(kernel))
    if not types:
        return _tensor_unit(small)
    if "tf32" in types:
        return ComputeUnit.TENSOR_TF32
    if "f64" in types:
        return ComputeUnit.TENSOR_OTHER
    return ComputeUnit.TENSOR_16 if re.search(r"f16|e\dm\d|[iu][48]", types) else ComputeUnit.VECTOR_32


def _tensor_unit(small: str) -> ComputeUnit:
    if _SIXTEEN.search(small):
        return ComputeUnit.TENSOR_16
    if _DOUBLE_CORE.search(small):
        return ComputeUnit.TENSOR_OTHER
    return ComputeUnit.TENSOR_TF32 if _THIRTY_TWO.search(small) else ComputeUnit.TENSOR_16


def kernel_units(trace: Trace, hlo: HloExecutions) -> UInt8:
    """The `ComputeUnit` of every event; unknown for what is no kernel, and on devices of an unknown kind.

    A fusion of XLA that holds a product computes on Tensor Cores in the type of its operands: float32 as TF32, which XLA
    uses unless it is told not to. Other kernels go by their names. What runs on ordinary cores has the width of most of
    the bytes of its HLO instruction; without one, of what its op allocates, else reads; else the one that its name says.
    """
    units = np.full(trace.n_events, ComputeUnit.UNKNOWN, np.uint8)
    is_kernel = on_stream(trace) & (trace.has_stat("correlation_id") | trace.has_stat("kernel_details"))
    is_kernel &= _by_plane(trace, (_NVIDIA, _AMD))
    is_kernel &= ~trace.has_stat("cuda_graph_exec_id")  # a whole CUDA graph, of whose kernels nothing is told
    rows = np.flatnonzero(is_kernel)
    rows = rows[~_named(trace, rows, _NOT_COMPUTE)] if len(rows) else rows
    if not len(rows):
        return units
    found = by_stem(trace, lambda names: [unit_of_name(name) for name in names], np.uint8, among=rows)[
        trace.name_id[rows]
    ]
    instruction = _instructions(trace, rows, hlo)
    of_hlo = np.flatnonzero(instruction >= 0)
    product = instruction.copy()
    product[of_hlo[_named(trace, rows[of_hlo], _NO_TENSOR_CORE)]] = -1
    made = _products(trace, rows, hlo.units.modules, product)
    is_product, is_amd = made != ComputeUnit.UNKNOWN, _by_plane(trace, (_AMD,))[rows]
    found = np.where(is_product & ~is_amd, made, found)
    # Whether matrix cores of AMD made a product only its kernel's name tells.
    found[is_product & is_amd & ~on_tensor_cores(found)] = ComputeUnit.UNKNOWN
    is_told = on_tensor_cores(found) | (is_product & is_amd)
    width = np.where(found == ComputeUnit.UNKNOWN, ComputeUnit.VECTOR_32, found)
    widths = _shape_widths(trace, rows), _allocated_widths(trace, rows), _hlo_widths(hlo.units.modules, instruction)
    for told in widths:
        width = np.where(told == ComputeUnit.UNKNOWN, width, told)
    units[rows] = np.where(is_told, found, width)
    return units


def _named(trace: Trace, rows: Int64, pattern: re.Pattern[str]) -> Bool:
    """For some events whether their name, in small letters, holds the pattern."""
    held = by_stem(trace, lambda names: [bool(pattern.search(name.lower())) for name in names], np.bool_, among=rows)
    found: Bool = held[trace.name_id[rows]]
    return found


def _by_plane(trace: Trace, vendors: tuple[str, ...]) -> Bool:
    """For each event whether a device of these vendors ran it; one that names none, as in old traces, is of Nvidia."""
    return trace.on_planes([plane.stats.get("device_vendor", _NVIDIA) in vendors for plane in trace.planes])


def _instructions(trace: Trace, rows: Int64, hlo: HloExecutions) -> Int64:
    """The HLO instruction that each of the events runs, -1 for none."""
    unit = np.full(trace.n_events, -1, np.int64)
    unit[hlo.stream_event] = hlo.stream_unit
    found: Int64 = np.append(hlo.units.instruction, -1)[unit[rows]]
    return found


def _products(trace: Trace, rows: Int64, modules: HloModules, instruction: Int64) -> UInt8:
    """What fusions that hold a product compute on, unknown for all others.

    Custom calls are told by their names: beside the product they run kernels that pad, convert and reduce.
    """
    types = _product_types(modules, instruction)
    found = np.full(len(rows), ComputeUnit.UNKNOWN, np.uint8)
    for plane in np.unique(trace.plane_id[rows[types >= 0]]).tolist():
        stats = trace.planes[plane].stats
        told = (stats.get(f"compute_cap_{part}", 0) for part in ("major", "minor"))
        capability = tuple(part if isinstance(part, int) else 0 for part in told)
        own = (trace.plane_id[rows] == plane) & (types >= 0)
        for dtype in np.unique(types[own]).tolist():
            narrow = dtype not in (_F32, *_WIDE)
            if capability >= _LEAST_CAPABILITY.get(dtype, (7, 5)) and dtype not in _WIDE:
                unit = ComputeUnit.TENSOR_16 if narrow else ComputeUnit.TENSOR_TF32
            else:
                unit = ComputeUnit.VECTOR_16 if narrow else ComputeUnit.VECTOR_32
                unit = ComputeUnit.VECTOR_64 if dtype in (_F64, _C128) else unit
            found[own & (types == dtype)] = unit
    return found


def _product_types(modules: HloModules, rows: Int64) -> Int64:
    """The HLO type of the first operand of the product in instructions, or in what they call; -1 for those without one."""
    is_product = modules.opcode.is_in(_PRODUCTS)
    product = np.where(is_product, np.arange(modules.n_instructions), -1)
    of_computation = np.full(len(modules.root), -1, np.int64)
    n_called = np.diff(modules.called_offsets)
    for computations in modules.levels:  # of several products the last counts, that of the last computation called
        inside = modules.rows_of(computations)
        callers = inside[(n_called[inside] > 0) & ~is_product[inside]]
        held = of_computation[modules.called[ranges(modules.called_offsets[callers], n_called[callers])]]
        caller = np.repeat(callers, n_called[callers])
        product[caller[held >= 0]] = held[held >= 0]
        holding = inside[product[inside] >= 0]
        of_computation[modules.computation[holding]] = product[holding]
    asked = np.append(np.where(modules.opcode.is_in(("custom-call",)), -1, product), -1)[rows]
    types = np.full(len(rows), -1, np.int64)
    types[asked >= 0] = np.append(modules.dtype, -1)[first_operand(modules, asked[asked >= 0])]
    return types


def _hlo_widths(modules: HloModules, instruction: Int64) -> UInt8:
    """The width of most bytes that HLO instructions read and write; unknown for none.

    A result of several arrays counts as one of 32 bits, whatever they are.
    """
    if not modules.n_instructions:
        return np.full(len(instruction), ComputeUnit.UNKNOWN, np.uint8)
    owner = np.repeat(np.arange(modules.n_instructions), np.diff(modules.operand_offsets))
    is_held = modules.operand >= 0

    def read_and_written(n_bytes: Int64) -> Float64:
        read = np.bincount(owner[is_held], n_bytes[modules.operand[is_held]], minlength=len(n_bytes))
        return np.add(n_bytes, read, dtype=np.float64)

    def of_types(*types: int) -> Float64:
        return read_and_written(np.where(np.isin(modules.dtype, types), modules.n_bytes, 0))

    width = _width_of_bytes(of_types(_F16, _BF16), of_types(_F64, _C128), read_and_written(modules.n_bytes))
    return np.append(width, ComputeUnit.UNKNOWN)[instruction].astype(np.uint8)


def _width_of_bytes(narrow: npt.ArrayLike, wide: npt.ArrayLike, whole: npt.ArrayLike) -> Int64:
    """The unit of most bytes, given how many are of 16 bits, of float64, and of any type."""
    rest = np.where(np.greater(wide, np.subtract(whole, wide)), ComputeUnit.VECTOR_64, ComputeUnit.VECTOR_32)
    return np.where(np.greater(narrow, np.subtract(whole, narrow)), ComputeUnit.VECTOR_16, rest)


def _shape_widths(trace: Trace, rows: Int64) -> UInt8:
    """The width of most bytes that the op of each kernel reads, by its stat `shape`; unknown where it reads no such numbers."""
    texts, place = np.unique(trace.string_stat("shape")[rows], return_inverse=True)
    return np.array([_width_of_shapes(trace.strings[i] if i >= 0 else "") for i in texts.tolist()], np.uint8)[place]


def _width_of_shapes(text: str) -> ComputeUnit:
    """`(half[4,384];float[])` -> 16 bits."""
    n_bytes = {2: 0, 4: 0, 8: 0}
    for kind, sizes in _SHAPE.findall(text):
        width = _SHAPE_BYTES[kind]
        n_bytes[width] += width * math.prod(int(size[:18]) for size in sizes.split(",") if size)
    if not any(n_bytes.values()):
        return ComputeUnit.UNKNOWN
    return ComputeUnit(int(_width_of_bytes(n_bytes[2], n_bytes[8], sum(n_bytes.values()))))


def _allocated_widths(trace: Trace, rows: Int64) -> UInt8:
    """The width of most bytes that the op of each kernel allocates; unknown where it allocates none."""
    found = np.full(len(rows), ComputeUnit.UNKNOWN, np.uint8)
    events = np.flatnonzero(trace.names_matching(("MemoryAllocation",)))
    dtype = trace.int_stat("data_type", default=0)[events]
    events, dtype = (one[np.isin(dtype, _DT_FLOAT + _DT_DOUBLE + _DT_SIXTEEN)] for one in (events, dtype))
    if not len(events):
        return found
    texts = trace.string_stat("tf_op")
    used, place = np.unique(np.concatenate([texts[events], texts[rows]]), return_inverse=True)
    names = [trace.strings[i].partition(":")[0] if i >= 0 else "" for i in used.tolist()]
    numbers: dict[str, int] = {}
    op = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)[place.reshape(-1)]
    size = trace.int_stat("requested_bytes", default=0)[events].astype(np.float64)
    narrow, wide, whole = (
        np.bincount(op[: len(events)], np.where(chosen, size, 0.0), len(numbers))
        for chosen in (np.isin(dtype, _DT_SIXTEEN), np.isin(dtype, _DT_DOUBLE), True)
    )
    is_known = (whole > 0) & (np.array(list(numbers)) != "")
    width = _width_of_bytes(narrow, wide, whole)
    found[:] = np.where(is_known, width, ComputeUnit.UNKNOWN)[op[len(events) :]]
    found[named_like(trace, rows, _NO_NUMBERS)] = ComputeUnit.UNKNOWN
    return found
