"""Steps that end on one thread -> rows that another one takes."""

from __future__ import annotations

import sys
import threading
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from tfprof_widgets.capture import StepRecorder
from tfprof_widgets.capture import step_rows as module


def a_step(number: int) -> Any:
    source = {"computing_ns": None, "waited_ns": None, "traced_us": None, "iterator": None}
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


@pytest.mark.parametrize(("took_us", "read_ms"), [(20, [0, 25, 51, 1000]), (40, [0, 51, 1000]), (500, [0, 1000])])
def test_memory_is_read_between_steps_but_more_rarely_where_that_takes_long(
    monkeypatch: pytest.MonkeyPatch, took_us: int, read_ms: list[int]
) -> None:
    took_ns = count(0, took_us * 1000)
    monkeypatch.setattr(module, "time", SimpleNamespace(thread_time_ns=lambda: next(took_ns)))
    recorder = StepRecorder(lambda: {"rss_bytes": 1.0})
    for at_ms in (0, 10, 25, 30, 51, 1000):
        recorder.began(SimpleNamespace(start_ns=10**18 + at_ms * 10**6))  # type: ignore[arg-type]
    assert recorder.take_memory() == [(10**18 + ms * 10**6, {"rss_bytes": 1.0}) for ms in read_ms]
    assert recorder.take_memory() == []
