"""RunMetadata as programs on GPUs, in loops and from several threads write it, drawn by hand."""

from __future__ import annotations

from typing import Any

from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import Opened, places_of, read_run_metadata, step_message
from tfprof_widgets.trace import OpGraph, Trace

CPU, GPU = "/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"
ALL, STREAM, COPIES = "/device:GPU:0/stream:all", "/device:GPU:0/stream:7", "/device:GPU:0/memcpy"
START_US = 1_700_000_000_000_000


def node(name: str, start: int, duration: int, label: str = "", **fields: Any) -> dict[str, Any]:
    """One execution: start and duration in us."""
    return {
        "node_name": name.encode(),
        "all_start_micros": START_US + start,
        "op_end_rel_micros": duration,
        "all_end_rel_micros": duration,
        "timeline_label": label.encode(),
        **fields,
    }


def run(**devices: list[dict[str, Any]]) -> bytes:
    """A RunMetadata of the executions of `cpu`, `gpu`, `all`, `stream` and `copies`."""
    names = {"cpu": CPU, "gpu": GPU, "all": ALL, "stream": STREAM, "copies": COPIES}
    message = step_message("RunMetadata")()
    for device, nodes in devices.items():
        stats = message.step_stats.dev_stats.add(device=names[device].encode())
        for one in nodes:
            stats.node_stats.add(**one)
    return bytes(message.SerializeToString())


def read(*steps: bytes) -> tuple[Trace, OpGraph, Profile]:
    trace, graph = read_run_metadata(dict(enumerate(steps)))
    return trace, graph, Profile(lambda: Opened(trace, (), op_graph=graph), title="drawn")


def test_kernels_are_on_the_device_once_though_two_lines_tell_them() -> None:
    kernel = node("net/MatMul", 10, 30, "sgemm_128x64@@net/MatMul:MatMul#id=1#")
    trace, graph, prof = read(
        run(
            cpu=[node("x", 0, 2, "x = Placeholder()")],
            gpu=[node("net/MatMul", 3, 4, "net/MatMul = MatMul(x, w)")],
            all=[kernel],
            stream=[kernel],
        )
    )
    ops = prof.ops.set_index(["device", "name"])["total_self_time_us"]
    assert ops["Device", "net/MatMul"] == 30
    assert ops["Host", "net/MatMul"] == 4
    assert [plane.name for plane in trace.planes] == ["/host:CPU", "/device:GPU:0"]
    times = graph.times.assign(name=graph.ops["name"].to_numpy()[graph.times["op"]])
    assert times[times["is_accelerator"]][["name", "duration_us"]].values.tolist() == [["net/MatMul", 30]]
    steps = prof.steps.iloc[0]
    assert steps["device_compute_ms"] == 0.03
    assert steps["name"] == "step 0"


def test_copies_are_copies() -> None:
    _, graph, prof = read(
        run(
            cpu=[node("x", 0, 2, "x = Placeholder()")],
            copies=[node("edge_1_x:MEMCPYHtoD", 5, 7, "MEMCPYHtoD id:2 bytes:64"), node("y", 20, 3, "MEMCPYDtoH id:3")],
        )
    )
    steps = prof.steps.iloc[0]
    assert (steps["copy_to_device_ms"], steps["output_ms"]) == (0.007, 0.003)
    assert "x" in set(graph.ops["name"])


def test_ops_that_overlap_without_a_thread_are_on_lines_of_their_own() -> None:
    trace, _, prof = read(
        run(cpu=[node("a", 0, 10, "a = A()"), node("b", 2, 5, "b = B()"), node("c", 10, 1, "c = C(a)")])
    )
    lines = {line.name for line in trace.lines}
    assert {"CPU:0", "CPU:0 (2)"} <= lines
    assert prof.ops["total_self_time_us"].sum() == 16


def test_threads_that_are_told_are_lines() -> None:
    trace, _, _ = read(
        run(cpu=[node("a", 0, 10, "a = A()", thread_id=5), node("b", 20, 5, "b = B()", thread_id=9)]),
    )
    assert {"CPU:0 thread 5", "CPU:0 thread 9"} <= {line.name for line in trace.lines}


def test_an_op_in_a_loop_ran_as_often_as_it_was_scheduled() -> None:
    loop = [node("while/body", 10 * i, 4, "while/body = Add(x, y)") for i in range(5)]
    _, graph, prof = read(run(cpu=loop), run(cpu=loop[:2]))
    assert graph.runs[["step", "n_runs"]].values.tolist() == [[0, 5], [1, 2]]
    assert prof.tree("scope").set_index("name").loc["while/body", "run_count"] == 3  # tfprof's average is whole


def test_allocations_are_given_back_by_what_they_are_of() -> None:
    records = [(1, 512), (2, 128), (9, -512), (12, -128)]
    memory = {
        "allocator_name": b"GPU_0_bfc",
        "total_bytes": 640,
        "peak_bytes": 640,
        "allocator_bytes_in_use": 4096,
        "allocation_records": [{"alloc_micros": START_US + time, "alloc_bytes": size} for time, size in records],
    }
    shape = {"dim": [{"size": 4}, {"size": 32}]}
    output = {
        "tensor_description": {
            "dtype": 1,
            "shape": shape,
            "allocation_description": {"requested_bytes": 512, "allocated_bytes": 512},
        }
    }
    _, graph, prof = read(run(gpu=[node("a", 0, 8, "a = A()", memory=[memory], output=[output])]))
    lifetimes = prof.memory.lifetimes("GPU_0_bfc")
    assert lifetimes["allocation_bytes"].tolist() == [512, 128]
    assert lifetimes["lifetime_ms"].round(6).tolist() == [0.008, 0.01]
    assert lifetimes["shape"].tolist() == ["[4,32]", ""]
    assert graph.memory["in_use_bytes"].tolist() == [4096]
    assert "GPU_0_bfc bytes in use" in " ".join(prof.counters["counter"].unique())


def test_devices_have_places_that_the_analyses_know() -> None:
    places = places_of([CPU, GPU, ALL, STREAM, "/job:ps/replica:0/task:1/device:CPU:0", "/gpu:1/stream:all"])
    told = {name: (place.host, place.plane, place.line, place.is_derived) for name, place in places.items()}
    assert told[CPU] == ("localhost", "/host:CPU", "CPU:0", False)
    assert told[GPU] == ("localhost", "/host:CPU", "GPU:0 scheduling", False)
    assert told[ALL][1:] == ("/device:GPU:0", "stream:all", True)
    assert told[STREAM][1:] == ("/device:GPU:0", "stream:7", False)
    assert told["/job:ps/replica:0/task:1/device:CPU:0"][0] == "/job:ps/replica:0/task:1"
    assert told["/gpu:1/stream:all"][1:] == ("/device:GPU:1", "stream:all", False)
