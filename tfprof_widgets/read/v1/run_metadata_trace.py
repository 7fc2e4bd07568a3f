"""The steps of a session -> a `Trace`: a line for each thread, numbered steps, arrows from inputs, memory."""

from __future__ import annotations

import heapq
import re
import zlib
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from ...trace.building import assemble, event_metadata, session_around
from ...trace.op_graph import OpGraph
from ...trace.stats import packed_stats
from ...trace.trace import (
    ALLOCATORS_PLANE,
    DERIVED_LINE_BASE,
    MAX_PS,
    EventTable,
    Line,
    Plane,
    StatRow,
    StringTable,
    Trace,
    in_order,
    stats_of_rows,
)
from .op_graph import known_source, op_graph_of
from .run_metadata import (
    RECEIVED,
    AllocatorUse,
    Execution,
    StepStats,
    TensorLife,
    graph_nodes,
    read_graph_def,
    read_op_log,
    read_step_stats,
    source_of,
)

_TASK = re.compile(r"(/job:[^/]+(?:/replica:\d+)?(?:/task:\d+)?)(?=/|$)")
_LOCAL = re.compile(r"/job:localhost(?:/replica:0)?(?:/task:0)?$")
_UNIT = re.compile(r"/(?:device:)?(CPU|GPU|TPU|XLA_CPU|XLA_GPU):(\d+)(/.*)?$", re.IGNORECASE)
HOST_PLANE = "/host:CPU"
LOCAL_HOST = "localhost"
COMMUNICATION = "Received tensors"
"""The line of tensors that came from other tasks."""


@dataclass(frozen=True)
class Place:
    host: str
    """The task; `localhost` for a session without any."""
    plane: str
    line: str
    is_derived: bool = False
    """Whether what is there is also on another line."""

    @property
    def is_stream(self) -> bool:
        return self.plane.startswith("/device:")


def places_of(devices: Iterable[str]) -> dict[str, Place]:
    """The place of each device of a file: each task is a host with CPUs and scheduling as lines, each accelerator a plane."""
    names = list(dict.fromkeys(devices))
    tasks = list(dict.fromkeys(task for name in names if (task := _task(name))))
    only = tasks[0] if len(tasks) == 1 else ""
    streams = [match for name in names if (match := _UNIT.search(name)) and match[3]]
    numbered = {match[2] for match in streams if re.fullmatch(r"/stream:\d+", match[3])}
    streamed = {match[2] for match in streams if match[3].startswith("/stream:")}
    return {name: _place(name, _task(name) or only, numbered, streamed) for name in names}


def _task(name: str) -> str:
    match = _TASK.search(name)
    return match[1] if match else ""


def _place(name: str, task: str, numbered: set[str], streamed: set[str]) -> Place:
    host = LOCAL_HOST if not task or _LOCAL.match(task) else task
    unit = _UNIT.search(name)
    if unit is None:
        return Place(host, HOST_PLANE, name.removeprefix(task) or name)
    kind, number, detail = unit[1].upper(), unit[2], unit[3]
    if detail is None:
        return Place(host, HOST_PLANE, f"{kind}:{number}" if "CPU" in kind else f"{kind}:{number} scheduling")
    repeats = (detail == "/stream:all" and number in numbered) or (detail == "/memcpy" and number in streamed)
    return Place(host, f"/device:{kind}:{number}", detail[1:], repeats)


