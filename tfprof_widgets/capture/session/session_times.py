"""A trace that TensorFlow wrote, and when its session ran -> the same trace, which tells when that was.

TensorFlow before 2.17 writes times after the start of the session and not when it started: samples of the machine, lines of
Python and a failure, which have the time of day, would have no place in the trace.
"""

from __future__ import annotations

import mmap
from pathlib import Path

from ...formats.wire.messages import Messages

_PLANE, _START, _STOP = b"Task Environment", b"profile_start_time", b"profile_stop_time"
_MESSAGES = Messages(
    "tfprof_widgets.session_times",
    {
        "Stat": (("metadata_id", 1, "int64"), ("uint64_value", 3, "uint64")),
        "StatMetadata": (("id", 1, "int64"), ("name", 2, "bytes")),
        "StatMetadataEntry": (("key", 1, "int64"), ("value", 2, "StatMetadata")),
        "Plane": (
            ("name", 2, "bytes"),
            ("stat_metadata", 5, "StatMetadataEntry repeated"),
            ("stats", 6, "Stat repeated"),
        ),
        "Space": (("planes", 1, "Plane repeated"),),
    },
)
"""The part of an XSpace that says it. Source: semantics 1.1 and 1.3."""


def note_session_times(xplane: Path, *, start_ns: int, stop_ns: int) -> None:
    """Add the Unix times of the session to its file, as newer TensorFlows do, unless they are there.

    Raises:
        OSError: the file cannot be read, or written to.
    """
    with xplane.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(_START) >= 0:
            return
    space = _MESSAGES["Space"]()
    plane = space.planes.add(name=_PLANE)
    for number, (name, time_ns) in enumerate(((_START, start_ns), (_STOP, stop_ns)), start=1):
        entry = plane.stat_metadata.add(key=number)
        entry.value.id, entry.value.name = number, name
        plane.stats.add(metadata_id=number, uint64_value=time_ns)
    with xplane.open("ab") as end:  # two messages one after the other are one message
        end.write(space.SerializeToString())
