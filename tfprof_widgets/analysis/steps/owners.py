"""Steps -> `Attribution`: which event had each stretch of a step, and of the time between steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...trace.arrays import Bool, Float64, Int64, SmallInt
from ...trace.trace import Trace
from ..common import Stretches, moments_of
from ..events import nearest_marked
from ..grouping import within_data
from .categories import (
    CATEGORY_CODE,
    PART_OF_TYPE,
    STEP_CATEGORIES,
    DeviceWork,
    Part,
    tpu_span_types,
)
from .spans import SpanType, StepTable, device_events, sessions_with_device
from .steps import TracedSteps, device_spans, table_of, tpu_parts

OUTSIDE = len(STEP_CATEGORIES)
"""The category of what lies between steps and around them."""
CATEGORIES = (*STEP_CATEGORIES, "outside")
_OF_HOST = tuple(STEP_CATEGORIES.index(name) for name in ("dispatch", "kernel_launch", "sync", "other"))
"""What of a device's idle time goes to the kernel that it waits for."""
_OF_DEVICE = tuple(STEP_CATEGORIES.index(f"device_{name}") for name in ("compute", "to_device", "collectives"))
_NAMED = (Part.HOST_COMPUTE, Part.INPUT, Part.COMPILE, Part.CHECKPOINT)
"""What hosts do under the name of an event."""
_N_TIERS, _BITS = 3, 20


class _Spans(NamedTuple):
    """Runs that may have had time of a step."""

    step: Int64
    category: Int64
    event: Int64
    """The row of the trace that names it: of a run within an op the op's."""
    start_ps: Int64
    end_ps: Int64
    tier: Int64
    """Of those present the highest have the instant."""
    parent: Int64
    """The span of the same step, category and tier that encloses it, -1 for none."""


@dataclass(frozen=True, eq=False, repr=False)
class Attribution:
    """Stretches by step and category, then time; arrays of equal length."""

    step: Int64
    """Row of the steps table, -1 between steps."""
    category: Int64
    """Index into `CATEGORIES`."""
    start_ps: Int64
    end_ps: Int64
    time_ps: Int64
    """What of the step it had."""
    event: Int64
    """The row of the trace that had it, or that it waited for; -1 for none."""
    is_wait: Bool
    op: Int64
    """The framework op of each, a row of the table of `op_shares`; -1 for none."""

    def __len__(self) -> int:
        return len(self.step)

    @cached_property
    def is_at_border(self) -> Bool:
        """Whether a device idles then before its first work of the step, or after the last."""
        works = np.isin(self.category, _OF_DEVICE)
        n_steps = int(self.step.max(initial=-1)) + 2
        first, last = np.full(n_steps, np.iinfo(np.int64).max), np.full(n_steps, -1)
        np.minimum.at(first, self.step[works], self.start_ps[works])
        np.maximum.at(last, self.step[works], self.end_ps[works])
        found: Bool = self.is_wait & ((self.start_ps < first[self.step]) | (self.end_ps > last[self.step]))
        return found


def compute_attribution(trace: Trace, steps: TracedSteps, *, event_unit: SmallInt, event_op: SmallInt) -> Attribution:
    """Give every instant of every step to what had it: ops and kernels that ran share it, idle time goes to what ends it."""
    table, pieces = table_of(steps), _Pieces.of(steps)
    spans = _spans(trace, steps, table, event_unit)
    had_ps, left_ps = _shared(spans, pieces)
    rows, rest = np.flatnonzero(had_ps), np.flatnonzero(left_ps)
    left = _Pieces(*(column[rest] for column in pieces))
    awaited = _awaited(trace, steps, table, left)
    own = _Spans(*(column[rows] for column in spans))
    begin, until = _between(trace, table)
    none = np.full(len(begin), -1, np.int64)
    columns = (
        np.concatenate([own.step, left.step, none]),
        np.concatenate([own.category, left.category, np.full(len(none), OUTSIDE)]),
        np.concatenate([np.maximum(own.start_ps, table.start_ps[own.step]), left.start_ps, begin]),
        np.concatenate([np.minimum(own.end_ps, table.end_ps[own.step]), left.end_ps, until]),
        np.concatenate([had_ps[rows], left_ps[rest], until - begin]),
        np.concatenate([own.event, awaited, none]),
        np.concatenate([np.zeros(len(rows), np.bool_), awaited >= 0, np.zeros(len(none), np.bool_)]),
    )
    order = np.lexsort((columns[2], columns[1], columns[0]))
    step, category, start, end, time, event, is_wait = (column[order] for column in columns)
    op = np.append(event_op.astype(np.int64), -1)[event]
    return Attribution(step, category, start, end, time, event, is_wait, op)


