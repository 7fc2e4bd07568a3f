"""Steps -> how many batches each takes in one call, as Keras does with `steps_per_execution`, where the trace is sure of it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...trace.trace import Float64, Int64, SmallInt, Trace
from ..base.event_graph import int_stat_at
from ..base.host_events import GET_NEXT
from ..base.wording import milliseconds
from .averaged_steps import MIN_STEPS
from .step_table import StepTable

MARK = "n_batches"
"""What our marker of a step says, as a stat, where that is more than one."""
_MOST = 2**31 - 1


def step_batches(trace: Trace, table: StepTable) -> Int64:
    """For each step how many batches it takes, 1 where nothing says that these are more.

    A marker says it. Of other marked steps the numbers do, 0, 5, 10, where each step fetches as often as its number advances: a
    loop may also mark every fifth step alone. The last fetch of a step that fetches less finds that there is nothing left.
    """
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
