"""Trace -> where it was recorded: hosts, devices, cores.

    compute_environment(trace) -> Environment

Source: semantics 10.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..store.trace import Plane, Trace
from .step_spans import on_stream
from .units import PS_PER_MS

_NVIDIA = {2: "Fermi", 3: "Kepler", 5: "Maxwell", 6: "Pascal", 9: "Hopper", 10: "Blackwell"}


@dataclass(frozen=True)
class Environment:
    """What a trace says of the machine it ran on."""

    hosts: tuple[str, ...]
    device_type: str
    """`CPU`, `Nvidia GPU (Volta)`, ..."""
    n_devices: int
    """Devices that the hosts have; some may have been idle."""
    n_active_devices: int
    """Devices on which anything ran."""
    device_memory_bytes: int
    """Memory of one device, 0 where the trace does not say."""
    n_sessions: int
    """Windows in which the profiler ran."""
    n_threads: int
    """Host threads with at least one event."""
    n_events: int
    captured_ms: float
    """Length of all windows together."""


def compute_environment(trace: Trace) -> Environment:
    """Describe hosts and devices of a trace."""
    devices = [plane for plane in trace.planes if plane.name.startswith(("/device:GPU:", "/device:TPU:"))]
    used = np.unique(trace.line_id)
    threads = sum(trace.planes[trace.lines[i].plane].is_host for i in used.tolist())
    active = np.unique(trace.plane_id[on_stream(trace)])
    memory = [value for plane in devices if isinstance(value := plane.stats.get("memory_size"), int)]
    return Environment(
        hosts=tuple(dict.fromkeys(plane.host for plane in trace.planes if plane.is_host)),
        device_type=_device_type(devices),
        n_devices=len(devices),
        n_active_devices=len(active),
        device_memory_bytes=max(memory, default=0),
        n_sessions=len(trace.sessions),
        n_threads=int(threads),
        n_events=trace.n_events,
        captured_ms=sum(session.stop_ps - session.start_ps for session in trace.sessions) / PS_PER_MS,
    )


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
