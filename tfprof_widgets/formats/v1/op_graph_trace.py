"""The graph of ops of a file that holds no events of its own (tfprof's ProfileProto) -> a Trace of what it tells."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ...trace.op_graph import OpGraph
from ...trace.trace import Trace
from .run_metadata_trace import step_trace
from .step_stats import Execution, StepStats

_UNIX_US = 10**15
"""Smaller times count from when something started."""
_MOST_US = 2**52


def trace_of(graph: OpGraph) -> Trace:
    """The executions of a graph as events, each step marked, with arrows along its edges.

    Memory is in the graph (`Profile.tree`), not in the trace: such files do not tell when it was taken and given back.
    """
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
