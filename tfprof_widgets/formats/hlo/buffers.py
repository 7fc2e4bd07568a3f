"""Serialised HLO modules -> the buffers of compiled programs that live when a program holds most memory.

XLA plans the memory of a program when it compiles it: every result has a place in a few large allocations, and a simulated
heap says which of them live at the same time.

Source: xla/service/hlo.proto of OpenXLA: BufferAssignmentProto, HeapSimulatorTrace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from ...trace.bounds import decoded
from ...trace.trace import Trace
from .messages import MESSAGES
from .modules import module_blobs, program_of
from .shapes import MAX_SIZE

_ALLOC, _FREE, _SHARE = range(3)


@dataclass(frozen=True)
class LiveBuffer:
    """A buffer of a program at its peak."""

    program_id: int
    instruction: str
    """Which gives it; "" where the file does not say."""
    part: tuple[int, ...]
    """Where in the instruction's tuple; empty where its result is an array."""
    kind: str
    """`temporary`, `parameter`, `output` or `constant`; `unused` for what XLA allocated and nothing lives in."""
    n_bytes: int


def live_buffers(trace: Trace, programs: Collection[int]) -> list[LiveBuffer]:
    """The buffers of some programs, in the order of the file; none of a program whose module has no buffers."""
    from google.protobuf.message import DecodeError

    found: list[LiveBuffer] = []
    done = set()
    for _, name, blob in module_blobs(trace):
        program = program_of(name)
        if program is None or program not in programs or program in done:
            continue
        done.add(program)
        try:
            found += _of_module(program, MESSAGES["WithBuffers"].FromString(trace.blobs[blob]))
        except DecodeError:  # `HloModules.warnings` tells of it
            continue
    return found


def _of_module(program: int, module: Any) -> Iterator[LiveBuffer]:
    assignment = module.buffer_assignment
    names = {one.id: decoded(one.name) for part in module.hlo_module.computations for one in part.instructions}
    buffers = {one.id: one for one in assignment.logical_buffers}

    def live(buffer_id: int, kind: str, n_bytes: int) -> LiveBuffer:
        place = buffers[buffer_id].defined_at if buffer_id in buffers else None
        name, part = ("", ()) if place is None else (names.get(place.instruction_id, ""), tuple(place.shape_index))
        return LiveBuffer(program, name, part, kind, n_bytes)

    sizes = {id_: _size(one) for id_, one in buffers.items()}
    n_planned = n_live = 0
    for allocation in assignment.buffer_allocations:
        kind = _kind(allocation)
        if kind == "temporary":
            n_planned += _size(allocation)
        elif kind:
            first = allocation.assigned[0].logical_buffer_id if allocation.assigned else -1
            yield live(first, kind, _size(allocation))
    for heap in assignment.heap_simulator_traces:
        for buffer_id in _live_at_peak(heap.events, sizes):
            n_live += sizes[buffer_id]
            yield live(buffer_id, "temporary", sizes[buffer_id])
    if n_planned > n_live:
        yield LiveBuffer(program, "", (), "unused" if n_live else "temporary", min(n_planned - n_live, MAX_SIZE))


def _kind(allocation: Any) -> str:
    """What an allocation is for; "" for the stack of a thread."""
    if allocation.is_entry_computation_parameter:
        return "parameter"
    if allocation.is_constant:
        return "constant"
    if allocation.maybe_live_out:
        return "output"
    return "" if allocation.is_thread_local else "temporary"


def _size(one: Any) -> int:
    return max(0, min(int(one.size), MAX_SIZE))


def _live_at_peak(events: Any, sizes: dict[int, int]) -> list[int]:
    """The buffers that live when their sum is largest; one that others share lives until the last of them ends."""
    peak, most, held = -1, 0, 0
    for at, (_, change) in enumerate(_changes(events, sizes)):
        held += change
        if held > most:
            peak, most = at, held
    alive: dict[int, None] = {}
    for at, (buffer_id, change) in enumerate(_changes(events, sizes)):
        if at > peak:
            break
        if change > 0:
            alive[buffer_id] = None
        elif change < 0:
            alive.pop(buffer_id, None)
    return list(alive)


def _changes(events: Any, sizes: dict[int, int]) -> Iterator[tuple[int, int]]:
    """For each event the buffer that it begins or ends, and by how much the heap grows."""
    owner: dict[int, int] = {}
    users: Counter[int] = Counter()
    for event in events:  # bounded by the size of the programs
        id_, grows = event.buffer_id, 0
        if event.kind == _SHARE:  # perhaps right after the other ended: an op that works in place
            owner[id_] = id_ = owner.get(event.share_with_canonical_id, event.share_with_canonical_id)
        if event.kind in (_ALLOC, _SHARE):
            users[id_] += 1
            grows = sizes.get(id_, 0) if users[id_] == 1 else 0
        elif event.kind == _FREE:
            id_ = owner.pop(id_, id_)
            users[id_] -= 1
            grows = 0 if users[id_] else -sizes.get(id_, 0)
        yield id_, grows
