"""Trace -> allocations in time order, each with what freed it; what was live at a moment; memory of each step."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Float64, Int32, Int64
from ...trace.stats import ranges
from ...trace.trace import MISSING, StatKind, Trace, dtype_name
from ..common import PS_PER_MS, typed_table, unique_codes
from ..grouping import Grouping
from ..table import table

PEAK = table(
    """
    memory.peak: allocations of one op and tensor that lived at the peak, largest first
        op                text  that allocated it
        allocation_bytes  int   that the allocator gave for one
        requested_bytes   int   that the op asked for one
        occurrences       int   how many there are
        *tensor
        total_bytes       int   of all of them, as given
    """,
    file="memory_peak",
    file_has="allocator",
    read=lambda results: of_each_allocator(results.memory, "peak"),
)

HELD_AT_PEAK = table("""
    memory.held_at_peak: allocations of one op and tensor that were in use at the peak
        *memory.peak
""")

STEPS = table("""
    memory.steps: what a step did to the allocator
        step             int    row of the steps table
        peak_bytes       int    most in use, stack and heap
        peak_at_ms       float  the last time it was that high, after the trace origin
        start_bytes      int    in use at its begin
        end_bytes        int    in use at its end
        growth_bytes     int    their difference
        n_allocations    int    during the step
        allocated_bytes  int    during the step
""")


def of_each_allocator(memory: Any, name: str) -> pd.DataFrame:
    """A table of each allocator, one below the other, with its name in front."""
    parts = [getattr(memory, name)(allocator).assign(allocator=allocator) for allocator in memory.allocators]
    if not parts:
        return pd.DataFrame()
    joined: pd.DataFrame = pd.concat(parts, ignore_index=True)
    joined.insert(0, "allocator", joined.pop("allocator"))
    return joined


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
    """Memory events of all allocators as columns of equal length, by (allocator, time), bytes after the event; `op`, `region` and
    `shape` index `Trace.strings`, -1 unknown."""

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
    allocation_bytes: Int64
    stack_bytes: Int64
    """Reserved by the program."""
    heap_bytes: Int64
    free_bytes: Int64
    lifetime_peak_bytes: Int64
    """The allocator's own highest mark since the process began, as the event reports it."""
    address: Int64
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

    @property
    def capacity_bytes(self) -> Int64:
        """In use and free together."""
        return self.in_use_bytes + self.free_bytes

    @cached_property
    def _allocated_at(self) -> Int64:
        """For each deallocation the row of the latest allocation of its address, -1 where that was not seen."""
        made = np.full(len(self.event), -1, np.int64)
        allocations = np.flatnonzero(self.freed_at >= 0)
        made[self.freed_at[allocations]] = allocations
        return np.where(self.is_free, made, -1)

    @property
    def has_owner(self) -> Bool:
        """Of deallocations whether the allocation was seen."""
        return self._allocated_at >= 0

    @cached_property
    def as_allocated(self) -> Bool:
        """Deallocations that are told in all as their allocations."""
        made = self._allocated_at
        columns = [getattr(self, name) for name in _GROUP]
        same: Bool = np.all([column == column[made] for column in columns], axis=0)
        return (made >= 0) & same

    @cached_property
    def taken_bytes(self) -> Float64:
        """What the allocator has taken from its device, of which the fragmentation is told; NaN where it cannot be found."""
        taken = np.full(len(self.event), np.nan)
        for low, high in pairwise(self.allocator_offsets.tolist()):  # one turn per allocator
            rows, most = slice(low, high), self.capacity_bytes[low:high]
            found = find_taken(self.heap_bytes[rows], self.fragmentation_ratio[rows])
            taken[rows] = np.where(np.abs(found - most) <= TAKEN_GRAIN, most, found)
        return np.where((taken >= self.in_use_bytes) & (taken <= self.capacity_bytes), taken, np.nan)

    @cached_property
    def largest_free_bytes(self) -> Float64:
        """At most so much of the free bytes lies in one piece: of what the allocator has taken, else of all."""
        with np.errstate(invalid="ignore"):  # a broken trace may tell an infinite fragmentation
            return self._free_of_taken * (1 - self.fragmentation_ratio)

    @property
    def _free_of_taken(self) -> Float64:
        return np.where(np.isnan(self.taken_bytes), self.capacity_bytes, self.taken_bytes) - self.in_use_bytes

    @property
    def rounded_piece_bytes(self) -> Float64:
        """The same as exactly as the fragmentation is told, so that it changes where the piece does; 0 where it is no number."""
        slack = np.abs(self._free_of_taken) * told_slack(self.fragmentation_ratio)
        grain = 2.0 ** np.ceil(np.log2(2 * slack + 256))
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.rint(self.largest_free_bytes / grain) * grain, nan=0.0, posinf=0.0, neginf=0.0)

    def rows_of(self, allocator: str) -> slice:
        k = bisect_left(self.allocators, allocator)
        if k == len(self.allocators) or self.allocators[k] != allocator:
            raise no_allocator(allocator, self.allocators)
        return slice(int(self.allocator_offsets[k]), int(self.allocator_offsets[k + 1]))


