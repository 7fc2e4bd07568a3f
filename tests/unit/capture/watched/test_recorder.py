"""Steps that end on one thread -> rows that another one takes."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tfprof_widgets.capture.watched import recorder as module
from tfprof_widgets.capture.watched.recorder import StepRecorder


def a_step(number: int) -> Any:
    source = {"computing_ns": None, "waited_ns": None, "source": None}
    return SimpleNamespace(
        number=number, start_ns=0, n_batches=1, name="train", begins_epoch=False, thread_id=1, **source
    )


def test_each_step_is_taken_once_in_the_order_of_their_ends_however_the_threads_meet() -> None:
    n_steps, recorder, got = 50_000, StepRecorder(), []

    def train() -> None:
        for i in range(n_steps):
            recorder.ended(a_step(i), 1, "before")

    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        training = threading.Thread(target=train)
        training.start()
        while training.is_alive():
            got += recorder.take()
        training.join()
    finally:
        sys.setswitchinterval(before_s)
    got += recorder.take()
    assert [row.number for row in got] == list(range(n_steps))
    assert recorder.n_waiting == 0


def test_steps_that_nobody_takes_cost_no_more_than_some_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 10)
    recorder = StepRecorder()
    for i in range(25):
        recorder.ended(a_step(i), 1, "before")
    assert [row.number for row in recorder.take()] == list(range(10))
    recorder.ended(a_step(25), 1, "before")
    assert [row.number for row in recorder.take()] == [25]


def test_memory_is_read_between_steps_ten_times_a_second() -> None:
    asked: list[int] = []
    recorder = StepRecorder(lambda: {"rss_bytes": float(asked.append(1) or len(asked))})
    for start_ns in (10**18, 10**18 + 50_000_000, 10**18 + 100_000_000, 10**18 + 150_000_000, 10**18 + 10**9):
        recorder.began(SimpleNamespace(start_ns=start_ns))  # type: ignore[arg-type]
    assert recorder.take_memory() == [
        (10**18, {"rss_bytes": 1.0}),
        (10**18 + 100_000_000, {"rss_bytes": 2.0}),
        (10**18 + 10**9, {"rss_bytes": 3.0}),
    ]
    assert recorder.take_memory() == []
