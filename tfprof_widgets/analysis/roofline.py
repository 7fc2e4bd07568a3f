"""Work on GPUs -> the `roofline` table: how near ops, kernels, layers and steps come to what their device could do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..read.hlo import HloModules
from ..trace.arrays import Bool, Float64, Int32, Int64, UInt8
from ..trace.source_map import SourceMap
from ..trace.trace import Trace
from .common import PS_PER_US
from .grouping import N_UNITS, UNIT_TEXTS, ComputeUnit, on_tensor_cores
from .hosts.hosts import is_accelerator
from .layers.layers import Layers
from .layers.ops_of_graph import OpMatch
from .names import named_like
from .ops.executions import SIXTY_FOUR, Occurrences
from .ops.kernels import Kernels
from .ops.shares import OpShares
from .steps.spans import SpanType
from .steps.steps import Steps, TracedSteps
from .table import table

ROOFLINE = table(
    """
    roofline: an op that ran on a GPU, most time first
        name              text   of the HLO instruction, or of the op where no program was compiled
        op_name           text   the framework op that it is most of
        layer             text   the layer that it works for
        unit              text   what most of its kernel time is on, as in `kernels`; empty unknown
        occurrences       int    how often it was executed
        time_us           float  time of its kernels, and of copies within memory, all executions
        time_ratio        float  part of the time of all
        flops             float  float operations of all executions; NaN where nothing is known [float operations]
        bytes             float  that they read and write; NaN where nothing is known [bytes]
        known_ratio       float  part of `time_us` in which both are known
        flop_rate_tflops  float  float operations a second
        bandwidth_gbps    float  bytes a second
        intensity         float  float operations a byte
        mfu_ratio         float  float operations as part of what its units could do; of a step, in all of its time
        roof_ratio        float  time that the device needs at least, of the time taken; NaN where that is not known
        bound             text   `compute` or `memory`; `cache` where it moved more than the memory could; empty unknown

    How close each GPU op comes to what its device could do: `roof_ratio` is the part of the peak that it reaches.
    Float operations and bytes come from the compiler where it tells them, else from shapes, or from the graph where
    the capture noted it. Empty without a GPU, and where the trace names no op. A reduced profile has none.
    """,
    browser="name layer time_us time_ratio occurrences flops bytes",
    of_facts=lambda facts: compute_roofline(
        facts.trace,
        facts.occurrences,
        shares=facts.op_shares,
        layers=facts.layers,
        kernels=facts.kernels,
        steps=facts.steps,
        graph_flops=graph_flops(facts.op_match, facts.source_map),
    ),
    read="roofline.frame",
    of_executions="roofline",
)

_EIGHT_BITS = re.compile(r"e[45]m[23]|fp8|int8|_[iu]8[iu]8|imma|i8816|i16832|nvjet(?:_sm\d+)?_[qr]")
_PRODUCTS = ("dot", "convolution", "custom-call")
_NARROW = (2, 6, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32)
"""Types of HLO of 8 bits or fewer: integers and floats."""
_WIDE = (12, 18)
"""float64 and complex128."""


def of_other_width(trace: Trace, occurrences: Occurrences, rows: Int64) -> tuple[Bool, Bool]:
    """For some executions whether the kernel's name is of a product of 8 bits or fewer, and whether the op's width is another."""
    event = occurrences.event[rows]
    narrow, wide = (named_like(trace, event, pattern) for pattern in (_EIGHT_BITS, SIXTY_FOUR))
    unit = occurrences.op[rows] - occurrences.n_ops
    instruction = np.append(occurrences.hlo.instruction, -1)[np.where(unit >= 0, unit, -1)]
    ran, place = np.unique(instruction, return_inverse=True)
    modules = occurrences.hlo.modules
    told = np.array([row >= 0 and _is_of_other_width(modules, row) for row in ran.tolist()], np.bool_)[place]
    return narrow, np.where(instruction >= 0, told, wide)


def _is_of_other_width(modules: HloModules, row: int) -> bool:
    """Whether an instruction, or one of those that it calls, is of 64 bits, or a product of 8 or fewer."""
    for one in modules.within(row):
        if modules.dtype[one] in _WIDE:
            return True
        operands = modules.operands(one) if modules.opcode[one] in _PRODUCTS else []
        if operands and operands[0] >= 0 and modules.dtype[operands[0]] in _NARROW:
            return True
    return False


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
"""The part of the highest clock at which Tensor Cores work, by the first pattern in the card's name; all of it for others."""
_HALF_RATE = re.compile(r"GeForce|\bA10G\b|\bL[24]0\b")
"""Cards that add up products of 16 bits in 32 bits at half the rate of others of their architecture."""
_WITHOUT_TENSOR_CORES = re.compile(r"\bGTX 16\d\d\b|\bMX\d{3}\b|\bT(?:4|5|6|10|12|20)[05]0\b")
"""Small cards of Turing."""
_UNLIKE_OTHERS = re.compile(r"\bH20\b|\b5090 D\b|\bCMP\b")
"""Cards whose Tensor Cores are slower than those of their architecture, by what the data sheet does not derive from clocks."""


