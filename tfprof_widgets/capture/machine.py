"""The running process -> what it runs on, and samples of CPU, memory, network and GPU meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import os
import platform
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..trace.capture_facts import FRAMEWORKS, SAMPLE_COLUMNS, of_keras

NAN = float("nan")
_SLOWED = 0x08 | 0x20 | 0x40 | 0x80
"""NVML's reasons for a lower clock other than the program's choice: hardware, heat, power brake; not a power cap (0x4),
usual on a busy GPU. Source: nvml.h, nvmlClocksThrottleReason*."""


class GpuReader:
    """Reads every GPU, numbered as by `nvidia-smi`: `pct` is the share of time with a kernel, `memory_bytes` of all processes."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        try:
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        except Exception:  # no library, no driver, no permission: each means that there is nothing to read
            self.close()

    @property
    def columns(self) -> tuple[str, ...]:
        """`gpu_pct, gpu_memory_bytes` (mean load, sum), then the same of each GPU: `gpu0_pct, gpu0_memory_bytes, ...`."""
        if not self._handles:
            return ()
        each = [f"gpu{i}_{what}" for i in range(len(self._handles)) for what in ("pct", "memory_bytes")]
        return ("gpu_pct", "gpu_memory_bytes", *each)

    def read(self) -> list[float]:
        if not self._handles:
            return []
        loads = [_number(self._nvml.nvmlDeviceGetUtilizationRates, gpu, "gpu") for gpu in self._handles]
        used = [_number(self._nvml.nvmlDeviceGetMemoryInfo, gpu, "used") for gpu in self._handles]
        known_loads, known_used = _known(loads), _known(used)
        row = [sum(known_loads) / len(known_loads) if known_loads else NAN, sum(known_used) if known_used else NAN]
        for load, memory in zip(loads, used, strict=True):
            row += [load, memory]
        return row

    def clocks(self) -> dict[str, float]:
        """Return `gpu_clock_mhz`, of the slowest, and `gpu_throttled`, whether any is slowed down, where known."""
        nvml, found = self._nvml, {}
        if nvml is None or not self._handles:
            return {}
        with contextlib.suppress(Exception):
            clocks = [nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM) for gpu in self._handles]
            found["gpu_clock_mhz"] = float(min(clocks))
        with contextlib.suppress(Exception):
            reasons = [nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu) for gpu in self._handles]
            found["gpu_throttled"] = float(any(reason & _SLOWED for reason in reasons))
        return found

    def close(self) -> None:
        """Let go of NVML; nothing can be read then."""
        nvml, self._nvml, self._handles = self._nvml, None, []
        if nvml is not None:
            with contextlib.suppress(Exception):  # as above: a driver that went away has nothing to be let go of
                nvml.nvmlShutdown()


def _number(ask: Callable[[Any], Any], gpu: Any, field: str) -> float:
    try:
        return float(getattr(ask(gpu), field))
    except Exception:  # one GPU that does not answer must not end the samples of the others
        return NAN