TAKEN_GRAIN = 2 * 2**20
"""GPUs give memory in whole numbers of these."""
_FEWEST_VOTES = 4
_DIGITS = 6
"""That the fragmentation is told in."""


def told_slack(fragmentation: Float64) -> Float64:
    """By how much the last digit may be off."""
    size = np.nan_to_num(np.clip(np.abs(fragmentation), 1e-12, 1.0), nan=1.0)
    return np.asarray(10.0 ** (np.floor(np.log10(size)) - _DIGITS + 1) / 2)


def find_taken(heap: Int64, fragmentation: Float64) -> float:
    """What an allocator has taken from its device; NaN where its events do not tell.

    As long as its largest free piece, (1 - fragmentation) (taken - heap), stays the same, two events that tell different
    fragmentations tell what is taken: of all pairs in a row most must say the same.
    """
    part, slack = 1 - fragmentation, told_slack(fragmentation)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        change = np.diff(part)
        taken = np.diff(part * heap) / change
        error = np.abs(taken - heap[1:]) * (slack[1:] + slack[:-1]) / np.abs(change)
        votes = np.rint(taken[error < TAKEN_GRAIN / 4] / TAKEN_GRAIN)
    found, count = np.unique(votes, return_counts=True)
    if count.max(initial=0) < max(_FEWEST_VOTES, len(votes) / 2):
        return float("nan")
    return float(found[count.argmax()]) * TAKEN_GRAIN


def no_allocator(name: str, allocators: tuple[str, ...]) -> KeyError:
    known = ", ".join(allocators) or "none: the capture holds no memory events"
    return KeyError(f"no allocator {name!r}; there are: {known}")


def read_snapshots(trace: Trace, grouping: Grouping) -> Snapshots:
    """Collect the memory events of `/host:CPU` planes, of integer stats the int64 field as in XProf. Source: semantics 7.1."""
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
    """For each allocation the next row about its address, and for each row the row with its op and shape (semantics 7.3)."""
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


BEFORE_CAPTURE = "allocated before the capture"
"""The op of the row that stands for bytes in use whose allocation is not in the capture."""
OF_OTHER_STEPS = "allocated in other steps or before the capture"
"""The op of the row of bytes in use at the peak from other steps, "unused preallocated device memory" in XProf."""
STACK = "stack"
NOT_RECORDED = "op not recorded"
"""Whose allocation names no op, such as arrays that became tensors."""
BY_XLA = "allocated by XLA (op unknown)"
"""The same where programs of XLA ran, which allocate without naming ops."""
_GROUP = ["allocation_bytes", "requested_bytes", "op", "region", "dtype", "shape"]
_NUMBERS = frozenset(("allocation_bytes", "requested_bytes", "occurrences"))
_COLUMNS = ["op", "allocation_bytes", "requested_bytes", "occurrences", "region", "dtype", "shape", "total_bytes"]


@dataclass(frozen=True)
class Peak:
    """The moment at which an allocator's stack and heap are largest."""

    row: int
    """Row in `Snapshots`: of equal maxima the last in line order, as XProf takes it."""
    in_use_bytes: int
    step: int
    """XProf's step id of the last maximum in time order."""


def unknown_op(hlo_ops: pd.DataFrame) -> str:
    """What an allocation that names no op is called in a run of these HLO ops."""
    return NOT_RECORDED if hlo_ops.empty else BY_XLA


def find_peak(snapshots: Snapshots, rows: slice) -> Peak:
    """The peak among the (at least one) snapshots of one allocator. Source: semantics 7.2 and 7.3."""
    in_use = snapshots.in_use_bytes[rows]
    top = int(in_use.max())
    at_top = np.flatnonzero(in_use == top) + rows.start
    row = int(at_top[np.argmax(snapshots.event[at_top])])
    return Peak(row=row, in_use_bytes=top, step=int(snapshots.group_step[at_top[-1]]))


