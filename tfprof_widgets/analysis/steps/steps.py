"""Trace -> `Steps`: when each ran, what its time was made of, which events belong to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64, SmallInt, UInt8
from ...trace.capture_facts import UNKNOWN, CaptureFacts, Interference
from ...trace.stats import ranges
from ...trace.trace import Trace, small_int
from ..common import PS_PER_MS, block_middles, dense_codes, milliseconds, number, plural, size, table_of_arrays
from ..events import GET_NEXT, int_stat_at
from ..grouping import N_UNITS, ComputeUnit, Grouping, group_events, time_by_unit, unit_ratios
from ..summaries import MOST, OWNER, HostSums, travels
from ..table import table
from .categories import (
    CATEGORY_CODE,
    CATEGORY_LABELS,
    GUIDE_CATEGORIES,
    GUIDE_CODE,
    GUIDE_PREFIX,
    PART_OF_TYPE,
    STEP_CATEGORIES,
    DeviceWork,
    HostWork,
    Part,
    charge,
    exchange_pieces,
    host_parts,
    launch_pieces,
    on_core_line,
    tracing,
    waits_of,
)
from .finding import (
    device_steps,
    infer_steps,
    marked_steps,
    program_steps,
    served_steps,
    tpu_pieces,
    tpu_steps,
    with_fair_share,
)
from .spans import (
    MIN_STEPS,
    Pieces,
    SpanType,
    StepTable,
    choose_steps,
    classify,
    device_events,
    distinct_names,
    kinds_of,
    merged,
    on_stream,
    outermost_spans,
    resolve,
    sessions_with_device,
    spans_by_time,
)

STEPS = table(
    """
    steps: a training step, by start
        step                   int    the row, 0 the first that was captured; not the step's own number
        name                   text   with that number, such as `train 3`; `train 2·3` in epoch 2 where numbers start again
        host                   text   on which it ran
        start_ms               float  after the trace origin
        step_time_ms           float  how long it took; the categories add up to it
        device_compute_ms      float  kernels run
        device_to_device_ms    float  copies within and between devices
        device_collectives_ms  float  devices or hosts exchange data, such as gradients, and compute nothing
        copy_to_device_ms      float  a copy to the device runs, and no kernel
        output_ms              float  a copy from the device runs, and no kernel
        kernel_launch_ms       float  the device idles until what it runs next is launched: in that call or op, or on the way
        dispatch_ms            float  Python, the eager runtime and the executor, before and between ops; the device idles
        host_compute_ms        float  ops compute on the CPU; the device idles
        input_ms               float  waiting for data
        sync_ms                float  the host waits for the device, which has nothing to do
        compile_ms             float  functions are traced, programs compiled
        checkpoint_ms          float  weights are saved or restored
        other_ms               float  the device idles though work is queued, or nothing tells why
        source                 text   `marker` or `inferred`
        is_complete            bool   whether the capture holds all of it
        session                int    of the profiler in which it ran
        n_batches              int    that it took in one call, several with `steps_per_execution`; 1 where nothing tells of more
        tensor_16bit_ratio     float  part of its kernel time on Tensor Cores in 16 bits or fewer; NaN where nothing is known
        tensor_tf32_ratio      float  the same on Tensor Cores in TF32
        vector_16bit_ratio     float  the same on ordinary cores in 16 bits
        vector_32bit_ratio     float  the same on ordinary cores in 32 bits or more

    The columns from `device_compute_ms` to `other_ms` add up to `step_time_ms`: each moment of a step counts once.
    `source` tells a step that was marked (by Keras, `trace_steps` or `step`) from one that was found by what repeats.
    The first step of a function traces and compiles: `overview` leaves such a step out of its averages. Empty where
    no step was marked or found.
    """,
    browser="is_complete:u1 session:i4",
    file="steps",
    read="step_frame",
)
travels(
    "steps",
    lambda facts: facts.steps.frame.assign(kind=facts.steps.kind).iloc[: MOST.steps],
    n_all=lambda facts: len(facts.steps),
    most="steps",
    did="ran more steps",
    told="the first {}",
    refers={"session": "sessions"},
    moment="start_ps",
)

CATEGORIES = {
    one.name.removesuffix("_ms"): one.meaning
    for one in STEPS.columns[STEPS.names.index("step_time_ms") + 1 :]
    if one.name.endswith("_ms")
}
"""What the time of a step goes to, and what that means."""

STEP_GUIDE = table(
    """
    step_guide: a training step in the nine categories of TensorFlow's guide, as XProf charges them
        step                   int    the row
        name                   text   of the mark, such as `train 3`; `train 2·3` in the epoch 2 where numbers start again
        host                   text   on which it ran
        start_ms               float  after the trace origin
        step_time_ms           float  how long it took; the categories add up to it
        input_ms               float  waiting for data, or copying it to the device
        host_compute_ms        float  what the host recorded but launches: ops, and the runtime around them
        kernel_launch_ms       float  the host enqueues work
        device_compute_ms      float  kernels run
        device_to_device_ms    float  copies within and between devices
        device_collectives_ms  float  devices exchange data, such as gradients
        output_ms              float  results are copied to the host
        compile_ms             float  programs are compiled
        other_ms               float  nothing was recorded: Python, callbacks, waiting

    These are the categories of XProf's overview page, for who compares with it; `steps` tells more exactly where
    the time goes. Empty where `steps` is.
    """,
    file="step_guide",
)


Spans = tuple[Int64, Int64, Int64, UInt8]
"""Step, start, end and `SpanType` of each."""


def compose_steps(trace: Trace, types: UInt8, parts: UInt8, table: StepTable, *, tpu: Spans, waits: Spans) -> Pieces:
    """Break steps down into pieces whose `span_type` is a `Part`: work of a device first, its copies last, then idle time."""
    spans = device_spans(trace, types, table)
    working = resolve(
        np.concatenate([spans[0], tpu[0]]).astype(np.int64),
        np.concatenate([trace.start_ps[spans[1]], tpu[1]]),
        np.concatenate([trace.ends(spans[1]), tpu[2]]),
        np.concatenate([PART_OF_TYPE[types[spans[1]]], tpu_parts(tpu[3])]),
        step_start_ps=table.start_ps,
        step_end_ps=table.end_ps,
    )
    events = device_events(trace, types)
    launches = DeviceWork.of(trace, events, trace.session_id[events])
    idle = working.span_type == Part.OTHER
    step, start, end = working.step[idle], working.start_ps[idle], working.end_ps[idle]
    following = launches.after(trace, table.session[step], end)
    stretches = waits_of(trace, launches, following, step=step, start_ps=start, end_ps=end)
    charged = charge(host_work(trace, parts, table, waits), stretches)
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


def host_work(trace: Trace, parts: UInt8, table: StepTable, waits: Spans) -> HostWork:
    """What hosts did on each thread and for each step; where a step tells nothing else, Python and dispatch."""
    traced = tracing(trace)
    call, *span = traced.stretches(trace)
    call, begin, until = (column[table.member[call] >= 0] for column in (call, *span))
    rows = outermost_spans(trace, parts, table.member)
    rows = rows[~traced.calls[rows]]
    # Compilers have threads of their own, which no step leads to.
    is_alone = (parts == Part.COMPILE) & (table.member < 0) & ~traced.calls
    compiling = np.flatnonzero(is_alone & (trace.duration_ps > 0))
    compiling, meanwhile = spans_by_time(trace, compiling, table, _without_overlap(table))
    on_core = np.unique(table.session[table.member[on_core_line(trace, "XLA Ops") & (table.member >= 0)]])
    driven = np.flatnonzero(~np.isin(table.session, on_core))
    of_steps = resolve(
        np.concatenate([table.member[rows], table.member[call], meanwhile, waits[0], driven]).astype(np.int64),
        np.concatenate([trace.start_ps[rows], begin, trace.start_ps[compiling], waits[1], table.start_ps[driven]]),
        np.concatenate([trace.ends(rows), until, trace.ends(compiling), waits[2], table.end_ps[driven]]),
        np.concatenate(
            [
                parts[rows],
                parts[call],
                parts[compiling],
                np.full(len(waits[0]), Part.EXCHANGE, np.uint8),
                np.full(len(driven), Part.DISPATCH, np.uint8),
            ]
        ),
        step_start_ps=table.start_ps,
        step_end_ps=table.end_ps,
    )
    return HostWork.of(trace, parts, of_steps, traced.runs)


def device_spans(trace: Trace, types: UInt8, table: StepTable) -> tuple[Int64, Int64]:
    """Steps with the work of devices during them, as steps and rows of the trace; overlapping ones have what they led to."""
    rows = device_events(trace, types)
    is_alone = _without_overlap(table)
    by_time, step = spans_by_time(trace, rows, table, is_alone)
    own = rows[table.member[rows] >= 0]
    own = own[~is_alone[table.member[own]]]
    return np.concatenate([step, table.member[own]]).astype(np.int64), np.concatenate([by_time, own])


def _without_overlap(table: StepTable) -> Bool:
    order = np.lexsort((table.start_ps, table.session))
    session, reach = table.session[order], table.end_ps[order]
    crossing = (session[1:] == session[:-1]) & (table.start_ps[order][1:] < reach[:-1])
    return ~np.isin(table.session, session[1:][crossing])


def tpu_parts(types: UInt8) -> UInt8:
    """A TPU waits in its infeed for data."""
    return np.where(types == SpanType.HOST_TO_DEVICE, np.uint8(Part.INPUT), PART_OF_TYPE[types]).astype(np.uint8)


def guide_pieces(trace: Trace, types: UInt8, table: StepTable, *, tpu: Spans, waits: Spans) -> Pieces:
    """Break steps down for the guide, arguments as of `compose_steps`; a device is busy in the next step with queued kernels."""
    rows = outermost_spans(trace, types, table.member)
    rows = rows[types[rows] != SpanType.KERNEL_LAUNCH]
    rows = rows[(types[rows] != SpanType.COLLECTIVES) | on_stream(trace)[rows]]
    step = table.member[rows]
    if table.is_tiling.any() and sessions_with_device(trace).any():
        by_time_rows, by_time = spans_by_time(trace, device_events(trace, types), table, table.is_tiling)
        kept = ~(table.is_tiling[step] & on_stream(trace)[rows])
        rows, step = np.concatenate([rows[kept], by_time_rows]), np.concatenate([step[kept], by_time])
    launch, launch_start, launch_end = launch_pieces(trace, types, table.member)
    return resolve(
        np.concatenate([step, table.member[launch], tpu[0], waits[0]]).astype(np.int64),
        np.concatenate([trace.start_ps[rows], launch_start, tpu[1], waits[1]]),
        np.concatenate([trace.ends(rows), launch_end, tpu[2], waits[2]]),
        np.concatenate([types[rows], types[launch], tpu[3], waits[3]]),
        step_start_ps=table.start_ps,
        step_end_ps=table.end_ps,
    )


MARK = "n_batches"
"""What our marker of a step says, as a stat, where that is more than one."""
_MOST = 2**31 - 1


def step_batches(trace: Trace, table: StepTable) -> Int64:
    """For each step how many batches it takes by its marker, by step numbers that advance with the fetches (0, 5, 10), else 1."""
    n = len(table.start_ps)
    marks = trace.keyed_stats(MARK).event
    marks = marks[table.member[marks] >= 0]
    found = np.ones(n, np.int64)
    found[table.member[marks]] = np.clip(int_stat_at(trace, MARK, marks), 1, _MOST)
    fetches = np.flatnonzero(trace.names_matching(GET_NEXT) & (table.member >= 0))
    count = np.bincount(table.member[fetches], minlength=n)
    found = np.where(found > 1, found, _by_numbers(table, count))
    return np.where((found > 1) & (count > 0) & (count < found), np.maximum(count - 1, 1), found)


def _by_numbers(table: StepTable, count: Int64) -> Int64:
    """For each step by how much the numbers of its kind advance where that is the same for all, and each fetches so often."""
    parts = pd.Series(table.name, dtype=object).str.extract(r"^(.*?)(\d{1,15})$")
    steps = parts.set_axis(["kind", "number"], axis=1).assign(session=table.session, count=count)
    steps = steps[~table.is_inferred].dropna()
    steps["number"] = steps["number"].astype(np.int64)
    found = np.ones(len(table.start_ps), np.int64)
    for _, own in steps.groupby(["session", "kind"]):  # one turn per kind of steps
        advance = own["number"].diff().dropna()
        ahead = advance[advance >= 0].unique()  # numbers may start again with an epoch
        if len(own) >= MIN_STEPS and len(ahead) == 1 and 1 < ahead[0] <= own["count"].median():
            found[own.index] = int(ahead[0])
    return found


def fetches_in_a_loop(trace: Trace, event_step: SmallInt, steps: Int64) -> bool:
    """Whether most of some steps take batches in a loop of their graph, however many."""
    events = np.flatnonzero(trace.names_matching(GET_NEXT) & (event_step >= 0))
    events = events[int_stat_at(trace, "iter_num", events) > 0]
    return bool(len(steps)) and 2 * int(np.isin(steps, event_step[events]).sum()) > len(steps)


def batches_of(n_batches: Int64) -> str:
    """`5 batches`, `up to 64 batches` where steps differ; "" where each step takes one."""
    most = int(n_batches.max(initial=1))
    return "" if most == 1 else f"{'up to ' if int(n_batches.min()) < most else ''}{most:,} batches"


def batch_words(n_batches: Int64, step_ms: Float64) -> str:
    """`5 batches in one call, 21.4 ms a batch`; "" where each step takes one."""
    told = batches_of(n_batches)
    return f"{told} in one call, {milliseconds(float(step_ms.sum()) / int(n_batches.sum()))} a batch" if told else ""


_PIECE_EVENTS = 2**18


@dataclass(frozen=True, eq=False, repr=False)
class Steps:
    frame: pd.DataFrame
    """One row per step, by start: its columns, `<category>_ms` and `guide_<category>_ms`, and `unit_ratios`."""
    pieces: pd.DataFrame
    """The composition of each step in time order, gapless: `step` (row of `frame`), `start_ps`, `duration_ps`, `category`."""
    guide_pieces: pd.DataFrame
    """The same in `GUIDE_CATEGORIES`."""
    event_step: SmallInt
    """For each event the row of its step: the one whose group it is in, else the one during which it starts; -1 for none."""
    compute_16bit_ps: int
    """Device time of 16-bit kernels over all groups, overlaps counted once, inside or outside of steps."""
    compute_32bit_ps: int
    """The same of other kernels, where no 16-bit one runs."""

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def kind(self) -> Int64:
        """For each step the number of its kind: steps of one number have one name and typicality, so the same averages."""
        frame = self.frame
        kind = pd.factorize(kinds_of(frame["name"]))[0].astype(np.int64)
        is_typical = np.zeros(len(frame), np.int64)
        for one in range(int(kind.max(initial=-1)) + 1):  # one turn per kind of step
            rows = np.flatnonzero(kind == one)
            is_typical[rows] = choose_steps(frame.iloc[rows].reset_index(drop=True))[0]
        return dense_codes(kind, is_typical)[0]

    @property
    def compute_16bit_ratio(self) -> float:
        """Share of 16-bit kernels in device compute time; NaN where no device computed, or the trace does not tell."""
        computed = self.compute_16bit_ps + self.compute_32bit_ps
        return self.compute_16bit_ps / computed if computed else float("nan")

    @property
    def compute_32bit_ratio(self) -> float:
        """Share of other kernels, likewise."""
        computed = self.compute_16bit_ps + self.compute_32bit_ps
        return self.compute_32bit_ps / computed if computed else float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class TracedSteps(Steps):
    """The steps of a trace with all its events, and what each event is to its step."""

    is_work: Bool
    """For each event whether a step led to it: it counts for that one, and not only ran meanwhile."""
    span_type: UInt8
    """For each event the kind of step time that it stands for, a `SpanType`."""
    host_part: UInt8
    """The `Part` of each host event."""
    grouping: Grouping


def compute_steps(
    trace: Trace,
    *,
    grouping: Grouping | None = None,
    units: UInt8 | None = None,
    has_failed: bool = False,
    finds_any: bool = True,
) -> TracedSteps:
    """The steps of a trace, broken down: of a TPU, marked, served, of a compiled function, inferred from loops or device work.
    Differs from XProf: host and device count together (D1), steps are inferred (D2), all stay (D3), with marker names (D8)."""
    grouping = grouping or group_events(trace)
    table = _found_steps(trace, grouping, has_failed=has_failed) if finds_any else StepTable.empty(trace.n_events)
    units = np.full(trace.n_events, ComputeUnit.UNKNOWN, np.uint8) if units is None else units
    types = classify(trace, grouping, units)
    spans = {"tpu": tpu_pieces(trace, table, types), "waits": exchange_pieces(trace, types, table)}
    parts = host_parts(trace, types)
    pieces = compose_steps(trace, types, parts, table, **spans)
    guide = guide_pieces(trace, types, table, **spans)
    group = np.where(grouping.group_id >= 0, grouping.group_id, table.member)
    precision = _precision(trace, np.where(units < N_UNITS, types, SpanType.NONE).astype(np.uint8), group)
    event_step = _event_step(trace, table)
    return TracedSteps(
        frame=_frame(
            trace, table, pieces, guide, time_by_unit(event_step, units, trace.duration_ps, len(table.start_ps))
        ),
        pieces=_piece_frame(pieces, CATEGORY_CODE, STEP_CATEGORIES),
        guide_pieces=_piece_frame(guide, GUIDE_CODE, GUIDE_CATEGORIES),
        event_step=event_step,
        is_work=np.asarray(table.member >= 0),
        span_type=types,
        host_part=parts,
        grouping=grouping,
        compute_16bit_ps=precision[0],
        compute_32bit_ps=precision[1],
    )


def _found_steps(trace: Trace, grouping: Grouping, *, has_failed: bool) -> StepTable:
    table = tpu_steps(trace, grouping)
    sessions = _without_steps(trace, table)
    table = table.joined(marked_steps(trace, grouping, sessions=sessions, counts_left=has_failed))
    table = table.joined(served_steps(trace, grouping, sessions=_without_steps(trace, table)))
    programs = program_steps(trace, sessions=_without_steps(trace, table))
    table = table.joined(with_fair_share(trace, programs))
    loops = infer_steps(trace, sessions=_without_steps(trace, table))
    table = table.joined(with_fair_share(trace, loops))
    stretches = device_steps(trace, grouping, sessions=_without_steps(trace, table))
    table = table.joined(with_fair_share(trace, stretches))
    return table.sorted()


def table_of(steps: TracedSteps) -> StepTable:
    """The table that the steps were made from, as far as `Steps.frame` holds it."""
    frame, n = steps.frame, len(steps.frame)
    return StepTable(
        session=frame["session"].to_numpy(np.int64),
        start_ps=frame["start_ps"].to_numpy(np.int64),
        end_ps=(frame["start_ps"] + frame["duration_ps"]).to_numpy(np.int64),
        name=tuple(frame["name"]),
        is_inferred=(frame["source"] == "inferred").to_numpy(np.bool_),
        is_complete=frame["is_complete"].to_numpy(np.bool_),
        is_tiling=np.zeros(n, np.bool_),
        member=np.where(steps.is_work, steps.event_step, -1).astype(steps.event_step.dtype),
    )


def _without_steps(trace: Trace, table: StepTable) -> Bool:
    """For each session whether it has events but no steps yet."""
    found = np.bincount(trace.session_id, minlength=max(len(trace.sessions), 1)) > 0
    found[table.session] = False
    return found


def _precision(trace: Trace, types: UInt8, group: SmallInt) -> tuple[int, int]:
    """Device time in 16-bit and in other kernels, by group, not clipped to steps. Source: semantics 3.6."""
    rows = np.flatnonzero((types >= SpanType.COMPUTE_32) & (types != SpanType.NONE) & (group >= 0))
    if not len(rows):
        return 0, 0
    n_groups = int(group[rows].max()) + 1
    low, high = np.full(n_groups, trace.start_ps[rows].min()), np.full(n_groups, trace.ends(rows).max())
    spans = trace.start_ps[rows], trace.ends(rows)
    own = group[rows].astype(np.int64)
    work = resolve(own, *spans, types[rows], step_start_ps=low, step_end_ps=high)
    total = work.total_ps(n_groups).sum(axis=0)
    return int(total[SpanType.COMPUTE_16]), int(total[SpanType.COMPUTE_32])


def _frame(trace: Trace, table: StepTable, pieces: Pieces, guide: Pieces, by_unit: Float64) -> pd.DataFrame:
    hosts, n = [session.host for session in trace.sessions] or [""], len(table.start_ps)
    host = np.array(hosts, np.object_)[table.session]
    duration_ps = table.end_ps - table.start_ps
    category_ms = _category_ms(pieces, CATEGORY_CODE, STEP_CATEGORIES, n)
    guide_ms = _category_ms(guide, GUIDE_CODE, GUIDE_CATEGORIES, n)
    columns: dict[str, npt.NDArray[Any]] = {
        "step": np.arange(n),
        "name": distinct_names(table.name, host),
        "host": host,
        "start_ms": table.start_ps / PS_PER_MS,
        "step_time_ms": duration_ps / PS_PER_MS,
        **{f"{kind}_ms": category_ms[:, STEP_CATEGORIES.index(kind)] for kind in CATEGORIES},
        "source": np.array(["marker", "inferred"], np.object_)[table.is_inferred.astype(np.int8)],
        "is_complete": table.is_complete,
        "session": table.session.astype(np.int32),
        "start_ps": table.start_ps,
        "duration_ps": duration_ps,
        "n_batches": step_batches(trace, table),
        **{f"{GUIDE_PREFIX}{kind}_ms": guide_ms[:, i] for i, kind in enumerate(GUIDE_CATEGORIES)},
        **unit_ratios(by_unit),
    }
    return table_of_arrays(columns)


def _category_ms(pieces: Pieces, code: UInt8, categories: Sequence[str], n_steps: int) -> Float64:
    """Time of each step in each category, shape (steps, categories)."""
    by_type = pieces.total_ps(n_steps)[:, : len(code)]
    of_category: Float64 = by_type @ (code[:, None] == np.arange(len(categories))).astype(np.int64) / PS_PER_MS
    return of_category


def guide_of(frame: pd.DataFrame) -> pd.DataFrame:
    """`Steps.frame` with the guide's categories in place of ours."""
    own = {f"{kind}_ms" for kind in STEP_CATEGORIES}
    names = [name for name in frame.columns if name not in own]
    return frame[names].set_axis([name.removeprefix(GUIDE_PREFIX) for name in names], axis=1)


