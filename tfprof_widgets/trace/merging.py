"""Several traces (windows of one capture, hosts of one run) -> one trace on one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import TraceError
from .assembly import MetadataColumns, assemble
from .event_table import EventTableBuilder, in_order
from .stat_table import Stats, joined_stats
from .string_table import StringTable
from .times import MAX_PS
from .trace import Int32, Int64, Line, Plane, Session, StatKind, Trace


def merge_traces(traces: Sequence[Trace]) -> Trace:
    """One trace with the events of all.

    The origin is the earliest one. Planes of the same host and name unite, and in them lines of the same id; sessions
    stay apart, as ids are only unique within one. A trace that does not say when it started begins at the common
    origin, with a warning.

    Args:
        traces: at least one.

    Raises:
        TraceError: there is no trace, or two lie more than 13 days apart.
    """
    if not traces:
        raise TraceError("There is no trace to merge (0 given): give at least one.")
    if len(traces) == 1:
        return traces[0]
    origin_ns = min((trace.origin_ns for trace in traces if trace.origin_ns), default=0)
    merger = _Merger(origin_ns)
    for trace in traces:
        merger.add(trace)
    return merger.trace()


def with_host(trace: Trace, host: str) -> Trace:
    """The same trace, said to come from `host`."""
    return replace(
        trace,
        planes=tuple(replace(plane, host=host) for plane in trace.planes),
        sessions=tuple(replace(session, host=host) for session in trace.sessions),
    )


def with_warnings(trace: Trace, *warnings: str) -> Trace:
    """The same trace with more warnings, behind those that it has."""
    return replace(trace, warnings=(*trace.warnings, *warnings)) if warnings else trace


class _Merger:
    """Collects the tables of several traces, trace by trace."""

    def __init__(self, origin_ns: int) -> None:
        self.origin_ns = origin_ns
        self.strings = StringTable()
        self.planes: dict[tuple[str, str], Plane] = {}
        self.plane_number: dict[tuple[str, str], int] = {}
        self.lines: dict[tuple[int, int], Line] = {}
        self.line_number: dict[tuple[int, int], int] = {}
        self.sessions: list[Session] = []
        self.columns = EventTableBuilder()
        self.metadata: list[MetadataColumns] = []
        self.n_metadata = 0
        self.warnings: list[str] = []

    def add(self, trace: Trace) -> None:
        shift_ps = self._shift_ps(trace)
        text_ids = self.strings.ids_of(trace.strings)
        blob_ids = np.array([self.strings.blob_id(blob) for blob in trace.blobs], np.int64)
        plane_ids = self._plane_ids(trace)
        self.columns.add(
            {
                "start_ps": trace.start_ps + shift_ps,
                "duration_ps": trace.duration_ps,
                "line_id": _taken(self._line_ids(trace, plane_ids), trace.line_id),
                "metadata_id": trace.metadata_id.astype(np.int32) + np.int32(self.n_metadata),
                "session_id": trace.session_id + np.int32(len(self.sessions)),
                "n_occurrences": trace.n_occurrences,
            },
            *(_moved_stats(stats, text_ids, blob_ids) for stats in trace.stats.parts()),
        )
        self.metadata.append(_moved_metadata(trace, text_ids, blob_ids, plane_ids))
        self.n_metadata += len(trace.display_name_id)
        self.sessions += [
            replace(session, start_ps=session.start_ps + shift_ps, stop_ps=session.stop_ps + shift_ps)
            for session in trace.sessions
        ]
        self.warnings += trace.warnings

    def _shift_ps(self, trace: Trace) -> int:
        if not self.origin_ns:
            return 0
        if not trace.origin_ns:
            host = trace.sessions[0].host if trace.sessions else "?"
            self.warnings.append(
                f"A trace of host {host!r} does not say when it started; it is shown from the origin on."
            )
            return 0
        shift_ps = (trace.origin_ns - self.origin_ns) * 1000
        if shift_ps > MAX_PS:
            raise TraceError(
                f"Two traces start {shift_ps / 86400e12:.1f} days apart, more than {MAX_PS / 86400e12:.1f}: "
                "they are not of one run. Load them one by one."
            )
        return shift_ps

    def _plane_ids(self, trace: Trace) -> Int64:
        """The number of each of the trace's planes."""
        plane_ids = []
        for plane in trace.planes:
            key = (plane.host, plane.name)
            known = self.planes.get(key)
            self.planes[key] = replace(plane, stats=plane.stats | known.stats) if known else plane
            plane_ids.append(self.plane_number.setdefault(key, len(self.plane_number)))
        return np.array(plane_ids, np.int64)

    def _line_ids(self, trace: Trace, plane_ids: Int64) -> Int64:
        """The provisional number of each of the trace's lines."""
        line_ids = []
        for line in trace.lines:
            moved = replace(line, plane=int(plane_ids[line.plane]))
            key = moved.plane, moved.id
            self.lines.setdefault(key, moved)
            line_ids.append(self.line_number.setdefault(key, len(self.line_number)))
        return np.array(line_ids, np.int64)

    def trace(self) -> Trace:
        lines = list(self.lines.values())
        order = sorted(range(len(lines)), key=lambda number: lines[number].plane)
        final = np.empty(len(lines), np.int64)
        final[order] = np.arange(len(lines))
        table = self.columns.table()
        table = in_order(replace(table, line_id=_taken(final, table.line_id)))
        return assemble(
            table,
            _joined(self.metadata),
            planes=self.planes.values(),
            lines=(lines[number] for number in order),
            sessions=self.sessions,
            origin_ns=self.origin_ns,
            strings=self.strings.texts,
            blobs=self.strings.blobs,
            warnings=dict.fromkeys(self.warnings),
        )


