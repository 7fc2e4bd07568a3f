"""Trace -> every execution of an op, on the host or a device: a row each, with the kernels that belong to it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...read.hlo import HloModules
from ...trace.arrays import Bool, Float64, Int32, Int64, SmallInt, UInt8
from ...trace.stats import ranges
from ...trace.trace import Trace, nest
from ..common import dense_codes, unique_codes
from ..events import Launches, compute_launches, int_stat_at, nearest_marked, tried_kernels
from ..grouping import ComputeUnit, Grouping, group_events, on_tensor_cores
from ..names import by_ends, by_stem, named_like, parse_op_names, parsed_names
from ..steps.spans import on_host, on_stream
from ..xla.costs import TpuExecutions, first_operand
from ..xla.units import HloExecutions, HloUnits, hlo_executions

_OF_SCOPE, _OF_CALL, _OF_RUN = range(3)


def device_executions(
    trace: Trace, rows: Int64, op: Int64, *, eager: Launches, launches: Launches, group: SmallInt
) -> Int64:
    """Number the executions on streams of devices from 0."""
    called, told = eager.call_of(rows), int_stat_at(trace, "scope_range_id", rows, default=-1)
    kind = np.where(called >= 0, _OF_CALL, np.where(told >= 0, _OF_SCOPE, _OF_RUN))
    number = np.where(called >= 0, called, told)
    loose = np.flatnonzero(kind == _OF_RUN)
    if len(loose):
        number[loose] = _runs(trace, rows[loose], op[loose], launches.call_of(rows[loose]), group)
    # A kernel of a CUDA graph may have the annotation under which the graph was made, the same each time it is launched.
    graph, call = (int_stat_at(trace, key, rows) for key in ("cuda_graph_id", "correlation_id"))
    launch = np.where(graph != 0, call, 0)
    return dense_codes(op, trace.session_id[rows], trace.plane_id[rows], kind, number, launch)[0]


def _runs(trace: Trace, rows: Int64, op: Int64, call: Int64, group: SmallInt) -> Int64:
    """For each event its run of events of one op, one after the other in the order in which one thread enqueued them."""
    at = np.where(call >= 0, call, rows)
    order = np.lexsort((trace.start_ps[at], trace.line_id[at]))
    is_new: Bool = np.ones(len(rows), np.bool_)
    same = [column[order][1:] == column[order][:-1] for column in (op, trace.line_id[at], group[rows])]
    is_new[1:] = ~np.logical_and.reduce(same)
    run = np.empty(len(rows), np.int64)
    run[order] = np.cumsum(is_new) - 1
    return run


_NVIDIA, _AMD = "Nvidia", "AMD"
_NO_TENSOR_CORE = re.compile(
    r"ffma|simt|wgrad_alg0|gemv|winograd|splitkreduce|reducesplitk|nchwtonhwc|converttensor|init_device_workspace"
)
"""Kernels beside a product, or that make it on ordinary cores; in small letters, as ignoring the case is slow."""
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
            types = "".join(_XMMA_TYPES.findall(kernel))
            if not types:
                return _tensor_unit(small)
            if "tf32" in types:
                return ComputeUnit.TENSOR_TF32
            if "f64" in types:
                return ComputeUnit.TENSOR_OTHER
            return ComputeUnit.TENSOR_16 if re.search(r"f16|e\dm\d|[iu][48]", types) else ComputeUnit.VECTOR_32
        if (jet := _NVJET.search(kernel)) is not None:
            return _NVJET_TYPES.get(jet[1], ComputeUnit.TENSOR_16)
        if _TENSOR_CORE.search(small) or "tfloat32_t" in kernel:
            return _tensor_unit(small)
        if _MATRIX_CORE.search(kernel):
            return ComputeUnit.TENSOR_16 if _SIXTEEN.search(small) else ComputeUnit.TENSOR_OTHER
    if _SIXTEEN.search(small):
        return ComputeUnit.VECTOR_16
    return ComputeUnit.VECTOR_64 if SIXTY_FOUR.search(small) else ComputeUnit.UNKNOWN


def _tensor_unit(small: str) -> ComputeUnit:
    if _SIXTEEN.search(small):
        return ComputeUnit.TENSOR_16
    if _DOUBLE_CORE.search(small):
        return ComputeUnit.TENSOR_OTHER
    return ComputeUnit.TENSOR_TF32 if _THIRTY_TWO.search(small) else ComputeUnit.TENSOR_16


def kernel_units(trace: Trace, hlo: HloExecutions) -> UInt8:
    """The `ComputeUnit` of every event, unknown for no kernel and unknown devices; float32 products of XLA count as TF32."""
    units = np.full(trace.n_events, ComputeUnit.UNKNOWN, np.uint8)
    is_kernel = on_stream(trace) & (trace.has_stat("correlation_id") | trace.has_stat("kernel_details"))
    is_kernel &= _by_plane(trace, (_NVIDIA, _AMD))
    is_kernel &= ~trace.has_stat("cuda_graph_exec_id")  # a whole CUDA graph, of whose kernels nothing is told
    rows = np.flatnonzero(is_kernel)
    rows = rows[~_named(trace, rows, _NOT_COMPUTE)] if len(rows) else rows
    if not len(rows):
        return units
    found = by_stem(trace, unit_of_name, np.uint8, among=rows)[trace.name_id[rows]]
    unit = np.full(trace.n_events, -1, np.int64)
    unit[hlo.stream_event] = hlo.stream_unit
    instruction = np.append(hlo.units.instruction, -1)[unit[rows]]
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
    held = by_stem(trace, lambda name: bool(pattern.search(name.lower())), among=rows)
    return held[trace.name_id[rows]]


def _by_plane(trace: Trace, vendors: tuple[str, ...]) -> Bool:
    """For each event whether a device of these vendors ran it; one that names none, as in old traces, is of Nvidia."""
    return trace.on_planes([plane.stats.get("device_vendor", _NVIDIA) in vendors for plane in trace.planes])


def _products(trace: Trace, rows: Int64, modules: HloModules, instruction: Int64) -> UInt8:
    """What fusions that hold a product compute on, unknown for all others; custom calls go by the names of their kernels."""
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
    """The width of most bytes that HLO instructions read and write, unknown for none; several arrays count as 32 bits."""
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


EAGER_SCOPE = "eager/"
"""Such an op has a type and no name: it is called `eager/MatMul`, one op whatever lines call it."""

_ANY_CALL = "EagerLocalExecute: "
_CALL = re.compile(r"\AEagerLocalExecute: (?!.*(Iterator|Optional|Dataset))")
"""Eager calls but those that make and read data sets, which no `tf.function` of the user's would take in."""


