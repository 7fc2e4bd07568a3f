"""The timeline of a reduced profile: each host's steps, what they were made of, and its longest events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.builders import event, line, plane, session, space
from tests.unit.analysis.cluster.comparison import Both
from tests.unit.analysis.cluster.conftest import LATER_NS
from tests.unit.analysis.cluster.test_summaries import host, steps_with
from tests.unit.analysis.steps import test_tpu_steps as tpu
from tfprof_widgets.analysis import MOST, Analysis, merge_hosts, summarize_host
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace


def lines_of(trace: Trace, name: str) -> dict[str, list[str]]:
    """Names of events by line of one host's threads, in order."""
    found = {}
    for i, one in enumerate(trace.lines):
        if trace.planes[one.plane].host == name and trace.planes[one.plane].is_host:
            rows = slice(int(trace.line_offsets[i]), int(trace.line_offsets[i + 1]))
            found[one.name] = [trace.strings[k] for k in trace.name_id[rows].tolist()]
    return found


def test_each_host_has_its_steps_their_parts_and_its_longest_events(both_of: Callable[[str], Both]) -> None:
    found = lines_of(both_of("stragglers").reduced.trace, "worker0003")
    assert list(found) == ["Steps", "Step time", "Longest events"]
    assert found["Steps"] == [f"train {i}" for i in range(12)]
    assert set(found["Step time"]) == {"Host compute", "Communication", "Python, dispatch", "Input"} & set(
        found["Step time"]
    )
    assert len(found["Longest events"]) == MOST.longest
    assert set(found["Longest events"]) <= {
        "dense/MatMul:MatMul",
        "dense/Relu:Relu",
        "CollectiveReduceV2:CollectiveReduceV2",
    }


def test_what_is_made_of_steps_is_derived_and_the_longest_events_are_not(both_of: Callable[[str], Both]) -> None:
    lines = both_of("stragglers").reduced.trace.lines
    assert {one.name for one in lines if one.is_derived} == {"Steps", "Step time"}


def test_devices_have_their_longest_events(both_of: Callable[[str], Both]) -> None:
    trace = both_of("devices").reduced.trace
    devices = [one for one in trace.lines if trace.planes[one.plane].is_device]
    assert {one.name for one in devices} == {"Longest events"}
    assert len(devices) == 3


def test_events_are_where_the_files_read_whole_have_them(both_of: Callable[[str], Both]) -> None:
    both = both_of("devices")
    assert both.reduced.trace.origin_ns == both.whole.trace.origin_ns
    mine, theirs = (
        {
            (trace.planes[trace.plane_id[i]].host, trace.strings[trace.name_id[i]], int(trace.start_ps[i]))
            for i in np.flatnonzero(~trace.on_lines([one.is_derived for one in trace.lines])).tolist()
        }
        for trace in (both.reduced.trace, both.whole.trace)
    )
    assert mine < theirs
    assert both.reduced.trace.sessions == both.whole.trace.sessions


def test_events_know_their_step(both_of: Callable[[str], Both]) -> None:
    results = both_of("stragglers").reduced
    trace, step = results.trace, results.steps.event_step
    frame = results.steps.frame
    rows = np.flatnonzero(step >= 0)
    assert len(rows) > 0.9 * trace.n_events
    start = frame["start_ps"].to_numpy()[step[rows]]
    assert (trace.start_ps[rows] >= start).all()
    assert (trace.start_ps[rows] < start + frame["duration_ps"].to_numpy()[step[rows]]).all()
    hosts = [trace.planes[i].host for i in trace.plane_id[rows].tolist()]
    assert frame["host"].to_numpy()[step[rows]].tolist() == hosts


def test_a_host_without_ops_shows_other_events_but_no_markers_of_steps() -> None:
    marked = [event("train", 1000 * i, 900, _r=1, step_num=i) for i in range(3)]
    trace = host("a", *marked, event("waiting for the other hosts", 3500, 400))
    assert lines_of(merge_hosts([summarize_host(Analysis(trace))]).trace, "a")["Longest events"] == [
        "waiting for the other hosts"
    ]


def test_a_host_that_does_not_say_when_it_started_begins_with_the_others_and_a_warning_tells() -> None:
    traces = [host(name, *steps_with(1)) for name in "ab"]
    traces[0] = replace(traces[0], origin_ns=traces[1].origin_ns + LATER_NS)
    traces[1] = replace(traces[1], origin_ns=0)
    found = Both.of_traces(traces)
    assert found.reduced.trace.warnings == found.whole.trace.warnings
    assert found.reduced.steps.frame["start_ps"].tolist() == found.whole.steps.frame["start_ps"].tolist()


def test_hosts_of_different_weeks_are_not_one_run() -> None:
    traces = [host(name, *steps_with(1)) for name in "ab"]
    late = replace(traces[1], origin_ns=traces[1].origin_ns + 20 * 86400 * 10**9)
    with pytest.raises(TraceError, match=r"Two traces start 20\.0 days apart"):
        merge_hosts([summarize_host(Analysis(one)) for one in (traces[0], late)])


def test_nothing_to_merge_says_so() -> None:
    with pytest.raises(TraceError, match="no host to merge"):
        merge_hosts([])


def test_files_of_one_host_share_its_lines() -> None:
    first, second = (host("a", *steps_with(1, n_steps=2)) for _ in range(2))
    results = merge_hosts(
        [summarize_host(Analysis(one)) for one in (first, replace(second, origin_ns=second.origin_ns + 10**9))]
    )
    assert [one.name for one in results.trace.lines] == ["Steps", "Step time", "Longest events"]
    assert len(results.steps.frame) == 4
    assert len(results.trace.sessions) == 2


def test_steps_of_a_host_are_on_one_plane_whichever_of_its_files_has_it() -> None:
    first, other = (read_xspace(space(tpu.core(0), session(duration_us=1000), hostnames=[name])) for name in "ab")
    results = merge_hosts([summarize_host(Analysis(one)) for one in (first, host("a", *steps_with(1)), other)])
    trace = results.trace
    steps = {(trace.planes[one.plane].host, trace.planes[one.plane].name) for one in trace.lines if one.is_derived}
    assert steps == {("a", "/host:CPU"), ("b", "/device:TPU:0")}
    assert sorted(lines_of(trace, "a")["Steps"]) == ["0", "1", "2", "train 0", "train 1", "train 2"]
    assert [plane.name for plane in trace.planes if plane.host == "a"].count("/host:CPU") == 1


def test_hosts_without_events_are_hosts_all_the_same() -> None:
    empty = read_xspace(space(session(), plane("/host:CPU", line("python")), hostnames=["idle"]))
    results = merge_hosts([summarize_host(Analysis(one)) for one in (empty, host("a", *steps_with(1)))])
    assert results.hosts["host"].tolist() == ["idle", "a"]
    assert results.hosts["n_steps"].tolist() == [0, 3]
