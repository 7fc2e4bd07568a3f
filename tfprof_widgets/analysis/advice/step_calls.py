"""What Python calls in a step -> how long graphs run in it, and what arrays it turns into tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Float64, Int32, Int64, Trace
from ..base.data_threads import within_data
from ..base.event_graph import int_stat_at
from ..base.event_names import by_ends
from ..base.matching import sum_by
from ..base.units import PS_PER_MS
from .python_calls import READS, calls_op

CONVERTS = ("TFE_Py_FastPathExecute_C", "convert_to_tensor", "tf.constant")
"""Events in which Python hands a value over: what they take themselves is making a tensor of it, but for some 20 us."""
_FUNCTION = "EagerLocalExecute: __"
_RUN = "EagerKernelExecute"
_ALLOCATION = "MemoryAllocation"
LARGE_BYTES = 2**23
"""From this size on copying an array in each step is no way to hand over a batch: smaller ones take no longer so than by a
pipeline."""
LONG_MS = 10.0
"""From here on a copy is large where nothing tells its size. A short one may wait for Python's lock, which another thread gives
away after 5 ms."""


@dataclass(frozen=True, eq=False, repr=False)
class StepCalls:
    """What Python calls in the steps; arrays have one entry for each of them."""

    functions: Int64
    """The events that call functions."""
    n_functions: float
    """How many in a usual step."""
    function_ms: Float64
    """How long their graphs run."""
    converted_ms: Float64
    """How long large arrays take to become tensors."""
    converted_bytes: float
    """Bytes of them a step; 0 where nothing tells."""
    conversions: Int64
    """The events that convert them."""
    ops: Int64
    """The events that call ops outside of functions, but for reading variables."""
    n_ops: float
    """How many in a usual step."""


def step_calls(trace: Trace, entry: Int32, n_steps: int) -> StepCalls:
    """Find them; `entry` is for each event its step among the counted ones, -1 for none."""
    parent = trace.nesting.parent
    entry = np.where(within_data(trace), np.int32(-1), entry)
    is_function = by_ends(trace, lambda names, _: [name.startswith(_FUNCTION) for name in names], np.bool_)
    is_op = by_ends(trace, lambda names, _: [calls_op(name) and name != READS for name in names], np.bool_)
    ops = np.flatnonzero(is_op[trace.name_id] & (entry >= 0))
    calls = np.flatnonzero(is_function[trace.name_id] & (entry >= 0))
    runs = np.flatnonzero(trace.names_matching([_RUN]) & (entry >= 0) & (parent >= 0))
    runs = runs[is_function[trace.name_id[parent[runs]]]]
    conversions = _conversions(trace, entry)
    is_large = conversions.n_bytes >= LARGE_BYTES
    if not trace.names_matching([_ALLOCATION]).any():  # not every allocator tells
        is_large = conversions.own_ps >= LONG_MS * PS_PER_MS
    rows, own = conversions.event[is_large], conversions.own_ps[is_large]
    return StepCalls(
        functions=calls,
        n_functions=_usual(entry[calls], n_steps),
        function_ms=sum_by(entry[runs], trace.duration_ps[runs], n_steps) / PS_PER_MS,
        converted_ms=sum_by(entry[rows], own, n_steps) / PS_PER_MS,
        converted_bytes=float(conversions.n_bytes[is_large].sum()) / max(n_steps, 1),
        conversions=rows,
        ops=ops,
        n_ops=_usual(entry[ops], n_steps),
    )


def _usual(entry: Int32, n_steps: int) -> float:
    """The median number of events a step."""
    return float(np.median(np.bincount(entry, minlength=n_steps))) if n_steps else 0.0


@dataclass(frozen=True, eq=False)
class _Conversions:
    event: Int64
    own_ps: Int64
    """What each takes but for the ops that it calls."""
    n_bytes: Int64
    """What each allocates itself."""


def _conversions(trace: Trace, entry: Int32) -> _Conversions:
    """The calls in steps that hand a value over, in order."""
    parent = trace.nesting.parent
    rows = np.flatnonzero(trace.names_matching(CONVERTS) & (entry >= 0))
    place = np.full(trace.n_events + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    children = np.flatnonzero(place[parent] >= 0)
    children_ps = sum_by(place[parent[children]], trace.duration_ps[children], len(rows))
    made = children[trace.names_matching([_ALLOCATION])[children]]
    n_bytes = sum_by(place[parent[made]], int_stat_at(trace, "requested_bytes", made), len(rows))
    return _Conversions(rows, trace.duration_ps[rows] - children_ps, n_bytes)
