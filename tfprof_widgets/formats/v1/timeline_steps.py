"""Files `timeline-N.json` of TensorFlow's first profiler, each a step -> `StepStats`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...errors import EmptyTraceError, TraceError
from ...trace.bounds import clean_text
from ...trace.dtypes import dtype_name, dtype_number
from .step_stats import AllocatorUse, AllocatorValue, StepStats, Tensor
from .tensor_tracks import TensorLife
from .timeline_json import NotATimelineError, TimelineFile, TimelineObject, is_timeline, read_timeline

_PROCESS = re.compile(r"(?:Op (?:scheduling|execution) threads: (.*\S)|(.*\S) (?:Compute|Tensors))", re.DOTALL)
"""How tfprof, and how the hook call what a device does."""
_FIELD = re.compile(r"(dtype|size|requested_bytes|allocated_bytes|allocator_name|unknown_rank):\s*([^\s{}]+)")
UNNAMED = "unnamed allocator"
"""In place of the empty name that received tensors have."""


def read_timelines(files: Mapping[int, tuple[str, bytes]]) -> StepStats:
    """Read timelines, each of one step.

    Args:
        files: from the number of each step to the name of its file and its content, unpacked.

    Raises:
        EmptyTraceError: a file is empty.
        NotATimelineError: a file has other events, too, or none of TensorFlow: it is to be read as any Chrome trace.
        TraceError: a file is damaged; the message says where.
    """
    found = StepStats()
    for step, (name, content) in files.items():
        if not content:
            raise EmptyTraceError(f"{name} is empty (0 bytes): write it again.")
        try:
            file = read_timeline(content)
            if not is_timeline(content):
                raise NotATimelineError(f"its {len(content)} bytes name no process such as '/device:CPU:0 Compute'")
            _take(found, step, file, name)
        except NotATimelineError as error:
            raise NotATimelineError(
                f"{name} is no timeline of TensorFlow's first profiler: {error}. Load it alone, as any Chrome trace."
            ) from error
        except TraceError as error:
            raise type(error)(f"{name} is no readable timeline: {error}.") from error.__cause__
        except RecursionError as error:
            raise TraceError(f"{name} is no readable timeline: its args are nested too deeply.") from error
    return found


def _take(found: StepStats, step: int, file: TimelineFile, name: str) -> None:
    """Add what a file holds as a step."""
    found.steps.append(step)
    device_of: dict[Any, str] = {}
    for process, title in file.processes.items():
        match = _PROCESS.fullmatch(clean_text(title))
        device_of[process] = (match[1] or match[2]) if match else clean_text(title)
    tensors: defaultdict[tuple[str, str, int], list[tuple[TimelineObject, Tensor]]] = defaultdict(list)
    for one in file.made:
        device = device_of.get(one.process, f"Process {one.process}")
        tensor = _tensor(one)
        tensors[device, one.name.partition(":")[0], one.start_ns].append((one, tensor))
        found.tensors.append(_life(step, device, one, tensor))
    for (process, thread), ran in file.ops:
        device = device_of.get(process, f"Process {process}")
        # Of the tensors of an op those are of one execution that begin when it does.
        own = tensors.get((device, ran.name, ran.start_ns), [])
        found.executions.append(
            replace(
                ran,
                step=step,
                device=device,
                # tfprof tells no inputs, but draws arrows; the hook tells all inputs, and draws some.
                inputs=ran.inputs or tuple(file.arrows.get((process, thread, ran.start_ns), ())),
                outputs=tuple(tensor for _, tensor in own),
                allocators=_allocators(own),
            )
        )
    for allocator, time_ns, value in file.counters:
        found.counters.append(AllocatorValue(step, allocator or UNNAMED, time_ns, value))
    _warn(found, file, name)


def _allocators(made: list[tuple[TimelineObject, Tensor]]) -> tuple[AllocatorUse, ...]:
    """The outputs as allocations, which is all that a timeline tells of them."""
    by_name: defaultdict[str, list[tuple[TimelineObject, Tensor]]] = defaultdict(list)
    for one, tensor in made:
        by_name[tensor.allocator].append((one, tensor))
    return tuple(
        AllocatorUse(
            name=name,
            total_bytes=(n_bytes := sum(tensor.requested_bytes for _, tensor in own)),
            peak_bytes=n_bytes,
            live_bytes=n_bytes,
            in_use_bytes=0,
            records=tuple(
                record
                for one, tensor in own
                for record in (
                    (one.start_ns // 1000, tensor.requested_bytes),
                    (max(one.start_ns, one.end_ns) // 1000, -tensor.requested_bytes),
                )
                if record[1] > 0 or (record[1] < 0 and one.end_ns >= 0)
            ),
        )
        for name, own in by_name.items()
    )


def _tensor(one: TimelineObject) -> Tensor:
    told: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in _FIELD.findall(one.snapshot):
        told[key].append(value)
    slot = one.name.partition(":")[2]
    is_known = bool(one.snapshot) and "shape" in one.snapshot and not told["unknown_rank"]
    return Tensor(
        slot=int(slot) if slot.isdecimal() and len(slot) < 10 else 0,
        dtype=dtype_number(told["dtype"][0]) if told["dtype"] else 0,
        shape=tuple(_whole(size) for size in told["size"]) if is_known else None,
        requested_bytes=_whole(*told["requested_bytes"][:1]),
        allocated_bytes=_whole(*told["allocated_bytes"][:1]),
        allocator=told["allocator_name"][0] if told["allocator_name"] else UNNAMED,
        is_described=bool(told["requested_bytes"]),
    )


def _whole(text: str = "0") -> int:
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and len(digits) < 19 else 0


def _life(step: int, device: str, one: TimelineObject, tensor: Tensor) -> TensorLife:
    dtype = dtype_name(tensor.dtype).removesuffix("_ref") if tensor.dtype else ""
    shape = "" if tensor.shape is None else str(list(tensor.shape))
    end_ns = one.end_ns if one.end_ns >= 0 else one.snapshot_ns
    return TensorLife(
        step,
        device,
        one.name,
        one.start_ns,
        max(one.start_ns, end_ns),
        dtype,
        shape,
        tensor.requested_bytes,
        tensor.allocator,
    )


def _warn(found: StepStats, file: TimelineFile, name: str) -> None:
    found.warnings.extend(f"{name}: {notice}" for notice in file.left_out.notices)
    if file.is_truncated:
        found.warnings.append(f"{name} ends inside its list of events: the program that wrote it was stopped.")
    if n_open := sum(one.end_ns < 0 for one in file.made):
        found.warnings.append(
            f"{n_open} of {len(file.made)} tensors in {name} have no end: they are shown until they were made."
        )
    if file.others:
        phases = ", ".join(f"{phase} ({n})" for phase, n in file.others.most_common(5))
        found.warnings.append(f"Events of phases that mean nothing in a timeline were left out of {name}: {phases}.")
