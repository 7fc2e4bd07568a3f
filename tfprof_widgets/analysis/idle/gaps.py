"""Steps -> the stretches in which a device runs no kernel, within steps and between them, charged to their causes.

Source: semantics 3.7, 3.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...trace.trace import Bool, Int64, Trace, UInt8
from ..base.matching import dense_codes
from ..steps.categories import CATEGORY_CODE, PART_OF_TYPE, STEP_CATEGORIES, Part
from ..steps.idle_parts import DeviceWork, HostWork, overlaps, waits_of
from ..steps.member_spans import device_events
from ..steps.step_pieces import Pieces, resolve
from ..steps.step_table import StepTable
from .causes import Causes, causes_of

POSITIONS = ("before", "between", "after", "outside")
_BEFORE, _BETWEEN, _AFTER, _OUTSIDE = range(len(POSITIONS))


@dataclass(frozen=True, eq=False, repr=False)
class Gaps:
    """Gaps of devices, by device, then time, in a row for each cause; columns of equal length."""

    gap: Int64
    """Number of the gap."""
    plane: Int64
    step: Int64
    """Row of the steps table, -1 between steps."""
    position: Int64
    """Index into `POSITIONS`."""
    cause: Int64
    """What the device waited for, an index into `STEP_CATEGORIES`."""
    start_ps: Int64
    """When it began to wait for that."""
    duration_ps: Int64
    """For how long it waited for that, within the gap."""
    gap_ps: Int64
    """How long the whole gap is."""
    kernel: Int64
    """What ends the gap, a row of the trace; -1 for nothing."""

    def __len__(self) -> int:
        return len(self.gap)


def find_gaps(trace: Trace, types: UInt8, table: StepTable, work: HostWork) -> Gaps:
    """Find the gaps of all devices that ran anything.

    A copy between host and device ends no gap: it is one of its causes.

    Args:
        trace: the trace.
        types: the result of `classify`.
        table: its steps.
        work: what hosts did, see `host_work`.
    """
    events = device_events(trace, types)
    device, n = dense_codes(trace.plane_id[events], trace.session_id[events])
    launches = DeviceWork.of(trace, events, device)
    start, end, parts = trace.start_ps[launches.event], trace.ends(launches.event), PART_OF_TYPE[types[launches.event]]
    windows = _windows(trace, table, launches, n)
    pair, span = overlaps(windows.device, windows.start_ps, windows.end_ps, launches.owner, start, end)
    limits = {"step_start_ps": windows.start_ps, "step_end_ps": windows.end_ps}
    pieces = resolve(pair, start[span], end[span], parts[span], **limits)
    return _gaps(trace, pieces, windows, launches, launches.where(_is_kernel(parts)), work)


class _Windows(NamedTuple):
    """Time in steps and between them, by device, then start."""

    device: Int64
    """The owner of its work."""
    step: Int64
    """-1 between steps."""
    start_ps: Int64
    end_ps: Int64


def _windows(trace: Trace, table: StepTable, launches: DeviceWork, n: int) -> _Windows:
    """The windows of `n` devices, each in one session."""
    found = [_Windows(*(np.empty(0, np.int64),) * 4)]
    for device in range(n):  # bounded by devices and sessions
        events = launches.event[slice(*np.searchsorted(launches.owner, [device, device + 1]))]
        session, first_ps, last_ps = trace.session_id[events[0]], trace.start_ps[events[0]], trace.ends(events).max()
        step, start, end = _of_session(table, int(session), int(first_ps), int(last_ps))
        found.append(_Windows(np.full(len(step), device), step, start, end))
    return _Windows(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _of_session(table: StepTable, session: int, first_ps: int, last_ps: int) -> tuple[Int64, Int64, Int64]:
    """Step, start and end of the steps of a session, and with step -1 of what of a span of time lies between them.

    Where steps overlap, the time of both is of the first.
    """
    steps = np.flatnonzero(table.session == session)
    steps = steps[np.argsort(table.start_ps[steps], kind="stable")]
    begins, high = table.start_ps[steps], table.end_ps[steps]
    reach = np.maximum.accumulate(high)
    low = np.append(begins[:1], np.maximum(begins[1:], reach[:-1]))
    between = np.maximum(first_ps, np.append(first_ps, reach)), np.minimum(last_ps, np.append(begins, last_ps))
    step = np.append(steps, np.full(len(reach) + 1, -1))
    start, end = np.append(low, between[0]), np.append(high, between[1])
    order = np.argsort(start, kind="stable")
    order = order[end[order] > start[order]]
    return step[order], start[order], end[order]


def _is_kernel(parts: UInt8) -> Bool:
    """Which parts are work of a device that leaves no gap."""
    return np.asarray(parts >= Part.DEVICE_TO_DEVICE)


def _gaps(
    trace: Trace, pieces: Pieces, windows: _Windows, launches: DeviceWork, kernels: DeviceWork, work: HostWork
) -> Gaps:
    """Put pieces of windows together to gaps.

    Args:
        trace: the trace.
        pieces: of `windows`.
        windows: of all devices.
        launches: what the devices ran.
        kernels: what of it ends gaps.
        work: what hosts did.
    """
    window = pieces.step
    is_busy = _is_kernel(pieces.span_type)
    begins = ~is_busy & (np.append(True, is_busy[:-1]) | (window != np.append(-1, window[:-1])))[: len(window)]
    rows = np.flatnonzero(~is_busy)
    gap = np.cumsum(begins)[rows] - 1
    first = rows[np.flatnonzero(np.diff(gap, prepend=-1))]
    last = rows[np.flatnonzero(np.diff(gap, append=len(rows) + 1))]
    start, end, of_window = pieces.start_ps[first], pieces.end_ps[last], window[first]
    step, device = windows.step[of_window], windows.device[of_window]
    n_before = np.cumsum(is_busy)
    n_busy = np.bincount(window, is_busy, minlength=len(windows.step)).astype(np.int64)
    done = np.append(0, np.cumsum(n_busy))[of_window]
    is_before, is_after = n_before[first] == done, n_before[first] == done + n_busy[of_window]
    position = np.where(is_before, _BEFORE, np.where(is_after, _AFTER, _BETWEEN))
    position[step < 0] = _OUTSIDE
    plane = trace.plane_id[launches.event[np.searchsorted(launches.owner, device)]]
    causes = _causes(trace, pieces, rows, windows, launches, work)
    code = gap[causes.wait] * len(STEP_CATEGORIES) + causes.cause
    order = np.lexsort((causes.start_ps, code))
    begin = np.flatnonzero(np.diff(code[order], prepend=-1))
    own = code[order][begin] // len(STEP_CATEGORIES)
    return Gaps(
        gap=own,
        plane=plane.astype(np.int64)[own],
        step=step[own],
        position=position[own],
        cause=causes.cause[order][begin],
        start_ps=causes.start_ps[order][begin],
        duration_ps=np.add.reduceat(causes.duration_ps[order], begin),
        gap_ps=(end - start)[own],
        kernel=np.append(kernels.event, -1)[kernels.after(trace, device, end)][own],
    )


def _causes(
    trace: Trace, pieces: Pieces, rows: Int64, windows: _Windows, launches: DeviceWork, work: HostWork
) -> Causes:
    """What some pieces of gaps are charged to; the `wait` of each is a number of these pieces."""
    window, start, end = pieces.step[rows], pieces.start_ps[rows], pieces.end_ps[rows]
    idle, copy = (np.flatnonzero((pieces.span_type[rows] == Part.OTHER) == is_idle) for is_idle in (True, False))
    following = launches.after(trace, windows.device[window[idle]], end[idle])
    step = windows.step[window[idle]]
    waits = waits_of(trace, launches, following, step=step, start_ps=start[idle], end_ps=end[idle])
    told = causes_of(work, waits)
    return Causes(
        wait=np.append(copy, idle[waits.stretch[told.wait]]),
        cause=np.append(CATEGORY_CODE[pieces.span_type[rows[copy]]], told.cause),
        start_ps=np.append(start[copy], told.start_ps),
        duration_ps=np.append((end - start)[copy], told.duration_ps),
    )
