"""Executions of ops -> which ops run only within tf.data, that is in the functions mapped over a data set."""

from __future__ import annotations

import re

import numpy as np

from ...trace.trace import Bool, Trace
from ..base.event_graph import nearest_marked
from ..base.event_names import by_ends
from ..ops.op_occurrences import Occurrences

_DATA_THREAD = re.compile(r"tf_data_(private_threadpool|iterator_resource)")
"""Threads of tf.data's own; on `tf_data_iterator_get_next` the step goes on with what waited for the batch."""


def input_work(trace: Trace, occurrences: Occurrences) -> Bool:
    """Tell the ops of input pipelines from those of the model, which may have the same type and no scope either.

    Returns:
        For each unit whether every execution of it lay within an iterator's call or on a thread of tf.data's own.
    """
    is_data_line = _data_lines(trace)
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


def within_data(trace: Trace) -> Bool:
    """For each event whether it lies within an iterator's call or on a thread of tf.data's own."""
    is_iterator = by_ends(trace, lambda names, _: [name.startswith("Iterator::") for name in names], np.bool_)[
        trace.name_id
    ]
    found: Bool = _data_lines(trace)[trace.line_id] | (nearest_marked(trace.nesting.parent, is_iterator) >= 0)
    return found


def _data_lines(trace: Trace) -> Bool:
    return np.array([bool(_DATA_THREAD.match(line.name)) for line in trace.lines], np.bool_)
