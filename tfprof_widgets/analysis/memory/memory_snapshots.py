"""Trace -> `Snapshots`: one row per memory allocation or deallocation, in time order, paired with what ended it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...trace.dtypes import MISSING
from ...trace.trace import StatKind, Trace
from ..base.grouping import Grouping

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

HOST_PLANE = "/host:CPU"
ALLOCATION = "MemoryAllocation"
DEALLOCATION = "MemoryDeallocation"
MOST_BYTES = 2**47
"""No allocator has more; what a damaged trace tells beyond counts as this, so that sums stay whole."""
_STATS = {
    "requested_bytes": "requested_bytes",
    "allocation_bytes": "allocation_bytes",
    "stack_bytes": "bytes_reserved",
    "heap_bytes": "bytes_allocated",
    "free_bytes": "bytes_available",
    "lifetime_peak_bytes": "peak_bytes_in_use",
}
"""The stat that each column is read from."""


@dataclass(frozen=True, eq=False, repr=False)
class Snapshots:
    """Memory events of all allocators as columns of equal length, sorted by (allocator, time).

    Byte counts are after the event. `op`, `region` and `shape` are indices into `Trace.strings`, -1 where the event
    does not say; those of a deallocation are those of the allocation it ends, where that is in the capture.
    """

    allocators: tuple[str, ...]
    """Names, sorted; prefixed with the host where more than one host recorded memory."""
    allocator_offsets: Int64
    """The snapshots of allocator `k` are rows `allocator_offsets[k]:allocator_offsets[k + 1]`."""
    event: Int32
    """Row in the trace."""
    allocator_id: Int32
    session_id: Int32
    time_ps: Int64
    is_free: Bool
    fragmentation_ratio: Float64
    requested_bytes: Int64
    """What was asked for."""
    allocation_bytes: Int64
    """What was given."""
    stack_bytes: Int64
    """Reserved by the program."""
    heap_bytes: Int64
    """Allocated."""
    free_bytes: Int64
    """Left to the allocator."""
    lifetime_peak_bytes: Int64
    """The allocator's own highest mark since the process began, as the event reports it."""
    address: Int64
    """Where the memory lies."""
    group_step: Int64
    """XProf's step id: the group id; an event without one gets the last one seen plus 1 (semantics 7.3)."""
    freed_at: Int64
    """For an allocation the row where its address is given back (or handed out again, if that was lost); else -1."""
    op: Int32
    region: Int32
    dtype: Int32
    """TensorFlow's `DataType` number, -1 where the event does not say."""
    shape: Int32

    @property
    def in_use_bytes(self) -> Int64:
        """Stack and heap together."""
        return self.stack_bytes + self.heap_bytes

    def rows_of(self, allocator: str) -> slice:
        """The rows of one allocator.

        Raises:
            KeyError: no such allocator; the message names those there are.
        """
        k = bisect_left(self.allocators, allocator)
        if k == len(self.allocators) or self.allocators[k] != allocator:
            raise no_allocator(allocator, self.allocators)
        return slice(int(self.allocator_offsets[k]), int(self.allocator_offsets[k + 1]))


def no_allocator(name: str, allocators: tuple[str, ...]) -> KeyError:
    """The error for a name that no allocator has; it tells those there are."""
    known = ", ".join(allocators) or "none: the capture holds no memory events"
    return KeyError(f"no allocator {name!r}; there are: {known}")


def read_snapshots(trace: Trace, grouping: Grouping) -> Snapshots:
    """Collect the memory events of `/host:CPU` planes.

    Args:
        trace: the trace.
        grouping: the groups of its events, whose numbers are XProf's step ids.

    Source: semantics 7.1. Integer stats are read from the int64 field only, as XProf does.
    """
    event, allocators, allocator_id = _memory_events(trace)
    is_free = trace.names_matching((DEALLOCATION,))[event]

    ascending = np.sort(event, kind="stable")
    place = np.searchsorted(ascending, event)

    def integer(key: str, default: int = 0) -> Int64:
        found = trace.keyed_stats(key)
        if np.array_equal(found.event, ascending) and (found.kind == StatKind.INT64).all():
            return found.bits.view(np.int64)[place]  # spares a column as long as the trace
        return trace.int_stat(key, default=default, signed_only=True)[event]

    address, session_id = integer("addr"), trace.session_id[event]
    number = np.append(grouping.groups["number"].to_numpy(np.int64), -1)
    freed_at, source = _pair(session_id, allocator_id, address, is_free)
    return Snapshots(
        allocators=allocators,
        allocator_offsets=np.searchsorted(allocator_id, np.arange(len(allocators) + 1)).astype(np.int64),
        event=event.astype(np.int32),
        allocator_id=allocator_id,
        session_id=session_id,
        time_ps=trace.start_ps[event],
        is_free=is_free,
        fragmentation_ratio=trace.float_stat("fragmentation", default=0.0)[event],
        **{name: np.clip(integer(key), -MOST_BYTES, MOST_BYTES) for name, key in _STATS.items()},
        address=address,
        group_step=_fill_steps(session_id, allocator_id, number[grouping.group_id[event]]),
        freed_at=freed_at,
        op=trace.string_stat("tf_op")[event][source],
        region=trace.string_stat("region_type")[event][source],
        dtype=integer("data_type", MISSING).astype(np.int32)[source],
        shape=trace.string_stat("shape")[event][source],
    )


