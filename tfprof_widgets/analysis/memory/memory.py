"""Trace -> `MemoryProfile`: of each allocator the summary, the timeline, and what is live at the peak or at any time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64, SmallInt
from ...trace.trace import Trace
from ..common import PS_PER_MS, percent, plural, size, sum_by, typed_table, unique_codes
from ..events import Framework, framework_of
from ..grouping import Grouping, group_events
from ..names import parse_op_names
from ..summaries import MOST, OTHER_OPS, OWNER, HostSums, no_events, travels, united, with_rest
from ..table import table
from .growth import UNFREED, MemoryGrowth, describe_growth, describe_no_growth, measure_growth, unfreed_table
from .moments import (
    BEFORE_CAPTURE,
    HELD_AT_PEAK,
    PEAK,
    STEPS,
    Snapshots,
    StepSpans,
    dtype_names,
    find_peak,
    live_table,
    no_allocator,
    of_each_allocator,
    peak_table,
    read_snapshots,
    step_table,
    texts,
)

SUMMARY = table(
    """
    memory.summary: an allocator; what is in use is that at its peak
        *allocator
        n_allocations    int    during the capture
        n_deallocations  int    during the capture
        capacity_bytes   int    in use and free together, on a host at most what the machine has; 0 where no limit is known
        peak_heap_bytes  int    most ever allocated, before the capture too
        peak_bytes       int    most in use during the capture, stack and heap
        peak_at_ms       float  when that was, after the trace origin
        *state
    """,
    browser="* +sentence:text +is_significant:bool",
    file="memory_summary",
    of_facts=lambda facts: _memory_of(facts),
    of_hosts=lambda sums: merge_memory(sums),
)
travels("memory", lambda facts: _with_growth(facts.memory), moment="peak_at_ms")
travels("peaks", lambda facts: _of_allocators(facts.memory, facts.memory.peak), refers={"allocator": "memory"})
travels("held", lambda facts: _of_allocators(facts.memory, facts.memory.held_at_peak), refers={"allocator": "memory"})
travels(
    "memory_ops",
    lambda facts: _ops_that_allocated(facts.memory_by_op),
    most="ops",
    rest=lambda rest: [{"name": OTHER_OPS, "type": OTHER_OPS, **rest[["allocated_bytes", "peak_bytes"]].sum()}],
    did="allocated memory for more ops",
    told=f"the {{}} that allocated most are told apart, the bytes of the others are those of {OTHER_OPS!r}",
)
travels("memory_peak", lambda facts: _main_peak(facts.memory, facts.memory_by_op))

TIMELINE = table(
    """
    memory.timeline: an allocation or deallocation of the allocator, in time order, with its state after that
        time_ms           float   after the trace origin
        event             text    `allocation` or `deallocation`
        requested_bytes   int     that the op asked for
        allocation_bytes  int     that the allocator gave
        op                text    that allocated it
        step              int     row of the steps table, -1 between steps
        *tensor
        in_use_bytes      int     stack and heap
        *state
        address           number  where the memory begins
        freed_at          int     of an allocation the row in which it is given back, else -1
    """,
    browser="requested_bytes:f8 allocation_bytes:f8 stack_bytes:f8 heap_bytes:f8",
    file="memory_timeline",
    file_has="allocator",
    read=lambda results: of_each_allocator(results.memory, "timeline") if results.has_events else pd.DataFrame(),
)

LIFETIMES = table("""
    memory.lifetimes: a block of memory; first those of before the capture that were given back in it, then by allocation
        op                text    that allocated it, or `allocated before the capture`
        step              int     row of the steps table, -1 between steps
        *tensor
        allocation_bytes  int     that the allocator gave
        allocated_at_ms   float   after the trace origin; NaN where that was before the capture
        freed_at_ms       float   after the trace origin; NaN where it was not given back
        lifetime_ms       float   between the two
        address           number  where it begins
