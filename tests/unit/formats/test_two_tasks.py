"""Files of several tasks keep them apart, and the time of tensors that travel between them is communication."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tfprof_widgets.analysis import compute_flows
from tfprof_widgets.profiles import Profile

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
SECOND_WORKER = "/job:worker/replica:0/task:1"


def drawn(*rows: tuple[str, str, str, int, int]) -> str:
    """A timeline of ops: task, name, type, start and duration in us."""
    tasks = list(dict.fromkeys(row[0] for row in rows))
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"{task}/device:CPU:0 Compute"}}
        for pid, task in enumerate(tasks)
    ]
    for task, name, op, start, duration in rows:
        args = {"name": name, "op": op}
        where = {"pid": tasks.index(task), "tid": 0, "ts": 10**15 + start, "dur": duration}
        events.append({"ph": "X", "cat": "Op", "name": op, "args": args, **where})
    return json.dumps({"traceEvents": events})


def test_time_in_which_a_tensor_arrives_is_communication_of_the_task_that_waits(tmp_path: Path) -> None:
    text = drawn(
        (WORKER, "RecvTensor", "RecvTensor", 0, 400),
        (WORKER, "MatMul", "MatMul", 400, 600),
        (PS, "update", "AssignSub", 0, 50),
    )
    (tmp_path / "timeline-7.json").write_text(text)
    prof = tfprof.load(tmp_path / "timeline-7.json")
    steps = prof.steps.set_index("host")
    assert steps["name"].tolist() == ["step 7", "step 7"]
    assert steps.loc[WORKER, ["device_collectives_ms", "host_compute_ms", "step_time_ms"]].tolist() == [0.4, 0.6, 1.0]
    assert steps.loc[PS, ["device_collectives_ms", "host_compute_ms"]].tolist() == [0.0, 0.05]
    assert set(prof.workers["host"]) == {WORKER}
    assert dict(zip(prof.hosts["host"], prof.hosts["role"], strict=True)) == {WORKER: "worker", PS: "parameter server"}
    assert prof.overview.limiter == "host_compute"
    assert prof.overview.verdict.endswith("is lost to exchange between hosts.")


def test_tasks_of_several_directories_are_one_profile(tmp_path: Path) -> None:
    for name, task in (("a", WORKER), ("b", SECOND_WORKER)):
        (tmp_path / name).mkdir()
        for step in (1, 2):
            text = drawn((task, "MatMul", "MatMul", 1000 * step, 10 * step))
            (tmp_path / name / f"timeline-{step}.json").write_text(text)
    prof = tfprof.load(tmp_path / "*" / "timeline-*.json")
    assert sorted(zip(prof.steps["host"], prof.steps["name"], strict=True)) == [
        (WORKER, "step 1"), (WORKER, "step 2"), (SECOND_WORKER, "step 1"), (SECOND_WORKER, "step 2")
    ]  # fmt: skip
    assert prof.tree("scope").set_index("name").loc["MatMul", "run_count"] > 0


@pytest.mark.tensorflow
@pytest.mark.parametrize("file", ["run_5.pb", "run_5.stats", "timeline-5.json"])
def test_two_servers_of_a_cluster_are_two_hosts(first_profiler: Path, file: str) -> None:
    prof = tfprof.load(first_profiler / "tasks" / file)
    steps = prof.steps.set_index("host")
    assert set(steps.index) == {PS, WORKER}
    assert set(steps["name"]) == {"step 5"}
    received = [
        duration / 1e9
        for name, duration in zip(prof.trace.name_id, prof.trace.duration_ps, strict=True)
        if prof.trace.strings[name].endswith(":RecvTensor")
    ]
    assert len(received) == 2
    assert 0 < steps["device_collectives_ms"].sum() <= sum(received)


@pytest.mark.tensorflow
def test_arrows_lead_from_the_op_that_sent_a_tensor_to_those_that_took_it(first_profiler: Path) -> None:
    prof: Profile = tfprof.load(first_profiler / "tasks" / "run_5.pb")
    trace, flows = prof.trace, compute_flows(prof.trace)
    found = {
        tuple((trace.planes[trace.plane_id[i]].host, trace.strings[trace.name_id[i]].rpartition(":")[2]) for i in pair)
        for pair in zip(flows.from_event.tolist(), flows.to_event.tolist(), strict=True)
    }
    assert ((PS, "Identity"), (WORKER, "RecvTensor")) in found
    assert ((WORKER, "RecvTensor"), (WORKER, "MatMul")) in found
    assert ((WORKER, "Sum"), (PS, "RecvTensor")) in found


def test_a_timeline_of_tfprof_s_own_has_types_from_names_and_edges_from_arrows(tmp_path: Path) -> None:
    cpu = "Op scheduling threads: /job:localhost/replica:0/task:0/device:cpu:0"
    gpu = "Op execution threads: /device:gpu:0/stream:all"
    op = {"ph": "X", "cat": "Op", "tid": 0, "dur": 5}
    events = [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": cpu}},
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": gpu}},
        {**op, "pid": 0, "ts": 10, "name": "net/x", "args": {"name": "net/x"}},
        {**op, "pid": 1, "ts": 20, "name": "net/MatMul_1", "args": {"name": "net/MatMul_1"}},
        {"ph": "s", "cat": "DataFlow", "id": 1, "name": "net/x", "pid": 0, "tid": 0, "ts": 15},
        {"ph": "t", "cat": "DataFlow", "id": 1, "name": "net/x", "pid": 1, "tid": 0, "ts": 20},
    ]
    (tmp_path / "timeline_3").write_text(json.dumps({"traceEvents": events}))
    prof = tfprof.load(tmp_path / "timeline_3")
    assert prof.steps["name"].tolist() == ["step 3"]
    ops = prof.ops.set_index("name")
    assert ops.loc["net/MatMul_1", ["device", "type"]].tolist() == ["Device", "MatMul"]
    graph = prof.run.results.stored_graph
    assert graph is not None
    assert graph.ops["name"].to_numpy()[graph.inputs[["source", "op"]]].tolist() == [["net/x", "net/MatMul_1"]]
