"""Summaries of hosts -> tables of the run: kernels, ops, HLO, copies, steps, input, memory, costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd

from ...read.hlo import read_hlo_modules
from ...read.hlo_messages import Frames, Texts
from ...trace.arrays import Bool, Float64, Int32, Int64
from ...trace.trace import Trace
from ..common import PS_PER_MS, PS_PER_US, plural, typed_table
from ..graph.op_graph import Costs
from ..grouping import UNIT_TEXTS
from ..input.tf_data import PIPELINE_TYPES, SLOWEST_TYPES, Pipelines, TfData
from ..input.usage import ITERATOR_TYPES
from ..layers.layers import OpMemory
from ..memory.growth import MemoryGrowth
from ..memory.memory import OF_DEVICE, MemoryTables
from ..memory.moments import no_allocator
from ..names import parse_op_names
from ..ops.kernels import KernelKinds, Kernels, KernelTable, KernelTimes, Launch, kernel_table
from ..ops.ops import OpSums
from ..ops.other import COPY_KEY, COPY_SUMS, HloOps, copy_table, hlo_table
from ..ops.shares import OpShares, dominant_ops
from ..xla.units import HloUnits
from .summaries import OWNER, PEAK_TYPES, SUMS, UNIT_NS, PackedFrame, no_events, united, with_rest

if TYPE_CHECKING:
    from ..facts import Totals


MAX_COPIES = 500
"""Rows of one host, those with the most exposed time; the others are one, `OTHERS`."""
OTHER_COPIES = "other copies"


def summarize_copies(frame: pd.DataFrame) -> PackedFrame:
    """Keep the rows with the most exposed time."""
    return PackedFrame.of(with_rest(frame[[*COPY_KEY, *COPY_SUMS]], MAX_COPIES, _other_copies))


def _other_copies(more: pd.DataFrame) -> Mapping[str, object]:
    return {**dict.fromkeys(COPY_KEY, ""), "op": OTHER_COPIES, **{name: more[name].sum() for name in COPY_SUMS}}


def merge_copies(every: pd.DataFrame) -> pd.DataFrame:
    """The copies of all hosts, as those of one are added up."""
    return copy_table(every)


_HOST, _DEVICE = "/host:CPU", "/device"


def total_costs(results: Totals, of_framework_op: Int32) -> Costs:
    """Each op has one row a side, which stands outside of any step (-1), at the begin of the capture.

    Its device is `/host:CPU` of all hosts, or the first device's kind. Memory is what an op asked for (`allocated_bytes`);
    what of it was not given back is not known, nor what its executions held at most.
    """
    shares, totals = results.op_shares, results.op_totals
    device = next((plane.name for plane in results.trace.planes if plane.is_device), _DEVICE)
    every = pd.DataFrame(
        {
            "op": of_framework_op.astype(np.int64),
            "is_accelerator": shares.is_device,
            "device": np.where(shares.is_device, device, _HOST).astype(np.object_),
            "duration_us": totals.self_us,
            "n_runs": totals.occurrences,
        }
    )
    ran = every[(every["op"] >= 0) & (every["n_runs"] > 0)].reset_index(drop=True)
    times = ran.drop(columns="n_runs").assign(step=-1, start_us=0.0)
    end_us = int(results.trace.end_ps.max(initial=0)) / PS_PER_US
    runs = ran.groupby("op", as_index=False)["n_runs"].max().assign(step=-1, start_us=0.0, end_us=end_us)
    return {"times": dict(times), "runs": dict(runs), "memory": dict(_memory(results, of_framework_op))}


def _memory(results: Totals, of_framework_op: Int32) -> pd.DataFrame:
    used = results.memory_by_op
    number: dict[str, int] = {}
    for name, op in zip(results.op_shares.name, of_framework_op.tolist(), strict=True):
        if op >= 0:
            number.setdefault(name, op)
    at = np.array([number.get(name, -1) for name in parse_op_names(used.name).name], np.int64)
    every = pd.DataFrame({"op": at, "requested_bytes": used.allocated_bytes})
    known = every[(every["op"] >= 0) & (every["requested_bytes"] > 0)].reset_index(drop=True)
    return known.assign(step=-1, time_us=0, peak_bytes=0, residual_bytes=0, in_use_bytes=0)


_HLO_KEY = ["device", "program_id", "module", "name"]
_TOLD = ("program_id", "module", "category", "name", "expression", "op_name", "op_type", "device", "source")
MAX_EXPRESSION = 500
"""Characters of an HLO op's text that travel; a longer one ends in `CUT`."""
CUT = "…"


