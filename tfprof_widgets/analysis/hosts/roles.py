"""Trace -> what each host of it is for: it trains, serves variables to those that do, or hands out their work.

    host_facts(trace) -> one HostFacts per host
    roles(facts) -> one role per host: "worker", "chief", "parameter server", "coordinator"

The name of the task tells where there is one; where there is none, as in every trace of TensorFlow 2, what the host ran does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...trace.trace import Bool, Float64, Int64, StatKind, Trace
from ..base.event_names import by_ends, by_op_name
from ..base.hosts import host_of_plane, hosts_of
from ..base.op_names import OpCategory, OpNames
from .environment import is_accelerator

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
    """What tells of one host what it is for."""

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
    """Collect them, in the order of the trace."""
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
    """What each host is for, seen beside the others; a host alone trains unless its task says otherwise.

    A host without a device where others have one coordinates, as in XProf (semantics 2.7). Differs from XProf: so does the
    host that sends the others their work and gets none, and parameter servers are told apart.
    """
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
    """For each host whether another task sent it work."""
    found = np.zeros(n_hosts, np.bool_)
    if SERVED_CALL in trace.string_ids:
        found[of_plane[trace.plane_id[trace.names_matching([SERVED_CALL])]]] = True
    return found


def _serving_ratio(trace: Trace, of_plane: Int64, n_hosts: int) -> Float64:
    """Of the op time of each host the part of ops on variables."""
    if SERVED_CALL not in trace.string_ids:
        return np.zeros(n_hosts, np.float64)
    kind = by_op_name(trace, _serving_kinds, np.uint8)[trace.name_id]
    rows = np.flatnonzero((kind > 0) & trace.on_planes([plane.is_host for plane in trace.planes]))
    host, time = of_plane[trace.plane_id[rows]], trace.nesting.self_ps[rows].astype(np.float64)
    every = np.bincount(host, weights=time, minlength=n_hosts)
    serving = np.bincount(host, weights=np.where(kind[rows] == 2, time, 0.0), minlength=n_hosts)
    return np.where(every > 0, serving / np.maximum(every, 1.0), 0.0)


def _serving_kinds(names: list[str], parsed: OpNames) -> list[int]:
    """0 for what is no op, 1 for an op, 2 for one on variables."""
    kinds = []
    for name, category, kind in zip(names, parsed.category.tolist(), parsed.type, strict=True):
        is_op = category == OpCategory.TENSORFLOW and ":" in name
        kinds.append(int(is_op) + int(is_op and _SERVING.fullmatch(kind) is not None))
    return kinds


def _tasks(trace: Trace, of_plane: Int64, hosts: tuple[str, ...]) -> list[str]:
    """The task that each host is: its own name, or who its tensors are sent by."""
    tasks = [host if host.startswith("/job:") else "" for host in hosts]
    sends = trace.keyed_stats("key")
    is_send = by_ends(trace, lambda names, _: [name.endswith(":_Send") for name in names], np.bool_)
    kept = is_send[trace.name_id[sends.event]] & (sends.kind == StatKind.STRING)
    found, first = np.unique(of_plane[trace.plane_id[sends.event[kept]]], return_index=True)
    for host, text in zip(found.tolist(), sends.bits[kept][first].tolist(), strict=True):  # one turn per host
        match = _TASK.match(trace.strings[int(text)])
        tasks[host] = tasks[host] or (match[0] if match else "")
    return tasks
