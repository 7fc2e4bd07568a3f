"""A table of events in order, the metadata they name and the tracks they lie on -> a Trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .event_table import EventTable
from .stat_table import Stats
from .trace import Bool, Int32, Line, Plane, Session, Trace


@dataclass(frozen=True)
class MetadataColumns:
    """The metadata table of a trace: one row per metadata. Texts are indices into its strings."""

    name_id: Int32
    plane_id: Int32
    display_name_id: Int32
    stats: Stats


def assemble(
    table: EventTable,
    metadata: MetadataColumns,
    *,
    planes: Iterable[Plane],
    lines: Iterable[Line],
    sessions: Iterable[Session],
    origin_ns: int,
    strings: Iterable[str],
    blobs: Iterable[bytes],
    warnings: Iterable[str],
) -> Trace:
    """The trace of all that a reader collected.

    Args:
        table: all events, in the order that `in_order` gives them.
        metadata: the rows that `table.metadata_id` points into.
        planes: see `Trace`, like those that follow.
        lines: sorted by plane.
        sessions: at least one.
        origin_ns: 0 where the file does not say.
        strings: what ids of texts in both tables point into.
        blobs: what ids of bytes point into.
        warnings: what the profiler or the reader reported.
    """
    return Trace(
        planes=tuple(planes),
        lines=tuple(lines),
        sessions=tuple(sessions),
        origin_ns=origin_ns,
        strings=tuple(strings),
        blobs=tuple(blobs),
        start_ps=table.start_ps,
        duration_ps=table.duration_ps,
        name_id=metadata.name_id[table.metadata_id],
        line_id=table.line_id,
        metadata_id=_small(table.metadata_id, len(metadata.name_id)),
        session_id=table.session_id,
        n_occurrences=table.n_occurrences,
        stats=table.stats,
        display_name_id=metadata.display_name_id,
        metadata_name_id=metadata.name_id,
        metadata_plane_id=metadata.plane_id,
        metadata_stat_offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(metadata.stats.n)]),
        metadata_stat_key=metadata.stats.key,
        metadata_stat_kind=metadata.stats.kind,
        metadata_stat_bits=metadata.stats.bits,
        warnings=tuple(warnings),
    )


def session_around(table: EventTable, host: str, events: Bool | slice = slice(None)) -> Session:
    """The window in which the events lie, all of them or some, for a file that does not note it."""
    start_ps = table.start_ps[events]
    if not len(start_ps):
        return Session(host, 0, 0)
    return Session(host, int(start_ps.min()), int((start_ps + table.duration_ps[events]).max()))


def _small(ids: Int32, n: int) -> Int32 | npt.NDArray[np.uint16]:
    """Ids below `n` in 16 bits where they fit."""
    return ids.astype(np.uint16) if n <= 2**16 and ids.strides != (0,) else ids
