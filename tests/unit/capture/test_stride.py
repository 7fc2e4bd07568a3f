"""Pieces of a run and how the heap grew in each -> how much of it goes on as the program does."""

from __future__ import annotations

import math
import sys
import threading

import pytest

from tfprof_widgets.capture import MIN_PIECES, N_PIECES, Piece, Stride


def grown(*growths: float, n_units: float = 1.0) -> float:
    """What counts of pieces of the same length."""
    stride = Stride()
    for growth in growths:
        stride.add(Piece(n_units, growth))
    return stride.growth


@pytest.mark.parametrize("n", [5, N_PIECES, 4 * N_PIECES])
def test_growth_that_goes_on_counts_in_full(n: int) -> None:
    assert grown(*[100.0, 90.0, 110.0] * n) == 300 * n


@pytest.mark.parametrize("at", [0, 10, 99])
def test_what_is_kept_once_does_not_count(at: int) -> None:
    growths = [100.0] * 100
    growths[at] = 1e9
    assert 9_900 <= grown(*growths) <= 10_300


def test_what_comes_and_goes_does_not_count() -> None:
    assert grown(*[*[100.0] * 9, -900.0] * 20) <= 900


def test_what_is_freed_once_hides_the_growth_of_the_latest_pieces_only() -> None:
    assert grown(*[100.0] * 200, -1e9, *[100.0] * 200) >= 40_000 - 100 * (N_PIECES + 1)


def test_steps_of_another_kind_count_as_soon_as_they_are_the_usual_ones() -> None:
    assert 0.6 * 220_000 < grown(*[100.0] * 200, *[1000.0] * 200) <= 220_000


def test_pieces_of_other_lengths_are_compared_by_their_steps() -> None:
    stride = Stride()
    for n_steps in (1, 50, 2, 7) * 10:
        stride.add(Piece(n_steps, 100.0 * n_steps))
    assert stride.growth == 60_000


def test_a_piece_in_which_a_function_was_built_counts_as_its_steps_would() -> None:
    stride = Stride()
    stride.add(Piece(1, math.inf, is_spoilt=True))
    assert stride.growth == 0, "nothing is usual yet"
    for _ in range(MIN_PIECES):
        assert not stride.is_known
        stride.add(Piece(1, 100.0))
    assert stride.is_known
    usual = 100.0 * (MIN_PIECES + 1)  # with the spoilt one before them
    assert stride.growth == usual
    stride.add(Piece(2, 1e9, is_spoilt=True))
    assert stride.growth == usual + 200
    stride.add(Piece(0, 1e9, is_spoilt=True))
    assert stride.growth == usual + 200, "no step has ended, so nothing is known of it"
    stride.add(Piece(1, -1e9, is_spoilt=True))
    assert stride.growth == usual + 200, "what is freed after it was not the profiler's"


def test_growth_can_be_asked_for_while_pieces_are_added() -> None:
    errors: list[RuntimeError] = []
    stride, over = Stride(), threading.Event()

    def ask() -> None:
        try:
            while not over.is_set():
                _ = stride.growth, stride.is_known
        except RuntimeError as error:
            errors.append(error)

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    asking = threading.Thread(target=ask)
    asking.start()
    for _ in range(3_000):
        stride.add(Piece(1, 100.0))
    over.set()
    asking.join()
    sys.setswitchinterval(interval_s)
    assert not errors
