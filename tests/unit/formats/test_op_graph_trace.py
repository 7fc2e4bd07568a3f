"""The executions of a ProfileProto are events with the names, the times and the steps that it tells, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import FLOW_IN, FLOW_OUT, Opened, trace_of
from tfprof_widgets.trace import OpGraph, Trace, make_op_graph

CPU, STREAM = "/device:CPU:0", "/device:GPU:0/stream:all"


def graph_of(*executions: tuple[str, int, float, float], device: str = CPU) -> OpGraph:
    """A graph of `(name, step, start and duration in us)`; each op takes what the one before it made."""
    names = list(dict.fromkeys(name for name, *_ in executions))
    of_op, n = range(len(names)), len(executions)
    _, steps, starts, durations = zip(*executions, strict=True)
    ops = {
        "name": names,
        "type": ["Mul"] * len(names),
        "op_types": [("Mul",)] * len(names),
        "device": [device] * len(names),
    }
    ops |= {"host_device": ops["device"], "float_ops": [0] * len(names), "shape": [None] * len(names)}
    times = {"op": [names.index(name) for name, *_ in executions], "step": steps, "device": [device] * n}
    times |= {"is_accelerator": [device == STREAM] * n, "start_us": starts, "duration_us": durations}
    inputs = {
        "op": of_op[1:],
        "slot": [0] * len(of_op[1:]),
        "source": of_op[:-1],
        "source_output": [0] * len(of_op[1:]),
    }
    return make_op_graph({"ops": ops | {"frame": [-1] * len(names)}, "inputs": inputs, "times": times})


def events_of(trace: Trace) -> list[tuple[str, int, int, dict[str, Any]]]:
    """`(name, start and duration in us, stats)` of each event but the marks of steps, in their order."""
    stats = [trace.stats_of(i) for i in range(trace.n_events)]
    names = [trace.strings[i] for i in trace.name_id]
    times = zip((trace.start_ps // 10**6).tolist(), (trace.duration_ps // 10**6).tolist(), strict=True)
    every = zip(names, times, stats, strict=True)
    return [(name, *time, one) for name, time, one in every if "step_num" not in one]


def test_names_with_colons_are_whole_and_joined_by_arrows() -> None:
    (first, _, _, made), (second, _, _, took) = events_of(trace_of(graph_of(("c:x", 0, 1, 2), ("c:y", 0, 4, 2))))
    assert (first, second) == ("c:x:Mul", "c:y:Mul")
    assert str(made[FLOW_OUT]) == took[FLOW_IN]


def test_steps_below_zero_are_none() -> None:
    trace = trace_of(graph_of(("a", -1, 1, 2), ("b", 0, 4, 2)))
    assert [stats.get("group_id") for *_, stats in events_of(trace)] == [None, 0]
    assert trace.keyed_stats("step_num").bits.tolist() == [0]


def test_clocks_may_count_from_anywhere() -> None:
    found = events_of(trace_of(graph_of(("a", 0, -3, 2), ("b", 0, 0, 2))))
    assert [event[:3] for event in found] == [("a:Mul", 0, 2), ("b:Mul", 3, 2)]
    since_1970 = trace_of(graph_of(("a", 0, 2e15, 2)))
    assert since_1970.origin_ns == 2 * 10**18


def test_no_start_beside_those_since_1970_is_left_out() -> None:
    trace = trace_of(graph_of(("a", 0, 0, 2), ("b", 0, 2e15, 2)))
    assert [event[:3] for event in events_of(trace)] == [("b:Mul", 0, 2)]
    assert "1 executions without a start" in trace.warnings[0]


def test_what_took_no_time_lasts_none() -> None:
    trace = trace_of(graph_of(("a", 0, 1, 0)))
    assert trace.duration_ps.tolist() == [0, 0]  # of the op and of its step


def test_nothing_is_known_of_tensor_cores_where_no_label_tells_the_kernel() -> None:
    graph = graph_of(("a", 0, 1, 2), device=STREAM)
    profile = Profile(lambda: Opened(trace_of(graph), (), op_graph=graph), title="drawn")
    assert len(profile.ops) and np.isnan(profile.ops["tensor_core_ratio"]).all()