def peaks_of(stats: Mapping[str, object]) -> Peaks:
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


_PS_PER_S = 1e12
UNIT_PS = [f"unit_{unit}_ps" for unit in range(N_UNITS)]


def work_of(trace: Trace, occurrences: Occurrences, flops: Float64, n_bytes: Float64, span_type: UInt8) -> pd.DataFrame:
    """The work of each kernel, and of each copy within a device's memory, that ran for an op."""
    is_gpu = trace.on_planes([plane.name.startswith("/device:GPU:") for plane in trace.planes])
    is_work = is_gpu & ~np.isin(span_type, (SpanType.HOST_TO_DEVICE, SpanType.DEVICE_TO_HOST, SpanType.COLLECTIVES))
    rows = np.flatnonzero(is_work[occurrences.event])
    op, execution = occurrences.op[rows].astype(np.int64), occurrences.execution[rows]
    ps = occurrences.duration_ps[rows].astype(np.float64)
    plane = trace.plane_id[occurrences.event[rows]]
    unit = occurrences.kernel_unit[rows]
    table = peak_table(trace)
    told = np.where(unit < N_UNITS, table[plane, np.minimum(unit, N_UNITS - 1)], np.nan)
    is_narrow, is_other = of_other_width(trace, occurrences, rows)
    is_other &= unit != ComputeUnit.VECTOR_64
    told[is_narrow | is_other] = np.nan
    best = np.full(len(occurrences.name), np.nan)
    np.fmax.at(best, op, told)
    best[op[is_other | (on_tensor_cores(unit) & np.isnan(told))]] = np.nan  # the rest of such an op does no work
    best = best[op]
    part = _parts(execution, np.where(np.isnan(best) | (told == best), ps, 0.0))
    own_flops, own_bytes = flops[op] * part, n_bytes[op] * part
    peak_ps, moving_ps = own_flops / best * _PS_PER_S, own_bytes / table[plane, -1] * _PS_PER_S
    peak_ps[own_flops == 0] = 0.0
    # An op is judged by its mean: single executions of one that its memory just suffices for may be faster.
    taken, computing, moving = (np.bincount(op, values)[op] for values in (ps, peak_ps, moving_ps))
    is_cached, is_beyond = moving > taken, computing > taken
    own_flops[is_beyond] = peak_ps[is_beyond] = np.nan
    least_ps = np.where(is_cached | is_beyond, np.nan, np.maximum(peak_ps, moving_ps))
    columns = {
        "ps": ps,
        "runs": 1.0 / np.bincount(execution)[execution],
        "flops": own_flops,
        "bytes": own_bytes,
        "peak_ps": peak_ps,
        "least_ps": least_ps,
        "computing_ps": np.where(peak_ps > moving_ps, least_ps, np.nan),
        "flops_ps": np.where(np.isnan(own_flops), np.nan, ps),
        "bytes_ps": np.where(np.isnan(own_bytes), np.nan, ps),
        "known_ps": np.where(np.isnan(own_flops + own_bytes), np.nan, ps),
        "peaked_ps": np.where(np.isnan(peak_ps), np.nan, ps),
        "judged_ps": np.where(np.isnan(least_ps), np.nan, ps),
        "cached_ps": np.where(is_cached & ~is_beyond, ps, np.nan),
        **{name: np.where(unit == number, ps, 0.0) for number, name in enumerate(UNIT_PS)},
    }
    return pd.DataFrame({"op": op, "event": occurrences.event[rows], **columns}).fillna(0.0)