@dataclass(frozen=True, eq=False, repr=False)
class MergedHlo:
    """The HLO ops of all hosts."""

    frame: pd.DataFrame
    """One row per HLO op of a program and side, in order of first appearance: the columns of `HLO_OPS_COLUMNS` without ranks
    and ratios, and `self_ps`, `total_ps`."""
    row: Int64
    """For each HLO op of each host the row of `frame`."""

    def table(self, n_ordinary: int) -> HloOps:
        """The `hlo_ops` table; HLO ops are units `n_ordinary`, `n_ordinary + 1`, ..."""
        return hlo_table(self.frame.assign(n_done=self.frame["occurrences"]), n_ordinary)

    def units(self, trace: Trace) -> HloUnits:
        """The same as units; nothing is known of the programs that they are of, so no instruction is."""
        frame = self.frame
        return HloUnits(
            modules=read_hlo_modules(trace, programs=()),
            is_device=(frame["device"] == "Device").to_numpy(np.bool_),
            program_id=frame["program_id"].to_numpy(np.int64),
            module=tuple(frame["module"]),
            name=tuple(frame["name"]),
            category=tuple(frame["category"]),
            instruction=np.full(len(frame), -1, np.int64),
            provenance=("",) * len(frame),
            expression=tuple(frame["expression"]),
            source=tuple(frame["source"]),
            flops=frame["flops"].to_numpy(np.float64),
            bytes_accessed=frame["bytes_accessed"].to_numpy(np.float64),
        )


def summarize_hlo(hlo_ops: HloOps, units: Int64) -> PackedFrame:
    """The rows of some units, with their times in whole picoseconds and their texts not longer than a reader needs."""
    frame = hlo_ops.frame.iloc[hlo_ops.unit_row[units]].reset_index(drop=True)
    return PackedFrame.of(
        frame[list(_TOLD)].assign(
            expression=pd.Series([_shortened(text) for text in frame["expression"].tolist()], dtype=object),
            occurrences=frame["occurrences"],
            total_ps=_ps(frame["total_time_us"]),
            self_ps=_ps(frame["total_self_time_us"]),
            flops=frame["flops"],
            bytes_accessed=frame["bytes_accessed"],
        )
    )


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_EXPRESSION else f"{text[:MAX_EXPRESSION]}{CUT}"


def n_shortened(texts: Iterable[str]) -> int:
    """How many of the texts that travelled are cut."""
    return sum(len(text) > MAX_EXPRESSION for text in texts)


def _ps(column: pd.Series[float]) -> Int64:
    times: Int64 = np.rint(column.to_numpy(np.float64) * PS_PER_US).astype(np.int64)
    return times


def merge_hlo(every: pd.DataFrame) -> MergedHlo:
    """Unite HLO ops of one program, module, name and side; figures of one execution are averages over all.

    What an HLO op stands for is what its own host's file says. In one trace of all hosts the first program of an id and name
    would be asked, though programs of several hosts may differ in what XLA made of them.
    """
    sums = dict.fromkeys(("occurrences", "total_ps", "self_ps"), "sum")
    told = dict.fromkeys((name for name in _TOLD if name not in _HLO_KEY), "first")
    frame, code = united(every, _HLO_KEY, told | sums)
    frame, count = frame[[*_TOLD, *sums]], every["occurrences"].to_numpy(np.int64)
    for name in ("flops", "bytes_accessed"):
        frame[name] = _average(code, every[name].to_numpy(np.float64), count, len(frame))
    return MergedHlo(frame, code)