@dataclass
class TraceBuilder:
    """Collects events; times are picoseconds after the origin."""

    origin_ns: int = 0
    warnings: list[str] = field(default_factory=list)
    _planes: dict[tuple[str, str], int] = field(default_factory=dict)
    _lines: dict[tuple[int, str], tuple[int, bool]] = field(default_factory=dict)
    """`(plane, name)` to the line's number and whether it is derived."""
    _strings: StringTable = field(default_factory=StringTable)
    _events: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Start, duration, line and name."""
    _stats: list[list[StatRow]] = field(default_factory=list)

    def line(self, host: str, plane: str, name: str, *, is_derived: bool = False) -> int:
        """The number of a line; planes and lines come in the order in which they are asked for first."""
        plane_id = self._planes.setdefault((host, plane), len(self._planes))
        return self._lines.setdefault((plane_id, name), (len(self._lines), is_derived))[0]

    def add(self, line: int, name: str, start_ps: int, duration_ps: int, stats: Mapping[str, Any]) -> None:
        """Add an event; what lies beyond 13 days of the origin is cut to that."""
        start_ps = max(-MAX_PS, min(start_ps, MAX_PS))
        duration_ps = max(0, min(duration_ps, MAX_PS))
        self._events.append((start_ps, duration_ps, line, self._strings.id_of(name)))
        self._stats.append([self._strings.stat(key, value) for key, value in stats.items()])

    def trace(self, hosts: Iterable[str] = ()) -> Trace:
        """All of it; each host is a session of its own."""
        order = sorted(self._lines, key=lambda key: key[0])  # stable: lines of one plane keep their order
        final = np.zeros(len(order), np.int32)
        for place, key in enumerate(order):
            final[self._lines[key][0]] = place
        start_ps, duration_ps, number, name_id = np.array(self._events, np.int64).reshape(-1, 4).T
        line = final[number] if order else np.empty(0, np.int32)
        keys = list(self._planes)
        plane = np.array([key[0] for key in order], np.int32)[line] if order else np.empty(0, np.int32)
        names = list(dict.fromkeys([*hosts, *(host for host, _ in keys)])) or [""]
        session_of_plane = np.array([names.index(host) for host, _ in keys] or [0], np.int32)
        metadata = event_metadata(name_id, plane)
        table = in_order(
            EventTable(
                start_ps=start_ps.copy(),
                duration_ps=duration_ps.copy(),
                line_id=line,
                metadata_id=metadata.row_of_event,
                session_id=session_of_plane[plane] if len(plane) else np.empty(0, np.int32),
                n_occurrences=np.zeros(len(line), np.int32),
                stats=packed_stats(stats_of_rows(self._stats)),
            )
        )
        return assemble(
            table,
            metadata.table,
            planes=[Plane(name, host) for host, name in keys],
            lines=[self._final_line(key, place) for place, key in enumerate(order)],
            sessions=[session_around(table, host, table.session_id == i) for i, host in enumerate(names)],
            origin_ns=self.origin_ns,
            strings=self._strings.texts,
            blobs=self._strings.blobs,
            warnings=self.warnings,
        )

    def _final_line(self, key: tuple[int, str], place: int) -> Line:
        is_derived = self._lines[key][1]
        return Line(key[0], DERIVED_LINE_BASE + 100 + place % 200 if is_derived else place + 1, key[1], "")


def lanes_of(starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The lane of each span: the lowest one that is free when it starts. Spans that only touch share a lane."""
    order = sorted(range(len(starts)), key=lambda i: (starts[i], ends[i]))
    lanes = [0] * len(starts)
    busy: list[tuple[int, int]] = []  # (end, lane)
    free: list[int] = []
    for i in order:
        while busy and busy[0][0] <= starts[i]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(busy)
        lanes[i] = lane
        heapq.heappush(busy, (max(ends[i], starts[i] + 1), lane))
    return lanes


@dataclass(frozen=True, slots=True)
class Maker:
    """An execution that makes or takes a tensor."""

    row: int
    start_ps: int
    host: str
    is_received: bool
    """Whether it is the arrival of a tensor of another task."""


class TensorMakers:
    """The makers of one tensor, by task and in the order of their starts."""

    def __init__(self, makers: Iterable[Maker]) -> None:
        self._of: dict[tuple[str, bool], list[tuple[int, int]]] = {}
        for one in makers:
            # Of several that start together the first row is the last one here.
            self._of.setdefault((one.host, one.is_received), []).append((one.start_ps, -one.row))
        for starts in self._of.values():
            starts.sort()

    def source_of(self, taker: Maker) -> int:
        """The row that a tensor was taken from, or -1: its task's last one before, else its next one, else another task's."""
        keys: list[tuple[bool, bool, int, int]] = []  # is near, is before, how close, the row below 0
        for (host, is_received), starts in self._of.items():  # as many as there are tasks
            if taker.is_received and is_received:
                continue
            is_near = (host == taker.host) != taker.is_received
            at = bisect_right(starts, (taker.start_ps, 1))
            before = [one for one in starts[max(at - 2, 0) : at] if one != (taker.start_ps, -taker.row)]
            if before:
                keys.append((is_near, True, *before[-1]))
            elif at < len(starts):
                start, row = starts[bisect_right(starts, (starts[at][0], 1)) - 1]
                keys.append((is_near, False, -start, row))
        return -max(keys)[-1] if keys else -1


MOST_LANES = 64
"""Lines of tensors of a device: no screen shows more."""


def add_tensors(
    builder: TraceBuilder, tensors: Iterable[TensorLife], places: Mapping[str, Place], origin_ns: int
) -> None:
    """Add an event for each tensor's life, with shape and bytes; those beyond the lines are left out, with a warning."""
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
    """The lowest lane for each span, by start, in which it is inside or beside all others; -1 beyond `MOST_LANES`."""
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
    """Add an event for each allocator record, with the step's use after it; freed bytes are the oldest of the same op and
    size, as records lack addresses. Source: `AllocatorMemoryUsed.allocation_records`."""
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


