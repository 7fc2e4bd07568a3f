"""machine_checks: the disk and the counters of this machine -> whether a capture has room, and what can be sampled."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...trace import scratch
from ..session.record import DEFAULT_MAX_BYTES
from .check import Check, ok, unknown, warning

_SHORT_OF_ROOM = 2
"""A folder with less free than this many times a capture's bound is short of room."""
_MIB = 1 << 20


@dataclass(frozen=True)
class DiskFacts:
    """Where captures without a `logdir` put their files."""

    folder: str
    free_bytes: int | None = None
    """None: the folder does not tell, or there is none."""
    is_memory: bool = False
    """Whether its files are kept in memory."""
    is_writable: bool = True
    error: str = ""


@dataclass(frozen=True)
class SamplingFacts:
    """What can be read of the machine while a capture runs."""

    readable: tuple[str, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    """Each with the reason."""
    has_psutil: bool = True
    read_ms: float = 0.0
    """How long one reading of all took."""


def gather_disk_facts() -> DiskFacts:
    """Find the folder as a capture would; write nothing there."""
    try:
        folder = scratch.room_for(DEFAULT_MAX_BYTES)
    except OSError as error:  # none of the temporary folders can be written
        return DiskFacts(os.environ.get("TMPDIR", "/tmp"), is_writable=False, error=str(error))
    try:
        free: int | None = shutil.disk_usage(folder).free
    except OSError:
        free = None
    return DiskFacts(str(folder), free, scratch.is_memory(folder), os.access(folder, os.W_OK | os.X_OK))


def gather_sampling_facts() -> SamplingFacts:
    """Read each counter once; a sampler that runs meanwhile is not disturbed."""
    try:
        import psutil
    except ImportError:
        return SamplingFacts(has_psutil=False)
    process = psutil.Process()
    # Not `cpu_percent()`: it measures from its last call, which may be a sampler's.
    counters: dict[str, Callable[[], object]] = {
        "CPU": psutil.cpu_times,
        "process": process.cpu_times,
        "memory": process.memory_info,
        "disk": psutil.disk_io_counters,
        "network": psutil.net_io_counters,
    }
    readable, unreadable = [], []
    start_s = time.perf_counter()
    for name, read in counters.items():
        try:
            found, reason = read(), "this system has no counters"
        except Exception as error:  # restricted systems fail in many ways; each means that it is not readable
            found, reason = None, f"{type(error).__name__}: {error}"
        if found is None:
            unreadable.append((name, reason))
        else:
            readable.append(name)
    return SamplingFacts(tuple(readable), tuple(unreadable), read_ms=1e3 * (time.perf_counter() - start_s))


def machine_checks(disk: DiskFacts, sampling: SamplingFacts) -> Iterator[Check]:
    """Check the room for captures and the sampling of the CPU."""
    yield disk_check(disk)
    yield sampling_check(sampling)


def disk_check(facts: DiskFacts) -> Check:
    """Check that a capture has room."""
    name, kind = "disk", "in memory" if facts.is_memory else "on disk"
    elsewhere = 'with tfprof.profile(logdir="/path/with/room"): ...'
    if facts.error or not facts.is_writable:
        return warning(name, f"{facts.folder} cannot be written {facts.error}".strip(), elsewhere)
    if facts.free_bytes is None:
        return unknown(name, f"{facts.folder} ({kind}) does not tell its free space", elsewhere)
    free = bytes_text(facts.free_bytes)
    if facts.free_bytes < _SHORT_OF_ROOM * DEFAULT_MAX_BYTES:
        found = f"{facts.folder} ({kind}) has {free} free; a capture may write {bytes_text(DEFAULT_MAX_BYTES)}"
        return warning(name, found, elsewhere)
    return ok(name, f"captures go to {facts.folder} ({kind}), {free} free")


def sampling_check(facts: SamplingFacts) -> Check:
    """Check that CPU, memory, disk and network can be sampled."""
    name = "cpu_sampling"
    if not facts.has_psutil:
        return warning(name, "psutil is not installed, so captures will have no samples", "pip install psutil")
    if not {"CPU", "process", "memory"} <= set(facts.readable):
        reasons = "; ".join(f"{what}: {reason}" for what, reason in facts.unreadable)
        remedy = "with tfprof.profile(system=False): ...  # captures all else"
        return warning(name, f"captures will have no samples ({reasons})", remedy)
    without = "".join(f"; no {what}: {reason}" for what, reason in facts.unreadable)
    return ok(name, f"{', '.join(facts.readable)} in {facts.read_ms:.1f} ms{without}")


def bytes_text(n: int) -> str:
    """Three significant digits: `23.9 GiB`."""
    return f"{n / 2**30:.3g} GiB" if n >= 1000 * _MIB else f"{n / _MIB:.3g} MiB"
