"""What each host is for: it trains, serves variables, or hands out work."""

from __future__ import annotations

import pytest

from tests.builders import U, event, line, plane
from tests.unit.analysis.advice.task_drawings import worker_and_servers
from tests.unit.analysis.hosts.drawn_hosts import chief, host, marked, results_of, served_worker, server
from tfprof_widgets.analysis import Analysis, HostFacts, roles


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
