"""A real capture -> one of more events: the same several times over, one after the other, with its times and ids shifted.

Run as `python repeat_capture.py FILE N_EVENTS TARGET`. Lines, names and nesting stay as they are: each line holds its
events again and again, each time a capture's length later; step numbers, and the ids that tie producers to consumers,
grow with them, so that no two copies share one. For machines without the memory to capture so many.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.builders import tagged
from tests.unit.formats.full_protobuf import space_class

SHIFTED_STATS = {"step_num", "group_id", "correlation_id", "_p", "_c", "element_id", "iter_num"}
"""Stats that name one step, one launch, one element."""
LINES = 3
"""The field number of XPlane.lines."""


def main(file: Path, n_events: int, target: Path) -> None:
    space = space_class().FromString(file.read_bytes())
    n_here = sum(len(line.events) for plane in space.planes for line in plane.lines)
    n_copies = -(-n_events // n_here)
    length_ps = max(_end_ps(line) for plane in space.planes for line in plane.lines) + 1
    length_ps -= min(line.timestamp_ns * 1000 for plane in space.planes for line in plane.lines if line.events)
    with target.open("wb") as out:
        for plane in space.planes:
            out.write(tagged(1, _repeated(plane, n_copies, length_ps)))
        del space.planes[:]
        out.write(space.SerializeToString())
    print(json.dumps({"n_events": n_copies * n_here}))


def _end_ps(line: Any) -> int:
    return int(max((e.offset_ps + e.duration_ps for e in line.events), default=0) + line.timestamp_ns * 1000)


def _repeated(plane: Any, n_copies: int, length_ps: int) -> bytes:
    """The plane's bytes with every line so many times as long."""
    shifted = {key for key, metadata in plane.stat_metadata.items() if metadata.name.decode() in SHIFTED_STATS}
    steps = {key: _largest(plane, key) + 1 for key in shifted}
    parts = []
    for line in plane.lines:
        events = [line.SerializeToString()]
        head = type(line)()
        for _ in range(n_copies - 1):
            _shift(line, length_ps, steps)
            head.CopyFrom(line)
            for name in ("id", "name", "timestamp_ns", "display_name", "duration_ps", "display_id"):
                head.ClearField(name)
            events.append(head.SerializeToString())
        parts.append(tagged(LINES, b"".join(events)))
    del plane.lines[:]
    return plane.SerializeToString() + b"".join(parts)  # type: ignore[no-any-return]


def _largest(plane: Any, key: int) -> int:
    stats = (stat for line in plane.lines for event in line.events for stat in event.stats if stat.metadata_id == key)
    return max((max(stat.int64_value, stat.uint64_value) for stat in stats), default=0)


def _shift(line: Any, by_ps: int, steps: dict[int, int]) -> None:
    """Move the line's events on by one copy. A loop over events: this is run once, where memory is short."""
    for event in line.events:
        event.offset_ps += by_ps
        for stat in event.stats:
            step = steps.get(stat.metadata_id)
            if step is None:
                continue
            if stat.HasField("int64_value"):
                stat.int64_value = (stat.int64_value + step + 2**63) % 2**64 - 2**63  # some ids are hashes and wrap
            elif stat.HasField("uint64_value"):
                stat.uint64_value = (stat.uint64_value + step) % 2**64


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
