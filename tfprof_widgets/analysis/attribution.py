"""Steps -> `attribution`: each stretch of a step, and between steps, with what had it: an op, a call, or what it waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ..trace.arrays import Bool, Float64, Int64
from ..trace.source_map import SourceMap
from ..trace.trace import Trace
from .card import last_part, title_of
from .common import PS_PER_MS, Stretches, moments_of, text_column
from .events import nearest_marked
from .grouping import UNIT_TEXTS, within_data
from .layers.layers import PHASES, Layers
from .source import sample_times
from .steps.categories import (
    CATEGORY_CODE,
    PART_OF_TYPE,
    STEP_CATEGORIES,
    DeviceWork,
    Part,
    host_parts,
    tpu_span_types,
)
from .steps.spans import SpanType, StepTable, device_events, sessions_with_device
from .steps.steps import TracedSteps, device_spans, table_of, tpu_parts
from .tables import table

if TYPE_CHECKING:
    from .facts import Facts

ATTRIBUTION = table(
    """
    attribution: a stretch of a step, or of the time between steps, by step, then category and time
        step         int    row of the steps table, -1 between steps
        host         text   on which the step ran
        category     text   what the step did, as the columns of `steps` are called; `outside` between steps
        start_ms     float  after the trace origin
        duration_ms  float  until its end
        time_ms      float  what of the step it had: less than its duration where others ran at once
        is_wait      bool   whether the device idled: `event` and `op` are then what it waited for
        event        text   a kernel, a copy, an op's run or a call; "" where the trace has none
        op           text   the framework op that it is part of
        type         text   of the op
        layer        text   of the op
        phase        text   of it: `forward`, `backward`, `optimizer`, `input`, `copy`, `other`; `border` at the edges of a step
        line         text   of the user's that made the op, or at which Python was seen, such as `train.py:7`
        unit         text   what a kernel computed on, as in `kernels`
        bound        text   what limits the op on a GPU, as in `roofline`
        stage        text   the stage of the input that holds it up

    `time_ms` of a step's rows adds up to its `step_time_ms`, and those of a category to the column of `steps`: where
    several ops compute at once they share the time. All else that is said of a step's time is a sum of these rows.
    Empty in a reduced profile (not `has_events`): `prof.host(name).attribution` has that of one host.
    """,
    read=lambda facts: attribution_table(facts),
    of_executions="attribution",
)

OUTSIDE = len(STEP_CATEGORIES)
"""The category of what lies between steps and around them."""
CATEGORIES = (*STEP_CATEGORIES, "outside")
_OF_HOST = tuple(STEP_CATEGORIES.index(name) for name in ("dispatch", "kernel_launch", "sync", "other"))
"""What of a device's idle time goes to the kernel that it waits for."""
_COMPUTES, _INPUT = STEP_CATEGORIES.index("device_compute"), STEP_CATEGORIES.index("input")
_COPIES = tuple(STEP_CATEGORIES.index(name) for name in ("copy_to_device", "output", "device_to_device"))
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


def attribution_table(facts: Facts) -> pd.DataFrame:
    """The `attribution` table."""
    rows, layers, trace = facts.attribution, facts.layers, facts.trace
    hosts = np.append(facts.steps.frame["host"].to_numpy(np.object_), "")
    ran = np.where(rows.is_wait, -1, rows.event)
    bound = dict(zip(facts.roofline.units.tolist(), facts.roofline.frame["bound"].tolist(), strict=True))
    unit, kernel_unit = _at(facts.event_unit, ran), _at(facts.kernel_units, ran)
    pipeline = facts.tf_data.bottleneck_pipeline
    stage = "" if pipeline is None else str(pipeline["bottleneck_name"])
    return pd.DataFrame(
        {
            "step": rows.step,
            "host": hosts[rows.step],
            "category": text_column(np.array(CATEGORIES, np.object_)[rows.category]),
            "start_ms": rows.start_ps / PS_PER_MS,
            "duration_ms": (rows.end_ps - rows.start_ps) / PS_PER_MS,
            "time_ms": rows.time_ps / PS_PER_MS,
            "is_wait": rows.is_wait,
            "event": _texts(trace.strings, _at(trace.name_id, rows.event)),
            "op": _texts(facts.op_shares.name, rows.op),
            "type": _texts(facts.op_shares.type, rows.op),
            "layer": _texts(layers.entries["layer"].tolist(), _at(layers.op_entry, rows.op)),
            "phase": _texts((*PHASES, "input", "border", "copy"), phase_of(rows, layers)),
            "line": _lines(facts, rows),
            "unit": text_column([UNIT_TEXTS.get(one, "") for one in kernel_unit.tolist()]),
            "bound": text_column([bound.get(one, "") for one in unit.tolist()]),
            "stage": text_column(np.where(rows.category == _INPUT, stage, "")),
        }
    )


def phase_of(rows: Attribution, layers: Layers) -> Int64:
    """What each stretch is for, an index into `PHASES`, then `input`, `border` and `copy`; -1 where nothing tells."""
    n = len(PHASES)
    found = _at(layers.op_phase, rows.op)
    is_input = np.append(layers.entries["kind"].eq("input").to_numpy()[layers.op_entry], False)
    found[is_input[rows.op] | (rows.category == _INPUT)] = n
    works = np.isin(rows.category, (_COMPUTES, *_COPIES[2:], STEP_CATEGORIES.index("device_collectives")))
    n_steps = int(rows.step.max(initial=-1)) + 2
    first, last = np.full(n_steps, np.iinfo(np.int64).max), np.full(n_steps, -1)
    np.minimum.at(first, rows.step[works], rows.start_ps[works])
    np.maximum.at(last, rows.step[works], rows.end_ps[works])
    found[rows.is_wait & ((rows.start_ps < first[rows.step]) | (rows.end_ps > last[rows.step]))] = n + 1
    found[np.isin(rows.category, _COPIES)] = n + 2
    return found


