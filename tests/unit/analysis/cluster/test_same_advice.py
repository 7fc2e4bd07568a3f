"""The advice of a reduced profile names what the advice of the same files read whole does, and selects what there is to see."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.unit.analysis.advice.drawn_causes import CAUSES
from tests.unit.analysis.advice.test_input_rules import drawn as waiting
from tests.unit.analysis.cluster.comparison import Both, copies, gains
from tests.unit.analysis.cluster.conftest import LATER_NS
from tfprof_widgets.analysis import (
    MOST,
    RULES,
    Advice,
    Analysis,
    Fix,
    FoundAdvice,
    Highlight,
    HostAdvice,
    Rule,
    advise,
    host_advice,
    merge_advice,
    merge_hosts,
    of_hosts,
    summarize_host,
)
from tfprof_widgets.trace import host_names, merge_traces, of_host

OF_ONE_PROGRAM = (
    *(
        "a hook of epochs",
        "another thread",
        "a large validation",
        "a buffer that is filled",
        "input on the cores of the model",
        "a costly line",
        "a loop that is unrolled",
    ),
)
"""What is told by what is known of one program alone: its lines, its machine, all the time that it was captured for."""
HELD = ("memory_growth",)
"""A profile read whole tells it of each allocator."""
MORE_OF_THE_SAME = frozenset(
    (
        *(f"{stage}, 3000 us" for stage in ("BatchV2", "Map", "TFRecord", "ParallelMapV2", "Shuffle", "Interleave")),
        *(f"{stage}, 8000 us" for stage in ("BatchV2", "Shuffle", "Interleave")),
        *("FlatMap[0]::Generator, 3000 us", "waiting for data", "launches in short gaps", "32 bits in short kernels"),
        *("python", "a host with slow input", "short ops", "python in the graph"),
    )
)
"""Another cause leads to the same advice, of the same stage of the input: only `make nightly` asks these."""
USUAL = [cause for cause in CAUSES if cause not in {*OF_ONE_PROGRAM, *MORE_OF_THE_SAME}]
ON_ONE_HOST = [
    pytest.param(cause, marks=[pytest.mark.nightly] * (i % 3 > 0))
    for i, cause in enumerate(USUAL)
    if cause != "a host with slow ops"
]
"""Every third in each run: what they differ in is asked of two hosts."""
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
        assert len(both.reduced.advice) == len(both.whole.advice)


@pytest.mark.parametrize("cause", ON_ONE_HOST)
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


def test_every_rule_is_asked_of_hosts_or_of_all_of_them_but_those_on_one_program() -> None:
    asked = {one.name for one in RULES.values() if one.scope != "program"}
    assert set(RULES) - asked == {
        "outside_steps",
        "shuffle_fill",
        "input_competes",
        "large_graph",
        "other_thread",
        "single_batches",
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


def said(rule: str, gain: float, *, at: Highlight | None = None, **evidence: str) -> Advice:
    return advise(
        rule,
        f"{gain:.0%} by {rule}.",
        evidence=evidence,
        fix=Fix("Do it."),
        selection=at or Highlight(),
        gain_ratio=gain,
    )


def host(
    name: str,
    *advice: Advice,
    ms: float = 10.0,
    shift_ps: int = 0,
    rows: Sequence[int] = (),
    notices: Sequence[str] = (),
) -> HostAdvice:
    return HostAdvice(name, FoundAdvice(advice, tuple(notices)), ms, shift_ps, np.array(rows, np.int64))


def merged(*hosts: HostAdvice, known: Sequence[str] = ()) -> list[Advice]:
    return list(merge_advice(hosts, known).advice)


def test_what_is_found_on_several_hosts_is_said_once_as_it_is_where_it_costs_most() -> None:
    (found,) = merged(host("a", said("x", 0.2)), host("b", said("x", 0.4)), host("c"))
    assert found.title == "40% by x. On 2 of 3 hosts (20 % of all step time); shown for b, where it costs most."
    assert (found.gain_ratio, found.severity, found.selection.host) == (pytest.approx(0.2), "high", "b")
    assert dict(found.evidence) == {"host": "b", "host_gain_ratio": 0.4, "n_found": 2, "n_hosts": 3}


def test_a_fix_wins_a_share_of_the_time_of_all_hosts_each_counted_by_its_own() -> None:
    (found,) = merged(host("a", said("x", 0.1), ms=30.0), host("b", said("x", 0.9), ms=10.0))
    assert found.gain_ratio == pytest.approx(0.3)
    (found,) = merged(host("a", said("x", 0.1), ms=0.0), host("b", said("x", 0.9), ms=0.0))
    assert found.gain_ratio == pytest.approx(0.5)


def test_what_costs_a_host_much_and_all_of_them_little_is_not_worth_a_word() -> None:
    others = [host(f"w{i}") for i in range(9)]
    assert merged(host("a", said("x", 0.45)), *others) == []
    assert len(merged(host("a", said("x", 0.55)), *others)) == 1


def test_what_is_not_about_time_is_told_however_few_hosts_have_it() -> None:
    (found,) = merged(host("a"), host("b", said("leak", 0.0)), *(host(f"w{i}") for i in range(98)))
    assert found.title == "0% by leak. On 1 of 100 hosts; shown for b."
    assert (found.gain_ratio, found.severity) == (0.0, "low")


def test_each_rule_is_told_by_itself() -> None:
    found = merged(host("a", said("xa", 0.4), said("xb", 0.3)), host("b", said("xb", 0.3)))
    assert [(one.rule, one.evidence["n_found"]) for one in found] == [("xa", 1), ("xb", 2)]


def test_a_host_counts_once_whatever_it_has_to_say_of_a_rule() -> None:
    (found,) = merged(host("a", said("x", 0.4), said("x", 0.3)), host("b"))
    assert (found.gain_ratio, found.evidence["n_found"]) == (pytest.approx(0.2), 1)


def test_a_selection_has_the_times_the_steps_and_the_names_of_the_reduced_profile() -> None:
    at = Highlight(op_names=("kept", "left"), time_range_ns=(100, 200), step=1, view="op_table")
    (found,) = merged(host("a", said("x", 0.4, at=at), shift_ps=5_000_000, rows=[3, 7]), known=["kept"])
    assert found.selection == Highlight(
        op_names=("kept",), time_range_ns=(5_100, 5_200), step=7, view="op_table", host="a"
    )


def test_rules_that_failed_are_told_with_the_number_of_hosts() -> None:
    failed = [host("a", notices=["x failed."]), host("b", notices=["x failed."]), host("c")]
    assert merge_advice(failed, ()).notices == ("x failed. This is so on 2 of 3 hosts.",)
    many = [host(f"w{i}", notices=[f"x{i} failed."]) for i in range(5)]
    assert merge_advice(many, ()).notices[-1] == (
        "2 more of 5 such failures of rules are in the notices of single hosts."
    )
    assert len(merge_advice(many, ()).notices) == 4
