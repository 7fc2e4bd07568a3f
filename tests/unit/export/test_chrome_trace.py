"""A profile as a Chrome trace: what viewers are given, and that reading it back gives the same trace."""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import U, aggregated, event, line, plane, session, space
from tfprof_widgets.analysis import Analysis, compute_flows
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.export import write_chrome_trace
from tfprof_widgets.read import SavedProfile, read_chrome_trace, read_xspace
from tfprof_widgets.trace import Trace, merge_traces

COLUMNS = ("start_ps", "duration_ps", "line_id", "session_id", "n_occurrences")


def document(trace: Trace, tmp_path: Path, saved: SavedProfile | None = None) -> dict[str, Any]:
    write_chrome_trace(tmp_path / "x.json", Analysis(trace), saved=saved or SavedProfile())
    return json.loads((tmp_path / "x.json").read_bytes())  # type: ignore[no-any-return]


def events(trace: Trace, tmp_path: Path, phase: str) -> list[dict[str, Any]]:
    return [one for one in document(trace, tmp_path)["traceEvents"] if one["ph"] == phase]


def read_back(trace: Trace, tmp_path: Path) -> Trace:
    document(trace, tmp_path)
    return read_chrome_trace((tmp_path / "x.json").read_bytes()).trace


def assert_same(got: Trace, expected: Trace) -> None:
    for name in ("planes", "lines", "sessions", "origin_ns", "warnings"):
        assert getattr(got, name) == getattr(expected, name), name
    for name in COLUMNS:
        assert np.array_equal(getattr(got, name), getattr(expected, name)), name
    ours, theirs = got.stats.all_stats(), expected.stats.all_stats()
    assert (ours.n.tolist(), ours.kind.tolist()) == (theirs.n.tolist(), theirs.kind.tolist())
    for i in range(expected.n_events):
        assert got.strings[got.name_id[i]] == expected.strings[expected.name_id[i]]
        assert repr(got.stats_of(i)) == repr(expected.stats_of(i))
    flows, old = compute_flows(got), compute_flows(expected)
    assert np.array_equal(flows.from_event, old.from_event)
    assert np.array_equal(flows.to_event, old.to_event)
    assert np.array_equal(flows.kind, old.kind)


def full_trace(**options: Any) -> Trace:
    odd = event("odd", 40, 1, stats={"nan": float("nan"), "inf": -float("inf"), "blob": b"\x00\xff", "big": U(2**63)})
    main = line(
        "main",
        event("step", 0, 30, _r=1, step_num=1, _p=7, _pt=2),
        event("MatMul:MatMul", 1.000001, 5, shape='(float["</script>"])', share=3.0, negative=-5),
        event("now", 8, 0, id=U(4)),
        event("ends late", 20, 15, metadata_stats={"flops": 12, "text": "é\u2028\n"}),
        odd,
        aggregated("program", 3, 9.5, note="x"),
    )
    pool = line("pool", event("run", 50, 2, _c=7, _ct=2), id=-5, timestamp_us=3, display_name="Pool\tno. 1")
    gpu = plane("/device:GPU:0", line("stream", event("kernel", 3, 0.000001), id=2**40), memory="16 GB", limit=U(3))
    return read_xspace(space(session(), plane("/host:CPU", main, pool), gpu, hostnames=["host-1"], **options))


def test_a_trace_comes_back_as_it_was(tmp_path: Path) -> None:
    trace = full_trace(errors=["dropped 3 events"])
    assert_same(read_back(trace, tmp_path), trace)


def test_several_hosts_and_sessions_come_back(tmp_path: Path) -> None:
    parts = [
        read_xspace(
            space(session(start_ns=10**18 + i), plane("/host:CPU", line("main", event("x", 5, 9)))),
            host=f"host-{i // 2}",
        )
        for i in range(4)
    ]
    trace = merge_traces(parts)
    assert len(trace.sessions) == 4
    assert_same(read_back(trace, tmp_path), trace)
    names = [one["args"]["name"] for one in events(trace, tmp_path, "M") if one["name"] == "process_name"]
    assert "host-0 /host:CPU" in names


@pytest.mark.parametrize("kind", ["keras_fit", "xla_fit", pytest.param("v100", marks=pytest.mark.nightly)])
def test_real_captures_give_the_same_tables(kind: str, tmp_path: Path, capture_of: Callable[[str], Path]) -> None:
    prof = tfprof.load(capture_of(kind))
    again = tfprof.load(prof.to_chrome_trace(tmp_path / "x.json.gz"))
    for table in ("events", "steps", "ops", "kernels", "hlo_ops", "flows", "counters", "scopes", "workers"):
        # The order in which names are kept is the file's own.
        pd.testing.assert_frame_equal(getattr(again, table), getattr(prof, table), check_categorical=False)
    rows = range(0, prof.trace.n_events, 29)
    assert [repr(again.trace.stats_of(i)) for i in rows] == [repr(prof.trace.stats_of(i)) for i in rows]


@pytest.mark.parametrize("start_ps", [0, 1, 999_999, 10**6, 123_456_789_012, 2**53 + 1, 2**59 + 1])
def test_every_picosecond_of_a_time_survives(start_ps: int, tmp_path: Path) -> None:
    trace = read_xspace(space(plane("/host:CPU", line("main", event("x", start_ps / 1e6, 0.000007)))))
    exact = np.array([start_ps])
    trace = type(trace)(**{**trace.__dict__, "start_ps": exact})
    assert read_back(trace, tmp_path).start_ps.tolist() == [start_ps]


