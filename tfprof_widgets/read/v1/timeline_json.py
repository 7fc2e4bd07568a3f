"""Files `timeline-N.json` of TensorFlow's first profiler, each a step or several that were merged -> `StepStats`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ...errors import EmptyTraceError, TraceError
from ...trace.capture_facts import clean_text
from ...trace.trace import dtype_name, dtype_number
from ..chrome_json import Document, LeftOut, OddEventError, args_of, id_of, phase_of, picoseconds
from .run_metadata import RECEIVED, AllocatorUse, AllocatorValue, Execution, StepStats, Tensor, TensorLife, source_of

_IS_TIMELINE = re.compile(rb'(?:CPU|GPU|cpu|gpu):\d+[^"\\\s]{0,60} Compute"|"Op (?:scheduling|execution) threads: ')
_INPUT = re.compile(r"input\d+$")
_MOST_INPUTS = 10_000


class NotATimelineError(TraceError):
    """The file holds what timelines of TensorFlow do not."""


def is_timeline(content: bytes) -> bool:
    """Whether a Chrome trace names its processes as TensorFlow's first profiler does."""
    return _IS_TIMELINE.search(content) is not None


@dataclass(slots=True)
class TimelineObject:
    """A tensor: where and when it was made, and what a snapshot says of it."""

    name: str
    process: Any
    start_ns: int
    end_ns: int = -1
    snapshot: str = ""
    snapshot_ns: int = -1


@dataclass
class TimelineFile:
    processes: dict[Any, str] = field(default_factory=dict)
    ops: list[tuple[tuple[Any, Any], Execution]] = field(default_factory=list)
    """Process and thread, and the execution without step and device."""
    arrows: dict[tuple[Any, Any, int], list[tuple[str, int]]] = field(default_factory=dict)
    """By process, thread and time the ops that an arrow leads from to what starts there."""
    objects: dict[tuple[Any, Any], TimelineObject] = field(default_factory=dict)
    made: list[TimelineObject] = field(default_factory=list)
    counters: list[tuple[str, int, float]] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    left_out: LeftOut = field(default_factory=LeftOut)
    is_truncated: bool = False


def read_timeline(content: bytes) -> TimelineFile:
    document = Document(content)
    found = TimelineFile()
    for batch in document.events():
        found.left_out.take(batch, partial(_add, found))
    found.left_out.check_some(found_any=bool(found.ops or found.made or found.counters))
    found.is_truncated = document.is_truncated
    return found


def _add(found: TimelineFile, event: Any) -> None:
    phase = phase_of(event)
    if phase == "M":
        if event.get("name") == "process_name":
            found.processes[id_of(event, "pid")] = str(args_of(event).get("name", ""))
    elif phase == "X":
        found.ops.append(_op(event))
    elif phase in "NOD":
        _object(found, event, phase)
    elif phase == "C":
        time_ns = picoseconds(event, "ts") // 1000
        found.counters += [(name, time_ns, _finite(value)) for name, value in args_of(event).items()]
    elif phase in "tf":
        key = id_of(event, "pid"), id_of(event, "tid"), picoseconds(event, "ts") // 1000
        found.arrows.setdefault(key, []).append(source_of(clean_text(event.get("name", ""))))
    elif phase != "s":
        found.others[phase] += 1


