"""What the rules found on each host -> one advice for all: whose statement it is, what it could win, and what it selects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tfprof_widgets.analysis import Advice, Fix, FoundAdvice, Highlight, HostAdvice, advise, merge_advice


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