def ran_on_device(frame: pd.DataFrame) -> bool:
    """Whether any of some steps, rows of `Steps.frame`, ran anything on a device, if only copies."""
    kinds = ("device_compute", "device_to_device", "copy_to_device", "output")
    return any((frame[f"{kind}_ms"].to_numpy() > 0).any() for kind in kinds)


def _piece_frame(pieces: Pieces, code: UInt8, categories: tuple[str, ...]) -> pd.DataFrame:
    category = code[pieces.span_type]
    first = np.append(True, (pieces.step[1:] != pieces.step[:-1]) | (category[1:] != category[:-1]))[: len(category)]
    first = np.flatnonzero(first)
    last = np.append(first[1:], len(category))[: len(first)] - 1
    return pd.DataFrame(
        {
            "step": pieces.step[first].astype(np.int32),
            "start_ps": pieces.start_ps[first],
            "duration_ps": pieces.end_ps[last] - pieces.start_ps[first],
            "category": pd.Categorical.from_codes(
                category[first].astype(np.int8), categories=pd.Index(categories, dtype=object)
            ),
        }
    )


def _event_step(trace: Trace, table: StepTable) -> SmallInt:
    result = table.member.copy()
    # Device work of an inferred step is shown where it runs, not where it was launched.
    if table.is_tiling.any():
        result[on_stream(trace) & table.is_tiling_of(result)] = -1
    for session in np.unique(table.session).tolist():  # bounded by the number of sessions
        steps = np.flatnonzero(table.session == session)
        for first in range(0, trace.n_events, _PIECE_EVENTS):  # in pieces, so that what lies between stays small
            piece = slice(first, first + _PIECE_EVENTS)
            rows = first + np.flatnonzero((result[piece] < 0) & (trace.session_id[piece] == session))
            at = np.searchsorted(table.start_ps[steps], trace.start_ps[rows], side="right") - 1
            inside = (at >= 0) & (trace.start_ps[rows] < table.end_ps[steps[at]])
            result[rows[inside]] = steps[at[inside]]
    return result


