"""Names of TensorFlow's devices -> the host, plane and line on which the analyses look for what ran there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_TASK = re.compile(r"(/job:[^/]+(?:/replica:\d+)?(?:/task:\d+)?)(?=/|$)")
_LOCAL = re.compile(r"/job:localhost(?:/replica:0)?(?:/task:0)?$")
_UNIT = re.compile(r"/(?:device:)?(CPU|GPU|TPU|XLA_CPU|XLA_GPU):(\d+)(/.*)?$", re.IGNORECASE)
HOST_PLANE = "/host:CPU"
LOCAL_HOST = "localhost"
COMMUNICATION = "Received tensors"
"""The line of tensors that came from other tasks."""


@dataclass(frozen=True)
class Place:
    """Where on the screen a device is."""

    host: str
    """The task; `localhost` for a session without any."""
    plane: str
    line: str
    is_derived: bool = False
    """Whether what is there is also on another line."""

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream of an accelerator."""
        return self.plane.startswith("/device:")


def places_of(devices: Iterable[str]) -> dict[str, Place]:
    """The place of each device of a file.

    A task (`/job:worker/replica:0/task:1`) is a host of its own. CPUs are lines of its host plane, and so is what a task
    does to schedule the ops of an accelerator; streams and copies are lines of that one's plane. `stream:all` repeats
    what numbered streams tell, and `memcpy` what streams tell: they are derived where those are there.
    """
    names = list(dict.fromkeys(devices))
    tasks = list(dict.fromkeys(task for name in names if (task := _task(name))))
    only = tasks[0] if len(tasks) == 1 else ""
    streams = [match for name in names if (match := _UNIT.search(name)) and match[3]]
    numbered = {match[2] for match in streams if re.fullmatch(r"/stream:\d+", match[3])}
    streamed = {match[2] for match in streams if match[3].startswith("/stream:")}
    return {name: _place(name, _task(name) or only, numbered, streamed) for name in names}


def _task(name: str) -> str:
    match = _TASK.search(name)
    return match[1] if match else ""


def _place(name: str, task: str, numbered: set[str], streamed: set[str]) -> Place:
    host = LOCAL_HOST if not task or _LOCAL.match(task) else task
    unit = _UNIT.search(name)
    if unit is None:
        return Place(host, HOST_PLANE, name.removeprefix(task) or name)
    kind, number, detail = unit[1].upper(), unit[2], unit[3]
    if detail is None:
        return Place(host, HOST_PLANE, f"{kind}:{number}" if "CPU" in kind else f"{kind}:{number} scheduling")
    repeats = (detail == "/stream:all" and number in numbered) or (detail == "/memcpy" and number in streamed)
    return Place(host, f"/device:{kind}:{number}", detail[1:], repeats)