class _Pieces(NamedTuple):
    """The pieces of all steps, see `Steps.pieces`."""

    step: Int64
    category: Int64
    start_ps: Int64
    end_ps: Int64

    @classmethod
    def of(cls, steps: TracedSteps) -> _Pieces:
        pieces = steps.pieces
        start = pieces["start_ps"].to_numpy(np.int64)
        codes = pieces["category"].cat.codes.to_numpy().astype(np.int64)
        return cls(pieces["step"].to_numpy(np.int64), codes, start, start + pieces["duration_ps"].to_numpy(np.int64))

    @property
    def key(self) -> Int64:
        """A number for each step and category."""
        return self.step * OUTSIDE + self.category


def _spans(trace: Trace, steps: TracedSteps, table: StepTable, event_unit: SmallInt) -> _Spans:
    """What ran in steps: events of hosts that a step led to, with their ops, and the work of devices."""
    up, n = trace.nesting.parent, trace.n_events
    parts, on_core = steps.host_part.copy(), tpu_span_types(trace)
    is_core = on_core != SpanType.NONE
    parts[is_core] = tpu_parts(on_core[is_core])
    chosen = steps.is_work & (is_core | np.isin(parts, _NAMED)) & (trace.duration_ps > 0)
    op = nearest_marked(up, event_unit >= 0)
    rows = np.flatnonzero(chosen)
    is_op = (op[rows] >= 0) & (is_core | (parts == Part.HOST_COMPUTE))[rows]
    # What an op runs on its own thread is the op's.
    is_inner = is_op & (op[rows] != rows) & np.append(chosen, False)[op[rows]]
    rows, is_op = rows[~is_inner], is_op[~is_inner]
    tier = np.where(is_op, 2 - within_data(trace)[rows], 0).astype(np.int64)
    step, category = steps.event_step[rows].astype(np.int64), CATEGORY_CODE[parts[rows]].astype(np.int64)
    code = (step * OUTSIDE + category) * _N_TIERS + tier
    parent = np.full(len(rows), -1, np.int64)
    for one in np.unique(tier).tolist():
        own = np.flatnonzero(tier == one)
        place = np.full(n + 1, -1, np.int64)
        place[rows[own]] = own
        above = place[np.append(nearest_marked(up, place[:-1] >= 0), -1)[up[rows[own]]]]
        parent[own] = np.where((above >= 0) & (code[above] == code[own]), above, -1)
    on_host = _Spans(
        step,
        category,
        np.where(is_op, op[rows], rows).astype(np.int64),
        trace.start_ps[rows],
        trace.ends(rows),
        tier,
        parent,
    )
    of_device, ran = device_spans(trace, steps.span_type, table)
    category = CATEGORY_CODE[PART_OF_TYPE[steps.span_type[ran]]].astype(np.int64)
    none = np.zeros(len(ran), np.int64)
    on_device = _Spans(of_device, category, ran, trace.start_ps[ran], trace.ends(ran), none, none - 1)
    return _Spans(*(np.concatenate(both) for both in zip(on_host, on_device, strict=True)))


