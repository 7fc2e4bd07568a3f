"""machine_reader: CPU, memory, disk and network of a running machine -> one row of numbers, read as cheaply as it can be.

make_reader() -> a reader of /proc on Linux, of psutil elsewhere
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Any, Protocol

BASE_COLUMNS = (
    "cpu_pct",
    "process_cpu_pct",
    "rss_bytes",
    "disk_read_bytes",
    "disk_write_bytes",
    "net_recv_bytes",
    "net_sent_bytes",
)
"""Before the columns of the cores."""
LAST_COLUMNS = ("memory_available_bytes", "n_threads")
"""Behind them."""
_N_CPU_TIMES = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; the time of guests behind them is in user already."""
_SECTOR_BYTES = 512
"""Unit of /proc/diskstats, whatever the sectors of the disk."""
_SLACK_BYTES = 4096


class Reader(Protocol):
    """What a sampler needs of a machine."""

    columns: tuple[str, ...]

    def read(self) -> list[float]:
        """Return the values of `columns`: loads since the call before, disk and network since the reader was made."""

    def close(self) -> None:
        """Let go of what is open."""


def make_reader() -> Reader:
    """Return the reader of this machine.

    Raises:
        OSError, ImportError: it cannot be read.
    """
    return ProcReader() if sys.platform == "linux" else PsutilReader()


class _Loads:
    """Busy and whole CPU time of all cores and of each -> load in [0, 100] since the call before."""

    def __init__(self, busy: list[float], whole: list[float]) -> None:
        self._busy, self._whole = busy, whole

    def since(self, busy: list[float], whole: list[float]) -> list[float]:
        loads = []
        # A core that goes offline is gone from the list, so no `strict`: those behind it are wrong once.
        for a, b, c, d in zip(self._busy, busy, self._whole, whole, strict=False):
            loads.append(min(100.0, max(0.0, 100 * (b - a) / (d - c))) if d > c else 0.0)
        missing = [float("nan")] * (len(self._busy) - len(loads))
        self._busy, self._whole = [*busy, *self._busy[len(busy) :]], [*whole, *self._whole[len(whole) :]]
        return loads + missing


class _ProcessLoad:
    """Load of this process in [0, 100 x cores] since the call before."""

    def __init__(self) -> None:
        self._before = time.perf_counter(), time.process_time()

    def since(self) -> float:
        now = time.perf_counter(), time.process_time()
        elapsed_s, used_s = now[0] - self._before[0], now[1] - self._before[1]
        self._before = now
        return 100 * used_s / elapsed_s if elapsed_s > 0 else 0.0


class ProcReader:
    """Reads five files of /proc, held open, once each a row: 0.1 to 0.4 ms of CPU, a seventh of what psutil takes."""

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._files = {name: _File(root / name) for name in ("stat", "self/stat", "meminfo", "diskstats", "net/dev")}
        if not (content := self._files["stat"].read()).startswith(b"cpu "):
            raise OSError(f"{root / 'stat'} does not tell the time of the cores")
        busy, whole, names = _cpu_times(content)
        self.columns = (*BASE_COLUMNS, *(f"{name}_pct" for name in names[1:]), *LAST_COLUMNS)
        self._loads, self._process = _Loads(busy, whole), _ProcessLoad()
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        # Partitions and layers above disks (device mapper, RAID) would count the same bytes again.
        self._disks = frozenset(
            path.name.encode() for path in Path("/sys/block").glob("*") if (path / "device").exists()
        )
        self._base = self._totals()

    def read(self) -> list[float]:
        """Return the values of `columns`."""
        busy, whole, _ = _cpu_times(self._files["stat"].read())
        all_cores, *cores = self._loads.since(busy, whole)
        # Behind the name, which may hold anything, even spaces and brackets.
        own = self._files["self/stat"].read().rpartition(b")")[2].split()
        n_threads, rss_pages = int(own[17]), int(own[21])
        totals = [now - then for now, then in zip(self._totals(), self._base, strict=True)]
        return [
            all_cores,
            self._process.since(),
            rss_pages * self._page_bytes,
            *totals,
            *cores,
            _available(self._files["meminfo"].read()),
            n_threads,
        ]

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()

    def _totals(self) -> list[float]:
        return [
            *_disk_totals(self._files["diskstats"].read(), self._disks),
            *_net_totals(self._files["net/dev"].read()),
        ]