""")

_CPU_REMEDY = (
    "{cause} TensorFlow records all CPU tensor memory only when TF_CPU_ALLOCATOR_USE_BFC is set before its first op. "
    "Restart the kernel, set it (%load_ext tfprof_widgets does that, too), and capture again:\n"
    'import os; os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"'
)
_NOT_RECORDED = (
    "{framework} records no memory of a CPU. What XLA planned for the programs in the trace:\nprof.program_memory"
)
_IDLE_REMEDY = (
    "Nothing ran while this capture was on, so no memory was allocated. Put the code that trains inside it:\n{code}"
)
_DEVICE_REMEDY = (
    "No memory was allocated or given back while this capture ran, so there is nothing to show. "
    "Capture more steps, the first one included:\n{code}"
)
_CAPTURING: Mapping[Framework, tuple[str, str]] = {
    "TensorFlow": (
        "with tfprof.profile() as prof: model.fit(...)",
        "with tfprof.profile(steps=range(0, 10)) as prof: ...",
    ),
    "JAX": ('with jax.profiler.trace("logs"): ...',) * 2,
    "PyTorch/XLA": ('torch_xla.debug.profiler.start_trace("logs")',) * 2,
    "PyTorch": ("torch.cuda.memory._record_memory_history()",) * 2,
}
"""What captures a training, and what captures its first steps."""


def memory_remedy(trace: Trace, snapshots: Snapshots) -> str | None:
    """Why little or no memory was recorded and what to do, the code on the last line; None where all is there."""
    framework = framework_of(trace)
    training, first_steps = _CAPTURING[framework]
    if framework == "PyTorch":
        return f"Memory is not read from a trace of PyTorch, which records it by itself:\n{training}"
    if not trace.n_events:
        return _IDLE_REMEDY.format(code=training)
    has_device = any(plane.is_device for plane in trace.planes)
    if has_device:
        return None if snapshots.allocators else _DEVICE_REMEDY.format(code=first_steps)
    if framework != "TensorFlow":
        return None if snapshots.allocators else _NOT_RECORDED.format(framework=framework)
    if not snapshots.allocators:
        return _CPU_REMEDY.format(cause="This capture holds no memory events.")
    if set(snapshots.allocators) == {"mklcpu"}:
        # Without the BFC allocator oneDNN's still reports: its scratch memory, and where TensorFlow took it for tensors,
        # too (the default on CPUs with AVX-512 VNNI and the like), those that are not small.
        return _CPU_REMEDY.format(
            cause="This capture holds only what oneDNN's allocator (`mklcpu`) reports: "
            "its scratch memory, and of the tensors at most those of 256 KiB and more."
        )
    return None


_OF_HOST = re.compile(r"cpu|host", re.IGNORECASE)


def is_of_host(allocator: str) -> bool:
    """Whether an allocator gives memory of the machine: `cpu`, `mklcpu`, `gpu_host_bfc`."""
    return _OF_HOST.search(allocator.rpartition(": ")[2]) is not None  # less the name of the host


def within_machine(snapshots: Snapshots, machine_bytes: int) -> Snapshots:
    """Bound the free bytes of allocators of a host by the memory of its machine, as in semantics 7.1."""
    of_host = np.array([is_of_host(name) for name in snapshots.allocators], np.bool_)
    told = snapshots.free_bytes
    room = np.maximum(machine_bytes - snapshots.in_use_bytes, 0)
    over = of_host[snapshots.allocator_id] & (told > room)
    if not over.any():
        return snapshots
    free = np.where(over, room, told)
    largest = np.minimum(told * (1 - snapshots.fragmentation_ratio), free)
    none = np.full(len(free), 1.0 if machine_bytes else np.nan)
    ratio = np.divide(largest, free, out=none, where=free > 0)
    fragmentation = np.where(over, 1 - ratio, snapshots.fragmentation_ratio)
    return replace(snapshots, free_bytes=free, fragmentation_ratio=fragmentation)


_STATE = ("stack_bytes", "heap_bytes", "free_bytes", "fragmentation_ratio", "largest_free_bytes")
OF_DEVICE = "GPU_"
"""In the names of TensorFlow's allocators of GPUs."""