def peak_table(snapshots: Snapshots, rows: slice, strings: tuple[str, ...]) -> pd.DataFrame:
    """Who holds the memory at the peak of one allocator, by allocations of the peak's step alone. Source: semantics 7.3."""
    peak = find_peak(snapshots, rows)
    within = np.arange(rows.start, rows.stop)
    within = within[
        (snapshots.time_ps[rows] <= snapshots.time_ps[peak.row])
        & (snapshots.group_step[rows] == peak.step)
        & (snapshots.session_id[rows] == snapshots.session_id[peak.row])
    ]
    order = np.lexsort((within, snapshots.address[within]))
    row, free = within[order], snapshots.is_free[within[order]]
    address = snapshots.address[row]
    follows = np.zeros(len(row), np.bool_)
    follows[1:] = address[1:] == address[:-1]
    is_last = np.ones(len(row), np.bool_)
    is_last[:-1] = ~follows[1:]
    orphan = free & ~(follows & ~np.concatenate([[True], free[:-1]])) if len(row) else free
    size = snapshots.allocation_bytes[row]
    heap = int(snapshots.heap_bytes[peak.row])
    unmapped = heap - int(size[~free].sum()) + int(size[free].sum()) - int(size[orphan].sum())
    special = {(OF_OTHER_STEPS, "persist/dynamic"): unmapped, (STACK, STACK): int(snapshots.stack_bytes[peak.row])}
    return _table(snapshots, np.sort(row[is_last & ~free]), strings, special)


def live_table(snapshots: Snapshots, rows: slice, strings: tuple[str, ...], *, at_ps: int) -> pd.DataFrame:
    """The live set of one allocator at a time, of all steps. Differs from XProf: its table has only the peak's step."""
    time_ps = snapshots.time_ps[rows]
    n_before = int(np.searchsorted(time_ps, at_ps, side="right"))
    now = rows.start + max(n_before - 1, 0)
    heap, stack = int(snapshots.heap_bytes[now]), int(snapshots.stack_bytes[now])
    if n_before == 0:  # undo the first event: what it reports is the state after it
        heap += int(snapshots.allocation_bytes[now]) * (1 if snapshots.is_free[now] else -1)
    seen = np.arange(rows.start, rows.start + n_before)
    ended = snapshots.freed_at[seen]
    alive = ~snapshots.is_free[seen] & ((ended < 0) | (ended > now))
    alive &= snapshots.session_id[seen] == snapshots.session_id[now]
    live = seen[alive]
    remainder = heap - int(snapshots.allocation_bytes[live].sum())
    return _table(snapshots, live, strings, {(BEFORE_CAPTURE, "unknown"): remainder, (STACK, STACK): stack})


def _table(
    snapshots: Snapshots, rows: Int64, strings: tuple[str, ...], special: Mapping[tuple[str, str], int]
) -> pd.DataFrame:
    """Merge equal allocations, add special rows, sort as XProf does: largest first, then by name; pandas only at the end.

    `special` has bytes by op and region, of which there is a row where there are any.
    """
    codes = tuple(getattr(snapshots, name)[rows] for name in _GROUP)
    first, count = _distinct_rows(codes)
    size, requested, op, region, dtype, shape = (column[first] for column in codes)
    named = [texts(op, strings), texts(region, strings), dtype_names(dtype), texts(shape, strings)]
    merged = zip(size.tolist(), requested.tolist(), *(column.tolist() for column in named), count.tolist(), strict=True)
    more = [(size, size, *told, "INVALID", "unknown", 1) for told, size in special.items() if size > 0]
    table = sorted([*merged, *more], key=_largest_first)
    columns = list(zip(*table, strict=True)) or [()] * (len(_GROUP) + 1)
    found = {
        name: _numbers(column) if name in _NUMBERS else np.array(column, np.object_)
        for name, column in zip((*_GROUP, "occurrences"), columns, strict=True)
    }
    found["total_bytes"] = found["allocation_bytes"] * found["occurrences"]
    return pd.DataFrame({name: found[name] for name in _COLUMNS})


def _distinct_rows(columns: tuple[npt.NDArray[np.integer], ...]) -> tuple[Int64, Int64]:
    """The first of each group of rows that are equal in all columns, ascending, and how many rows are in its group."""
    order = np.lexsort(columns)
    is_new = np.ones(len(order), np.bool_)
    if len(order):
        is_new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    begin = np.flatnonzero(is_new)
    count = np.diff(np.append(begin, len(order)))
    by_row = np.argsort(order[begin])
    return order[begin][by_row], count[by_row]


