"""The sampler: what it reads of a machine, of GPUs, when its rows begin and end, and what it does with too many."""

from __future__ import annotations

import collections
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from tests.unit.capture.nvml_double import nvml
from tfprof_widgets.capture.machine import machine_reader, sampler
from tfprof_widgets.capture.machine.gpu_sampler import GpuReader
from tfprof_widgets.capture.machine.machine_reader import MachineReader
from tfprof_widgets.capture.machine.sampler import COLUMNS, SystemSampler, no_samples, on_trace_clock
from tfprof_widgets.capture.session.record import CaptureOptions

Counted = collections.namedtuple("Counted", "read_bytes write_bytes bytes_recv bytes_sent")
Times = collections.namedtuple("Times", "user idle iowait guest")


class Machine:
    """What psutil tells of an invented machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cores: list[tuple[float, float]] = [(0, 0), (0, 0)]
        """Busy and idle time of each."""
        self.disk = self.net = (0, 0)
        monkeypatch.setattr(psutil, "cpu_times", self._cpu_times)
        monkeypatch.setattr(psutil, "disk_io_counters", lambda **_: self._counted(self.disk, ("vda", "vda1", "dm-0")))
        monkeypatch.setattr(psutil, "net_io_counters", lambda **_: self._counted(self.net, ("eth0", "lo")))

    def _cpu_times(self, *, percpu: bool) -> list[Times]:
        assert percpu
        return [Times(busy, idle, 0, 0) for busy, idle in self.cores]

    @staticmethod
    def _counted(pair: tuple[int, int], devices: tuple[str, ...]) -> dict[str, Counted]:
        return dict.fromkeys(devices, Counted(*pair, *pair))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    (tmp_path / "vda" / "device").mkdir(parents=True)
    (tmp_path / "dm-0").mkdir()
    monkeypatch.setattr(machine_reader, "_BLOCK_DEVICES", tmp_path)
    return Machine(monkeypatch)


def row_of(reader: MachineReader) -> dict[str, float]:
    return dict(zip(reader.columns, reader.read(), strict=True))


def test_each_core_each_disk_and_each_network_is_counted_once(machine: Machine) -> None:
    reader = MachineReader()
    machine.cores, machine.disk, machine.net = [(30, 0), (0, 10)], (2048, 4096), (1000, 500)
    row = row_of(reader)
    assert (row["cpu_pct"], row["cpu0_pct"], row["cpu1_pct"]) == (75, 100, 0)
    assert (row["disk_read_bytes"], row["disk_write_bytes"]) == (2048, 4096)
    assert (row["net_recv_bytes"], row["net_sent_bytes"]) == (1000, 500)


def test_a_load_stays_within_its_range_when_counters_go_back_or_cores_go_offline(machine: Machine) -> None:
    reader = MachineReader()
    machine.cores = [(50, 50), (10, 10)]
    reader.read()
    machine.cores = [(90, 40)]
    row = row_of(reader)
    assert (row["cpu_pct"], row["cpu0_pct"]) == (100, 100)
    assert np.isnan(row["cpu1_pct"])


def test_counters_that_a_container_lacks_are_left_out(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**_: bool) -> None:
        raise NotImplementedError("no /proc/diskstats")

    monkeypatch.setattr(psutil, "disk_io_counters", missing)
    monkeypatch.setattr(psutil, "net_io_counters", lambda **_: None)
    reader = MachineReader()
    machine.cores = [(1, 1), (1, 1)]
    row = row_of(reader)
    assert (row["disk_read_bytes"], row["net_recv_bytes"]) == (0, 0)


def test_a_machine_with_many_cores_is_read_whole(machine: Machine) -> None:
    machine.cores = [(1, 1)] * 400
    assert MachineReader().columns[7:407] == tuple(f"cpu{i}_pct" for i in range(400))


def test_this_machine_has_believable_numbers() -> None:
    row = row_of(MachineReader())
    assert row["rss_bytes"] > 2**20
    assert row["memory_available_bytes"] > 2**20
    assert row["n_threads"] >= threading.active_count()
    cores = [name for name in row if sampler.is_core(name)]
    assert cores
    assert all(0 <= row[name] <= 100 for name in ("cpu_pct", *cores))


class Counting:
    """A reader whose rows tell their number."""

    columns = ("cpu_pct", "rss_bytes", "cpu0_pct")

    def __init__(self) -> None:
        self.n = 0
        self.taken = threading.Event()

    def read(self) -> list[float]:
        self.n += 1
        if self.n >= 8:
            self.taken.set()
        return [float(self.n), float(self.n), float(self.n)]


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    reader = Counting()
    monkeypatch.setattr(sampler, "MachineReader", lambda: reader)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    return reader


def test_the_first_row_is_taken_by_start_itself_and_the_last_by_stop(counting: Counting) -> None:
    one = SystemSampler(interval_s=0.05)
    one.start()
    assert counting.n >= 1
    frame = one.stop()
    assert list(frame["rss_bytes"]) == list(range(1, counting.n + 1))
    assert len(frame) >= 2
    assert frame["time_ns"].is_monotonic_increasing
    assert frame["time_ns"].dtype == np.int64
    assert not [thread for thread in threading.enumerate() if thread.name == "tfprof-sampler"]


def test_the_first_row_has_the_loads_of_the_second(counting: Counting) -> None:
    one = SystemSampler(interval_s=0.05)
    one.start()
    assert counting.taken.wait(30)
    frame = one.stop()
    assert frame["cpu_pct"].tolist()[:3] == [2, 2, 3]
    assert frame["cpu0_pct"].tolist()[:3] == [2, 2, 3]
    assert frame["rss_bytes"].tolist()[:3] == [1, 2, 3]
    assert one.notice == ""


def test_of_too_many_rows_an_even_spread_is_kept_and_told(counting: Counting) -> None:
    one = SystemSampler(interval_s=0.05, max_samples=4)
    reader, gpus = counting, GpuReader()
    one._columns = counting.columns
    for _ in range(5):
        one._take(reader, gpus)
    assert [row[1] for row in one._rows] == [1, 3, 5]
    assert one.notice.startswith("3 of 5 samples of the machine are kept")
    assert one._interval_s == pytest.approx(0.1)


def test_a_machine_that_cannot_be_read_gives_the_columns_and_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("no /proc")

    monkeypatch.setattr(sampler, "MachineReader", fail)
    one = SystemSampler()
    one.start()
    pd.testing.assert_frame_equal(one.stop(), no_samples())
    assert list(no_samples().columns) == list(COLUMNS)


def test_samples_on_the_clock_of_a_trace() -> None:
    system = pd.DataFrame({"time_ns": [10**18, 10**18 + 5 * 10**8], "cpu_pct": [1.0, 2.0]})
    clocked = on_trace_clock(system, 10**18 + 10**8)
    assert clocked["time_ms"].tolist() == [-100, 400]
    assert list(clocked.columns) == ["time_ms", "cpu_pct"]


def test_every_gpu_has_columns_of_its_own_and_all_have_a_mean_and_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    double = nvml([(90, 3e9), (30, 1e9)])
    monkeypatch.setitem(sys.modules, "pynvml", double)
    gpus = GpuReader()
    row = dict(zip(gpus.columns, gpus.read(), strict=True))
    assert row == {
        "gpu_pct": 60, "gpu_memory_bytes": 4e9, "gpu0_pct": 90, "gpu0_memory_bytes": 3e9,
        "gpu1_pct": 30, "gpu1_memory_bytes": 1e9,
    }  # fmt: skip
    gpus.close()
    gpus.close()
    assert double.n_open == 0


def test_a_gpu_that_does_not_answer_is_not_known_and_the_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml([(None, 3e9), (30, None)]))
    gpus = GpuReader()
    row = dict(zip(gpus.columns, gpus.read(), strict=True))
    assert (row["gpu_pct"], row["gpu_memory_bytes"]) == (30, 3e9)
    assert np.isnan([row["gpu0_pct"], row["gpu1_memory_bytes"]]).all()
    gpus.close()


@pytest.mark.parametrize("double", [None, nvml([]), nvml([(1, 1)], fails=True), types.ModuleType("pynvml")])
def test_without_gpus_a_driver_or_the_library_there_are_no_columns(
    double: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", double)
    gpus = GpuReader()
    assert (gpus.columns, gpus.read()) == ((), [])
    gpus.close()


def test_a_sampler_with_gpus_has_their_columns_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml([(90, 3e9), (30, 1e9)]))
    one = SystemSampler(interval_s=0.05)
    one.start()
    frame = one.stop()
    assert list(frame.columns)[-8:] == [
        *("memory_available_bytes", "n_threads", "gpu_pct", "gpu_memory_bytes"),
        *("gpu0_pct", "gpu0_memory_bytes", "gpu1_pct", "gpu1_memory_bytes"),
    ]
    assert set(frame["gpu0_pct"]) == {90}


@pytest.mark.parametrize(("system", "rate"), [(True, 10), (False, 0), (5, 5), (12.5, 12.5), (20, 20)])
def test_rates(system: Any, rate: float) -> None:
    assert CaptureOptions(system=system).sample_hz == rate


@pytest.mark.parametrize("system", [0, 1, 4.9, 20.1, -10, float("nan"), float("inf")])
def test_rates_that_cannot_be_sampled_are_refused_with_the_range(system: Any) -> None:
    with pytest.raises(ValueError, match=r"give a rate from 5 to 20 Hz, True for 10 Hz, or False"):
        CaptureOptions(system=system)


def test_what_is_no_rate_is_refused() -> None:
    with pytest.raises(TypeError, match="give True, False or a rate in Hz"):
        CaptureOptions(system="fast")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='give one of "low", "normal", "high"'):
        CaptureOptions(detail="all")  # type: ignore[arg-type]