def test_processes_and_threads_are_named_and_in_order(tmp_path: Path) -> None:
    told = {(one["name"], one["pid"], one.get("tid")): one["args"] for one in events(full_trace(), tmp_path, "M")}
    pid = next(key[1] for key, args in told.items() if args.get("name") == "/host:CPU")
    threads = {args["name"]: key for key, args in told.items() if key[0] == "thread_name" and key[1] == pid}
    assert list(threads) == ["main", "Pool\tno. 1"]
    order = [told[("thread_sort_index", *key[1:])]["sort_index"] for key in threads.values()]
    assert order == sorted(order)
    assert {key[2] for key in threads.values()}.isdisjoint(key[1] for key in told)


def test_spans_of_a_thread_nest_and_the_others_are_asynchronous(tmp_path: Path) -> None:
    trace = full_trace()
    spans: dict[int, list[dict[str, Any]]] = {}
    for one in events(trace, tmp_path, "X"):
        spans.setdefault(one["tid"], []).append(one)
    for one in spans.values():
        ends: list[float] = []
        for span in one:
            while ends and ends[-1] <= span["ts"]:
                ends.pop()
            assert not ends or span["ts"] + span["dur"] <= ends[-1] + 1e-9
            ends.append(span["ts"] + span["dur"])
    (begin,), (end,) = events(trace, tmp_path, "b"), events(trace, tmp_path, "e")
    assert begin["name"] == "ends late"
    assert (begin["id"], end["ts"] - begin["ts"]) == (end["id"], 15)
    assert [one["name"] for one in events(trace, tmp_path, "i") if "cat" not in one] == ["now"], "without duration"
    assert '"ts":1.000001,' in (tmp_path / "x.json").read_text(), "decimal microseconds"


def test_each_step_is_marked_over_all_tracks(tmp_path: Path) -> None:
    steps = [event("train", 10 * i, 9, _r=1, step_num=i) for i in range(3)]
    trace = read_xspace(space(plane("/host:CPU", line("main", *steps))))
    marks = [one for one in events(trace, tmp_path, "i") if one.get("cat") == "step"]
    assert [(one["ts"], one["s"]) for one in marks] == [(0, "g"), (10, "g"), (20, "g")]


def test_flows_are_arrows_with_the_ids_of_their_kind(tmp_path: Path) -> None:
    starts, ends = (events(full_trace(), tmp_path, phase) for phase in "sf")
    assert [(one["id"], one["ts"]) for one in starts] == [(0, 0)]
    assert [(one["id"], one["ts"], one["bp"]) for one in ends] == [(0, 53, "e")]
    assert starts[0]["cat"] == ends[0]["cat"] == "producer"


def test_counters_hold_their_values(tmp_path: Path) -> None:
    frame = pd.DataFrame({"time_ms": [0.0, 100.0], "cpu_pct": [50.0, 60.5], "rss_bytes": [1e9, float("nan")]})
    trace = full_trace()
    write_chrome_trace(tmp_path / "x.json", Analysis(trace, None, frame), saved=SavedProfile())
    found = [one for one in json.loads((tmp_path / "x.json").read_bytes())["traceEvents"] if one["ph"] == "C"]
    values = {(one["name"], one["ts"]): one["args"]["value"] for one in found}
    assert values == {("CPU, all cores [%]", 0): 60.5, ("Memory of this process [bytes]", 0): 1_000_000_000}


def test_what_is_known_beside_the_events_comes_back(tmp_path: Path) -> None:
    system = pd.DataFrame({"time_ns": [10, 20], "cpu_pct": [1.5, float("nan")]})
    saved = SavedProfile(
        title="t", notices=("n",), system=system, bookmarks=({"start_ns": 1, "end_ns": 2, "text": "b"},)
    )
    document(full_trace(), tmp_path, saved)
    got = read_chrome_trace((tmp_path / "x.json").read_bytes()).saved
    assert got is not None
    assert (got.title, got.notices, got.bookmarks) == ("t", ("n",), saved.bookmarks)
    pd.testing.assert_frame_equal(got.system, system)


def test_a_trace_without_events_is_a_whole_document(tmp_path: Path) -> None:
    trace = read_xspace(space(plane("/host:CPU")))
    assert_same(read_back(trace, tmp_path), trace)


def test_a_name_that_ends_in_gz_is_compressed_and_the_same_twice(tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        write_chrome_trace(tmp_path / name, Analysis(full_trace()), saved=SavedProfile())
    first = (tmp_path / "a.json.gz").read_bytes()
    assert first == (tmp_path / "b.json.gz").read_bytes()
    assert json.loads(gzip.decompress(first))["traceEvents"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("name", ["x.json", "x.json.gz"])
def test_a_full_disk_or_an_interrupt_leaves_what_was_there(error: BaseException, name: str, tmp_path: Path) -> None:
    target = tmp_path / name
    target.write_text("before")

    def fail(_n: int) -> None:
        raise error

    expected = TfProfError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_chrome_trace(target, Analysis(full_trace()), saved=SavedProfile(), on_events=fail)
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_progress_counts_every_event(tmp_path: Path) -> None:
    told: list[int] = []
    trace = full_trace()
    write_chrome_trace(tmp_path / "x.json", Analysis(trace), saved=SavedProfile(), on_events=told.append)
    assert sum(told) == trace.n_events
