"""The figures above the live chart: of the latest steps, as far as they are known."""

from __future__ import annotations

import numpy as np
import pytest

from tfprof_widgets.trace import PROFILED, STEP, Steps
from tfprof_widgets.watching_state import N_KEPT, batches_told, figures, latest_of, line_of


def steps(n: int, *, ms: float, wait_ms: float, flags: int = 0) -> Steps:
    rows = np.zeros(n, STEP)
    rows["duration_us"], rows["wait_us"], rows["flags"] = 1e3 * ms, 1e3 * wait_ms, flags
    return rows


def test_they_are_of_the_latest_steps_and_not_of_those_that_were_profiled() -> None:
    latest = latest_of(None, steps(500, ms=4, wait_ms=1))
    latest = latest_of(latest, steps(20, ms=10, wait_ms=5))
    latest = latest_of(latest, steps(5, ms=90, wait_ms=5, flags=PROFILED))
    assert latest is not None
    assert len(latest) == N_KEPT
    found = figures(latest)
    assert (found["step_ms"], found["steps_per_s"], found["wait_ratio"]) == pytest.approx((10, 100, 0.5))


def test_where_the_last_waits_are_not_known_those_before_tell_them() -> None:
    """The iterator of an epoch is gone before it can be asked about the last steps."""
    known, unknown = steps(100, ms=4, wait_ms=1), steps(25, ms=4, wait_ms=np.nan)
    assert figures(latest_of(latest_of(None, known), unknown))["wait_ratio"] == pytest.approx(0.25)
    assert np.isnan(figures(unknown)["wait_ratio"])


def test_a_step_of_several_batches_is_told_as_such() -> None:
    rows = steps(30, ms=10, wait_ms=0)
    assert batches_told(rows) == batches_told(None) == ""
    rows["n_batches"] = 5
    told = batches_told(latest_of(None, rows))
    assert told == "5 batches in one call, 2.00 ms a batch"
    assert "10.0 ms a step (5 batches in one call, 2.00 ms a batch), 100 steps/s" in line_of(
        30, figures(rows), 0, 0, batches=told
    )


def test_without_steps_nothing_is_known() -> None:
    assert all(np.isnan(value) for value in figures(latest_of(None, steps(0, ms=1, wait_ms=0))).values())
