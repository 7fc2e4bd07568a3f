"""Sampler: a running machine -> a table of CPU, memory, disk, network and GPU load over time."""

from __future__ import annotations

import logging
import threading
import time
from array import array

import numpy as np
import pandas as pd

from .gpu_sampler import GpuReader
from .machine_reader import BASE_COLUMNS, LAST_COLUMNS, MachineReader

MIN_HZ, DEFAULT_HZ, MAX_HZ = 5.0, 10.0, 20.0
MAX_SAMPLES = 36_000
"""An hour at 10 Hz, some 10 MB; of a longer capture every second sample is dropped, and again, each time it is reached."""
COLUMNS = ("time_ns", *BASE_COLUMNS, *LAST_COLUMNS)
"""Of every machine; those of its cores stand between `net_sent_bytes` and `memory_available_bytes`, those of GPUs last."""

_logger = logging.getLogger(__name__)


class SystemSampler:
    """Takes rows on a thread of its own between `start()` and `stop()`, the first and the last at these moments themselves.

    Columns: `time_ns` (Unix time), `cpu_pct` in [0, 100] over all cores that this process may run on, `process_cpu_pct` in
    [0, 100 x cores] of this process, `rss_bytes` of it, `disk_read_bytes, disk_write_bytes, net_recv_bytes, net_sent_bytes`
    of the machine since `start()`, without what stays on the machine (loopback); `cpu0_pct, cpu1_pct, ...` in [0, 100] of
    each core, `memory_available_bytes` of the machine, `n_threads` of this process, `children_cpu_pct` of the processes that it
    started, as `process_cpu_pct`; with GPUs those of `GpuReader`. A load is the mean
    since the row before; the first row has that of the second, a last one that came early that of the row before.

    Args:
        interval_s: from one row to the next.
        max_samples: of more rows an even spread is kept.
    """

    def __init__(self, *, interval_s: float = 1 / DEFAULT_HZ, max_samples: int = MAX_SAMPLES) -> None:
        self._interval_s = interval_s
        self._max_samples = max_samples
        self._columns: tuple[str, ...] = ()
        self._times: list[int] = []
        self._rows: list[array[float]] = []
        self._n_taken = 0
        self._reader: MachineReader | None = None
        self._gpus: GpuReader | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin sampling; a machine that cannot be read gives an empty table, never an error."""
        try:
            self._reader, self._gpus = MachineReader(), GpuReader()
            self._columns = (*self._reader.columns, *self._gpus.columns)
            self._take(self._reader, self._gpus)
        except Exception:  # the user's cell must run even where /proc is not readable
            _logger.warning("the system cannot be sampled", exc_info=True)
            self._close()
            return
        arguments = (self._reader, self._gpus)
        self._thread = threading.Thread(target=self._run, args=arguments, name="tfprof-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> pd.DataFrame:
        """End sampling and return the rows in time order; a second call returns them again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)
        return self.table()

    def table(self) -> pd.DataFrame:
        """Return the rows so far in time order, on any thread."""
        times, rows = list(self._times), list(self._rows)
        n_rows = min(len(times), len(rows))
        if not n_rows:
            return no_samples()
        values = np.array(rows[:n_rows], np.float64)
        if n_rows > 1:
            loads = [i for i, name in enumerate(self._columns) if name.endswith("cpu_pct") or is_core(name)]
            values[0, loads] = values[1, loads]
            # The kernel counts CPU time by the hundredth of a second: over a last moment it is all or nothing.
            if n_rows > 2 and (times[n_rows - 1] - times[n_rows - 2]) / 1e9 < self._interval_s / 2:
                values[-1, loads] = values[-2, loads]
        frame = pd.DataFrame(values, columns=list(self._columns))
        frame.insert(0, "time_ns", np.array(times[:n_rows], np.int64))
        return frame

    def rss_bytes(self) -> float:
        """Return the resident memory of this process now; NaN where it cannot be read. On any thread."""
        reader = self._reader
        try:
            return float("nan") if reader is None else reader.rss_bytes()
        except Exception:  # it is asked in the middle of a training, and may have been closed
            return float("nan")

    @property
    def latest(self) -> dict[str, float]:
        """The last row, `time_ns` among its columns; empty before the first."""
        if not self._times:
            return {}
        return dict(zip(("time_ns", *self._columns), (self._times[-1], *self._rows[-1]), strict=True))

    @property
    def notice(self) -> str:
        """That not every sample was kept; empty where all were."""
        if len(self._rows) == self._n_taken:
            return ""
        return (
            f"{len(self._rows):,} of {self._n_taken:,} samples of the machine are kept, evenly spread: "
            f"the table is bounded at {self._max_samples:,}."
        )

    def _run(self, reader: MachineReader, gpus: GpuReader) -> None:
        due_s = time.monotonic()
        try:
            is_last = False
            while not is_last:
                # What was missed while the machine was held up is not made up for.
                due_s = max(due_s + self._interval_s, time.monotonic() - self._interval_s)
                is_last = self._stop.wait(max(0.0, due_s - time.monotonic()))
                self._take(reader, gpus)
        except Exception:  # one unreadable counter must not end the user's capture
            _logger.warning("the system can no longer be sampled", exc_info=True)
        finally:
            self._close()

    def _take(self, reader: MachineReader, gpus: GpuReader) -> None:
        now_ns = time.time_ns()
        row = array("d", reader.read())
        row.extend(gpus.read())
        if len(self._rows) >= self._max_samples:
            del self._rows[1::2], self._times[1::2]
            self._interval_s *= 2
        self._rows.append(row)
        self._times.append(now_ns)
        self._n_taken += 1

    def _close(self) -> None:
        for open_one in (self._reader, self._gpus):
            if open_one is not None:
                open_one.close()


def is_core(column: str) -> bool:
    """Whether a column is the load of one core: `cpu3_pct`."""
    return column.startswith("cpu") and column.endswith("_pct") and column[3:-4].isdigit()


def no_samples() -> pd.DataFrame:
    """Return the table of a machine that was not sampled: the columns, no rows."""
    return pd.DataFrame({name: np.empty(0) for name in COLUMNS})


def on_trace_clock(system: pd.DataFrame, origin_ns: int) -> pd.DataFrame:
    """Return the samples with `time_ms` after a trace's origin in place of `time_ns`; rows in time order.

    Args:
        system: `CaptureRecord.system`.
        origin_ns: Unix time of the trace origin, `Trace.origin_ns`.
    """
    others = {name: column.to_numpy() for name, column in system.items() if name != "time_ns"}
    return pd.DataFrame({"time_ms": (system["time_ns"].to_numpy("int64") - origin_ns) / 1e6, **others})