def eager_calls(trace: Trace, is_recorded: Bool) -> Int64:
    """The events of eager calls of an op, not of a function, within which no op was recorded; ascending."""
    is_call = _any_call(trace) & on_host(trace) & ~is_recorded
    rows = np.flatnonzero(is_call)
    is_call[rows] = named_like(trace, rows, _CALL)
    if not is_call.any():
        return rows[:0]
    parent = trace.nesting.parent
    around = nearest_marked(parent, is_call)[is_recorded]
    is_call[around[around >= 0]] = False
    is_function = np.append(trace.int_stat("is_func", default=1, signed_only=True), 1)
    call = nearest_marked(parent, trace.names_matching(["EagerExecute"]))
    return np.flatnonzero(is_call & (is_function[call] == 0))


def eager_launches(trace: Trace, calls: Int64, launches: Launches) -> Launches:
    """What these eager calls enqueued, with the call of the op in place of the driver's; on the host it executes none."""
    if not len(calls) or not len(launches):
        return Launches(launches.event[:0], launches.call[:0])
    around = launches.inside(trace, _any_call(trace))
    kept = np.isin(around, calls)
    return Launches(launches.event[kept], around[kept])


def _any_call(trace: Trace) -> Bool:
    """For each event whether it is the call of an eager op or of a function."""
    is_any = by_ends(trace, lambda name, *_: name.startswith(_ANY_CALL))
    return np.asarray(is_any[trace.name_id])


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """The table of what was executed: ordinary ops first, hosts before devices; then HLO ops likewise."""

    name: tuple[str, ...]
    type: tuple[str, ...]
    """Of an HLO op its category."""
    is_device: Bool
    is_eager: Bool
    """Whether the op was run eagerly: on a host any execution of it, on a device the first (semantics 4.1, 4.2)."""
    hlo: HloUnits
    """The HLO ops: its row `i` is unit `n_ops + i`."""

    @property
    def n_ops(self) -> int:
        """How many units are ordinary ops; those from there on are HLO ops."""
        return len(self.name) - len(self.hlo)


