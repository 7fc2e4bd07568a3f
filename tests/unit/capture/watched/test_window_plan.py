"""OddPolicy: steps are profiled when somebody asks, when something is wrong and as often as was said, and not more."""

from __future__ import annotations

from typing import Any

import pytest

from tfprof_widgets.capture import OddPolicy, window_policy


def profiled(plan: OddPolicy, numbers: range) -> list[int]:
    found, is_open = [], False
    for number in numbers:
        is_open = (is_open and plan.continues(number)) or plan.opens(number)
        found += [number] if is_open else []
    return found


def test_without_a_wish_no_step_is_profiled() -> None:
    assert profiled(OddPolicy(), range(1000)) == []


def test_who_asks_gets_the_next_steps_and_no_others() -> None:
    plan = OddPolicy()
    assert profiled(plan, range(10)) == []
    plan.ask(3, "asked for")
    assert profiled(plan, range(10, 30)) == [10, 11, 12]
    assert plan.why == "asked for"


def test_a_suggestion_for_a_later_step_waits_for_it() -> None:
    plan = OddPolicy(window_steps=2)
    assert plan.suggest("every 500 steps", known_as="0", at=500)
    assert profiled(plan, range(490, 510)) == [500, 501]


def test_a_wish_that_comes_too_late_for_its_step_waits_for_the_next() -> None:
    plan = OddPolicy(window_steps=2)
    assert profiled(plan, range(501)) == []
    assert plan.suggest("every 500 steps", known_as="0", at=500)
    assert profiled(plan, range(501, 700)) == []
    assert plan.suggest("every 500 steps", known_as="0", at=1000)
    assert profiled(plan, range(700, 1100)) == [1000, 1001]


def test_every_so_many_steps_a_window_opens_but_not_at_the_first_step() -> None:
    plan = OddPolicy(every=100, window_steps=2)
    assert profiled(plan, range(301)) == [100, 101, 200, 201, 300]


def test_windows_that_nobody_asked_for_are_so_many_at_most_and_others_are_not_counted() -> None:
    plan = OddPolicy(every=10, window_steps=1, max_windows=2)
    assert profiled(plan, range(100)) == [10, 20]
    assert not plan.suggest("slow", known_as="0")
    plan.ask(1, "asked for")
    assert profiled(plan, range(100, 110)) == [100]
    assert plan.n_own == 2


def test_after_a_window_none_opens_by_itself_for_a_multiple_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(window_policy.time, "monotonic", lambda: now[0])
    plan = OddPolicy(every_seconds=1.0, window_steps=1)
    plan.rest_after(0.5)
    now[0] = 9.0
    assert not plan.suggest("slow", known_as="0")
    assert profiled(plan, range(5)) == []
    now[0] = 11.0
    assert profiled(plan, range(5, 10)) == [5]


def test_what_is_odd_at_the_same_time_shares_a_window_and_none_follows_at_once() -> None:
    plan = OddPolicy(window_steps=3)
    plan.suggest("slow", known_as="0")
    plan.suggest("memory grows", known_as="1")
    assert profiled(plan, range(2)) == [0, 1]
    plan.suggest("waits", known_as="2")
    assert profiled(plan, range(2, 4)) == [2]
    assert (plan.why, plan.n_own) == ("slow; memory grows", 1)
    plan.rest_after(1.0)
    assert profiled(plan, range(4, 10)) == []
    plan.ask(2, "asked for")
    assert profiled(plan, range(10, 20)) == [10, 11]


def test_a_suggestion_takes_the_place_of_the_one_before_and_is_tried_a_few_times_only() -> None:
    plan = OddPolicy(window_steps=1)
    for _ in range(2):
        plan.suggest("slow", known_as="0", at=10)
        plan.suggest("slow", known_as="0", at=20)
    assert profiled(plan, range(30)) == [20]
    for at in (40, 60, 80):
        plan.suggest("slow", known_as="0", at=at)
        profiled(plan, range(at - 10, at + 10))
    assert plan.n_own == window_policy.MAX_TRIES
    assert plan.suggest("another", known_as="1")


def test_a_loop_that_numbers_its_steps_anew_is_not_profiled_for_ever() -> None:
    plan = OddPolicy(window_steps=5)
    plan.ask(5, "asked for")
    assert profiled(plan, range(98, 100)) == [98, 99]  # the epoch ends there
    assert profiled(plan, range(200)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"every": 0},
        {"every": 2.5},
        {"every_seconds": -1.0},
        {"window_steps": 0},
        {"max_windows": -1},
        {"max_windows": "3"},
    ],
)
def test_what_is_no_plan_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match="give a"):
        OddPolicy(**wrong)


def test_no_window_opens_by_itself_where_none_is_wanted() -> None:
    assert not OddPolicy(max_windows=0).suggest("slow", known_as="0")
