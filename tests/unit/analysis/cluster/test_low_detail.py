"""The timeline of a reduced profile: each host's steps, what they were made of, and its longest events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.builders import session, space
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


def test_steps_of_a_host_are_on_one_plane_whichever_of_its_files_has_it() -> None:
    first, other = (read_xspace(space(tpu.core(0), session(duration_us=1000), hostnames=[name])) for name in "ab")
    results = merge_hosts([summarize_host(Analysis(one)) for one in (first, host("a", *steps_with(1)), other)])
    trace = results.trace
    steps = {(trace.planes[one.plane].host, trace.planes[one.plane].name) for one in trace.lines if one.is_derived}
    assert steps == {("a", "/host:CPU"), ("b", "/device:TPU:0")}
    assert sorted(lines_of(trace, "a")["Steps"]) == ["0", "1", "2", "train 0", "train 1", "train 2"]
    assert [plane.name for plane in trace.planes if plane.host == "a"].count("/host:CPU") == 1
