"""Trace -> the `hosts` table: what each host does, and on what machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64
from ...trace.capture_facts import known_name
from ...trace.trace import Plane, StatKind, Trace
from ..common import PS_PER_MS, Stretches, host_of_plane, hosts_of, typed_table
from ..events import Framework, framework_of
from ..names import OpCategory, by_ends
from ..steps.spans import on_stream
from ..summaries import travels, united
from ..table import table

HOSTS = table("""
    hosts: a host
        host          text   its name
        role          text   `worker`, `chief`, `parameter server` or `coordinator`
        n_steps       int    steps that it ran
        step_time_ms  float  their mean; NaN without steps
        n_events      int    of its trace
        path          text   of its file, empty where nobody knows
        task          text   such as `/job:worker/replica:0/task:1`, empty where nothing names it

    Which hosts the profile has, and what each did in the training. `path` is the first file of a host, empty where
    the profile has none of its own. It always has a row for each host.
""")
travels("hosts", lambda facts: pd.DataFrame(facts.host_facts, columns=[one.name for one in fields(HostFacts)]))

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
    """Whose profiler recorded it: `TensorFlow`, `JAX`, `PyTorch/XLA` or `PyTorch`."""
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
    """What computed the steps and is not read: `Keras on JAX`, `JAX` in an own loop; "" for nothing."""
    memory_bandwidth_bytes_per_s: int
    """Of one device, 0 where the trace does not say."""


def is_accelerator(plane: Plane) -> bool:
    """Whether a plane is a GPU or a TensorCore, rather than a part of one (`/device:TPU:0 SparseCore 1`, `#Chip ...`)."""
    return _ACCELERATOR.fullmatch(plane.name) is not None


def compute_environment(trace: Trace, facts: Mapping[str, str] | None = None) -> Environment:
    known = facts or {}
    devices = [plane for plane in trace.planes if is_accelerator(plane)]
    used = np.flatnonzero(np.diff(trace.line_offsets))
    threads = sum(trace.planes[trace.lines[i].plane].is_host for i in used.tolist())
    n_active = int(np.count_nonzero(np.bincount(trace.plane_id[on_stream(trace)])))
    # Hosts capture at the same time, which counts once
    spans = np.array([(session.start_ps, session.stop_ps) for session in trace.sessions], np.int64).reshape(-1, 2)
    open_ = Stretches.of(spans[:, 0], spans[:, 1])
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
        captured_ms=int((open_.end - open_.start).sum()) / PS_PER_MS,
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


Role = Literal["worker", "chief", "parameter server", "coordinator"]

TRAINING_ROLES: tuple[Role, ...] = ("worker", "chief")
SERVED_CALL = "EagerService:Enqueue"
"""Work that another task handed to this one."""
_SERVING_SHARE = 0.8
"""A host of which ops on variables take this share of the op time, and that others send work to, serves them."""
_SERVING = re.compile(
    r"ReadVariableOp|Assign\w*|Resource\w+|Var\w+|Identity\w*|_Send|_Recv|NoOp|Const|Apply\w+|Sparse\w*Apply\w+|Scatter\w+"
    r"|Gather\w*|MutableHashTable\w*|Lookup\w+"
)
_TASK = re.compile(r"/job:[^/\s;\"]+(?:/replica:\d+)?(?:/task:\d+)?")
_TRAINING_JOBS: dict[str, Role] = {"ps": "parameter server", "chief": "chief", "master": "chief"}


@dataclass(frozen=True)
class HostFacts:
    host: str
    task: str
    """Such as `/job:worker/replica:0/task:1`; "" where nothing names it."""
    has_accelerator: bool
    is_served: bool
    """Whether another task sent it work."""
    serving_ratio: float
    """Of the time of its ops the part of those that read and write variables; 0 where it ran none."""
    n_events: int


def host_facts(trace: Trace) -> tuple[HostFacts, ...]:
    hosts, of_plane = hosts_of(trace), host_of_plane(trace)
    accelerated = {plane.host for plane in trace.planes if is_accelerator(plane)}
    n_events = np.bincount(of_plane[trace.plane_id], minlength=len(hosts))
    served, serving = _served(trace, of_plane, len(hosts)), _serving_ratio(trace, of_plane, len(hosts))
    tasks = _tasks(trace, of_plane, hosts)
    return tuple(
        HostFacts(
            host=host,
            task=tasks[i],
            has_accelerator=host in accelerated,
            is_served=bool(served[i]),
            serving_ratio=float(serving[i]),
            n_events=int(n_events[i]),
        )
        for i, host in enumerate(hosts)
    )


def roles(facts: Sequence[HostFacts]) -> tuple[Role, ...]:
    """What each host is for, beside the others. Differs from XProf: a host that sends work and gets none coordinates too, and
    parameter servers are separate (semantics 2.7)."""
    any_device, any_served = any(one.has_accelerator for one in facts), any(one.is_served for one in facts)
    return tuple(_role(one, any_device=any_device, any_served=any_served) for one in facts)


def _role(one: HostFacts, *, any_device: bool, any_served: bool) -> Role:
    job = one.task.removeprefix("/job:").split("/")[0]
    if _TRAINING_JOBS.get(job) == "parameter server":
        return "parameter server"
    if not job and one.is_served and one.serving_ratio >= _SERVING_SHARE:
        return "parameter server"
    if job == "coordinator" or (any_device and not one.has_accelerator) or (any_served and not one.is_served):
        return "coordinator"
    return _TRAINING_JOBS.get(job, "worker")


def not_training(facts: Sequence[HostFacts]) -> frozenset[str]:
    """Hosts that hand out work or serve variables: their steps are not the training's. None where no host trains."""
    role = dict(zip((one.host for one in facts), roles(facts), strict=True))
    others = frozenset(host for host in role if role[host] not in TRAINING_ROLES)
    return others if len(others) < len(role) else frozenset()


