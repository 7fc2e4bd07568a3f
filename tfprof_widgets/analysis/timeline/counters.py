"""Memory, tf.data buffers, device counters and samples of the machine -> `Counters`: what rose and fell during the capture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ...trace.times import MAX_PS
from ...trace.trace import ALLOCATORS_PLANE, Float64, Int64, StatKind, Trace
from ..base.units import PS_PER_MS
from ..input.tf_data import TfData
from ..memory.memory import MemoryProfile

_BUFFERS = {
    "buffered_elements": ("buffer", "elements"),
    "buffered_bytes_MB": ("buffer", "MB"),
    "buffer_limit": ("buffer limit", "elements"),
    "parallelism": ("parallel calls", "calls"),
    "max_batch_results": ("batches ahead", "batches"),
}
"""Stats of tf.data iterators that change while they run -> what they count and its unit."""
_LEVELS = ("buffered_elements", "buffered_bytes_MB")
"""Of these a constant is a finding (a buffer that is always empty); settings are shown only when autotuning changed them."""
_RAM = re.compile(r"(\d+) out of \d+")
_GAUGES = {
    "rss_bytes": ("Memory of this process", "bytes"),
    "memory_available_bytes": ("Memory available", "bytes"),
    "n_threads": ("Threads of this process", "threads"),
    "gpu_memory_bytes": ("GPU memory in use", "bytes"),
}
"""Samples that hold at their moment."""
_LOADS = {
    "cpu_pct": ("CPU, all cores", "%"),
    "process_cpu_pct": ("CPU of this process", "cores"),
    "gpu_pct": ("GPU load", "%"),
}
"""Samples that are the mean since the sample before."""
_OF_A_CORE = ("process_cpu_pct",)
"""Of these 100 is one core."""
_TOTALS = {
    "disk_read_bytes": ("Disk read", "bytes/s"),
    "disk_write_bytes": ("Disk written", "bytes/s"),
    "net_recv_bytes": ("Network received", "bytes/s"),
    "net_sent_bytes": ("Network sent", "bytes/s"),
}
"""Samples that only grow; shown as a rate."""
_SYSTEM_ORDER = (
    *("cpu_pct", "process_cpu_pct", "n_threads", "rss_bytes", "memory_available_bytes", "gpu_pct", "gpu_memory_bytes"),
    *_TOTALS,
)
"""GPUs of their own follow, where there are several, then cores."""
_ONE_GPU = re.compile(r"gpu(\d+)_(pct|memory_bytes)")
_ONE_CORE = re.compile(r"cpu(\d+)_pct")
MAX_CORES = 16
"""Of a machine with more the busiest have a counter, and its name says of how many; `Profile.system` has all."""
MAX_GPUS = 16
"""Likewise the first, as a machine has them."""


@dataclass(frozen=True)
class Counter:
    """One quantity over time: `value[i]` holds from `time_ps[i]` until the next time."""

    name: str
    unit: str
    kind: str
    """`memory`, `input`, `device` or `system`."""
    time_ps: Int64
    """Ascending, after the trace origin; samples of the machine may lie before it."""
    value: Float64
    before: float = float("nan")
    """What it was before the first time; NaN where nobody knows."""


@dataclass(frozen=True, eq=False, repr=False)
class Counters:
    """Everything of the capture that rose and fell."""

    counters: tuple[Counter, ...]
    """Memory by allocator first, then tf.data from the consumer to its sources, devices, the machine. Names are unique."""

    def __repr__(self) -> str:
        return f"Counters({len(self.counters)} of {len(self)} values)"

    def __len__(self) -> int:
        return sum(len(counter.time_ps) for counter in self.counters)

    @cached_property
    def offsets(self) -> Int64:
        """The values of counter `k` are rows `offsets[k]:offsets[k + 1]` of all values, one counter after the other."""
        return np.cumsum([0, *(len(counter.time_ps) for counter in self.counters)], dtype=np.int64)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per value: `counter, unit` (categories), `time_ms, value`; by counter, then time. Empty when there is none."""
        sizes = np.diff(self.offsets)
        units = [counter.unit for counter in self.counters]
        kinds = sorted(set(units))
        codes = np.repeat(np.arange(len(units)), sizes)
        unit_of = np.array([kinds.index(unit) for unit in units], np.int64)
        time_ps = np.concatenate([np.empty(0, np.int64), *(counter.time_ps for counter in self.counters)])
        return pd.DataFrame(
            {
                "counter": pd.Categorical.from_codes(codes, pd.Index([counter.name for counter in self.counters])),
                "unit": pd.Categorical.from_codes(np.repeat(unit_of, sizes), pd.Index(kinds)),
                "time_ms": time_ps / PS_PER_MS,
                "value": np.concatenate([np.empty(0), *(counter.value for counter in self.counters)]),
            }
        )


