"""Steps and samples of a watched training: recorded on one thread, each taken once by another."""

from __future__ import annotations

import sys
import threading
import time
from itertools import chain, count, repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.unit.capture.drawn_step import a_step as step
from tests.unit.capture.nvml_double import nvml
from tfprof_widgets.capture import MAX_LOSSES, GpuReader, MachineRows, StepRecorder
from tfprof_widgets.capture import step_rows as module
from tfprof_widgets.trace import AFTER_WINDOW, COMPILED, EPOCH_BEGIN, OTHER, PROFILED, SAMPLE_COLUMNS, TRAIN, VALIDATION


def fed(*steps: Any) -> StepRecorder:
    recorder = StepRecorder(is_watched=True)
    for one in steps:
        recorder.began(one)
        recorder.ended(one)
    return recorder


def test_steps_come_once_in_order_with_their_times() -> None:
    feed = fed(step(0, begins_epoch=True), step(1, waited_ns=1_500_000))
    rows = feed.take()
    assert rows["number"].tolist() == [0, 1]
    assert rows["duration_us"].tolist() == [5000.0, 5000.0]
    assert rows["outside_us"].tolist() == [2000.0, 2000.0]
    np.testing.assert_array_equal(rows["wait_us"], np.array([np.nan, 1500.0], np.float32))
    assert rows["flags"].tolist() == [EPOCH_BEGIN, 0]
    assert len(feed.take()) == 0


def test_what_a_step_is_of_is_told_by_its_marker_and_a_step_in_a_window_is_profiled() -> None:
    rows = fed(step(0), step(1, name="test"), step(2, name="my loop", phase="during")).take()
    assert rows["kind"].tolist() == [TRAIN, VALIDATION, OTHER + 1]
    assert rows["flags"].tolist() == [0, 0, PROFILED]


def test_a_step_in_which_a_function_was_traced_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = chain([0, 0, 0], repeat(900_000))
    monkeypatch.setattr(module, "traced_us", lambda: next(counted))
    assert fed(step(0), step(1, waited_ns=1_000_000), step(2)).take()["flags"].tolist() == [0, COMPILED, 0]


def test_a_loss_that_keras_told_belongs_to_the_last_batch_of_its_step() -> None:
    feed = fed(step(0, n_batches=4), step(4, n_batches=4))
    feed.note_logs(3, {"loss": 0.5})
    feed.note_logs(7, {"loss": float("nan")})
    feed.note_logs(8, "no logs")
    np.testing.assert_array_equal(feed.take()["loss"], np.array([0.5, np.nan], np.float32))


def test_losses_that_nobody_takes_are_not_kept_for_ever() -> None:
    recorder = StepRecorder(is_watched=True)
    for _ in range(3):
        for number in range(MAX_LOSSES + 1):
            recorder.note_logs(number, {"loss": 1.0})
        recorder.ended(step(MAX_LOSSES))
        assert np.isnan(recorder.take()["loss"]).all()
    assert max(len(recorder._logs), len(recorder._losses)) <= MAX_LOSSES


def test_steps_that_run_while_a_window_is_read_are_marked() -> None:
    feed = StepRecorder(is_watched=True)
    with feed.disturbing():
        now_ns = time.time_ns()
        for one in (step(0, start_ns=now_ns - 10**10), step(1, start_ns=now_ns)):
            feed.ended(one)
        during = feed.take()
    feed.ended(step(2, start_ns=now_ns + 10**10))
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
    recorder.ended(one)
    assert recorder.current is None


def test_each_step_is_taken_once_in_the_order_of_their_ends_however_the_threads_meet() -> None:
    n_steps, recorder, got = 50_000, StepRecorder(is_watched=True), []

    def train() -> None:
        for i in range(n_steps):
            recorder.ended(step(i))

    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        training = threading.Thread(target=train)
        training.start()
        while training.is_alive():
            got += recorder.take()["number"].tolist()
        training.join()
    finally:
        sys.setswitchinterval(before_s)
    got += recorder.take()["number"].tolist()
    assert got == list(range(n_steps))
    assert recorder.n_waiting == 0


