"""What of an executor thread's time the guide takes for launching kernels and what for computing on the CPU."""

from __future__ import annotations

import pandas as pd

from tests.builders import Event, U, event, line, plane, trace
from tfprof_widgets.analysis import compute_steps, guide_of

PROCESS = "ExecutorState::Process"


def step(*inside: Event, kernel_us: tuple[float, float] = (90, 5)) -> pd.Series:
    """A step of 100 us, whose executor runs from 10 to 80 us; the kernel that its first launch started runs at `kernel_us`."""
    main = line("main", event("train", 0, 100, _r=1, step_num=0), event(PROCESS, 10, 70), *inside)
    stream = line("Stream #1(Compute)", event("kern", *kernel_us, correlation_id=U(1), tf_op="m:MatMul"))
    frame = guide_of(compute_steps(trace(plane("/host:CPU", main), plane("/device:GPU:0", stream))).frame)
    assert len(frame) == 1
    return frame.iloc[0]


def us(row: pd.Series, *categories: str) -> tuple[float, ...]:
    return tuple(round(row[f"{name}_ms"] * 1000, 6) for name in categories)


LAUNCH = event("cuLaunchKernel", 22, 4, correlation_id=U(1))


def test_an_op_that_launches_a_kernel_is_launching() -> None:
    row = step(event("m:MatMul", 20, 10), LAUNCH)
    assert us(row, "kernel_launch", "host_compute", "device_compute", "other") == (70, 0, 5, 25)


def test_an_op_that_launches_nothing_computes_on_the_cpu() -> None:
    row = step(event("m:MatMul", 20, 10), LAUNCH, event("m:StringToNumber", 40, 30))
    assert us(row, "kernel_launch", "host_compute") == (40, 30)


def test_an_op_around_one_that_launches_is_launching() -> None:
    row = step(event("c:PartitionedCall", 15, 60), event("m:MatMul", 20, 10), LAUNCH)
    assert us(row, "kernel_launch", "host_compute") == (70, 0)


def test_a_cpu_op_inside_an_op_that_launches_is_host_compute() -> None:
    row = step(event("c:PartitionedCall", 15, 60), event("m:MatMul", 20, 10), LAUNCH, event("m:Range", 50, 8))
    assert us(row, "kernel_launch", "host_compute") == (62, 8)


def test_the_runtime_around_ops_is_launching() -> None:
    row = step(event("m:MatMul", 20, 10), LAUNCH, event("ExecutorPropagateOutputs", 40, 30))
    assert us(row, "kernel_launch", "host_compute") == (70, 0)


def test_the_device_comes_first() -> None:
    row = step(event("m:MatMul", 20, 10), LAUNCH, event("m:Range", 50, 8), kernel_us=(45, 9))
    assert us(row, "device_compute", "host_compute", "kernel_launch") == (9, 4, 57)


def test_without_a_device_nothing_is_launched() -> None:
    main = line("main", event("train", 0, 100, _r=1, step_num=0), event(PROCESS, 10, 70), event("m:Range", 50, 8))
    row = guide_of(compute_steps(trace(plane("/host:CPU", main))).frame).iloc[0]
    assert us(row, "kernel_launch", "host_compute", "other") == (0, 70, 30)