@dataclass(frozen=True, eq=False, repr=False)
class MemoryTables:
    """What TensorFlow's allocators did during the capture, as a whole.

    Source: semantics 7.
    """

    allocators: tuple[str, ...]
    """Names of the allocators, sorted, such as `GPU_0_bfc`; as `host: name` where more than one host recorded memory.
    Empty where none was recorded.
    """
    summary: pd.DataFrame
    """The table `memory.summary`: an allocator a row, with its state when most was in use; empty where none was recorded.

    Differs from XProf: `peak_heap_bytes` is the largest reported mark, not the one on the last event in line order; of a
    host's memory no more counts as free than the machine has.
    """
    remedy: str | None
    """Where nothing useful was recorded: why, what to do, and on the last line the code to paste; else None."""

    @property
    def fullest_device(self) -> pd.Series | None:
        """The row of `summary` of the GPU whose peak takes most of its capacity; None where no GPU reported memory.

        Allocators of the CPU have no such bound: they may take what the machine has.
        """
        own = self.summary
        own = own[own["allocator"].str.contains(OF_DEVICE, regex=False) & (own["capacity_bytes"] > 0)]
        return None if own.empty else own.iloc[int((own["peak_bytes"] / own["capacity_bytes"]).to_numpy().argmax())]

    @property
    def main_allocator(self) -> str:
        """The name of the allocator of `fullest_device`; without one that with the highest peak, "" where none reported."""
        device = self.fullest_device
        if device is not None or self.summary.empty:
            return "" if device is None else str(device["allocator"])
        return str(self.summary["allocator"][int(self.summary["peak_bytes"].to_numpy().argmax())])

    @property
    def is_empty(self) -> bool:
        """Whether the capture holds no memory event."""
        return not self.allocators


