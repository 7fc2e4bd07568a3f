"""Merging windows, hosts and graphs: one clock, united planes, lines and ops, sessions kept apart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import EPOCH_NS, Ref, aggregated, event, line, plane, session, trace
from tests.unit.formats.full_protobuf import actual_events
from tfprof_widgets.errors import TraceError
from tfprof_widgets.trace import (
    MAX_DAYS,
    OpGraph,
    Trace,
    days_from_most,
    make_op_graph,
    merge_op_graphs,
    merge_traces,
    with_host,
)


def window(start_us: float, *, host: str = "h", name: str = "op", id: int = 7, line_name: str = "main") -> Trace:
    return trace(
        session(start_ns=EPOCH_NS + round(start_us * 1000), duration_us=20),
        plane(
            "/host:CPU",
            line(
                line_name,
                event(
                    name,
                    1,
                    5,
                    metadata_stats={"kind": f"of {name}"},
                    display_name=f"shown {name}",
                    s=Ref("r"),
                    b=b"b",
                ),
                event("inner", 2, 1, n=start_us),
                id=id,
            ),
            size=1,
        ),
        hostnames=[host],
    )


def rows(merged: Trace) -> list[tuple[str, str, str, int, int]]:
    """Host, line, name, start in microseconds and session of each event."""
    return [
        (
            merged.planes[merged.lines[line].plane].host,
            merged.lines[line].name,
            merged.strings[name],
            start // 10**6,
            int(session_id),
        )
        for line, name, start, session_id in zip(
            merged.line_id, merged.name_id, merged.start_ps.tolist(), merged.session_id, strict=True
        )
    ]


def test_windows_of_one_host_share_lines_and_the_earliest_origin() -> None:
    merged = merge_traces([window(100, name="late"), window(0, name="early")])
    assert merged.origin_ns == EPOCH_NS
    assert rows(merged) == [
        ("h", "main", "early", 1, 1),
        ("h", "main", "inner", 2, 1),
        ("h", "main", "late", 101, 0),
        ("h", "main", "inner", 102, 0),
    ]
    assert [plane.name for plane in merged.planes] == ["Task Environment", "/host:CPU"]
    assert [(one.start_ps // 10**6, one.stop_ps // 10**6) for one in merged.sessions] == [(100, 120), (0, 20)]


def test_events_keep_their_stats_metadata_and_display_name() -> None:
    merged = merge_traces([window(100, name="late"), window(0, name="early")])
    assert merged.stats_of(0) == {"kind": "of early", "s": "r", "b": b"b"}
    assert merged.stats_of(1) == {"n": 0}
    assert merged.stats_of(2) == {"kind": "of late", "s": "r", "b": b"b"}
    assert merged.stats_of(3) == {"n": 100}
    assert merged.strings[merged.display_name_id[merged.metadata_id[2]]] == "shown late"
    assert merged.display_name_id[merged.metadata_id[1]] == -1


def test_hosts_keep_planes_of_their_own() -> None:
    merged = merge_traces([window(0, host="a", name="x"), window(5, host="b", name="y", line_name="other")])
    assert [(plane.host, plane.name) for plane in merged.planes] == [
        ("a", "Task Environment"),
        ("a", "/host:CPU"),
        ("b", "Task Environment"),
        ("b", "/host:CPU"),
    ]
    assert [row[:4] for row in rows(merged)] == [
        ("a", "main", "x", 1),
        ("a", "main", "inner", 2),
        ("b", "other", "y", 6),
        ("b", "other", "inner", 7),
    ]


def test_a_line_that_only_a_later_window_has_stands_with_its_plane() -> None:
    merged = merge_traces([window(0, host="a"), window(0, host="b"), window(50, host="a", id=99, line_name="new")])
    assert [(merged.planes[one.plane].host, one.name) for one in merged.lines] == [
        ("a", "main"),
        ("a", "new"),
        ("b", "main"),
    ]
    assert merged.line_id.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_trace_without_a_start_begins_at_the_origin_with_a_warning() -> None:
    merged = merge_traces([window(0), trace(plane("/host:CPU", line("x", event("lost", 3, 1))), hostnames=["old"])])
    assert ("old", "x", "lost", 3, 1) in rows(merged)
    assert any("host 'old' does not say when it started" in warning for warning in merged.warnings)


def test_traces_weeks_apart_are_refused() -> None:
    with pytest.raises(TraceError, match=r"100\.0 days apart"):
        merge_traces([window(0), window(100 * 86400e6)])


def test_no_trace_is_refused_one_stays_as_it_is_and_empty_ones_merge() -> None:
    with pytest.raises(TraceError, match="0 given"):
        merge_traces([])
    only = window(0)
    assert merge_traces([only]) is only
    merged = merge_traces([trace(plane("p")), trace(plane("p", line("t")))])
    assert (merged.n_events, len(merged.planes), len(merged.sessions)) == (0, 1, 2)


def test_merging_three_is_merging_two_twice() -> None:
    a, b, c = window(0), window(30, name="x", host="g"), window(60, name="y")
    once, twice = merge_traces([a, b, c]), merge_traces([merge_traces([a, b]), c])
    assert actual_events(once) == actual_events(twice)
    assert once.lines == twice.lines
    assert once.sessions == twice.sessions
    assert len(set(once.strings)) == len(once.strings)
    assert once.blobs == (b"b",)


def test_aggregated_events_keep_their_count() -> None:
    one = trace(plane("/host:CPU", line("main", aggregated("many", 4, 9))), hostnames=["h"])
    assert merge_traces([one, one]).n_occurrences.tolist() == [4, 4]


def test_a_trace_can_be_said_to_come_from_another_host() -> None:
    moved = with_host(window(0), "elsewhere")
    assert {plane.host for plane in moved.planes} == {session.host for session in moved.sessions} == {"elsewhere"}


DAY_NS = 86400 * 10**9
NOW_NS = 1_790_000_000 * 10**9
NO_TIME = -NOW_NS / DAY_NS


@pytest.mark.parametrize(
    ("days", "far"),
    [
        ([], []),
        ([5], [0]),
        ([5, 6, 7], [0, 0, 0]),
        ([0, -30, 0, 0], [0, -30, 0, 0]),
        ([0, 30, 0, 1], [0, 29, 0, 0]),
        ([0, -30], [0, -30]),
        ([-30, 0], [-30, 0]),
        ([-20, -20, 0, 0], [-20, -20, 0, 0]),
        ([-20, 0, 10, 20], [-30, -10, 0, 0]),  # two groups of two: the later has it
        ([0, MAX_DAYS / 2, MAX_DAYS - 1e-6], [0, 0, 0]),
        ([NO_TIME, 0, NO_TIME, -30], [0, 0, 0, -30]),
        ([NO_TIME, NO_TIME], [0, 0]),
    ],
)
def test_hosts_too_far_from_the_most_are_told_with_their_distance(days: list[float], far: list[float]) -> None:
    found = days_from_most([NOW_NS + round(day * DAY_NS) for day in days])
    assert found == pytest.approx(far)
    assert days_from_most([NOW_NS, NOW_NS, 2**64])[2] > 1e5, "an absurd time is far and no error"


def drawn(names: list[str], *, step: int, device: str = "/cpu:0", edge: bool = True) -> OpGraph:
    """Ops in a row, each of which ran once for as many microseconds as its place."""
    n = len(names)
    tables: dict[str, dict[str, Any]] = {
        "ops": {
            "name": names,
            "type": ["Op"] * n,
            "op_types": [("Op",)] * n,
            "device": [device] * n,
            "host_device": [device] * n,
            "float_ops": [0] * n,
            "shape": [None] * n,
            "frame": list(range(n)),
        },
        "frames": {
            "parent": [-1, *range(n - 1)],
            "file": ["f.py"] * n,
            "line": list(range(n)),
            "function": [""] * n,
            "function_line": [0] * n,
            "text": names,
        },
        "runs": {"op": range(n), "step": [step] * n, "n_runs": [1] * n, "start_us": [1.0] * n, "end_us": [2.0] * n},
        "times": {
            "op": range(n),
            "step": [step] * n,
            "device": [device] * n,
            "is_accelerator": [False] * n,
            "start_us": [1.0] * n,
            "duration_us": [float(i) for i in range(n)],
        },
    }
    if edge:
        tables["inputs"] = {"op": [1], "slot": [0], "source": [0], "source_output": [0]}
    return make_op_graph(tables)


def test_steps_of_one_program_share_their_ops() -> None:
    merged = merge_op_graphs([drawn(["a", "b"], step=1), drawn(["b", "c"], step=2)])
    assert merged.ops["name"].tolist() == ["a", "b", "c"]
    assert merged.steps == [1, 2]
    names = merged.ops["name"].to_numpy()
    edges = list(zip(names[merged.inputs["source"]], names[merged.inputs["op"]], strict=True))
    assert edges == [("a", "b"), ("b", "c")]
    times = list(zip(names[merged.times["op"]], merged.times["step"], merged.times["duration_us"], strict=True))
    assert times == [("a", 1, 0.0), ("b", 1, 1.0), ("b", 2, 0.0), ("c", 2, 1.0)]


def test_an_op_keeps_the_call_stack_and_the_edges_of_the_first_file() -> None:
    merged = merge_op_graphs([drawn(["a", "b"], step=1), drawn(["a", "b"], step=1)])
    assert len(merged.inputs) == 1
    assert merged.runs[["op", "n_runs"]].values.tolist() == [[0, 2], [1, 2]]
    texts = merged.frames["text"].to_numpy()
    assert texts[merged.ops["frame"]].tolist() == ["a", "b"]
    other = merge_op_graphs([drawn(["a", "b"], step=1), drawn(["x", "y"], step=1)])
    assert other.frames["text"].to_numpy()[other.ops["frame"]].tolist() == ["a", "b", "x", "y"]
    assert (other.frames["parent"].to_numpy() < range(len(other.frames))).all()


def test_an_op_that_ran_only_in_a_later_file_has_its_device() -> None:
    merged = merge_op_graphs([drawn(["a", "b"], step=1, device=""), drawn(["b", "a"], step=2)])
    assert merged.ops["device"].tolist() == ["/cpu:0", "/cpu:0"]
