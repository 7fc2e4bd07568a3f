"""Steps -> `attribution`: each stretch of a step, and between steps, with what had it: an op, a call, or what it waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..trace.arrays import Int64
from ..trace.source_map import SourceMap
from ..trace.trace import Trace
from .advice.claims import Claimed
from .card import last_part, title_of
from .common import PS_PER_MS, label_column, text_column
from .facts import Facts
from .grouping import UNIT_TEXTS
from .layers.layers import PHASES, Layers
from .source import sample_times
from .steps.categories import STEP_CATEGORIES
from .steps.owners import CATEGORIES, Attribution
from .table import table

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
        advice       int    row of `advice_table` that is about it, -1 for none

    `time_ms` of a step's rows adds up to its `step_time_ms`, and those of a category to the column of `steps`: where
    several ops compute at once they share the time. All else that is said of a step's time is a sum of these rows.
    Of no stretch two pieces of advice speak: one that speaks of a part of it is cut.
    Empty in a reduced profile (not `has_events`): `prof.host(name).attribution` has that of one host.
    """,
    browser="step category start_ms duration_ms time_ms event op layer line advice",
    file="attribution",
    read=lambda analysis: attribution_table(analysis, analysis.claimed),
    of_executions="attribution",
)

_INPUT = STEP_CATEGORIES.index("input")
_COPIES = tuple(STEP_CATEGORIES.index(name) for name in ("copy_to_device", "output", "device_to_device"))


def attribution_table(facts: Facts, claimed: Claimed) -> pd.DataFrame:
    """The `attribution` table."""
    rows, layers, trace = claimed.rows, facts.layers, facts.trace
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
            "event": label_column(trace.strings, _at(trace.name_id, rows.event)),
            "op": label_column(facts.op_shares.name, rows.op),
            "type": label_column(facts.op_shares.type, rows.op),
            "layer": label_column(layers.entries["layer"].tolist(), _at(layers.op_entry, rows.op)),
            "phase": label_column((*PHASES, "input", "border", "copy"), phase_of(rows, layers)),
            "line": _lines(facts, rows),
            "unit": text_column([UNIT_TEXTS.get(one, "") for one in kernel_unit.tolist()]),
            "bound": text_column([bound.get(one, "") for one in unit.tolist()]),
            "stage": text_column(np.where(rows.category == _INPUT, stage, "")),
            "advice": claimed.advice,
        }
    )


_MOST_ROWS, _MOST_STEPS = 600, 64
"""That are drawn."""
_N_THIN, _N_BINS = 500, 125
"""What is shorter than such a part of a step is drawn as a sum of such a part."""


def drawn_rows(facts: Facts, claimed: Claimed, typical: Sequence[int]) -> pd.DataFrame:
    """What of `attribution` is drawn of a step, of as many steps as that is little for, the typical ones first; short stretches
    are sums by category and advice, so that each adds up as before."""
    rows, frame = claimed.rows, facts.steps.frame
    start_ps, length_ps = (frame[name].to_numpy(np.int64) for name in ("start_ps", "duration_ps"))
    far = np.abs(np.arange(len(frame)) - (typical[0] if typical else 0))
    far[list(typical)] = -1
    steps = np.argsort(far, kind="stable")[:_MOST_STEPS]
    own = np.flatnonzero(np.isin(rows.step, steps))
    step, lasts_ps = rows.step[own], (rows.end_ps - rows.start_ps)[own]
    part = (rows.start_ps[own] - start_ps[step]) * _N_BINS // np.maximum(length_ps[step], 1)
    is_thin = lasts_ps * _N_THIN < length_ps[step]
    found = pd.DataFrame({"step": step, "category": rows.category[own], "advice": claimed.advice[own], "row": own})
    found = found.assign(part=np.where(is_thin, part, own + _N_BINS), start_ps=rows.start_ps[own])
    found = found.assign(end_ps=rows.end_ps[own], time_ps=rows.time_ps[own])
    sums = found.groupby(["step", "category", "advice", "part"], as_index=False).agg(
        row=("row", "first"),
        n=("row", "size"),
        start_ps=("start_ps", "min"),
        end_ps=("end_ps", "max"),
        time_ps=("time_ps", "sum"),
    )
    n_rows = np.bincount(sums["step"], minlength=len(frame))[steps].cumsum()
    sums = sums[sums["step"].isin(steps[: max(len(typical), int((n_rows <= _MOST_ROWS).sum()))])]
    first, is_sum = sums["row"].to_numpy(), sums["n"].to_numpy() > 1
    columns = {one.name: getattr(rows, one.name)[first] for one in fields(rows)}
    columns |= {name: sums[name].to_numpy() for name in ("start_ps", "end_ps", "time_ps")}
    columns |= {name: np.where(is_sum, -1, columns[name]) for name in ("event", "op")}
    return attribution_table(facts, Claimed(Attribution(**columns), claimed.advice[first]))


def phase_of(rows: Attribution, layers: Layers) -> Int64:
    """What each stretch is for, an index into `PHASES`, then `input`, `border` and `copy`; -1 where nothing tells."""
    n = len(PHASES)
    found = _at(layers.op_phase, rows.op)
    is_input = np.append(layers.entries["kind"].eq("input").to_numpy()[layers.op_entry], False)
    found[is_input[rows.op] | (rows.category == _INPUT)] = n
    found[rows.is_at_border] = n + 1
    found[np.isin(rows.category, _COPIES)] = n + 2
    return found


def _lines(facts: Facts, rows: Attribution) -> pd.Series:
    """The user's line of each op; without an op the one at which Python was seen most often in the stretch."""
    lines = facts.source_lines
    entries = [
        "" if bucket else f"{last_part(file)}:{line}"
        for file, line, bucket in zip(*(lines.entries[name] for name in ("file", "line", "bucket")), strict=True)
    ]
    text = label_column(entries, _at(lines.op_entry, rows.op)).to_numpy(np.object_, copy=True)
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


def _at(values: npt.NDArray[np.integer], rows: Int64) -> Int64:
    """Some of the values, -1 where the row is."""
    found: Int64 = np.append(values.astype(np.int64), -1)[rows]
    return found