@dataclass(frozen=True, eq=False, repr=False)
class MemoryProfile(MemoryTables):
    """What TensorFlow's allocators did during the capture, with every allocation: what `Profile.memory` gives.

    Times are ms after the trace origin. Each method takes the name of an allocator, one of `allocators`, and raises KeyError
    for any other; `peak()` and `held_at_peak()` without one are of `main_allocator`, and empty where no memory was recorded:
    `remedy` says why. On a CPU allocations are recorded only with `TF_CPU_ALLOCATOR_USE_BFC=true`, which
    `%load_ext tfprof_widgets` and a capture set where TensorFlow has not started yet.

    Examples:
        >>> memory = prof.memory
        >>> held = memory.held_at_peak()
        >>> largest = held.nlargest(5, "total_bytes")
    """

    snapshots: Snapshots
    """The memory events as arrays, which the views draw."""
    strings: tuple[str, ...]
    event_step: SmallInt | None
    """For each event of the trace its row in `Profile.steps`, -1 between steps; None where steps are not known."""
    step_spans: StepSpans

    def __repr__(self) -> str:
        n = len(self.snapshots.event)
        return f"MemoryProfile({plural(n, 'memory event')} of {plural(len(self.allocators), 'allocator')})"

    @TIMELINE.given_by
    def timeline(self, allocator: str) -> pd.DataFrame:
        """Every allocation and deallocation of one allocator, in time order; nothing is sampled away."""
        table, rows = self.snapshots, self.snapshots.rows_of(allocator)
        freed_at = table.freed_at[rows]
        return pd.DataFrame(
            {
                "time_ms": table.time_ps[rows] / PS_PER_MS,
                "event": np.array(["allocation", "deallocation"], np.object_)[table.is_free[rows].astype(np.int8)],
                **{name: getattr(table, name)[rows] for name in ("requested_bytes", "allocation_bytes")},
                **self._tensors(rows, self._steps_of(rows)),
                **{name: getattr(table, name)[rows] for name in ("in_use_bytes", *_STATE, "address")},
                "freed_at": np.where(freed_at >= 0, freed_at - rows.start, -1),
            }
        )

    @PEAK.given_by
    def peak(self, allocator: str | None = None) -> pd.DataFrame:
        """Who held the memory at the peak, as TensorBoard's profiler tells it: the allocations of the peak's step, all
        else as one row, "allocated in other steps or before the capture".

        `held_at_peak` tells what really lived then.

        Differs from XProf: no row is hidden for being small, and that one is not called unused.
        """
        if allocator is None and self.is_empty:
            return typed_table((), PEAK.types)
        name = self.main_allocator if allocator is None else allocator
        return peak_table(self.snapshots, self.snapshots.rows_of(name), self.strings)

    def live(self, allocator: str, at_ms: float) -> pd.DataFrame:
        """Who held the memory at a moment: all that lived then, in the columns of `peak`.

        The row "allocated before the capture" is what was in use and was not seen being allocated.

        Args:
            allocator: one of `allocators`.
            at_ms: the moment, in ms after the trace origin.
        """
        rows = self.snapshots.rows_of(allocator)
        return live_table(self.snapshots, rows, self.strings, at_ps=round(at_ms * PS_PER_MS))

    @HELD_AT_PEAK.given_by
    def held_at_peak(self, allocator: str | None = None) -> pd.DataFrame:
        """Who really held the memory at the peak: `live` at the moment that `summary` gives as `peak_at_ms`."""
        if allocator is None and self.is_empty:
            return self.peak()
        name = self.main_allocator if allocator is None else allocator
        self.snapshots.rows_of(name)
        row = self.summary[self.summary["allocator"] == name].iloc[0]
        return self.live(name, float(row["peak_at_ms"]))

    @LIFETIMES.given_by
    def lifetimes(self, allocator: str) -> pd.DataFrame:
        """How long each block of memory lived, and where. An address that is handed out again counts as given back then.

        Returns:
            Empty where nothing was allocated or given back.
        """
        table, rows = self.snapshots, self.snapshots.rows_of(allocator)
        before = table.is_free & ~table.has_owner
        at = np.concatenate([np.flatnonzero(one[rows]) + rows.start for one in (before, ~table.is_free)])
        is_before = before[at]
        freed_at = np.where(is_before, at, table.freed_at[at])
        made_ps = np.where(is_before, np.nan, table.time_ps[at])
        freed_ps = np.where(freed_at >= 0, table.time_ps[freed_at], np.nan)
        tensors = self._tensors(at, np.where(is_before, -1, self._steps_of(rows)[at - rows.start]))
        return pd.DataFrame(
            {
                **tensors,
                "op": np.where(is_before, BEFORE_CAPTURE, tensors["op"]),
                "allocation_bytes": table.allocation_bytes[at],
                "allocated_at_ms": made_ps / PS_PER_MS,
                "freed_at_ms": freed_ps / PS_PER_MS,
                "lifetime_ms": (freed_ps - made_ps) / PS_PER_MS,
                "address": table.address[at],
            }
        )

    @STEPS.given_by
    def steps(self, allocator: str) -> pd.DataFrame:
        """What each step did to one allocator between its begin and its end.

        Where a step only gave memory back, `peak_at_ms` is its begin. A step of a session of the profiler in which the
        allocator reports nothing has no row.

        Returns:
            Empty where there are no steps.
        """
        return step_table(self.snapshots, self.snapshots.rows_of(allocator), self.step_spans)

    def growth(self, allocator: str) -> MemoryGrowth:
        """Whether the memory in use at the end of steps keeps growing, which is how a leak shows.

        Returns:
            A `MemoryGrowth`: `.bytes_per_step`, `.is_significant`, `.sentence`.

        Source: a Theil-Sen slope and a Mann-Kendall test.
        """
        steps, rows = self.steps(allocator), self.snapshots.rows_of(allocator)
        spans = pd.Series(self.step_spans.session)
        session = spans[steps["step"]].to_numpy(np.int64)
        order = spans.groupby(spans).cumcount()[steps["step"]].to_numpy()
        steps = steps.assign(step=order)  # rows of the steps table count those of other hosts, too
        peak_bytes = int(self.snapshots.in_use_bytes[rows].max())
        slope, is_significant = measure_growth(steps, session, peak_bytes)
        sentence = "" if np.isnan(slope) else describe_no_growth(steps, peak_bytes)
        if is_significant:
            free_bytes = int(self.snapshots.free_bytes[rows.stop - 1])
            sentence = describe_growth(slope, len(steps), self.unfreed(allocator), free_bytes)
        return MemoryGrowth(slope, len(steps), is_significant, sentence)

    @UNFREED.given_by
    def unfreed(self, allocator: str, after_steps: int = 2) -> pd.DataFrame:
        """Which ops allocate in a step what is still held some steps later: variables and caches once, leaks in every
        step.

        Args:
            allocator: one of `allocators`.
            after_steps: how many steps later, at the end of the step; steps too near to the end of their session of the
                profiler do not count.

        Returns:
            Empty where all is given back in time, or where there are no steps.

        Raises:
            ValueError: `after_steps` is negative.
        """
        if after_steps < 0:
            raise ValueError(f"after_steps={after_steps}: give 0 (the end of the same step) or more")
        rows = self.snapshots.rows_of(allocator)
        n_rows, has_steps = rows.stop - rows.start, len(self.step_spans) > 0
        step = self._steps_of(rows).astype(np.int64) if has_steps else np.full(n_rows, -1, np.int64)
        return unfreed_table(self.snapshots, rows, self.strings, self.step_spans, step, after_steps)

    def _tensors(self, rows: slice | Int64, step: npt.NDArray[np.integer]) -> dict[str, Any]:
        """What some snapshots are about, and their steps."""
        table, strings = self.snapshots, self.strings
        told = {"region": texts(table.region[rows], strings), "dtype": dtype_names(table.dtype[rows])}
        return {"op": texts(table.op[rows], strings), "step": step, **told, "shape": texts(table.shape[rows], strings)}

    def _steps_of(self, rows: slice) -> npt.NDArray[np.integer]:
        """For each of some snapshots its row in the `steps` table; XProf's step id where no steps were given."""
        table = self.snapshots
        event_step = self.event_step
        return table.group_step[rows] if event_step is None else event_step[table.event[rows]].astype(np.int32)


