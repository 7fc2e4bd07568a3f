"""The record of an advice: severity by gain, order, and that nothing of it can be changed."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator

import pytest

from tests.builders import session, trace
from tfprof_widgets.analysis import (
    RULES,
    TABLES,
    Advice,
    Fix,
    Highlight,
    Results,
    Run,
    advice_table,
    advise,
    ranked,
    rules,
)


def one(rule: str, gain: float) -> Advice:
    return advise(rule, "why", evidence={"a_ms": 1.0}, fix=Fix("Do it."), selection=Highlight(), gain_ratio=gain)


@pytest.mark.parametrize(
    ("gain", "severity"),
    [(1.0, "high"), (0.2, "high"), (0.19, "medium"), (0.05, "medium"), (0.04, "low"), (0.0, "low")],
)
def test_severity_goes_by_gain(gain: float, severity: str) -> None:
    assert one("a", gain).severity == severity


def test_an_advice_comes_out_of_a_pickle_as_it_went_in_and_still_read_only() -> None:
    again = pickle.loads(pickle.dumps(one("a", 0.3)))
    assert again == one("a", 0.3)
    with pytest.raises(TypeError):
        again.evidence["a_ms"] = 2.0


@pytest.mark.parametrize(("given", "kept"), [(-0.1, 0.0), (1.7, 1.0), (0.5, 0.5)])
def test_a_gain_is_a_share(given: float, kept: float) -> None:
    assert one("a", given).gain_ratio == kept


def test_the_largest_gain_comes_first_and_names_decide_among_equals() -> None:
    found = ranked(iter([one("b", 0.1), one("a", 0.1), one("c", 0.9)]))
    assert [advice.rule for advice in found] == ["c", "a", "b"]


def test_what_may_be_chance_comes_behind_each_cause_in_every_step_that_is_worth_a_word() -> None:
    found = ranked(iter([one("straggler_step", 0.49), one("a", 0.3), one("b", 0.06), one("c", 0.04), one("d", 0.0)]))
    assert [advice.rule for advice in found] == ["a", "b", "straggler_step", "c", "d"]
    assert [advice.gain_ratio for advice in found] == [0.3, 0.06, 0.49, 0.04, 0.0]


def test_an_advice_cannot_be_changed() -> None:
    advice = one("a", 0.1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        advice.rule = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        advice.evidence["a_ms"] = 2.0  # type: ignore[index]


def test_the_table_has_its_columns_without_any_advice() -> None:
    assert list(advice_table(()).columns) == list(TABLES["advice_table"].names)
    assert advice_table((one("a", 0.3),))["severity"].tolist() == ["high"]


def test_a_rule_that_fails_takes_no_other_along(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: Run) -> Iterator[Advice]:
        yield one("half", 0.9)
        raise ZeroDivisionError("no steps")

    def broken_too(run: Run) -> Iterator[Advice]:
        raise ZeroDivisionError("no steps")

    def works(run: Run) -> Iterator[Advice]:
        yield one("works", 0.5)

    monkeypatch.setattr(rules, "RULES", (broken, works, broken_too))
    results = Results(trace(session()))
    assert results.notices == ()
    assert [advice.rule for advice in results.advice] == ["works"]
    expected = (
        "The advice rules broken and broken_too failed: ZeroDivisionError: no steps. The other advice is not affected."
    )
    assert results.advice_notices == results.notices == (expected,)


def test_no_rule_is_listed_twice() -> None:
    names = [rule.__name__ for rule in RULES]
    assert len(set(names)) == len(names)
