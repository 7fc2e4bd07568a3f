"""Executions of some steps -> a Trace: a line per thread, steps with their numbers, arrows from inputs, memory."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ...trace.trace import ALLOCATORS_PLANE, Trace
from .graph_def import source_of
from .lanes import lanes_of
from .run_metadata_graph import known_source
from .run_metadata_memory import add_memory
from .step_stats import RECEIVED, Execution, StepStats
from .task_devices import COMMUNICATION, HOST_PLANE, LOCAL_HOST, Place, places_of
from .tensor_makers import Maker, TensorMakers
from .tensor_tracks import add_tensors
from .trace_builder import TraceBuilder

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
    """An execution that becomes an event."""

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
    """The trace of some steps.

    Each task of a job is a host. Each step of each host is marked on a line of its own; its events belong to it whenever
    they ran. Ops that ran at the same time without a thread being told are on several lines, so that times add up.
    """
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
    """The op whose output a received tensor is."""
    edge = one.label.partition(" from /")[0].rpartition(" ")[2]
    match = _EDGE.match(edge)
    return source_of(match[1] if match else edge)[0]