def _average(code: Int64, value: Float64, count: Int64, n: int) -> Float64:
    known = ~np.isnan(value)
    weight = np.bincount(code[known], weights=count[known], minlength=n)
    total = np.bincount(code[known], weights=value[known] * count[known], minlength=n)
    return np.where(weight > 0, total / np.maximum(weight, 1), np.nan)


MAX_PIPELINES = 50
"""Of one host; of more, those that took most time travel."""


@dataclass(frozen=True, eq=False, repr=False)
class ReducedTfData(Pipelines):
    """The pipelines of all hosts of a reduced profile, without their calls: asking for one raises which host to open."""

    place: tuple[tuple[str, int], ...] = ()
    """For each pipeline its host, and its row there."""

    def executions(self, pipeline: int) -> pd.DataFrame:
        """Say which host to open."""
        raise self._missing(pipeline, "executions({0})")

    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """Say which host to open; raises as `executions` does."""
        raise self._missing(pipeline, f"execution({{0}}, {rank})")

    def _missing(self, pipeline: int, call: str) -> Exception:
        if not 0 <= pipeline < len(self.pipelines):
            return ValueError(f"pipeline {pipeline} is not a row of `pipelines`, which has {len(self.pipelines)}")
        host, row = self.place[pipeline]
        return no_events("single calls of tf.data", host, f".input_pipeline.{call.format(row)}")


def summarize_input(tf_data: TfData) -> dict[str, PackedFrame]:
    """Keep the tables of `TfData` without the calls; what counts rows counts those that are kept."""
    pipelines, iterators = tf_data.pipelines, tf_data.iterators
    if len(pipelines) > MAX_PIPELINES:
        time = -pipelines["total_time_ms"].to_numpy()
        pipelines = pipelines.iloc[np.sort(np.argsort(time, kind="stable")[:MAX_PIPELINES])]
    iterators = iterators[iterators["pipeline"].isin(pipelines["id"])]
    row = pd.Index(iterators["id"])
    tables = {
        "pipelines": pipelines.assign(bottleneck=row.get_indexer(pipelines["bottleneck"])),
        "iterators": iterators.assign(
            parent_id=row.get_indexer(iterators["parent_id"]),
            pipeline=pd.Index(pipelines["id"]).get_indexer(iterators["pipeline"]),
        ),
        "slowest_calls": tf_data.slowest_calls,
    }
    return {name: PackedFrame.of(frame) for name, frame in tables.items()}


def merge_tf_data(hosts: Sequence[str], every: Mapping[str, pd.DataFrame]) -> ReducedTfData:
    """Number the pipelines of all hosts in order of their first call, and their iterators with them; `every` is a `Stack`."""
    pipelines, iterators, slowest = (every[name] for name in ("pipelines", "iterators", "slowest_calls"))
    if pipelines.empty:
        return ReducedTfData(
            pipelines=typed_table((), PIPELINE_TYPES),
            iterators=typed_table((), ITERATOR_TYPES),
            slowest_calls=typed_table((), SLOWEST_TYPES),
        )
    order = _order(pipelines, iterators)
    pipeline = np.argsort(order)[iterators["pipeline"]]
    by_pipeline = np.argsort(pipeline, kind="stable")
    row = np.append(np.argsort(by_pipeline), -1)
    merged = pipelines.assign(
        bottleneck=row[pipelines["bottleneck"]],
        host=[hosts[i] for i in pipelines[OWNER]],
        own_name=pipelines["name"],
        own_id=pipelines["id"],
    )
    merged = _renamed(merged.iloc[order].reset_index(drop=True))
    iterators = iterators.assign(parent_id=row[iterators["parent_id"]], pipeline=pipeline).iloc[by_pipeline]
    return ReducedTfData(
        pipelines=merged[list(PIPELINE_TYPES)],
        iterators=iterators.assign(id=np.arange(len(iterators)))[list(ITERATOR_TYPES)].reset_index(drop=True),
        slowest_calls=_slowest(slowest.assign(host=[hosts[i] for i in slowest[OWNER]]), merged),
        place=tuple(zip(merged["host"].tolist(), merged["own_id"].tolist(), strict=True)),
    )


