"""Eager calls of ops -> whether the steps run op by op, and how much of their time that is.

eager_work(trace, entry, steps, work) -> EagerWork
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Int32, Trace
from ..base.event_names import by_name
from .op_work import OpWork
from .step_facts import StepFacts

MIN_CALLS = 10
"""So many eager ops a step are a loop that runs op by op; fewer are what a loop around a `tf.function` does with its result."""
MIN_SHARE = 0.5
"""Of the model's op time that is eager: else the step is a function, and some ops are left outside of it."""
CALL_MS = 0.020
"""What calling an eager op costs within its own event, measured; the op inside is not recorded on its own."""
_EAGER = "EagerLocalExecute: "
_NOT_OPS = ("Iterator", "Optional", "Dataset", "__")
"""Ops that read the data set, and functions, which are named `__inference_...`."""


@dataclass(frozen=True, eq=False, repr=False)
class EagerWork:
    """Eager ops within the steps."""

    calls_per_step: float
    op_ms: float
    """What the eager ops of a usual step take themselves."""
    share: float
    """Of the op time of a usual step the share of eager ops, in [0, 1]."""

    @property
    def is_hot(self) -> bool:
        """Whether the steps run op by op."""
        return self.calls_per_step >= MIN_CALLS and self.share >= MIN_SHARE


def eager_work(trace: Trace, entry: Int32, steps: StepFacts, work: OpWork) -> EagerWork:
    """Find it; `entry` is for each event its step among the counted ones, -1 for none."""
    is_call = by_name(trace, lambda names: [_is_op(name) for name in names], np.bool_)[trace.name_id]
    rows = np.flatnonzero(is_call & (entry >= 0))
    if not len(rows):
        return EagerWork(0.0, 0.0, 0.0)
    calls = np.bincount(entry[rows], minlength=len(steps))
    name, count = np.unique(trace.name_id[rows], return_counts=True)
    usual = np.array([np.median(trace.duration_ps[rows[trace.name_id[rows] == one]]) for one in name]) / 1e9
    op_ms = float((np.maximum(usual - CALL_MS, 0.0) * count).sum()) / max(len(steps), 1)
    called_ms = float((usual * count).sum()) / max(len(steps), 1)
    whole = float(work.ms[work.is_model | work.is_optimizer].sum())
    return EagerWork(float(np.median(calls)), op_ms, min(called_ms / whole, 1.0) if whole else 0.0)


def _is_op(name: str) -> bool:
    return name.startswith(_EAGER) and not name.removeprefix(_EAGER).startswith(_NOT_OPS)
