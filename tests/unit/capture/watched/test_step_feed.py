"""StepFeed: what a recorder noted becomes rows of a watched training, each once, with all that is known of it."""

from __future__ import annotations

import time
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfprof_widgets.capture import MAX_LOSSES, StepFeed, StepRecorder
from tfprof_widgets.capture import step_rows as recorder_module
from tfprof_widgets.trace import AFTER_WINDOW, COMPILED, EPOCH_BEGIN, OTHER, PROFILED, TRAIN, VALIDATION


def step(number: int, **fields: Any) -> Any:
    known = {
        "start_ns": 10**18 + number * 5_000_000,
        "number": number,
        "n_batches": 1,
        "name": "train",
        "begins_epoch": False,
        "computing_ns": 3_000_000,
        "waited_ns": None,
        "traced_us": None,
        "iterator": None,
        "thread_id": 7,
        "begin_ns": 1,
    }
    return SimpleNamespace(**{**known, **fields})


def fed(*steps: Any, phase: Any = "after") -> StepFeed:
    feed = StepFeed(StepRecorder())
    for one in steps:
        feed.recorder.began(one)
        feed.recorder.ended(one, 5_000_000, phase)
    return feed


def test_steps_come_once_in_order_with_their_times() -> None:
    feed = fed(step(0, begins_epoch=True), step(1, waited_ns=1_500_000))
    rows = feed.take()
    assert rows["number"].tolist() == [0, 1]
    assert rows["duration_us"].tolist() == [5000.0, 5000.0]
    assert rows["outside_us"].tolist() == [2000.0, 2000.0]
    np.testing.assert_array_equal(rows["wait_us"], np.array([np.nan, 1500.0], np.float32))
    assert rows["flags"].tolist() == [EPOCH_BEGIN, 0]
    assert len(feed.take()) == 0


def test_what_a_step_is_of_is_told_by_the_name_of_its_marker() -> None:
    rows = fed(step(0), step(1, name="test"), step(2, name="my loop")).take()
    assert rows["kind"].tolist() == [TRAIN, VALIDATION, OTHER]


def test_a_step_in_a_window_is_profiled() -> None:
    assert fed(step(0), phase="during").take()["flags"].tolist() == [PROFILED]


def test_a_step_in_which_a_function_was_traced_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = chain([0, 0, 0], repeat(900_000))
    monkeypatch.setattr(recorder_module, "traced_us", lambda: next(counted))
    assert fed(step(0), step(1, waited_ns=1_000_000), step(2)).take()["flags"].tolist() == [0, COMPILED, 0]


def test_a_loss_that_keras_told_belongs_to_the_last_batch_of_its_step() -> None:
    feed = fed(step(0, n_batches=4), step(4, n_batches=4))
    feed.recorder.note_logs(3, {"loss": 0.5})
    feed.recorder.note_logs(7, {"loss": float("nan")})
    feed.recorder.note_logs(8, "no logs")
    np.testing.assert_array_equal(feed.take()["loss"], np.array([0.5, np.nan], np.float32))


def test_losses_that_nobody_takes_are_not_kept_for_ever() -> None:
    recorder = StepRecorder()
    for number in range(3 * MAX_LOSSES):
        recorder.note_logs(number, {"loss": 1.0})
    assert len(recorder.losses) <= MAX_LOSSES


def test_steps_that_run_while_a_window_is_read_are_marked() -> None:
    feed = StepFeed(StepRecorder())
    with feed.disturbing():
        now_ns = time.time_ns()
        for one in (step(0, start_ns=now_ns - 10**10), step(1, start_ns=now_ns)):
            feed.recorder.ended(one, 5_000_000, "after")
        during = feed.take()
    feed.recorder.ended(step(2, start_ns=now_ns + 10**10), 5_000_000, "after")
    assert during["flags"].tolist() == [0, AFTER_WINDOW]
    assert feed.take()["flags"].tolist() == [0]


def test_numbers_beyond_what_a_row_holds_are_its_largest() -> None:
    rows = fed(step(2**40, n_batches=2**20)).take()
    assert (int(rows["number"][0]), int(rows["n_batches"][0])) == (2**31 - 1, 2**16 - 1)


def test_the_step_that_runs_is_known_until_it_ends() -> None:
    recorder = StepRecorder()
    assert recorder.current is None
    one = step(3)
    recorder.began(one)
    number, thread_id, age_ns = recorder.current or (0, 0, -1)
    assert (number, thread_id) == (3, 7)
    assert age_ns >= 0
    recorder.ended(one, 5_000_000, "after")
    assert recorder.current is None
