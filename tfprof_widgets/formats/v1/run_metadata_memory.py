"""What executions allocated -> the memory events that the analyses read, and counters of allocators."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .step_stats import AllocatorUse, Execution
from .task_devices import HOST_PLANE, Place
from .trace_builder import TraceBuilder

ALLOCATIONS_LINE = "Allocations"
COUNTERS_LINE = "Counters"


@dataclass(frozen=True, slots=True)
class _Change:
    """Bytes that an op took (or, below 0, gave back)."""

    time_us: int
    n_bytes: int
    address: int
    one: Execution
    shape: str = ""
    dtype: int = 0
    is_output: bool = False


def add_memory(
    builder: TraceBuilder, executions: Iterable[Execution], places: Mapping[str, Place], origin_ns: int
) -> None:
    """Add an event for each record of an allocator, with what was in use after it since the step began.

    Source: `AllocatorMemoryUsed.allocation_records`. They tell neither addresses nor the tensors: what is given back is
    taken for the oldest allocation of the same op and size.
    """
    changes: defaultdict[tuple[str, int, str], list[_Change]] = defaultdict(list)
    n_addresses = 0
    for one in executions:
        host = places[one.device].host
        for use in one.allocators:
            found = _changes(one, use, n_addresses)
            n_addresses += len(found)
            changes[host, one.step, use.name].extend(found)
            if use.in_use_bytes:
                line = builder.line(host, HOST_PLANE, COUNTERS_LINE)
                time_ps = (one.start_us + one.end_rel_us) * 1_000_000 - origin_ns * 1000
                value = {"counter_value": float(use.in_use_bytes)}
                builder.add(line, f"{use.name} bytes in use", time_ps, 0, value)
    for (host, _, allocator), found in changes.items():
        _add_changes(builder, host, allocator, sorted(found, key=lambda change: change.time_us), origin_ns)


def _changes(one: Execution, use: AllocatorUse, n_addresses: int) -> list[_Change]:
    found: list[_Change] = []
    held: defaultdict[int, deque[_Change]] = defaultdict(deque)
    outputs = [tensor for tensor in one.outputs if tensor.shape is not None]
    for time_us, n_bytes in use.records:
        change = _Change(time_us, n_bytes, n_addresses + len(found) + 1, one)
        if n_bytes >= 0:
            of = next((t for t in outputs if n_bytes in (t.allocated_bytes, t.requested_bytes)), None)
            if of is not None and of.shape is not None:
                outputs.remove(of)
                shape = f"[{','.join(map(str, of.shape))}]"
                change = replace(change, shape=shape, dtype=of.dtype, is_output=True)
            held[n_bytes].append(change)
        elif held[-n_bytes]:
            change = replace(held[-n_bytes].popleft(), time_us=time_us, n_bytes=n_bytes)
        found.append(change)
    return found


def _add_changes(builder: TraceBuilder, host: str, allocator: str, changes: list[_Change], origin_ns: int) -> None:
    line = builder.line(host, HOST_PLANE, ALLOCATIONS_LINE)
    in_use = peak = 0
    for change in changes:
        in_use = max(0, in_use + change.n_bytes)
        peak = max(peak, in_use)
        builder.add(
            line,
            "MemoryAllocation" if change.n_bytes >= 0 else "MemoryDeallocation",
            change.time_us * 1_000_000 - origin_ns * 1000,
            0,
            {
                "allocator_name": allocator,
                "requested_bytes": abs(change.n_bytes),
                "allocation_bytes": abs(change.n_bytes),
                "bytes_reserved": 0,
                "bytes_allocated": in_use,
                "bytes_available": 0,
                "peak_bytes_in_use": peak,
                "fragmentation": 0.0,
                "addr": change.address,
                "tf_op": change.one.name,
                "region_type": "output" if change.is_output else "temp",
                "data_type": change.dtype,
                "shape": change.shape,
                "group_id": change.one.step,
            },
        )
