"""machine_reader: CPU, memory, disk and network of a running machine -> one row of numbers, read as cheaply as it can be.

MachineReader reads /proc on Linux, and by psutil elsewhere
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Protocol

from .children import LOOK_AGAIN_S, Children

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
LAST_COLUMNS = ("memory_available_bytes", "n_threads", "children_cpu_pct")
"""Behind them."""
_N_CPU_TIMES = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; the time of guests behind them is in user already."""
_SECTOR_BYTES = 512
"""Unit of /proc/diskstats, whatever the sectors of the disk."""
_SLACK_BYTES = 4096


class Counters(Protocol):
    """What a system counts."""

    cores: tuple[str, ...]
    """`cpu0, cpu1, ...`"""

    def cpu_times(self) -> tuple[list[float], list[float]]:
        """Return the busy and the whole time of all cores together, then of each."""

    def totals(self) -> list[float]:
        """Return the bytes read from and written to disks, received from and sent to networks."""

    def process(self) -> tuple[float, float]:
        """Return the bytes of memory and the number of threads of this process."""

    def children_s(self) -> float:
        """Return the CPU time of the processes that this one started, and of those that they did."""

    def available(self) -> float:
        """Return the bytes of memory that are free to be taken."""

    def close(self) -> None:
        """Let go of what is open."""


class MachineReader:
    """Reads a row: loads since the row before, disk and network since the reader was made.

    Args:
        counters: of the machine; None: those of this one.

    Raises:
        OSError, ImportError: it cannot be read.
    """

    def __init__(self, counters: Counters | None = None) -> None:
        self._counters = counters or (
            ProcCounters(cpus=os.sched_getaffinity(os.getpid())) if sys.platform == "linux" else PsutilCounters()
        )
        self.columns = (*BASE_COLUMNS, *(f"{core}_pct" for core in self._counters.cores), *LAST_COLUMNS)
        self._busy, self._whole = self._counters.cpu_times()
        self._elapsed_s, self._used_s = time.perf_counter(), self._used()
        self._base = self._counters.totals()

    def read(self) -> list[float]:
        """Return the values of `columns`."""
        all_cores, *cores = self._loads()
        own, children = self._own_loads()
        rss_bytes, n_threads = self._counters.process()
        totals = [now - then for now, then in zip(self._counters.totals(), self._base, strict=True)]
        return [all_cores, own, rss_bytes, *totals, *cores, self._counters.available(), n_threads, children]

    def rss_bytes(self) -> float:
        """Return the resident memory of this process; some 10 us."""
        return self._counters.process()[0]

    def close(self) -> None:
        """Let go of what is open."""
        self._counters.close()

    def _loads(self) -> list[float]:
        """Load of all cores together and of each, in [0, 100]; NaN for those that are offline."""
        busy, whole = self._counters.cpu_times()
        loads = []
        # A core that goes offline is gone from the list, so no `strict`: those behind it are wrong once.
        for a, b, c, d in zip(self._busy, busy, self._whole, whole, strict=False):
            loads.append(min(100.0, max(0.0, 100 * (b - a) / (d - c))) if d > c else 0.0)
        missing = [float("nan")] * (len(self._busy) - len(loads))
        self._busy, self._whole = [*busy, *self._busy[len(busy) :]], [*whole, *self._whole[len(whole) :]]
        return loads + missing

    def _own_loads(self) -> list[float]:
        """Load of this process, and of those that it started, in [0, 100 x cores]."""
        before_s, used_before_s = self._elapsed_s, self._used_s
        self._elapsed_s, self._used_s = time.perf_counter(), self._used()
        elapsed_s = self._elapsed_s - before_s
        pairs = zip(self._used_s, used_before_s, strict=True)
        # A child that ended without being waited for takes its time with it.
        return [max(100 * (now - then) / elapsed_s, 0.0) if elapsed_s > 0 else 0.0 for now, then in pairs]

    def _used(self) -> tuple[float, float]:
        return time.process_time(), self._counters.children_s()