@dataclass(frozen=True, eq=False, repr=False)
class Occurrences(Units):
    """Executions of units, on streams of devices the kernels and copies of them: `op` is a row of the table of units."""

    op: Int32
    event: Int64
    """The event of the trace that each is."""
    line: Int32
    start_ps: Int64
    duration_ps: Int64
    span_ps: Int64
    """`duration_ps`, cut where a later op of the line starts inside it and outlives it."""
    parent: Int64
    """The execution that directly encloses it (a row of this table), -1 for none."""
    execution: Int32
    """The execution that each row is, or of a device a part of: there one op may run several kernels per execution."""
    kernel_unit: UInt8
    """For each the `ComputeUnit` of its kernel; unknown for what is none that the device described."""

    lane: Int32
    """For each execution what it keeps busy, a row of the table of lanes: a host thread or a whole device."""
    lane_line: Int32
    """The table of lanes, all that can be idle: the thread's line, or the first line of the device."""
    lane_is_device: Bool
    lane_first_ps: Int64
    lane_last_ps: Int64
    """From where to where each lane was observed: a thread from its first to its last op or event for one, a device by any."""

    whole_ps: Int64 | None = None
    """Of a time range the durations before it cut them; None where nothing did."""
    is_counted: Bool | None = None
    """Of a time range which rows have a part in it; None where all do."""

    def __len__(self) -> int:
        return len(self.op)

    def within(self, low_ps: int, high_ps: int) -> Occurrences:
        """The overlap of each with a time range; what lies outside stays as a row without time that does not count."""

        def overlap(length: Int64) -> Int64:
            inside = np.minimum(self.start_ps + length, high_ps) - np.maximum(self.start_ps, low_ps)
            positive: Int64 = np.maximum(inside, 0)
            return positive

        inside = overlap(self.duration_ps)
        is_point = (self.duration_ps == 0) & (self.start_ps >= low_ps) & (self.start_ps < high_ps)
        return replace(
            self,
            duration_ps=inside,
            span_ps=overlap(self.span_ps),
            lane_first_ps=np.maximum(self.lane_first_ps, low_ps),
            lane_last_ps=np.minimum(self.lane_last_ps, high_ps),
            whole_ps=self.duration_ps,
            is_counted=(inside > 0) | is_point,
        )

    def on_lines(self, is_own: Bool) -> Occurrences:
        """Those on some lines of the trace. The units stay, also those that ran elsewhere only; lanes are of these lines."""
        rows, lanes = np.flatnonzero(is_own[self.line]), np.flatnonzero(is_own[self.lane_line])
        columns = {name: getattr(self, name)[rows] for name in _OF_EXECUTIONS}
        columns |= {name: getattr(self, name)[lanes] for name in _OF_LANES}
        columns["parent"] = _renumbered(columns["parent"], rows, len(self))
        columns["lane"] = _renumbered(columns["lane"], lanes, len(self.lane_line)).astype(np.int32)
        return replace(self, **columns)

    @cached_property
    def is_first(self) -> Bool:
        """Whether it is the first of its execution; one in each."""
        first = np.zeros(len(self), np.bool_)
        first[np.unique(self.execution, return_index=True)[1]] = True
        return first

    @cached_property
    def self_ps(self) -> Int64:
        """`span_ps` less that of the direct children."""
        inner = self.parent >= 0
        own = self.span_ps.copy()
        np.subtract.at(own, self.parent[inner], self.span_ps[inner])
        return own