def _parts(execution: Int32, weight: Float64) -> Float64:
    """For each row its part of its execution by weight; even ones where none has any."""
    whole = np.bincount(execution, weight)[execution]
    with np.errstate(invalid="ignore"):
        return np.where(whole > 0, weight / whole, 1.0 / np.bincount(execution)[execution])


def graph_flops(match: OpMatch, source_map: SourceMap | None) -> Float64 | None:
    """For each framework op the float operations of one execution, 0 where not known; None where none is."""
    if source_map is None or not (source_map.details["float_ops"] > 0).any():
        return None
    flops = np.zeros(len(source_map.ops) + 1)
    flops[source_map.details["op"]] = source_map.details["float_ops"]
    return flops[match.own_row]


RooflineRows = Literal["op", "kernel", "layer", "step"]
_MOSTLY = 0.9
"""Of the time on devices, for how much float operations and peaks must be known to tell a step's share of the peak."""


@dataclass(frozen=True, eq=False, repr=False)
class Roofline:
    """The work on GPUs, and tables of it."""

    work: pd.DataFrame
    """See `work_of`."""
    peaks: Float64
    """Operations and bytes a second of each plane, see `peak_table`."""
    peak_of_host: dict[str, float]
    """Operations a second of the fastest units that any product ran on, of all devices of a host that ran one."""
    names: tuple[str, ...]
    shares: OpShares
    layers: Layers
    kernels: Kernels
    steps: Steps

    @cached_property
    def units(self) -> Int64:
        """The rows of the table of units that ran, most time first: those of `frame`."""
        return self._of_unit["ps"].sort_values(ascending=False, kind="stable").index.to_numpy(np.int64)

    @cached_property
    def _of_unit(self) -> pd.DataFrame:
        return _sums(self.work, self.work["op"].to_numpy())

    @cached_property
    def frame(self) -> pd.DataFrame:
        return self.by("op")

    def by(self, rows: RooflineRows) -> pd.DataFrame:
        """The columns of `roofline`, one row per op that ran, kernel of `kernels`, layer, or step."""
        if rows == "op":
            return self._by_op()
        if rows == "kernel":
            return _by_time(self._by_kernel())
        if rows == "layer":
            return _by_time(self._by_layer())
        if rows == "step":
            return self._by_step()
        raise ValueError(f"by={rows!r}: one of {', '.join(map(repr, get_args(RooflineRows)))}")

    def _by_op(self) -> pd.DataFrame:
        framework = self.shares.dominant[self.units]
        return _table(
            self._of_unit.loc[self.units],
            name=[self.names[row] for row in self.units.tolist()],
            op_name=[self.shares.name[row] for row in framework.tolist()],
            layer=self.layers.entries["layer"].to_numpy(object)[self.layers.op_entry[framework]],
        )

    def _by_kernel(self) -> pd.DataFrame:
        row = np.full(int(self.work["event"].max()) + 1 if len(self.work) else 0, -1, np.int64)
        is_known = self.kernels.run_event < len(row)
        row[self.kernels.run_event[is_known]] = self.kernels.run_kernel[is_known]
        sums = _sums(self.work, row[self.work["event"]])
        frame = self.kernels.frame.iloc[sums.index]
        return _table(sums.assign(runs=frame["occurrences"].to_numpy()), name=frame["name"], op_name=frame["op_name"])

    def _by_layer(self) -> pd.DataFrame:
        pairs = np.flatnonzero(np.isin(self.shares.unit, self.units))
        parts = self._of_unit.loc[self.shares.unit[pairs]].mul(self.shares.ratio[pairs], axis=0)
        sums = _sums(parts, self.layers.op_entry[self.shares.op[pairs]])
        names = self.layers.entries["layer"].to_numpy(object)[sums.index]
        return _table(sums, name=names, layer=names)

    def _by_step(self) -> pd.DataFrame:
        steps = self.steps.frame if len(self.work) else self.steps.frame.iloc[:0]
        sums = _sums(self.work, self.steps.event_step[self.work["event"]]).reindex(steps.index, fill_value=0.0)
        frame = _table(sums, name=steps["name"])
        is_known = sums["peaked_ps"].to_numpy() >= _MOSTLY * sums["ps"].to_numpy()
        peak = np.array([self.peak_of_host.get(host, np.nan) for host in steps["host"].tolist()], np.float64)
        share = sums["flops"].to_numpy() / (steps["duration_ps"].to_numpy() / _PS_PER_S * peak)
        return frame.assign(mfu_ratio=np.where(is_known, share, np.nan))