def _memory_events(trace: Trace) -> tuple[Int64, tuple[str, ...], Int32]:
    """Rows of the memory events by allocator and time, the names of the allocators, and the one each is about."""
    found = trace.names_matching((ALLOCATION, DEALLOCATION))
    event = np.flatnonzero(found & trace.on_planes([plane.name == HOST_PLANE for plane in trace.planes]))
    allocators, allocator_id = _allocators(trace, event)
    order = np.lexsort((event, trace.start_ps[event], allocator_id))
    return event[order], allocators, allocator_id[order]


def _allocators(trace: Trace, event: Int64) -> tuple[tuple[str, ...], Int32]:
    """Names of the allocators and, for each event, which one it is about (the last of the stats that name one wins)."""
    text = trace.string_stat("allocator_name")[event].astype(np.int64)
    number, is_number = np.zeros(len(event), np.int64), np.zeros(len(event), np.bool_)
    numbered = [key for key in ("index_on_host", "device_ordinal") if trace.has_stat(key)[event].any()]
    stats = trace.stats.of(event if numbered else event[:0])
    owner = np.repeat(np.arange(len(stats.n)), stats.n)

    def last_row(key: str) -> Int64:
        """For each event its last stat of this name; -1 for none."""
        column, rows = np.full(len(event), -1, np.int64), np.flatnonzero(stats.key == trace.string_ids.get(key, -1))
        column[owner[rows]] = rows
        return column

    last = last_row("allocator_name")
    for key in numbered:
        row = last_row(key)
        number = np.where(row > last, trace.int_stat(key, signed_only=True)[event], number)
        is_number |= row > last
        last = np.maximum(row, last)
    host_names = sorted({plane.host for plane in trace.planes})
    plane_host = np.array([host_names.index(plane.host) for plane in trace.planes], np.int64)
    host = plane_host[trace.plane_id[event]]
    value = np.where(is_number, number, text)
    values = np.unique(value)
    # One number from host, kind and value; of these there are few, so that searching beats sorting all events.
    code = (host * 2 + is_number) * len(values) + np.searchsorted(values, value)
    codes = np.unique(code)
    several = len(np.unique(host)) > 1
    names = []
    for key in codes.tolist():  # one turn per allocator
        origin, at = divmod(key, len(values))
        told = int(values[at])
        name = str(told) if origin % 2 else (trace.strings[told] if told >= 0 else "")
        names.append(f"{host_names[origin // 2]}: {name}" if several else name)
    ordered = tuple(sorted(set(names)))
    number_of = {name: k for k, name in enumerate(ordered)}
    place = np.array([number_of[name] for name in names], np.int32)
    return ordered, place[np.searchsorted(codes, code)] if len(event) else np.empty(0, np.int32)


def _pair(session_id: Int32, allocator_id: Int32, address: Int64, is_free: Bool) -> tuple[Int64, Int64]:
    """For each allocation the next row about its address, and for each row the row that knows its op, region and shape.

    An address is looked at within one session and allocator. A deallocation that follows an allocation takes its
    description from the first allocation since the deallocation before it: a second allocation of a live address means
    that a deallocation was lost, and XProf keeps the first (semantics 7.3).
    """
    n = len(address)
    order = np.lexsort((np.arange(n), address, allocator_id, session_id))
    keys = np.stack([session_id.astype(np.int64), allocator_id.astype(np.int64), address])[:, order]
    same = np.zeros(n, np.bool_)  # is about the same address as the row before it
    same[1:] = (keys[:, 1:] == keys[:, :-1]).all(axis=0)
    free = is_free[order]
    after_allocation = same & ~np.concatenate([[True], free[:-1]])
    freed_at, source = np.full(n, -1, np.int64), np.arange(n)
    ended = np.flatnonzero(same) - 1
    ended = ended[~free[ended]]
    freed_at[order[ended]] = order[ended + 1]
    head = ~free & ~after_allocation
    head_place = np.maximum.accumulate(np.where(head, np.arange(n), 0)) if n else np.empty(0, np.int64)
    matched = np.flatnonzero(free & after_allocation)
    source[order[matched]] = order[head_place[matched]]
    return freed_at, source


def _fill_steps(session_id: Int32, allocator_id: Int32, group_id: Int64) -> Int64:
    """Group ids in time order, with -1 replaced by the last one plus 1 (0 at the start of each allocator's session)."""
    n = len(group_id)
    if not n:
        return group_id
    first = np.ones(n, np.bool_)
    first[1:] = (session_id[1:] != session_id[:-1]) | (allocator_id[1:] != allocator_id[:-1])
    start = np.maximum.accumulate(np.where(first, np.arange(n), 0))
    known = np.maximum.accumulate(np.where(group_id >= 0, np.arange(n), -1))
    last_valid = np.where(known >= start, group_id[np.maximum(known, 0)], -1)
    return np.where(group_id >= 0, group_id, last_valid + 1)
