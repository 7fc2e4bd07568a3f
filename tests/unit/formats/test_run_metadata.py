"""RunMetadata of real sessions is read to the graph of ops that tfprof makes of it, and to a trace of steps."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.unit.formats.first_profiler import N_RUNS
from tfprof_widgets.analysis import compute_flows
from tfprof_widgets.errors import EmptyTraceError
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import Opened, read_profile_proto, read_run_metadata
from tfprof_widgets.trace import OpGraph, Trace

pytestmark = pytest.mark.tensorflow


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