def _known(values: list[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


LOOK_AGAIN_S = 1.0
"""How often all threads are asked which processes they started."""
_USED = slice(11, 15)
"""Of /proc/PID/stat behind the name: utime, stime, and both of children that were waited for."""
_WAITED_FOR = slice(13, 15)
_MOST = 1_000


class Children:
    """Running processes below this one; those of other threads than the main one are looked up once a second (15 us each)."""

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._pids: list[str] = []
        self._looked_s = -LOOK_AGAIN_S

    def cpu_s(self) -> float:
        """Return what they took since they began."""
        now = time.monotonic()
        if now >= self._looked_s + LOOK_AGAIN_S:
            self._looked_s, self._pids = now, self._all_below("self")
        started = set(self._started_by("self", str(os.getpid())))
        ticks = sum(self._ticks(pid, _USED) for pid in started.union(self._pids))
        return (ticks + self._ticks("self", _WAITED_FOR)) / self._ticks_per_s

    def _all_below(self, pid: str) -> list[str]:
        found: dict[str, None] = {}
        left = [pid]
        while left and len(found) < _MOST:
            one = left.pop()
            threads: list[str] = []
            with contextlib.suppress(OSError):  # it ended
                threads = [thread.name for thread in (self._root / one / "task").iterdir()]
            new = [child for thread in threads for child in self._started_by(one, thread) if child not in found]
            found |= dict.fromkeys(new)
            left += new
        return list(found)

    def _started_by(self, pid: str, thread: str) -> list[str]:
        return self._read(f"{pid}/task/{thread}/children").decode("ascii", "replace").split()

    def _ticks(self, pid: str, fields: slice) -> int:
        # Behind the name, which may hold anything, even spaces and brackets.
        return sum(int(field) for field in self._read(f"{pid}/stat").rpartition(b")")[2].split()[fields])

    def _read(self, name: str) -> bytes:
        try:
            return (self._root / name).read_bytes()
        except OSError:  # it ended, or a kernel without this file
            return b""


BASE_COLUMNS = (
    *("cpu_pct", "process_cpu_pct", "rss_bytes", "disk_read_bytes", "disk_write_bytes", "net_recv_bytes"),
    "net_sent_bytes",
)
LAST_COLUMNS = ("memory_available_bytes", "n_threads", "children_cpu_pct")
_N_CPU_TIMES = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; the guests' time behind them is in user already."""
_SECTOR_BYTES = 512
"""Unit of /proc/diskstats, whatever the sectors of the disk."""
_SLACK_BYTES = 4096


class MachineReader:
    """Reads a row of loads since the row before, and disk and network since the reader was made."""

    def __init__(self, counters: ProcCounters | None = None) -> None:
        self._counters = counters or ProcCounters(cpus=os.sched_getaffinity(os.getpid()))
        self.columns = (*BASE_COLUMNS, *(f"{core}_pct" for core in self._counters.cores), *LAST_COLUMNS)
        self._busy, self._whole = self._counters.cpu_times()
        self._elapsed_s, self._used_s = time.perf_counter(), self._used()
        self._base = self._counters.totals()

    def read(self) -> list[float]:
        all_cores, *cores = self._loads()
        own, children = self._own_loads()
        rss_bytes, n_threads = self._counters.process()
        totals = [now - then for now, then in zip(self._counters.totals(), self._base, strict=True)]
        return [all_cores, own, rss_bytes, *totals, *cores, self._counters.available(), n_threads, children]

    def close(self) -> None:
        """Let go of what is open."""
        self._counters.close()

    def _loads(self) -> list[float]:
        """In [0, 100], of all cores together and of each; NaN for those that are offline."""
        busy, whole = self._counters.cpu_times()
        loads = []
        # A core that goes offline is gone from the list, so no `strict`: those behind it are wrong once.
        for a, b, c, d in zip(self._busy, busy, self._whole, whole, strict=False):
            loads.append(min(100.0, max(0.0, 100 * (b - a) / (d - c))) if d > c else 0.0)
        missing = [float("nan")] * (len(self._busy) - len(loads))
        self._busy, self._whole = [*busy, *self._busy[len(busy) :]], [*whole, *self._whole[len(whole) :]]
        return loads + missing

    def _own_loads(self) -> list[float]:
        """In [0, 100 x cores], of this process and of those that it started."""
        before_s, used_before_s = self._elapsed_s, self._used_s
        self._elapsed_s, self._used_s = time.perf_counter(), self._used()
        elapsed_s = self._elapsed_s - before_s
        pairs = zip(self._used_s, used_before_s, strict=True)
        # A child that ended without being waited for takes its time with it.
        return [max(100 * (now - then) / elapsed_s, 0.0) if elapsed_s > 0 else 0.0 for now, then in pairs]

    def _used(self) -> tuple[float, float]:
        return time.process_time(), self._counters.children_s()


class ProcCounters:
    """Five files below `root` (/proc), held open: 0.1 to 0.4 ms of CPU a row for these `cpus`, a third of what psutil takes."""

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
        busy, whole = [], []
        for line in self._allowed_lines(self._files["stat"].read()):
            times = [int(field) for field in line.split()[1 : 1 + _N_CPU_TIMES]]
            busy.append(float(sum(times) - sum(times[3:5])))
            whole.append(float(sum(times)))
        return [sum(busy), *busy], [sum(whole), *whole]

    def _allowed_lines(self, content: bytes) -> list[bytes]:
        lines = list(itertools.takewhile(lambda line: line.startswith(b"cpu"), content.splitlines()))[1:]
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
        # Behind the name, which may hold anything, even spaces and brackets.
        own = self._files["self/stat"].read().rpartition(b")")[2].split()
        return float(int(own[21]) * self._page_bytes), float(own[17])

    def children_s(self) -> float:
        """From the files `stat` of the processes."""
        return self._children.cpu_s()

    def available(self) -> float:
        content = self._files["meminfo"].read()
        begin = content.find(b"MemAvailable:")
        return float(content[begin:].split(None, 2)[1]) * 1024 if begin >= 0 else float("nan")

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class _File:
    """A file of /proc, whole at each call; empty where it is missing."""

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

    __del__ = close


MIN_HZ, DEFAULT_HZ, MAX_HZ = 5.0, 10.0, 20.0
MAX_SAMPLES = 36_000
"""An hour at 10 Hz, some 10 MB; a longer capture drops every second sample each time it is reached."""
COLUMNS = ("time_ns", *BASE_COLUMNS, *LAST_COLUMNS)
"""Columns of every machine; those of cores follow `net_sent_bytes`, those of GPUs come last."""

_logger = logging.getLogger(__name__)


class SystemSampler:
    """Takes rows on a thread of its own between `start()` and `stop()`, the first and the last at these moments themselves.

    Columns: `time_ns` (Unix time), `cpu_pct` in [0, 100] over all cores that this process may run on, `process_cpu_pct` in
    [0, 100 x cores] and `rss_bytes` of this process, `disk_read_bytes, disk_write_bytes, net_recv_bytes, net_sent_bytes`
    of the machine since `start()`, without loopback; `cpu0_pct, cpu1_pct, ...` in [0, 100] of each core,
    `memory_available_bytes` of the machine, `n_threads` of this process, `children_cpu_pct` of the processes that it
    started; those of `GpuReader`. A load is the mean since the row before; the first row repeats the second's, a last one
    that came early the one's before. Of more than `max_samples` rows an even spread stays.
    """

    def __init__(
        self,
        *,
        interval_s: float = 1 / DEFAULT_HZ,
        max_samples: int = MAX_SAMPLES,
        also: Callable[[], None] = lambda: None,
    ) -> None:
        """`also` is called after each sample, on its thread."""
        self._interval_s, self._also = interval_s, also
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
        """Begin sampling; a machine that cannot be read, such as one without Linux, gives an empty table, never an error."""
        if sys.platform != "linux":
            return
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

    @property
    def latest(self) -> dict[str, float]:
        """The last row, `time_ns` among its columns; empty before the first."""
        if not self._times:
            return {}
        return dict(zip(("time_ns", *self._columns), (self._times[-1], *self._rows[-1]), strict=True))

    @property
    def notice(self) -> str:
        """That samples were dropped; "" where none were."""
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
                self._also()
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
    return column.startswith("cpu") and column.endswith("_pct") and column[3:-4].isdigit()


def no_samples() -> pd.DataFrame:
    """Return the table of a machine that was not sampled: the columns, no rows."""
    return pd.DataFrame({name: np.empty(0) for name in COLUMNS})


def on_trace_clock(system: pd.DataFrame, origin_ns: int) -> pd.DataFrame:
    """Return the samples with `time_ms` after a trace's origin in place of `time_ns`; rows in time order."""
    others = {name: column.to_numpy() for name, column in system.items() if name != "time_ns"}
    return pd.DataFrame({"time_ms": (system["time_ns"].to_numpy("int64") - origin_ns) / 1e6, **others})


def keras_backend() -> str:
    """Keras' own name of its backend, such as `jax`; "" where Keras is not imported, or does not say."""
    tell = getattr(getattr(sys.modules.get("keras"), "backend", None), "backend", None)
    try:
        told = tell() if callable(tell) else ""
    except Exception:  # a Keras that is only half imported
        return ""
    return told if isinstance(told, str) else ""


def unrecorded_by(model: object) -> str:
    """What computes a model, such as `Keras on JAX`, where TensorFlow's profiler records nothing of it; else ""."""
    model_class = getattr(sys.modules.get("keras"), "Model", None)
    is_of_keras = isinstance(model_class, type) and issubclass(type(model), model_class)  # not of `tf_keras`
    return of_keras(keras_backend()) if is_of_keras else ""


def may_compute() -> str:
    """What may have computed here beside TensorFlow: JAX where it has begun to, PyTorch where it is imported; else ""."""
    if _jax_has_begun():
        return FRAMEWORKS["jax"]
    return FRAMEWORKS["torch"] if "torch" in sys.modules else ""


def _jax_has_begun() -> bool:
    """Whether JAX has looked for its devices, as before its first op; TensorFlow may import it without using it."""
    if "jax" not in sys.modules:
        return False
    has_begun = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    try:
        return bool(has_begun()) if callable(has_begun) else True
    except Exception:  # a private name, which may mean something else some day
        return True


_PACKAGES = ("tensorflow", "keras")


def machine_facts() -> dict[str, str]:
    """Facts as text; what is not known is left out. Nothing is imported that the program has not imported itself."""
    facts = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            facts[name] = version
    beside = {"keras_backend": keras_backend(), "may_compute": may_compute()}
    facts |= {name: value for name, value in beside.items() if value}
    facts["n_cpus"] = str(os.cpu_count() or 0)
    facts |= _threads()
    if (quota := cpu_quota()) > 0:
        facts["cpu_quota"] = f"{quota:.3f}"
    memory_bytes = _memory_bytes()
    if memory_bytes > 0:
        facts["memory_bytes"] = str(memory_bytes)
    return facts


def _threads() -> dict[str, str]:
    """Threads that TensorFlow was set to use within an op and between ops; nothing where it chooses."""
    tensorflow = sys.modules.get("tensorflow")
    threading = getattr(getattr(tensorflow, "config", None), "threading", None)
    found = {}
    for name in ("intra_op", "inter_op"):
        n_threads = getattr(threading, f"get_{name}_parallelism_threads", int)()
        if isinstance(n_threads, int) and n_threads > 0:
            found[f"{name}_threads"] = str(n_threads)
    return found


def cpu_quota(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float:
    """How many cores the control groups of this process leave it, as of a container; 0 where they do not limit it."""
    found = []
    for group in _groups("cpu", root, own):
        limit, period = (*_text(group / "cpu.max").split(), "", "")[:2]
        limit = limit or _text(group / "cpu.cfs_quota_us").strip()
        period = period or _text(group / "cpu.cfs_period_us").strip()
        if limit.isdigit() and period.isdigit() and int(period):
            found.append(int(limit) / int(period))
    return min(found, default=0.0)


def memory_limit(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """How many bytes these groups leave it; 0 where they do not limit it."""
    names = ("memory.max", "memory.limit_in_bytes")
    told = [_text(group / name).strip() for group in _groups("memory", root, own) for name in names]
    return min((int(text) for text in told if text.isdigit()), default=0)


def _groups(controller: str, root: Path, own: Path) -> Iterator[Path]:
    """The folders of the control groups of this process, each before those around it."""
    for line in _text(own).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and controller not in controllers.split(","):
            continue
        # A container may see its own group as the root, or by a path that only its host has.
        folder = (root / controllers if controllers else root) / path.lstrip("/")
        yield from (group for group in (folder, *folder.parents) if group.is_relative_to(root))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):  # not there, or not readable
        return ""


def _memory_bytes() -> int:
    """What the process can have: the machine's, or its container's."""
    import psutil

    try:
        machine = int(psutil.virtual_memory().total)
        return min(memory_limit() or machine, machine)
    except (OSError, NotImplementedError, RuntimeError):  # a sandbox without /proc
        return 0


def free_memory_bytes() -> float:
    """What the process can still have of the machine, or of its container; infinite where it is not known."""
    import psutil

    try:
        free, limit = float(psutil.virtual_memory().available), memory_limit()
        return min(free, max(limit - psutil.Process().memory_info().rss, 0)) if limit else free
    except (OSError, NotImplementedError, RuntimeError):  # a sandbox without /proc
        return float("inf")


def rss_reader() -> Callable[[], float]:
    """A function that reads the resident memory of this process, in 2 us on Linux, else by psutil; NaN where it is not told."""
    import psutil

    statm = _File(Path("/proc/self/statm"))
    if statm.read():
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        return lambda: float(int(statm.read().split()[1]) * page_bytes)

    try:
        process = psutil.Process()
        process.memory_info()
    except (OSError, psutil.Error):  # a sandbox without /proc
        return lambda: NAN
    return lambda: float(process.memory_info().rss)


INTERVAL_S = 1.0


class MachineRows(SystemSampler):
    """A sampler whose rows are taken one by one."""

    def __init__(self) -> None:
        super().__init__(interval_s=INTERVAL_S)
        self._read_rss = rss_reader()
        self._last_ns = 0.0
        self._tf_bytes = float("nan")

    def take(self) -> list[float] | None:
        """Return the latest sample, as `SAMPLE_COLUMNS`; None where that was taken before."""
        row = self.latest
        if not row or row["time_ns"] == self._last_ns:
            return None
        self._last_ns = row["time_ns"]
        row |= {"tf_bytes": self._tf_bytes, **({} if self._gpus is None else self._gpus.clocks())}
        # Workers of the program are no other programs.
        row["process_cpu_pct"] += row.get("children_cpu_pct", 0.0)
        return [float(row.get(name, "nan")) for name in SAMPLE_COLUMNS]

    def memory(self) -> dict[str, float]:
        """`rss_bytes` and `tf_bytes` now; only once the program has used its devices, as asking TensorFlow begins their use."""
        self._tf_bytes = _allocated_bytes()
        return {"rss_bytes": self._read_rss(), "tf_bytes": self._tf_bytes}


def _allocated_bytes() -> float:
    """What TensorFlow's allocators of GPUs have given out; NaN without GPUs."""
    tensorflow = sys.modules.get("tensorflow")
    try:
        gpus = tensorflow.config.list_logical_devices("GPU")  # type: ignore[union-attr]
        used = [tensorflow.config.experimental.get_memory_info(gpu.name)["current"] for gpu in gpus]  # type: ignore[union-attr]
    except Exception:  # a program that is not that far, a device without numbers
        return float("nan")
    return float(sum(used)) if used else float("nan")