def compute_counters(
    trace: Trace, memory: MemoryProfile, tf_data: TfData, system: pd.DataFrame | None = None
) -> Counters:
    """Collect the counters of a capture; those without a value are left out.

    Args:
        trace: the trace.
        memory: its allocators.
        tf_data: its iterators, whose calls carry the sizes of their buffers.
        system: samples of the machine with `time_ms` after the trace origin, the columns of `Profile.system`.
    """
    found = [
        *_of_memory(memory),
        *_of_input(trace, tf_data),
        *_of_devices(trace, memory.allocators),
        *_of_system(system),
    ]
    names = _distinct([counter.name for counter in found])
    return Counters(
        tuple(
            Counter(name, counter.unit, counter.kind, counter.time_ps, counter.value, counter.before)
            for name, counter in zip(names, found, strict=True)
            if len(counter.time_ps)
        )
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that come again get a number."""
    seen: dict[str, int] = {}
    result = []
    for name in names:  # bounded by the number of counters
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return result


def _of_memory(memory: MemoryProfile) -> Iterator[Counter]:
    """Bytes in use, stack and heap, of each allocator after every memory event."""
    snapshots = memory.snapshots
    in_use = snapshots.in_use_bytes.astype(np.float64)
    for allocator in snapshots.allocators:
        rows = snapshots.rows_of(allocator)
        if rows.start == rows.stop:
            continue
        # The first event reports the state after it, so it is undone.
        change = float(snapshots.allocation_bytes[rows.start])
        before = float(in_use[rows.start]) + (change if snapshots.is_free[rows.start] else -change)
        yield Counter(allocator, "bytes", "memory", snapshots.time_ps[rows], in_use[rows], max(0.0, before))


def _of_input(trace: Trace, tf_data: TfData) -> Iterator[Counter]:
    """What the calls of tf.data iterators say of their buffers and of what autotuning set."""
    event = tf_data.calls["event"].to_numpy(np.int64)
    iterator = tf_data.calls["iterator"].to_numpy(np.int64)
    short = _short_names(tf_data)
    order = np.lexsort((trace.start_ps[event], iterator)) if len(event) else np.empty(0, np.int64)
    event, iterator = event[order], iterator[order]
    for key, (what, unit) in _BUFFERS.items():
        value = trace.int_stat(key, default=-1)[event] if key in trace.string_ids else np.empty(0, np.int64)
        known = np.flatnonzero(value >= 0)
        found, first = np.unique(iterator[known], return_index=True)
        own_rows = np.split(known, first)[1:]
        for one, rows in zip(found.tolist(), own_rows, strict=True):  # bounded by the number of iterators
            own = value[rows].astype(np.float64)
            if key not in _LEVELS and (own == own[0]).all():
                continue
            if key == "buffered_bytes_MB" and not own.any():  # whole megabytes: small elements are always 0
                continue
            yield Counter(f"{short[one]} {what}", unit, "input", trace.start_ps[event[rows]], own)
    yield from _machine_memory(trace)


def _short_names(tf_data: TfData) -> dict[int, str]:
    """For each iterator the shortest end of its path that no other iterator's path has."""
    paths = {
        int(id_): [str(pipeline), *str(long).removeprefix("Iterator::").split("::")]
        for id_, pipeline, long in zip(
            *(tf_data.iterators[name].tolist() for name in ("id", "pipeline", "long_name")), strict=True
        )
    }
    ends: dict[tuple[str, ...], int] = {}
    for path in paths.values():  # bounded by the iterators and the depth of their paths
        for length in range(1, len(path) + 1):
            end = tuple(path[-length:])
            ends[end] = ends.get(end, 0) + 1
    names = {}
    for id_, path in paths.items():
        length = next((k for k in range(1, len(path)) if ends[tuple(path[-k:])] == 1), len(path) - 1)
        names[id_] = "::".join(path[-length:])
    return names


def _machine_memory(trace: Trace) -> Iterator[Counter]:
    """Memory of the machine in use, which tf.data notes with each call of a root iterator: "2473 out of 25276 (9.78%)"."""
    events = np.unique(trace.keyed_stats("ram_usage_megabytes").event)
    if not len(events):
        return
    text, place = np.unique(trace.string_stat("ram_usage_megabytes")[events], return_inverse=True)
    matches = [_RAM.match(trace.strings[i]) if i >= 0 else None for i in text.tolist()]
    used = np.array([float(match[1]) if match else np.nan for match in matches])[place]
    rows = np.flatnonzero(np.isfinite(used))
    rows = rows[np.argsort(trace.start_ps[events[rows]], kind="stable")]
    yield Counter("Machine memory in use", "MB", "system", trace.start_ps[events[rows]], used[rows])


def _of_devices(trace: Trace, allocators: Sequence[str]) -> Iterator[Counter]:
    """Counters that the profiler of a device wrote as events with a `counter_value`, and those of old timelines.

    Their allocators are left out where the memory profile has the same ones, with each allocation and its op.
    """
    counts = trace.keyed_stats("counter_value")
    events, bits = counts.event, counts.bits
    if not len(events):
        return
    value = np.where(counts.kind == StatKind.DOUBLE, bits.view(np.float64), bits.view(np.int64))
    key = trace.plane_id[events].astype(np.int64) * len(trace.strings) + trace.name_id[events]
    order = np.lexsort((trace.start_ps[events], key))
    events, value, key = events[order], value[order].astype(np.float64), key[order]
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    unit = trace.string_stat("counter_unit")
    for low, high in zip(starts, np.append(starts[1:], len(key)), strict=True):  # one turn per counter
        plane = trace.planes[trace.plane_id[events[low]]].name.removeprefix("/device:")
        own_name = trace.strings[trace.name_id[events[low]]]
        if plane == ALLOCATORS_PLANE and own_name in allocators:
            continue
        name = f"{plane} {own_name}"
        finite = np.isfinite(value[low:high])
        told = trace.strings[unit[events[low]]] if unit[events[low]] >= 0 else ""
        yield Counter(name, told, "device", trace.start_ps[events[low:high]][finite], value[low:high][finite])


def _of_system(system: pd.DataFrame | None) -> Iterator[Counter]:
    """CPU, memory, disk, network and GPU as sampled; loads and rates begin with the time that they are the mean of."""
    if system is None or system.empty:
        return
    time_ps = np.round(system["time_ms"].to_numpy(np.float64) * PS_PER_MS).clip(-MAX_PS, MAX_PS).astype(np.int64)
    seconds = np.diff(time_ps) / 1e12
    for column, name, unit in _system_columns(system):
        sample = system[column].to_numpy(np.float64)
        time, value = time_ps, sample
        if column in _TOTALS:
            time, value = time_ps[:-1], np.diff(sample) / np.where(seconds > 0, seconds, np.nan)
        elif column.endswith("_pct"):
            time, value = time_ps[:-1], sample[1:] / (100 if column in _OF_A_CORE else 1)
        known = np.isfinite(value)
        yield Counter(name, unit, "system", time[known], value[known])


def _system_columns(system: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Which samples are shown, with the name and unit of each."""
    kinds = _GAUGES | _LOADS | _TOTALS
    for column in _SYSTEM_ORDER:
        if column in system:
            yield column, *kinds[column]
    columns = [str(column) for column in system.columns]
    gpus = [match for match in map(_ONE_GPU.fullmatch, columns) if match]
    numbers = list(dict.fromkeys(match[1] for match in gpus))
    # One GPU alone is what the mean and the sum are of.
    for match in gpus if len(numbers) > 1 else ():
        if match[1] in numbers[:MAX_GPUS]:
            what, unit = ("load", "%") if match[2] == "pct" else ("memory in use", "bytes")
            yield match[0], f"GPU {match[1]} {what}{_share(MAX_GPUS, len(numbers), 'GPUs')}", unit
    cores = [match for match in map(_ONE_CORE.fullmatch, columns) if match]
    load = {match[0]: float(np.nan_to_num(system[match[0]].to_numpy(np.float64)).mean()) for match in cores}
    busiest = sorted(load, key=lambda column: -load[column])[:MAX_CORES]
    for match in cores:
        if match[0] in busiest:
            yield match[0], f"CPU core {match[1]}{_share(MAX_CORES, len(cores), 'cores')}", "%"


def _share(limit: int, count: int, what: str) -> str:
    return f" ({limit} of {count} {what})" if count > limit else ""
