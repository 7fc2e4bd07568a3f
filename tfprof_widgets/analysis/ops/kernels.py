"""Events of GPU streams -> the `kernels` table: each kernel with its launch, its op, and whether Tensor Cores serve it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...read.hlo_messages import Texts
from ...trace.arrays import Bool, Int32, Int64, UInt8
from ...trace.trace import Trace
from ..common import PS_PER_NS, dense_codes, first_of, host_of_plane, sum_by, table_of_arrays, typed_table
from ..grouping import UNIT_TEXTS, on_tensor_cores
from ..names import parse_op_names
from ..steps.spans import on_stream
from ..summaries import travels, united
from ..table import table
from .executions import Occurrences

if TYPE_CHECKING:
    from .shares import OpShares

KERNELS = table(
    """
    kernels: a kernel by name, launch and op, most total time first
        rank                  int    the row, from 1
        name                  text   its C++ signature
        registers_per_thread  int    of the launch
        shared_memory_bytes   int    static and dynamic, of a block
        block_dim             text   threads of a block, `x,y,z`
        grid_dim              text   blocks of the grid, `x,y,z`
        occupancy_pct         float  warps that may be active, of the most that the device holds
        tensor_core_eligible  bool   whether Tensor Cores could serve its op, as told by the op's name
        uses_tensor_core      bool   whether it runs on Tensor Cores
        unit                  text   such as `16-bit Tensor Core`, `32-bit vector` or `64-bit vector`; empty unknown
        op_name               text   the framework op that launched it, empty where the trace names none
        occurrences           int    how often it was executed
        total_time_us         float  time of all executions, with what ran inside
        avg_time_us           float  mean time of an execution
        min_time_us           float  the shortest execution
        max_time_us           float  the longest execution
        op_type               text   the type of that op, empty without

    Times are microseconds on the device over the whole capture. Empty where nothing ran on a GPU.
    """,
    browser="""
    name registers_per_thread shared_memory_bytes block_dim grid_dim occupancy_pct tensor_core_eligible uses_tensor_core
    unit op_name occurrences? total_time_us? min_time_us? max_time_us? op_type +family:int +could_use_tensor_core:bool
    """,
    file="kernels",
    of_facts=lambda facts: compute_kernels(facts.trace, facts.occurrences, facts.op_shares, facts.kernel_units),
    of_hosts=lambda sums: merge_kernels(sums.every["kernels"]),
    read="kernels.frame",
)
OTHER_KERNELS = "other kernels"
travels(
    "kernels",
    lambda facts: _with_launches(facts.kernels),
    most="kernels",
    rest=lambda rest: [_other_kernels(rest)],
    did="ran more kernels",
    told=f"the {{}} that took most time are listed, the time of the others is in the row {OTHER_KERNELS!r}",
)


_UINT32_MAX = 2**32 - 1
_INTEGER = re.compile(r"[ \t\n\v\f\r]*\+?([0-9]+)[ \t\n\v\f\r]*", re.ASCII)

_ELIGIBLE_ENDS = (
    *("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3D", "DepthwiseConv2dNative"),
    *("DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput", "/MatMul", "FusedMatMul"),
    *("/CudnnRNN", "XlaDot", "XlaDotV2"),
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
    """Read `key:value` tokens, defaults for unknown ones; old forms (`shm:`, packed `regs:`) say nothing, as in XProf."""
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


_NS_PER_US = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Kernels:
    """Kernel statistics, and the executions that they are made of; of summed hosts there are no executions."""

    frame: pd.DataFrame
    """The columns `KERNEL_COLUMNS`, most total time first; one row per kernel name, launch and op."""
    run_kernel: Int32
    """For each execution its row of `frame`."""
    run_event: Int64
    """For each execution its event of the trace, ascending."""
    launch: tuple[Launch, ...] = ()

    def within(self, trace: Trace, low_ps: int, high_ps: int, is_own: Bool | None = None) -> Kernels:
        """The kernels that ran in a time range, on some lines of the trace; of an execution it cuts the part inside counts."""
        start, end = trace.start_ps[self.run_event], trace.ends(self.run_event)
        is_inside = (start < high_ps) & (end > low_ps)
        rows = np.flatnonzero(is_inside if is_own is None else is_inside & is_own[trace.line_id[self.run_event]])
        ns = (np.minimum(end[rows], high_ps) - np.maximum(start[rows], low_ps)) // PS_PER_NS
        ran, code = np.unique(self.run_kernel[rows], return_inverse=True)
        times = KernelTimes(*_summed(code, ns, len(ran)))
        order = np.argsort(-times.total_ns, kind="stable")
        columns = {**_time_columns(times, order), "rank": np.arange(1, len(ran) + 1)}
        place = np.argsort(order).astype(np.int32)
        frame = self.frame.iloc[ran[order]].reset_index(drop=True).assign(**columns)
        return Kernels(frame, place[code], self.run_event[rows], tuple(self.launch[i] for i in ran[order].tolist()))


def compute_kernels(trace: Trace, occurrences: Occurrences, op_shares: OpShares, units: UInt8) -> Kernels:
    """Add up kernels of all devices, equal in name, launch, op and unit, in whole nanoseconds. Differs from XProf: all rows stay
    (D7), hosts add up, Tensor Core use is more than names (D13), and `op_name` has the largest share."""
    details = trace.string_stat("kernel_details")
    says_nothing = details == trace.string_ids.get("", -2)
    rows = np.flatnonzero(on_stream(trace) & (details >= 0) & ~says_nothing & (trace.duration_ps > 0))
    details, launch_of = np.unique(trace.string_stat("kernel_details")[rows], return_inverse=True)
    launches = [parse_launch(trace.strings[i]) for i in details.tolist()]  # one a distinct text
    ops = _ops_of(trace, occurrences, op_shares, rows)
    unit = units[rows]
    is_eligible = ops.is_eligible | _is_annotation_eligible(trace, rows, on_tensor_cores(unit))

    launch_of = launch_of.reshape(-1)
    launch = _launch_ranks(launches)[launch_of]
    code, n = dense_codes(trace.name_id[rows], launch, ops.number, unit, is_eligible.astype(np.int8))
    first = first_of(code, n)
    kinds = KernelKinds(
        name=_texts(trace.name_id[rows[first]], trace.strings),
        op_name=Texts.coded(ops.number[first], ops.name),
        op_type=Texts.coded(ops.number[first], ops.type),
        launches=launches,
        launch=launch_of[first],
        is_eligible=is_eligible[first],
        unit=unit[first],
        times=KernelTimes(*_summed(code, trace.duration_ps[rows] // PS_PER_NS, n)),
    )
    frame, order = kernel_table(kinds)
    place = np.empty(n, np.int32)
    place[order] = np.arange(n)
    return Kernels(frame, place[code], rows, tuple(map(launches.__getitem__, kinds.launch[order].tolist())))


@dataclass(frozen=True, eq=False, repr=False)
class KernelTimes:
    """Of each kernel its executions, and their time in whole nanoseconds."""

    count: Int64
    total_ns: Int64
    min_ns: Int64
    max_ns: Int64


@dataclass(frozen=True, eq=False, repr=False)
class KernelKinds:
    """Kernels that differ in name, launch, op, unit or eligibility, in any order; one entry per kernel."""

    name: Texts
    op_name: Texts
    op_type: Texts
    launches: Sequence[Launch]
    launch: Int64
    """Which of the launches is that of each kernel."""
    is_eligible: Bool
    unit: UInt8
    times: KernelTimes


@dataclass(frozen=True, eq=False, repr=False)
class KernelSums:
    """One entry per host and kernel that ran there, by host, then kernel."""

    host: Int64
    """Index into `hosts_of`."""
    kernel: Int64
    """Row of `Kernels.frame`."""
    count: Int64
    total_ps: Int64
    min_ps: Int64
    max_ps: Int64


def kernel_sums(trace: Trace, kernels: Kernels, counted: Bool | None = None) -> KernelSums:
    rows = np.arange(len(kernels.run_event)) if counted is None else np.flatnonzero(counted[kernels.run_event])
    event = kernels.run_event[rows]
    of_plane = host_of_plane(trace)
    of_line = np.array([of_plane[line.plane] for line in trace.lines], np.int64)
    host, kernel = of_line[trace.line_id[event]], kernels.run_kernel[rows].astype(np.int64)
    code, n = dense_codes(host, kernel)
    first = first_of(code, n)
    return KernelSums(host[first], kernel[first], *_summed(code, trace.duration_ps[event], n))


def kernel_table(kinds: KernelKinds) -> tuple[pd.DataFrame, Int64]:
    if not len(kinds.name):  # as of every host without a GPU, of which there can be a thousand
        return typed_table([], KERNELS.types), np.empty(0, np.int64)
    unit = _texts(kinds.unit, UNIT_TEXTS)
    order = _order(kinds, unit)
    texts = {"name": kinds.name, "op_name": kinds.op_name, "op_type": kinds.op_type, "unit": unit}
    columns = {
        "rank": np.arange(1, len(order) + 1),
        **{name: np.array(text.distinct, np.object_)[text.code[order]] for name, text in texts.items()},
        "tensor_core_eligible": kinds.is_eligible[order],
        "uses_tensor_core": on_tensor_cores(kinds.unit)[order],
        **{name: said[kinds.launch[order]] for name, said in _said(kinds.launches).items()},
        **_time_columns(kinds.times, order),
    }
    return table_of_arrays({name: columns[name] for name in KERNELS.names}), order


def beside_products(kernels: pd.DataFrame) -> Bool:
    """Which rows of a table of kernels convert, pad or add up beside others of their op that run on Tensor Cores."""
    uses = list(zip(kernels["op_name"].tolist(), kernels["uses_tensor_core"].tolist(), strict=True))
    served = {op for op, does in uses if does} - {""}
    return np.array([op in served and not does for op, does in uses], np.bool_)


@dataclass(frozen=True)
class _Ops:
    """The distinct ops of kernels by name, the first one none, and for each execution which, and whether it is eligible."""

    name: tuple[str, ...]
    type: tuple[str, ...]
    number: Int64
    is_eligible: Bool


def _ops_of(trace: Trace, occurrences: Occurrences, op_shares: OpShares, rows: Int64) -> _Ops:
    unit = np.full(trace.n_events, -1, np.int64)
    unit[occurrences.event] = occurrences.op
    op = np.append(op_shares.dominant, -1)[unit[rows]]
    number_of = np.zeros(len(op_shares.name) + 1, np.int64)
    types = {"": ""}
    numbers = {"": 0}
    for row in np.unique(op[op >= 0]).tolist():  # one turn per op
        number_of[row] = numbers.setdefault(op_shares.name[row], len(numbers))
        types.setdefault(op_shares.name[row], op_shares.type[row])
    is_eligible = np.array([is_eligible_op(name) for name in numbers], np.bool_)
    number = number_of[op]
    return _Ops(tuple(numbers), tuple(types.values()), number, is_eligible[number])


def _is_annotation_eligible(trace: Trace, rows: Int64, uses: Bool) -> Bool:
    """Whether the op in the annotation around each launch is eligible: by its name, its equation or what the kernel uses."""
    texts, place = np.unique(trace.string_stat("tf_op")[rows], return_inverse=True)
    strings = [trace.strings[text] if text >= 0 else "" for text in texts.tolist()]
    is_named = np.array([text != "" for text in strings], np.bool_)[place.reshape(-1)]
    known = np.array([is_eligible_op(name) for name in parse_op_names(strings).name], np.bool_)[place.reshape(-1)]
    return is_named & (known | _is_einsum(trace, rows) | uses)


def _is_einsum(trace: Trace, rows: Int64) -> Bool:
    """Whether each execution is for an einsum of two operands."""
    texts, equation = np.unique(trace.string_stat("equation")[rows], return_inverse=True)
    known = [text >= 0 and is_eligible_einsum(trace.strings[text]) for text in texts.tolist()]
    return np.array(known, np.bool_)[equation.reshape(-1)]


def _texts(ids: npt.NDArray[np.integer], texts: Sequence[str] | Mapping[int, str]) -> Texts:
    used, code = np.unique(ids, return_inverse=True)
    return Texts(code, tuple(map(texts.__getitem__, used.tolist())))


def _launch_ranks(launches: Sequence[Launch]) -> Int64:
    numbers = np.array([(*one.grid, *one.block, *one[2:5]) for one in launches], np.int64).reshape(-1, 9)
    return np.unique(numbers, axis=0, return_inverse=True)[1].reshape(-1)


def _said(launches: Sequence[Launch]) -> dict[str, npt.NDArray[Any]]:
    return {
        "registers_per_thread": np.array([one.registers for one in launches], np.int64),
        "shared_memory_bytes": np.array([one.shared_memory_bytes for one in launches], np.int64),
        "block_dim": np.array([",".join(map(str, one.block)) for one in launches], np.object_),
        "grid_dim": np.array([",".join(map(str, one.grid)) for one in launches], np.object_),
        # A float of 32 bits in XProf's message.
        "occupancy_pct": np.array([one.occupancy_pct for one in launches], np.float32).astype(np.float64),
    }


def _summed(code: Int64, duration: Int64, n: int) -> tuple[Int64, Int64, Int64, Int64]:
    """Number, sum, minimum and maximum of the durations of each code."""
    shortest, longest = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(shortest, code, duration)
    np.maximum.at(longest, code, duration)
    return np.bincount(code, minlength=n).astype(np.int64), sum_by(code, duration, n), shortest, longest


def _time_columns(times: KernelTimes, order: Int64) -> dict[str, npt.NDArray[Any]]:
    count, total_ns = times.count[order], times.total_ns[order]
    return {
        "occurrences": count,
        "total_time_us": total_ns / _NS_PER_US,
        "avg_time_us": total_ns // count / _NS_PER_US,
        "min_time_us": times.min_ns[order] / _NS_PER_US,
        "max_time_us": times.max_ns[order] / _NS_PER_US,
    }


def _order(kinds: KernelKinds, unit: Texts) -> Int64:
    """Rows by total time falling; equal ones by name, launch, Tensor Core use, eligibility, op and unit (semantics 6.2)."""
    launch, uses = _launch_ranks(kinds.launches)[kinds.launch], on_tensor_cores(kinds.unit)
    name, op_name, unit_text = map(_ranks, (kinds.name, kinds.op_name, unit))
    return np.lexsort([unit_text, op_name, kinds.is_eligible, uses, launch, name, -kinds.times.total_ns])


def _ranks(texts: Texts) -> Int64:
    rank = np.empty(len(texts.distinct), np.int64)
    rank[sorted(range(len(rank)), key=texts.distinct.__getitem__)] = np.arange(len(rank))
    return rank[texts.code]


_LAUNCH = {"grid": 3, "block": 3, "registers": 1, "static_shared_bytes": 1, "dynamic_shared_bytes": 1}
"""Fields of a `Launch` that tell kernels apart, and of how many numbers each is."""
_LAUNCH_COLUMNS = [f"{name}_{axis}" for name, n in _LAUNCH.items() for axis in range(n)]
_KERNEL_KEY = ["name", "op_name", *_LAUNCH_COLUMNS, "unit", "tensor_core_eligible"]
_TIMES = {"count": "sum", "total_ns": "sum", "min_ns": "min", "max_ns": "max"}
"""What kernels have of `KernelTimes`, and how those of several are one."""
_UNITS = {text: unit for unit, text in UNIT_TEXTS.items()}


def _with_launches(kernels: Kernels) -> pd.DataFrame:
    """What of the kernels is added up, and by what."""
    frame = kernels.frame
    launches = [[*one.grid, *one.block, *one[2:5]] for one in kernels.launch]
    told = frame[["name", "op_name", "op_type", "unit", "tensor_core_eligible", "occupancy_pct"]]
    return told.assign(
        **pd.DataFrame(launches, columns=_LAUNCH_COLUMNS, dtype=np.int64),
        count=frame["occurrences"],
        total_ns=_whole_ns(frame["total_time_us"]),
        min_ns=_whole_ns(frame["min_time_us"]),
        max_ns=_whole_ns(frame["max_time_us"]),
    )


def _other_kernels(more: pd.DataFrame) -> Mapping[str, object]:
    nothing = [1] * 6 + [0] * 3
    return {
        **dict.fromkeys(more.columns, 0),
        "name": OTHER_KERNELS,
        "op_name": "",
        "op_type": "",
        "unit": "",
        **dict(zip(_LAUNCH_COLUMNS, nothing, strict=True)),
        **{name: getattr(more[name], how)() for name, how in _TIMES.items()},
    }


def _whole_ns(column: pd.Series[float]) -> Int64:
    """Microseconds of whole nanoseconds as these."""
    return np.rint(column.to_numpy(np.float64) * 1000).astype(np.int64)


def merge_kernels(every: pd.DataFrame) -> Kernels:
    """The kernels of all hosts, as `compute_kernels` would add them up."""
    found, _ = united(every, _KERNEL_KEY, {"op_type": "first", "occupancy_pct": "first", **_TIMES})
    launches = [
        Launch((one[0], one[1], one[2]), (one[3], one[4], one[5]), one[6], one[7], one[8], pct)
        for *one, pct in found[[*_LAUNCH_COLUMNS, "occupancy_pct"]].itertuples(index=False)
    ]
    frame, _ = kernel_table(
        KernelKinds(
            name=Texts.of(found["name"].tolist()),
            op_name=Texts.of(found["op_name"].tolist()),
            op_type=Texts.of(found["op_type"].tolist()),
            launches=launches,
            launch=np.arange(len(found)),
            is_eligible=found["tensor_core_eligible"].to_numpy(np.bool_),
            unit=np.array([_UNITS[text] for text in found["unit"]], np.uint8),
            times=KernelTimes(**{name: found[name].to_numpy() for name in _TIMES}),
        )
    )
    return Kernels(frame, np.empty(0, np.int32), np.empty(0, np.int64))
