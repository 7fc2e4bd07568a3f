"""What units and kernels took in the averaged steps, and which ops only wait."""

from __future__ import annotations

import pytest

from tests.builders import Event, event, line, plane, session, space
from tfprof_widgets.analysis import Analysis, compute_kernel_totals, only_waits
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


def results(n: int = 3) -> Analysis:
    details = "regs:32 grid:1,1,1 block:1,1,1"
    kernels = [
        event("gemm", 93 + 20 * i, i, correlation_id=i, kernel_details=details, tf_op="net/x:A")
        for i in range(1, n + 1)
    ]
    early = event("gemm", 10, 9, kernel_details=details, tf_op="net/x:A")
    planes = [plane("/host:CPU", line("python", *steps(n))), plane("/device:GPU:0", line("Stream #1", early, *kernels))]
    return Analysis(read_xspace(space(session(duration_us=1000), *planes)))


def test_the_totals_of_steps_are_of_the_averaged_ones_alone() -> None:
    found = results()
    inside, names = found.step_sums, found.occurrences.name
    of = {
        (names[unit], bool(found.occurrences.is_device[unit])): (count, total, own)
        for unit, count, total, own in zip(inside.unit, inside.count, inside.total_ps, inside.self_ps, strict=True)
    }
    us = 1_000_000
    assert of["net/x", False] == (3, 30 * us, 18 * us)
    assert of["net/y", False] == (3, 12 * us, 12 * us)
    assert of["net/x", True] == (3, 6 * us, 6 * us)


def test_kernels_have_totals_of_the_capture_and_of_the_averaged_steps() -> None:
    found = results()
    whole = compute_kernel_totals(found.trace, found.kernels)
    assert (whole.count.tolist(), whole.total_ps.tolist(), whole.max_ps.tolist()) == ([4], [15_000_000], [9_000_000])
    inside = found.is_averaged[found.steps.event_step] & (found.steps.event_step >= 0)
    of_steps = compute_kernel_totals(found.trace, found.kernels, inside)
    assert (of_steps.count.tolist(), of_steps.total_ps.tolist()) == ([3], [6_000_000])
    assert (of_steps.min_ps.tolist(), of_steps.max_ps.tolist()) == ([1_000_000], [3_000_000])
    assert len(compute_kernel_totals(found.trace, found.kernels, inside & False).kernel) == 0


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
    top = Analysis(read_xspace(space(session(duration_us=1000), cpu))).overview.top_ops
    assert top[["name", "self_time_ratio"]].to_numpy().tolist() == [["net/x", 1.0]]
