"""Trace -> the eager calls that stand for an op, because the op itself left no event.

TensorFlow 2.21 runs an eager op as a function of one op, and inside that the op is not recorded: all that is seen is
`EagerLocalExecute: MatMul` within an `EagerExecute` that says it is no function, and the kernels that it enqueued.
"""

from __future__ import annotations

import re

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.event_graph import nearest_marked
from ..base.event_names import by_ends, named_like
from ..base.launches import Launches
from ..steps.step_spans import on_host

EAGER_SCOPE = "eager/"
"""Such an op has a type and no name: it is called `eager/MatMul`, one op whatever lines call it."""

_ANY_CALL = "EagerLocalExecute: "
_CALL = re.compile(r"\AEagerLocalExecute: (?!.*(Iterator|Optional|Dataset))")
"""Eager calls but those that make and read data sets, which no `tf.function` of the user's would take in."""


def eager_calls(trace: Trace, is_recorded: Bool) -> Int64:
    """The events of eager calls of an op, not of a function, within which no op was recorded; ascending.

    Args:
        trace: the trace.
        is_recorded: for each event whether it is known to execute an op.
    """
    is_call = _any_call(trace) & on_host(trace) & ~is_recorded
    rows = np.flatnonzero(is_call)
    is_call[rows] = named_like(trace, rows, _CALL)
    if not is_call.any():
        return rows[:0]
    parent = trace.nesting.parent
    around = nearest_marked(parent, is_call)[is_recorded]
    is_call[around[around >= 0]] = False
    is_function = np.append(trace.int_stat("is_func", default=1, signed_only=True), 1)
    call = nearest_marked(parent, trace.names_matching(["EagerExecute"]))
    return np.flatnonzero(is_call & (is_function[call] == 0))


def eager_launches(trace: Trace, calls: Int64, launches: Launches) -> Launches:
    """What these eager calls enqueued, each event of a device with the call of the op instead of that of the driver.

    Such a call runs its op on the device; on the host it executes none.
    """
    if not len(calls) or not len(launches):
        return Launches(launches.event[:0], launches.call[:0])
    around = launches.inside(trace, _any_call(trace))
    kept = np.isin(around, calls)
    return Launches(launches.event[kept], around[kept])


def _any_call(trace: Trace) -> Bool:
    """For each event whether it is the call of an eager op or of a function."""
    is_any = by_ends(trace, lambda names, _: [name.startswith(_ANY_CALL) for name in names], np.bool_)
    return np.asarray(is_any[trace.name_id])


def op_type_of_call(name: str) -> str:
    """`MatMul` of `EagerLocalExecute: MatMul`."""
    return name.partition(": ")[2].strip()
