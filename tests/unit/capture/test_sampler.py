"""The sampler: what it reads of a machine, of GPUs, when its rows begin and end, and what it does with too many."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.unit.capture.nvml_double import nvml
from tfprof_widgets.capture import (
    COLUMNS,
    CaptureOptions,
    Children,
    GpuReader,
    MachineReader,
    ProcCounters,
    PsutilCounters,
    SystemSampler,
    cpu_quota,
    machine,
    memory_limit,
    no_samples,
    on_trace_clock,
)

STAT = "cpu  {0} 0 0 {1} 0 0 0 0 0 0\ncpu0 {0} 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 {1} 0 0 0 0 0 0\nintr 5 1 2\n"
SELF = "7 (a name) with (brackets) S 1 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 {threads} 0 100 9999 {pages} 1 1 1\n"
DISKS = "254 0 vda 1 0 {0} 0 1 0 {1} 0 0 0 0\n254 1 vda1 1 0 {0} 0 1 0 {1} 0 0 0 0\n253 0 dm-0 1 0 9 0 1 0 9 0 0 0 0\n"
NET = "Inter-| Receive\n face |bytes\n    lo: 99 0 0 0 0 0 0 0 99 0 0 0 0 0 0 0\n  eth0:{0} 0 0 0 0 0 0 0 {1} 0 0 0 0 0 0 0\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "self").mkdir()
    (tmp_path / "net").mkdir()
    write_proc(tmp_path, ticks=(0, 0), disk=(1, 2), net=(100, 50))
    return tmp_path


def write_proc(root: Path, *, ticks: tuple[int, int], disk: tuple[int, int], net: tuple[int, int]) -> None:
    """Rewritten in place, as the reader keeps them open."""
    texts = {
        "stat": STAT.format(*ticks),
        "self/stat": SELF.format(threads=17, pages=1000),
        "meminfo": "MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n",
        "diskstats": DISKS.format(*disk),
        "net/dev": NET.format(*net),
    }
    for name, text in texts.items():
        (root / name).write_text(text)


def test_each_core_each_disk_and_each_network_is_counted_once(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counters = ProcCounters(proc)
    monkeypatch.setattr(counters, "disks", frozenset([b"vda"]))
    reader = MachineReader(counters)
    write_proc(proc, ticks=(30, 10), disk=(4, 8), net=(1000, 500))
    row = dict(zip(reader.columns, reader.read(), strict=True))
    reader.close()
    assert (row["cpu_pct"], row["cpu0_pct"], row["cpu1_pct"]) == (75, 100, 0)
    assert (row["disk_read_bytes"], row["disk_write_bytes"]) == (3 * 512, 6 * 512)
    assert (row["net_recv_bytes"], row["net_sent_bytes"]) == (900, 450)
    assert (row["n_threads"], row["memory_available_bytes"]) == (17, 2 * 2**20)
    assert row["rss_bytes"] % 1000 == 0 < row["rss_bytes"]


def test_a_load_stays_within_its_range_when_counters_go_back_or_cores_go_offline(proc: Path) -> None:
    reader = MachineReader(ProcCounters(proc))
    write_proc(proc, ticks=(50, 50), disk=(0, 0), net=(0, 0))
    reader.read()
    (proc / "stat").write_text("cpu  20 0 0 40 0 0 0 0 0 0\ncpu0 90 0 0 0 0 0 0 0 0 0\n")
    row = dict(zip(reader.columns, reader.read(), strict=True))
    reader.close()
    assert (row["cpu_pct"], row["cpu0_pct"]) == (0, 100)
    assert np.isnan(row["cpu1_pct"])


def test_files_that_a_container_lacks_are_left_out(proc: Path) -> None:
    for name in ("diskstats", "net/dev", "meminfo"):
        (proc / name).unlink()
    reader = MachineReader(ProcCounters(proc))
    row = dict(zip(reader.columns, reader.read(), strict=True))
    reader.close()
    assert (row["disk_read_bytes"], row["net_recv_bytes"]) == (0, 0)
    assert np.isnan(row["memory_available_bytes"])


def test_a_machine_with_many_cores_is_read_whole(proc: Path) -> None:
    lines = [f"cpu{i} 1 0 0 1 0 0 0 0 0 0" for i in range(400)]
    (proc / "stat").write_text("\n".join(["cpu  400 0 0 400 0 0 0 0 0 0", *lines, "intr 1"]))
    reader = MachineReader(ProcCounters(proc))
    reader.close()
    assert reader.columns[7:407] == tuple(f"cpu{i}_pct" for i in range(400))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_both_readers_of_this_machine_have_the_same_columns_and_believable_numbers() -> None:
    for reader in (MachineReader(), MachineReader(PsutilCounters())):
        row = dict(zip(reader.columns, reader.read(), strict=True))
        reader.close()
        assert row["rss_bytes"] > 2**20
        assert row["memory_available_bytes"] > 2**20
        assert row["n_threads"] >= threading.active_count()
        cores = [name for name in row if machine.is_core(name)]
        assert cores
        assert all(0 <= row[name] <= 100 for name in ("cpu_pct", *cores))
    assert ProcCounters().cores == PsutilCounters().cores


class Counting:
    """A reader whose rows tell their number."""

    columns = ("cpu_pct", "rss_bytes", "cpu0_pct")

    def __init__(self) -> None:
        self.n = 0
        self.is_closed = False
        self.taken = threading.Event()

    def read(self) -> list[float]:
        self.n += 1
        if self.n >= 8:
            self.taken.set()
        return [float(self.n), float(self.n), float(self.n)]

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    reader = Counting()
    monkeypatch.setattr(machine, "MachineReader", lambda: reader)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    yield reader
    assert reader.is_closed


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
    reader.close()
    assert [row[1] for row in one._rows] == [1, 3, 5]
    assert one.notice.startswith("3 of 5 samples of the machine are kept")
    assert one._interval_s == pytest.approx(0.1)


def test_a_machine_that_cannot_be_read_gives_the_columns_and_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("no /proc")

    monkeypatch.setattr(machine, "MachineReader", fail)
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
    assert list(frame.columns)[-9:] == [
        *("memory_available_bytes", "n_threads", "children_cpu_pct", "gpu_pct", "gpu_memory_bytes"),
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


BURN_S = "import time\nt = time.process_time()\nwhile time.process_time() - t < {0}: pass\n"
NESTED = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', sys.argv[1]])"

reads_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@reads_proc
@pytest.mark.parametrize("depth", [1, 2])
def test_the_time_of_children_counts_while_they_run_and_after_they_ended(depth: int) -> None:
    children = Children()
    before_s = children.cpu_s()
    burn = BURN_S.format(0.3)
    command = [sys.executable, "-c", *([burn] if depth == 1 else [NESTED, burn])]
    with subprocess.Popen(command) as child:
        while child.poll() is None:
            time.sleep(0.05)
            while_s = children.cpu_s() - before_s
    assert while_s >= 0
    assert 0.25 <= children.cpu_s() - before_s < 3


def spin() -> None:
    begin = time.process_time()
    while time.process_time() - begin < 1:
        pass


@reads_proc
@pytest.mark.parametrize("counters", [ProcCounters, PsutilCounters])
def test_a_row_tells_the_load_of_workers_apart_from_that_of_the_process(
    counters: type[ProcCounters] | type[PsutilCounters],
) -> None:
    reader = MachineReader(counters())
    begin_s, rows = time.perf_counter(), []
    worker = multiprocessing.get_context("spawn").Process(target=spin)
    worker.start()
    while worker.is_alive():
        time.sleep(0.1)
        rows.append((time.perf_counter(), dict(zip(reader.columns, reader.read(), strict=True))))
    worker.join()
    rows.append((time.perf_counter(), dict(zip(reader.columns, reader.read(), strict=True))))
    reader.close()
    used_s, at_s = 0.0, begin_s
    for now_s, row in rows:
        used_s += row["children_cpu_pct"] / 100 * (now_s - at_s)
        at_s = now_s
    assert used_s > 0.3
    assert sum(row["process_cpu_pct"] for _, row in rows) < sum(row["children_cpu_pct"] for _, row in rows)


@reads_proc
def test_only_cores_that_the_process_may_run_on_are_read(tmp_path: Path) -> None:
    lines = [f"cpu{i} {10 * i} 0 0 1 0 0 0 0 0 0" for i in range(8)]
    (tmp_path / "stat").write_text("\n".join(["cpu  280 0 0 8 0 0 0 0 0 0", *lines, "intr 1"]))
    counters = ProcCounters(tmp_path, cpus={2, 5})
    assert counters.cores == ("cpu2", "cpu5")
    assert counters.cpu_times() == ([70, 20, 50], [72, 21, 51])
    counters.close()


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 0.0),
        ("0::/a/b\n", {"cpu.max": "max 100000", "a/cpu.max": "400000 100000", "a/b/cpu.max": "max 100000"}, 4.0),
        ("0::/on/the/host\n", {"cpu.max": "200000 100000"}, 2.0),
        ("5:cpu,io:/c\n0::/\n", {"cpu,io/c/cpu.cfs_quota_us": "50000", "cpu,io/c/cpu.cfs_period_us": "100000"}, 0.5),
        ("5:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 0.0),
        ("5:memory:/c\n", {"memory/c/memory.limit_in_bytes": "4096", "memory/memory.limit_in_bytes": "8192"}, 4096),
        ("0::/a\n", {"memory.max": "2048\n", "a/memory.max": "max"}, 2048),
        ("nonsense", {}, 0.0),
        ("0::/\n", {"cpu.max": "x y z"}, 0.0),
    ],
)  # fmt: skip
@reads_proc
def test_the_limit_of_a_container_is_the_smallest_of_its_groups(
    own: str, files: dict[str, str], expected: float, tmp_path: Path
) -> None:
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    limit = memory_limit if any("memory" in name for name in files) else cpu_quota
    assert limit(tmp_path / "root", tmp_path / "own") == expected