def _lines(facts: Facts, rows: Attribution) -> pd.Series:
    """The user's line of each op; without an op the one at which Python was seen most often in the stretch."""
    lines = facts.source_lines
    entries = [
        "" if bucket else f"{last_part(file)}:{line}"
        for file, line, bucket in zip(*(lines.entries[name] for name in ("file", "line", "bucket")), strict=True)
    ]
    text = _texts(entries, _at(lines.op_entry, rows.op)).to_numpy(np.object_, copy=True)
    source_map = facts.source_map
    if source_map is not None and len(source_map.samples):
        seen, place = _seen(facts.trace, source_map, rows)
        text[seen] = place
    return text_column(text)


def _seen(trace: Trace, source_map: SourceMap, rows: Attribution) -> tuple[Int64, list[str]]:
    """The stretches without an op in which the user's thread was sampled, and the line of most samples in each."""
    own = np.flatnonzero(rows.op < 0)
    own = own[np.argsort(rows.start_ps[own], kind="stable")]
    time_ps, frame = sample_times(trace, source_map)
    at = np.searchsorted(rows.start_ps[own], time_ps, side="right") - 1
    inside = (at >= 0) & (time_ps < np.append(rows.end_ps[own], 0)[at])
    frames = source_map.frames.iloc[frame[inside]]
    seen = pd.DataFrame({"row": own[at[inside]], "file": frames["file"].to_numpy(), "line": frames["line"].to_numpy()})
    most = seen[seen["file"] >= 0].value_counts(sort=True).reset_index().drop_duplicates("row")
    names = zip(most["file"].tolist(), most["line"].tolist(), strict=True)
    return most["row"].to_numpy(np.int64), [f"{last_part(title_of(source_map, file))}:{line}" for file, line in names]


def _at(values: np.ndarray, rows: Int64) -> Int64:
    """Some of the values, -1 where the row is."""
    found: Int64 = np.append(values.astype(np.int64), -1)[rows]
    return found


def _texts(labels: list[str] | tuple[str, ...], codes: Int64) -> pd.Series:
    used, place = np.unique(codes, return_inverse=True)
    texts = np.array([labels[code] if code >= 0 else "" for code in used.tolist()], dtype=object)
    return text_column(texts[place])


def compute_attribution(facts: Facts) -> Attribution:
    """Give every instant of every step to what had it: ops and kernels that ran share it, idle time goes to what ends it."""
    trace, steps = facts.trace, facts.steps
    table, pieces = table_of(steps), _Pieces.of(steps)
    spans = _spans(facts, table)
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
    event = columns[5][order]
    return Attribution(*(column[order] for column in columns), _at(facts.event_op, event))


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
        codes = pieces["category"].cat.codes.to_numpy(np.int64)
        return cls(pieces["step"].to_numpy(np.int64), codes, start, start + pieces["duration_ps"].to_numpy(np.int64))

    @property
    def key(self) -> Int64:
        """A number for each step and category."""
        return self.step * OUTSIDE + self.category


def _spans(facts: Facts, table: StepTable) -> _Spans:
    """What ran in steps: events of hosts that a step led to, with their ops, and the work of devices."""
    trace, steps = facts.trace, facts.steps
    up, n = trace.nesting.parent, trace.n_events
    parts, on_core = host_parts(trace, steps.span_type), tpu_span_types(trace)
    is_core = on_core != SpanType.NONE
    parts[is_core] = tpu_parts(on_core[is_core])
    chosen = steps.is_work & (is_core | np.isin(parts, _NAMED)) & (trace.duration_ps > 0)
    op = nearest_marked(up, facts.event_unit >= 0)
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
    had = np.zeros(n, np.float64)
    for tier in np.unique(spans.tier).tolist():
        count = (present[:-1] >> (_BITS * tier)) & (2**_BITS - 1)
        is_top = (present[:-1] >> (_BITS * (tier + 1))) == 0
        each = np.append(0.0, np.cumsum(np.where(is_top, lasts, 0) / np.maximum(count, 1) * (count > 0)))
        own = np.flatnonzero(spans.tier == tier)
        had[own] = each[ends[3][own]] - each[ends[2][own]]
    inner = np.flatnonzero(spans.parent >= 0)
    np.subtract.at(had, spans.parent[inner], had[inner].copy())
    return _whole(had, of_span, key, pieces.end_ps - pieces.start_ps - left), left


def _whole(had: Float64, of_span: Int64, key: Int64, covered: Int64) -> Int64:
    """Shares as whole picoseconds that add up to what is covered of each step and category."""
    order = np.argsort(of_span, kind="stable")
    sums = np.rint(np.cumsum(np.maximum(had[order], 0.0))).astype(np.int64)
    whole = np.diff(sums, prepend=0)
    keys, first, place = np.unique(of_span[order], return_index=True, return_inverse=True)
    wanted = np.bincount(np.append(np.searchsorted(keys, key), 0)[:-1], covered, len(keys) + 1)[: len(keys)]
    if not len(keys):
        return whole
    missing = wanted.astype(np.int64) - np.add.reduceat(whole, first)
    # Rounding errors of the sums go to the longest span.
    most = np.lexsort((-whole, place))[first]
    whole[most] += missing
    found = np.empty_like(whole)
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
