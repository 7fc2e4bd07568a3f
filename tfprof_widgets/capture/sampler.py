"""Sampler: a running machine -> a table of CPU, memory, disk, network and GPU load over time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pandas as pd

INTERVAL_S = 0.1

COLUMNS = (
    "time_ns",
    "cpu_pct",
    "process_cpu_pct",
    "rss_bytes",
    "disk_read_bytes",
    "disk_write_bytes",
    "net_recv_bytes",
    "net_sent_bytes",
)

_logger = logging.getLogger(__name__)


class SystemSampler:
    """Takes one row every 0.1 s on a thread of its own, between `start()` and `stop()`.

    Disk and network columns count bytes since `start()`. `cpu_pct` is in [0, 100] over all cores, `process_cpu_pct`
    in [0, 100 x cores] for this process.
    """

    def __init__(self, *, interval_s: float = INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._rows: list[dict[str, float]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin sampling; a machine that cannot be read gives an empty table, never an error."""
        try:
            read = _reader()
        except Exception:  # the user's cell must run even where /proc is not readable
            _logger.warning("the system cannot be sampled", exc_info=True)
            return
        self._thread = threading.Thread(target=self._run, args=(read,), name="tfprof-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> pd.DataFrame:
        """End sampling and return the rows in time order, in the columns of `CaptureRecord.system`."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)
        return pd.DataFrame(list(self._rows)) if self._rows else no_samples()

    def _run(self, read: Callable[[], dict[str, float]]) -> None:
        while True:
            try:
                self._rows.append(read())
            except Exception:  # one unreadable counter must not end the user's capture
                _logger.warning("the system can no longer be sampled", exc_info=True)
                return
            if self._stop.wait(self._interval_s):
                return


def no_samples() -> pd.DataFrame:
    """Return the table of a machine that was not sampled: the columns, no rows."""
    return pd.DataFrame(columns=list(COLUMNS), dtype="float64")


def _reader() -> Callable[[], dict[str, float]]:
    import psutil

    process = psutil.Process()
    # The first call of both returns 0.0 and only sets the point that the second measures from.
    psutil.cpu_percent()
    process.cpu_percent()
    disk_base, net_base = psutil.disk_io_counters(), psutil.net_io_counters()
    read_gpu = _gpu_reader()

    def read() -> dict[str, float]:
        disk, net = psutil.disk_io_counters(), psutil.net_io_counters()
        return {
            "time_ns": time.time_ns(),
            "cpu_pct": psutil.cpu_percent(),
            "process_cpu_pct": process.cpu_percent(),
            "rss_bytes": process.memory_info().rss,
            "disk_read_bytes": _since(disk, disk_base, "read_bytes"),
            "disk_write_bytes": _since(disk, disk_base, "write_bytes"),
            "net_recv_bytes": _since(net, net_base, "bytes_recv"),
            "net_sent_bytes": _since(net, net_base, "bytes_sent"),
            **read_gpu(),
        }

    return read


def _since(counters: Any, base: Any, name: str) -> int:
    # Containers without /proc/diskstats have no counters at all: psutil then returns None.
    return 0 if counters is None or base is None else int(getattr(counters, name) - getattr(base, name))


def _gpu_reader() -> Callable[[], dict[str, float]]:
    """Return a reader of the mean load and the summed memory of the NVIDIA GPUs; of nothing where there are none."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
    except Exception:  # no library, no driver, no permission: each means that there is nothing to read
        return dict
    if not handles:
        return dict

    def read() -> dict[str, float]:
        loads = [float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu) for handle in handles]
        used = [float(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles]
        return {"gpu_pct": sum(loads) / len(loads), "gpu_memory_bytes": sum(used)}

    return read


def on_trace_clock(system: pd.DataFrame, origin_ns: int) -> pd.DataFrame:
    """Return the samples with `time_ms` after a trace's origin in place of `time_ns`; rows in time order.

    Args:
        system: `CaptureRecord.system`.
        origin_ns: Unix time of the trace origin, `Trace.origin_ns`.
    """
    clocked = system.copy()
    clocked.insert(0, "time_ms", (clocked.pop("time_ns").astype("int64") - origin_ns) / 1e6)
    return clocked.reset_index(drop=True)
