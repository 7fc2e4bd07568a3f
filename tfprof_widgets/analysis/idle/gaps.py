"""Steps -> the stretches in which a device runs no kernel, within steps and between them, charged to their causes.

Source: semantics 3.7, 3.8.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ...trace.trace import Bool, Int64, Trace, UInt8
from ..base.matching import dense_codes, sum_by
from ..steps.categories import CATEGORY_CODE, PART_OF_TYPE, STEP_CATEGORIES, Part
from ..steps.composition import charged_pieces
from ..steps.idle_parts import DeviceWork, HostWork, overlaps
from ..steps.member_spans import device_events
from ..steps.step_pieces import Pieces, resolve
from ..steps.step_table import StepTable

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
    every = DeviceWork.of(trace, device_events(trace, types))
    owner, n = dense_codes(trace.plane_id[every.event], trace.session_id[every.event])
    launches = (DeviceWork(every.event[owner == k], every.call[owner == k]) for k in range(n))
    found = [_of_device(trace, types, table, work, one) for one in launches]  # bounded by devices and sessions
    none = np.empty(0, np.int64)
    columns = {one.name: [none, *(getattr(gaps, one.name) for gaps in found)] for one in fields(Gaps)}
    first = np.cumsum([0, *(int(gaps.gap.max(initial=-1)) + 1 for gaps in found)])
    columns["gap"] = [none, *(gaps.gap + k for gaps, k in zip(found, first.tolist(), strict=False))]
    return Gaps(**{name: np.concatenate(column) for name, column in columns.items()})


def _of_device(trace: Trace, types: UInt8, table: StepTable, work: HostWork, launches: DeviceWork) -> Gaps:
    """The gaps of one device in one session, of what it ran there."""
    events, session = launches.event, int(trace.session_id[launches.event[0]])
    work = work.of_session(session, table.session)
    step, low, high = _windows(table, session, int(trace.start_ps[events[0]]), int(trace.ends(events).max()))
    one = np.zeros(len(step), np.int64)
    window, span = overlaps(one, low, high, np.zeros(len(events), np.int64), trace.start_ps[events], trace.ends(events))
    rows, limits = events[span], {"step_start_ps": low, "step_end_ps": high}
    working = resolve(window, trace.start_ps[rows], trace.ends(rows), PART_OF_TYPE[types[rows]], **limits)
    pieces = charged_pieces(trace, working, work, launches, session=one + session, step=step)
    kernels = events[_is_kernel(PART_OF_TYPE[types[events]])]
    return _gaps(trace, pieces, kernels, step, int(trace.plane_id[events[0]]))


def _windows(table: StepTable, session: int, first_ps: int, last_ps: int) -> tuple[Int64, Int64, Int64]:
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


def _gaps(trace: Trace, pieces: Pieces, kernels: Int64, step: Int64, plane: int) -> Gaps:
    """Put pieces of windows together to gaps.

    Args:
        trace: the trace.
        pieces: of windows that are of `step`.
        kernels: what ends gaps, by start.
        step: of each window.
        plane: of the device.
    """
    window = pieces.step
    is_busy = _is_kernel(pieces.span_type)
    begins = ~is_busy & (np.append(True, is_busy[:-1]) | (window != np.append(-1, window[:-1])))[: len(window)]
    rows = np.flatnonzero(~is_busy)
    gap = np.cumsum(begins)[rows] - 1
    first = rows[np.flatnonzero(np.diff(gap, prepend=-1))]
    last = rows[np.flatnonzero(np.diff(gap, append=len(rows) + 1))]
    start, end = pieces.start_ps[first], pieces.end_ps[last]
    n_before = np.cumsum(is_busy)
    n_busy = np.bincount(window, is_busy, minlength=len(step)).astype(np.int64)
    done = np.append(0, np.cumsum(n_busy))[window[first]]
    is_before, is_after = n_before[first] == done, n_before[first] == done + n_busy[window[first]]
    position = np.where(is_before, _BEFORE, np.where(is_after, _AFTER, _BETWEEN))
    position[step[window[first]] < 0] = _OUTSIDE
    at = np.searchsorted(trace.start_ps[kernels], end)
    code = gap * len(STEP_CATEGORIES) + CATEGORY_CODE[pieces.span_type[rows]].astype(np.int64)
    key, begin, of_key = np.unique(code, return_index=True, return_inverse=True)
    own = key // len(STEP_CATEGORIES)
    return Gaps(
        gap=own,
        plane=np.full(len(key), plane, np.int64),
        step=step[window[first]][own],
        position=position[own],
        cause=key % len(STEP_CATEGORIES),
        start_ps=pieces.start_ps[rows[begin]],
        duration_ps=sum_by(of_key, (pieces.end_ps - pieces.start_ps)[rows], len(key)),
        gap_ps=(end - start)[own],
        kernel=np.append(kernels, -1)[at][own],
    )
