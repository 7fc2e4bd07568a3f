"""Other files of TensorFlow 1: profiles and op logs of tfprof, and timelines of the ProfilerHook."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import number, tagged
from tests.unit.formats.first_profiler import HOOK_STEPS, N_RUNS
from tfprof_widgets.analysis import compute_flows
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import (
    FLOW_IN,
    FLOW_OUT,
    Opened,
    graph_nodes,
    read_op_log,
    read_profile_proto,
    read_run_metadata,
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


def test_an_empty_or_cut_profile_says_where_it_ends() -> None:
    with pytest.raises(EmptyTraceError, match=r"run/profile\.context is empty \(0 bytes\)"):
        read_profile_proto(b"", source="run/profile.context")
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
    assert trace_of(graph_of(("a", 0, 1, 0))).duration_ps.tolist() == [0, 0], "of an op without time and of its step"


def test_no_start_beside_those_since_1970_is_left_out() -> None:
    trace = trace_of(graph_of(("a", 0, 0, 2), ("b", 0, 2e15, 2)))
    assert [event[:3] for event in events_of(trace)] == [("b:Mul", 0, 2)]
    assert "1 executions without a start" in trace.warnings[0]


def test_nothing_is_known_of_tensor_cores_where_no_label_tells_the_kernel() -> None:
    graph = graph_of(("a", 0, 1, 2), device=STREAM)
    profile = Profile(lambda: Opened(trace_of(graph), (), op_graph=graph), title="drawn")
    assert len(profile.ops) and np.isnan(profile.ops["tensor_core_ratio"]).all()


@pytest.mark.parametrize(("written", "expected"), [(30, 30), (2**62, MOST_FLOAT_OPS), (-1, 0)])
def test_float_operations_of_a_log_or_a_profile_leave_room_for_sums(written: int, expected: int) -> None:
    log = step_message("OpLog")()
    log.log_entries.add(name=b"a", float_ops=written)
    assert read_op_log(log.SerializeToString()).float_ops.get("a", 0) == expected
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


def written(file: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(file.read_text())["traceEvents"]
    return events


@pytest.fixture(scope="module")
def hook(first_profiler: Path) -> Path:
    return first_profiler / "hook"


@pytest.fixture(scope="module")
def one(hook: Path) -> tuple[list[dict[str, Any]], Profile]:
    file = hook / f"timeline-{HOOK_STEPS[-1]}.json"
    return written(file), tfprof.load(file)


Loaded = tuple[list[dict[str, Any]], Profile]


def of_plane(prof: Profile, plane: str) -> list[int]:
    trace = prof.trace
    wanted = [i for i, one in enumerate(trace.planes) if one.name == plane]
    return [i for i in range(trace.n_events) if trace.plane_id[i] in wanted]


def name_of(prof: Profile, event: int) -> str:
    return prof.trace.strings[prof.trace.name_id[event]]


def test_every_op_is_there_with_its_time(one: Loaded) -> None:
    events, prof = one
    theirs = Counter((e["args"]["name"], e["args"]["op"], e["dur"]) for e in events if e["ph"] == "X")
    trace = prof.trace
    rows = [i for i in of_plane(prof, "/host:CPU") if trace.lines[trace.line_id[i]].name.startswith("CPU:0")]
    ours = Counter(
        (*trace.strings[trace.name_id[i]].rsplit(":", 1), max(0, round(trace.duration_ps[i] / 1e6))) for i in rows
    )
    assert ours == theirs


def test_every_tensor_is_a_span_with_its_shape_and_bytes(one: Loaded) -> None:
    events, prof = one
    trace = prof.trace
    made = {e["id"]: e for e in events if e["ph"] == "N"}
    ended = {e["id"]: e["ts"] for e in events if e["ph"] == "D"}
    theirs = Counter((e["name"], ended[id_] - e["ts"]) for id_, e in made.items())
    rows = of_plane(prof, "Tensors of CPU:0")
    assert Counter((trace.strings[trace.name_id[i]], int(trace.duration_ps[i]) // 10**6) for i in rows) == theirs
    stats = {trace.strings[trace.name_id[i]]: trace.stats_of(i) for i in rows}
    assert stats["layer/MatMul"]["shape"] == "[16, 16]"
    assert stats["layer/MatMul"]["dtype"] == "float"
    assert stats["layer/MatMul"]["bytes"] == 16 * 16 * 4
    assert stats["layer/MatMul"]["allocator"] == "cpu"
    assert stats["split:1"]["shape"] == "[16, 24]"


def test_every_value_of_an_allocator_is_a_counter_in_bytes(one: Loaded) -> None:
    events, prof = one
    theirs = [e["args"]["cpu"] for e in events if e["ph"] == "C" and "cpu" in e["args"]]
    stats = [prof.trace.stats_of(i) for i in of_plane(prof, "Allocators") if name_of(prof, i) == "cpu"]
    assert sorted(one["counter_value"] for one in stats) == sorted(theirs)
    assert {one["counter_unit"] for one in stats} == {"bytes"}
    drawn = prof.counters[prof.counters["counter"] == "cpu"]  # of the outputs of ops, in place of these values
    assert drawn["value"].max() == max(theirs)
    assert set(drawn["unit"]) == {"bytes"}
    assert prof.memory.summary.set_index("allocator")["peak_bytes"]["cpu"] == max(theirs)


def test_every_arrow_is_a_flow_and_so_is_every_other_input(one: Loaded) -> None:
    events, prof = one
    trace, flows = prof.trace, compute_flows(prof.trace)
    names = [trace.strings[i].partition(":")[0] for i in trace.name_id]
    found = {(names[a], names[b]) for a, b in zip(flows.from_event.tolist(), flows.to_event.tolist(), strict=True)}
    ran = {e["args"]["name"]: e["args"] for e in events if e["ph"] == "X"}
    inputs = {
        (value.partition(":")[0], name)
        for name, args in ran.items()
        for key, value in args.items()
        if key.startswith("input") and value.partition(":")[0] in ran
    }
    assert inputs <= found
    arrows = {e["name"].partition(":")[0] for e in events if e["ph"] == "s"}  # the hook draws those between lanes only
    assert arrows <= {source for source, _ in found}


def test_several_files_are_the_steps_of_one_trace_in_order(hook: Path, tmp_path: Path) -> None:
    for path in (hook, f"{hook}/timeline-*.json"):
        prof = tfprof.load(path)
        assert prof.steps["name"].tolist() == [f"step {number}" for number in HOOK_STEPS]
        assert prof.steps["start_ms"].is_monotonic_increasing
        assert (prof.steps["step_time_ms"] > 0).all()
    for step in HOOK_STEPS:
        packed = gzip.compress((hook / f"timeline-{step}.json").read_bytes())
        (tmp_path / f"timeline-{step}.json.gz").write_bytes(packed)
    assert len(tfprof.load(tmp_path).steps) == len(HOOK_STEPS)


def test_inputs_of_ops_make_a_graph_with_bytes_and_times_by_step(hook: Path) -> None:
    prof = tfprof.load(hook)
    tree = prof.tree("scope")
    row = tree.set_index("name").loc["layer/MatMul"]
    assert row["bytes"] == row["output_bytes"] == 16 * 16 * 4
    events = [e for number in HOOK_STEPS for e in written(hook / f"timeline-{number}.json")]
    spent = [e["dur"] or 1 for e in events if e["ph"] == "X" and e["args"]["name"] == "layer/MatMul"]
    assert row["micros"] == sum(spent) // len(HOOK_STEPS)
    last = [e for e in written(hook / f"timeline-{HOOK_STEPS[-1]}.json") if e["ph"] == "X"]
    of_step = prof.tree("scope", step=HOOK_STEPS[-1]).set_index("name").loc["layer/MatMul"]
    assert of_step["micros"] == sum(e["dur"] or 1 for e in last if e["args"]["name"] == "layer/MatMul")
    assert len(prof.tree("graph")) > 10


def test_a_timeline_beside_other_spans_is_read_as_any_chrome_trace(hook: Path, tmp_path: Path) -> None:
    events = written(hook / "timeline-2.json")
    events.append({"ph": "X", "cat": "python", "name": "mine", "pid": 99, "tid": 1, "ts": events[-1]["ts"], "dur": 7})
    (tmp_path / "timeline-2.json").write_text(json.dumps({"traceEvents": events}))
    assert "mine" in set(tfprof.load(tmp_path / "timeline-2.json").events["name"])


def test_a_profile_of_timelines_goes_through_a_chrome_trace(hook: Path, tmp_path: Path) -> None:
    prof = tfprof.load(hook)
    prof.to_chrome_trace(tmp_path / "x.json")
    again = tfprof.load(tmp_path / "x.json")
    assert again.steps["name"].tolist() == prof.steps["name"].tolist()
    assert again.ops.equals(prof.ops)
    assert len(again.flows) == len(prof.flows)


def read(directory: Path, *, with_graph: bool = True) -> tuple[Trace, OpGraph]:
    runs = directory / "runs"
    return read_run_metadata(
        {number: (runs / f"run_{number}.pb").read_bytes() for number in range(N_RUNS)},
        graph=(runs / "graph.pb").read_bytes() if with_graph else None,
        op_log=(runs / "tfprof_log").read_bytes() if with_graph else None,
    )


def named(graph: OpGraph, table: str, by: tuple[str, ...]) -> list[tuple[object, ...]]:
    """The rows of a table with names of ops in place of numbers, sorted."""
    frame = getattr(graph, table)
    names = graph.ops["name"]
    frame = frame.assign(**{key: names.to_numpy()[frame[key]] for key in ("op", "source") if key in frame})
    return sorted((tuple(row) for row in frame[list(by)].itertuples(index=False)), key=str)


TABLES = {
    "ops": ("name", "type", "op_types", "device", "host_device", "float_ops", "shape"),
    "runs": ("op", "step", "n_runs", "start_us", "end_us"),
    "times": ("op", "step", "device", "is_accelerator", "start_us", "duration_us"),
    "memory": (
        "op",
        "step",
        "requested_bytes",
        "peak_bytes",
        "residual_bytes",
        "output_bytes",
        "in_use_bytes",
        "time_us",
    ),
    "inputs": ("op", "slot", "source"),
}


@pytest.mark.parametrize("table", TABLES)
def test_the_graph_is_the_one_that_tfprof_makes_of_the_same_runs(first_profiler: Path, table: str) -> None:
    _, graph = read(first_profiler)
    oracle = read_profile_proto((first_profiler / "profile" / "profile.context").read_bytes())
    assert len(getattr(graph, table))
    assert named(graph, table, TABLES[table]) == named(oracle, table, TABLES[table])


def test_call_stacks_end_at_the_same_lines_as_tfprof_s(first_profiler: Path) -> None:
    graphs = [
        read(first_profiler)[1],
        read_profile_proto((first_profiler / "profile" / "profile.context").read_bytes()),
    ]
    ends = [
        graph.ops[graph.ops["frame"] >= 0].assign(
            line=lambda ops, graph=graph: graph.frames["line"].to_numpy()[ops["frame"]]
        )[["name", "line"]]
        for graph in graphs
    ]
    first, second = (end.sort_values("name").values.tolist() for end in ends)
    assert first == second
    assert first


def test_steps_ops_memory_and_arrows_are_those_of_the_runs(first_profiler: Path) -> None:
    trace, graph = read(first_profiler)
    prof = Profile(lambda: Opened(trace, (), op_graph=graph), title="runs")
    assert prof.steps["name"].tolist() == [f"step {number}" for number in range(N_RUNS)]
    assert (prof.steps["source"] == "marker").all()
    is_op = ~graph.ops["name"].str.startswith("_").to_numpy()  # names that no op of a program has are not in the table
    ran = graph.runs.loc[is_op[graph.runs["op"]], "n_runs"].sum()
    times = graph.times[is_op[graph.times["op"]]]
    assert prof.ops["occurrences"].sum() == ran
    assert prof.ops["total_time_us"].sum() == pytest.approx(times["duration_us"].sum(), abs=2 * int(ran))
    assert prof.memory.summary["allocator"].tolist() == ["cpu"]
    assert prof.memory.summary["n_allocations"].sum() > 0
    flows = compute_flows(trace)
    names = [trace.strings[i].partition(":")[0] for i in trace.name_id]
    edges = {(names[a], names[b]) for a, b in zip(flows.from_event.tolist(), flows.to_event.tolist(), strict=True)}
    assert ("split", "layer/MatMul") in edges
    assert ("layer/MatMul", "layer/Relu") in edges
    assert not trace.depth.any(), "executions of one thread never lie inside each other"


def test_without_a_graph_labels_tell_types_and_inputs(first_profiler: Path) -> None:
    _, graph = read(first_profiler, with_graph=False)
    types = dict(zip(graph.ops["name"], graph.ops["type"], strict=True))
    assert types["layer/MatMul"] == "MatMul"
    rows = named(graph, "inputs", ("op", "slot", "source", "source_output"))
    assert ("layer/MatMul", 0, "split", 1) in rows


def test_bare_step_stats_are_the_same_trace(first_profiler: Path) -> None:
    tasks = first_profiler / "tasks"
    whole, bare = (read_run_metadata({5: (tasks / f"run_5.{end}").read_bytes()})[1].times for end in ("pb", "stats"))
    pd.testing.assert_frame_equal(whole, bare)


def test_a_run_without_stats_says_how_to_get_some() -> None:
    with pytest.raises(EmptyTraceError, match="FULL_TRACE"):
        read_run_metadata({0: b"\x12\x00"})
    with pytest.raises(EmptyTraceError, match="0 bytes"):
        read_run_metadata({0: b""})
