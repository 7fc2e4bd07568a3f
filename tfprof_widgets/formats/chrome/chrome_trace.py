"""The bytes of a Chrome trace (`traceEvents`, as an object or a bare list) -> a Trace.

Source: the Trace Event Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import EmptyTraceError, TraceError
from ...trace.assembly import assemble, session_around
from ...trace.event_metadata import EventMetadata, event_metadata
from ...trace.event_table import EventTable, in_order
from ...trace.stat_table import Stats, packed_stats
from ...trace.string_table import StringTable
from ...trace.times import MAX_PS
from ...trace.trace import Int64, Trace
from ..saved import SavedProfile
from .events import UNFINISHED, Collected, Collector
from .json_reader import Document
from .marker import Marker, read_marker
from .pairs import link_flows, match_edges
from .stats import not_shared
from .tracks import Tracks, foreign_tracks, own_tracks

_UNIX_US = range(10**15, 10**16)
"""Microseconds since 1970 of this and the next two centuries; smaller times count from when something started."""

_UNLINKED = (
    "XProf's converter to JSON leaves out what links the threads of a step: here work of other threads counts to no step. "
    "The .xplane.pb of the same run has the links; load that."
)


@dataclass(frozen=True)
class ChromeTrace:
    """What a file holds."""

    trace: Trace
    saved: SavedProfile | None
    """What `to_chrome_trace` put beside the events; None for files of other tools."""


def read_chrome_trace(content: bytes, *, source: str = "") -> ChromeTrace:
    """Read a Chrome trace.

    What this package wrote comes back as it was. Of other tools' files, processes become planes and threads lines;
    spans told by two events become one (those without an end last until the end of the trace); counters become events
    without duration on a line `Counters`, their values as stats; arrows become the stats `_p` and `_c`, of which
    `flows` makes them again. Numbers that are written as texts are numbers. Events that cannot be read are left out, with a
    notice. TensorFlow's old timelines get the names of planes and ops that the analyses know.

    Args:
        content: of the file, unpacked.
        source: what to call the file in an error message.

    Raises:
        EmptyTraceError: there are no bytes.
        TraceError: it is no Chrome trace, a damaged one, or one without any event that can be read; the message says what.
    """
    where = source or "The trace"
    if not content:
        raise EmptyTraceError(f"{where} is empty (0 bytes): write it again.")
    try:
        return _Reader(content).read()
    except TraceError as error:
        raise type(error)(f"{where} is no readable Chrome trace: {error}.") from error.__cause__
    except RecursionError as error:
        raise TraceError(f"{where} is no readable Chrome trace: its args are nested too deeply.") from error


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._document = Document(content)
        self._strings = StringTable()
        self.warnings: list[str] = []

    def read(self) -> ChromeTrace:
        marker = self._marker()
        unsigned = marker.unsigned if marker else frozenset()
        collector = Collector(self._strings, unsigned=unsigned, is_own=marker is not None)
        for batch in self._document.events():
            collector.add(batch)
        found = collector.found
        if n_ends := match_edges(found):
            self.warnings.append(f"{n_ends} ends of spans without a begin were left out.")
        found.left_out.check_some(found_any=bool(found.n_events or found.ignored))
        self.warnings += found.left_out.notices
        if found.n_negative:
            self.warnings.append(f"{found.n_negative:,} durations below 0 are shown as 0.")
        if found.n_values_left_out:
            self.warnings.append(
                f"{found.n_values_left_out:,} values of counters are no finite numbers and were left out."
            )
        if found.ignored:
            phases = ", ".join(f"{phase} ({n})" for phase, n in found.ignored.most_common(5))
            self.warnings.append(f"Events of phases that mean nothing here were left out: {phases}.")
        if found.left_out.is_of_xprof and self._is_unlinked():
            self.warnings.append(_UNLINKED)
        if self._document.is_truncated:
            self.warnings.append("The file ends inside its list of events: the program that wrote it was stopped.")
        tracks = own_tracks(found, marker) if marker else foreign_tracks(found)
        return ChromeTrace(self._trace(found, tracks, marker), marker.saved if marker else None)

    def _marker(self) -> Marker | None:
        return read_marker(self._document.find_marker(), self._strings)

    def _is_unlinked(self) -> bool:
        """Whether nothing says to which step work on other threads belongs: no event has the number of its run or group, or
        XProf's viewer put the work of several runs into one event."""
        texts = set(self._strings.texts)
        return "ThreadpoolListener::Region" in texts or not texts & {"run_id", "group_id"}

    def _trace(self, found: Collected, tracks: Tracks, marker: Marker | None) -> Trace:
        origin_ns, start_ps, shift_ps = self._starts(found, is_own=marker is not None)
        duration_ps = self._durations(found, start_ps)
        line = tracks.line_of_track[np.array(found.track, np.int64)]
        if found.flows:
            n_lost = link_flows(
                found,
                self._strings,
                start_ps=start_ps,
                duration_ps=duration_ps,
                line=line,
                line_of_track=tracks.line_of_track,
                shift_ps=shift_ps,
            )
            if n_lost:
                self.warnings.append(f"{n_lost} arrows end in no event, or beside another one, and were left out.")
        planes = np.array([one.plane for one in tracks.lines], np.int32)
        plane = planes[line] if len(planes) else np.empty(0, np.int32)
        metadata = event_metadata(np.array(found.name_id, np.int64), plane, marker.metadata if marker else ())
        table = self._table(found, start_ps, duration_ps, line, metadata, marker)
        return assemble(
            table,
            metadata.table,
            planes=tracks.planes,
            lines=tracks.lines,
            sessions=marker.sessions if marker else (session_around(table, host=""),),
            origin_ns=marker.origin_ns if marker else origin_ns,
            strings=self._strings.texts,
            blobs=self._strings.blobs,
            warnings=(*(marker.warnings if marker else ()), *self.warnings),
        )

    def _starts(self, found: Collected, *, is_own: bool) -> tuple[int, Int64, int]:
        """Unix time of the origin (0: unknown), starts after it, and what was subtracted from them."""
        whole, rest = np.array(found.start_us, np.int64), np.array(found.start_rest_ps, np.int64)
        first_us = 0
        if not is_own and len(whole) and not -MAX_PS <= int(whole.min()) * 1_000_000 <= MAX_PS // 2:
            first_us = int(whole.min())
            whole = np.where(whole > first_us + MAX_PS, MAX_PS, whole - first_us)
        limit_us = MAX_PS // 1_000_000 - 1
        cut = np.clip(whole, -limit_us, limit_us)
        if n_cut := int(np.count_nonzero(cut != whole)):
            self.warnings.append(f"{n_cut} starts over 13 days from the first were cut to that range.")
        return first_us * 1000 if first_us in _UNIX_US else 0, cut * 1_000_000 + rest, first_us * 1_000_000

    def _durations(self, found: Collected, start_ps: Int64) -> Int64:
        duration_ps = np.array(found.duration_ps, np.int64)
        is_unfinished = duration_ps == UNFINISHED
        cut = np.clip(duration_ps, 0, MAX_PS)
        if n_cut := int(np.count_nonzero(duration_ps > MAX_PS)):
            self.warnings.append(f"{n_cut} durations over 13 days were cut to that range.")
        if n_unfinished := int(np.count_nonzero(is_unfinished)):
            end_ps = int((start_ps + cut).max())
            cut[is_unfinished] = np.minimum(end_ps - start_ps[is_unfinished], MAX_PS)
            self.warnings.append(f"{n_unfinished} spans have no end: they are shown until the end of the trace.")
        return cut

    def _table(
        self,
        found: Collected,
        start_ps: Int64,
        duration_ps: Int64,
        line: np.ndarray[tuple[int], np.dtype[np.int32]],
        metadata: EventMetadata,
        marker: Marker | None,
    ) -> EventTable:
        n = found.n_events
        row = np.array(found.stat_row, np.int64)
        key, kind = np.array(found.stat_key, np.int32), np.array(found.stat_kind, np.uint8)
        bits = np.array(found.stat_bits, np.uint64)
        kept = not_shared(metadata, row, key, kind, bits)
        kept = kept[np.argsort(row[kept], kind="stable")]  # those of an end came after those of other events
        n_occurrences = np.zeros(n, np.int32)
        n_occurrences[list(found.n_occurrences)] = list(found.n_occurrences.values())
        return in_order(
            EventTable(
                start_ps=start_ps,
                duration_ps=duration_ps,
                line_id=line,
                metadata_id=metadata.row_of_event,
                session_id=marker.session_of(n) if marker else np.zeros(n, np.int32),
                n_occurrences=n_occurrences,
                stats=packed_stats(Stats(np.bincount(row[kept], minlength=n), key[kept], kind[kept], bits[kept])),
            )
        )
