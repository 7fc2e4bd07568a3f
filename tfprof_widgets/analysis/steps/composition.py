"""Steps -> what each was made of at every instant: what devices did, and where none did anything, what that waited for.

Source: semantics 3.7.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64, Trace, UInt8
from .categories import PART_OF_TYPE, Part
from .host_parts import host_parts
from .idle_parts import DeviceWork, HostWork, charge, waits_of
from .member_spans import device_events, outermost_spans, spans_by_time
from .step_pieces import Pieces, merged, resolve
from .step_spans import SpanType
from .step_table import StepTable
from .tpu_categories import on_core_line

Spans = tuple[Int64, Int64, Int64, UInt8]
"""Step, start, end and `SpanType` of each."""


def compose_steps(trace: Trace, types: UInt8, table: StepTable, *, tpu: Spans, waits: Spans) -> Pieces:
    """Break steps down; the `span_type` of the pieces is a `Part`.

    At every instant work of a device comes first, copies between it and the host last of that. The rest is idle time, which
    `charge` tells the cause of; what nothing explains is Python's, but on a TPU, whose host tells too little.

    Args:
        trace: the trace.
        types: the result of `classify`.
        table: the steps.
        tpu: the result of `tpu_pieces`.
        waits: the result of `exchange_pieces`.
    """
    spans = device_spans(trace, types, table)
    working = resolve(
        np.concatenate([spans[0], tpu[0]]).astype(np.int64),
        np.concatenate([trace.start_ps[spans[1]], tpu[1]]),
        np.concatenate([trace.ends(spans[1]), tpu[2]]),
        np.concatenate([PART_OF_TYPE[types[spans[1]]], _tpu_parts(tpu[3])]),
        step_start_ps=table.start_ps,
        step_end_ps=table.end_ps,
    )
    events = device_events(trace, types)
    launches = DeviceWork.of(trace, events, trace.session_id[events])
    idle = working.span_type == Part.OTHER
    step, start, end = working.step[idle], working.start_ps[idle], working.end_ps[idle]
    following = launches.after(trace, table.session[step], end)
    stretches = waits_of(trace, launches, following, step=step, start_ps=start, end_ps=end)
    charged = charge(host_work(trace, types, table, waits), stretches)
    own = stretches.stretch[charged.step]
    charged = merged(own, charged.start_ps, charged.end_ps, charged.span_type)
    every = (
        np.concatenate([working.step[~idle], step[charged.step]]),
        np.concatenate([working.start_ps[~idle], charged.start_ps]),
        np.concatenate([working.end_ps[~idle], charged.end_ps]),
        np.concatenate([working.span_type[~idle], charged.span_type]),
    )
    order = np.lexsort((every[1], every[0]))
    return Pieces(*(column[order] for column in every))


def host_work(trace: Trace, types: UInt8, table: StepTable, waits: Spans) -> HostWork:
    """What hosts did on each thread and for each step; where a step tells nothing else, Python and dispatch."""
    parts = host_parts(trace, types)
    rows = outermost_spans(trace, parts, table.member)
    # Compilers have threads of their own, which no step leads to.
    compiling = np.flatnonzero((parts == Part.COMPILE) & (table.member < 0) & (trace.duration_ps > 0))
    compiling, meanwhile = spans_by_time(trace, compiling, table, _without_overlap(table))
    on_core = np.unique(table.session[table.member[on_core_line(trace, "XLA Ops") & (table.member >= 0)]])
    driven = np.flatnonzero(~np.isin(table.session, on_core))
    of_steps = resolve(
        np.concatenate([table.member[rows], meanwhile, waits[0], driven]).astype(np.int64),
        np.concatenate([trace.start_ps[rows], trace.start_ps[compiling], waits[1], table.start_ps[driven]]),
        np.concatenate([trace.ends(rows), trace.ends(compiling), waits[2], table.end_ps[driven]]),
        np.concatenate(
            [
                parts[rows],
                parts[compiling],
                np.full(len(waits[0]), Part.EXCHANGE, np.uint8),
                np.full(len(driven), Part.DISPATCH, np.uint8),
            ]
        ),
        step_start_ps=table.start_ps,
        step_end_ps=table.end_ps,
    )
    return HostWork.of(trace, parts, of_steps)


def device_spans(trace: Trace, types: UInt8, table: StepTable) -> tuple[Int64, Int64]:
    """Steps with the work of devices during them, as steps and rows of the trace.

    Where steps of a session overlap, each has what it led to.
    """
    rows = device_events(trace, types)
    is_alone = _without_overlap(table)
    by_time, step = spans_by_time(trace, rows, table, is_alone)
    own = rows[table.member[rows] >= 0]
    own = own[~is_alone[table.member[own]]]
    return np.concatenate([step, table.member[own]]).astype(np.int64), np.concatenate([by_time, own])


def _without_overlap(table: StepTable) -> Bool:
    """For each step whether no two steps of its session overlap."""
    order = np.lexsort((table.start_ps, table.session))
    session, reach = table.session[order], table.end_ps[order]
    crossing = (session[1:] == session[:-1]) & (table.start_ps[order][1:] < reach[:-1])
    return ~np.isin(table.session, session[1:][crossing])


def _tpu_parts(types: UInt8) -> UInt8:
    """A TPU waits in its infeed for data."""
    return np.where(types == SpanType.HOST_TO_DEVICE, np.uint8(Part.INPUT), PART_OF_TYPE[types]).astype(np.uint8)
