"""machine_reader: CPU, memory, disk and network of a running machine, by psutil -> one row of numbers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

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
_BLOCK_DEVICES = Path("/sys/block")


class MachineReader:
    """Reads a row: loads since the row before, disk and network since the reader was made.

    Raises:
        OSError, ImportError: the machine cannot be read.
    """

    def __init__(self) -> None:
        import psutil

        self._psutil: Any = psutil
        self._own = psutil.Process()
        self._busy, self._whole = self._cpu_times()
        self.columns = (*BASE_COLUMNS, *(f"cpu{i}_pct" for i in range(len(self._busy) - 1)), *LAST_COLUMNS)
        # Partitions and layers above disks (device mapper, RAID) would count the same bytes again.
        self._disks = frozenset(path.name for path in _BLOCK_DEVICES.glob("*") if (path / "device").exists())
        self._elapsed_s, self._used_s = time.perf_counter(), time.process_time()
        self._base = self._totals()

    def read(self) -> list[float]:
        """Return the values of `columns`."""
        all_cores, *cores = self._loads()
        with self._own.oneshot():
            rss_bytes, n_threads = float(self._own.memory_info().rss), float(self._own.num_threads())
        totals = [now - then for now, then in zip(self._totals(), self._base, strict=True)]
        available = float(self._psutil.virtual_memory().available)
        return [all_cores, self._own_load(), rss_bytes, *totals, *cores, available, n_threads]

    def _loads(self) -> list[float]:
        """Load of all cores together and of each, in [0, 100]; NaN for those that are offline."""
        busy, whole = self._cpu_times()
        loads = []
        # A core that goes offline is gone from the list, so no `strict`: those behind it are wrong once.
        for a, b, c, d in zip(self._busy, busy, self._whole, whole, strict=False):
            loads.append(min(100.0, max(0.0, 100 * (b - a) / (d - c))) if d > c else 0.0)
        missing = [float("nan")] * (len(self._busy) - len(loads))
        self._busy, self._whole = [*busy, *self._busy[len(busy) :]], [*whole, *self._whole[len(whole) :]]
        return loads + missing

    def _own_load(self) -> float:
        """Load of this process, in [0, 100 x cores]."""
        before_s, used_before_s = self._elapsed_s, self._used_s
        self._elapsed_s, self._used_s = time.perf_counter(), time.process_time()
        elapsed_s = self._elapsed_s - before_s
        return 100 * (self._used_s - used_before_s) / elapsed_s if elapsed_s > 0 else 0.0

    def _cpu_times(self) -> tuple[list[float], list[float]]:
        """The busy and the whole time of all cores together, then of each. Guests' time is in that of users already."""
        cores = [core._asdict() for core in self._psutil.cpu_times(percpu=True)]
        whole = [sum(times.values()) - times.get("guest", 0) - times.get("guest_nice", 0) for times in cores]
        idle = [times["idle"] + times.get("iowait", 0) for times in cores]
        busy = [a - b for a, b in zip(whole, idle, strict=True)]
        return [sum(busy), *busy], [sum(whole), *whole]

    def _totals(self) -> list[float]:
        """The bytes read from and written to disks, received from and sent to networks outside of the machine."""
        disks = self._counters("disk_io_counters", perdisk=True)
        own = [disk for name, disk in disks.items() if not self._disks or name in self._disks]
        nets = self._counters("net_io_counters", pernic=True)
        outside = [net for name, net in nets.items() if not name.startswith(("lo", "Loopback"))]
        return [
            *(float(sum(getattr(disk, what) for disk in own)) for what in ("read_bytes", "write_bytes")),
            *(float(sum(getattr(net, what) for net in outside)) for what in ("bytes_recv", "bytes_sent")),
        ]

    def _counters(self, name: str, **options: bool) -> dict[str, Any]:
        """Counters by device; none where a container keeps them from its programs."""
        try:
            return getattr(self._psutil, name)(**options) or {}
        except (OSError, NotImplementedError):
            return {}