def _order(pipelines: pd.DataFrame, iterators: pd.DataFrame) -> Int64:
    """Pipelines by their first call, those without a call of their outermost iterator last."""
    start = np.full(len(pipelines), np.inf)
    roots = iterators[iterators["parent_id"] < 0]
    np.minimum.at(start, roots["pipeline"], roots["start_ms"])
    return np.lexsort((start, pipelines["n_calls"].to_numpy() == 0))


def _renamed(pipelines: pd.DataFrame) -> pd.DataFrame:
    """The same under the names `Host:k` and `Device:k` that they have among all."""
    is_device = pipelines["is_device"].to_numpy(np.bool_)
    number = np.where(is_device, np.cumsum(is_device), np.cumsum(~is_device)) - 1
    kinds = ["Device" if device else "Host" for device in is_device.tolist()]
    names = [f"{kind}:{k}" for kind, k in zip(kinds, number.tolist(), strict=True)]
    summaries = [
        f"{name}{text.removeprefix(own)}" if text.startswith(f"{own}: ") else text
        for name, own, text in zip(names, pipelines["own_name"], pipelines["summary"], strict=True)
    ]
    return pipelines.assign(id=np.arange(len(pipelines)), name=names, summary=summaries)


def _slowest(rows: pd.DataFrame, merged: pd.DataFrame) -> pd.DataFrame:
    """The slowest calls of the pipelines that are here, the slowest first; of equals that of the first pipeline."""
    here = merged[[OWNER, "own_name", "name"]].assign(at=merged.index)
    rows = rows.merge(here, left_on=[OWNER, "pipeline"], right_on=[OWNER, "own_name"])
    rows = rows.assign(pipeline=rows["name"], rank=-rows["max_latency_us"]).sort_values(["rank", "at"], kind="stable")
    return rows[list(SLOWEST_TYPES)].reset_index(drop=True)


MAX_KERNELS = 2_000
"""Of one host those with the most time; the others are one row, `OTHERS`."""
OTHER_KERNELS = "other kernels"
_LAUNCH = {"grid": 3, "block": 3, "registers": 1, "static_shared_bytes": 1, "dynamic_shared_bytes": 1}
"""Fields of a `Launch` that tell kernels apart, and of how many numbers each is."""
_LAUNCH_COLUMNS = [f"{name}_{axis}" for name, n in _LAUNCH.items() for axis in range(n)]
_KERNEL_KEY = ["name", "op_name", *_LAUNCH_COLUMNS, "unit", "tensor_core_eligible"]
_TIMES = {"count": "sum", "total_ns": "sum", "min_ns": "min", "max_ns": "max"}
"""What kernels have of `KernelTimes`, and how those of several are one."""

_UNITS = {text: unit for unit, text in UNIT_TEXTS.items()}


def summarize_kernels(kernels: Kernels) -> PackedFrame:
    """Keep the kernels that take most time."""
    frame = kernels.frame
    launches = [[*one.grid, *one.block, *one[2:5]] for one in kernels.launch]
    told = frame[["name", "op_name", "op_type", "unit", "tensor_core_eligible", "occupancy_pct"]]
    table = told.assign(
        **pd.DataFrame(launches, columns=_LAUNCH_COLUMNS, dtype=np.int64),
        count=frame["occurrences"],
        total_ns=_whole_ns(frame["total_time_us"]),
        min_ns=_whole_ns(frame["min_time_us"]),
        max_ns=_whole_ns(frame["max_time_us"]),
    )
    return PackedFrame.of(with_rest(table, MAX_KERNELS, _other_kernels))


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


def merge_kernels(every: pd.DataFrame) -> KernelTable:
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
    return KernelTable(frame)


_ON_HOSTS = {
    "timeline": ("memory timeline", "timeline({0!r})"),
    "live": ("single allocations", "live({0!r}, at_ms)"),
    "lifetimes": ("single allocations", "lifetimes({0!r})"),
    "steps": ("memory of each step", "steps({0!r})"),
    "unfreed": ("single allocations", "unfreed({0!r})"),
}
"""Methods of `MemoryProfile` that need every allocation: what they tell, and how they are called."""
_GROWTH = [one.name for one in fields(MemoryGrowth)]
_NOTHING = {"allocator": "", "before_capture_bytes": 0, "stack_bytes": 0}
"""Of the allocator with the largest peak where there is none."""


