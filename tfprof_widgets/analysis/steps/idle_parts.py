"""Stretches in which no device works -> what made each wait: the thread that launched what runs next, else the host.

Source: semantics 3.7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int64, SmallInt, Trace, UInt8
from ..base.innermost import innermost
from ..base.launches import compute_launches
from ..base.matching import moments_of
from .categories import OWN, Part
from .host_parts import NONE
from .step_pieces import Pieces, resolve


@dataclass(frozen=True, eq=False, repr=False)
class DeviceWork:
    """Events of devices by owner, then start, with the calls that launched them."""

    owner: Int64
    """Among whose events is told what runs next: the number of a session, or of a device in one."""
    event: Int64
    """Rows of the trace."""
    call: Int64
    """For each the row of its call, -1 where the trace does not tell."""

    @classmethod
    def of(cls, trace: Trace, event: Int64, owner: SmallInt | Int64) -> DeviceWork:
        """Find the calls of some events of devices."""
        order = np.lexsort((trace.start_ps[event], owner))
        event = event[order]
        return cls(owner[order].astype(np.int64), event, compute_launches(trace).call_of(event))

    def where(self, chosen: Bool) -> DeviceWork:
        """Some of them."""
        return DeviceWork(self.owner[chosen], self.event[chosen], self.call[chosen])

    def after(self, trace: Trace, owner: Int64, end_ps: Int64) -> Int64:
        """For each moment of an owner which of these is the first to start then or later; -1 for none."""
        start, end = moments_of((self.owner, trace.start_ps[self.event]), (owner, end_ps))
        at = np.searchsorted(start, end)
        return np.where(np.append(self.owner, -1)[at] == owner, at, -1)


@dataclass(frozen=True, eq=False, repr=False)
class HostWork:
    """What hosts did: on each thread, and for each step."""

    line: Int64
    start_ps: Int64
    end_ps: Int64
    part: UInt8
    """Stretches without overlap by line, then time, each a `Part` of hosts."""
    of_steps: Pieces
    """For each step at every instant the largest `Part` of what its host events do."""

    @classmethod
    def of(cls, trace: Trace, parts: UInt8, of_steps: Pieces) -> HostWork:
        """Tell from the parts of host events what each thread does at every instant."""
        event, start, end = innermost(trace, parts != NONE)
        return cls(trace.line_id[event].astype(np.int64), start, end, parts[event], of_steps)


@dataclass(frozen=True, eq=False, repr=False)
class Waits:
    """Parts of stretches of idle time, by stretch, then time, and what counts in each."""

    stretch: Int64
    line: Int64
    """The thread that is about to launch what runs next; -1 where the trace does not tell, and after its call."""
    part: UInt8
    """What counts where no host tells more: after the call that it came too late, or that nothing is to blame."""
    step: Int64
    """In whose `HostWork.of_steps` the time lies, -1 for none."""
    start_ps: Int64
    end_ps: Int64


def waits_of(
    trace: Trace, launches: DeviceWork, following: Int64, *, step: Int64, start_ps: Int64, end_ps: Int64
) -> Waits:
    """Tell of stretches of idle time what counts in them.

    Until the call returned that launched what runs next, what counts is what its thread did; after it, that the call came
    too late. Of what was launched before the device fell idle nothing on the host is to blame.

    Args:
        trace: the trace.
        launches: what devices ran.
        following: for each stretch which of `launches` ends it, -1 for none.
        step: for each stretch the step that it lies in, -1 for none.
        start_ps: of the stretches.
        end_ps: of the stretches.
    """
    call = np.append(launches.call, -1)[following]
    known = np.flatnonzero(call >= 0)
    called, line, part = start_ps.copy(), np.full(len(call), -1, np.int64), np.full(len(call), Part.OTHER, np.uint8)
    called[known] = np.clip(trace.ends(call[known]), start_ps[known], end_ps[known])
    line[known] = trace.line_id[call[known]]
    part[known] = np.where(called[known] > start_ps[known], Part.LATENCY, Part.QUEUED)
    stretch, is_after = np.repeat(np.arange(len(call)), 2), np.tile([False, True], len(call))
    start = np.where(is_after, called[stretch], start_ps[stretch])
    end = np.where(is_after, end_ps[stretch], called[stretch])
    kept = np.flatnonzero(start < end)
    stretch, is_after = stretch[kept], is_after[kept]
    return Waits(
        stretch=stretch,
        line=np.where(is_after, -1, line[stretch]),
        part=np.where(is_after, part[stretch], np.uint8(Part.OTHER)),
        step=step[stretch],
        start_ps=start[kept],
        end_ps=end[kept],
    )


def charge(work: HostWork, waits: Waits) -> Pieces:
    """Charge waits to what the hosts did; the `step` of the pieces is the number of the wait."""
    own, of_own = overlaps(work.line, work.start_ps, work.end_ps, waits.line, waits.start_ps, waits.end_ps)
    fallback = work.of_steps
    there, of_there = overlaps(
        fallback.step, fallback.start_ps, fallback.end_ps, waits.step, waits.start_ps, waits.end_ps
    )
    told = np.flatnonzero(waits.part != Part.OTHER)
    return resolve(
        np.concatenate([of_own, of_there, told]),
        np.concatenate([work.start_ps[own], fallback.start_ps[there], waits.start_ps[told]]),
        np.concatenate([work.end_ps[own], fallback.end_ps[there], waits.end_ps[told]]),
        np.concatenate([OWN[work.part[own]], fallback.span_type[there], waits.part[told]]),
        step_start_ps=waits.start_ps,
        step_end_ps=waits.end_ps,
    )


def overlaps(
    owner: Int64, start_ps: Int64, end_ps: Int64, of_owner: Int64, low_ps: Int64, high_ps: Int64
) -> tuple[Int64, Int64]:
    """Every pair of a stretch and a span of the same owner that overlap.

    Args:
        owner: of each stretch.
        start_ps: of stretches without overlap, by owner, then time.
        end_ps: of the same.
        of_owner: of each span.
        low_ps: start of each span.
        high_ps: end of each span.
    """
    start, end, low, high = moments_of((owner, start_ps), (owner, end_ps), (of_owner, low_ps), (of_owner, high_ps))
    first = np.searchsorted(end, low, side="right")
    count = np.maximum(np.searchsorted(start, high, side="left") - first, 0)
    return ranges(first, count), np.repeat(np.arange(len(low_ps)), count)
