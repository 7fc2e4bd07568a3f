"""Several traces (windows of one capture, hosts of one run) -> one trace on one clock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import TraceError
from .arrays import AnyInt, Bool, Int32, Int64
from .stats import Stats, joined_stats, ranges
from .trace import (
    MAX_PS,
    EventTable,
    EventTableBuilder,
    Line,
    Plane,
    Session,
    StatKind,
    StatRow,
    StringTable,
    Trace,
    in_order,
    stats_of_rows,
)


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
    return ids.astype(np.uint16) if n <= 2**16 and ids.strides != (0,) else ids


def merge_traces(traces: Sequence[Trace]) -> Trace:
    """One trace with the events of all, from the earliest origin; planes and lines of equal host and name unite."""
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
        plane_ids = []
        for plane in trace.planes:
            key = (plane.host, plane.name)
            known = self.planes.get(key)
            self.planes[key] = replace(plane, stats=plane.stats | known.stats) if known else plane
            plane_ids.append(self.plane_number.setdefault(key, len(self.plane_number)))
        return np.array(plane_ids, np.int64)

    def _line_ids(self, trace: Trace, plane_ids: Int64) -> Int64:
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
            MetadataColumns(
                name_id=np.concatenate([table.name_id for table in self.metadata]),
                plane_id=np.concatenate([table.plane_id for table in self.metadata]),
                display_name_id=np.concatenate([table.display_name_id for table in self.metadata]),
                stats=joined_stats([table.stats for table in self.metadata]),
            ),
            planes=self.planes.values(),
            lines=(lines[number] for number in order),
            sessions=self.sessions,
            origin_ns=self.origin_ns,
            strings=self.strings.texts,
            blobs=self.strings.blobs,
            warnings=dict.fromkeys(self.warnings),
        )


def _moved_metadata(trace: Trace, text_ids: Int64, blob_ids: Int64, plane_ids: Int64) -> MetadataColumns:
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


def _moved_stats(stats: Stats, text_ids: Int64, blob_ids: Int64) -> Stats:
    bits = stats.bits.copy()
    for moved_kind, ids in ((StatKind.STRING, text_ids), (StatKind.BYTES, blob_ids)):
        rows = np.flatnonzero(stats.kind == moved_kind)
        bits[rows] = ids[bits[rows].astype(np.int64)].astype(np.uint64)
    return Stats(stats.n, _taken(text_ids, stats.key), stats.kind, bits)


def _taken(ids: Int64, index: npt.NDArray[np.integer[Any]]) -> Int32:
    taken: Int32 = ids[index].astype(np.int32)
    return taken


@dataclass(frozen=True)
class MetadataRow:
    """What events of one name share. Texts are indices into the strings of the trace."""

    plane: int
    """-1 for none."""
    name_id: int
    display_name_id: int = -1
    """-1 for none."""
    stats: Sequence[StatRow] = ()


@dataclass(frozen=True)
class EventMetadata:
    """The metadata table, and which of its rows each event has; row 0 stands for missing metadata."""

    row_of_event: Int32
    table: MetadataColumns


def metadata_table(rows: Sequence[MetadataRow]) -> MetadataColumns:
    return MetadataColumns(
        name_id=np.array([one.name_id for one in rows], np.int32),
        plane_id=np.array([one.plane for one in rows], np.int32),
        display_name_id=np.array([one.display_name_id for one in rows], np.int32),
        stats=stats_of_rows([one.stats for one in rows]),
    )


def joined_metadata(tables: Sequence[MetadataColumns]) -> MetadataColumns:
    """The rows of several tables, one after the other; at least one table."""

    def joined(column: Callable[[MetadataColumns], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate([column(table) for table in tables])

    return MetadataColumns(
        name_id=joined(lambda table: table.name_id),
        plane_id=joined(lambda table: table.plane_id),
        display_name_id=joined(lambda table: table.display_name_id),
        stats=Stats(
            joined(lambda table: table.stats.n),
            joined(lambda table: table.stats.key),
            joined(lambda table: table.stats.kind),
            joined(lambda table: table.stats.bits),
        ),
    )


def event_metadata(name_id: Int64, plane: Int32, told: Sequence[MetadataRow] = ()) -> EventMetadata:
    """The rows of a file, and a row for each other name of each plane."""
    rows = [MetadataRow(-1, 0), *told]
    row_of: dict[tuple[int, int], int] = {}
    for row, one in enumerate(told, 1):
        row_of.setdefault((one.plane, one.name_id), row)
    n_names = int(name_id.max(initial=0)) + 1
    used, event_of = np.unique(plane.astype(np.int64) * n_names + name_id, return_inverse=True)
    row_of_used = np.empty(len(used), np.int32)
    for i, key in enumerate(divmod(one, n_names) for one in used.tolist()):  # as many as names of planes
        row_of_used[i] = row = row_of.get(key, len(rows))
        if row == len(rows):
            rows.append(MetadataRow(*key))
    return EventMetadata(row_of_used[event_of.reshape(-1)], metadata_table(rows))


def whole_stats(trace: Trace, events: AnyInt) -> Stats:
    """All stats of some events as columns; where a name is there twice, `Trace.stats_of` takes the last."""
    own = trace.stats.of(events)
    metadata = trace.metadata_id[events]
    n_told = np.diff(trace.metadata_stat_offsets)[metadata]
    if not n_told.any():
        return own
    taken = ranges(trace.metadata_stat_offsets[metadata], n_told)
    order = np.argsort(np.concatenate([_owners(n_told), _owners(own.n)]), kind="stable")
    return Stats(
        own.n + n_told,
        np.concatenate([trace.metadata_stat_key[taken], own.key])[order],
        np.concatenate([trace.metadata_stat_kind[taken], own.kind])[order],
        np.concatenate([trace.metadata_stat_bits[taken], own.bits])[order],
    )


def _owners(n: Int64) -> Int64:
    return np.repeat(np.arange(len(n)), n)


def last_of_each_name(stats: Stats) -> Stats:
    """The stats of each event without those that a later one of the same name replaces."""
    if not len(stats.key):
        return stats
    event = _owners(stats.n)
    pair = event * (int(stats.key.max()) + 1) + stats.key
    order = np.argsort(pair, kind="stable")
    ordered = pair[order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    kept = np.arange(len(stats.key)) if is_last.all() else np.sort(order[is_last], kind="stable")
    n = np.bincount(event[kept], minlength=len(stats.n))
    return Stats(n, stats.key[kept], stats.kind[kept], stats.bits[kept])


def host_names(trace: Trace) -> tuple[str, ...]:
    """The hosts of a trace, in the order of their planes; those of sessions alone come last."""
    planes = [plane.host for plane in trace.planes]
    return tuple(dict.fromkeys(planes + [session.host for session in trace.sessions if not trace.planes]))


def of_host(trace: Trace, host: str) -> Trace:
    """The planes of one host with their events, on the clock of the whole trace; its strings stay as they are."""
    if host_names(trace) == (host,):
        return trace
    has_plane = np.array([plane.host == host for plane in trace.planes], np.bool_)
    has_line = np.array([has_plane[line.plane] for line in trace.lines], np.bool_)
    has_session = np.array([session.host == host for session in trace.sessions], np.bool_)
    events = np.flatnonzero(trace.on_lines(has_line))
    plane_of, line_of, session_of = (_numbers(kept) for kept in (has_plane, has_line, has_session))
    sessions = tuple(one for one in trace.sessions if one.host == host)
    if not sessions or (session_of[trace.session_id[events]] < 0).any():  # a session that several hosts share
        session_of, sessions = np.arange(len(trace.sessions)), trace.sessions
    planes = [plane for plane in trace.planes if plane.host == host]
    return replace(
        trace,
        planes=tuple(planes),
        lines=tuple(
            replace(line, plane=int(plane_of[line.plane]))
            for line, kept in zip(trace.lines, has_line.tolist(), strict=True)
            if kept
        ),
        sessions=sessions,
        start_ps=trace.start_ps[events],
        duration_ps=trace.duration_ps[events],
        name_id=trace.name_id[events],
        line_id=line_of[trace.line_id[events]].astype(np.int32),
        metadata_id=trace.metadata_id[events],
        session_id=session_of[trace.session_id[events]].astype(np.int32),
        n_occurrences=trace.n_occurrences[events],
        stats=trace.stats.taken(events),
        # What other hosts compiled, such as an XLA program, is nobody's here.
        metadata_plane_id=np.append(plane_of, -1)[trace.metadata_plane_id].astype(np.int32),
    )


def _numbers(kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    return np.where(kept, np.cumsum(kept) - 1, -1)


MAX_DAYS = MAX_PS / 86400e12
"""As far as times of one trace reach, in days."""


def days_from_most(origins_ns: Sequence[int]) -> tuple[float, ...]:
    """By how many days each origin is before (less than 0) or after the most of them that have a common clock."""
    told = sorted(origin for origin in origins_ns if origin)
    if not told:
        return (0.0,) * len(origins_ns)
    ends = [bisect_right(told, origin + MAX_PS // 1000) for origin in told]
    first = max(range(len(told)), key=lambda i: (ends[i] - i, i))
    low, high = told[first], told[ends[first] - 1]
    return tuple((origin - min(max(origin, low), high)) / 86400e9 if origin else 0.0 for origin in origins_ns)


def other_times(origins_ns: Sequence[int]) -> dict[int, str]:
    """Why some cannot be shown beside the others, by their number; empty where all have a common clock."""
    far = {number: days for number, days in enumerate(days_from_most(origins_ns)) if days}
    n_told = sum(1 for origin in origins_ns if origin)
    chosen = "" if 2 * len(far) < n_told else "; as no time is that of most, the latest are shown"
    return {
        number: (
            f"it starts {abs(days):.1f} days {'before' if days < 0 else 'after'} the others, more than {MAX_DAYS:.1f}: "
            f"it is of another run, or its clock is wrong{chosen}"
        )
        for number, days in far.items()
    }