@dataclass(frozen=True, eq=False, repr=False)
class ReducedMemory(MemoryTables):
    """The memory of all hosts of a reduced profile (`Profile.is_reduced`): what `Profile.memory` gives there.

    It has `summary`, `peak`, `held_at_peak` and `growth` of a `MemoryProfile`. What needs every allocation (`timeline`,
    `live`, `lifetimes`, `steps`, `unfreed`) raises a `TfProfError` that says which host to open in full.
    """

    place: pd.DataFrame
    """For each row of `summary` the host, and the name of the allocator there."""
    peaks: pd.DataFrame
    """The rows of `peak` of all allocators."""
    held: pd.DataFrame
    """The rows of `held_at_peak` of all allocators."""
    by_op: OpMemory
    """Bytes by op, of all hosts."""

    def __repr__(self) -> str:
        n_hosts = self.place["host"].nunique()
        return f"ReducedMemory({plural(len(self.allocators), 'allocator')} of {plural(n_hosts, 'host')})"

    def peak(self, allocator: str | None = None) -> pd.DataFrame:
        """Who held the memory at the peak, in the columns of `MemoryProfile.peak`; of many rows the largest, and one of
        the others.

        Args:
            allocator: one of `allocators`; without one `main_allocator`.

        Raises:
            KeyError: there is no such allocator.
        """
        return self._rows(self.peaks, allocator)

    def held_at_peak(self, allocator: str | None = None) -> pd.DataFrame:
        """Who really held the memory at the peak, in the columns of `peak`; of many rows the largest, and one of the
        others.

        Args:
            allocator: one of `allocators`; without one `main_allocator`.

        Raises:
            KeyError: there is no such allocator.
        """
        return self._rows(self.held, allocator)

    def growth(self, allocator: str) -> MemoryGrowth:
        """Whether the memory in use at the end of steps keeps growing, as a `MemoryGrowth`.

        Args:
            allocator: one of `allocators`.

        Raises:
            KeyError: there is no such allocator.
        """
        return MemoryGrowth(*self._place(allocator)[_GROWTH].to_dict().values())

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """A call of `MemoryProfile` that raises what this profile lacks."""
        if name not in _ON_HOSTS:
            raise AttributeError(f"the memory of a reduced profile has no {name!r}")
        what, call = _ON_HOSTS[name]

        def refuse(allocator: str, *_args: object, **_options: object) -> NoReturn:
            place = self._place(allocator)
            raise no_events(what, place["host"], f".memory.{call.format(place['own'])}")

        return refuse

    def _rows(self, frame: pd.DataFrame, allocator: str | None) -> pd.DataFrame:
        own = frame[:0]
        if allocator is not None or self.allocators:
            own = frame[frame["allocator"] == self._place(allocator or self.main_allocator)["stack"]]
        rows: pd.DataFrame = own[list(PEAK_TYPES)].reset_index(drop=True)
        return rows

    def _place(self, allocator: str) -> pd.Series[Any]:
        """What is known of an allocator."""
        if allocator not in self.allocators:
            raise no_allocator(allocator, self.allocators)
        return self.place.iloc[self.allocators.index(allocator)]


