"""When tensors lived -> lines of a plane of their own, on which tensors overlap only where one outlives the other."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from .task_devices import Place
from .trace_builder import TraceBuilder

MOST_LANES = 64
"""So many lines of tensors a device has at most: no screen shows more."""


@dataclass(frozen=True, slots=True)
class TensorLife:
    """One tensor of one step."""

    step: int
    device: str
    name: str
    start_ns: int
    end_ns: int
    dtype: str
    shape: str
    n_bytes: int
    allocator: str


def add_tensors(
    builder: TraceBuilder, tensors: Iterable[TensorLife], places: Mapping[str, Place], origin_ns: int
) -> None:
    """Add an event for each tensor, from when it was made to its last use, with its shape and bytes.

    Those for which the lines do not suffice are left out, with a warning.
    """
    by_device: defaultdict[str, list[TensorLife]] = defaultdict(list)
    for tensor in tensors:
        by_device[tensor.device].append(tensor)
    for device, own in by_device.items():
        place = places[device]
        own.sort(key=lambda tensor: (tensor.start_ns, -tensor.end_ns))
        lanes = nested_lanes([tensor.start_ns for tensor in own], [tensor.end_ns for tensor in own])
        if n_hidden := lanes.count(-1):
            builder.warnings.append(
                f"{len(own) - n_hidden} of {len(own)} tensors of {device} are shown: more live at once than {MOST_LANES} "
                "lines take. The memory of ops and allocators counts all of them."
            )
        unit = place.plane.removeprefix("/device:") if place.is_stream else place.line
        for tensor, lane in sorted(zip(own, lanes, strict=True), key=lambda pair: pair[1]):
            if lane < 0:
                continue
            line = builder.line(place.host, f"Tensors of {unit}", f"Tensors ({lane + 1})" if lane else "Tensors")
            stats = {
                "dtype": tensor.dtype,
                "shape": tensor.shape,
                "bytes": tensor.n_bytes,
                "allocator": tensor.allocator,
                "group_id": tensor.step,
            }
            start_ps = (tensor.start_ns - origin_ns) * 1000
            builder.add(line, tensor.name, start_ps, max(0, tensor.end_ns - tensor.start_ns) * 1000, stats)


def nested_lanes(starts: list[int], ends: list[int]) -> list[int]:
    """A lane for each span, given in order of start, longest first: in one lane a span lies inside another or beside it.

    It is the lowest lane that takes the span; -1 where none of `MOST_LANES` does.
    """
    stacks: list[list[int]] = []  # per lane the ends of what is open, the innermost last
    room: list[float] = []  # until when a span in the lane may last
    closing: list[tuple[int, int]] = []  # (end, lane) of all that is open
    found = []
    for start, end in zip(starts, ends, strict=True):
        while closing and closing[0][0] <= start:
            lane = heapq.heappop(closing)[1]
            stacks[lane].pop()
            room[lane] = stacks[lane][-1] if stacks[lane] else inf
        lane = next((lane for lane, until in enumerate(room) if end <= until), len(room))
        if lane == MOST_LANES:
            found.append(-1)
            continue
        if lane == len(room):
            stacks.append([])
            room.append(inf)
        stacks[lane].append(end)
        room[lane] = end
        heapq.heappush(closing, (end, lane))
        found.append(lane)
    return found
