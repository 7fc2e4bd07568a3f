"""The running process -> what it runs on, by name: versions, memory, CPUs.

machine_facts() -> {"tensorflow": "2.21.0", "python": "3.11.7", "memory_bytes": "16777216000", "n_cpus": "8", "cpu_quota": "1.5"}
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from .keras_backend import keras_backend, may_compute

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
    """How many threads TensorFlow was told to use for one op and for ops beside each other; nothing where it chooses."""
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
    for line in _text(own).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        # A container may see its own group as the root, or by a path that only its host has.
        folder = (root / controllers if controllers else root) / path.lstrip("/")
        for group in (folder, *folder.parents):
            if not group.is_relative_to(root):
                break
            limit, period = (*_text(group / "cpu.max").split(), "", "")[:2]
            limit = limit or _text(group / "cpu.cfs_quota_us").strip()
            period = period or _text(group / "cpu.cfs_period_us").strip()
            if limit.isdigit() and period.isdigit() and int(period):
                found.append(int(limit) / int(period))
    return min(found, default=0.0)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):  # not there, or not readable
        return ""


def _memory_bytes() -> int:
    import psutil

    try:
        return int(psutil.virtual_memory().total)
    except (OSError, NotImplementedError, RuntimeError):  # a sandbox without /proc
        return 0
