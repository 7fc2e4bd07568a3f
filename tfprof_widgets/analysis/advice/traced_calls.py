"""Calls of `tf.function`s -> those that traced within the steps, and what they took beyond executing.

traced_calls(trace, entry, n_steps) -> TracedCalls
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Float64, Int32, Int64, Trace
from ..base.event_graph import nearest_marked
from ..base.matching import sum_by
from ..base.units import PS_PER_MS
from ..steps.step_spans import on_host

_EXECUTES = "EagerKernelExecute"
"""Within the call of a function: its graph runs. What comes before is tracing, optimizing and instantiating it."""


@dataclass(frozen=True, eq=False, repr=False)
class TracedCalls:
    """The outermost calls that traced, of the steps that count."""

    event: Int64
    """The events."""
    function: tuple[str, ...]
    """Of each the function that it called."""
    entry: Int32
    """Of each its step."""
    cost_ms: Float64
    """For each step what its tracing calls took, less the running of the graph."""


def traced_calls(trace: Trace, entry: Int32, n_steps: int) -> TracedCalls:
    """Find them; `entry` is for each event its step among the counted ones, -1 for none."""
    mode = trace.string_stat("tf_function_call")
    texts = {text: trace.strings[text].startswith("traced") for text in np.unique(mode[mode >= 0]).tolist()}
    is_traced = on_host(trace) & np.isin(mode, [text for text, traced in texts.items() if traced])
    rows = np.flatnonzero(is_traced & (entry >= 0))
    if not len(rows):
        return TracedCalls(rows, (), entry[rows], np.zeros(n_steps))
    around = np.append(nearest_marked(trace.nesting.parent, is_traced), -1)
    rows = rows[around[trace.nesting.parent[rows]] < 0]
    runs = np.flatnonzero(trace.names_matching([_EXECUTES]))
    call = np.append(nearest_marked(trace.nesting.parent, is_traced), -1)[runs]
    runs, call = runs[call >= 0], call[call >= 0]
    outer = np.full(trace.n_events, -1, np.int64)
    outer[rows] = np.arange(len(rows))
    # Runs of functions within a function that is being traced belong to an inner call and are left as they are.
    inside = outer[call] >= 0
    spent = trace.duration_ps[rows] - sum_by(outer[call[inside]], trace.duration_ps[runs[inside]], len(rows))
    cost = sum_by(entry[rows], np.maximum(spent, 0), n_steps) / PS_PER_MS
    names = tuple(trace.strings[i] for i in trace.name_id[rows].tolist())
    return TracedCalls(rows, names, entry[rows], cost)