def merge_memory(hosts: Sequence[str], every: Mapping[str, pd.DataFrame], remedy: str | None) -> ReducedMemory:
    """Put the allocators of all hosts side by side, under the names that one trace of all would give them."""
    stack = every["memory"]
    host = np.array(hosts, np.object_)[stack[OWNER]]
    several = stack[OWNER].nunique() > 1
    names = host + ": " + stack["allocator"] if several else stack["allocator"]
    place = stack[_GROWTH].assign(host=host, own=stack["allocator"], stack=stack.index)
    order = np.argsort(names.to_numpy(np.object_), kind="stable")  # np.str_ is as wide as the longest
    summary = stack.drop(columns=[OWNER, *_GROWTH]).assign(allocator=names).iloc[order].reset_index(drop=True)
    if len(stack):
        first = place.iloc[order[0]]
        remedy = (
            "A reduced profile has the peak of each allocator, but not its allocations over time. Open one host in full:\n"
            f"prof.host({first['host']!r}).memory_timeline()  # or .memory.timeline({first['own']!r})"
        )
    return ReducedMemory(
        allocators=tuple(summary["allocator"]),
        summary=summary,
        remedy=remedy,
        place=place.iloc[order],
        peaks=every["peaks"],
        held=every["held"],
        by_op=_by_op(hosts, every["memory_ops"], every["memory_peak"], several=several),
    )


def _by_op(hosts: Sequence[str], every: pd.DataFrame, peaks: pd.DataFrame, *, several: bool) -> OpMemory:
    """Bytes by op of all hosts; those at the peak are of the allocator with the largest one, of a device if there is any."""
    name = np.array(hosts, np.object_)[peaks[OWNER]] + ": " + peaks["allocator"]
    of_host = ~peaks["allocator"].str.contains(OF_DEVICE, regex=False)
    ranked = zip(of_host, -peaks["peak_bytes"], name, range(len(peaks)), strict=True)
    row = min(ranked, default=(True, 0, "", -1))[-1]
    top = peaks.iloc[row] if len(peaks) else pd.Series({OWNER: -1, **_NOTHING})
    every = every.assign(peak_bytes=every["peak_bytes"].where(every[OWNER] == top[OWNER], 0))
    rules = {"type": "first", "allocated_bytes": "sum", "peak_bytes": "sum"}
    ops, _ = united(every, ["name"], rules)
    return OpMemory(
        name=tuple(ops["name"]),
        type=tuple(ops["type"]),
        allocated_bytes=ops["allocated_bytes"].to_numpy(np.int64),
        peak_bytes=ops["peak_bytes"].to_numpy(np.int64),
        allocator=name.iloc[row] if several else top["allocator"],
        before_capture_bytes=int(top["before_capture_bytes"]),
        stack_bytes=int(top["stack_bytes"]),
    )


@dataclass(frozen=True, eq=False, repr=False)
class MergedOps:
    """The units of all hosts and what they stand for, numbered as those of one trace: ordinary ops, then HLO ops."""

    n_ordinary: int
    shares: OpShares
    is_input: Bool
    """For each framework op."""
    sums: OpSums
    """For each unit, of all hosts."""
    units: pd.DataFrame
    """One row per unit of a host: the host's number, `owner`, the unit, and its sums there."""
    kinds: pd.DataFrame
    """One row per unit and kind of step of a host in which it ran: `owner`, `kind`, `unit`, its own time and executions."""


def merge_ops(every: Mapping[str, pd.DataFrame], hlo: MergedHlo) -> MergedOps:
    """Unite ops of one side and name, and HLO ops as they are united in `hlo`; `every` is a `Stack`."""
    ops = every["ops"]
    is_ordinary = ops["is_ordinary"].to_numpy(np.bool_)
    order = np.argsort(~is_ordinary, kind="stable")  # ordinary ops of any host come first
    table, own = _united(ops.iloc[order])
    number = np.full(len(ops) + 1, -1, np.int64)
    number[order] = own
    n = int(number[:-1][is_ordinary].max(initial=-1)) + 1
    unit_of_hlo = np.append(n + hlo.row, -1)
    units = every["units"]
    op = units["op"].to_numpy()
    units = units.assign(unit=np.where(op >= 0, number[op], unit_of_hlo[units["hlo"]]))
    pairs, kinds = every["pairs"], every["kinds"]
    sums = units.groupby("unit")[[*SUMS, *UNIT_NS]].sum().reindex(np.arange(n + len(hlo.frame)), fill_value=0)
    return MergedOps(
        n_ordinary=n,
        shares=_shares(table, n, hlo, pairs.assign(unit=unit_of_hlo[pairs["hlo"]], op=number[pairs["op"]])),
        is_input=table["is_input"].to_numpy(np.bool_),
        sums=OpSums(**{name: sums[name].to_numpy() for name in SUMS}, unit_ns=sums[list(UNIT_NS)].to_numpy()),
        units=units,
        kinds=kinds.assign(unit=units["unit"].to_numpy()[kinds["unit"]]),
    )


