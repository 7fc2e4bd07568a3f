"""Bins of steps: what each says is what its steps say, however many bins became one and however the steps came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.analysis.watched.drawn_steps import STARTED_NS, steps
from tfprof_widgets.analysis import BIN_COLUMNS, REREAD_ROWS, StepBins
from tfprof_widgets.trace import PROFILED, STEP, VALIDATION


def _drawn(n: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    rows = steps(rng.lognormal(1, 0.3, n), wait_ms=rng.random(n), outside_ms=rng.random(n), loss=rng.random(n))
    rows["wait_us"][rng.random(n) < 0.2] = np.nan
    rows["kind"][rng.random(n) < 0.1] = VALIDATION
    rows["flags"][rng.random(n) < 0.1] = PROFILED
    return rows


def _by_hand(rows: Any, width: int) -> dict[str, list[float]]:
    rows = rows[rows["kind"] != VALIDATION]
    found: dict[str, list[float]] = {name: [] for name in BIN_COLUMNS}
    for at in range(0, len(rows), width):
        part = rows[at : at + width].astype(rows.dtype)
        ms = part["duration_us"].astype(float) / 1e3
        wait = part["wait_us"][~np.isnan(part["wait_us"])].astype(float) / 1e3
        values = (
            *(at, part["number"][0], (part["start_ns"][0] - STARTED_NS) / 1e9, len(part)),
            *(ms.mean(), ms.min(), ms.max(), np.quantile(ms, 0.95)),
            *(wait.mean() if len(wait) else np.nan, part["outside_us"].astype(float).mean() / 1e3),
            *(part["loss"].astype(float).mean(), (part["flags"] == PROFILED).mean()),
        )
        for name, value in zip(BIN_COLUMNS, values, strict=True):
            found[name].append(float(value))
    return found


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 17, 100, 1000])
@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_bins_say_what_their_steps_say(n: int, at_once: int) -> None:
    rows = _drawn(n)
    bins = StepBins(8, started_ns=STARTED_NS, reread=lambda first, last: rows[first:last])
    for at in range(0, n, at_once):
        bins.add(rows[at : at + at_once])
    bins.settle()
    columns = bins.columns()
    expected = _by_hand(rows, bins.width)
    assert bins.n_rows == n
    assert len(columns["n"]) <= 8
    assert columns["n"].sum() == bins.n_steps
    for name in BIN_COLUMNS:
        np.testing.assert_allclose(columns[name], expected[name], rtol=1e-6, err_msg=name)


def test_rows_that_cannot_be_read_again_leave_the_percentile_unknown() -> None:
    bins = StepBins(4, reread=lambda first, last: np.empty(0, STEP))
    bins.add(steps(np.ones(9)))
    bins.settle()
    assert np.isnan(bins.columns()["p95_ms"]).tolist() == [True, True, False]


def test_one_call_reads_a_bounded_number_of_rows_again() -> None:
    rows, read = _drawn(3 * REREAD_ROWS), []

    def reread(first: int, last: int) -> Any:
        read.append(last - first)
        return rows[first:last]

    bins = StepBins(600, reread=reread)
    for at in range(0, len(rows), 1000):
        n_before = len(read)
        bins.add(rows[at : at + 1000])
        assert len(read) - n_before <= 1
    assert max(read) <= REREAD_ROWS * 1.2  # a tenth of the rows are of validation
    assert not np.isnan(bins.columns()["p95_ms"]).any()
