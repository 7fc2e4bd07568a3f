"""What units and kernels took in the averaged steps, and which ops only wait."""

from __future__ import annotations

import pytest

from tests.builders import Event, event, line, plane, session, space
from tfprof_widgets.analysis import Results, only_waits
from tfprof_widgets.read import read_xspace


def steps(n: int) -> list[Event]:
    """Steps that run an op in another, after one that a compilation makes long."""
    first = [
        event("train", 0, 90, _r=1, step_num=0),
        event("tf.function-graph_building", 1, 60),
        event("net/x:A", 65, 20),
    ]
    usual = [
        one
        for i in range(1, n + 1)
        for one in (
            event("train", 80 + 20 * i, 20, _r=1, step_num=i),
            event("net/x:A", 81 + 20 * i, 10),
            event("net/y:B", 83 + 20 * i, 4),
            event("cuLaunchKernel", 92 + 20 * i, 1, correlation_id=i),
        )
    ]
    return first + usual


def results(n: int = 3) -> Results:
    details = "regs:32 grid:1,1,1 block:1,1,1"
    kernels = [
        event("gemm", 93 + 20 * i, i, correlation_id=i, kernel_details=details, tf_op="net/x:A")
        for i in range(1, n + 1)
    ]
    early = event("gemm", 10, 9, kernel_details=details, tf_op="net/x:A")
    planes = [plane("/host:CPU", line("python", *steps(n))), plane("/device:GPU:0", line("Stream #1", early, *kernels))]
    return Results(read_xspace(space(session(duration_us=1000), *planes)))


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("Iterator::Root::Prefetch", True),
        ("Iterator::Root::Prefetch::ParallelMapV2", True),
        ("Iterator::Root::Prefetch::FiniteTake::MapAndBatch[0]", True),
        ("Iterator::Root::Prefetch::Map", False),
        ("Iterator::Root", False),
        ("Iterator::Root::Prefetch::BatchV2::TFRecord", False),
    ],
)
def test_iterators_whose_elements_other_threads_make_only_wait(name: str, waits: bool) -> None:
    assert only_waits(name, "Dataset") == waits
    assert not only_waits(name, "MatMul")


def test_the_top_ops_are_of_what_works() -> None:
    waiting = event("Iterator::Root::Prefetch", 0, 50)
    cpu = plane("/host:CPU", line("python", waiting, event("net/x:A", 60, 10)))
    top = Results(read_xspace(space(session(duration_us=1000), cpu))).overview.top_ops
    assert top[["name", "self_time_ratio"]].to_numpy().tolist() == [["net/x", 1.0]]