def compute_memory(
    trace: Trace,
    *,
    event_step: SmallInt | None = None,
    steps: pd.DataFrame | None = None,
    grouping: Grouping | None = None,
    machine_bytes: int | None = None,
) -> MemoryProfile:
    snapshots = read_snapshots(trace, grouping or group_events(trace))
    if machine_bytes is not None:
        snapshots = within_machine(snapshots, machine_bytes)
    return MemoryProfile(
        allocators=snapshots.allocators,
        summary=_summary(snapshots),
        snapshots=snapshots,
        strings=trace.strings,
        event_step=event_step,
        step_spans=_spans(steps),
        remedy=memory_remedy(trace, snapshots),
    )


def _memory_of(facts: Any) -> MemoryProfile:
    memory = compute_memory(
        facts.trace,
        event_step=facts.steps.event_step,
        steps=facts.steps.frame,
        grouping=facts.steps.grouping,
        machine_bytes=facts.environment.host_memory_bytes,
    )
    return replace(memory, remedy=None) if facts.unrecorded else memory


def _spans(steps: pd.DataFrame | None) -> StepSpans:
    if steps is None:
        return StepSpans(*(np.empty(0, np.int64) for _ in range(3)))
    session, start, duration = (steps[name].to_numpy(np.int64) for name in ("session", "start_ps", "duration_ps"))
    return StepSpans(session, start, start + duration)


def _summary(table: Snapshots) -> pd.DataFrame:
    rows = []
    for name in table.allocators:  # one turn per allocator
        at = table.rows_of(name)
        peak = find_peak(table, at)
        stack, heap, free = (int(one[peak.row]) for one in (table.stack_bytes, table.heap_bytes, table.free_bytes))
        n_deallocations = int(table.is_free[at].sum())
        is_limited = bool(table.free_bytes[at].any())
        rows.append(
            {
                "allocator": name,
                "n_allocations": at.stop - at.start - n_deallocations,
                "n_deallocations": n_deallocations,
                "capacity_bytes": stack + heap + free if is_limited else 0,
                "peak_heap_bytes": int(table.lifetime_peak_bytes[at].max()),
                "peak_bytes": peak.in_use_bytes,
                "peak_at_ms": float(table.time_ps[peak.row] / PS_PER_MS),
                "stack_bytes": stack,
                "heap_bytes": heap,
                "free_bytes": free,
                "fragmentation_ratio": float(table.fragmentation_ratio[peak.row]),
                "largest_free_bytes": float(table.largest_free_bytes[peak.row]),
            }
        )
    return typed_table(rows, SUMMARY.types)


