"""`MemoryProfile` -> bytes by the op that allocated them: over the whole capture, and live at the highest peak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Float64, Int64
from ..base.matching import sum_by, unique_codes
from ..base.op_names import parse_op_names
from ..memory.memory import OF_DEVICE, MemoryProfile
from ..memory.memory_live import find_peak
from ..memory.memory_snapshots import Snapshots


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
    """Sum the allocations of each op; `peak_bytes`, `before_capture_bytes` and `stack_bytes` add up to the peak.

    Args:
        memory: the allocations.
        averaged: for each step whether averages are over it.
    """
    table = memory.snapshots
    if memory.is_empty:
        none = np.empty(0, np.int64)
        return OpMemory((), (), none, none, "", 0, 0)
    allocator = memory.main_allocator
    rows = memory.snapshots.rows_of(allocator)
    peak = find_peak(table, rows).row
    live = _live_at(table, rows, peak)
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


def _live_at(table: Snapshots, rows: slice, now: int) -> Bool:
    """Which rows are allocations of one allocator that are in use just after row `now` of it."""
    row = np.arange(len(table.event))
    live: Bool = (row >= rows.start) & (row <= now) & ~table.is_free
    live &= (table.freed_at < 0) | (table.freed_at > now)
    live &= table.session_id == table.session_id[now]
    return live