_OF_EXECUTIONS = (
    *("op", "event", "line", "start_ps", "duration_ps", "span_ps", "parent", "execution", "kernel_unit", "lane"),
)
_OF_LANES = ("lane_line", "lane_is_device", "lane_first_ps", "lane_last_ps")
"""Columns of `Occurrences` with an entry per execution, and per lane."""


def _renumbered(values: Int32 | Int64, rows: Int64, n: int) -> Int64:
    """The place of each row among some of `n`; -1 stays, as does what is not among them."""
    place: Int64 = np.full(n + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    return place[values]


def op_occurrences(
    trace: Trace,
    *,
    grouping: Grouping | None = None,
    launches: Launches | None = None,
    hlo: HloExecutions | None = None,
    units: UInt8 | None = None,
) -> Occurrences:
    """Every execution of an op: of an HLO op, a parsed name (semantics 1.7) or `tf_op`. Differs from XProf: a child ending with
    its parent removes nothing (D4), no allocations (D5), HLO and eager ops of hosts, runs of an op (D15)."""
    grouping = grouping or group_events(trace)
    launches = launches or compute_launches(trace)
    hlo = hlo or hlo_executions(trace, launches)
    units = kernel_units(trace, hlo) if units is None else units
    recorded = _host_rows(trace, hlo)
    is_recorded = np.zeros(trace.n_events, np.bool_)
    is_recorded[recorded[0][0]] = True
    is_recorded[hlo.host_event] = True
    calls = eager_calls(trace, is_recorded)
    enqueued = eager_launches(trace, calls, launches)
    calls = np.setdiff1d(calls, enqueued.call)
    host, host_names, host_types = _with_calls(trace, recorded, calls, calls)
    device, device_names, device_types = _device_rows(trace, hlo, enqueued, tried_kernels(trace, launches))
    n_host_ops, n_ops = len(host_names), len(host_names) + len(device_names)
    host = _with_units(host, hlo.host_event, hlo.host_unit + n_ops, is_sorted=True)
    stream = _with_units(
        (device[0], device[1] + n_host_ops), hlo.stream_event, hlo.stream_unit + n_ops, is_sorted=False
    )
    rows = np.concatenate([host[0], stream[0], hlo.tpu.event])
    op = np.concatenate([host[1], stream[1], hlo.tpu_unit + n_ops]).astype(np.int32)
    execution = device_executions(trace, *stream, eager=enqueued, launches=launches, group=grouping.group_id)
    n_of_streams = int(execution.max(initial=-1)) + 1
    others = np.arange(n_of_streams, n_of_streams + len(rows) - len(execution))
    is_device = np.concatenate([np.arange(n_ops) >= n_host_ops, hlo.units.is_device])
    is_eager = _eager(op, grouping.is_eager[rows] | np.isin(rows, calls) | (enqueued.call_of(rows) >= 0), is_device)
    return Occurrences(
        op=op,
        event=rows,
        line=trace.line_id[rows],
        **_times(trace, host[0], stream[0], hlo.tpu),
        name=host_names + device_names + hlo.units.name,
        type=host_types + device_types + hlo.units.category,
        is_device=is_device,
        is_eager=is_eager,
        execution=np.insert(others, len(host[0]), execution).astype(np.int32),
        hlo=hlo.units,
        kernel_unit=np.where(trace.has_stat("kernel_details")[rows], units[rows], ComputeUnit.UNKNOWN).astype(np.uint8),
        **_lanes(trace, host[0], np.concatenate([stream[0], hlo.tpu.event]), hlo.tpu),
    )


def _eager(op: Int32, is_eager: Bool, is_device: Bool) -> Bool:
    """For each op whether it is eager: on a host when any of its executions was, on a device when the first was."""
    eager = np.zeros(len(is_device), np.bool_)
    eager[op[is_eager]] = True
    used, first = np.unique(op, return_index=True)
    eager[used] = np.where(is_device[used], is_eager[first], eager[used])
    return eager


def _with_units(own: tuple[Int64, Int64], event: Int64, unit: Int64, *, is_sorted: bool) -> tuple[Int64, Int64]:
    """Executions of ordinary ops and of HLO ops together, as events and units; by event where that is asked for."""
    if not len(event):
        return own
    rows, units = np.concatenate([own[0], event]), np.concatenate([own[1], unit])
    order = np.argsort(rows, kind="stable") if is_sorted else np.arange(len(rows))
    return rows[order], units[order]


def _times(trace: Trace, host: Int64, stream: Int64, tpu: TpuExecutions) -> dict[str, Any]:
    """The columns of `Occurrences` on time and nesting, of executions on hosts, then on streams and cores."""
    rows = np.concatenate([host, stream])
    nesting = nest(trace.line_id[host], trace.start_ps[host], trace.duration_ps[host])
    parent = [nesting.parent, np.full(len(stream), -1), np.where(tpu.parent >= 0, tpu.parent + len(rows), -1)]
    return {
        "start_ps": np.concatenate([trace.start_ps[rows], tpu.start_ps]),
        "duration_ps": np.concatenate([trace.duration_ps[rows], tpu.duration_ps]),
        "span_ps": np.concatenate([nesting.span_ps, trace.duration_ps[stream], tpu.span_ps]),
        "parent": np.concatenate(parent).astype(np.int64),
    }


def _lanes(trace: Trace, host: Int64, device: Int64, tpu: TpuExecutions) -> dict[str, Any]:
    """The columns of `Occurrences` on lanes, of executions on hosts, then on devices."""
    is_active = on_host(trace) & trace.has_stat("tf_op")
    is_active[host] = True
    active = np.flatnonzero(is_active)
    threads, first, last = _extent(trace, trace.line_id[active], active)
    streams = np.flatnonzero(on_stream(trace))
    planes, device_first, device_last = _extent(trace, trace.plane_id[streams], streams)
    own = np.searchsorted(threads, trace.line_id[host])
    device_own = np.searchsorted(planes, trace.plane_id[device]) + len(threads)
    cores = np.searchsorted(planes, np.array(tpu.planes, np.int64))
    device_first[cores], device_last[cores] = tpu.first_ps, tpu.last_ps
    return {
        "lane": np.concatenate([own, device_own]).astype(np.int32),
        "lane_line": np.concatenate([threads, _first_lines(trace)[planes]]).astype(np.int32),
        "lane_is_device": np.arange(len(threads) + len(planes)) >= len(threads),
        "lane_first_ps": np.concatenate([first, device_first]),
        "lane_last_ps": np.concatenate([last, device_last]),
    }


_Rows = tuple[tuple[Int64, Int64], tuple[str, ...], tuple[str, ...]]


def _host_rows(trace: Trace, hlo: HloExecutions) -> _Rows:
    """Events of host threads that are ordinary ops, the op of each, and names and types of the ops."""
    candidate = on_host(trace) & ~trace.on_lines([line.is_derived for line in trace.lines])
    candidate[hlo.host_event] = False
    staged = trace.has_stat("_ipl_stage_id")
    parsed = parsed_names(trace)
    place = np.cumsum(np.bincount(trace.name_id, minlength=len(trace.strings)) > 0) - 1
    code = np.where(candidate & ~staged, place[trace.name_id], -1)
    code[code >= 0] = np.where(parsed.is_op, np.arange(len(parsed.name)), -1)[code[code >= 0]]
    names, types = list(parsed.name), list(parsed.type)

    tf_op = trace.string_stat("tf_op")
    tf_op[trace.names_matching(("MemoryAllocation", "MemoryDeallocation"))] = -1
    rows = np.flatnonzero(candidate & ~staged & (code < 0) & (tf_op >= 0))
    texts, inverse = unique_codes(tf_op[rows])
    by_stat = parse_op_names([trace.strings[i] for i in texts.tolist()])
    code[rows] = np.where([bool(name) for name in by_stat.name], len(names) + np.arange(len(texts)), -1)[inverse]
    names, types = names + list(by_stat.name), types + list(by_stat.type)

    # An instrumented stage is an op of its category, whatever its name; without a category it is none (semantics 4.1.1).
    category = trace.string_stat("_ipl_stage_cat")
    rows = np.flatnonzero(candidate & staged & (category >= 0))
    pairs, inverse = np.unique(np.stack([trace.name_id[rows], category[rows]], axis=1), axis=0, return_inverse=True)
    code[rows] = len(names) + inverse.reshape(-1)
    names += [trace.strings[name] for name, _ in pairs.tolist()]
    types += [trace.strings[kind] for _, kind in pairs.tolist()]
    rows = np.flatnonzero(code >= 0)
    return _number(rows, code[rows], names, types)


def _with_calls(trace: Trace, ops: _Rows, rows: Int64, calls: Int64) -> _Rows:
    """Ops of one side and events that run what an eager call says, in their order; `calls` has the call of each of `rows`."""
    if not len(calls):
        return ops
    ids, called = unique_codes(trace.name_id[calls])
    kinds = [trace.strings[i].partition(": ")[2].strip() for i in ids.tolist()]
    rows = np.concatenate([ops[0][0], rows])
    code = np.concatenate([ops[0][1], called + len(ops[1])])
    order = np.argsort(rows, kind="stable")
    return _number(rows[order], code[order], [*ops[1], *(EAGER_SCOPE + kind for kind in kinds)], [*ops[2], *kinds])


def _number(rows: Int64, code: Int64, names: list[str], types: list[str]) -> _Rows:
    """Give executions whose names are equal one number; the type is that of the first execution that has one."""
    first = np.full(len(names), -1, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    used = np.flatnonzero(first >= 0)
    met = used[np.argsort(first[used])]
    number: dict[str, int] = {}
    ops = [number.setdefault(names[key], len(number)) for key in met.tolist()]
    op_of_code = np.zeros(len(names), np.int64)
    op_of_code[met] = ops
    op_types = [""] * len(number)
    for op, key in zip(ops, met.tolist(), strict=True):
        op_types[op] = op_types[op] or types[key]
    return (rows, op_of_code[code]), tuple(number), tuple(op_types)


def _device_rows(trace: Trace, hlo: HloExecutions, enqueued: Launches, tried: Int64) -> _Rows:
    """Events of device streams that are no HLO op and name the op they run for, or that an eager call enqueued."""
    tf_op = trace.string_stat("tf_op")
    candidate = on_stream(trace)
    candidate[hlo.stream_event] = False
    candidate[tried] = False
    if hlo.tpu.planes:
        candidate &= ~np.isin(trace.plane_id, hlo.tpu.planes)
    rows = np.flatnonzero(candidate & (tf_op >= 0))
    keys, inverse = unique_codes(tf_op[rows])
    parsed = parse_op_names([trace.strings[key] for key in keys.tolist()])
    is_named = np.array([bool(name) for name in parsed.name], np.bool_)[inverse]
    names, types = list(parsed.name), [kind or "unknown" for kind in parsed.type]
    ops = _number(rows[is_named], inverse[is_named], names, types)
    is_called = candidate[enqueued.event]
    is_called[np.isin(enqueued.event, ops[0][0])] = False
    return _with_calls(trace, ops, enqueued.event[is_called], enqueued.call[is_called])


def _first_lines(trace: Trace) -> Int64:
    first = np.full(len(trace.planes), -1, np.int64)
    for index in range(len(trace.lines) - 1, -1, -1):
        first[trace.lines[index].plane] = index
    return first


def _extent(trace: Trace, owner: npt.NDArray[np.integer], rows: Int64) -> tuple[Int64, Int64, Int64]:
    """The owners that occur, and from where to where their events reach."""
    owners = np.flatnonzero(np.bincount(owner)) if len(owner) else np.empty(0, np.int64)
    code = np.searchsorted(owners, owner)
    first = np.full(len(owners), np.iinfo(np.int64).max)
    last = np.full(len(owners), np.iinfo(np.int64).min)
    np.minimum.at(first, code, trace.start_ps[rows])
    np.maximum.at(last, code, trace.ends(rows))
    return owners.astype(np.int64), first, last
