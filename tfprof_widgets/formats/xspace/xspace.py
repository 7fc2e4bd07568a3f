"""The bytes of an XSpace file (`*.xplane.pb`) -> a Trace."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...errors import EmptyTraceError, TraceError
from ...trace.assembly import assemble, session_around
from ...trace.bounds import decoded
from ...trace.event_metadata import MetadataRow, joined_metadata, metadata_table
from ...trace.event_table import EventTable, EventTableBuilder, in_order
from ...trace.stat_table import Stats
from ...trace.times import MAX_PS
from ...trace.trace import Int64, Line, Plane, Session, Trace
from ..wire.content import BytesContent, Content
from ..wire.varints import PADDING
from .clock import Clock, read_clock
from .event_columns import event_columns
from .event_framing import EventBytes
from .parts import LinePart, PlanePart, SpaceParts, space_parts
from .plane_tables import IdMap, event_metadata, plane_stats, resolved_columns, stat_name_map
from .raw_strings import RawStrings

_BLOCK_EVENTS = 2**14
"""Lines are decoded together until they hold this many events: enough to make NumPy's overhead vanish, few enough to
keep the temporary arrays small beside the result."""

_Block = list[tuple[int, int, EventBytes]]
"""Serialised events of some lines of one plane: the number of the line, when it starts, and its events."""


def read_xspace(data: bytes | Content, *, host: str = "", source: str = "") -> Trace:
    """Read an XSpace.

    Args:
        data: content of the file; of a `FileContent` only pieces are in memory at a time.
        host: name of the host that wrote it; by default the one the file names, if it names one.
        source: what to call the file in an error message.

    Returns:
        A trace with one session. Lines of the same id in one plane are one line.
        An XSpace without events gives a trace without events.

    Raises:
        EmptyTraceError: there are no bytes.
        TraceError: the bytes are truncated or not an XSpace; the message says where and what.

    Source: semantics 1.1-1.4.
    """
    where = source or "The trace"
    content = BytesContent(data) if isinstance(data, bytes) else data
    if not content.size:
        raise EmptyTraceError(f"{where} is empty (0 bytes): the capture wrote nothing. Capture again.")
    try:
        reader = _Reader()
        reader.read(space_parts(content), host)
        return reader.trace()
    except TraceError as error:
        raise type(error)(f"{where}: {error}") from error.__cause__


class _Reader:
    """Collects the tables of one XSpace, plane by plane."""

    def __init__(self) -> None:
        self.strings = RawStrings()
        self.metadata = [metadata_table([MetadataRow(-1, 0)])]
        """The first row stands for ids that no plane knows."""
        self.columns = EventTableBuilder()
        self.planes: list[Plane] = []
        self.lines: list[Line] = []
        self.n_out_of_range = 0
        self.host = ""
        self.warnings: tuple[str, ...] = ()

    def read(self, space: SpaceParts, host: str) -> None:
        texts = {
            name: tuple(map(decoded, getattr(space.message, name))) for name in ("hostnames", "errors", "warnings")
        }
        self.host = host or (texts["hostnames"][0] if texts["hostnames"] else "")
        self.warnings = texts["errors"] + texts["warnings"]
        stat_names = [stat_name_map(plane.message.stat_metadata, self.strings) for plane in space.planes]
        for plane, names in zip(space.planes, stat_names, strict=True):
            stats = plane_stats(plane.message.stats, names, self.strings)
            self.planes.append(Plane(decoded(plane.message.name), self.host, stats))
        environment = next((plane.stats for plane in self.planes if plane.name == "Task Environment"), {})
        self.clock = read_clock(space.planes, environment)
        for i, (plane, names) in enumerate(zip(space.planes, stat_names, strict=True)):
            self._read_plane(i, plane, names)

    def _read_plane(self, index: int, plane: PlanePart, names: IdMap) -> None:
        n_rows = sum(len(one.name_id) for one in self.metadata)
        metadata, metadata_rows = event_metadata(index, plane.message.event_metadata, n_rows, names, self.strings)
        self.metadata.append(metadata)
        for block in self._blocks(index, plane):
            self._take_up(block, plane, metadata_rows, names)

    def _blocks(self, index: int, plane: PlanePart) -> Iterator[_Block]:
        """The events of a plane, some lines or a part of a line at a time; takes up its lines on the way."""
        line_of_id: dict[int, int] = {}
        block, n_events = _Block(), 0
        for line in plane.lines:
            line_id = line_of_id.setdefault(line.id, len(self.lines))
            if line_id == len(self.lines):
                self.lines.append(Line(index, line.id, decoded(line.name), decoded(line.display_name)))
            start_ps = self._line_start_ps(line)
            for events in line.events():
                for first in range(0, len(events), _BLOCK_EVENTS):
                    block.append((line_id, start_ps, events.part(first, min(first + _BLOCK_EVENTS, len(events)))))
                    n_events += len(block[-1][2])
                    if n_events >= _BLOCK_EVENTS:
                        yield block
                        block, n_events = _Block(), 0
        if n_events:
            yield block

    def _line_start_ps(self, line: LinePart) -> int:
        start_ps = self.clock.line_start_ps(line.timestamp_ns)
        if abs(start_ps) > MAX_PS:
            self.n_out_of_range += line.n_events
        return max(-MAX_PS, min(start_ps, MAX_PS))

    def _take_up(self, block: _Block, plane: PlanePart, metadata_rows: IdMap, names: IdMap) -> None:
        try:
            events = event_columns(_joined(block), self.strings)
        except TraceError as error:
            where = f"plane {decoded(plane.message.name)!r}, lines {[line_id for line_id, _, _ in block]}"
            raise TraceError(f"{where}: {error}") from error.__cause__
        n_events = [len(part) for _, _, part in block]
        line_id = np.repeat(np.array([line_id for line_id, _, _ in block], np.int32), n_events)
        line_start = np.repeat(np.array([start_ps for _, start_ps, _ in block], np.int64), n_events)
        stats = events.stats
        kind, bits = resolved_columns(stats.kind, stats.bits, names)
        self.columns.add(
            {
                "start_ps": line_start + self._in_range(events.offset_ps, low=-MAX_PS),
                "duration_ps": self._in_range(events.duration_ps, low=0),
                "line_id": line_id,
                "metadata_id": metadata_rows.of(events.metadata_id),
                "session_id": np.zeros(len(line_id), np.int32),
                "n_occurrences": np.clip(events.n_occurrences, 0, 2**31 - 1).astype(np.int32),
            },
            Stats(stats.n_stats, names.of(stats.key), kind, bits),
        )

    def _in_range(self, times_ps: Int64, *, low: int) -> Int64:
        """The times, those beyond what a trace can hold moved to its end and counted."""
        if not len(times_ps) or (times_ps.min() >= low and times_ps.max() <= MAX_PS):
            return times_ps
        clipped = np.clip(times_ps, low, MAX_PS)
        self.n_out_of_range += int(np.count_nonzero(clipped != times_ps))
        return clipped

    def trace(self) -> Trace:
        """The trace of all that was read."""
        table = in_order(self.columns.table())
        warnings = self.warnings
        if self.n_out_of_range:
            warnings += (f"{self.n_out_of_range} times were negative or over 13 days long and were cut to that range.",)
        return assemble(
            table,
            joined_metadata(self.metadata),
            planes=self.planes,
            lines=self.lines,
            sessions=(_session(self.host, self.clock, table),),
            origin_ns=self.clock.origin_ns,
            strings=self.strings.texts,
            blobs=self.strings.blobs,
            warnings=warnings,
        )


def _joined(block: _Block) -> EventBytes:
    """All events one after the other, and `PADDING`."""
    before = np.cumsum([0, *(len(part.raw) for _, _, part in block)]).tolist()
    return EventBytes(
        b"".join([*(part.raw for _, _, part in block), PADDING]),
        np.concatenate([part.begin + n for (_, _, part), n in zip(block, before, strict=False)]),
        np.concatenate([part.end + n for (_, _, part), n in zip(block, before, strict=False)]),
    )


def _session(host: str, clock: Clock, table: EventTable) -> Session:
    """The window in which the events lie: what the profiler noted, else the events' own."""
    if clock.stop_ps is not None:
        return Session(host, 0, clock.stop_ps)
    return session_around(table, host)
