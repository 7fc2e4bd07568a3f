"""Which steps averages are over, of a drawn table of steps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tfprof_widgets.analysis import PS_PER_MS, choose_steps


def table(*rows: tuple[str, float, float, float]) -> pd.DataFrame:
    """Steps as `(name, pause before it, duration, compilation)`, times in ms."""
    frame = pd.DataFrame(rows, columns=["name", "pause", "step_time_ms", "compile_ms"])
    start = frame["pause"].cumsum() + frame["step_time_ms"].shift(fill_value=0.0).cumsum()
    return frame.assign(
        start_ps=(start * PS_PER_MS).astype("int64"),
        duration_ps=(frame["step_time_ms"] * PS_PER_MS).astype("int64"),
        host="a",
        session=0,
        is_complete=True,
    )


def fits(n: int, pause_ms: float) -> list[tuple[str, float, float, float]]:
    """Several fits, each of which traces in its first step."""
    return [
        (f"train {k}", pause_ms if k % 8 == 0 else 0.05, 100.0 if k % 8 == 0 else 5.0, 80.0 if k % 8 == 0 else 0.0)
        for k in range(8 * n)
    ]


def test_the_first_step_of_each_fit_that_compiles_is_left_out() -> None:
    averaged, why, _ = choose_steps(table(*fits(5, 40.0)))
    assert averaged.sum() == 35
    assert why == "Step 0 (100 ms, compiles) and 4 steps that compile at the begin of a loop are excluded."


def test_steps_that_trace_again_within_a_loop_are_left_out() -> None:
    averaged, why, again = choose_steps(table(*fits(5, 0.05)))
    assert averaged.sum() == 35
    assert why == "Step 0 (100 ms, compiles) and 4 more that compile are excluded."
    assert np.flatnonzero(again).tolist() == [8, 16, 24, 32]


def steps_of(*compile_ms: float, sessions: list[int] | None = None) -> pd.DataFrame:
    """Steps of 5 ms and what compiling adds, in these sessions."""
    frame = table(*((f"train {i}", 0.05, 5.0 + ms, ms) for i, ms in enumerate(compile_ms)))
    return frame.assign(session=0 if sessions is None else sessions)


@pytest.mark.parametrize(
    ("compile_ms", "sessions", "words"),
    [
        ((9e3, *[0.0] * 9), [0, *[1] * 9], "Step 0 (9.01 s, compiles) is excluded."),
        ((0, 0, 0, 800, 0, 0), None, "Step 3 (805 ms, compiles) is excluded."),
        (
            (800, 0, 0, 9e3, 0, 0),
            [0, 0, 0, 1, 2, 2],
            "Step 0 (805 ms, compiles) and step 3 (9.01 s, compiles) are excluded.",
        ),
        (
            (800, 0, 0, 700, 0, 0),
            [0, 0, 0, 1, 1, 1],
            "Step 0 (805 ms, compiles) and step 3 (705 ms, compiles) are excluded.",
        ),
        ((800, 700, 0, 0, 600, 0), [0, 1, 2, 3, 4, 5], None),
        ((0.4, 0.4, 0.4), None, ""),
    ],
)
def test_what_compiles_is_left_out_wherever_it_lies(
    compile_ms: tuple[float, ...], sessions: list[int] | None, words: str | None
) -> None:
    averaged, why, _ = choose_steps(steps_of(*compile_ms, sessions=sessions))
    assert averaged.tolist() == [ms < 100 for ms in compile_ms]
    assert words is None or why == words


def test_averages_that_have_only_steps_that_compile_say_so() -> None:
    averaged, why, _ = choose_steps(steps_of(800.0))
    assert (averaged.tolist(), why) == ([True], "The only averaged step compiles.")
    averaged, why, _ = choose_steps(steps_of(800, 700, 900, sessions=[0, 1, 2]))
    assert averaged.tolist() == [False, True, True]
    assert why == "Step 0 (805 ms, compiles) is excluded. All averaged steps compile."


def test_where_most_steps_compile_that_is_what_a_step_does() -> None:
    averaged, why, again = choose_steps(steps_of(800, 700, 0, 900, 600, 700, 0))
    assert averaged.tolist() == [False, *[True] * 6]
    assert why == "Step 0 (805 ms, compiles) is excluded. 4 of the 6 averaged steps compile."
    assert not again.any()


def test_a_slow_first_step_that_is_alone_in_its_window_is_compared_with_those_of_the_next() -> None:
    frame = table(("train 0", 0.1, 25e3, 0.0), *((f"train {i}", 0.1, 5.0, 0.0) for i in range(1, 9)))
    averaged, why, _ = choose_steps(frame.assign(session=[0, *[1] * 8]))
    assert averaged.tolist() == [False, *[True] * 8]
    assert why == "Step 0 (25.0 s, warm-up) is excluded."


def test_averages_are_over_the_training_even_where_validation_takes_longer() -> None:
    rows = [("train 0", 0.1, 5.0, 0.0), ("train 1", 0.1, 5.0, 0.0), *[(f"test {k}", 0.1, 5.0, 0.0) for k in range(9)]]
    averaged, why, _ = choose_steps(table(*rows))
    assert averaged.tolist() == [True, True, *[False] * 9]
    assert why == "9 test steps are excluded."


def test_of_steps_captured_one_by_one_those_that_begin_an_epoch_are_left_out() -> None:
    frame = table(*((f"train {4 * k}", 30.0, 9.0 if k % 2 == 0 else 5.0, 0.0) for k in range(8))).assign(
        session=range(8)
    )
    starts = np.arange(8) % 2 == 0
    averaged, why, _ = choose_steps(frame, epoch_starts=starts)
    assert averaged.tolist() == (~starts).tolist()
    assert why == "4 steps at the begin of an epoch are excluded."
    whole, *_ = choose_steps(frame.assign(session=0), epoch_starts=starts)
    assert whole.all()
    alike, *_ = choose_steps(frame, epoch_starts=np.ones(8, np.bool_))
    assert alike.all()
