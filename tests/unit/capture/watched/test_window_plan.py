"""OddPolicy: steps are profiled when somebody asks, when something is wrong and as often as was said, and not more."""

from __future__ import annotations

from typing import Any

import pytest

from tfprof_widgets.capture import OddPolicy, window_policy


def profiled(plan: OddPolicy, *acts: range | tuple[Any, ...]) -> list[int]:
    """The steps of which the windows are, of ranges of steps and of calls between them: a method's name and its arguments."""
    found, is_open = [], False
    for act in acts:
        if isinstance(act, range):
            for number in act:
                is_open = (is_open and plan.continues(number)) or plan.opens(number)
                found += [number] if is_open else []
        elif act[0] == "suggest":
            plan.suggest("slow", known_as=act[1], at=act[2])
        else:
            getattr(plan, act[0])(*act[1:])
    return found


ASK_3 = ("ask", 3, "asked for")


@pytest.mark.parametrize(
    ("options", "acts", "steps"),
    [
        pytest.param({}, [range(1000)], [], id="no wish"),
        pytest.param({}, [range(10), ASK_3, range(10, 30)], [10, 11, 12], id="asked for"),
        pytest.param({"window_steps": 2}, [("suggest", "0", 5), range(20)], [5, 6], id="a later step"),
        pytest.param(
            {"window_steps": 2},
            [range(51), ("suggest", "0", 50), range(51, 70), ("suggest", "0", 100), range(70, 110)],
            [100, 101],
            id="too late for its step",
        ),
        pytest.param({"every": 100, "window_steps": 2}, [range(301)], [100, 101, 200, 201, 300], id="every so many"),
        pytest.param(
            {"every": 10, "window_steps": 1, "max_windows": 2},
            [range(100), ("suggest", "0", None), range(100, 104), ASK_3, range(104, 110)],
            [10, 20, 104, 105, 106],
            id="so many at most unless asked",
        ),
        pytest.param(
            {"window_steps": 1},
            [*(("suggest", "0", at) for at in (10, 20, 10, 20)), range(30)],
            [20],
            id="one takes the place of the one before",
        ),
        pytest.param(
            {"window_steps": 1},
            [act for at in (20, 40, 60, 80) for act in (("suggest", "0", at), range(at - 10, at + 10))],
            [20, 40, 60],
            id="tried a few times",
        ),
        pytest.param({}, [("ask", 5, ""), range(98, 100), range(200)], [98, 99], id="numbered anew, as an epoch ends"),
        pytest.param({"max_windows": 0}, [("suggest", "0", None), range(10)], [], id="none wanted"),
        pytest.param({"windows": False}, [("suggest", "0", None), range(10)], [], id="none of what is odd"),
    ],
)
def test_windows_open_as_they_are_wished_for(options: dict[str, Any], acts: list[Any], steps: list[int]) -> None:
    assert profiled(OddPolicy(**options), *acts) == steps


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
    assert profiled(plan, range(4, 10), ("ask", 2, "asked for"), range(10, 20)) == [10, 11]
    assert plan.why == "asked for"


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
