"""How far a running capture is: what it waits for, what it has recorded, and why it records no more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return run_scenario("""
        def standing(capture):
            found = capture.standing
            return [found.state, found.step, round(found.seconds, 3), found.n_bytes or 0]

        def played(n_steps, **options):
            capture = started(system=False, **options)
            told = [standing(capture)]
            for number in range(n_steps):
                with step(number):
                    tf.constant(1.0) + 1
                    time.sleep(0.01)
                told.append(standing(capture))
            capture.stop()
            return told

        out["all"] = played(2)
        out["range"] = played(6, steps=range(2, 4))
        out["two"] = played(6, steps={1, 4})
        out["callable"] = played(1, steps=lambda number: number > 5)
        out["every"] = played(1, every=2, steps=range(1, 9))
        out["not_met"] = played(0, steps=range(2, 4))

        capture = started(max_seconds=0.1)
        with step(0):
            time.sleep(0.3)
        out["bound"] = standing(capture)
        capture.stop()

        out["not_started"] = error_of(lambda: Capture().standing)
    """)


def states(told: list[list[Any]]) -> list[str]:
    return [state for state, *_ in told]


def test_without_a_selection_it_records_from_the_begin(run: dict[str, Any]) -> None:
    assert states(run["all"]) == ["recording"] * 3
    assert [step for _, step, *_ in run["all"]] == [None, 1, 2]
    seconds = [seconds for _, _, seconds, _ in run["all"]]
    assert 0.02 < seconds[2] - seconds[0] < 5
    assert seconds == sorted(seconds)


def test_a_selection_is_waited_for_recorded_and_over(run: dict[str, Any]) -> None:
    waits, over = "waiting for step 2", "no more steps selected"
    assert states(run["range"]) == [waits, waits, waits, "recording", over, over, over]
    *_, seconds, n_bytes = run["range"][-1]
    assert 0.02 < seconds < 5
    assert n_bytes > 0


def test_between_two_windows_it_pauses(run: dict[str, Any]) -> None:
    assert states(run["two"])[2:] == ["paused", "paused", "paused", "no more steps selected", "no more steps selected"]


@pytest.mark.parametrize(
    ("name", "state"), [("callable", "waiting (steps=<lambda>)"), ("not_met", "waiting for step 2")]
)
def test_what_it_waits_for_is_told_as_far_as_it_is_known(run: dict[str, Any], name: str, state: str) -> None:
    assert states(run[name])[0] == state


def test_a_step_that_another_condition_leaves_out_is_not_waited_for(run: dict[str, Any]) -> None:
    assert states(run["every"])[0] == "waiting (steps=range(1, 9), every=2)"


def test_a_bound_that_was_met_is_told(run: dict[str, Any]) -> None:
    assert run["bound"][0].startswith("stopped after 0.")
    assert "max_seconds=0.1" in run["bound"][0]


def test_a_capture_that_was_not_started_says_so(run: dict[str, Any]) -> None:
    assert run["not_started"][0] == "CaptureError"
