"""Stretches in which no device works -> what made each wait: the thread that launched what runs next, else the host.

Source: semantics 3.7.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ...trace.stat_shapes import ranges
from ...trace.trace import Int64, SmallInt, Trace, UInt8
from ..base.innermost import innermost
from ..base.launches import compute_launches
from .categories import OWN, Part
from .host_parts import NONE
from .step_pieces import Pieces, resolve


@dataclass(frozen=True, eq=False, repr=False)
class DeviceWork:
    """Events of devices by start, with the calls that launched them."""

    event: Int64
    """Rows of the trace."""
    call: Int64
    """For each the row of its call, -1 where the trace does not tell."""

    @classmethod
    def of(cls, trace: Trace, event: Int64) -> DeviceWork:
        """Find the calls of some events of devices."""
        event = event[np.argsort(trace.start_ps[event], kind="stable")]
        return cls(event, compute_launches(trace).call_of(event))

    def after(self, trace: Trace, session: Int64, end_ps: Int64) -> Int64:
        """For each moment of a session which of these is the first to start then or later; -1 for none."""
        found = np.full(len(end_ps), -1, np.int64)
        own = trace.session_id[self.event]
        for one in np.unique(session).tolist():  # bounded by the number of sessions
            place, wanted = np.flatnonzero(own == one), np.flatnonzero(session == one)
            at = np.searchsorted(trace.start_ps[self.event[place]], end_ps[wanted])
            found[wanted] = np.append(place, -1)[at]
        return found


@dataclass(frozen=True, eq=False, repr=False)
class HostWork:
    """What hosts did: on each thread, and for each step."""

    session: SmallInt
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
        return cls(trace.session_id[event], trace.line_id[event].astype(np.int64), start, end, parts[event], of_steps)

    def of_session(self, session: int, session_of_step: Int64) -> HostWork:
        """What of it was done in one session, of which there may be hundreds."""
        own, steps = self.session == session, session_of_step[self.of_steps.step] == session
        of_steps = Pieces(*(getattr(self.of_steps, one.name)[steps] for one in fields(Pieces)))
        return HostWork(
            self.session[own], self.line[own], self.start_ps[own], self.end_ps[own], self.part[own], of_steps
        )


def charge(
    trace: Trace, work: HostWork, launches: DeviceWork, following: Int64, *, step: Int64, start_ps: Int64, end_ps: Int64
) -> Pieces:
    """Charge stretches of idle time to what made them wait.

    Until the call returned that launched what runs next, what counts is what its thread did; after it, that the call came
    too late. Of what was launched before the device fell idle nothing on the host is to blame.

    Args:
        trace: the trace.
        work: what the hosts did.
        launches: what devices ran.
        following: for each stretch which of `launches` ends it, -1 for none.
        step: for each stretch the step in whose `work.of_steps` it lies, -1 for none.
        start_ps: of the stretches.
        end_ps: of the stretches.

    Returns:
        Pieces whose `step` is the number of the stretch.
    """
    call = np.append(launches.call, -1)[following]
    known = np.flatnonzero(call >= 0)
    called = np.clip(trace.ends(call[known]), start_ps[known], end_ps[known])
    is_late = called > start_ps[known]
    own, of_own = overlaps(
        work.line, work.start_ps, work.end_ps, trace.line_id[call[known]].astype(np.int64), start_ps[known], called
    )
    fallback = work.of_steps
    there, of_there = overlaps(fallback.step, fallback.start_ps, fallback.end_ps, step, start_ps, end_ps)
    latest = np.append(called, 0)[of_own]
    return resolve(
        np.concatenate([known[of_own], of_there, known]),
        np.concatenate([work.start_ps[own], fallback.start_ps[there], called]),
        np.concatenate([np.minimum(work.end_ps[own], latest), fallback.end_ps[there], end_ps[known]]),
        np.concatenate(
            [
                OWN[work.part[own]],
                fallback.span_type[there],
                np.where(is_late, Part.LATENCY, Part.QUEUED).astype(np.uint8),
            ]
        ),
        step_start_ps=start_ps,
        step_end_ps=end_ps,
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
    times, rank = np.unique(np.concatenate([start_ps, end_ps, low_ps, high_ps]), return_inverse=True)
    start, end, low, high = np.split(rank, np.cumsum([len(start_ps), len(end_ps), len(low_ps)]))
    first = np.searchsorted(owner * len(times) + end, of_owner * len(times) + low, side="right")
    count = np.searchsorted(owner * len(times) + start, of_owner * len(times) + high, side="left") - first
    count = np.maximum(count, 0)
    return ranges(first, count), np.repeat(np.arange(len(low_ps)), count)
