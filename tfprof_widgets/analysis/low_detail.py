"""Trace of one host -> the few events of it that travel; those of all hosts -> one trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ..trace.arrays import Bool, Int64
from ..trace.building import assemble, event_metadata, merge_traces
from ..trace.stats import Stats, packed_stats
from ..trace.trace import DERIVED_LINE_BASE, EventTable, Line, Plane, StringTable, Trace, in_order
from .ops.executions import Occurrences
from .steps.categories import CATEGORY_LABELS
from .steps.spans import kinds_of
from .steps.steps import STEP_TIME, Steps
from .summaries import MOST

STEPS, LONGEST = "Steps", "Longest events"
"""The lines of the trace. The first two are made of the steps, not of events, and are therefore derived."""
_LINES = ((DERIVED_LINE_BASE, STEPS), (DERIVED_LINE_BASE + 1, STEP_TIME), (1, LONGEST))


def low_detail(trace: Trace, steps: Steps, occurrences: Occurrences, pieces: pd.DataFrame) -> Trace:
    """The longest events of each plane, with steps and `pieces`; `n_occurrences` is 1 and the row of its step, 0 for none."""
    frame = steps.frame.iloc[: MOST.steps]
    strings = StringTable()
    planes = _home_planes(trace.planes)
    default = next(iter(planes.values()), 0)
    home = np.array([planes.get(one.host, default) for one in trace.sessions])[frame["session"].to_numpy()]
    long = _longest_events(trace, steps, occurrences)
    long_step = steps.event_step[long].astype(np.int64)
    step = pieces["step"].to_numpy(np.int64)
    parts = [
        frame[["start_ps", "duration_ps", "session", "step"]].assign(
            plane=home, line=0, name=strings.ids_of(frame["name"].tolist())
        ),
        pieces[["start_ps", "duration_ps", "step"]].assign(
            plane=home[step],
            line=1,
            name=strings.ids_of(CATEGORY_LABELS)[pieces["category"]],
            session=frame["session"].to_numpy()[step],
        ),
        pd.DataFrame(
            {
                "start_ps": trace.start_ps[long],
                "duration_ps": trace.duration_ps[long],
                "session": trace.session_id[long],
                "step": np.where(long_step < len(frame), long_step, -1),
                "plane": trace.plane_id[long].astype(np.int64),
                "line": 2,
                "name": strings.ids_of(trace.strings[i] for i in trace.name_id[long].tolist()),
            }
        ),
    ]
    return _assembled(trace, pd.concat(parts), strings)


def _home_planes(planes: Sequence[Plane]) -> dict[str, int]:
    """For each host the plane that its steps are shown on: that of its threads, else its first one."""
    home: dict[str, int] = {}
    for i in sorted(range(len(planes)), key=lambda i: not planes[i].is_host):
        home.setdefault(planes[i].host, i)
    return home


def _with_steps_on(trace: Trace, home: Mapping[str, Plane]) -> Trace:
    """The same with its steps on these planes of their hosts, of which another file may tell."""
    planes, lines = list(trace.planes), list(trace.lines)
    for i, line in enumerate(lines):
        plane = home[planes[line.plane].host]
        if line.is_derived and planes[line.plane].name != plane.name:
            lines[i] = replace(line, plane=len(planes))
            planes.append(plane)
    return replace(trace, planes=tuple(planes), lines=tuple(lines))


def _assembled(whole: Trace, events: pd.DataFrame, strings: StringTable) -> Trace:
    columns = {str(name): events[name].to_numpy(np.int64) for name in events}
    keys, line = np.unique(columns["plane"] * len(_LINES) + columns["line"], return_inverse=True)
    metadata = event_metadata(columns["name"], columns["plane"].astype(np.int32))
    n, nothing = len(line), np.empty(0, np.int64)
    none = Stats(np.zeros(n, np.int64), nothing.astype(np.int32), nothing.astype(np.uint8), nothing.astype(np.uint64))
    table = EventTable(
        start_ps=columns["start_ps"],
        duration_ps=columns["duration_ps"],
        line_id=line.astype(np.int32),
        metadata_id=metadata.row_of_event,
        session_id=columns["session"].astype(np.int32),
        n_occurrences=(columns["step"] + 1).astype(np.int32),
        stats=packed_stats(none),
    )
    return assemble(
        in_order(table),
        metadata.table,
        planes=whole.planes,
        lines=[Line(key // len(_LINES), *_LINES[key % len(_LINES)], "") for key in keys.tolist()],
        sessions=whole.sessions,
        origin_ns=whole.origin_ns,
        strings=strings.texts,
        blobs=(),
        warnings=whole.warnings,
    )


def _longest_events(trace: Trace, steps: Steps, occurrences: Occurrences) -> Int64:
    """Choose executions of ops, the longest first; where a plane has too few, other events of it that are no markers of steps."""
    is_op = np.zeros(trace.n_events, np.bool_)
    is_op[occurrences.event] = True
    counted: Bool = ~trace.on_lines([line.is_derived for line in trace.lines]) & (trace.n_occurrences == 0)
    counted &= trace.duration_ps > 0
    marks = np.unique(kinds_of(steps.frame["name"])).tolist()
    counted &= ~trace.names_matching([str(name) for name in marks])
    rows = [np.empty(0, np.int64)]
    for plane in range(len(trace.planes)):  # one turn per plane
        part = trace.events_of_plane(plane)
        own = part.start + np.flatnonzero(counted[part])
        rows.append(_longest(own[is_op[own]], trace.duration_ps, MOST.longest))
        rows.append(_longest(own[~is_op[own]], trace.duration_ps, MOST.longest - len(rows[-1])))
    return np.concatenate(rows)


def _longest(rows: Int64, duration_ps: Int64, n: int) -> Int64:
    if len(rows) > n:
        rows = rows[np.argsort(-duration_ps[rows], kind="stable")[: max(n, 0)]]
    return rows


def merge_low_detail(traces: Sequence[Trace], n_steps: Sequence[int]) -> tuple[Trace, Int64]:
    """One trace of those of all hosts, and for each event its step, -1 for none."""
    planes = [plane for one in traces for plane in one.planes]
    home = {host: planes[i] for host, i in _home_planes(planes).items()}
    moved = []
    for one, first in zip(traces, np.cumsum([0, *n_steps]).tolist(), strict=False):
        step = np.where(one.n_occurrences > 0, one.n_occurrences + first, 0)
        moved.append(replace(_with_steps_on(one, home), n_occurrences=step.astype(np.int32)))
    merged = merge_traces(moved)
    none = np.broadcast_to(np.int32(0), merged.n_events)
    return replace(merged, n_occurrences=none), merged.n_occurrences.astype(np.int64) - 1