def _united(ops: pd.DataFrame) -> tuple[pd.DataFrame, Int64]:
    """The table of framework ops in order of first appearance, and the row of it of each op; what is told of an op is what the
    first host tells that ran it."""
    # As in one trace: any eager execution on a CPU makes an op eager, on a device the first one tells.
    ops = ops.assign(is_eager_on_host=ops["is_eager"] & ~ops["is_device"])
    ops["source"] = [
        (file, line) if file else "" for file, line in zip(ops["source_file"], ops["source_line"], strict=True)
    ]
    told = dict.fromkeys(("type", "is_eager", "source"), "first")
    table, own = united(ops, ["is_device", "name"], {**told, "is_eager_on_host": "any", "is_input": "all"})
    return table.assign(is_eager=table["is_eager"] | table["is_eager_on_host"]), own


def _shares(table: pd.DataFrame, n_ordinary: int, hlo: MergedHlo, pairs: pd.DataFrame) -> OpShares:
    """The table, with who stands for whom: of an HLO op that several hosts ran, what the first one tells."""
    source = [one or ("", -1) for one in table["source"]]
    pairs = pairs[pairs[OWNER] == pairs.groupby("unit")[OWNER].transform("min")].sort_values("unit", kind="stable")
    every, unknown = np.arange(n_ordinary), np.full(n_ordinary, np.nan)
    unit, op = np.append(every, pairs["unit"]), np.append(every, pairs["op"])
    ratio = np.append(np.ones(n_ordinary), pairs["ratio"])
    return OpShares(
        name=tuple(table["name"]),
        type=tuple(table["type"]),
        is_device=table["is_device"].to_numpy(np.bool_),
        is_eager=table["is_eager"].to_numpy(np.bool_),
        source_file=tuple(file for file, _ in source),
        source_line=np.array([line for _, line in source], np.int32),
        frame=np.full(len(table), -1, np.int32),
        frames=Frames(),
        unit=unit.astype(np.int32),
        op=op.astype(np.int32),
        ratio=ratio,
        dominant=dominant_ops(unit, op, ratio, n_ordinary + len(hlo.frame)),
        is_identity=hlo.frame.empty,
        flops=np.append(unknown, hlo.frame["flops"].to_numpy(np.float64)),
        bytes_accessed=np.append(unknown, hlo.frame["bytes_accessed"].to_numpy(np.float64)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class MergedSteps:
    """The steps of all hosts, by start, then host, and where those of each are among them."""

    frame: pd.DataFrame
    """As `Steps.frame`."""
    row: Int64
    """Of each step in the order of the stack the row of `frame`."""
    kinds: pd.DataFrame
    """Of each row of `frame` its `owner` and its `kind`, see `step_kinds`."""

    def of_their_kinds(self, steps: Bool, owned: pd.DataFrame) -> Bool:
        """Which rows with an `owner` and a `kind` are of the kinds of some of the steps."""
        width = int(self.kinds["kind"].to_numpy().max(initial=-1)) + 2
        found, wanted = (one[OWNER] * width + one["kind"] for one in (owned, self.kinds[steps]))
        return np.isin(found, wanted)


def merge_steps(steps: pd.DataFrame) -> MergedSteps:
    """Put the steps of the stack together."""
    order = np.lexsort((steps["session"], steps["start_ps"]))
    row = np.empty(len(order), np.int64)
    row[order] = np.arange(len(order))
    steps = steps.iloc[order].reset_index(drop=True)
    frame = steps.drop(columns=[OWNER, "kind"]).assign(
        step=np.arange(len(steps)),
        start_ms=steps["start_ps"] / PS_PER_MS,
        session=steps["session"].astype(np.int32),
    )
    return MergedSteps(frame, row, steps[[OWNER, "kind"]])