def _served(trace: Trace, of_plane: Int64, n_hosts: int) -> Bool:
    found = np.zeros(n_hosts, np.bool_)
    if SERVED_CALL in trace.string_ids:
        found[of_plane[trace.plane_id[trace.names_matching([SERVED_CALL])]]] = True
    return found


def _serving_ratio(trace: Trace, of_plane: Int64, n_hosts: int) -> Float64:
    """Of the op time of each host the part of ops on variables."""
    if SERVED_CALL not in trace.string_ids:
        return np.zeros(n_hosts, np.float64)
    kind = by_ends(trace, _serving_kind, np.uint8)[trace.name_id]
    rows = np.flatnonzero((kind > 0) & trace.on_planes([plane.is_host for plane in trace.planes]))
    host, time = of_plane[trace.plane_id[rows]], trace.nesting.self_ps[rows].astype(np.float64)
    every = np.bincount(host, weights=time, minlength=n_hosts)
    serving = np.bincount(host, weights=np.where(kind[rows] == 2, time, 0.0), minlength=n_hosts)
    return np.where(every > 0, serving / np.maximum(every, 1.0), 0.0)


def _serving_kind(name: str, category: int, kind: str) -> int:
    """0 for what is no op, 1 for an op, 2 for one on variables."""
    is_op = category == OpCategory.TENSORFLOW and ":" in name
    return int(is_op) + int(is_op and _SERVING.fullmatch(kind) is not None)


def _tasks(trace: Trace, of_plane: Int64, hosts: tuple[str, ...]) -> list[str]:
    """The task that each host is: its own name, or who its tensors are sent by."""
    tasks = [host if host.startswith("/job:") else "" for host in hosts]
    sends = trace.keyed_stats("key")
    is_send = by_ends(trace, lambda name, *_: name.endswith(":_Send"))
    kept = is_send[trace.name_id[sends.event]] & (sends.kind == StatKind.STRING)
    found, first = np.unique(of_plane[trace.plane_id[sends.event[kept]]], return_index=True)
    for host, text in zip(found.tolist(), sends.bits[kept][first].tolist(), strict=True):  # one turn per host
        match = _TASK.match(trace.strings[int(text)])
        tasks[host] = tasks[host] or (match[0] if match else "")
    return tasks


def host_table(facts: Sequence[HostFacts], frame: pd.DataFrame, paths: Sequence[str] = ()) -> pd.DataFrame:
    times: dict[str, list[float]] = {one.host: [] for one in facts}
    for host, ms in zip(frame["host"].tolist(), frame["step_time_ms"].tolist(), strict=True):
        times.setdefault(host, []).append(ms)
    rows = [
        {
            "host": one.host,
            "role": role,
            "n_steps": len(times[one.host]),
            "step_time_ms": float(np.mean(times[one.host])) if len(times[one.host]) else float("nan"),
            "n_events": one.n_events,
            "path": path,
            "task": one.task,
        }
        for one, role, path in zip(facts, roles(facts), paths or [""] * len(facts), strict=True)
    ]
    return typed_table(rows, HOSTS.types)


def median_of_others(values: Float64) -> Float64:
    """For each value of a row the median of the row's other values; of shape (steps, hosts), at least two hosts."""
    n = values.shape[1]
    ordered = np.sort(values, axis=1)
    # Without the value at rank r those behind it move up: the middle of n - 1 values is at ranks known in advance.
    rank = np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1)
    low, high = (n - 2) // 2, (n - 1) // 2
    at_low, at_high = np.where(rank <= low, low + 1, low), np.where(rank <= high, high + 1, high)
    return (np.take_along_axis(ordered, at_low, 1) + np.take_along_axis(ordered, at_high, 1)) / 2


def merge_host_facts(every: pd.DataFrame) -> tuple[HostFacts, ...]:
    """The facts of all hosts; of a host with several files what any of them tells."""
    any_of = dict.fromkeys(("has_accelerator", "is_served"), "any")
    found, _ = united(every, ["host"], {"task": "first", **any_of, "serving_ratio": "max", "n_events": "sum"})
    return tuple(HostFacts(*row) for row in found[[one.name for one in fields(HostFacts)]].itertuples(index=False))
