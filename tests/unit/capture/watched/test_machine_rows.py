"""MachineRows: a sample a second, each taken once, and what GPUs tell of their clocks."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.unit.capture.nvml_double import nvml
from tfprof_widgets.capture import GpuReader, MachineRows
from tfprof_widgets.trace import SAMPLE_COLUMNS

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


def test_the_clock_is_that_of_the_slowest_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", clocked([1980, 1200], [IDLE, POWER_CAP]))
    gpus = GpuReader()
    assert gpus.clocks() == {"gpu_clock_mhz": 1200.0, "gpu_throttled": 0.0}
    gpus.close()
    assert gpus.clocks() == {}


def test_heat_slows_a_gpu_and_a_power_cap_is_its_usual_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", clocked([900], [POWER_CAP | THERMAL]))
    assert GpuReader().clocks()["gpu_throttled"] == 1.0


def test_what_a_gpu_does_not_tell_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", clocked([None], [0]))
    assert GpuReader().clocks() == {"gpu_throttled": 0.0}


@pytest.mark.parametrize("module", [None, nvml([(1, 1)], fails=True), SimpleNamespace()])
def test_a_machine_without_gpus_has_no_clocks(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", module)
    assert GpuReader().clocks() == {}


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
    assert np.isnan(machine.memory()["rss_bytes"])  # what is closed tells nothing, and fails nobody's training
