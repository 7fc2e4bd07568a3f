"""What each host of a run is for, and what hosts exchange: how long, and how much of it beside their computation."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.builders import EPOCH_NS, U, event, line, plane, session, space
from tests.unit.analysis.advice.task_drawings import worker_and_servers
from tests.unit.analysis.hosts.drawn_hosts import (
    PS,
    STEP_US,
    WORKER,
    chief,
    data_ahead,
    host,
    key,
    marked,
    results_of,
    served_worker,
    server,
)
from tfprof_widgets.analysis import TABLES, Analysis, HostFacts, roles

REDUCE = "all/CollectiveReduceV2:CollectiveReduceV2"
N = 4


def only(frame: pd.DataFrame) -> dict[str, object]:
    (row,) = frame.to_dict("records")
    return row


def test_data_read_ahead_hides_nothing_of_what_a_served_worker_waits_for() -> None:
    alone = results_of(served_worker(0, N)).communication
    results = results_of(served_worker(0, N, beside=data_ahead(N * STEP_US)))
    pd.testing.assert_frame_equal(results.communication, alone)
    waited = alone.set_index("kind").loc["receive"]
    assert (waited["exposed_time_us"], waited["overlap_ratio"]) == (N * 200, 0)
    exposed_ms = results.communication["exposed_time_us"].sum() / 1e3
    assert exposed_ms == pytest.approx(results.steps.frame["device_collectives_ms"].sum())


@pytest.mark.parametrize("thread", ["thread 0", "tf_data_private_threadpool/7"])
def test_outside_of_steps_an_op_hides_a_collective_unless_it_reads_data(thread: str) -> None:
    """One call is no loop: such a capture has no steps."""
    lines = [line("python", event(REDUCE, 400, 500)), line(thread, event("net/MatMul:MatMul", 300, 400))]
    results = results_of(
        space(session(start_ns=EPOCH_NS, duration_us=1e4), plane("/host:CPU", *lines), hostnames=["a"])
    )
    assert results.steps.frame.empty
    assert only(results.communication)["exposed_time_us"] == (200 if thread == "thread 0" else 500)


def linked(n_steps: int) -> list[list[object]]:
    """Steps whose collective runs on a thread of its own, to which the step's thread handed it."""
    main, other = [], []
    for i in range(n_steps):
        at = 10 + 1010 * i
        main += [
            event("train", at, STEP_US, _r=1, step_num=i),
            event("hand over", at + 1, 2, _pt=2, _p=i + 1),
            event("net/MatMul:MatMul", at + 10, 690),
        ]
        other += [event("taken", at + 395, 510, _ct=2, _c=i + 1), event(REDUCE, at + 400, 500)]
    return [main, other]


def test_a_gradient_on_its_way_while_the_next_is_computed_costs_nothing() -> None:
    results = results_of(host("a", *linked(N)))  # type: ignore[arg-type]
    row = only(results.communication)
    assert row["total_time_us"] == N * 500
    assert row["exposed_time_us"] == pytest.approx(N * 200)
    assert row["overlap_ratio"] == pytest.approx(0.6)
    assert results.steps.frame["device_collectives_ms"].tolist() == pytest.approx([0.2] * N)
    # Runtime calls around ops are no computation, but host time: what is left of `taken`.
    assert results.steps.frame["host_compute_ms"].tolist() == pytest.approx([0.697] * N, abs=0.01)


def test_what_workers_and_servers_exchange_is_told_by_tensor() -> None:
    results = results_of(chief(), server(8), served_worker(0, 4), served_worker(1, 4))
    found = results.communication
    assert tuple(found.columns) == TABLES["communication"].names
    by_key = found.set_index(["host", "kind", "name"])
    assert set(by_key.index) == {
        ("ps", "send", "read/_1"),
        ("ps", "receive", "grad/_4"),
        ("w0", "receive", "read/_2"),
        ("w0", "send", "grad/_3"),
        ("w1", "receive", "read/_2"),
        ("w1", "send", "grad/_3"),
    }
    waited = by_key.loc[("w0", "receive", "read/_2")]
    assert (waited["occurrences"], waited["total_time_us"], waited["type"]) == (4, 4 * 200, "_Recv")
    assert waited["exposed_time_us"] == 4 * 200
    assert by_key.loc[("w0", "send", "grad/_3"), "total_time_us"] == 4 * 20
    assert set(found["host"][:4]) == {"w0", "w1"}, "a server that waits for work is none that the training waits for"
    assert found["exposed_time_us"][:4].is_monotonic_decreasing
    assert found["exposed_time_us"][4:].is_monotonic_decreasing
    assert found["exposed_time_us"][4] > found["exposed_time_us"][0]


def test_a_tensor_between_the_devices_of_one_task_is_no_communication() -> None:
    worker = WORKER.format(0)
    sends = marked(N, ("net/MatMul:MatMul", 0, 400))
    sends += [event("x/_1:_Send", 420 + 1010 * i, 10, key=key(worker, worker)) for i in range(N)]
    sends += [
        event(
            "ExecutorState::ProcessAsync::Start", 440 + 1010 * i, 5, name="x/_2", kernel_type="_Recv", _pt=2, _p=i + 1
        )
        for i in range(N)
    ]
    done = [
        event("ExecutorState::ProcessAsync::Done", 480 + 1010 * i, 1, name="x/_2", kernel_type="_Recv", _ct=2, _c=i + 1)
        for i in range(N)
    ]
    results = results_of(host("a", sends, done))
    assert results.communication.empty
    assert tuple(results.communication.columns) == TABLES["communication"].names
    assert (results.steps.frame["device_collectives_ms"] == 0).all()
    away = [event("y/_1:_Send", 430 + 1010 * i, 10, key=key(worker, PS)) for i in range(N)]
    both = results_of(host("a", sorted(sends + away, key=lambda one: one.start_ps), done))
    assert both.communication["name"].tolist() == ["y/_1"], "what was received came from the task itself"


