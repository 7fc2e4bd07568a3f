"""Trace -> its training steps: when each ran, what its time was made of, and which events belong to it.

    compute_steps(trace) -> TracedSteps           # .frame, .pieces, .event_step, .grouping

Marked steps follow XProf (semantics 2.5, 2.6, 3); sessions without markers get inferred ones (`inferred_steps.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Bool, Float64, SmallInt, Trace, UInt8
from ..base.compute_units import N_UNITS, ComputeUnit, time_by_unit, unit_ratios
from ..base.grouping import Grouping, group_events
from ..base.table_types import table_of_arrays
from ..base.units import PS_PER_MS
from ..columns.steps import CATEGORIES
from .categories import CATEGORY_CODE, GUIDE_CATEGORIES, GUIDE_CODE, GUIDE_PREFIX, STEP_CATEGORIES
from .composition import compose_steps
from .exchange_pieces import exchange_pieces
from .guide_pieces import guide_pieces
from .inferred_steps import infer_steps, with_fair_share
from .marked_steps import device_steps, marked_steps
from .program_steps import program_steps
from .served_steps import served_steps
from .step_batches import step_batches
from .step_names import distinct_names
from .step_pieces import Pieces, resolve
from .step_spans import SpanType, classify, on_stream
from .step_table import StepTable
from .tpu_steps import tpu_pieces, tpu_steps

_PIECE_EVENTS = 2**18


@dataclass(frozen=True, eq=False, repr=False)
class Steps:
    """The steps of a trace."""

    frame: pd.DataFrame
    """One row per step, by start: `step` (0, 1, 2, ...: the row), `name` (`train 3`), `host`, `start_ms` (after the trace
    origin), `step_time_ms`, one `<category>_ms` column each, `source` (`marker` or `inferred`), `is_complete`, `session`,
    `start_ps`, `duration_ps`, `n_batches`, four shares of its kernel time (`unit_ratios`), and in `guide_<category>_ms` the
    categories of `GUIDE_CATEGORIES`. Those of either kind add up to the step time."""
    pieces: pd.DataFrame
    """The composition of each step in time order, without overlap or gap: `step` (row of `frame`), `start_ps`,
    `duration_ps`, `category` (categorical over `STEP_CATEGORIES`)."""
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
    grouping: Grouping


def compute_steps(
    trace: Trace,
    *,
    grouping: Grouping | None = None,
    units: UInt8 | None = None,
    has_failed: bool = False,
    finds_any: bool = True,
) -> TracedSteps:
    """Find the steps of a trace and break each down.

    A session with a TPU has that one's steps. Any other has the steps that were marked in it; else the functions that
    other tasks had it run; else the runs of the compiled function that JAX or PyTorch/XLA calls again and again; else those
    inferred from its loops; else, where functions ran on a device, the stretches of
    device work that XProf would show.

    Args:
        trace: the trace.
        grouping: the result of `group_events(trace)` where the caller has it.
        units: for each event the `ComputeUnit` of its kernel; without it nothing is known of any.
        has_failed: whether memory ran out: the step that failed is then one too, although the program left it.
        finds_any: False where what computed the steps is not in the trace: there are none then.

    Differs from XProf: host and device events count together, and copies count as copies (D1); sessions without markers
    have inferred steps (D2); all steps are kept, incomplete ones marked (D3); steps bear the marker's name (D8). What a host
    exchanges with others counts as communication where its step computes nothing meanwhile.
    """
    grouping = grouping or group_events(trace)
    table = _found_steps(trace, grouping, has_failed=has_failed) if finds_any else StepTable.empty(trace.n_events)
    units = np.full(trace.n_events, ComputeUnit.UNKNOWN, np.uint8) if units is None else units
    types = classify(trace, grouping, units)
    spans = {"tpu": tpu_pieces(trace, table, types), "waits": exchange_pieces(trace, types, table)}
    pieces = compose_steps(trace, types, table, **spans)
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
    """What the steps were made from, as far as what is told of them holds it."""
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
    """The table `Steps.frame`."""
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