NEARLY_FULL = 0.90
"""Share of an allocator's memory at its peak from which the next larger batch may not fit."""
FRAGMENTED, FRAGMENTED_FROM = 0.50, 0.50
"""Fragmentation matters where this share of the memory is in use: an allocator that is mostly empty has room anyway."""


def judge_memory(summary: pd.DataFrame) -> tuple[str, ...]:
    """A sentence on each allocator whose peak is close to its capacity or whose free memory is in small pieces."""
    columns = ["allocator", "capacity_bytes", "peak_bytes", "free_bytes", "fragmentation_ratio"]
    sentences = []
    for name, capacity, peak, free, fragmentation in zip(
        *(summary[column].tolist() for column in columns), strict=True
    ):
        if not capacity > 0:  # also of NaN: an allocator without a limit is never full
            continue
        if peak >= NEARLY_FULL * capacity:
            sentences.append(f"{name} is nearly full: {size(peak)} of {size(capacity)} in use at the peak.")
        elif peak >= FRAGMENTED_FROM * capacity and fragmentation >= FRAGMENTED:
            sentences.append(
                f"{name} is fragmented: at the peak {percent(fragmentation)} of its {size(free)} of free memory is in pieces "
                "too small for the largest. TF_GPU_ALLOCATOR=cuda_malloc_async, set before TensorFlow is imported, helps."
            )
    return tuple(sentences)


@dataclass(frozen=True, eq=False, repr=False)
class OpMemory:
    """Bytes by op. `name`, `type`, `allocated_bytes` and `peak_bytes` have one entry per op that allocated."""

    name: tuple[str, ...]
    """Name of the op; "" for allocations that name none."""
    type: tuple[str, ...]
    """Its type where the allocation tells, else ""."""
    allocated_bytes: Int64
    """All that the op allocated in the capture: of devices, where `allocator` is one of a device, else of every allocator."""
    peak_bytes: Int64
    """What of it was in use at the peak of `allocator`."""
    allocator: str
    """See `MemoryTables.main_allocator`."""
    before_capture_bytes: int
    """In use at that peak and not seen being allocated."""
    stack_bytes: int
    """In use at that peak as stack, which no op is charged for."""
    step_bytes: Float64 | None = None
    """Of `allocated_bytes` what the averaged steps did, a step; None where it is not known in which step bytes were allocated."""


def memory_by_op(memory: MemoryProfile, averaged: Bool | None = None) -> OpMemory:
    """Sum the allocations of each op; `peak_bytes`, `before_capture_bytes` and `stack_bytes` add up to the peak."""
    table = memory.snapshots
    if memory.is_empty:
        none = np.empty(0, np.int64)
        return OpMemory((), (), none, none, "", 0, 0)
    allocator = memory.main_allocator
    rows = memory.snapshots.rows_of(allocator)
    peak = find_peak(table, rows).row
    row = np.arange(len(table.event))
    live: Bool = (row >= rows.start) & (row <= peak) & ~table.is_free
    live &= (table.freed_at < 0) | (table.freed_at > peak)
    live &= table.session_id == table.session_id[peak]
    counts = np.array([OF_DEVICE in name or OF_DEVICE not in allocator for name in table.allocators])
    made = ~table.is_free & counts[table.allocator_id]
    ids, code = unique_codes(table.op)
    parsed = parse_op_names([memory.strings[i] if i >= 0 else "" for i in ids.tolist()])
    of_steps = None
    if averaged is not None and averaged.any() and memory.event_step is not None:
        inside = made & np.append(averaged, False)[memory.event_step[table.event]]
        of_steps = sum_by(code[inside], table.allocation_bytes[inside], len(ids)) / int(averaged.sum())
    at_peak = np.where(live, table.allocation_bytes, 0)
    return OpMemory(
        name=parsed.name,
        type=tuple(kind or "" for kind in parsed.type),
        allocated_bytes=sum_by(code[made], table.allocation_bytes[made], len(ids)),
        peak_bytes=sum_by(code, at_peak, len(ids)),
        allocator=allocator,
        before_capture_bytes=int(table.heap_bytes[peak]) - int(at_peak.sum()),
        stack_bytes=int(table.stack_bytes[peak]),
        step_bytes=of_steps,
    )


