"""Steps on a CPU whose graph was noted, drawn op by op -> results for which rules on graphs have something to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from tests.builders import Event, event, line, plane, session, trace
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.trace import SourceMap, empty_source_map

STEP_US = 10_000.0
CALL = "EagerLocalExecute: __inference_step_7"
OF_OP = " of an op"
"""Behind the name of an event that runs no function."""


@dataclass(frozen=True)
class Op:
    """An op of the graph; it runs where it takes time."""

    name: str
    type: str
    us: float = 0.0
    reads: Sequence[str | int] = ()
    """Names of ops, or numbers of arguments."""
    inputs: str = ""
    outputs: str = ""
    variable: int = -1
    times: int = 1
    """How often it runs in a step."""
    dtype: str = "float32"


def noted(ops: Sequence[Op], variables: Sequence[tuple[str, str, str]] = (), graph: str = "step") -> SourceMap:
    """The graph as a capture notes it; variables as (name, shape, type), all trainable."""
    row = {op.name: i for i, op in enumerate(ops)}
    edges = [
        (row[op.name], slot, row[source] if isinstance(source, str) else -1, 0 if isinstance(source, str) else source)
        for op in ops
        for slot, source in enumerate(op.reads)
    ]
    told = [(i, "", 0, op.inputs, op.outputs, op.variable, op.dtype) for i, op in enumerate(ops)]
    kept = [(name, shape, kind, True, "", "") for name, shape, kind in variables]
    empty = empty_source_map()
    text = "model.fit(dataset)\ny = layer(x)\n"
    return replace(
        empty,
        ops=pd.DataFrame([(0, op.name, op.type, 0) for op in ops], columns=["graph", "op", "type", "frame"]),
        frames=pd.DataFrame([(-1, 0, 2, "call")], columns=["parent", "file", "line", "function"]),
        files=pd.DataFrame([("/me/net.py", "net.py", True, text)], columns=["file", "title", "is_user", "text"]),
        functions=pd.DataFrame([(graph, -1, 0, "")], columns=["graph", "file", "line", "function"]),
        details=pd.DataFrame(told, columns=list(empty.details.columns)),
        edges=pd.DataFrame(edges, columns=list(empty.edges.columns)).astype("int64"),
        variables=pd.DataFrame(kept, columns=list(empty.variables.columns)),
    )


def graph_run(
    *ops: Op,
    variables: Sequence[tuple[str, str, str]] = (),
    step_us: float = STEP_US,
    processes: int = 0,
    facts: dict[str, str] | None = None,
    python: Sequence[tuple[str, float, float]] = (),
    late: Sequence[tuple[str, float, float]] = (),
    n_steps: int = 8,
    graph: str = "step",
    stall: tuple[float, float] = (0.0, 0.0),
) -> Analysis:
    """Steps in which one function runs the ops one after the other, on the step's thread.

    Args:
        ops: the graph.
        variables: see `noted`.
        step_us: how long a step takes.
        processes: how many ops the runtime processes in a step, recorded or not.
        facts: what is known of the machine.
        python: further events of the step's thread, as `(name, start, duration)`.
        late: the same, of the later half of the steps alone.
        n_steps: how many steps there are.
        graph: the name of the graph.
        stall: from when on one step stands still, and for how long.
    """
    events: list[Event] = []
    for i in range(n_steps):
        stall_at, stall_us = (stall[0], stall[1] * (i == n_steps // 2))
        begin = i * step_us + stall[1] * (i > n_steps // 2)
        at = begin + 5
        events.append(event("train", begin, step_us + stall_us, _r=1, step_num=i))
        for name, start, us in (*python, *(late if 2 * i >= n_steps else ())):
            stats = {"is_func": 0} if name.endswith(OF_OP) else {}
            stands, waits = start < stall_at < start + us, start >= stall_at
            start, us = start + stall_us * waits, us + stall_us * stands
            events.append(event(name.removesuffix(OF_OP), begin + start, us, stats=stats))
        for op in ops:
            for _ in range(op.times if op.us else 0):
                events.append(event(f"{op.name}:{op.type}", at, op.us))
                at += op.us
        events += [event("ExecutorState::Process", begin + 3 + k * 0.001, 0.0005) for k in range(processes)]
    planes = plane("/host:CPU", line("python", *events))
    found = noted(ops, variables, graph)
    known = pd.DataFrame([*(facts or {}).items()], columns=["name", "value"])
    return Analysis(trace(planes, session(duration_us=n_steps * step_us + stall[1])), replace(found, facts=known))


def calling(us: float, start: float = 0.0) -> list[tuple[str, float, float]]:
    """The call of a function whose graph runs so long."""
    return [("EagerExecute", start, us + 3), (CALL, start + 1, us + 1), ("EagerKernelExecute", start + 2, us)]
