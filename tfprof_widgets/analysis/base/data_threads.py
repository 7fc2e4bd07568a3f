"""Events -> which of them tf.data runs: iterators, and the functions mapped over a data set."""

from __future__ import annotations

import re

import numpy as np

from ...trace.trace import Bool, Trace
from .event_graph import nearest_marked
from .event_names import by_ends

_DATA_THREAD = re.compile(r"tf_data_(private_threadpool|iterator_resource)")
"""Threads of tf.data's own; on `tf_data_iterator_get_next` the step goes on with what waited for the batch."""


def within_data(trace: Trace) -> Bool:
    """For each event whether it lies within an iterator's call or on a thread of tf.data's own."""
    is_iterator = by_ends(trace, lambda names, _: [name.startswith("Iterator::") for name in names], np.bool_)[
        trace.name_id
    ]
    found: Bool = data_lines(trace)[trace.line_id] | (nearest_marked(trace.nesting.parent, is_iterator) >= 0)
    return found


def data_lines(trace: Trace) -> Bool:
    """For each line of the trace whether it is a thread of tf.data's own."""
    return np.array([bool(_DATA_THREAD.match(line.name)) for line in trace.lines], np.bool_)