def _with_growth(memory: MemoryProfile) -> pd.DataFrame:
    growths = [memory.growth(name) for name in memory.allocators]
    return memory.summary.assign(**pd.DataFrame(growths, columns=_GROWTH))


def _ops_that_allocated(by_op: OpMemory) -> pd.DataFrame:
    """Those that travel in their order, then the others."""
    order = np.argsort(-by_op.allocated_bytes, kind="stable")
    names = ["name", "type", "allocated_bytes", "peak_bytes"]
    ops = pd.DataFrame({name: getattr(by_op, name) for name in names}, columns=names)
    return ops.iloc[np.append(np.sort(order[: MOST.ops]), order[MOST.ops :])]


def _main_peak(memory: MemoryProfile, by_op: OpMemory) -> pd.DataFrame:
    own = memory.summary["allocator"] == by_op.allocator
    row = {name: getattr(by_op, name) for name in _NOTHING} | {
        "peak_bytes": int(memory.summary.loc[own, "peak_bytes"].sum())
    }
    return pd.DataFrame([row])[: len(memory.allocators)]


def _of_allocators(memory: MemoryProfile, table: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """The first rows of a table of each allocator, and one of the others."""
    frames = [
        with_rest(table(name), MOST.peak_rows, partial(_other_rows, n_all=len(table(name)))).assign(allocator=row)
        for row, name in enumerate(memory.allocators)
    ]
    return pd.concat(frames, ignore_index=True) if frames else typed_table((), {**PEAK.types, "allocator": int})


def _other_rows(rest: pd.DataFrame, *, n_all: int) -> list[dict[str, object]]:
    total = int(rest["total_bytes"].sum())
    return [
        dict.fromkeys(rest.columns, "")
        | {
            "op": f"{OTHER_OPS} ({len(rest):,} of {n_all:,} rows)",
            "allocation_bytes": total,
            "requested_bytes": int((rest["requested_bytes"] * rest["occurrences"]).sum()),
            "occurrences": 1,
            "total_bytes": total,
        }
    ]


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
    """The memory of all hosts of a reduced profile (not `Profile.has_events`): what `Profile.memory` gives there.

    It has `summary`, `peak`, `held_at_peak` and `growth` of a `MemoryProfile`, which take and raise the same. What needs every
    allocation (`timeline`, `live`, `lifetimes`, `steps`, `unfreed`) raises a `TfProfError` that says which host to open in full.
    """

    place: pd.DataFrame
    """For each row of `summary` the host, and the name of the allocator there."""
    peaks: pd.DataFrame
    held: pd.DataFrame
    by_op: OpMemory

    def __repr__(self) -> str:
        n_hosts = self.place["host"].nunique()
        return f"ReducedMemory({plural(len(self.allocators), 'allocator')} of {plural(n_hosts, 'host')})"

    @PEAK.given_by
    def peak(self, allocator: str | None = None) -> pd.DataFrame:
        """Who held the memory at the peak; of many rows the largest, and one of the others."""
        return self._rows(self.peaks, allocator)

    @HELD_AT_PEAK.given_by
    def held_at_peak(self, allocator: str | None = None) -> pd.DataFrame:
        """Who really held the memory at the peak, likewise."""
        return self._rows(self.held, allocator)

    def growth(self, allocator: str) -> MemoryGrowth:
        """Whether the memory in use at the end of steps keeps growing."""
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
        return own[list(PEAK.names)].reset_index(drop=True)

    def _place(self, allocator: str) -> pd.Series[Any]:
        if allocator not in self.allocators:
            raise no_allocator(allocator, self.allocators)
        return self.place.iloc[self.allocators.index(allocator)]


def merge_memory(sums: HostSums) -> ReducedMemory:
    """Put the allocators of all hosts side by side, under the names that one trace of all would give them."""
    hosts, every, remedy = sums.names, sums.every, sums.summaries[0].memory_remedy
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
