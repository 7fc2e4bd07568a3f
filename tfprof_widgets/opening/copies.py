"""Files of hosts -> their traces, each capture once: where a file was copied, and what to tell of the copies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from ..trace.trace import Trace
from .file_names import host_of, some_names


def each_once(files: Sequence[Path], read: Callable[[Path], Trace]) -> tuple[dict[Path, Trace], str]:
    """Read files, and let go of each trace that was there before: the same events at the same times of one host.

    Args:
        files: of one host each.
        read: reads one.

    Returns:
        The traces that differ, by file, and a sentence about the others; "" where there are none.
    """
    traces: dict[Path, Trace] = {}
    seen: set[tuple[str, bytes]] = set()
    copies = []
    for file in files:
        trace = read(file)
        capture = host_of(file), _digest(trace)
        if trace.n_events and capture in seen:
            copies.append(f"{file.parent.name}/{file.name}")
            continue
        seen.add(capture)
        traces[file] = trace
    if not copies:
        return traces, ""
    what = "is a copy" if len(copies) == 1 else "are copies"
    return traces, f"{len(copies):,} of {len(files):,} files {what} of another, and counted once: {some_names(copies)}."


def _digest(trace: Trace) -> bytes:
    told = hashlib.blake2b(repr((trace.origin_ns, trace.strings)).encode("utf-8", "backslashreplace"))
    for column in (trace.start_ps, trace.duration_ps, trace.name_id, trace.line_id):
        told.update(column.tobytes())
    return told.digest()
