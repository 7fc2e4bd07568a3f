"""Samples of the main thread -> rows of the line that ran."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tfprof_widgets.capture import FrameTable, LineSampler, calls


def spin(until: Callable[[], bool]) -> None:
    while not until():
        sum(range(100))


def test_samples_are_of_the_line_that_runs() -> None:
    sampler, table = LineSampler(interval_s=0.001), FrameTable()
    sampler.start()
    sampler.start()
    deadline_s = time.monotonic() + 10
    spin(lambda: len(sampler._samples) > 20 or time.monotonic() > deadline_s)
    sampler.stop()
    n = len(sampler._samples)
    assert n > 20
    columns = sampler.columns(table)
    assert set(table.files) == {__file__}
    own = "test_samples_are_of_the_line_that_runs"  # it runs for an instant before and after
    assert {"spin"} <= set(table.frames["function"]) <= {"spin", "<lambda>", own}
    assert columns["time_ns"] == sorted(columns["time_ns"])
    assert len(columns["frame"]) == n
    sampler.start()
    spin(lambda: len(sampler._samples) > n or time.monotonic() > deadline_s)
    sampler.stop()
    assert len(sampler._samples) > n, "a next window adds to it"


def test_samples_that_cost_too_much_are_taken_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_SHARE", 1e-9)
    monkeypatch.setattr(calls, "N_FIRST", 5)
    sampler = LineSampler(interval_s=0.001)
    sampler.start()
    deadline_s = time.monotonic() + 0.5
    spin(lambda: time.monotonic() > deadline_s)
    sampler.stop()
    assert 0 < len(sampler._samples) <= 5


def test_a_clock_that_counts_whole_ticks_of_a_thread_does_not_end_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the sandbox gVisor does: 40 samples had taken 0.4 s of a processor by its clock, and the next were 2 s away."""
    monkeypatch.setattr(time, "thread_time", lambda: 1e6)
    monkeypatch.setattr(calls, "N_FIRST", 5)
    sampler = LineSampler(interval_s=0.001)
    sampler.start()
    deadline_s = time.monotonic() + 10
    spin(lambda: len(sampler._samples) > 10 or time.monotonic() > deadline_s)
    sampler.stop()
    assert len(sampler._samples) > 10
