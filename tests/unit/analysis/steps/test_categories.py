"""What steps are made of at every instant, what made the device wait, and where its gaps lie."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.builders import Event, Line, U, event, line, plane, trace
from tfprof_widgets.analysis import STEP_CATEGORIES, Analysis, compute_steps, guide_of

PROCESS = "ExecutorState::Process"


def step(*executor: Event, kernels: tuple[Event, ...], main: tuple[Event, ...] = ()) -> pd.Series:
    """A step of 100 us; `executor` is on a thread of its own, to which the step leads from its first microsecond on."""
    call = event("call", 0, 100, _pt=1, _p=5)
    host = line("main", event("train", 0, 100, _r=1, step_num=0), call, *main)
    other = line("executor", event(PROCESS, 1, 99, _ct=1, _c=5), *executor)
    return of(host, other, line("Stream #1", *kernels))


def of(*lines: Line) -> pd.Series:
    frame = compute_steps(trace(plane("/host:CPU", *lines[:-1]), plane("/device:GPU:0", lines[-1]))).frame
    assert len(frame) == 1
    return frame.iloc[0]


def us(row: pd.Series) -> dict[str, float]:
    """The categories that take any time."""
    return {name: round(row[f"{name}_ms"] * 1000, 6) for name in STEP_CATEGORIES if row[f"{name}_ms"]}


def launch(start_us: float, duration_us: float, correlation: int, name: str = "cuLaunchKernel") -> Event:
    return event(name, start_us, duration_us, correlation_id=U(correlation))


def ran(start_us: float, duration_us: float, correlation: int, name: str = "kern") -> Event:
    return event(name, start_us, duration_us, correlation_id=U(correlation))


def test_until_the_call_that_launches_returns_its_thread_tells_what_the_device_waits_for() -> None:
    row = step(event("m:StringToNumber", 10, 20), launch(40, 10, 1), kernels=(ran(55, 45, 1),))
    # The executor before and after the op; the op; the call, and 5 us until the kernel begins.
    assert us(row) == {"dispatch": 20, "host_compute": 20, "kernel_launch": 15, "device_compute": 45}


def test_a_copy_that_runs_on_the_device_comes_before_what_the_host_does() -> None:
    row = step(launch(10, 40, 1, "MemcpyH2D"), launch(60, 10, 2), kernels=(ran(20, 35, 1, "MemcpyH2D"), ran(70, 30, 2)))
    assert us(row) == {"copy_to_device": 35, "dispatch": 15, "kernel_launch": 20, "device_compute": 30}


def test_work_that_the_device_describes_counts_where_nothing_tells_of_its_call() -> None:
    kernel = event("kern", 20, 30, kernel_details="grid:1,1,1 block:1,1,1")
    copied = event("MemcpyH2D", 60, 10, memcpy_details="size:4")
    row = of(line("main", event("train", 0, 100, _r=1, step_num=0)), line("Stream #1", kernel, copied))
    assert us(row) == {"dispatch": 60, "copy_to_device": 10, "device_compute": 30}


@pytest.mark.parametrize(
    ("details", "category"),
    [
        ("kind_src:array kind_dst:device size:4 dest:0 async:1", "device_to_device"),
        ("kind_src:pinned kind_dst:array size:4 dest:0 async:1", "copy_to_device"),
        ("kind_src:array kind_dst:pageable size:4 dest:0 async:1", "output"),
        ("size:4 dest:0 async:1", "device_to_device"),
    ],
)
def test_a_copy_whose_name_does_not_tell_its_direction_is_told_by_its_memory(details: str, category: str) -> None:
    copied = event("MemcpyOther", 20, 30, correlation_id=U(1), memcpy_details=details)
    row = of(line("main", event("train", 0, 100, _r=1, step_num=0)), line("Stream #1", copied))
    assert us(row) == {"dispatch": 70, category: 30}


def test_a_copy_within_the_host_is_no_work_of_the_device() -> None:
    details = "kind_src:pinned kind_dst:pageable size:4 dest:0 async:1"
    copied = event("MemcpyOther", 20, 30, correlation_id=U(1), memcpy_details=details)
    row = of(line("main", event("train", 0, 100, _r=1, step_num=0)), line("Stream #1", copied))
    assert us(row) == {"dispatch": 100}


def test_waiting_for_data_rules_over_the_executor_but_not_over_the_call_that_launches() -> None:
    fetch = event("IteratorGetNext:IteratorGetNext", 10, 50)
    row = step(launch(40, 30, 1), kernels=(ran(70, 30, 1),), main=(fetch,))
    assert us(row) == {"dispatch": 10, "input": 30, "kernel_launch": 30, "device_compute": 30}


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("cuStreamSynchronize", "sync"),
        ("EagerLocalExecute: OptionalHasValue", "sync"),
        ("save/SaveV2:SaveV2", "checkpoint"),
        ("EagerLocalExecute: RestoreV2", "checkpoint"),
        ("Compiling IR:main_kernel_1", "compile"),
        ("XlaCompile:#module=m#", "compile"),
        ("tf.function-graph_building", "compile"),
        ("IteratorGetNextOp::DoCompute", "input"),
        ("MakeIterator::ParallelMapDatasetV2", "input"),
        ("m/a:Where", "host_compute"),
        ("m/a:_Send", "dispatch"),
    ],
)
def test_what_the_thread_that_launches_does_is_what_it_is(name: str, category: str) -> None:
    row = step(event(name, 10, 50), launch(70, 5, 1), kernels=(ran(75, 25, 1),))
    expected = {"dispatch": 20.0, "kernel_launch": 5, "device_compute": 25}
    assert us(row) == {**expected, category: 50 + expected.get(category, 0)}


def test_compilers_on_threads_of_their_own_are_what_a_step_waits_for() -> None:
    compiler = line("llvm-worker-1", event("Compiling IR:main_kernel", 20, 40))
    main = line("main", event("train", 0, 100, _r=1, step_num=0), launch(70, 10, 1))
    assert us(of(main, compiler, line("Stream #1", ran(80, 20, 1)))) == {
        "dispatch": 30,
        "compile": 40,
        "kernel_launch": 10,
        "device_compute": 20,
    }


def test_without_a_device_ops_compute_and_all_else_is_dispatch() -> None:
    main = line("main", event("train", 0, 100, _r=1, step_num=0), event(PROCESS, 10, 70), event("m:Range", 50, 8))
    row = compute_steps(trace(plane("/host:CPU", main))).frame.iloc[0]
    assert us(row) == {"host_compute": 8, "dispatch": 92}


def test_a_call_that_traces_compiles_but_while_its_graph_runs() -> None:
    """Tracing is the smaller part of it: graphs are optimized and instantiated, too."""
    main = line(
        "main",
        event("train", 0, 100, _r=1, step_num=0),
        event("loss", 10, 80, tf_function_call="traced-nonXla"),
        event("tf.function-graph_building", 12, 20),
        event("EagerKernelExecute", 60, 25),
        event("m:MatMul", 65, 15),
    )
    steps = compute_steps(trace(plane("/host:CPU", main))).frame
    assert us(steps.iloc[0]) == {"compile": 55, "host_compute": 15, "dispatch": 30}
    assert steps["guide_compile_ms"].iloc[0] == pytest.approx(0.020)  # as XProf tells


def test_without_a_device_the_kernel_of_an_eager_call_computes() -> None:
    main = line(
        "main",
        event("train", 0, 100, _r=1, step_num=0),
        event("EagerExecute", 10, 40, is_func=0),
        event("EagerLocalExecute: MatMul", 12, 36),
        event("KernelAndDeviceFunc::Run", 20, 25),
        event("EagerExecute", 50, 30, is_func=1),
        event("KernelAndDeviceFunc::Run", 55, 20),
        event("EagerExecute", 80, 15, is_func=0),
        event("KernelAndDeviceFunc::Run", 81, 13),
        event("MakeIterator::RootDataset", 82, 11),
    )
    row = compute_steps(trace(plane("/host:CPU", main))).frame.iloc[0]
    assert us(row) == {"host_compute": 27, "dispatch": 62, "input": 11}


def step_launching(*inside: Event, kernel_us: tuple[float, float] = (90, 5)) -> pd.Series:
    """A step of 100 us, whose executor runs from 10 to 80 us; the kernel that its first launch started runs at `kernel_us`."""
    main = line("main", event("train", 0, 100, _r=1, step_num=0), event(PROCESS, 10, 70), *inside)
    stream = line("Stream #1(Compute)", event("kern", *kernel_us, correlation_id=U(1), tf_op="m:MatMul"))
    frame = guide_of(compute_steps(trace(plane("/host:CPU", main), plane("/device:GPU:0", stream))).frame)
    assert len(frame) == 1
    return frame.iloc[0]


def us_launching(row: pd.Series, *categories: str) -> tuple[float, ...]:
    return tuple(round(row[f"{name}_ms"] * 1000, 6) for name in categories)


LAUNCH = event("cuLaunchKernel", 22, 4, correlation_id=U(1))


def test_a_cpu_op_inside_an_op_that_launches_is_host_compute() -> None:
    row = step_launching(event("c:PartitionedCall", 15, 60), event("m:MatMul", 20, 10), LAUNCH, event("m:Range", 50, 8))
    assert us_launching(row, "kernel_launch", "host_compute") == (62, 8)


DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"


def named_kernel(start_us: float, duration_us: float, correlation: int, op: str = "m/dense/MatMul:MatMul") -> Event:
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
    (named_kernel(15, 20, 1), named_kernel(60, 20, 2, "gradient_tape/m/dense/MatMul:MatMul")),
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
    frame = idle_of((train(0, 100), launch(10, 5, 1), launch(15, 5, 2)), (copied(15, 30, 1), named_kernel(50, 50, 2)))
    assert rows(frame, "gap", "position", "cause", "duration_us") == [
        (0, "before", "copy_to_device", 30),
        (0, "before", "dispatch", 10),
        (0, "before", "kernel_launch", 5),
        (0, "before", "other", 5),
    ]


def test_a_device_that_begins_late_waits_in_the_steps_before() -> None:
    main = (train(0, 40, 0), train(40, 40, 1), train(80, 40, 2), launch(90, 5, 1))
    frame = idle_of(main, (named_kernel(95, 5, 1),))
    assert rows(frame.drop_duplicates("gap"), "step", "start_ms", "gap_us") == [
        (0, 0, 40),
        (1, 0.04, 40),
        (2, 0.08, 15),
        (2, 0.1, 20),
    ]


def test_a_cuda_graph_that_runs_keeps_the_queue_from_running_dry() -> None:
    calls = (launch(0, 1, 1), launch(20, 1, 2))
    graph = event("CudaGraph", 2, 50, correlation_id=U(1), cuda_graph_exec_id=U(7))
    stream = line("Stream #1", graph, named_kernel(55, 10, 2))
    frame = Analysis(trace(plane("/host:CPU", line("main", *calls)), plane("/device:GPU:0", stream))).kernel_launches
    assert rows(frame, "name", "queue_depth", "starved_ratio") == [("kern", 1, 0)]


def test_where_no_kernel_is_described_nobody_knows_the_queue() -> None:
    kernels = tuple(event("kern", at, 20, correlation_id=U(i)) for i, at in ((1, 15), (2, 60)))
    frame = idle_of((train(0, 100), launch(10, 5, 1), launch(12, 3, 2)), kernels).drop_duplicates("gap")
    assert frame["launch_us"].tolist()[:2] == [5, 3]
    assert frame["queue_depth"].isna().all()
