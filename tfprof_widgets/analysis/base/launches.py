"""Trace -> `Launches`: each kernel or copy of a device with the host's call that enqueued it.

    found = compute_launches(trace)
    found.event, found.call      # rows of the trace: device event -> the call, such as `cuLaunchKernel`, on a thread of the host
    found.call_of(device_events) # -1 where the trace has no call
    found.inside(trace, is_eager_call)[i]  # of launch `i` the innermost event around the call for which that holds, -1 for none

Start and end of a call are those of its event: `trace.start_ps[call]`, `trace.ends(call)`. How long work waited in its queue is
`trace.start_ps[event] - trace.ends(call)`, which is negative where the device began before the call returned.

Source: semantics 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from .event_graph import launch_links, nearest_marked
from .event_names import by_ends, once
from .op_names import COMPILATION


@dataclass(frozen=True, eq=False, repr=False)
class Launches:
    """One entry for each device event whose call is in the trace, by device event, ascending; each occurs once."""

    event: Int64
    """The kernel, copy or memset, a row of the trace."""
    call: Int64
    """The event of the host that enqueued it, of equal `correlation_id` within the session; several may have one call."""

    def __len__(self) -> int:
        return len(self.event)

    def call_of(self, events: Int64) -> Int64:
        """For each of some device events the call that enqueued it, -1 where the trace has none."""
        if not len(self):
            return np.full(len(events), -1, np.int64)
        at = np.minimum(np.searchsorted(self.event, events), len(self) - 1)
        return np.where(self.event[at] == events, self.call[at], -1)

    def inside(self, trace: Trace, marked: Bool) -> Int64:
        """For each launch the innermost event of the call's thread that is marked and holds the call, -1 for none.

        Args:
            trace: the trace.
            marked: a flag per event of the trace; a marked call is inside itself.
        """
        return nearest_marked(trace.nesting.parent, marked)[self.call].astype(np.int64)


@once
def compute_launches(trace: Trace) -> Launches:
    """Match the device events of a trace with the calls that enqueued them; empty without a device or without calls."""
    call, event = launch_links(trace)
    order = np.argsort(event, kind="stable")
    return Launches(event[order], call[order])


def tried_kernels(trace: Trace, launches: Launches) -> Int64:
    """Events of devices that a compiler enqueued while it compiled, ascending: to choose the quickest, not to run an op."""
    if not len(launches):
        return launches.event
    compiles = by_ends(trace, lambda names, _: [COMPILATION.match(name) is not None for name in names], np.bool_)
    return launches.event[launches.inside(trace, np.asarray(compiles[trace.name_id])) >= 0]
