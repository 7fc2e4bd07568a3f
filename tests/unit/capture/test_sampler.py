"""The parts of a capture that need no TensorFlow: the sampler, the shield, the watch over bounds, scratch folders."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
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
    BFC_VARIABLE,
    COLUMNS,
    BoundKind,
    BoundWatch,
    CaptureOptions,
    Children,
    FileRate,
    GpuReader,
    MachineReader,
    ProcCounters,
    SystemSampler,
    active_capture,
    cpu_quota,
    enable_cpu_memory_recording,
    folders,
    heap_reader,
    machine,
    memory_limit,
    no_samples,
    on_trace_clock,
    run_shielded,
    signals,
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


def test_the_numbers_of_this_machine_are_believable() -> None:
    reader = MachineReader()
    row = dict(zip(reader.columns, reader.read(), strict=True))
    reader.close()
    assert row["rss_bytes"] > 2**20
    assert row["memory_available_bytes"] > 2**20
    assert row["n_threads"] >= threading.active_count()
    cores = [name for name in row if machine.is_core(name)]
    assert cores
    assert all(0 <= row[name] <= 100 for name in ("cpu_pct", *cores))


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


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        *(
            ({"system": system}, ValueError, "give a rate from 5 to 20 Hz, True for 10 Hz, or False")
            for system in (0, 1, 4.9, 20.1, -10, float("nan"), float("inf"))
        ),
        ({"system": "fast"}, TypeError, "give True, False or a rate in Hz"),
        ({"detail": "all"}, ValueError, 'give one of "low", "normal", "high"'),
        ({"max_seconds": 0}, ValueError, "greater than 0"),
        ({"max_bytes": -1}, ValueError, "greater than 0"),
        ({"max_seconds": "x"}, TypeError, "number"),
        ({"max_bytes": True}, TypeError, "number"),
        ({"logdir": 5}, TypeError, "path"),
    ],
)
def test_an_option_that_means_nothing_is_refused_before_the_capture(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        CaptureOptions(**options)


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
def test_a_row_tells_the_load_of_workers_apart_from_that_of_the_process() -> None:
    reader = MachineReader()
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


def interrupt(after_s: float, *, times: int = 1) -> None:
    def press() -> None:
        for _ in range(times):
            time.sleep(after_s)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def test_the_shield_returns_or_raises_what_the_action_does() -> None:
    assert run_shielded(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        run_shielded(lambda: 1 // 0)


@pytest.mark.parametrize(("seconds", "after_s", "times"), [(0.3, 0.1, 2), (0.5, 0.02, 15)])
def test_however_often_ctrl_c_is_pressed_the_action_ends_and_it_is_delivered_once(
    seconds: float, after_s: float, times: int
) -> None:
    finished = []
    interrupt(after_s, times=times)
    with pytest.raises(KeyboardInterrupt):
        run_shielded(lambda: (time.sleep(seconds), finished.append(True)))
    assert finished
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_frees_the_user_from_an_action_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "PUT_OFF_S", 0.2)
    release = threading.Event()
    interrupt(0.15, times=3)
    begin_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_shielded(lambda: release.wait(30))
    assert time.monotonic() - begin_s < 5
    release.set()


class Hits(list[BoundKind]):
    """What a watch has called, and a way to wait for it."""

    def wait(self, timeout_s: float = 5.0) -> Hits:
        deadline_s = time.monotonic() + timeout_s
        while not self and time.monotonic() < deadline_s:
            time.sleep(0.01)
        return self


class GrowingHeap:
    """A heap that grows by a million bytes a second from the first reading on."""

    def __init__(self) -> None:
        self.begin_s = time.monotonic()

    def read(self) -> int:
        return int(1e6 * (time.monotonic() - self.begin_s))


def watch_of(hits: Hits, **bounds: Any) -> BoundWatch:
    """A watch that has begun, of a program that builds nothing."""
    known: dict[str, Any] = {"seconds": 60, "n_bytes": 1e12, "read_heap": lambda: 0, "building": lambda: "no"}
    watch = BoundWatch(hits.append, **known | bounds)
    watch.start()
    return watch


def test_the_watch_calls_once_when_the_time_is_up_and_never_when_it_is_cancelled() -> None:
    hits, cancelled = Hits(), Hits()
    watch_of(cancelled, seconds=0.1, n_bytes=1).cancel()
    watch_of(hits, seconds=0.1)
    assert hits.wait() == ["seconds"]
    assert cancelled.wait(0.3) == []


def test_the_watch_estimates_the_file_from_the_growth_of_the_heap() -> None:
    hits, heap = Hits(), GrowingHeap()
    watch = watch_of(hits, n_bytes=200_000, read_heap=heap.read)
    assert hits.wait() == ["bytes"]
    assert 200_000 <= watch.estimated_bytes < 300_000
    assert 0.7 <= time.monotonic() - heap.begin_s < 3


def test_a_process_that_grows_in_each_step_beyond_the_bound_ends_the_window() -> None:
    hits, heap = Hits(), GrowingHeap()
    watch = watch_of(hits, read_rss=heap.read, memory_bytes=800_000)
    assert hits.wait(10.0) == ["memory"]
    assert watch.held_bytes >= 800_000


def test_memory_that_the_program_takes_at_once_is_not_the_profilers() -> None:
    hits, begin_s = Hits(), time.monotonic()
    read = lambda: 10**9 if time.monotonic() - begin_s > 0.5 else 0  # noqa: E731
    watch_of(hits, seconds=1.5, read_rss=read, memory_bytes=800_000)
    assert hits.wait(10.0) == ["seconds"]


def test_the_watch_learns_from_a_file_that_was_smaller_than_estimated() -> None:
    hits, heap = Hits(), GrowingHeap()
    watch = BoundWatch(hits.append, seconds=60, n_bytes=100_000, read_heap=heap.read, building=lambda: "no")
    assert watch.learn(1_000) == FileRate(), "nothing was seen yet"
    watch.start()
    hits.wait()
    rate = watch.learn(1_000)
    assert 350 < rate.heap_bytes_per_byte < 2000
    assert rate.bytes_per_step == 0
    assert 100 < rate.bytes_per_second < 3000
    watch.cancel()
    by_time = watch.learn(1_000)
    time.sleep(0.05)
    assert watch.learn(1_000) == by_time, "while the file is written nothing is recorded"
    watch.count_step()
    assert watch.learn(1_000).bytes_per_step == 1_000


def test_the_watch_counts_by_steps_what_a_file_has_told_of_them() -> None:
    hits = Hits()
    watch = watch_of(hits, n_bytes=1000, rate=FileRate(bytes_per_step=10))
    while not hits and watch.estimated_bytes < 2000:
        watch.count_step()
        time.sleep(0.01)
    assert hits.wait() == ["bytes"]
    assert 1000 <= watch.estimated_bytes <= 1200


def test_a_reading_that_had_to_wait_for_the_processor_does_not_blind_the_watch() -> None:
    hits, heap = Hits(), GrowingHeap()
    watch_of(hits, n_bytes=10, read_heap=lambda: (time.sleep(0.03), heap.read())[1])
    assert hits.wait(1.5) == ["bytes"]


def test_the_heap_reader_sees_what_is_held() -> None:
    read = heap_reader()
    before = read()
    held = [bytes(5000) for _ in range(2000)]
    assert 9_000_000 < read() - before < 40_000_000
    assert len(held) == 2000


def test_runs_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    placed = []
    for content in ("a", "b"):
        run = tmp_path / content / "2026_11_20"
        run.mkdir(parents=True)
        (run / "host.xplane.pb").write_text(content)
        placed.append(folders.place_run(run, tmp_path / "logs"))
        assert not run.exists()
    assert [(path.name, (path / "host.xplane.pb").read_text()) for path in placed] == [
        ("2026_11_20", "a"),
        ("2026_11_20_2", "b"),
    ]


def test_a_run_is_moved_to_another_disk_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "host.xplane.pb").write_text("content")
    copytree = shutil.copytree
    monkeypatch.setattr(folders, "_share_a_disk", lambda *_: False)

    def fill(source: Path, target: Path) -> None:
        target.mkdir()
        (target / "host.xplane.pb").write_text("con")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders.shutil, "copytree", fill)
    with pytest.raises(OSError, match="No space"):
        folders.place_run(run, tmp_path / "logs")
    monkeypatch.setattr(folders.shutil, "copytree", copytree)
    runs = tmp_path / "logs" / "plugins" / "profile"
    assert list(runs.iterdir()) == []
    placed = folders.place_run(run, tmp_path / "logs", "X.w2")
    assert (placed / "host.xplane.pb").read_text() == "content"
    assert [path.name for path in runs.iterdir()] == ["X.w2"]
    assert not run.exists()


def test_the_free_space_of_a_place_with_a_name_too_long_is_told(tmp_path: Path) -> None:
    assert "iB" in folders.free_text(tmp_path / ("x" * 300) / "logs")


def test_cpu_memory_recording_is_asked_for_and_a_users_choice_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BFC_VARIABLE, "")  # so that it is undone what the function itself sets
    monkeypatch.delenv(BFC_VARIABLE)
    assert enable_cpu_memory_recording()
    assert os.environ[BFC_VARIABLE] == "true"
    monkeypatch.setenv(BFC_VARIABLE, "false")
    assert not enable_cpu_memory_recording()
    assert os.environ[BFC_VARIABLE] == "false"


def test_no_capture_is_active_outside_one() -> None:
    assert active_capture() is None