class _File:
    """A file of /proc, whole at each call; empty where it is not there."""

    def __init__(self, path: Path) -> None:
        self._fd = -1
        self._n_bytes = _SLACK_BYTES
        with contextlib.suppress(OSError):  # containers lack some of them
            self._fd = os.open(path, os.O_RDONLY)

    def read(self) -> bytes:
        if self._fd < 0:
            return b""
        while True:
            content = os.pread(self._fd, self._n_bytes, 0)
            if len(content) < self._n_bytes - 1:
                return content
            self._n_bytes *= 2

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _cpu_times(content: bytes) -> tuple[list[float], list[float], list[str]]:
    """Busy time, whole time and name of all cores together and of each core, from /proc/stat."""
    busy, whole, names = [], [], []
    for line in content.splitlines():  # bounded by the number of cores: their lines come first
        if not line.startswith(b"cpu"):
            break
        name, *fields = line.split()
        times = [int(field) for field in fields[:_N_CPU_TIMES]]
        everything = sum(times)
        busy.append(float(everything - sum(times[3:5])))
        whole.append(float(everything))
        names.append(name.decode())
    return busy, whole, names


def _available(meminfo: bytes) -> float:
    begin = meminfo.find(b"MemAvailable:")
    return float(meminfo[begin:].split(None, 2)[1]) * 1024 if begin >= 0 else float("nan")


def _disk_totals(diskstats: bytes, disks: frozenset[bytes]) -> tuple[float, float]:
    n_read = n_written = 0
    for line in diskstats.splitlines():  # bounded by the disks and their partitions
        fields = line.split()
        if len(fields) > 9 and fields[2] in disks:
            n_read += int(fields[5])
            n_written += int(fields[9])
    return n_read * _SECTOR_BYTES, n_written * _SECTOR_BYTES


def _net_totals(net_dev: bytes) -> tuple[float, float]:
    n_received = n_sent = 0
    for line in net_dev.splitlines()[2:]:  # bounded by the interfaces
        name, _, numbers = line.rpartition(b":")
        if name.strip() != b"lo":
            fields = numbers.split()
            n_received += int(fields[0])
            n_sent += int(fields[8])
    return n_received, n_sent


class PsutilReader:
    """The same by psutil, which knows other systems; some 1 ms a row."""

    def __init__(self) -> None:
        import psutil

        self._psutil: Any = psutil
        self._own = psutil.Process()
        busy, whole = self._cpu_times()
        self.columns = (*BASE_COLUMNS, *(f"cpu{i}_pct" for i in range(len(busy) - 1)), *LAST_COLUMNS)
        self._loads, self._process = _Loads(busy, whole), _ProcessLoad()
        self._base = self._totals()

    def read(self) -> list[float]:
        """Return the values of `columns`."""
        all_cores, *cores = self._loads.since(*self._cpu_times())
        with self._own.oneshot():
            rss_bytes, n_threads = self._own.memory_info().rss, self._own.num_threads()
        totals = [now - then for now, then in zip(self._totals(), self._base, strict=True)]
        available = self._psutil.virtual_memory().available
        return [all_cores, self._process.since(), rss_bytes, *totals, *cores, available, n_threads]

    def close(self) -> None:
        """Nothing is open."""

    def _cpu_times(self) -> tuple[list[float], list[float]]:
        cores = [core._asdict() for core in self._psutil.cpu_times(percpu=True)]
        whole = [sum(times.values()) - times.get("guest", 0) - times.get("guest_nice", 0) for times in cores]
        idle = [times["idle"] + times.get("iowait", 0) for times in cores]
        busy = [a - b for a, b in zip(whole, idle, strict=True)]
        return [sum(busy), *busy], [sum(whole), *whole]

    def _totals(self) -> list[float]:
        # Containers without /proc/diskstats have no counters at all: psutil then returns None.
        disk = self._psutil.disk_io_counters()
        nets = self._psutil.net_io_counters(pernic=True) or {}
        outside = [net for name, net in nets.items() if not name.startswith(("lo", "Loopback"))]
        return [
            float(disk.read_bytes) if disk else 0.0,
            float(disk.write_bytes) if disk else 0.0,
            float(sum(net.bytes_recv for net in outside)),
            float(sum(net.bytes_sent for net in outside)),
        ]
