"""What Python calls in a step -> how long graphs run in it, and what arrays it turns into tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Float64, Int32, Int64, Trace
from ..base.event_graph import int_stat_at
from ..base.event_names import by_ends
from ..base.matching import sum_by
from ..base.units import PS_PER_MS
from .python_calls import READS, calls_op

CONVERTS = ("TFE_Py_FastPathExecute_C", "convert_to_tensor", "tf.constant")
"""Events in which Python hands a value over: what they take themselves is making a tensor of it, but for some 20 us."""
_FUNCTION = "EagerLocalExecute: __"
_RUN = "EagerKernelExecute"
LARGE_BYTES = 2**20
"""From this size on an array takes longer to copy than the call that hands it over."""


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
    """Bytes of them a step."""
    conversions: Int64
    """The events that convert them."""
    ops: Int64
    """The events that call ops outside of functions, but for reading variables."""
    n_ops: float
    """How many in a usual step."""


def step_calls(trace: Trace, entry: Int32, n_steps: int) -> StepCalls:
    """Find them; `entry` is for each event its step among the counted ones, -1 for none."""
    parent = trace.nesting.parent
    is_function = by_ends(trace, lambda names, _: [name.startswith(_FUNCTION) for name in names], np.bool_)
    is_op = by_ends(trace, lambda names, _: [calls_op(name) and name != READS for name in names], np.bool_)
    ops = np.flatnonzero(is_op[trace.name_id] & (entry >= 0))
    calls = np.flatnonzero(is_function[trace.name_id] & (entry >= 0))
    runs = np.flatnonzero(trace.names_matching([_RUN]) & (entry >= 0) & (parent >= 0))
    runs = runs[is_function[trace.name_id[parent[runs]]]]
    rows, n_bytes = _large_conversions(trace, entry)
    children = np.flatnonzero(np.isin(parent, rows))
    own = trace.duration_ps[rows] - sum_by(
        np.searchsorted(rows, parent[children]), trace.duration_ps[children], len(rows)
    )
    return StepCalls(
        functions=calls,
        n_functions=_usual(entry[calls], n_steps),
        function_ms=sum_by(entry[runs], trace.duration_ps[runs], n_steps) / PS_PER_MS,
        converted_ms=sum_by(entry[rows], own, n_steps) / PS_PER_MS,
        converted_bytes=float(n_bytes) / max(n_steps, 1),
        conversions=rows,
        ops=ops,
        n_ops=_usual(entry[ops], n_steps),
    )


def _usual(entry: Int32, n_steps: int) -> float:
    """The median number of events a step."""
    return float(np.median(np.bincount(entry, minlength=n_steps))) if n_steps else 0.0


def _large_conversions(trace: Trace, entry: Int32) -> tuple[Int64, int]:
    """The conversions in steps that allocate much themselves, in order, and the bytes of all."""
    parent = trace.nesting.parent
    allocations = np.flatnonzero(trace.names_matching(["MemoryAllocation"]) & (entry >= 0) & (parent >= 0))
    allocations = allocations[trace.names_matching(CONVERTS)[parent[allocations]]]
    n_bytes = int_stat_at(trace, "requested_bytes", allocations)
    is_large = n_bytes >= LARGE_BYTES
    return np.unique(parent[allocations[is_large]]).astype(np.int64), int(n_bytes[is_large].sum())
