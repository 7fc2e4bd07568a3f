"""Processes and threads of a Chrome trace -> planes and lines."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from ...errors import TraceError
from ...trace.bounds import clean_text
from ...trace.trace import Int32, Line, Plane
from .events import COUNTERS, OVERLAPPING, Collected, Track
from .marker import Marker

_MOST_PLANES = 2**15 - 1
"""The numbers of planes are kept in 16 bits."""
_OLD_CPU = re.compile(r"/(?:device:CPU|cpu):\d+ Compute$", re.IGNORECASE)
_OLD_GPU = re.compile(r"/(?:device:GPU|gpu):(\d+)(?:/stream:\S+)? Compute$", re.IGNORECASE)
"""Processes of `tf.compat.v1`'s `timeline.Timeline`, which all name their device so."""


@dataclass(frozen=True)
class Tracks:
    """Planes and lines, lines by plane, and the line of each track."""

    planes: tuple[Plane, ...]
    lines: tuple[Line, ...]
    line_of_track: Int32


def own_tracks(found: Collected, marker: Marker) -> Tracks:
    """The planes and lines that the trace had, and where the threads of the file are among them.

    Raises:
        TraceError: a thread is not one of them.
    """
    first = len(marker.planes) + 1
    line_of_track = np.zeros(len(found.tracks), np.int32)
    for (process, thread, _), track in found.tracks.items():
        line = thread - first if isinstance(thread, int) else -1
        if not 0 <= line < len(marker.lines) or process != marker.lines[line].plane + 1:
            raise TraceError(
                f"thread {str(thread)[:40]!r} of process {str(process)[:40]!r} is not in its member tfprof"
            )
        line_of_track[track] = line
    if any(a.plane > b.plane for a, b in zip(marker.lines, marker.lines[1:], strict=False)):
        raise TraceError("the lines of its member tfprof are not in the order of their planes")
    return Tracks(marker.planes, marker.lines, line_of_track)


def foreign_tracks(found: Collected) -> Tracks:
    """Planes and lines of another tool's file, in the order it asks for, else in that of their first events."""
    processes = list(dict.fromkeys(process for process, _, _ in found.tracks))
    processes.sort(key=lambda process: _place(found, "process_sort_index", process))
    if len(processes) > _MOST_PLANES:
        raise TraceError(f"it has {len(processes)} processes, more than {_MOST_PLANES}, the limit")
    number = {process: i for i, process in enumerate(processes)}
    planes = _planes([_process_name(found, process) for process in processes])
    tracks = sorted(found.tracks, key=lambda track: (number[track[0]], _line_place(found, track)))
    line_of_track = np.zeros(len(tracks), np.int32)
    line_of_track[[found.tracks[track] for track in tracks]] = np.arange(len(tracks))
    lines = tuple(
        Line(number[track[0]], _line_id(track, i), _thread_name(found, track), "") for i, track in enumerate(tracks)
    )
    return Tracks(planes, lines, line_of_track)


def _planes(names: list[str]) -> tuple[Plane, ...]:
    """One plane per process; the compute processes of old timelines as the host or the device they stand for."""
    taken: set[str] = set()
    planes: list[Plane] = []
    for name in names:
        gpu = _OLD_GPU.search(name)
        known = "/host:CPU" if _OLD_CPU.search(name) else f"/device:GPU:{gpu[1]}" if gpu else name
        planes.append(Plane(name if known in taken else known, ""))
        taken.add(known)
    return tuple(planes)


def _process_name(found: Collected, process: Hashable) -> str:
    return clean_text(found.names.get(("process_name", process, None), f"Process {process}"))


def _thread_name(found: Collected, track: Track) -> str:
    process, thread, kind = track
    if kind == COUNTERS:
        return COUNTERS
    name = clean_text(found.names.get(("thread_name", process, thread), f"Thread {thread}"))
    return f"{name} ({OVERLAPPING})" if kind else name


def _line_id(track: Track, position: int) -> int:
    """The thread's own number where it has one, else one beyond those of any thread."""
    _, thread, kind = track
    return thread if type(thread) is int and not kind and 0 <= thread < 2**32 else 2**32 + position


def _place(found: Collected, what: str, process: Hashable, thread: Hashable = None) -> int:
    index = found.names.get((what, process, thread), 0)
    return index if type(index) is int else 0


def _line_place(found: Collected, track: Track) -> tuple[bool, int, int]:
    process, thread, kind = track
    return kind == COUNTERS, _place(found, "thread_sort_index", process, thread), found.tracks[track]