def _numbers(values: tuple[int, ...]) -> npt.NDArray[Any]:
    """Integers of 64 bits; what a damaged trace adds up to beyond those is the nearest double."""
    fits = max(values, default=0) < 2**63
    return np.array(values, np.int64 if fits else np.float64)


def _largest_first(row: tuple[Any, ...]) -> tuple[Any, ...]:
    size, requested, *named, _ = row
    return (-size, -requested, *named)


def texts(ids: npt.NDArray[np.integer], strings: tuple[str, ...]) -> npt.NDArray[np.object_]:
    unique, code = unique_codes(ids)
    return np.array([strings[i] if i >= 0 else "" for i in unique.tolist()], np.object_)[code]


def dtype_names(codes: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Names for dtype numbers, empty for a missing one."""
    unique, code = unique_codes(codes)
    return np.array([dtype_name(one) for one in unique.tolist()], np.object_)[code]


@dataclass(frozen=True)
class StepSpans:
    """When each row of the `steps` table began and ended, after the trace origin, and in which session."""

    session: Int64
    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.session)


@dataclass(frozen=True)
class Levels:
    """The bytes in use of one allocator in one session, as they changed."""

    row: Int64
    """Rows in `Snapshots`, in time order."""
    time_ps: Int64
    """When the level became `in_use_bytes[i + 1]`."""
    in_use_bytes: Int64
    """One more than rows: the first is the level before the first event."""


def session_levels(snapshots: Snapshots, rows: slice) -> dict[int, Levels]:
    """The levels of one allocator by session; what one session ends with says nothing about the next."""
    session = snapshots.session_id[rows].astype(np.int64)
    found = {}
    for key in np.unique(session).tolist():  # one turn per session
        row = np.flatnonzero(session == key) + rows.start
        in_use, first = snapshots.in_use_bytes[row], row[:1]
        size = snapshots.allocation_bytes[first]
        before = in_use[:1] + np.where(snapshots.is_free[first], size, -size)
        found[key] = Levels(row, snapshots.time_ps[row], np.concatenate([before, in_use]))
    return found


def step_table(snapshots: Snapshots, rows: slice, spans: StepSpans) -> pd.DataFrame:
    """One row per step of a session in which the allocator reports, with the columns of `MemoryProfile.steps`."""
    parts = []
    for session, levels in session_levels(snapshots, rows).items():
        step = np.flatnonzero(spans.session == session)
        if len(step):
            parts.append(_steps_of_session(snapshots, levels, spans, step))
    if not parts:
        return typed_table((), STEPS.types)
    return pd.concat(parts, ignore_index=True).sort_values("step", kind="stable", ignore_index=True)


def _steps_of_session(snapshots: Snapshots, levels: Levels, spans: StepSpans, step: Int64) -> pd.DataFrame:
    start = spans.start_ps[step]
    first = np.searchsorted(levels.time_ps, start, side="left")
    last = np.searchsorted(levels.time_ps, spans.end_ps[step], side="left")
    at, peak = _peaks(levels.in_use_bytes, first, last)
    # A peak at the level before the first event of the step was there when it began.
    peak_ps = np.where(at == first, start, levels.time_ps[np.maximum(at - 1, 0)])
    is_free, size = snapshots.is_free[levels.row], snapshots.allocation_bytes[levels.row]
    count, total = _running(~is_free), _running(np.where(is_free, 0, size))
    begin, end = levels.in_use_bytes[first], levels.in_use_bytes[last]
    return pd.DataFrame(
        {
            "step": step,
            "peak_bytes": peak,
            "peak_at_ms": peak_ps / PS_PER_MS,
            "start_bytes": begin,
            "end_bytes": end,
            "growth_bytes": end - begin,
            "n_allocations": count[last] - count[first],
            "allocated_bytes": total[last] - total[first],
        }
    )


def _peaks(level: Int64, first: Int64, last: Int64) -> tuple[Int64, Int64]:
    """For each span `first..last` (both included) of the levels where the highest one stands last, and what it is."""
    padded = np.append(level, 0)  # reduceat takes no end beyond the last element
    peak = np.maximum.reduceat(padded, np.stack([first, last + 1], axis=1).reshape(-1))[::2]
    length = last - first + 1
    span = np.repeat(np.arange(len(first)), length)
    place = ranges(first, length)
    at = np.zeros(len(first), np.int64)
    np.maximum.at(at, span, np.where(level[place] == peak[span], place, 0))
    return at, peak


def _running(values: Int64 | Bool) -> Int64:
    """Sums of what comes before each place, and of all."""
    return np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
