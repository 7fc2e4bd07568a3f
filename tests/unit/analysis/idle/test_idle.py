"""Gaps in the work of devices: where they lie, what they waited for, what they come before; on drawn and on real captures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import EPOCH_NS, Event, U, event, line, plane, session, space, trace
from tfprof_widgets.analysis import (
    CATEGORY_CODE,
    Analysis,
    HostWork,
    Part,
    Pieces,
    Waits,
    charge,
    idle,
    kernel_events,
    launch_calls,
    resolve,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Int64, UInt8, merge_traces

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


def test_between_steps_a_gap_is_in_no_step() -> None:
    main = (train(0, 40, 0), launch(10, 5, 1), train(60, 40, 1), launch(70, 5, 2))
    frame = idle_of(main, (ran(15, 25, 1), ran(75, 25, 2)))
    assert rows(frame, "step", "position", "duration_us")[2:] == [
        (-1, "outside", 20),
        (1, "before", 10),
        (1, "before", 5),
    ]


def test_each_device_has_its_own_gaps() -> None:
    main = (train(0, 100), launch(10, 5, 1), launch(50, 10, 2))
    frame = idle_of(main, (ran(15, 85, 1),), (ran(60, 40, 2),))
    assert rows(frame, "device", "gap", "duration_us") == [
        ("/device:GPU:0", 0, 10),
        ("/device:GPU:0", 0, 5),
        ("/device:GPU:1", 1, 45),  # the thread that launches for it launches for the other one meanwhile
        ("/device:GPU:1", 1, 15),
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


def test_after_the_last_work_of_a_device_nothing_lies_between_steps() -> None:
    main = (train(0, 40, 0), launch(10, 5, 1), train(60, 40, 1))
    frame = idle_of(main, (ran(15, 5, 1),))
    assert "outside" not in set(frame["position"])


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many spans of time each look at what hosts did takes in."""
    found: list[int] = []

    def counted(step: Int64, *spans: Any, **limits: Any) -> Pieces:
        found.append(len(step) + len(limits["step_start_ps"]))
        return resolve(step, *spans, **limits)

    monkeypatch.setattr(idle, "resolve", counted)
    return found


def test_each_of_many_windows_costs_what_its_own_events_cost(looked_at: list[int]) -> None:
    main, stream = TWO_KERNELS
    planes = plane("/host:CPU", line("main", *main)), plane("/device:GPU:0", line("Stream #1", *stream))
    windows = [
        read_xspace(space(session(start_ns=EPOCH_NS + 10**6 * i, duration_us=100), *planes), host="h") for i in range(5)
    ]
    alone = Analysis(windows[0]).idle
    of_one = sum(looked_at)
    frame = Analysis(merge_traces(windows)).idle
    assert rows(frame, "step", "duration_us") == [(i, us) for i in range(5) for us in alone["duration_us"]]
    assert sum(looked_at) == 6 * of_one


@pytest.mark.parametrize("has_own_thread", [False, True])
def test_what_hosts_do_costs_as_much_for_many_devices_as_for_one(has_own_thread: bool, looked_at: list[int]) -> None:
    ops = [event("MatMul:MatMul" if i % 2 else "SaveV2:SaveV2", 10 * i, 9) for i in range(200)]

    def cost(n: int) -> int:
        calls = [launch(2000 + 5 * i, 2, i + 1) for i in range(n)]
        threads = [line(f"thread {i}", call) for i, call in enumerate(calls)] if has_own_thread else []
        main = line("main", train(0, 2300), *ops, *(() if has_own_thread else calls))
        streams = [(ran(2200, 50, i + 1),) for i in range(n)]
        devices = [plane(f"/device:GPU:{i}", line("Stream #1", *events)) for i, events in enumerate(streams)]
        looked_at.clear()
        frame = Analysis(trace(plane("/host:CPU", main, *threads), *devices)).idle
        assert frame.groupby("device")["duration_us"].sum().tolist() == [2250] * n
        return sum(looked_at)

    assert cost(16) < cost(1) + 15 * 20


@pytest.mark.parametrize("seed", range(20))
def test_many_waits_at_once_are_charged_as_each_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hosts = (Part.OTHER, Part.DISPATCH, Part.HOST_COMPUTE, Part.KERNEL_LAUNCH, Part.SYNC, Part.COMPILE, Part.INPUT)

    def tiles(n_owners: int) -> tuple[Int64, Int64, Int64, UInt8]:
        owner = np.repeat(np.arange(n_owners), 30)
        edges = np.sort(rng.integers(0, 200, (n_owners, 60)), axis=1).reshape(-1, 2)
        kept = edges[:, 1] > edges[:, 0]
        return owner[kept], edges[kept, 0], edges[kept, 1], rng.choice(hosts, int(kept.sum())).astype(np.uint8)

    work = HostWork(*tiles(3), Pieces(*tiles(2)))
    start, n = rng.integers(0, 190, 40), 40
    line_id, step = rng.integers(-1, 4, n), rng.integers(-1, 2, n)
    part = np.where(line_id < 0, rng.choice([Part.OTHER, Part.LATENCY, Part.QUEUED], n), Part.OTHER).astype(np.uint8)
    waits = Waits(np.arange(n), line_id, part, step, start, start + rng.integers(1, 60, n))
    pieces = charge(work, waits)
    expected = pd.DataFrame({"wait": pieces.step, "cause": CATEGORY_CODE[pieces.span_type], "start": pieces.start_ps})
    expected["ps"] = pieces.end_ps - pieces.start_ps
    sums = expected.groupby(["wait", "cause"], as_index=False).agg({"start": "min", "ps": "sum"})
    found = sorted(zip(*(column.tolist() for column in idle.causes_of(work, waits)), strict=True))
    assert found == list(sums.itertuples(index=False, name=None))


def test_the_queue_is_what_ran_before_and_was_not_done_when_the_call_began() -> None:
    calls = (launch(0, 1, 1), launch(2, 1, 2), launch(4, 1, 3), launch(40, 1, 4))
    whole = trace(
        plane("/host:CPU", line("main", *calls)),
        plane("/device:GPU:0", line("Stream #1", *(ran(3 + 10 * i, 10, i + 1) for i in range(4)))),
    )
    call_ps, queued = launch_calls(whole, kernel_events(whole))
    assert queued.tolist() == [0, 1, 2, 0]
    assert call_ps.tolist() == [10**6] * 4


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


GPU = ("cnn_input", "transformer_loop", "transformer_xla", "resnet_xla", "resnet_mixed", "lstm", "eager", "oom")
