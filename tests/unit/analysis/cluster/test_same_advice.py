"""The advice of a reduced profile names what the advice of the same files read whole does, and selects what there is to see."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import pytest

from tests.unit.analysis.advice.drawn_causes import CAUSES
from tests.unit.analysis.advice.test_input_rules import drawn as waiting
from tests.unit.analysis.cluster.comparison import OF_ONE_HOST, Both, copies, gains
from tests.unit.analysis.cluster.conftest import LATER_NS
from tfprof_widgets.analysis import MOST, RULES, Analysis, Rule, host_advice, merge_hosts, of_hosts, summarize_host
from tfprof_widgets.trace import host_names, merge_traces, of_host

OF_TASKS = ("tensors of other tasks", "one parameter server does it all")
"""Traces of TensorFlow's first profiler, in which tasks are hosts; those are never reduced."""
OF_ONE_PROGRAM = (
    *(
        "a hook of epochs",
        "a large validation",
        "a buffer that is filled",
        "input on the cores of the model",
        "a costly line",
    ),
)
"""What is told by what is known of one program alone: its lines, its machine, all the time that it was captured for."""
HELD = ("memory_fragmentation", "memory_growth")
"""A profile read whole tells it of each allocator."""
MORE_OF_THE_SAME = frozenset(
    (
        *(f"{stage}, 3000 us" for stage in ("BatchV2", "Map", "TFRecord", "ParallelMapV2", "Shuffle", "Interleave")),
        *(f"{stage}, 8000 us" for stage in ("BatchV2", "Shuffle", "Interleave")),
        *("FlatMap[0]::Generator, 3000 us", "waiting for data", "launches in short gaps", "32 bits in short kernels"),
        *("32 bits", "python", "a host with slow input", "short ops", "python in the graph"),
    )
)
"""Another cause leads to the same advice, of the same stage of the input: only `make nightly` asks these."""
USUAL = [cause for cause in CAUSES if cause not in {*OF_TASKS, *OF_ONE_PROGRAM, *MORE_OF_THE_SAME}]
every_cause = pytest.mark.parametrize(
    "cause", [*USUAL, *(pytest.param(cause, marks=pytest.mark.nightly) for cause in sorted(MORE_OF_THE_SAME))]
)


@cache
def drawn(cause: str) -> Both:
    """The cause on two hosts, the first of which starts later; drawings of several hosts as they are."""
    results = CAUSES[cause]()
    hosts = host_names(results.trace)
    traces = [of_host(results.trace, host) for host in hosts]
    if len(hosts) < 2:
        first, *others = copies(results.trace, ["worker-b", "worker-a"])
        traces = [replace(first, origin_ns=first.origin_ns + LATER_NS), *others]
    summaries = [pickle.loads(pickle.dumps(summarize_host(Analysis(one, results.source_map)))) for one in traces]
    whole = Analysis(merge_traces(traces), results.source_map)
    return Both(merge_hosts(summaries, source_map=results.source_map), whole)


@every_cause
def test_rules_find_on_hosts_what_they_find_in_all_files_read_whole(cause: str) -> None:
    both = drawn(cause)
    assert gains(both.reduced.advice) == pytest.approx(gains(both.whole.advice), abs=0.01)
    assert both.reduced.advice_notices == ()
    if not {one.rule for one in both.whole.advice} & {*HELD}:
        of_all = [one for one in both.reduced.advice if one.rule not in OF_ONE_HOST]
        assert len(of_all) == len(both.whole.advice)


@pytest.mark.parametrize("cause", [cause for cause in USUAL if len(host_names(CAUSES[cause]().trace)) < 2])
def test_what_is_left_on_hosts_changes_no_advice(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MOST, "units", 1)
    monkeypatch.setattr(MOST, "kernels", 1)
    results = CAUSES[cause]()
    reduced = merge_hosts([summarize_host(results)], source_map=results.source_map)
    assert gains(reduced.advice) == pytest.approx(gains(results.advice), abs=0.01)


def test_usual_causes_lead_to_every_rule() -> None:
    told = {one.rule for cause in USUAL for one in drawn(cause).reduced.advice}
    asked = {one.name for one in RULES.values() if one.scope != "program"}
    assert asked <= told


def test_hosts_count_by_the_time_of_their_steps() -> None:
    short, long = waiting(1_500, step_us=10_000), waiting(18_000, step_us=20_000)
    both = Both.of_traces([*copies(short.trace, ["short"]), *copies(long.trace, ["long"])])
    assert gains(both.whole.advice) == {"input_bound": pytest.approx(0.65)}
    assert gains(both.reduced.advice) == {"input_bound": pytest.approx(0.65)}
    assert both.reduced.advice[0].title.endswith(
        "On both hosts (65 % of all step time); shown for long, where it costs most."
    )


def test_every_rule_is_asked_of_hosts_or_of_all_of_them_but_those_on_tasks_and_on_one_program() -> None:
    asked = {one.name for one in RULES.values() if one.scope != "program"}
    assert set(RULES) - asked == {
        "task_communication",
        "uneven_tasks",
        "outside_steps",
        "validation",
        "shuffle_fill",
        "input_competes",
    }


def test_what_a_host_says_travels_in_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    results = CAUSES["a callback"]()
    (whole,) = host_advice(results).advice
    assert whole.fix == results.advice[0].fix
    monkeypatch.setattr(MOST, "text", 20)
    monkeypatch.setattr(MOST, "fix", 20)
    (cut,) = host_advice(results).advice
    assert len(cut.title) == 20
    assert cut.title.endswith("…")
    assert all(len(value) <= 20 for value in cut.evidence.values() if isinstance(value, str))
    assert cut.fix.code == ""
    assert len(cut.fix.words) == 20
    monkeypatch.setattr(MOST, "advice", 0)
    assert host_advice(results).advice == ()


def test_a_rule_that_fails_on_hosts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_run: object) -> None:
        raise ValueError("no")

    results = CAUSES["python"]()
    monkeypatch.setattr(of_hosts, "RULES", {"broken": Rule(broken, "")})
    traces = copies(results.trace, ["a", "b"])
    reduced = merge_hosts([summarize_host(Analysis(one)) for one in traces])
    assert reduced.advice_notices == (
        "The advice rule broken failed: ValueError: no. The other advice is not affected. This is so on 2 of 2 hosts.",
    )
    assert reduced.advice_notices[0] in reduced.notices
