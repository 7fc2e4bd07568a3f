"""Gaps in the work of devices: where they lie, what they waited for, what they come before; on drawn and on real captures."""

from __future__ import annotations

import pandas as pd

from tests.builders import Event, U, event, line, plane, trace
from tfprof_widgets.analysis import Analysis

DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"


def launch(start_us: float, duration_us: float, correlation: int) -> Event:
    return event("cuLaunchKernel", start_us, duration_us, correlation_id=U(correlation))


def ran(start_us: float, duration_us: float, correlation: int, op: str = "m/dense/MatMul:MatMul") -> Event:
    return event("kern", start_us, duration_us, correlation_id=U(correlation), tf_op=op, kernel_details=DETAILS)


def copied(start_us: float, duration_us: float, correlation: int) -> Event:
    return event("MemcpyH2D", start_us, duration_us, correlation_id=U(correlation))


def idle_of(main: tuple[Event, ...], *streams: tuple[Event, ...]) -> pd.DataFrame:
    devices = [plane(f"/device:GPU:{i}", line("Stream #1", *events)) for i, events in enumerate(streams)]
    return Analysis(trace(plane("/host:CPU", line("main", *main)), *devices)).idle


def train(start_us: float, duration_us: float, step: int = 0) -> Event:
    return event("train", start_us, duration_us, _r=1, step_num=step)


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    return list(frame[list(columns)].itertuples(index=False, name=None))


TWO_KERNELS = (
    (train(0, 100), launch(10, 5, 1), launch(50, 10, 2)),
    (ran(15, 20, 1), ran(60, 20, 2, "gradient_tape/m/dense/MatMul:MatMul")),
)


def test_a_gap_lies_before_between_or_after_the_kernels_of_its_step() -> None:
    found = rows(idle_of(*TWO_KERNELS), "gap", "position", "cause", "start_ms", "duration_us", "gap_us")
    assert found == [
        (0, "before", "dispatch", 0, 10, 15),
        (0, "before", "kernel_launch", 0.01, 5, 15),
        (1, "between", "dispatch", 0.035, 15, 25),
        (1, "between", "kernel_launch", 0.05, 10, 25),
        (2, "after", "dispatch", 0.08, 20, 20),
    ]


def test_a_copy_is_a_cause_and_ends_no_gap() -> None:
    frame = idle_of((train(0, 100), launch(10, 5, 1), launch(15, 5, 2)), (copied(15, 30, 1), ran(50, 50, 2)))
    assert rows(frame, "gap", "position", "cause", "duration_us") == [
        (0, "before", "copy_to_device", 30),
        (0, "before", "dispatch", 10),
        (0, "before", "kernel_launch", 5),
        (0, "before", "other", 5),
    ]


def test_a_device_that_begins_late_waits_in_the_steps_before() -> None:
    main = (train(0, 40, 0), train(40, 40, 1), train(80, 40, 2), launch(90, 5, 1))
    frame = idle_of(main, (ran(95, 5, 1),))
    assert rows(frame.drop_duplicates("gap"), "step", "start_ms", "gap_us") == [
        (0, 0, 40),
        (1, 0.04, 40),
        (2, 0.08, 15),
        (2, 0.1, 20),
    ]


def test_a_cuda_graph_that_runs_keeps_the_queue_from_running_dry() -> None:
    calls = (launch(0, 1, 1), launch(20, 1, 2))
    graph = event("CudaGraph", 2, 50, correlation_id=U(1), cuda_graph_exec_id=U(7))
    stream = line("Stream #1", graph, ran(55, 10, 2))
    frame = Analysis(trace(plane("/host:CPU", line("main", *calls)), plane("/device:GPU:0", stream))).kernel_launches
    assert rows(frame, "name", "queue_depth", "starved_ratio") == [("kern", 1, 0)]


def test_where_no_kernel_is_described_nobody_knows_the_queue() -> None:
    kernels = tuple(event("kern", at, 20, correlation_id=U(i)) for i, at in ((1, 15), (2, 60)))
    frame = idle_of((train(0, 100), launch(10, 5, 1), launch(12, 3, 2)), kernels).drop_duplicates("gap")
    assert frame["launch_us"].tolist()[:2] == [5, 3]
    assert frame["queue_depth"].isna().all()
