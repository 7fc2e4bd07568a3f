"""What was kept of each host's events -> the trace of a reduced profile: steps, what they were made of, the longest events.

merge_low_detail(summaries, clock, steps) -> LowDetail
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...trace.assembly import assemble
from ...trace.event_metadata import event_metadata
from ...trace.event_table import EventTable, in_order
from ...trace.stat_table import Stats, packed_stats
from ...trace.string_table import StringTable
from ...trace.trace import DERIVED_LINE_BASE, Int64, Line, Plane, SmallInt, Trace, small_int
from ..steps.steps import CATEGORY_LABELS
from .columns import joined
from .host_summary import HostSummary
from .merged_clock import Clock
from .merged_steps import MergedSteps

STEPS, STEP_TIME, LONGEST = "Steps", "Step time", "Longest events"
"""The lines of the trace. The first two are made of the steps, not of events, and are therefore derived."""
_LINE_IDS = (DERIVED_LINE_BASE, DERIVED_LINE_BASE + 1, 1)
_ALL = ("Steps", "Step time", "Longest events")


@dataclass(frozen=True, eq=False, repr=False)
class LowDetail:
    """The trace, and the step of each of its events."""

    trace: Trace
    event_step: SmallInt


def merge_low_detail(summaries: Sequence[HostSummary], clock: Clock, steps: MergedSteps) -> LowDetail:
    """Lay out what was kept: on each host's plane its steps, their composition and its longest events, on others the last."""
    planes, plane_of = _planes(summaries)
    home = _home_planes(planes)
    strings = StringTable()
    events = _Events.joined(
        _step_events(steps, strings, home),
        _piece_events(steps, strings, home),
        _long_events(summaries, clock, steps, strings, plane_of),
    )
    keys, line = np.unique(events.plane * len(_ALL) + events.kind, return_inverse=True)
    lines = [_line(*divmod(key, len(_ALL))) for key in keys.tolist()]
    metadata = event_metadata(events.name, events.plane.astype(np.int32))
    n = len(events.start_ps)
    nothing = np.empty(0, np.int64)
    table = in_order(
        EventTable(
            start_ps=events.start_ps,
            duration_ps=events.duration_ps,
            line_id=line.reshape(-1).astype(np.int32),
            metadata_id=metadata.row_of_event,
            session_id=events.session.astype(np.int32),
            # The step travels in a column that is 0 for all timed events, so that sorting takes it along.
            n_occurrences=(events.step + 1).astype(np.int32),
            stats=packed_stats(
                Stats(
                    np.zeros(n, np.int64), nothing.astype(np.int32), nothing.astype(np.uint8), nothing.astype(np.uint64)
                )
            ),
        )
    )
    event_step: SmallInt = (table.n_occurrences - 1).astype(small_int(len(steps.frame)))
    trace = assemble(
        replace(table, n_occurrences=np.broadcast_to(np.int32(0), n)),
        metadata.table,
        planes=planes,
        lines=lines,
        sessions=[
            replace(session, start_ps=session.start_ps + shift, stop_ps=session.stop_ps + shift)
            for one, shift in zip(summaries, clock.shift_ps, strict=True)
            for session in one.sessions
        ],
        origin_ns=clock.origin_ns,
        strings=strings.texts,
        blobs=(),
        warnings=dict.fromkeys([*clock.warnings, *(text for one in summaries for text in one.warnings)]),
    )
    return LowDetail(trace, event_step)


@dataclass(frozen=True, eq=False, repr=False)
class _Events:
    """Columns of events; `kind` is a number of `_ALL`."""

    plane: Int64
    kind: Int64
    name: Int64
    start_ps: Int64
    duration_ps: Int64
    session: Int64
    step: Int64

    @classmethod
    def joined(cls, *parts: _Events) -> _Events:
        """All of them."""
        return cls(**{name: joined([getattr(one, name) for one in parts], np.int64) for name in cls.__annotations__})


def _planes(summaries: Sequence[HostSummary]) -> tuple[list[Plane], list[Int64]]:
    """The planes of all, those of one host and name united; and for each host the number of each of its own."""
    number: dict[tuple[str, str], int] = {}
    planes: list[Plane] = []
    found = []
    for one in summaries:
        own = []
        for plane in one.planes:
            place = number.setdefault((plane.host, plane.name), len(planes))
            if place == len(planes):
                planes.append(plane)
            else:
                planes[place] = replace(plane, stats=plane.stats | planes[place].stats)
            own.append(place)
        found.append(np.array(own, np.int64))
    return planes, found


def _home_planes(planes: Sequence[Plane]) -> dict[str, int]:
    """For each host the plane that its steps are shown on: that of its threads, else its first one."""
    home: dict[str, int] = {}
    for is_wanted in (True, False):
        for place, plane in enumerate(planes):
            if plane.is_host or not is_wanted:
                home.setdefault(plane.host, place)
    return home


def _line(plane: int, kind: int) -> Line:
    return Line(plane, _LINE_IDS[kind], _ALL[kind], "")


def _step_events(steps: MergedSteps, strings: StringTable, home: dict[str, int]) -> _Events:
    frame = steps.frame
    return _Events(
        plane=_of_hosts(frame["host"].tolist(), home),
        kind=np.full(len(frame), _ALL.index(STEPS)),
        name=strings.ids_of(frame["name"].tolist()),
        start_ps=frame["start_ps"].to_numpy(np.int64),
        duration_ps=frame["duration_ps"].to_numpy(np.int64),
        session=frame["session"].to_numpy(np.int64),
        step=np.arange(len(frame)),
    )


def _of_hosts(hosts: Sequence[str], home: dict[str, int]) -> Int64:
    return np.fromiter((home.get(host, 0) for host in hosts), np.int64, len(hosts))


def _piece_events(steps: MergedSteps, strings: StringTable, home: dict[str, int]) -> _Events:
    pieces, frame = steps.pieces, steps.frame
    step = pieces["step"].to_numpy(np.int64)
    labels = strings.ids_of(CATEGORY_LABELS)
    return _Events(
        plane=_of_hosts(frame["host"].tolist(), home)[step],
        kind=np.full(len(step), _ALL.index(STEP_TIME)),
        name=labels[pieces["category"].cat.codes.to_numpy()],
        start_ps=pieces["start_ps"].to_numpy(np.int64),
        duration_ps=pieces["duration_ps"].to_numpy(np.int64),
        session=frame["session"].to_numpy(np.int64)[step],
        step=step,
    )


def _long_events(
    summaries: Sequence[HostSummary], clock: Clock, steps: MergedSteps, strings: StringTable, plane_of: Sequence[Int64]
) -> _Events:
    first_session = np.append(0, np.cumsum([len(one.sessions) for one in summaries]))
    parts = []
    for i, one in enumerate(summaries):  # one turn per host
        long, offset = one.longest, int(steps.offsets[i])
        n_kept = int(steps.offsets[i + 1]) - offset
        has_step = (long.step >= 0) & (long.step < n_kept)
        own = np.append(steps.row[offset : offset + n_kept], -1)[np.where(has_step, long.step, n_kept)]
        parts.append(
            _Events(
                plane=plane_of[i][long.plane],
                kind=np.full(len(long), _ALL.index(LONGEST)),
                name=strings.ids_of(long.name),
                start_ps=long.start_ps + clock.shift_ps[i],
                duration_ps=long.duration_ps,
                session=long.session.astype(np.int64) + first_session[i],
                step=own,
            )
        )
    return _Events.joined(*parts)