MIN_QUIET_STEPS = 5
"""Fewer on either side give no interval."""
_N_RESAMPLES = 2_000
_SEED = 20_240_229
_INTERVAL = (2.5, 97.5)
_MOST_STEPS = 2_000
"""Of a side that are resampled: the interval of more would be no other."""


def measure_interference(step_times: pd.DataFrame) -> Interference:
    """Compare steps inside and outside of windows, of the most frequent name, by a bootstrap over blocks with a fixed seed."""
    found = [Interference()]
    for _, steps in step_times.groupby("name", sort=True):  # bounded by the names of markers: a handful
        steps = steps.iloc[1:]
        inside = steps.loc[steps["phase"] == "during", "duration_ns"].to_numpy(np.float64)
        outside = steps.loc[steps["phase"].isin(["before", "after"]), "duration_ns"].to_numpy(np.float64)
        found.append(_compared(inside, outside))
    return max(
        found, key=lambda one: (min(one.n_steps_inside, one.n_steps_outside), one.n_steps_inside + one.n_steps_outside)
    )


def _compared(inside: Float64, outside: Float64) -> Interference:
    n_inside, n_outside = len(inside), len(outside)
    if not n_inside or not n_outside:
        return Interference(n_steps_inside=n_inside, n_steps_outside=n_outside)
    ratio = float(np.median(inside) / max(np.median(outside), 1.0)) - 1
    interval = UNKNOWN
    if min(n_inside, n_outside) >= MIN_QUIET_STEPS:
        rng = np.random.default_rng(_SEED)
        ratios = _medians(inside, rng) / np.maximum(_medians(outside, rng), 1.0) - 1
        low, high = np.percentile(ratios, _INTERVAL).tolist()
        # A median of few steps has few values: what was found is always one of those it may be.
        interval = (min(low, ratio), max(high, ratio))
    return Interference(ratio, interval, n_inside, n_outside)