def test_kernels_that_exchange_are_exposed_while_their_device_computes_nothing_else() -> None:
    launches, compute, exchange, other = [], [], [], []
    for i in range(N):
        at = 10 + 1010 * i
        launches.append(event("cuLaunchKernel", at + 5, 2, correlation_id=U(3 * i + 1)))
        launches.append(event("cuLaunchKernel", at + 8, 2, correlation_id=U(3 * i + 2)))
        launches.append(event("cuLaunchKernel", at + 12, 2, correlation_id=U(3 * i + 3)))
        compute.append(event("kern", at + 20, 500, correlation_id=U(3 * i + 1)))
        exchange.append(event("ncclDevKernel_AllReduce_Sum_f32", at + 420, 400, correlation_id=U(3 * i + 2)))
        other.append(event("kern", at + 20, 900, correlation_id=U(3 * i + 3)))
    main = sorted([*marked(N), *launches], key=lambda one: one.start_ps)
    devices = [
        plane("/device:GPU:0", line("Stream #13", *compute, id=13), line("Stream #14", *exchange, id=14)),
        plane("/device:GPU:1", line("Stream #13", *other, id=13)),
    ]
    results = results_of(host("a", main, devices=devices))
    row = only(results.communication)
    assert (row["kind"], row["name"]) == ("device_collective", "ncclDevKernel_AllReduce_Sum_f32")
    assert row["total_time_us"] == N * 400
    assert row["exposed_time_us"] == N * 300, "that another device computes meanwhile does not help this one"


def test_old_files_tell_what_was_received_and_how_large_it_was() -> None:
    found = worker_and_servers(wait_us=400).communication
    assert set(found["kind"]) == {"receive"}
    assert set(found["type"]) == {"RecvTensor"}
    assert found["time_ratio"].iloc[0] == pytest.approx(0.4, abs=0.02)


def test_the_advice_on_communication_leaves_stragglers_to_their_own() -> None:
    parts = ("net/MatMul:MatMul", 0, 400), (REDUCE, 400, 500)
    results = results_of(host("a", marked(6, *parts)), host("b", marked(6, *parts)))
    (advice,) = [one for one in results.advice if one.rule == "host_communication"]
    assert advice.gain_ratio == pytest.approx(0.5)
    assert advice.evidence["largest_exchange"] == "CollectiveReduceV2"
    late = ("net/MatMul:MatMul", 0, 880), (REDUCE, 880, 20)
    held_up = results_of(host("a", marked(6, *parts)), host("b", marked(6, *late)))
    assert [one.rule for one in held_up.advice if one.rule in ("straggler", "host_communication")] == ["straggler"]


def role_of(results: Analysis) -> dict[str, str]:
    return dict(zip(results.hosts["host"], results.hosts["role"], strict=True))


def test_chief_parameter_server_and_workers_are_told_by_what_they_do() -> None:
    results = results_of(chief(), server(), served_worker(0), served_worker(1))
    assert role_of(results) == {"chief": "coordinator", "ps": "parameter server", "w0": "worker", "w1": "worker"}
    assert results.hosts["task"].tolist() == [
        "",
        "/job:ps/replica:0/task:0",
        "/job:worker/replica:0/task:0",
        "/job:worker/replica:0/task:1",
    ]


def test_tasks_of_old_files_are_told_by_their_names() -> None:
    results = worker_and_servers(wait_us=400)
    assert role_of(results) == {
        "/job:worker/replica:0/task:0": "worker",
        "/job:ps/replica:0/task:0": "parameter server",
        "/job:ps/replica:0/task:1": "parameter server",
    }
    assert results.workers.hosts == ("/job:worker/replica:0/task:0",)


def test_a_host_without_a_device_beside_one_with_a_device_coordinates() -> None:
    launch = [*marked(3), *(event("cuLaunchKernel", 20 + 1010 * i, 5, correlation_id=U(i + 1)) for i in range(3))]
    kernels = [event("kern", 30 + 1010 * i, 500, correlation_id=U(i + 1)) for i in range(3)]
    device = plane("/device:GPU:0", line("Stream #13(Compute)", *kernels, id=13))
    results = results_of(host("a", launch, devices=[device]), host("b", marked(3)))
    assert role_of(results) == {"a": "worker", "b": "coordinator"}


def test_a_host_alone_trains_whatever_it_does() -> None:
    assert role_of(results_of(chief())) == {"chief": "worker"}
    results = results_of(server())
    assert role_of(results) == {"ps": "parameter server"}
    assert results.workers.hosts == ("ps",), "where nobody trains, what there is is shown"


@pytest.mark.parametrize(
    ("task", "role"),
    [
        ("/job:ps/replica:0/task:3", "parameter server"),
        ("/job:worker/replica:0/task:0", "worker"),
        ("/job:chief/replica:0/task:0", "chief"),
        ("/job:master/task:0", "chief"),
        ("/job:coordinator", "coordinator"),
        ("/job:evaluator/task:0", "worker"),
        ("", "worker"),
    ],
)
def test_the_name_of_a_task_tells_its_role(task: str, role: str) -> None:
    facts = HostFacts("h", task, has_accelerator=False, is_served=False, serving_ratio=0.0, n_events=1)
    assert roles([facts]) == (role,)
