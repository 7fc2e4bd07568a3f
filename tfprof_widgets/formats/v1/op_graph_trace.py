"""The graph of ops of a file that holds no events of its own (tfprof's ProfileProto) -> a Trace of what it tells."""

from __future__ import annotations

import zlib
from collections import defaultdict
from typing import Any

import numpy as np

from ...trace.op_graph import OpGraph
from ...trace.trace import Trace
from .lanes import lanes_of
from .run_metadata_trace import FLOW_IN, FLOW_OUT, add_step
from .task_devices import LOCAL_HOST, places_of
from .trace_builder import TraceBuilder

_UNIX_US = 10**15
"""Smaller times count from when something started."""
_MOST_US = 2**52


def trace_of(graph: OpGraph) -> Trace:
    """The executions of a graph as events, each step marked, with arrows along its edges.

    Memory is in the graph (`Profile.tree`), not in the trace: such files do not tell when it was taken and given back.
    """
    times = graph.times
    op, step = times["op"].to_numpy(np.int64), times["step"].to_numpy(np.int64)
    start_us = np.clip(times["start_us"].to_numpy(np.float64), -_MOST_US, _MOST_US).astype(np.int64)
    duration_us = np.clip(times["duration_us"].to_numpy(np.float64), 0, _MOST_US).astype(np.int64)
    devices = times["device"].to_list()
    origin_us = int(start_us.min()) if len(start_us) else 0
    builder = TraceBuilder(origin_us * 1000 if origin_us >= _UNIX_US else 0)
    places = places_of(devices)
    start_ps, end_ps = (start_us - origin_us) * 10**6, (start_us - origin_us + duration_us) * 10**6
    _add_steps(builder, [places[device].host for device in devices], step, start_ps, end_ps)
    stats = _links(graph, op, step, start_us)
    names = [f"{name}:{kind}" for name, kind in zip(graph.ops["name"], graph.ops["type"], strict=True)]
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for i, device in enumerate(devices):
        rows[device].append(i)
    for device, own in rows.items():
        place = places[device]
        lanes = lanes_of([int(start_ps[i]) for i in own], [int(end_ps[i]) for i in own])
        for i, lane in sorted(zip(own, lanes, strict=True), key=lambda pair: pair[1]):
            line = builder.line(
                place.host,
                place.plane,
                f"{place.line} ({lane + 1})" if lane else place.line,
                is_derived=place.is_derived,
            )
            name = names[int(op[i])]
            told: dict[str, Any] = {"group_id": int(step[i])} if step[i] >= 0 else {}
            if place.is_stream:
                told |= {"tf_op": name, "correlation_id": i}
            builder.add(line, name, int(start_ps[i]), int(end_ps[i] - start_ps[i]), told | stats.get(i, {}))
    return builder.trace(sorted({place.host for place in places.values()}) or [LOCAL_HOST])


def _add_steps(builder: TraceBuilder, hosts: list[str], step: Any, start_ps: Any, end_ps: Any) -> None:
    spans: dict[tuple[int, str], tuple[int, int]] = {}
    for host, number, begin, end in zip(hosts, step.tolist(), start_ps.tolist(), end_ps.tolist(), strict=True):
        if number >= 0:
            low, high = spans.get((number, host), (begin, end))
            spans[number, host] = min(low, begin), max(high, end)
    for (number, host), (begin, end) in spans.items():
        add_step(builder, host, number, begin, end)


def _links(graph: OpGraph, op: Any, step: Any, start_us: Any) -> dict[int, dict[str, Any]]:
    """Stats of arrows by row of `times`: from the first execution of an op in a step to the first of what it feeds."""
    first: dict[tuple[int, int], int] = {}
    for i in np.argsort(start_us, kind="stable").tolist():  # one turn per execution
        first.setdefault((int(op[i]), int(step[i])), i)
    inputs = graph.inputs[graph.inputs["source_output"] >= 0]
    sources: defaultdict[int, list[int]] = defaultdict(list)
    for target, source in zip(inputs["op"].tolist(), inputs["source"].tolist(), strict=True):
        sources[target].append(source)
    base = zlib.crc32(f"{len(op)} {start_us[:1].tolist()}".encode()) << 24
    stats: defaultdict[int, dict[str, Any]] = defaultdict(dict)
    for (target, number), row in first.items():
        found = [first[source, number] for source in dict.fromkeys(sources[target]) if (source, number) in first]
        if found:
            stats[row][FLOW_IN] = " ".join(str(base + one) for one in found)
            for one in found:
                stats[one][FLOW_OUT] = base + one
    return stats
