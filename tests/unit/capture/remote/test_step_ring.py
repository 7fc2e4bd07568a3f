"""The latest rows of steps, for readers that know which they have."""

from __future__ import annotations

import numpy as np

from tfprof_widgets.capture.remote.step_ring import StepRing
from tfprof_widgets.trace.watched import STEP, Steps


def rows(first: int, end: int) -> Steps:
    made = np.zeros(end - first, STEP)
    made["number"] = np.arange(first, end)
    return made


def read(ring: StepRing, since: int, at_most: int = 1000) -> tuple[list[int], int]:
    found, first = ring.rows_since(since, at_most=at_most)
    return found["number"].tolist(), first


def test_a_reader_gets_each_row_once_whatever_the_sizes() -> None:
    ring, since, got = StepRing(50), 0, []
    generator = np.random.default_rng(0)
    end = 0
    for _ in range(300):
        n_new = int(generator.integers(0, 40))
        ring.add(rows(end, end + n_new))
        end += n_new
        found, first = read(ring, since)
        assert first == since
        got += found
        since += len(found)
    assert got == list(range(end))
    assert ring.n_steps == end


def test_a_late_reader_gets_the_latest_and_learns_where_they_begin() -> None:
    ring = StepRing(50)
    ring.add(rows(0, 30))
    ring.add(rows(30, 170))
    assert read(ring, 0) == (list(range(120, 170)), 120)
    assert read(ring, 160) == (list(range(160, 170)), 160)
    assert read(ring, 0, at_most=3) == ([120, 121, 122], 120)


def test_who_asks_for_what_never_was_gets_nothing() -> None:
    ring = StepRing(50)
    assert read(ring, 5) == ([], 0)
    ring.add(rows(0, 10))
    assert read(ring, 10) == ([], 10)
    assert read(ring, 2**63) == ([], 10)