def _shared(spans: _Spans, pieces: _Pieces) -> tuple[Int64, Int64]:
    """The time of each span, equal parts of what those of the highest tier share, and what is left of each piece."""
    n, m = len(spans.step), len(pieces.step)
    key, of_span = pieces.key, spans.step * OUTSIDE + spans.category
    moments = moments_of(
        (key, pieces.start_ps), (key, pieces.end_ps), (of_span, spans.start_ps), (of_span, spans.end_ps)
    )
    every = np.concatenate(moments)
    order = np.argsort(every, kind="stable")
    outermost = (spans.parent < 0).astype(np.int64) << (_BITS * spans.tier)
    is_open = np.cumsum(np.concatenate([np.ones(m, np.int64), -np.ones(m, np.int64), np.zeros(2 * n, np.int64)])[order])
    present = np.cumsum(np.concatenate([np.zeros(2 * m, np.int64), outermost, -outermost])[order])
    time = np.concatenate([pieces.start_ps, pieces.end_ps, spans.start_ps, spans.end_ps])[order]
    lasts = np.where(is_open[:-1] > 0, np.diff(time), 0)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    ends = np.split(place, [m, 2 * m, 2 * m + n])
    covered = np.append(0, np.cumsum(np.where(present[:-1] > 0, lasts, 0)))
    left = pieces.end_ps - pieces.start_ps - (covered[ends[1]] - covered[ends[0]])
    had, each = np.zeros(n, np.float64), np.zeros(len(order))
    top = (present[:-1] >= 2**_BITS).astype(np.int8) + (present[:-1] >= 2 ** (2 * _BITS))
    rate = np.where(present[:-1] > 0, lasts, 0) / np.maximum(present[:-1] >> (_BITS * top.astype(np.int64)), 1)
    for tier in range(_N_TIERS):
        np.cumsum(np.where(top == tier, rate, 0.0), out=each[1:])
        own = np.flatnonzero(spans.tier == tier)
        had[own] = each[ends[3][own]] - each[ends[2][own]]
    inner = np.flatnonzero(spans.parent >= 0)
    np.subtract.at(had, spans.parent[inner], had[inner].copy())
    return _whole(had, of_span, key, pieces.end_ps - pieces.start_ps - left), left


def _whole(had: Float64, of_span: Int64, key: Int64, covered: Int64) -> Int64:
    """Shares as whole picoseconds that add up to what is covered of each step and category."""
    order = np.argsort(of_span.astype(np.min_scalar_type(int(of_span.max(initial=0)))), kind="stable")
    sums = np.rint(np.cumsum(np.maximum(had[order], 0.0))).astype(np.int64)
    whole: Int64 = np.diff(sums, prepend=0)
    ordered = of_span[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    first, place = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    keys = ordered[first]
    wanted = np.bincount(np.append(np.searchsorted(keys, key), 0)[:-1], covered, len(keys) + 1)[: len(keys)]
    if not len(keys):
        return whole
    missing = wanted.astype(np.int64) - np.add.reduceat(whole, first)
    # Rounding errors of the sums go to the longest span.
    longest = np.flatnonzero(whole == np.maximum.reduceat(whole, first)[place])
    whole[longest[np.searchsorted(place[longest], np.arange(len(first)))]] += missing
    found: Int64 = np.empty_like(whole)
    found[order] = whole
    return found


def _awaited(trace: Trace, steps: TracedSteps, table: StepTable, left: _Pieces) -> Int64:
    """What a device runs at the end of each stretch of idle time that its host's calls explain; -1 for none."""
    awaited = np.full(len(left.step), -1, np.int64)
    events = device_events(trace, steps.span_type)
    idle = np.flatnonzero(sessions_with_device(trace)[table.session[left.step]] & np.isin(left.category, _OF_HOST))
    if len(events) and len(idle):
        work = DeviceWork.of(trace, events, trace.session_id[events])
        following = work.after(trace, table.session[left.step[idle]], left.end_ps[idle])
        awaited[idle] = np.append(work.event, -1)[following]
    return awaited


def _between(trace: Trace, table: StepTable) -> tuple[Int64, Int64]:
    """The stretches of each session in which no step ran."""
    found = [np.empty((2, 0), np.int64)]
    for number, session in enumerate(trace.sessions):  # bounded by the number of sessions
        own = table.session == number
        if own.any():
            steps = Stretches.of(table.start_ps[own], table.end_ps[own])
            ends = np.append(min(session.start_ps, steps.start[0]), steps.end)
            begins = np.append(steps.start, max(session.stop_ps, steps.end[-1]))
            found.append(np.stack([ends, begins])[:, begins > ends])
    begin, end = np.concatenate(found, axis=1)
    return begin, end
