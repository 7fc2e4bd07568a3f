"""`Usage` -> what a prefetch's own thread was busy with while the training waited in the prefetch.

busy_meanwhile(usage, prefetch) -> node

On a busy machine the thread that fills a buffer and the one that empties it compete for the processor, so that a call of
a prefetch may take long although its element was ready: it waits for what the other thread does, which is what must
become cheaper.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Bool, Int64
from ..base.matching import sum_by
from ..base.stretches import Stretches
from .pipeline_usage import Usage

_MEANWHILE = 0.5


def busy_meanwhile(usage: Usage, prefetch: int) -> int:
    """The iterator below a prefetch that is the cost of waiting in it, -1 where the prefetch's thread was mostly idle.

    Of all the time for which root calls waited in the prefetch itself, its thread must have worked on other elements for
    at least half; the iterator is then the one below the prefetch with the largest self time.
    """
    own = np.flatnonzero((usage.node == prefetch) & usage.is_counted & (usage.waits.window_ps > 0))
    feeding = np.flatnonzero(usage.nodes.parent[usage.node] == prefetch)
    wait_ps = int(usage.waits.wait_ps[own].sum())
    if not len(feeding) or wait_ps <= 0:
        return -1
    start, end = usage.start_ps, usage.start_ps + usage.duration_ps
    overlap = Stretches.of(start[feeding], end[feeding]).within(start[own], end[own])
    waited_for = usage.waits.window_ps[own] - usage.waits.wait_ps[own]
    if int(np.maximum(overlap - waited_for, 0).sum()) < _MEANWHILE * wait_ps:
        return -1
    below = _below(usage.nodes.parent, prefetch)
    self_ps = sum_by(usage.node, usage.waits.self_ps, usage.n_nodes)
    return int(np.argmax(np.where(below, self_ps, -1)))


def _below(parent: Int64, node: int) -> Bool:
    """Which nodes lie below one; a node stands after its consumer."""
    found = np.zeros(len(parent), np.bool_)
    for k in range(node + 1, len(parent)):  # one turn per iterator of the graph
        found[k] = parent[k] == node or (parent[k] >= 0 and found[parent[k]])
    return found
