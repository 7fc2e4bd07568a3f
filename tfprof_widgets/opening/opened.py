"""What a path led to, and how one tells whether its files changed since."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..formats.saved import SavedProfile
from ..trace.op_graph import OpGraph
from ..trace.source_map import SourceMap, empty_source_map
from ..trace.trace import Trace


@dataclass(frozen=True)
class Opened:
    """What a path led to."""

    trace: Trace
    paths: tuple[Path, ...]
    """The files that were read."""
    others: tuple[Path, ...] = ()
    """Run directories of the same logdir that were not read, the newest first."""
    source_map: SourceMap = field(default_factory=empty_source_map)
    """What was noted beside the traces; empty for traces that other tools captured. Its warnings are the trace's too."""
    saved: SavedProfile | None = None
    """What `Profile.save` or `Profile.to_chrome_trace` put beside the events; None for anything else."""
    stamps: tuple[tuple[int, int], ...] = ()
    """`stamp_of` each file when it was read."""
    op_graph: OpGraph | None = None
    """What a file of TensorFlow's first profiler holds besides the trace; None for all others."""
    companions: tuple[Path, ...] = ()
    """The graph and the log of ops that such files were read with."""
    left_out: tuple[Path, ...] = ()
    """Those among `paths` of which nothing is in the trace, as they are of another time; its first warning names them."""


def stamp_of(file: Path) -> tuple[int, int]:
    """What tells one content of a file from the next: its size, and when it was written."""
    status = file.stat()
    return status.st_size, status.st_mtime_ns
