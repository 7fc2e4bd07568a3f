"""Trace -> where it was recorded: hosts, devices, cores.

    compute_environment(trace, facts=...) -> Environment

Source: semantics 10.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...trace.trace import Plane, Trace
from ...trace.unrecorded import known_name
from ..base.program_calls import Framework, framework_of
from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from ..steps.step_spans import on_stream

_ACCELERATOR = re.compile(r"/device:(GPU|TPU):\d+")
_NVIDIA = {2: "Fermi", 3: "Kepler", 5: "Maxwell", 6: "Pascal", 9: "Hopper", 10: "Blackwell"}


@dataclass(frozen=True)
class Environment:
    """What a trace says of the machine it ran on: `Profile.overview.environment`."""

    hosts: tuple[str, ...]
    """Names of the hosts."""
    n_tasks_per_host: int
    """Profilers that ran on one host at one time, the most of any host."""
    device_type: str
    """`CPU`, `Nvidia GPU (Volta)`, ..."""
    n_devices: int
    """GPUs or TensorCores that the hosts have; some may have been idle."""
    n_active_devices: int
    """Devices on which anything ran."""
    device_memory_bytes: int
    """Memory of one device, 0 where the trace does not say."""
    n_sessions: int
    """Windows in which the profiler ran."""
    n_threads: int
    """Host threads with at least one event."""
    n_events: int
    """Events of the trace."""
    captured_ms: float
    """For how long any of the windows was open."""
    framework: Framework
    """Whose profiler recorded it: `TensorFlow`, `JAX` or `PyTorch/XLA`."""
    jax_version: str
    """Empty where the trace does not say."""
    tensorflow_version: str
    """Empty where the capture did not say."""
    keras_version: str
    """Likewise."""
    python_version: str
    """Likewise."""
    host_memory_bytes: int
    """Main memory of the machine that captured, 0 where the capture did not say."""
    n_cpus: int
    """CPU cores of that machine, 0 likewise."""
    unrecorded: str
    """What computed the steps and is not in the trace: `Keras on JAX`, or `JAX` in an own loop; "" for nothing."""
    memory_bandwidth_bytes_per_s: int
    """Of one device, 0 where the trace does not say."""


def is_accelerator(plane: Plane) -> bool:
    """Whether a plane is a GPU or a TensorCore, rather than a part of one (`/device:TPU:0 SparseCore 1`, `#Chip ...`)."""
    return _ACCELERATOR.fullmatch(plane.name) is not None


def compute_environment(trace: Trace, facts: Mapping[str, str] | None = None) -> Environment:
    """Describe hosts and devices of a trace.

    Args:
        trace: the trace.
        facts: what the capture noted: `tensorflow`, `keras` and `python` (versions), `memory_bytes`, `n_cpus`.
    """
    known = facts or {}
    devices = [plane for plane in trace.planes if is_accelerator(plane)]
    used = np.flatnonzero(np.diff(trace.line_offsets))
    threads = sum(trace.planes[trace.lines[i].plane].is_host for i in used.tolist())
    n_active = int(np.count_nonzero(np.bincount(trace.plane_id[on_stream(trace)])))
    return Environment(
        hosts=tuple(dict.fromkeys(plane.host for plane in trace.planes if plane.is_host)),
        n_tasks_per_host=_tasks_per_host(trace),
        device_type=_device_type(devices),
        n_devices=len(devices),
        n_active_devices=n_active,
        device_memory_bytes=_most(devices, "memory_size"),
        n_sessions=len(trace.sessions),
        n_threads=int(threads),
        n_events=trace.n_events,
        captured_ms=_captured_ps(trace) / PS_PER_MS,
        framework=framework_of(trace),
        jax_version=next((str(found) for plane in trace.planes if (found := plane.stats.get("jax_version"))), ""),
        tensorflow_version=known.get("tensorflow", ""),
        keras_version=known.get("keras", ""),
        python_version=known.get("python", ""),
        host_memory_bytes=_whole(known.get("memory_bytes", "")),
        n_cpus=_whole(known.get("n_cpus", "")),
        unrecorded=known_name(known.get("unrecorded", "")),
        memory_bandwidth_bytes_per_s=_most(devices, "memory_bandwidth"),
    )


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _captured_ps(trace: Trace) -> int:
    """Hosts capture at the same time, which counts once."""
    spans = np.array([(session.start_ps, session.stop_ps) for session in trace.sessions], np.int64).reshape(-1, 2)
    open_ = Stretches.of(spans[:, 0], spans[:, 1])
    return int((open_.end - open_.start).sum())


def _most(devices: list[Plane], stat: str) -> int:
    return max((value for plane in devices if isinstance(value := plane.stats.get(stat), int)), default=0)


def _tasks_per_host(trace: Trace) -> int:
    """The most sessions of one host that ran at one time; windows of one capture follow each other."""
    most = 1
    for host in dict.fromkeys(session.host for session in trace.sessions):
        own = [session for session in trace.sessions if session.host == host]
        changes = [(one.start_ps, 1) for one in own] + [(one.stop_ps, -1) for one in own]
        running = 0
        for _, change in sorted(changes):
            running += change
            most = max(most, running)
    return most


def _device_type(devices: list[Plane]) -> str:
    if not devices:
        return "CPU"
    stats = devices[0].stats
    if devices[0].name.startswith("/device:TPU:"):
        kind = stats.get("device_type_string")
        return kind if isinstance(kind, str) else "TPU"
    vendor, major, minor = (stats.get(key) for key in ("device_vendor", "compute_cap_major", "compute_cap_minor"))
    if vendor == "AMD":
        name = stats.get("gpu_device_name")
        return f"AMD GPU - {name}" if isinstance(name, str) else "AMD GPU"
    if vendor != "Nvidia":
        return "GPU"
    if not isinstance(major, int):
        return "Nvidia GPU"
    generation = _generation(major, minor if isinstance(minor, int) else 0)
    return f"Nvidia GPU ({generation})" if generation else "Nvidia GPU"


def _generation(major: int, minor: int) -> str:
    if major == 7:
        return "Turing" if minor >= 5 else "Volta"
    if major == 8:
        return "Ada Lovelace" if minor == 9 else "Ampere"
    return _NVIDIA.get(major, "")
