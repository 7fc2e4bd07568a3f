"""WindowPolicy: the user's arguments decide step by step, and a senseless argument says what to give instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfprof_widgets.capture import WindowPolicy, make_selection


def windows(selection: WindowPolicy, n_steps: int) -> list[list[int]]:
    """Play `n_steps` steps, as the capture does."""
    found: list[list[int]] = []
    is_open = False
    for number in range(n_steps):
        if not is_open and selection.opens(number):
            is_open = True
            found.append([])
        if is_open:
            found[-1].append(number)
            is_open = selection.continues(number + 1)
    return found


def made(**options: Any) -> WindowPolicy:
    selection = make_selection(**options)
    assert selection is not None
    return selection


def test_nothing_selected_means_no_selection() -> None:
    assert make_selection() is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"steps": range(2, 5)}, [[2, 3, 4]]),
        ({"steps": range(0, 9, 4)}, [[0], [4], [8]]),
        ({"steps": [7, 1, 2]}, [[1, 2], [7]]),
        ({"steps": (2, 5)}, [[2, 3, 4, 5]]),
        ({"steps": (3, 3)}, [[3]]),
        ({"steps": {2, 5}}, [[2], [5]]),
        ({"steps": [4, 5]}, [[4, 5]]),
        ({"steps": lambda n: n % 5 < 2}, [[0, 1], [5, 6]]),
        ({"every": 4}, [[0], [4], [8]]),
        ({"every": 1}, [list(range(10))]),
        ({"every": 2, "steps": range(3, 8)}, [[4], [6]]),
    ],
)
def test_neighbours_share_a_window(options: dict[str, Any], expected: list[list[int]]) -> None:
    assert windows(made(**options), 10) == expected


def test_every_seconds_opens_when_the_time_has_come() -> None:
    now = iter([0.0, 0.0, 4.0, 11.0, 12.0, 20.0, 21.5])
    selection = WindowPolicy(None, every_seconds=10.0, clock=lambda: next(now))
    assert windows(selection, 6) == [[0], [2], [5]]


def test_a_range_to_the_end_of_all_time_is_taken_as_it_is() -> None:
    selection = made(steps=range(2, 10**12))
    assert selection.ends == (2, 10**12 - 1)
    assert windows(selection, 4) == [[2, 3]]


def test_numbers_from_numpy_are_numbers() -> None:
    assert windows(made(every=np.int64(3)), 7) == [[0], [3], [6]]
    assert windows(made(steps=np.array([2, 3, 5])), 7) == [[2, 3], [5]]


def test_a_call_with_several_batches_is_selected_for_any_of_them() -> None:
    state = made(steps=range(6, 8))
    assert not state.opens(0, 4)
    assert state.opens(4, 4)
    assert not state.continues(8, 4)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"steps": range(5, 5)}, ValueError, "selects no step"),
        ({"steps": []}, ValueError, "selects no step"),
        ({"steps": range(-3, 5)}, ValueError, "negative"),
        ({"steps": 5}, TypeError, "range"),
        ({"steps": "10:20"}, TypeError, "range"),
        ({"steps": (20, 10)}, ValueError, r"give \(10, 20\)"),
        ({"steps": (-1, 4)}, ValueError, "negative"),
        ({"steps": [10, 20]}, ValueError, r"range\(10, 21\) for steps 10 to 20, or the set \{10, 20\}"),
        ({"steps": np.array([20, 10])}, ValueError, r"range\(10, 21\)"),
        ({"every": 0}, ValueError, "greater than 0"),
        ({"every": 2.5}, TypeError, "whole number"),
        ({"every": True}, TypeError, "whole number"),
        ({"every_seconds": 0}, ValueError, "greater than 0"),
        ({"every_seconds": "2"}, TypeError, "number of seconds"),
        ({"steps": ["a"]}, TypeError, "range"),
        ({"steps": [1.5]}, TypeError, "range"),
    ],
)
def test_a_senseless_argument_is_refused_with_a_remedy(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make_selection(**options)


def test_the_description_is_in_the_users_words() -> None:
    assert made(steps=range(10, 20), every=5).description == "steps=range(10, 20), every=5"
    assert made(steps=(10, 20)).description == "steps=(10, 20)"
