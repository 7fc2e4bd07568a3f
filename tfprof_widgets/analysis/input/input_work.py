"""Executions of ops -> which ops run only within tf.data, that is in the functions mapped over a data set."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Trace
from ..base.data_threads import data_lines
from ..base.event_graph import nearest_marked
from ..ops.op_occurrences import Occurrences


def input_work(trace: Trace, occurrences: Occurrences) -> Bool:
    """Tell the ops of input pipelines from those of the model, which may have the same type and no scope either.

    Returns:
        For each unit whether every execution of it lay within an iterator's call or on a thread of tf.data's own.
    """
    is_data_line = data_lines(trace)
    is_iterator = np.array([name.startswith("Iterator::") for name in occurrences.name], np.bool_)
    n = len(occurrences.name)
    if not len(occurrences):
        return np.zeros(n, np.bool_)
    within = is_data_line[occurrences.line]
    within |= nearest_marked(occurrences.parent, is_iterator[occurrences.op]) >= 0
    n_outside = np.bincount(occurrences.op[~within], minlength=n)
    executed = np.bincount(occurrences.op, minlength=n) > 0
    work: Bool = executed & (n_outside == 0)
    return work