def test_steps_that_nobody_takes_cost_no_more_than_some_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 10)
    recorder = StepRecorder(is_watched=True)
    for i in range(25):
        recorder.ended(step(i))
    assert recorder.take()["number"].tolist() == list(range(10))
    recorder.ended(step(25))
    assert recorder.take()["number"].tolist() == [25]


@pytest.mark.parametrize(("took_us", "read_ms"), [(5, [0, 25, 51, 1000]), (8, [0, 51, 1000]), (100, [0, 1000])])
def test_memory_is_read_between_steps_but_more_rarely_where_that_takes_long(
    monkeypatch: pytest.MonkeyPatch, took_us: int, read_ms: list[int]
) -> None:
    took_ns = count(0, took_us * 1000)
    monkeypatch.setattr(module, "time", SimpleNamespace(thread_time_ns=lambda: next(took_ns)))
    recorder = StepRecorder(lambda: {"rss_bytes": 1.0})
    for at_ms in (0, 10, 25, 30, 51, 1000):
        recorder.began(step(0, start_ns=10**18 + at_ms * 10**6))
    assert recorder.take_memory() == [(10**18 + ms * 10**6, {"rss_bytes": 1.0}) for ms in read_ms]
    assert recorder.take_memory() == []


POWER_CAP, THERMAL, IDLE = 0x4, 0x20, 0x1


def clocked(clocks: list[int | None], reasons: list[int]) -> Any:
    module = nvml([(90, 3e9)] * len(clocks))
    module.NVML_CLOCK_SM = 1

    def clock(gpu: int, kind: int) -> int:
        assert kind == module.NVML_CLOCK_SM
        found = clocks[gpu]
        if found is None:
            raise module.NVMLError("Not Supported")
        return found

    module.nvmlDeviceGetClockInfo = clock
    module.nvmlDeviceGetCurrentClocksThrottleReasons = lambda gpu: reasons[gpu]
    return module


def test_a_sample_is_taken_once_with_all_columns() -> None:
    machine = MachineRows()
    machine.start()
    try:
        row = machine.take()
        assert row is not None
        assert machine.take() is None
    finally:
        machine.stop()
    found = dict(zip(SAMPLE_COLUMNS, row, strict=True))
    assert abs(found["time_ns"] - time.time_ns()) < 60e9
    assert found["rss_bytes"] > 1e6
    assert len(machine.table()) >= 2  # one more as it ends


@pytest.mark.parametrize(
    ("gpus", "found"),
    [
        pytest.param(
            clocked([1980, 1200], [IDLE, POWER_CAP]), {"gpu_clock_mhz": 1200.0, "gpu_throttled": 0.0}, id="slowest"
        ),
        pytest.param(clocked([900], [POWER_CAP | THERMAL]), {"gpu_clock_mhz": 900.0, "gpu_throttled": 1.0}, id="heat"),
        pytest.param(clocked([None], [0]), {"gpu_throttled": 0.0}, id="no clock"),
        *(pytest.param(one, {}, id="no GPUs") for one in (None, nvml([(1, 1)], fails=True), SimpleNamespace())),
    ],
)
def test_the_clock_is_that_of_the_slowest_gpu_and_heat_slows_it_but_no_power_cap(
    monkeypatch: pytest.MonkeyPatch, gpus: Any, found: dict[str, float]
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", gpus)
    reader = GpuReader()
    assert reader.clocks() == found
    reader.close()
    assert reader.clocks() == {}


def test_tensorflow_is_asked_for_its_devices_only_by_whoever_knows_that_it_uses_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def list_logical_devices(kind: str) -> list[Any]:
        asked.append(kind)
        return [SimpleNamespace(name="/device:GPU:0")]

    experimental = SimpleNamespace(get_memory_info=lambda name: {"current": 7})
    config = SimpleNamespace(list_logical_devices=list_logical_devices, experimental=experimental)
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(config=config))
    machine = MachineRows()
    machine.start()
    try:
        assert np.isnan(machine.take()[SAMPLE_COLUMNS.index("tf_bytes")])  # type: ignore[index]
        assert asked == []
        memory = machine.memory()
        assert memory["tf_bytes"] == 7
        assert memory["rss_bytes"] > 1e6
    finally:
        machine.stop()