def compute_roofline(
    trace: Trace,
    occurrences: Occurrences,
    *,
    shares: OpShares,
    layers: Layers,
    kernels: Kernels,
    steps: TracedSteps,
    graph_flops: Float64 | None = None,
) -> Roofline:
    """Set what ran on GPUs against what they could do; no work where none ran."""
    flops = shares.flops.copy()
    if graph_flops is not None:
        told = graph_flops[: occurrences.n_ops]
        flops[: occurrences.n_ops] = np.where(told > 0, told, np.nan)
    work = work_of(trace, occurrences, flops, shares.bytes_accessed, steps.span_type)
    peaks = peak_table(trace)
    is_on = (work[UNIT_PS].to_numpy() > 0) & (work["peak_ps"] > 0).to_numpy()[:, None]
    used = np.zeros((len(peaks), N_UNITS), np.bool_)
    np.logical_or.at(used, trace.plane_id[work["event"]], is_on)
    peak_of_host: dict[str, float] = {}
    for plane in np.flatnonzero(used.any(axis=1)).tolist():
        host = trace.planes[plane].host
        peak_of_host[host] = peak_of_host.get(host, 0.0) + float(np.fmax.reduce(peaks[plane, :N_UNITS][used[plane]]))
    return Roofline(work, peaks, peak_of_host, occurrences.name, shares, layers, kernels, steps)


def _sums(work: pd.DataFrame, key: npt.NDArray[np.integer]) -> pd.DataFrame:
    is_in = key >= 0
    code = key[is_in]
    rows = np.flatnonzero(np.bincount(code))
    names = work.columns.difference(["op", "event"], sort=False)
    # Column by column: a copy of them all takes as much memory as the trace.
    return pd.DataFrame({name: np.bincount(code, work[name].to_numpy()[is_in])[rows] for name in names}, index=rows)


def _by_time(frame: pd.DataFrame) -> pd.DataFrame:
    order = frame["time_us"].sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _table(sums: pd.DataFrame, *, name: object, op_name: object = "", layer: object = "") -> pd.DataFrame:
    def known(value: str, over: str) -> Float64:
        """A sum, NaN where it is of nothing."""
        return np.where(sums[over] > 0, sums[value], np.nan)

    flops, n_bytes = known("flops", "flops_ps"), known("bytes", "bytes_ps")
    with np.errstate(divide="ignore", invalid="ignore"):
        intensity = np.where(n_bytes > 0, flops / n_bytes, np.nan)
    units = sums[UNIT_PS].to_numpy()
    unit = np.where(units.any(axis=1), units.argmax(axis=1), ComputeUnit.UNKNOWN)
    texts = pd.DataFrame({"name": name, "op_name": op_name, "layer": layer}, index=sums.index, dtype=object)
    bound = np.where(sums["computing_ps"] > sums["least_ps"] / 2, "compute", "memory").astype(object)
    bound[sums["cached_ps"].to_numpy() > sums["judged_ps"].to_numpy()] = "cache"
    bound[(sums["least_ps"] + sums["cached_ps"]).to_numpy() == 0] = ""
    numbers = pd.DataFrame(
        {
            "unit": [UNIT_TEXTS[one] for one in unit.tolist()],
            "occurrences": np.rint(sums["runs"]).astype(np.int64),
            "time_us": sums["ps"] / PS_PER_US,
            "time_ratio": sums["ps"] / sums["ps"].sum(),
            "flops": flops,
            "bytes": n_bytes,
            "known_ratio": sums["known_ps"] / sums["ps"],
            "flop_rate_tflops": flops / sums["flops_ps"],
            "bandwidth_gbps": n_bytes / sums["bytes_ps"] * 1e3,
            "intensity": intensity,
            "mfu_ratio": known("peak_ps", "peaked_ps") / sums["peaked_ps"],
            "roof_ratio": known("least_ps", "judged_ps") / sums["judged_ps"],
            "bound": bound,
        },
        index=sums.index,
    )
    return pd.concat([texts, numbers], axis=1)[list(ROOFLINE.names)].reset_index(drop=True)