class ProcCounters:
    """Five files of /proc, held open, read once each a row: 0.1 to 0.4 ms of CPU, a third of what psutil takes.

    Args:
        root: where they lie.
        cpus: the cores to read; None: all.
    """

    def __init__(self, root: Path = Path("/proc"), cpus: AbstractSet[int] | None = None) -> None:
        self._children = Children(root)
        self._cpus = cpus
        self._files = {name: _File(root / name) for name in ("stat", "self/stat", "meminfo", "diskstats", "net/dev")}
        if not (content := self._files["stat"].read()).startswith(b"cpu "):
            raise OSError(f"{root / 'stat'} does not tell the time of the cores")
        self.cores = tuple(line.split()[0].decode() for line in self._allowed_lines(content))
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        # Partitions and layers above disks (device mapper, RAID) would count the same bytes again.
        self.disks = frozenset(
            path.name.encode() for path in Path("/sys/block").glob("*") if (path / "device").exists()
        )

    def cpu_times(self) -> tuple[list[float], list[float]]:
        """From /proc/stat."""
        busy, whole = [], []
        for line in self._allowed_lines(self._files["stat"].read()):
            times = [int(field) for field in line.split()[1 : 1 + _N_CPU_TIMES]]
            busy.append(float(sum(times) - sum(times[3:5])))
            whole.append(float(sum(times)))
        return [sum(busy), *busy], [sum(whole), *whole]

    def _allowed_lines(self, content: bytes) -> list[bytes]:
        """Of /proc/stat those of the cores that this process may run on."""
        lines = _cpu_lines(content)[1:]
        return [line for line in lines if self._cpus is None or int(line.split()[0][3:]) in self._cpus]

    def totals(self) -> list[float]:
        """From /proc/diskstats and /proc/net/dev."""
        disks = [line.split() for line in self._files["diskstats"].read().splitlines()]
        disks = [fields for fields in disks if len(fields) > 9 and fields[2] in self.disks]
        nets = [line.rpartition(b":") for line in self._files["net/dev"].read().splitlines()[2:]]
        outside = [numbers.split() for name, _, numbers in nets if name.strip() != b"lo"]
        return [
            *(float(_SECTOR_BYTES * sum(int(fields[i]) for fields in disks)) for i in (5, 9)),
            *(float(sum(int(fields[i]) for fields in outside)) for i in (0, 8)),
        ]

    def process(self) -> tuple[float, float]:
        """From /proc/self/stat."""
        # Behind the name, which may hold anything, even spaces and brackets.
        own = self._files["self/stat"].read().rpartition(b")")[2].split()
        return float(int(own[21]) * self._page_bytes), float(own[17])

    def children_s(self) -> float:
        """From the files `stat` of the processes."""
        return self._children.cpu_s()

    def available(self) -> float:
        """From /proc/meminfo."""
        content = self._files["meminfo"].read()
        begin = content.find(b"MemAvailable:")
        return float(content[begin:].split(None, 2)[1]) * 1024 if begin >= 0 else float("nan")

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


def _cpu_lines(content: bytes) -> list[bytes]:
    """Of /proc/stat those of all cores together and of each, which come first."""
    return list(itertools.takewhile(lambda line: line.startswith(b"cpu"), content.splitlines()))


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


class PsutilCounters:
    """The same by psutil, which knows other systems; some 1 ms a row."""

    def __init__(self) -> None:
        import psutil

        self._psutil: Any = psutil
        self._own = psutil.Process()
        self._children: list[Any] = []
        self._looked_s = -LOOK_AGAIN_S
        self.cores = tuple(f"cpu{i}" for i in range(len(psutil.cpu_times(percpu=True))))

    def cpu_times(self) -> tuple[list[float], list[float]]:
        """Guests' time is in that of users already."""
        cores = [core._asdict() for core in self._psutil.cpu_times(percpu=True)]
        whole = [sum(times.values()) - times.get("guest", 0) - times.get("guest_nice", 0) for times in cores]
        idle = [times["idle"] + times.get("iowait", 0) for times in cores]
        busy = [a - b for a, b in zip(whole, idle, strict=True)]
        return [sum(busy), *busy], [sum(whole), *whole]

    def totals(self) -> list[float]:
        """Without loopback."""
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

    def process(self) -> tuple[float, float]:
        """Resident memory, and threads."""
        with self._own.oneshot():
            return float(self._own.memory_info().rss), float(self._own.num_threads())

    def children_s(self) -> float:
        """Of those that run."""
        now = time.monotonic()
        if now >= self._looked_s + LOOK_AGAIN_S:
            self._looked_s, self._children = now, self._own.children(recursive=True)
        total = 0.0
        for child in self._children:
            with contextlib.suppress(self._psutil.Error):  # it ended
                times = child.cpu_times()
                total += times.user + times.system
        return total

    def available(self) -> float:
        """What can be given to programs without swapping."""
        return float(self._psutil.virtual_memory().available)

    def close(self) -> None:
        """Nothing is open."""
