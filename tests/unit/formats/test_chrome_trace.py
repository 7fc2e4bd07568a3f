"""Chrome traces of other tools, and files that are none."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.captures import committed
from tests.fuzz.mutations import damaged
from tfprof_widgets.analysis import compute_flows
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import chrome_json, read_chrome_trace
from tfprof_widgets.trace import Trace

X = {"ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 5, "name": "a"}


def read(*events: Any, **members: Any) -> Trace:
    return read_chrome_trace(json.dumps({"traceEvents": list(events), **members}).encode()).trace


def rows(trace: Trace) -> list[tuple[str, str, str, int, int]]:
    """Plane, line, name, start and duration in us of each event."""
    lines = [trace.lines[i] for i in trace.line_id]
    return [
        (trace.planes[line.plane].name, line.name, trace.strings[name], start / 1e6, duration / 1e6)  # type: ignore[misc]
        for line, name, start, duration in zip(
            lines, trace.name_id, trace.start_ps.tolist(), trace.duration_ps.tolist(), strict=True
        )
    ]


def test_both_forms_compressed_or_not_are_opened_by_their_content(tmp_path: Path) -> None:
    array, members = (
        json.dumps([X]).encode(),
        json.dumps({"x": [1, {"y": "]}"}], "traceEvents": [X], "z": None}).encode(),
    )
    for i, content in enumerate([array, members, b"\xef\xbb\xbf" + array, array[:-1], b" \n" + members]):
        for name, raw in ((f"{i}.json", content), (f"{i}.json.gz", gzip.compress(content)), (f"{i}.trace", content)):
            (tmp_path / name).write_bytes(raw)
            trace = tfprof.load(tmp_path / name).trace
            assert rows(trace) == [("Process 1", "Thread 2", "a", 10, 5)], name
            assert trace.planes[0].host == str(i)


def test_a_glob_of_chrome_traces_is_merged(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.trace.json.gz").write_bytes(gzip.compress(json.dumps([X]).encode()))
    assert {plane.host for plane in tfprof.load(tmp_path / "*.json.gz").trace.planes} == {"a", "b"}


def test_names_and_their_order_come_from_metadata_events() -> None:
    def told(what: str, pid: Any, tid: Any = None, **args: Any) -> dict[str, Any]:
        return {"ph": "M", "name": what, "pid": pid, "args": args} | ({} if tid is None else {"tid": tid})

    trace = read(
        {**X, "pid": "late", "tid": "t"},
        {**X, "pid": "late", "tid": "s"},
        {**X, "pid": 7, "tid": 1.5},
        told("process_name", "late", name="second"),
        told("process_sort_index", "late", sort_index=2),
        told("thread_name", "late", "t", name="main"),
        told("thread_sort_index", "late", "t", sort_index=9),
        told("process_name", 7, name="first"),
    )
    assert [row[:2] for row in rows(trace)] == [("first", "Thread 1.5"), ("second", "Thread s"), ("second", "main")]


def test_begins_and_ends_make_spans_with_the_stats_of_both() -> None:
    trace = read(
        {"ph": "B", "name": "outer", "ts": 1, "args": {"x": 1}},
        {"ph": "B", "name": "inner", "ts": 2},
        {"ph": "E", "ts": 3, "args": {"y": 2.5}},
        {"ph": "E", "ts": 9, "args": {"z": "w"}},
    )
    assert [row[2:] for row in rows(trace)] == [("outer", 1, 8), ("inner", 2, 1)]
    assert [trace.stats_of(i) for i in range(2)] == [{"x": 1, "z": "w"}, {"y": 2.5}]
    assert trace.warnings == ()


def test_spans_without_an_end_last_to_the_end_and_ends_without_a_begin_are_told() -> None:
    trace = read(
        {"ph": "B", "name": "open", "ts": 1}, {**X}, {"ph": "E", "ts": 0, "tid": 9}, {"ph": "X", "ts": 2, "name": "x"}
    )
    assert {row[2:] for row in rows(trace)} == {("open", 1, 14), ("a", 10, 5), ("x", 2, 13)}
    assert any("2 spans have no end" in text for text in trace.warnings)
    assert any("1 ends" in text for text in trace.warnings)


def test_asynchronous_spans_match_by_id_and_have_lines_of_their_own() -> None:
    trace = read(
        {"ph": "b", "cat": "c", "id": 1, "ts": 1, "name": "one"},
        {"ph": "b", "cat": "c", "id": 2, "ts": 2, "name": "two"},
        {"ph": "e", "cat": "c", "id": 1, "ts": 5, "tid": 3},
        {"ph": "e", "cat": "c", "id": 2, "ts": 9},
    )
    assert [row[1:] for row in rows(trace)] == [
        ("Thread 0 (overlapping)", "one", 1, 4),
        ("Thread 0 (overlapping)", "two", 2, 7),
    ]


def test_instants_and_counters_become_events_and_counters_tables(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        json.dumps(
            [{"ph": "i", "ts": 3, "name": "now"}, {"ph": "C", "ts": 4, "name": "mem", "args": {"a": 1, "b": 2.5}}]
        )
    )
    prof = tfprof.load(tmp_path / "x.json")
    assert {row[1:] for row in rows(prof.trace)} == {
        ("Thread 0", "now", 3, 0),
        ("Counters", "mem a", 4, 0),
        ("Counters", "mem b", 4, 0),
    }
    assert sorted(prof.counters["value"]) == [1, 2.5]


def test_arrows_become_flows() -> None:
    trace = read(
        {**X, "name": "from"},
        {**X, "tid": 3, "ts": 20, "name": "step"},
        {**X, "tid": 4, "ts": 40, "name": "to"},
        {"ph": "s", "id": 9, "pid": 1, "tid": 2, "ts": 11, "name": "f", "cat": "c"},
        {"ph": "t", "id": 9, "pid": 1, "tid": 3, "ts": 21, "name": "f", "cat": "c"},
        {"ph": "f", "id": 9, "pid": 1, "tid": 4, "ts": 39, "name": "f", "cat": "c"},
        {"ph": "s", "id": 10, "pid": 1, "tid": 2, "ts": 900, "name": "f", "cat": "c"},
        {"ph": "f", "id": 10, "pid": 1, "tid": 4, "ts": 39, "name": "f", "cat": "c"},
    )
    flows = compute_flows(trace)
    names = [trace.strings[i] for i in trace.name_id]
    found = {(names[a], names[b]) for a, b in zip(flows.from_event.tolist(), flows.to_event.tolist(), strict=True)}
    assert found == {("from", "step"), ("step", "to")}
    assert any("1 arrows" in text for text in trace.warnings)


def torch_trace(path: Path, *, gpu: bool = True) -> tfprof.Profile:
    """Two steps as `torch.profiler` writes them, and what lies behind the last: data, an op, its launch, a kernel, a copy."""
    host = {"ph": "X", "pid": 900, "tid": 900}
    device = {"ph": "X", "pid": 1, "tid": 7}
    events: list[dict[str, Any]] = []
    for step in range(2):
        at = 1000 * step
        events += [
            host | {"cat": "user_annotation", "name": f"ProfilerStep#{step + 5}", "ts": at, "dur": 1000},
            host | {"cat": "user_annotation", "name": "enumerate(DataLoader)#_Iter.__next__", "ts": at, "dur": 400},
            host | {"cat": "cpu_op", "name": "aten::_to_copy", "ts": at + 420, "dur": 80},
            host | {"cat": "user_annotation", "name": "nccl:_all_gather_base", "ts": at + 510, "dur": 10},
        ]
        if gpu:
            launch, copy = 10 * step + 1, 10 * step + 2
            shape = {"grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 40, "shared memory": 512}
            events += [
                host
                | {
                    "cat": "cuda_runtime",
                    "name": "cudaLaunchKernel",
                    "ts": at + 450,
                    "dur": 20,
                    "args": {"correlation": launch},
                },
                device
                | {
                    "cat": "kernel",
                    "name": "gemm",
                    "ts": at + 600,
                    "dur": 250,
                    "args": {"correlation": launch} | shape,
                },
                device | {"cat": "gpu_user_annotation", "name": "forward", "ts": at + 600, "dur": 390},
                device
                | {"cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "ts": at + 900, "dur": 50}
                | {"args": {"correlation": copy, "bytes": 4096}},
                {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": launch, "pid": 900, "tid": 900, "ts": at + 450},
                {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": launch, "pid": 1, "tid": 7, "ts": at + 600, "bp": "e"},
            ]
    events.append(host | {"cat": "user_annotation", "name": "ProfilerStep#7", "ts": 2000, "dur": 5})
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return tfprof.load(path)


def test_a_trace_of_pytorch_has_the_steps_kernels_copies_and_launches_of_its_file(tmp_path: Path) -> None:
    prof = torch_trace(tmp_path / "torch.pt.trace.json")
    assert prof.steps["name"].tolist() == ["ProfilerStep 5", "ProfilerStep 6", "ProfilerStep 7"]
    assert prof.steps["is_complete"].tolist() == [True, True, False]
    assert prof.steps["step_time_ms"].tolist() == [1.0, 1.0, 0.005]
    assert prof.steps["device_compute_ms"].tolist() == [0.25, 0.25, 0]
    assert prof.steps["input_ms"].tolist() == [0.4, 0.4, 0]
    (kernel,) = prof.kernels.to_dict("records")
    assert (kernel["name"], kernel["occurrences"], kernel["grid_dim"], kernel["block_dim"]) == (
        "gemm",
        2,
        "4,2,1",
        "128,1,1",
    )
    assert (kernel["registers_per_thread"], kernel["shared_memory_bytes"]) == (40, 512)
    (copies,) = prof.copies.to_dict("records")
    assert (copies["direction"], copies["destination"], copies["bytes"]) == ("device to host", "pageable", 8192)
    assert len(prof.flows) == 2  # and not again for the arrows that the file draws
    assert set(prof.events["line"]) >= {"Stream #7", "Stream #7 (annotations)"}
    assert prof.ops.empty
    assert prof.overview.verdict.startswith("Input-bound: the GPU waits 0.400 of 1.00 ms")


def test_kernels_of_another_tool_make_no_gpu_of_their_process() -> None:
    assert rows(read({**X, "cat": "kernel"})) == [("Process 1", "Thread 2", "a", 10, 5)]


@pytest.mark.parametrize("gpu", [True, False])
def test_nothing_false_is_said_of_a_trace_of_pytorch(tmp_path: Path, gpu: bool) -> None:
    prof = torch_trace(tmp_path / "torch.pt.trace.json", gpu=gpu)
    assert prof.advice == []
    assert any("trace of PyTorch" in notice for notice in prof.notices)
    report = prof.report()
    assert not any(
        words in report
        for words in ("marked as a step", "No GPU or TPU", "Mark them", "TensorFlow records", "tfprof.doctor")
    )
    if not gpu:
        assert prof.steps["host_compute_ms"].tolist() == [0.08, 0.08, 0]


def test_the_old_timeline_of_tensorflow_has_ops_of_host_and_device(tmp_path: Path) -> None:
    cpu, gpu = "/job:localhost/replica:0/task:0/device:CPU:0 Compute", "/device:GPU:1/stream:all Compute"
    op = {"ph": "X", "cat": "Op", "tid": 0, "ts": 5, "dur": 7, "name": "MatMul"}
    text = json.dumps(
        {
            "traceEvents": [
                {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": cpu}},
                {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": gpu}},
                {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": f"{cpu[:-8]} Tensors"}},
                {**op, "pid": 1, "args": {"name": "dense/MatMul", "op": "MatMul", "input0": "x"}},
                {**op, "pid": 2, "args": {"name": "dense/MatMul", "op": "MatMul"}},
                {"ph": "N", "cat": "Tensor", "pid": 3, "tid": 0, "ts": 5, "id": 1, "name": "x"},
                {"ph": "O", "cat": "Tensor", "pid": 3, "tid": 0, "ts": 6, "id": 1, "args": {"snapshot": {"a": [1.5]}}},
            ]
        }
    )
    (tmp_path / "timeline-1.json").write_text(text)
    prof = tfprof.load(tmp_path / "timeline-1.json")
    assert [plane.name for plane in prof.trace.planes] == ["/host:CPU", "/device:GPU:1", "Tensors of CPU:0"]
    assert set(prof.events["name"]) == {"step 1", "dense/MatMul:MatMul", "x"}
    host = prof.ops[prof.ops["device"] == "Host"]
    assert host[["name", "type", "total_time_us"]].values.tolist() == [["dense/MatMul", "MatMul", 7]]
    assert any("1 of 1 tensors" in text and "no end" in text for text in prof.trace.warnings)


def test_an_old_timeline_beside_spans_of_others_keeps_the_ops_of_host_and_device(tmp_path: Path) -> None:
    processes = ["/job:localhost/device:CPU:0 Compute", "/gpu:1/stream:all Compute", "/device:CPU:1 Compute", "mine"]
    op = {"ph": "X", "cat": "Op", "tid": 0, "ts": 5, "dur": 7, "name": "MatMul"}
    events = [{"ph": "M", "name": "process_name", "pid": i, "args": {"name": one}} for i, one in enumerate(processes)]
    events += [{**op, "pid": i, "args": {"name": "dense/MatMul", "op": "MatMul"}} for i in range(3)]
    events += [{**op, "pid": 3, "args": {"name": "a", "op": 5.5}}, {**X, "pid": 3, "name": "other"}]
    (tmp_path / "timeline-1.json").write_text(json.dumps({"traceEvents": events}))
    prof = tfprof.load(tmp_path / "timeline-1.json")
    assert [plane.name for plane in prof.trace.planes] == ["/host:CPU", "/device:GPU:1", processes[2], "mine"]
    assert prof.events["name"].tolist() == ["dense/MatMul:MatMul"] * 3 + ["MatMul", "other"]
    host = prof.ops[prof.ops["device"] == "Host"]
    assert host[["name", "type", "total_time_us"]].values.tolist() == [["dense/MatMul", "MatMul", 7]]


def test_times_of_any_clock_are_exact() -> None:
    trace = read_chrome_trace(
        b'[{"ph":"X","ts":1700000000000000.123456,"dur":0.000001},{"ph":"X","ts":1700000000000001}]'
    ).trace
    assert trace.start_ps.tolist() == [123456, 10**6]
    assert trace.origin_ns == 1_700_000_000_000_000_000
    assert read({**X, "ts": 10**14}).start_ps.tolist() == [0]
    assert read({**X, "ts": 10**14}).origin_ns == 0


def test_values_keep_their_types() -> None:
    args = {
        "i": -1,
        "u": 2**64 - 1,
        "huge": 2**64,
        "f": 1.0,
        "t": "é\ud800",
        "b": True,
        "n": None,
        "l": [1.5, {"x": "y"}],
    }
    stats = read({**X, "args": args}).stats_of(0)
    assert stats == {
        **args,
        "huge": str(2**64),
        "t": "é\\xed\\xa0\\x80",
        "b": 1,
        "n": "None",
        "l": '[1.5, {"x": "y"}]',
    }
    assert type(stats["f"]) is float


BAD = [
    b"[1]",
    b"[[]]",
    b"{}",
    b'{"traceEvents":{}}',
    b'{"traceEvents":[]',
    b'{"traceEvents":[{"ph":"X"',
    b'{"traceEvents":[],"traceEvents":[]}',
    b'[{"ph":"X","ts":1,"dur":1} oops {"ph":"X"}]',
    b"[" * 200_000,
    b'[{"ph":"X","ts":1,"args":' + b'{"a":' * 100_000,
    b'{"a":' + b"[" * 200_000 + b"}",
    b'[{"ph":"X","ts":' + b"9" * 5000 + b"}]",
    b'[{"ph":"X","ts":NaN}]',
    b'[{"ph":"X","ts":1e999}]',
    b'[{"ph":"X","ts":-Infinity}]',
    b'[{"ph":"X","ts":1,"dur":""}]',
    b'[{"ph":"X","ts":"1 s"}]',
    b'[{"ph":"X","ts":inf}]',
    b'[{"ph":"X","ts":true}]',
    b'[{"ph":"X"}]',
    b'[{"ph":5,"ts":1}]',
    b'[{"ts":1}]',
    b'[{"ph":"X","ts":1,"args":[]}]',
    b'[{"ph":"X","ts":1,"name":{}}]',
    b'[{"ph":"X","ts":1,"pid":[]}]',
    b'[{"ph":"X","ts":1,"tid":false}]',
    b'[{"ph":"C","ts":1}]',
    b'[{"ph":"X","ts":1,"args":{"a":{"$bytes":"!"}}}]',
    b'[{"ph":"X","ts":1,"args":{"a":{"$double":"one"}}}]',
    b"[" + b",".join(b'{"ph":"i","ts":1,"pid":%d}' % i for i in range(40_000)) + b"]",
    b'{"traceEvents":[],"tfprof":{"version":2}}',
    b'{"traceEvents":[],"tfprof":{"version":1}}',
    b'{"traceEvents":[\n\n],\n"tfprof":{"version":1,"planes":5}}',
]


@pytest.mark.parametrize("content", BAD, ids=range(len(BAD)))
def test_what_is_no_chrome_trace_is_refused_with_a_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(TraceError, match=r"x\.json is no readable Chrome trace: .+\.$"):
        tfprof.load(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("odd", "what", "why"),
    [
        (b"null", "no object", "it is a NoneType, not an object"),
        (b"[1]", "no object", "it is a list, not an object"),
        (b'{"ts":1}', "no ph", "it has no ph"),
        (b'{"ph":5,"ts":1}', "no ph", "its ph is '5', not a letter"),
        (b'{"ph":"X","dur":1}', "no ts", "it has no ts"),
        (b'{"ph":"X","ts":"soon"}', "bad ts", "its ts is 'soon', not a time in microseconds"),
        (b'{"ph":"X","ts":NaN}', "bad ts", "its ts is nan, not a time in microseconds"),
        (b'{"ph":"i","ts":1,"pid":99,"name":[]}', "bad name", "its name is a list, not a text"),
        (b'{"ph":"X","ts":1,"dur":""}', "bad dur", "its dur is '', not a time in microseconds"),
        (b'{"ph":"B","ts":1,"tid":[]}', "bad tid", "its tid is a list, neither a number nor a text"),
        (b'{"ph":"b","ts":1,"id":[]}', "bad id", "its id is a list, neither a number nor a text"),
        (b'{"ph":"s","pid":99,"id":1}', "no ts", "it has no ts"),
        (b'{"ph":"C","ts":1}', "counter without args", "it is a counter without args"),
        (b'{"ph":"X","ts":1,"args":[]}', "bad args", "its args are a list, not an object"),
    ],
)
def test_an_odd_event_is_left_out_with_its_reason_and_the_others_are_read(odd: bytes, what: str, why: str) -> None:
    x = json.dumps(X).encode()
    trace = read_chrome_trace(b'{"traceEvents":[' + x + b"," + odd + b"," + x + b"," + odd + b"]}").trace
    assert rows(trace) == [("Process 1", "Thread 2", "a", 10, 5)] * 2
    assert len(trace.lines) == 1
    assert trace.warnings == (f"2 of 4 events were left out: {what} (2). The first is event 1: {why}.",)


def test_one_notice_counts_all_kinds_of_odd_events() -> None:
    trace = read(*[X] * 2_000, None, {"ph": "X"}, {"ph": "X"}, {"ph": "C", "ts": 1})
    assert trace.n_events == 2_000
    assert trace.warnings == (
        "4 of 2,004 events were left out: no ts (2), no object (1), counter without args (1). "
        "The first is event 2000: it is a NoneType, not an object.",
    )


def test_a_file_of_odd_events_alone_is_refused_by_the_first() -> None:
    named = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}}
    with pytest.raises(
        TraceError, match=r"none of its events can be shown; the first odd one is event 1: it has no ts\.$"
    ):
        read(named, {"ph": "X"}, None)
    assert read({}).n_events == 0


def test_times_and_counters_may_be_texts() -> None:
    trace = read(
        {**X, "ts": "1587074269993629", "dur": "20"},
        {**X, "ts": "1587074269993659.123456", "dur": "2.025e1"},
        {"ph": "C", "pid": 1, "ts": "1587074269993660", "name": "c", "args": {"v": "25.7"}},
    )
    assert [row[3:] for row in rows(trace)] == [(0, 20), (30.123456, 20.25), (31, 0)]
    assert trace.stats_of(2)["counter_value"] == 25.7
    assert trace.warnings == ()


def test_infinity_and_no_number_as_c_prints_them_are_values_and_never_end_a_file() -> None:
    content = b'{"ph":"X","ts":1,"dur":1,"name":"k: inf","args":{"a":inf,"b":-inf,"c":nan,"d":-NaN,"e":Infinity}},'
    counter = b'{"ph":"C","ts":2,"name":"c","args":{"x":nan,"y":inf,"z":3}},'
    trace = read_chrome_trace(b"[" + content * 3 + counter + json.dumps(X).encode() + b"]").trace
    stats = trace.stats_of(0)
    assert (stats["a"], stats["b"], stats["e"]) == (float("inf"), float("-inf"), float("inf"))
    assert str(stats["c"]) == str(stats["d"]) == "nan"
    assert sorted(row[2] for row in rows(trace)) == ["a", "c z", *["k: inf"] * 3]
    assert trace.warnings == ("2 values of counters are no finite numbers and were left out.",)
    with pytest.raises(TraceError, match="it is no JSON at byte 1"):
        read_chrome_trace(
            b'[{"ph":"X","ts":1,"args":{"a":[' + b"inf," * 1_000 + b"inf]}}," + json.dumps(X).encode() * 9
        )


def test_durations_below_0_are_counted() -> None:
    trace = read({**X, "dur": -3}, {**X, "dur": -0.000001}, X)
    assert sorted(row[4] for row in rows(trace)) == [0, 0, 5]
    assert trace.warnings == ("2 durations below 0 are shown as 0.",)


def test_numbers_that_differ_only_in_how_they_are_written_are_one() -> None:
    trace = read(
        {"ph": "b", "id": "0x10", "ts": 1, "pid": 1, "tid": 7, "name": "r"},
        {"ph": "e", "id": 16, "ts": 9, "pid": "1", "tid": 7},
        {**X, "pid": "1", "tid": "7", "name": "s"},
        {**X, "pid": 1.0, "tid": 7, "ts": 20, "name": "t"},
    )
    assert {row[1:] for row in rows(trace)} == {
        ("Thread 7", "s", 10, 5),
        ("Thread 7", "t", 20, 5),
        ("Thread 7 (overlapping)", "r", 1, 8),
    }
    assert len(trace.planes) == 1


def test_of_a_phase_of_three_letters_the_first_counts() -> None:
    assert [row[2:] for row in rows(read({**X, "ph": "XXX"}))] == [("a", 10, 5)]


def test_texts_that_are_numbers_are_read_as_numbers_where_they_look_the_same() -> None:
    args = {"i": "-3", "f": "0.5", "z": "007", "v": "1.10", "h": "0x10", "big": "1" * 30, "step_name": "3", "t": "x1"}
    assert read({**X, "args": args}).stats_of(0) == {**args, "i": -3, "f": 0.5}


def test_json_that_jax_writes_has_the_steps_of_its_xplane_pb(tmp_path: Path) -> None:
    logs = committed.unpack("jax_json", tmp_path / "logs").parent
    ours = tfprof.load(logs / "vm.trace.json.gz")
    theirs = tfprof.load(logs / "vm.xplane.pb")
    assert len(ours.steps) == 12
    pd.testing.assert_frame_equal(ours.steps, theirs.steps)
    assert ours.overview.verdict == theirs.overview.verdict
    assert not any("left out:" in text or "links the threads" in text for text in ours.notices)


def test_json_of_xprof_without_links_between_threads_says_so() -> None:
    span = {**X, "args": {"step_num": "0"}}
    assert any("load that" in text for text in read(span, {}).warnings)
    run = {**X, "args": {"run_id": "7"}}
    assert read(span, run, {}).warnings == ()
    assert any(
        "load that" in text for text in read(span, run, {**X, "name": "ThreadpoolListener::Region"}, {}).warnings
    )
    assert read(span).warnings == ()


def test_more_lists_in_a_value_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'[{"ph":"X","ts":1,"args":{"a":[' + b"[]," * 50_000 + b"0]}}]"
    monkeypatch.setattr(chrome_json, "_WINDOW", 2**16)
    monkeypatch.setattr(chrome_json, "_MOST_BRACKETS", 10_000)
    with pytest.raises(TraceError, match="more than 10000 lists, the limit"):
        read_chrome_trace(content)


def test_no_bytes_are_an_empty_trace() -> None:
    with pytest.raises(EmptyTraceError):
        read_chrome_trace(b"")


def test_absurd_but_readable_values_give_a_trace() -> None:
    trace = read({**X, "ts": 1e12, "dur": 1e18}, {**X, "ts": -1e17}, {**X, "dur": -5}, {**X, "args": {"x": 1e308}})
    assert trace.n_events == 4
    far = [{"ph": phase, "id": 1, "ts": 10**18 * (phase == "f")} for phase in "sf"]
    counter = {"ph": "C", "ts": 1, "name": "c", "args": {"a": 10**400, "b": 1e300, "c": True, "d": None, "e": 2}}
    assert read({**X}, *far, counter).n_events == 3
    assert (trace.duration_ps >= 0).all()
    assert (np.abs(trace.end_ps) < 2**62).all()
    assert trace.warnings


def test_a_member_of_ours_that_was_edited_is_refused_or_read() -> None:
    """Each value of the marker replaced by something else: a TraceError, or a trace."""
    planes = [{"name": "/host:CPU", "host": "h", "stats": {}}]
    marker: dict[str, Any] = {
        "version": 1,
        "origin_ns": 5,
        "planes": planes,
        "lines": [[0, 7, "main", ""]],
        "sessions": [["h", 0, 10]],
        "session_runs": [[0, 0]],
        "unsigned": ["x"],
        "metadata": [[0, "a", "", {"s": 1}]],
        "warnings": [],
        "profile": {"version": 1, "system": {}, "runs": []},
    }
    own = {**X, "tid": 2}
    assert read(own, tfprof=marker).lines[0].name == "main"
    wrong: list[Any] = [None, -1, 2**70, "x", [], {}, [[0]], [[5, 5, 5, 5]], [{"name": 1}], True, 1.5]
    n_refused = 0
    for name in marker:
        for value in wrong:
            try:
                assert read(own, tfprof={**marker, name: value}).n_events == 1
            except TraceError:
                n_refused += 1
    assert n_refused > 80
    with pytest.raises(TraceError, match="thread '9'"):
        read({**own, "tid": 9}, tfprof=marker)


def test_damaged_files_give_a_trace_or_a_trace_error() -> None:
    arrow = {"id": 1, "pid": 1, "tid": 2}
    good = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
        {**X, "args": {"a": 1.5, "b": {"$bytes": "AA=="}}},
        *({"ph": "B", "ts": 1}, {"ph": "E", "ts": 2.25}, {"ph": "s", "ts": 11, **arrow}, {"ph": "f", "ts": 1, **arrow}),
        {"ph": "C", "ts": 1, "name": "c", "args": {"v": 1}},
    ]
    rng = random.Random(7)
    for _ in range(400):
        try:
            trace = read_chrome_trace(damaged(json.dumps({"traceEvents": good}).encode(), rng)).trace
            assert trace.n_events == len(trace.stats.all_stats().n)
        except TraceError:
            pass