def _moved_metadata(trace: Trace, text_ids: Int64, blob_ids: Int64, plane_ids: Int64) -> MetadataColumns:
    """A trace's metadata table in the merged tables' ids."""
    shown = trace.display_name_id
    return MetadataColumns(
        name_id=_taken(text_ids, trace.metadata_name_id),
        plane_id=np.append(plane_ids, -1)[trace.metadata_plane_id].astype(np.int32),
        display_name_id=np.where(shown >= 0, _taken(text_ids, np.maximum(shown, 0)), -1).astype(np.int32),
        stats=_moved_stats(
            Stats(
                np.diff(trace.metadata_stat_offsets),
                trace.metadata_stat_key,
                trace.metadata_stat_kind,
                trace.metadata_stat_bits,
            ),
            text_ids,
            blob_ids,
        ),
    )


def _joined(tables: Sequence[MetadataColumns]) -> MetadataColumns:
    return MetadataColumns(
        name_id=np.concatenate([table.name_id for table in tables]),
        plane_id=np.concatenate([table.plane_id for table in tables]),
        display_name_id=np.concatenate([table.display_name_id for table in tables]),
        stats=joined_stats([table.stats for table in tables]),
    )


def _moved_stats(stats: Stats, text_ids: Int64, blob_ids: Int64) -> Stats:
    """Stats with the indices of texts and blobs replaced."""
    bits = stats.bits.copy()
    for moved_kind, ids in ((StatKind.STRING, text_ids), (StatKind.BYTES, blob_ids)):
        rows = np.flatnonzero(stats.kind == moved_kind)
        bits[rows] = ids[bits[rows].astype(np.int64)].astype(np.uint64)
    return Stats(stats.n, _taken(text_ids, stats.key), stats.kind, bits)


def _taken(ids: Int64, index: npt.NDArray[np.integer[Any]]) -> Int32:
    """`ids[index]` as an int32 column; `index` is empty where `ids` is."""
    taken: Int32 = ids[index].astype(np.int32)
    return taken