def _op(event: dict[str, Any]) -> tuple[tuple[Any, Any], Execution]:
    args = args_of(event)
    if event.get("cat") != "Op" or "name" not in args:
        raise NotATimelineError(f"a span of category {str(event.get('cat'))[:40]!r}")
    if len(args) > _MOST_INPUTS:
        raise OddEventError(f"it has {len(args)} args, more than {_MOST_INPUTS}, the limit", "too many args")
    node, op = clean_text(args["name"]), clean_text(args.get("op", ""))
    start_ns = picoseconds(event, "ts") // 1000
    duration_ns = max(0, picoseconds(event, "dur") // 1000) if event.get("dur") is not None else 0
    return (id_of(event, "pid"), id_of(event, "tid")), Execution(
        step=-1,
        device="",
        node=node,
        name=node.partition(":")[0],
        op="" if op == "unknown" else op,
        inputs=tuple(source_of(clean_text(value)) for name, value in args.items() if _INPUT.match(name)),
        start_us=start_ns // 1000,
        end_rel_us=duration_ns // 1000,
        start_ns=start_ns,
        duration_ns=max(1, duration_ns),
        sent_from="elsewhere" if op == RECEIVED else "",
    )


def _object(found: TimelineFile, event: dict[str, Any], phase: str) -> None:
    key = id_of(event, "pid"), id_of(event, "id")
    time_ns = picoseconds(event, "ts") // 1000
    known = found.objects.get(key)
    if phase == "N" or known is None:
        if phase == "D":
            found.others["D"] += 1
            return
        known = found.objects[key] = TimelineObject(clean_text(event.get("name", "")), key[0], time_ns)
        found.made.append(known)
    if phase == "D":
        known.end_ns = time_ns
    elif phase == "O":
        snapshot = args_of(event).get("snapshot")
        text = snapshot.get("tensor_description") if isinstance(snapshot, dict) else None
        known.snapshot, known.snapshot_ns = text if isinstance(text, str) else "", time_ns


def _finite(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise OddEventError(f"it counts {str(value)[:40]!r}, which is no number", "bad counter") from error
    return number if abs(number) < 1e300 else 0.0


_PROCESS = re.compile(r"(?:Op (?:scheduling|execution) threads: (.*\S)|(.*\S) (?:Compute|Tensors))", re.DOTALL)
"""How tfprof, and the hook, name what a device does."""
_FIELD = re.compile(r"(dtype|size|requested_bytes|allocated_bytes|allocator_name|unknown_rank):\s*([^\s{}]+)")
UNNAMED = "unnamed allocator"
"""In place of the empty name of received tensors."""


def read_timelines(files: Mapping[int, tuple[str, bytes]]) -> StepStats:
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


_FEW = 3
"""Of fewer ops equal numbers of executions tell nothing."""


def _runs(file: TimelineFile) -> list[int]:
    """When each of the runs that were merged into a file begins, in ns: all ops ran equally often, in one run after the other."""
    times: defaultdict[tuple[Any, str], list[tuple[int, int]]] = defaultdict(list)
    for (process, _), ran in file.ops:
        times[process, ran.node].append((ran.start_ns, ran.start_ns + ran.duration_ns))
    if len(times) < _FEW or len({len(one) for one in times.values()}) > 1:
        return [0]
    runs = [*zip(*map(sorted, times.values()), strict=True)]
    begin, end = [min(run)[0] for run in runs], [max(end for _, end in run) for run in runs]
    return begin if all(before <= after for before, after in zip(end, begin[1:], strict=False)) else [0]


def _take(found: StepStats, first: int, file: TimelineFile, name: str) -> None:
    """Add the ops, tensors and counters of a file, whose runs have numbers from `first` on."""
    begin = _runs(file)

    def step_at(time_ns: int) -> int:
        return first + max(bisect_right(begin, time_ns) - 1, 0)

    found.steps.extend(range(first, first + len(begin)))
    device_of: dict[Any, str] = {}
    for process, title in file.processes.items():
        match = _PROCESS.fullmatch(clean_text(title))
        device_of[process] = (match[1] or match[2]) if match else clean_text(title)
    tensors: defaultdict[tuple[str, str, int], list[tuple[TimelineObject, Tensor]]] = defaultdict(list)
    for one in file.made:
        device = device_of.get(one.process, f"Process {one.process}")
        tensor = _tensor(one)
        tensors[device, one.name.partition(":")[0], one.start_ns].append((one, tensor))
        found.tensors.append(_life(step_at(one.start_ns), device, one, tensor))
    for (process, thread), ran in file.ops:
        device = device_of.get(process, f"Process {process}")
        # Of the tensors of an op those are of one execution that begin when it does.
        own = tensors.get((device, ran.name, ran.start_ns), [])
        found.executions.append(
            replace(
                ran,
                step=step_at(ran.start_ns),
                device=device,
                # tfprof tells no inputs, but draws arrows; the hook tells all inputs, and draws some.
                inputs=ran.inputs or tuple(file.arrows.get((process, thread, ran.start_ns), ())),
                outputs=tuple(tensor for _, tensor in own),
                allocators=_allocators(own),
            )
        )
    for allocator, time_ns, value in file.counters:
        found.counters.append(AllocatorValue(step_at(time_ns), allocator or UNNAMED, time_ns, value))
    _warn(found, file, name)


def _allocators(made: list[tuple[TimelineObject, Tensor]]) -> tuple[AllocatorUse, ...]:
    """The outputs as allocations, the only ones in a timeline."""
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
