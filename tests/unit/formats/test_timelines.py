"""Files `timeline-N.json` that the real ProfilerHook wrote open with all of their groups, counters and arrows."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.unit.formats.first_profiler import HOOK_STEPS, N_RUNS
from tfprof_widgets.analysis import compute_flows
from tfprof_widgets.errors import EmptyTraceError
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import Opened, read_profile_proto, read_run_metadata
from tfprof_widgets.trace import OpGraph, Trace

pytestmark = pytest.mark.tensorflow


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
    for number in HOOK_STEPS:
        packed = gzip.compress((hook / f"timeline-{number}.json").read_bytes())
        (tmp_path / f"timeline-{number}.json.gz").write_bytes(packed)
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


def test_a_profile_of_timelines_is_saved_and_loaded_again(hook: Path, tmp_path: Path) -> None:
    prof = tfprof.load(hook)
    with pytest.warns(UserWarning, match="TensorBoard does not"):
        prof.save(tmp_path / "saved")
    again = tfprof.load(tmp_path / "saved")
    assert again.steps.equals(prof.steps)
    assert again.tree("scope").equals(prof.tree("scope"))
    assert again.trace.n_events == prof.trace.n_events


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


def test_executions_of_one_thread_never_lie_inside_each_other(first_profiler: Path) -> None:
    trace, _ = read(first_profiler)
    assert not trace.depth.any()


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