def _medians(durations: Float64, rng: np.random.Generator) -> Float64:
    if len(durations) > _MOST_STEPS:
        durations = durations[np.linspace(0, len(durations) - 1, _MOST_STEPS).astype(np.int64)]
    length = max(1, round(len(durations) ** (1 / 3)))
    n_blocks = -(-len(durations) // length)
    return block_middles(durations, rng, np.median, length=length, n_blocks=n_blocks, n_resamples=_N_RESAMPLES)


@dataclass(frozen=True, kw_only=True)
class CaptureSummary(CaptureFacts):
    """What a capture was, and what it cost the program that it looked at: what `Profile.capture` gives."""

    start_s: float
    """Seconds that starting the profiler took, the sum over the windows. The program waited for it, between steps."""
    stop_s: float
    """Seconds that stopping it and writing its files took, likewise."""
    n_bytes: int
    """Size of its files."""
    n_events: int
    """Events in them."""
    windows: tuple[Any, ...] = field(default=(), repr=False, compare=False)
    """The sessions of the profiler in time order, each with `run_dir`, `first_step`, `last_step`, `n_steps`, times and
    size; empty for a profile that was loaded.
    """
    step_times: pd.DataFrame | None = field(default=None, repr=False, compare=False)
    """How long each marked step took, captured or not: `number` and `name` of the step, `start_ns` (Unix time),
    `duration_ns`, `phase` (`before` the first window, `during` one, `after` one, or `cut` by one). None for a profile
    that was loaded.
    """
    held_bytes: int = field(default=0, compare=False)
    """Memory of functions of the program that only this profile keeps, until its lines or layers are asked for."""

    @property
    def sentence(self) -> str:
        """What the capture cost, in a sentence or two; with advice where it distorts what it shows."""
        told = (
            step_sentence(self, self.detail)
            if self.n_steps
            else "What the capture cost a step is not known: no step was marked by Keras or tfprof."
        )
        spent = f"Starting took {number(self.start_s * 1e3)} ms, stopping {number(self.stop_s * 1e3)} ms"
        spent += f", for {plural(self.n_events, 'event')} in {size(self.n_bytes)}."
        if self.held_bytes:
            spent += f" Until its lines are read it holds {size(self.held_bytes)} of functions that are gone otherwise."
        return f"{told} {spent}"


def step_sentence(interference: Interference, detail: str) -> str:
    """Say what a capture of this detail did to the time of a step, and what to do where it distorts."""
    ratio, (low, high) = interference.overhead_ratio, interference.overhead_interval
    n_inside, n_outside = interference.n_steps_inside, interference.n_steps_outside
    if math.isnan(ratio):
        where = "outside of" if n_inside else "inside"
        return (
            f"What the capture cost a step is not known: no step to compare ran {where} its windows. Capture some of the "
            "steps, such as `steps=range(10, 20)`."
        )
    taken = f"a step took {number(abs(ratio) * 100)} % {'longer' if ratio >= 0 else 'less'} while it was captured"
    compared = f"{plural(n_inside, 'step')} inside, {n_outside:,} outside"
    if math.isnan(low):
        return f"A{taken[1:]} ({compared}: too few for an interval)."
    evidence = f"95 % interval {_signed(low)} to {_signed(high)} %; {compared}"
    if interference.is_distorting:
        return f"The capture distorts what it shows: {taken} ({evidence}). {_advice(detail)}"
    if low <= 0 <= high:
        return f"No cost of the capture to a step can be told from noise ({evidence})."
    return f"A{taken[1:]} ({evidence})."


def _signed(ratio: float) -> str:
    return f"{'-' if ratio < 0 else ''}{number(abs(ratio) * 100)}"


def _advice(detail: str) -> str:
    if detail == "low":
        return (
            "Trust shares and ratios rather than times, and do more in a step while you profile: a larger batch, or "
            "`steps_per_execution` in `compile`."
        )
    less = "Record less of each step" if detail == "high" else "On a CPU, record less of each step"
    lower = "normal" if detail == "high" else "low"
    return f'{less} with `detail="{lower}"` (`--detail {lower}`), and trust shares and ratios rather than times until then.'


_GUIDE_OF = {"copy_to_device": "input", "dispatch": "other", "sync": "other", "checkpoint": "host_compute"}
"""Categories that the guide has not, as it would most often charge their time."""
STEP_TIME = "Step time"
"""The line of a trace in low detail that shows pieces of steps."""


def outlined_pieces(steps: Steps) -> tuple[pd.DataFrame, dict[str, int]]:
    """The pieces of the steps that travel, in outline where a step has too many."""
    bounds = steps.frame[["start_ps", "duration_ps"]].to_numpy(np.int64)[: MOST.steps]
    pieces = steps.pieces[steps.pieces["step"] < len(bounds)]
    pieces = pieces.assign(category=pieces["category"].cat.codes)
    n_pieces = np.bincount(pieces["step"], minlength=len(bounds))
    most = max(1, min(MOST.pieces, MOST.host_pieces // max(len(bounds), 1)))
    is_long = (n_pieces > most)[pieces["step"]]
    n_all, n_outlined = len(pieces), int((n_pieces > most).sum())
    if is_long.any():
        pieces = pd.concat([pieces[~is_long], _outlined(pieces[is_long], bounds, most)])
        pieces = pieces.sort_values(["step", "start_ps"], kind="stable")
    return pieces, {"n_pieces": n_all, "n_outlined": n_outlined, "n_drawn": len(pieces)}


def _outlined(pieces: pd.DataFrame, bounds: Int64, n_parts: int) -> pd.DataFrame:
    """The same steps in equal parts, each of the category that takes most of it; neighbours of one category are one piece."""
    step, start, duration, category = (pieces[name].to_numpy(np.int64) for name in pieces.columns)
    steps = np.unique(step)
    begin, length = bounds[steps, 0], bounds[steps, 1]
    edges = begin[:, None] + length[:, None] * np.arange(n_parts + 1) // n_parts
    # A part is cut from the running time in each category, read at its two edges.
    place = np.searchsorted(steps, step)
    taken = np.zeros((len(steps), n_parts, len(STEP_CATEGORIES)), np.int64)
    first = np.minimum(np.maximum((start - begin[place]) * n_parts // np.maximum(length[place], 1), 0), n_parts - 1)
    last = np.minimum((start + duration - begin[place]) * n_parts // np.maximum(length[place], 1), n_parts - 1)
    n = last - first + 1
    piece = np.repeat(np.arange(len(step)), n)
    part = ranges(first, n)
    low = np.maximum(start[piece], edges[place[piece], part])
    high = np.minimum(start[piece] + duration[piece], edges[place[piece], part + 1])
    np.add.at(taken, (place[piece], part, category[piece]), np.maximum(high - low, 0))
    winner = taken.argmax(axis=2)
    is_first = np.ones(winner.shape, np.bool_)
    is_first[:, 1:] = winner[:, 1:] != winner[:, :-1]
    row, column = np.nonzero(is_first)
    starts = edges[row, column]
    follows = np.append(row[1:] == row[:-1], False)
    ends = np.where(follows, np.append(starts[1:], 0), (begin + length)[row])
    columns = steps[row], starts, ends - starts, winner[row, column]
    return pd.DataFrame(dict(zip(pieces.columns, columns, strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class MergedSteps:
    """The steps of all hosts, by start, then host, and where those of each are among them."""

    frame: pd.DataFrame
    """As `Steps.frame`."""
    row: Int64
    """Of each step in the order of the stack the row of `frame`."""
    kinds: pd.DataFrame
    """Of each row of `frame` its `owner` and its `kind`, see `Steps.kind`."""

    def steps(self, trace: Trace, hosts: HostSums) -> Steps:
        """The steps; their pieces are in outline, the categories of each step are exact."""
        event_step: SmallInt = np.append(self.row, -1)[hosts.low_step].astype(small_int(len(self.frame)))
        return Steps(
            frame=self.frame,
            pieces=(pieces := pieces_of(trace, event_step)),
            guide_pieces=as_guide(pieces),
            event_step=event_step,
            compute_16bit_ps=hosts.sums["compute_16bit_ps"],
            compute_32bit_ps=hosts.sums["compute_32bit_ps"],
        )

    def of_their_kinds(self, steps: Bool, owned: pd.DataFrame) -> Bool:
        """Which rows with an `owner` and a `kind` are of the kinds of some of the steps."""
        width = int(self.kinds["kind"].to_numpy().max(initial=-1)) + 2
        found, wanted = (one[OWNER] * width + one["kind"] for one in (owned, self.kinds[steps]))
        return np.isin(found, wanted)


def merge_steps(steps: pd.DataFrame) -> MergedSteps:
    order = np.lexsort((steps["session"], steps["start_ps"]))
    row = np.empty(len(order), np.int64)
    row[order] = np.arange(len(order))
    steps = steps.iloc[order].reset_index(drop=True)
    frame = steps.drop(columns=[OWNER, "kind"]).assign(
        step=np.arange(len(steps)), start_ms=steps["start_ps"] / PS_PER_MS, session=steps["session"].astype(np.int32)
    )
    return MergedSteps(frame, row, steps[[OWNER, "kind"]])


def pieces_of(trace: Trace, event_step: SmallInt) -> pd.DataFrame:
    """The table `Steps.pieces` of what a merged trace has of them."""
    events = np.flatnonzero(trace.on_lines([line.is_derived and line.name == STEP_TIME for line in trace.lines]))
    events = events[np.argsort(event_step[events], kind="stable")]
    number = np.zeros(len(trace.strings), np.int8)
    number[[trace.string_ids[label] for label in CATEGORY_LABELS]] = np.arange(len(CATEGORY_LABELS))
    categories = pd.Index(STEP_CATEGORIES, dtype=object)
    return pd.DataFrame(
        {
            "step": event_step[events].astype(np.int32),
            "start_ps": trace.start_ps[events],
            "duration_ps": trace.duration_ps[events],
            "category": pd.Categorical.from_codes(number[trace.name_id[events]], categories=categories),
        }
    )


def as_guide(pieces: pd.DataFrame) -> pd.DataFrame:
    """The same in the categories of the guide, as far as ours tell."""
    guide = pd.Index(GUIDE_CATEGORIES, dtype=object)
    code = np.array([GUIDE_CATEGORIES.index(_GUIDE_OF.get(name, name)) for name in STEP_CATEGORIES], np.int8)
    codes = code[pieces["category"].cat.codes.to_numpy()]
    return pieces.assign(category=pd.Categorical.from_codes(codes, categories=guide))
