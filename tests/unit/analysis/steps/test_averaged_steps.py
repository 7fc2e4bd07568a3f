"""Which steps averages are over, of a drawn table of steps."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfprof_widgets.analysis.base.units import PS_PER_MS
from tfprof_widgets.analysis.steps.averaged_steps import choose_steps


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
    averaged, why = choose_steps(table(*fits(5, 40.0)))
    assert averaged.sum() == 35
    assert why == "Step 0 (100 ms, compiles) and 4 steps that compile at the begin of a loop are excluded."


def test_steps_that_trace_again_within_a_loop_count() -> None:
    averaged, _ = choose_steps(table(*fits(5, 0.05)))
    assert averaged.sum() == 39


def test_averages_are_over_the_training_even_where_validation_takes_longer() -> None:
    rows = [("train 0", 0.1, 5.0, 0.0), ("train 1", 0.1, 5.0, 0.0), *[(f"test {k}", 0.1, 5.0, 0.0) for k in range(9)]]
    averaged, why = choose_steps(table(*rows))
    assert averaged.tolist() == [True, True, *[False] * 9]
    assert why == "9 test steps are excluded."


def test_of_steps_captured_one_by_one_those_that_begin_an_epoch_are_left_out() -> None:
    frame = table(*((f"train {4 * k}", 30.0, 9.0 if k % 2 == 0 else 5.0, 0.0) for k in range(8))).assign(
        session=range(8)
    )
    starts = np.arange(8) % 2 == 0
    averaged, why = choose_steps(frame, epoch_starts=starts)
    assert averaged.tolist() == (~starts).tolist()
    assert why == "4 steps at the begin of an epoch are excluded."
    whole, _ = choose_steps(frame.assign(session=0), epoch_starts=starts)
    assert whole.all()
    alike, _ = choose_steps(frame, epoch_starts=np.ones(8, np.bool_))
    assert alike.all()
