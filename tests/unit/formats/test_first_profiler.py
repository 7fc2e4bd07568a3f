"""Files of TensorFlow's first profiler: told by their content, refused where they are damaged, drawn by hand."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfprof_widgets as tfprof
from tests.fuzz.mutations import damaged
from tests.unit.formats.first_profiler import HOOK_STEPS, N_RUNS
from tfprof_widgets.analysis import compute_flows
from tfprof_widgets.errors import EmptyTraceError, TfProfError, TraceError
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import (
    FLOW_IN,
    FLOW_OUT,
    MOST_LANES,
    Maker,
    Opened,
    StepStats,
    TensorLife,
    TensorMakers,
    nested_lanes,
    places_of,
    read_run_metadata,
    read_step_stats,
    read_timelines,
    step_message,
    step_numbers,
    step_trace,
)
from tfprof_widgets.trace import OpGraph, Trace

N_DAMAGED = 40
SOURCES = ("runs/run_0.pb", "tasks/run_5.stats", "tasks/run_5.pb", "profile/profile.context", "hook/timeline-2.json")


def timeline(**changes: Any) -> bytes:
    """A timeline of one op, some of whose members are others."""
    op = {"ph": "X", "cat": "Op", "name": "MatMul", "pid": 1, "tid": 0, "ts": 10, "dur": 5}
    op |= {"args": {"name": "x", "op": "MatMul"}} | changes
    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:CPU:0 Compute"}}
    return json.dumps({"traceEvents": [process, op]}).encode()


def cut(source: str, part: float) -> Callable[[Path], bytes]:
    """The first part of a real file."""

    def content(directory: Path) -> bytes:
        whole = (directory / source).read_bytes()
        return whole[: round(len(whole) * part)]

    return content


BAD: dict[str, tuple[str, bytes | Callable[[Path], bytes], str]] = {
    "a cut timeline": ("timeline-1.json", cut("hook/timeline-2.json", 0.5), r"\d+ bytes end inside traceEvents"),
    "a cut run": ("run.pb", cut("runs/run_0.pb", 0.5), r"RunMetadata or StepStats: byte \d+ of \d+: .*truncated"),
    "cut stats": ("run.pb", cut("tasks/run_5.stats", 0.5), r"RunMetadata or StepStats: byte \d+ of \d+"),
    "a cut profile": ("profile.context", cut("profile/profile.context", 0.5), r"byte \d+ of \d+"),
    "a graph": ("graph.pb", lambda at: (at / "runs/graph.pb").read_bytes(), r"is a GraphDef.*graph="),
    "a log of ops": ("x.pb", lambda at: (at / "runs/tfprof_log").read_bytes(), r"OpLogProto"),
    "a summary": ("x.pb", lambda at: next((at / "hook").glob("events.*")).read_bytes(), r"byte \d+.*RunMetadata"),
    "a zip archive": ("trace.zip", b"PK\x03\x04" + bytes(60), r"is a zip archive: unpack it"),
    "a pointer of Git LFS": (
        "x.xplane.pb",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n",
        r"git lfs pull",
    ),
    "a profile of pprof": ("m.prof", gzip.compress(b"\n\x04\x08\x01\x10\x02\x12\x05\x0a\x01\x01\x12\x00"), r"pprof"),
    "a text": ("notes.txt", b"Dear diary, today I trained a net.\n", r"RunMetadata"),
    "a text named as JSON": ("x.json", b"Dear diary", r"begins with b'D', neither an object nor a list"),
    "JSON of something else": ("x.json", b'{"a": 1}', r"without traceEvents"),
    "a cut gzip": (
        "t.json.gz",
        lambda at: gzip.compress((at / "hook/timeline-2.json").read_bytes())[:900],
        "gzip stream",
    ),
    "a broken gzip": ("run.pb.gz", b"\x1f\x8b\x08\x00aaaaaaaaaaaaaaaa", r"not whole"),
    "a time that is a text": (
        "timeline-1.json",
        timeline(ts="soon"),
        r"the first odd one is event 1: its ts is 'soon', not a time",
    ),
    "args that are a list": (
        "timeline-1.json",
        timeline(args=[1]),
        r"the first odd one is event 1: its args are a list",
    ),
    "a process that is a list": (
        "timeline-1.json",
        timeline(pid=[1]),
        r"the first odd one is event 1: its pid is a list",
    ),
    "a phase that is none": ("timeline-1.json", timeline(ph=None), r"the first odd one is event 1: it has no ph"),
    "nested too deeply": ("timeline-1.json", timeline()[:-1] + b',"x":' + b"[" * 10**5, r"byte|nested"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_named_with_what_was_expected(first_profiler: Path, tmp_path: Path, what: str) -> None:
    name, content, message = BAD[what]
    file = tmp_path / name
    file.write_bytes(content(first_profiler) if callable(content) else content)
    with pytest.raises(TraceError, match=message) as caught:
        tfprof.load(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("name", ["run.pb", "timeline-1.json", "profile.context", "x.pbtxt"])
def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(EmptyTraceError, match=rf"{name}.*0 bytes"):
        tfprof.load(tmp_path / name)


def test_a_directory_of_several_kinds_names_them(first_profiler: Path, tmp_path: Path) -> None:
    for source in ("runs/run_0.pb", "hook/timeline-2.json"):
        (tmp_path / Path(source).name).write_bytes((first_profiler / source).read_bytes())
    with pytest.raises(TraceError, match=r"several kinds: run_0.pb \(a RunMetadata.*timeline-2.json \(JSON.*glob"):
        tfprof.load(tmp_path)
    assert len(tfprof.load(tmp_path / "*.json").steps) == 1
    (tmp_path / "other.json").write_text('[{"ph": "X", "name": "a", "ts": 1, "dur": 1}]')
    with pytest.raises(TraceError, match=r"several kinds: timeline-2.json .*other.json"):
        tfprof.load(tmp_path / "*.json")


def test_of_several_steps_the_damaged_one_is_named(first_profiler: Path, tmp_path: Path) -> None:
    for number in HOOK_STEPS:
        content = (first_profiler / "hook" / f"timeline-{number}.json").read_bytes()
        (tmp_path / f"timeline-{number}.json").write_bytes(content[: len(content) // 2] if number == 4 else content)
    with pytest.raises(TraceError, match=r"timeline-4\.json is no readable timeline"):
        tfprof.load(tmp_path)


def test_files_of_steps_beside_an_xspace_are_told(first_profiler: Path, tmp_path: Path, keras_xplane: Path) -> None:
    (tmp_path / "host.xplane.pb").write_bytes(keras_xplane.read_bytes())
    (tmp_path / "run_0.pb").write_bytes((first_profiler / "runs" / "run_0.pb").read_bytes())
    assert any("run_0.pb" in text for text in tfprof.load(tmp_path).trace.warnings)


def look(file: Path) -> None:
    """Open a file and ask for what is made of it; what it says is wrong may be said by a `TfProfError` only."""
    try:
        prof = tfprof.load(file)
        assert prof.trace.n_events >= 0
        assert len(prof.steps) + len(prof.ops) + len(prof.memory.summary) + len(prof.counters) + len(prof.flows) >= 0
        prof.tree("scope")
        prof.tree("graph")
    except TfProfError:
        pass


@pytest.mark.parametrize("source", SOURCES)
def test_damaged_files_never_raise_anything_else(first_profiler: Path, tmp_path: Path, source: str) -> None:
    whole, rng = (first_profiler / source).read_bytes(), random.Random(source)
    for i in range(N_DAMAGED):
        file = tmp_path / f"{i}_{Path(source).name}"
        file.write_bytes(damaged(whole, rng))
        look(file)


@pytest.mark.parametrize("name", ["x.xplane.pb", "x.json.bak", "profile", "a b.pb"])
@pytest.mark.parametrize(
    "source", ["runs/run_1.pb", "tasks/run_5.stats", "profile/profile.context", "hook/timeline-2.json"]
)
def test_a_file_of_any_name_is_told_by_its_content(
    first_profiler: Path, tmp_path: Path, source: str, name: str
) -> None:
    content = (first_profiler / source).read_bytes()
    for file, raw in ((tmp_path / name, content), (tmp_path / f"{name}.gz", gzip.compress(content))):
        file.write_bytes(raw)
        prof = tfprof.load(file)
        assert len(prof.steps)
        assert prof.tree("op")["total_micros"].iloc[0] > 0


def test_a_directory_of_runs_has_its_graph_and_its_log_beside_it(first_profiler: Path) -> None:
    prof = tfprof.load(first_profiler / "runs")
    assert prof.steps["name"].tolist() == [f"step {number}" for number in range(N_RUNS)]
    root = prof.tree("scope").iloc[0]
    assert root["total_params"] > 24 * 16 + 8 * 16
    assert root["total_float_ops"] > 0
    assert len(prof.tree("code")) > 10
    stored = tfprof.load(first_profiler / "profile" / "profile.context").tree("scope")
    # The profiler filled in shapes that the graph leaves open.
    assert prof.tree("scope").drop(columns="input_shapes").equals(stored.drop(columns="input_shapes"))


def test_a_graph_may_lie_elsewhere_and_be_text(first_profiler: Path, tmp_path: Path) -> None:
    shutil.copy(first_profiler / "runs" / "run_0.pb", tmp_path)
    alone = tfprof.load(tmp_path / "run_0.pb")
    assert alone.tree("scope")["total_params"].iloc[0] == 0
    as_text, as_bytes = (
        tfprof.load(tmp_path / "run_0.pb", graph=first_profiler / graph)
        for graph in ("profile/as_text.pbtxt", "runs/graph.pb")
    )
    assert as_text.tree("graph").equals(as_bytes.tree("graph"))
    assert as_text.tree("scope")["total_params"].iloc[0] > 24 * 16
    assert as_text.variables.equals(as_bytes.variables)
    with pytest.warns(UserWarning, match="first profiler"):
        as_text.save(tmp_path / "saved")
    assert tfprof.load(tmp_path / "saved").tree("scope").equals(as_text.tree("scope"))
    trained = as_text.variables[as_text.variables["dtype"] == "float32"]
    assert trained["n_params"].max() == 24 * 16
    assert (trained["bytes"] == 4 * trained["n_params"]).all()
    stored = tfprof.load(first_profiler / "profile" / "profile.context").variables
    assert stored.set_index("name").loc[trained["name"], "bytes"].tolist() == trained["bytes"].tolist()


@pytest.mark.parametrize("path", ["runs", "runs/run_1.pb", "profile/profile.context", "tasks/run_5.pb", "hook"])
def test_a_saved_profile_comes_back_whole(first_profiler: Path, tmp_path: Path, path: str) -> None:
    prof = tfprof.load(first_profiler / path)
    with pytest.warns(UserWarning, match="TensorBoard does not" if path == "hook" else "first profiler"):
        prof.save(tmp_path / "saved")
    again = tfprof.load(tmp_path / "saved")
    assert again.steps.equals(prof.steps)
    assert again.trace.n_events == prof.trace.n_events
    for view in ("scope", "graph", "op", "code"):
        assert again.tree(view).equals(prof.tree(view)), view


def test_profiles_of_several_steps_are_one(first_profiler: Path, tmp_path: Path) -> None:
    for name in "ab":
        shutil.copy(first_profiler / "profile" / "profile.context", tmp_path / f"{name}.context")
    one, two = tfprof.load(first_profiler / "profile" / "profile.context"), tfprof.load(tmp_path)
    merged, single = (prof.tree("scope").iloc[0]["total_micros"] for prof in (two, one))
    assert merged == pytest.approx(2 * single, rel=0.2)
    assert len(two.tree("scope")) == len(one.tree("scope"))


def test_a_graph_that_is_none_is_told(first_profiler: Path) -> None:
    with pytest.raises(TraceError, match="not a GraphDef"):
        tfprof.load(first_profiler / "runs" / "run_0.pb", graph=first_profiler / "runs" / "run_1.pb")


def test_steps_have_the_last_number_of_their_names() -> None:
    assert step_numbers([Path("timeline-12.json"), Path("timeline-3.json.gz")]) == [12, 3]
    assert step_numbers([Path("w0_run_7.pb"), Path("w0_run_8.pb")]) == [7, 8]
    assert step_numbers([Path("a.pb"), Path("run_8.pb")]) == [0, 1]
    assert step_numbers([Path("run_8.pb"), Path("other_8.pb")]) == [0, 1]


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


DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
LOOP_START_US = 10**15
N_TURNS = 3_000


def stats_of(rows: Iterable[tuple[str, str, int]], device: str = DEVICE) -> StepStats:
    """Executions `(name, label, start in us)` of one device."""
    message = step_message("StepStats")()
    one = message.dev_stats.add(device=device.encode())
    for name, label, start in rows:
        one.node_stats.add(
            node_name=name.encode(),
            timeline_label=label.encode(),
            all_start_micros=LOOP_START_US + start,
            op_end_rel_micros=2,
        )
    return read_step_stats({0: message.SerializeToString()})


def arrows(trace: Trace) -> dict[int, list[int]]:
    """From the start of what took inputs, in us, to the starts of what made them."""
    stats = [trace.stats_of(i) for i in range(trace.n_events)]
    start = [int(trace.start_ps[i]) // 10**6 for i in range(trace.n_events)]
    made = {one[FLOW_OUT]: start[i] for i, one in enumerate(stats) if FLOW_OUT in one}
    return {
        start[i]: [made[int(flow)] for flow in str(one[FLOW_IN]).split()]
        for i, one in enumerate(stats)
        if one.get(FLOW_IN)
    }


def test_each_turn_of_a_loop_takes_what_the_last_one_before_it_made() -> None:
    rows = []
    for turn in range(N_TURNS):
        rows.append(("loop/a", "loop/a = Add(loop/b)", 6 * turn))
        rows.append(("loop/b", "loop/b = Mul(loop/a, loop/b)", 6 * turn + 3))
    found = arrows(step_trace(stats_of(rows)))
    at = 6 * (N_TURNS // 2)
    assert found[at] == [at - 3]
    assert found[at + 3] == [at, at - 3]
    assert found[0] == [3]  # nothing made it before: the next one did
    assert len(found) == 2 * N_TURNS


def best_of_all(makers: list[Maker], taker: Maker) -> int:
    """The rule, tried on every maker: near before far, before rather than after, then the closest, then the first."""
    best, best_key = -1, (False, False, 0)
    for other in makers:
        if other.row == taker.row or (taker.is_received and other.is_received):
            continue
        is_before = other.start_ps <= taker.start_ps
        is_near = (other.host == taker.host) != taker.is_received
        key = (is_near, is_before, other.start_ps if is_before else -other.start_ps)
        if best < 0 or key > best_key:
            best, best_key = other.row, key
    return best


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.booleans()), max_size=12))
def test_a_taker_has_the_maker_that_the_rule_gives(drawn: list[tuple[int, str, bool]]) -> None:
    makers = [Maker(i, *rest) for i, rest in enumerate(drawn)]
    index = TensorMakers(makers)
    takers = [*makers, Maker(99, 5, "a", False), Maker(99, 5, "a", True), Maker(99, 5, "x", False)]
    for taker in takers:
        assert index.source_of(taker) == best_of_all(makers, taker)


def looped_timeline(n_turns: int) -> bytes:
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"{DEVICE} {what}"}}
        for pid, what in ((1, "Compute"), (2, "Tensors"))
    ]
    for turn in range(n_turns):
        ts = LOOP_START_US + 3 * turn
        args = {"name": "loop/a", "op": "Add"}
        events.append({"ph": "X", "cat": "Op", "name": "Add", "pid": 1, "tid": 0, "ts": ts, "dur": 2, "args": args})
        at = {"cat": "Tensor", "name": "loop/a:0", "pid": 2, "tid": 0, "id": turn}
        text = f'allocation_description {{ requested_bytes: {turn + 1} allocator_name: "cpu" }}'
        snapshot = {"snapshot": {"tensor_description": text}}
        events += [{"ph": "N", "ts": ts} | at, {"ph": "O", "ts": ts + 1, "args": snapshot} | at]
        events.append({"ph": "D", "ts": ts + 2} | at)
    return json.dumps({"traceEvents": events}).encode()


def test_each_turn_of_a_loop_in_a_timeline_has_the_tensor_that_it_made() -> None:
    found = read_timelines({0: ("timeline-0.json", looped_timeline(N_TURNS))})
    own = [[tensor.requested_bytes for tensor in one.outputs] for one in found.executions]
    assert own == [[turn + 1] for turn in range(N_TURNS)]


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


OPS = ("a/MatMul", "b/Relu", "c/Sum")


@pytest.mark.parametrize(
    ("starts", "n_steps"),
    [
        ({op: [100 * run + 10 * at for run in range(4)] for at, op in enumerate(OPS)}, 4),
        ({op: [0, 5, 9] for op in OPS}, 1),  # at once
        ({op: [100 * run for run in range(2 + (op == OPS[2]))] for op in OPS}, 1),  # one more often, as in a loop
    ],
)
def test_runs_that_were_merged_into_one_timeline_are_steps(
    tmp_path: Path, starts: dict[str, list[int]], n_steps: int
) -> None:
    rows = [(WORKER, op, op[2:], start, 8) for op, own in starts.items() for start in own]
    (tmp_path / "timeline-7.json").write_text(drawn(*rows))
    steps = tfprof.load(tmp_path / "timeline-7.json").steps
    assert steps["name"].tolist() == [f"step {7 + run}" for run in range(n_steps)]
    assert n_steps == 1 or steps["step_time_ms"].tolist() == [0.028] * n_steps


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


SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40)


def first_fit(spans: list[tuple[int, int]]) -> list[int]:
    """The lowest lane in which each span overlaps no other one that does not enclose it."""
    lanes: list[list[tuple[int, int]]] = []
    found = []
    for begin, end in spans:
        fits = (all(stop <= begin or end <= stop for _, stop in lane) for lane in lanes)
        lane = next((i for i, fit in enumerate(fits) if fit), len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((begin, end))
        found.append(lane)
    return found


@given(SPANS)
def test_a_span_is_on_the_lowest_lane_on_which_it_nests(drawn: list[tuple[int, int]]) -> None:
    spans = sorted(((begin, begin + length) for begin, length in drawn), key=lambda span: (span[0], -span[1]))
    assert nested_lanes([span[0] for span in spans], [span[1] for span in spans]) == first_fit(spans)


def test_many_tensors_that_overlap_are_on_some_lanes() -> None:
    n = 20_000
    lanes = nested_lanes(list(range(n)), list(range(n, 2 * n)))
    assert lanes[:MOST_LANES] == list(range(MOST_LANES))
    assert lanes[MOST_LANES:] == [-1] * (n - MOST_LANES)


def test_tensors_that_no_lane_takes_are_told() -> None:
    n = MOST_LANES + 20
    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    stats = StepStats()
    stats.tensors.extend(TensorLife(0, device, f"t{i}", 10 + i, 1000 + i, "float", "[1]", 4, "cpu") for i in range(n))
    trace = step_trace(stats)
    assert len(trace.lines) == MOST_LANES
    assert trace.n_events == MOST_LANES
    assert [text for text in trace.warnings if f"{MOST_LANES} of {n} tensors" in text and device in text]
