"""A ProfileProto or an op log -> an OpGraph and its executions; what is none is refused with where and what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.builders import number, tagged
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import (
    FLOW_IN,
    FLOW_OUT,
    Opened,
    graph_nodes,
    read_op_log,
    read_profile_proto,
    source_of,
    step_message,
    trace_of,
)
from tfprof_widgets.trace import MOST_FLOAT_OPS, OpGraph, Trace, make_op_graph


def entry(field: int, key: int | bytes, value: bytes | int) -> bytes:
    """An entry of a map."""
    first = tagged(1, key) if isinstance(key, bytes) else number(1, key)
    return tagged(field, first + (tagged(2, value) if isinstance(value, bytes) else number(2, value)))


def node(name: str, *fields: bytes) -> bytes:
    return b"".join((tagged(1, name.encode()), tagged(9, b"MatMul"), tagged(5, b"MatMul"), *fields))


def profile(*nodes: bytes, strings: tuple[bytes, ...] = (b"none", b"/a/net.py", b"build", b"x @ y")) -> bytes:
    return b"".join(
        (*(entry(1, i, one) for i, one in enumerate(nodes)), *(entry(4, i, text) for i, text in enumerate(strings)))
    )


def times(*pairs: tuple[int, int]) -> bytes:
    return b"".join(tagged(1, b"".join(number(1, value) for value in pair)) for pair in pairs)


def frame(line: int, text: int = 3) -> bytes:
    return tagged(1, number(2, line) + number(6, 1) + number(7, 2) + number(8, text))


def test_a_profile_keeps_every_table() -> None:
    ran = number(1, 2) + number(2, 1000) + number(3, 1050)
    ran += entry(5, b"/device:cpu:0", times((1000, 20), (1030, 20)))
    ran += entry(4, b"/device:gpu:0/stream:all", times((1005, 7)))
    ran += tagged(7, number(1, 1050) + number(6, 64) + number(7, 32) + number(8, 8) + number(9, 16))
    first = node("w", number(4, 5), number(4, 3), tagged(6, b"cpu:0"), tagged(7, b"cpu:0"), entry(15, 0, number(1, 5)))
    second = node(
        "net/MatMul",
        number(8, 30),
        entry(2, 0, 0),
        entry(14, 0, 0),
        entry(12, 3, ran),
        tagged(10, frame(10) + frame(20)),
    )
    graph = read_profile_proto(profile(first, second))
    assert graph.is_whole and graph.counts_steps and graph.steps == [3]
    assert graph.ops["name"].tolist() == ["w", "net/MatMul"]
    assert graph.ops["shape"].tolist() == [(5, 3), None]
    assert graph.ops["frame"].tolist() == [-1, 1]
    assert graph.ops["float_ops"].tolist() == [0, 30]
    assert graph.frames[["parent", "file", "line", "function", "text"]].to_numpy().tolist() == [
        [-1, "/a/net.py", 10, "build", "x @ y"],
        [0, "/a/net.py", 20, "build", "x @ y"],
    ]
    assert graph.inputs.to_numpy().tolist() == [[1, 0, 0, 0]]
    assert graph.shapes.to_numpy().tolist() == [[0, True, 0, (5,)]]
    assert graph.runs.to_numpy().tolist() == [[1, 3, 2, 1000, 1050]]
    assert graph.times[["is_accelerator", "duration_us"]].to_numpy().tolist() == [[True, 7], [False, 20], [False, 20]]
    memory = graph.memory.iloc[0]
    assert (memory.requested_bytes, memory.peak_bytes, memory.residual_bytes, memory.output_bytes) == (64, 32, 8, 16)
    assert memory.time_us == 1050


def test_ops_with_the_same_call_stack_share_its_frames() -> None:
    stack = tagged(10, frame(10) + frame(20))
    graph = read_profile_proto(profile(node("a", stack), node("b", stack), node("c", tagged(10, frame(10)))))
    assert graph.ops["frame"].tolist() == [1, 1, 0]
    assert len(graph.frames) == 2


def test_names_that_are_not_utf_8_are_data() -> None:
    graph = read_profile_proto(profile(tagged(1, b"a\xff")))
    assert graph.ops["name"].tolist() == ["a\\xff"]


def test_no_bytes_are_an_empty_profile() -> None:
    with pytest.raises(EmptyTraceError, match=r"run/profile\.context is empty \(0 bytes\)"):
        read_profile_proto(b"", source="run/profile.context")


def test_a_cut_profile_says_where_it_ends() -> None:
    whole = profile(node("a", tagged(10, frame(10))), node("b"))
    with pytest.raises(TraceError, match=r"^p\.context: Not a tfprof ProfileProto.*: byte 20 of 20: .*truncated"):
        read_profile_proto(whole[:20], source="p.context")


def test_every_cut_is_refused_or_a_smaller_profile() -> None:
    whole = profile(node("a", entry(12, 3, entry(5, b"cpu:0", times((1, 2))))), node("b", entry(2, 0, 0)))
    for length in range(1, len(whole)):
        try:
            graph = read_profile_proto(whole[:length])
        except TraceError:
            continue
        assert 1 <= len(graph.ops) <= 2


@pytest.mark.parametrize(
    "content", [b"hello, world", b'{"traceEvents": []}', bytes(100), b"\x08\x01", b"\x1f\x8b\x08\x00"]
)
def test_foreign_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(TraceError, match=r"Not a tfprof ProfileProto, such as profile\.context"):
        read_profile_proto(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (profile(node("a", entry(2, 1, 77))), "input 1 of op 'a' is node 77, which is not in the file"),
        (profile(node("a"), node("a")), "two of its nodes are called 'a'"),
        (profile(node("a", tagged(10, frame(10, 9)))), "call stack of op 'a' has text 9, which is not among the 4"),
        (profile(node("a", tagged(10, b"\x0a\xff"))), "call stack of op 'a' is no CodeDef"),
        (
            profile(node("a", entry(12, 3, entry(5, b"cpu:0", tagged(1, number(1, 5)))))),
            "op 'a' in step 3 has 1 numbers",
        ),
    ],
    ids=["input", "name", "text", "stack", "time"],
)
def test_what_does_not_fit_together_is_named(content: bytes, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_profile_proto(content)


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


FLOAT_OPS = [(30, 30), (2**62, MOST_FLOAT_OPS), (-1, 0)]


@pytest.mark.parametrize(("written", "expected"), FLOAT_OPS)
def test_float_operations_of_a_log_leave_room_for_sums(written: int, expected: int) -> None:
    log = step_message("OpLog")()
    log.log_entries.add(name=b"a", float_ops=written)
    assert read_op_log(log.SerializeToString()).float_ops.get("a", 0) == expected


@pytest.mark.parametrize(("written", "expected"), FLOAT_OPS)
def test_float_operations_of_a_profile_leave_room_for_sums(written: int, expected: int) -> None:
    graph = read_profile_proto(profile(node("a", number(8, written % 2**64))))
    assert graph.ops["float_ops"].tolist() == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x", ("x", 0)), ("x:2", ("x", 2)), ("^x", ("x", -1)), ("^x:0", ("x", -1)), ("x:y", ("x", 0)), ("", ("", 0))],
)
def test_a_tensor_is_named_alike_in_graphs_and_labels(text: str, expected: tuple[str, int]) -> None:
    assert source_of(text) == expected
    graph = step_message("GraphDef")()
    graph.node.add(name=b"n", op=b"Add", input=[text.encode()])
    assert graph_nodes([graph])["n"].inputs == (expected,)


def test_code_that_could_not_be_read_is_no_text() -> None:
    log = step_message("OpLog")()
    log.id_to_string.extend(
        step_message("IdToString")(key=i, value=text) for i, text in enumerate((b"none", b"net.py", b"f", b"y = x"))
    )
    entry = log.log_entries.add(name=b"a")
    for line_id in (0, 3):
        entry.code_def.traces.add(lineno=1, file_id=1, function_id=2, line_id=line_id)
    assert read_op_log(log.SerializeToString()).frames.columns()["text"] == ["", "y = x"]