STEPS_LINE = "Steps"
STEP = "step"
_UNIX_NS = 10**18
"""Smaller times count from when something started."""
FLOW_OUT, FLOW_IN = "flow_out", "flow_in"
"""Stats of arrows: the id of what an event makes, and the ids (a text, parted by spaces) of what another one takes."""
_EDGE = re.compile(r"edge_\d+_(.+)$")
_COPY = re.compile(r"MEMCPY\w+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Row:
    one: Execution
    place: Place
    start_ps: int
    duration_ps: int
    flow: int


def event_name(one: Execution) -> str:
    """`name:type`, as the analyses know ops; of a received tensor its name, of a copy or a kernel what ran."""
    if one.op == RECEIVED:
        edge = one.label.partition(" from /")[0].rpartition(" ")[2]
        return f"{edge or one.name}:{RECEIVED}"
    kernel = one.label.partition("@@")[0].strip()
    if "/stream:" in one.device or "/memcpy" in one.device:
        copy = _COPY.search(one.node) or _COPY.search(one.label)
        return copy[0] if copy else kernel or (f"{one.name}:{one.op}" if one.op else one.node)
    return f"{one.name}:{one.op}"


def step_trace(stats: StepStats) -> Trace:
    """The trace of some steps: each task is a host with a line of marked steps; simultaneous ops are on several lines."""
    places = places_of([*(one.device for one in stats.executions), *(one.device for one in stats.tensors)])
    timed = [one for one in stats.executions if one.start_us > 0]
    origin_ns = min((one.start_ns for one in timed), default=0)
    builder = TraceBuilder(origin_ns if origin_ns >= _UNIX_NS else 0, list(stats.warnings))
    if n_untimed := len(stats.executions) - len(timed):
        builder.warnings.append(f"{n_untimed} executions without a start were left out.")
    # Ids of arrows must not meet those of another file that is merged with this one.
    base = zlib.crc32(f"{origin_ns} {len(timed)}".encode()) << 24
    rows = [
        _Row(one, places[one.device], (one.start_ns - origin_ns) * 1000, one.duration_ns * 1000, base + i)
        for i, one in enumerate(timed)
    ]
    _add_steps(builder, rows)
    _add_rows(builder, rows, stats)
    add_memory(builder, timed, places, origin_ns)
    add_tensors(builder, stats.tensors, places, origin_ns)
    hosts = sorted({place.host for place in places.values()}) or [LOCAL_HOST]
    _add_counters(builder, stats, hosts[0], origin_ns)
    return builder.trace(hosts)


def _add_counters(builder: TraceBuilder, stats: StepStats, host: str, origin_ns: int) -> None:
    for one in stats.counters:
        line = builder.line(host, ALLOCATORS_PLANE, "Counters")
        value = {"counter_value": one.n_bytes, "counter_unit": "bytes"}
        builder.add(line, one.allocator, (one.time_ns - origin_ns) * 1000, 0, value)


def _add_steps(builder: TraceBuilder, rows: list[_Row]) -> None:
    """Mark each step of each host; those below 0 are none."""
    spans: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        if row.place.is_derived or row.one.step < 0:
            continue
        span = spans.setdefault((row.one.step, row.place.host), [row.start_ps, row.start_ps])
        span[0], span[1] = min(span[0], row.start_ps), max(span[1], row.start_ps + row.duration_ps)
    for (step, host), (begin, end) in spans.items():
        line = builder.line(host, HOST_PLANE, STEPS_LINE)
        stats = {"step_num": step, "step_name": f"{STEP} {step}", "group_id": step}
        builder.add(line, f"{STEP} {step}", begin, end - begin, stats)


def _add_rows(builder: TraceBuilder, rows: list[_Row], stats: StepStats) -> None:
    inputs, makers = _flows(rows)
    lines: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        is_received = row.one.op == RECEIVED
        lines[(COMMUNICATION + row.place.host) if is_received else row.one.device, row.one.thread].append(i)
    for (device, thread), members in lines.items():
        lanes = lanes_of([rows[i].start_ps for i in members], [rows[i].start_ps + rows[i].duration_ps for i in members])
        place = rows[members[0]].place
        name = COMMUNICATION if device.startswith(COMMUNICATION) else place.line
        if thread:
            name = f"{name} {stats.thread_names.get((device, thread), f'thread {thread}')}"
        for i, lane in sorted(zip(members, lanes, strict=True), key=lambda pair: pair[1]):
            row = rows[i]
            line = builder.line(
                place.host, place.plane, f"{name} ({lane + 1})" if lane else name, is_derived=place.is_derived
            )
            builder.add(line, event_name(row.one), row.start_ps, row.duration_ps, _stats(row, inputs[i], i in makers))


def _stats(row: _Row, inputs: list[int], is_maker: bool) -> dict[str, Any]:
    one = row.one
    stats: dict[str, Any] = {"group_id": one.step} if one.step >= 0 else {}
    if row.place.is_stream:
        stats |= {"tf_op": f"{one.name}:{one.op}", "correlation_id": row.flow}
        if one.label:
            stats["kernel_details"] = one.label
    elif one.op == RECEIVED:
        stats |= {"sent_from": one.sent_from, "label": one.label}
    output_bytes = sum(tensor.requested_bytes for tensor in one.outputs)
    if one.outputs:
        stats |= {"output_bytes": output_bytes, "output_shapes": _shapes(one)}
    if is_maker:
        stats[FLOW_OUT] = row.flow
    if inputs:
        stats[FLOW_IN] = " ".join(map(str, inputs))
    return stats


def _shapes(one: Execution) -> str:
    return ", ".join("unknown" if tensor.shape is None else str(list(tensor.shape)) for tensor in one.outputs)


def _flows(rows: list[_Row]) -> tuple[list[list[int]], set[int]]:
    """For each row the ids of the arrows into it, and the rows that arrows come from."""
    made: dict[int, dict[str, list[Maker]]] = {}
    executions = [Maker(i, row.start_ps, row.place.host, row.one.op == RECEIVED) for i, row in enumerate(rows)]
    for i, row in enumerate(rows):
        if not row.place.is_stream:
            of_step = made.setdefault(row.one.step, {})
            name = known_source(_received_name(row.one), of_step) if row.one.op == RECEIVED else row.one.name
            of_step.setdefault(name or _received_name(row.one), []).append(executions[i])
    sources = {step: {name: TensorMakers(one) for name, one in of_step.items()} for step, of_step in made.items()}
    inputs: list[list[int]] = [[] for _ in rows]
    makers: set[int] = set()
    for i, row in enumerate(rows):
        known = sources.get(row.one.step, {})
        wanted = [_received_name(row.one)] if row.one.op == RECEIVED else [name for name, _ in row.one.inputs]
        for name in dict.fromkeys(known_source(one, known) for one in wanted):
            source = known[name].source_of(executions[i]) if name in known else -1
            if source >= 0:
                inputs[i].append(rows[source].flow)
                makers.add(source)
    return inputs, makers


def _received_name(one: Execution) -> str:
    edge = one.label.partition(" from /")[0].rpartition(" ")[2]
    match = _EDGE.match(edge)
    return source_of(match[1] if match else edge)[0]


_UNIX_US = 10**15
"""Smaller times count from when something started."""
_MOST_US = 2**52


def trace_of(graph: OpGraph) -> Trace:
    """The executions of a graph as events, with marked steps and arrows along edges, but without memory (see `Profile.tree`)."""
    times, names = graph.times, graph.ops["name"].tolist()
    start_us = np.clip(times["start_us"].to_numpy(np.float64), -_MOST_US, _MOST_US).astype(np.int64)
    duration_us = np.clip(times["duration_us"].to_numpy(np.float64), 0, _MOST_US).astype(np.int64)
    if start_us.max(initial=0) < _UNIX_US:  # any start is one where they do not count from 1970
        start_us += max(0, 1 - int(start_us.min(initial=1)))
    edges = graph.inputs[graph.inputs["source_output"] >= 0]
    inputs: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    columns = edges["op"].tolist(), edges["source"].tolist(), edges["source_output"].tolist()
    for target, source, output in zip(*columns, strict=True):
        inputs[target].append((names[source], output))
    ops, kinds = times["op"].tolist(), graph.ops["type"].tolist()
    rows = zip(ops, times["step"].tolist(), times["device"], start_us.tolist(), duration_us.tolist(), strict=True)
    return step_trace(
        StepStats(
            [
                Execution(
                    step=step,
                    device=device,
                    node=names[op],
                    name=names[op],
                    op=kinds[op],
                    inputs=tuple(inputs[op]),
                    start_us=start,
                    end_rel_us=duration,
                    start_ns=start * 1000,
                    duration_ns=duration * 1000,
                )
                for op, step, device, start, duration in rows
            ]
        )
    )


def read_run_metadata(
    steps: Mapping[int, bytes], *, graph: bytes | None = None, op_log: bytes | None = None
) -> tuple[Trace, OpGraph]:
    """Read the RunMetadata of a session of TensorFlow 1."""
    stats = read_step_stats(steps)
    nodes = read_graph_def(graph) if graph else None
    if nodes is None and stats.partitions:
        nodes = graph_nodes(stats.partitions)
    return step_trace(stats), op_graph_of(stats, nodes, read_op_log(op_log))
