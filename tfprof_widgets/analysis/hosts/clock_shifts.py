"""Ends of aligned steps -> by how much the clock of each host is off, as far as that can be told.

    clock_shifts(hosts, end_ps, step_ps) -> ClockShifts

Hosts that train together end each step together: with the collective that all of them take part in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from ...trace.trace import Float64, Int64, Trace
from ..base.units import PS_PER_MS
from ..base.wording import number
from .others import median_of_others

_DISAGREES = 0.5
"""Clocks that are further apart than this part of a step are told of."""
_FIRM = 0.25
"""The difference of two clocks is known where it scatters by less than this part of itself from step to step."""
_NORMAL_MAD = 1.4826
_ROUNDS = 20
_S = 1000 * PS_PER_MS
_UNITS = (("days", 86_400 * _S), ("hours", 3_600 * _S), ("s", _S))
"""Of times longer than two of each."""


@dataclass(frozen=True)
class ClockShifts:
    """What each host's clock has to be moved by so that aligned steps end together."""

    shift_ps: Mapping[str, int]
    """Host -> ps to add to its times; their median is 0. Empty where there are fewer than two hosts, and where they do not
    wait for each other."""
    notice: str
    """Told where clocks of hosts that wait for each other disagree by much of a step; else empty."""


NO_SHIFTS = ClockShifts(MappingProxyType({}), "")
"""Of hosts that tell nothing of their clocks."""


def clock_shifts(hosts: tuple[str, ...], end_ps: Int64, step_ps: float) -> ClockShifts:
    """Judge clocks by when aligned steps end.

    Args:
        hosts: of the columns.
        end_ps: when each step ended on each host, of shape (steps, hosts).
        step_ps: a usual step time.
    """
    if len(hosts) < 2 or not len(end_ps):
        return NO_SHIFTS
    off = np.zeros(len(hosts), np.float64)
    for _ in range(_ROUNDS):  # moving hosts moves the middle of each step
        ends = end_ps - off
        off += np.median(ends - np.median(ends, axis=1, keepdims=True), axis=0)
    off -= np.median(off)
    shift = {host: -round(one) for host, one in zip(hosts, off.tolist(), strict=True)}
    return ClockShifts(MappingProxyType(shift), _notice(hosts, end_ps, off, step_ps))


def _notice(hosts: tuple[str, ...], end_ps: Int64, moved: Float64, step_ps: float) -> str:
    """Each clock is judged beside the median of the others: of two hosts that is how far they are apart."""
    ends = (end_ps - end_ps[:, :1]).astype(np.float64)
    late = ends - median_of_others(ends)
    off = np.median(late, axis=0)
    scatter = _NORMAL_MAD * np.median(np.abs(late - off), axis=0)
    apart = (np.abs(off) > _DISAGREES * step_ps) & (scatter < _FIRM * np.abs(off))
    if not apart.any():
        return ""
    worst = int(np.abs(np.where(apart, off, 0)).argmax())
    way = "ahead of" if off[worst] > 0 else "behind"
    n, n_apart = len(hosts), int((apart & (np.abs(moved) > _DISAGREES * step_ps)).sum())
    if 0 < 2 * n_apart < n:
        who = f"{n_apart:,} of {n:,} hosts are off"
    else:  # which of them are right nobody can tell
        who = f"the {n:,} hosts {'are off' if n == 2 else 'disagree'}"
    than = f"that of {hosts[1 - worst]}" if n == 2 else "the others'"
    return (
        f"The clocks of {who} by much of a step: that of {hosts[worst]} is {_time(abs(float(off[worst])))} {way} {than}. "
        "`aligned()` moves them so that steps end together."
    )


def _time(ps: float) -> str:
    """With a unit that fits: clocks of machines may be apart by microseconds or by days."""
    for unit, unit_ps in _UNITS:
        if ps >= 2 * unit_ps:
            return f"{number(ps / unit_ps)} {unit}"
    return f"{number(ps / PS_PER_MS)} ms"


def with_clocks_shifted(trace: Trace, shift_ps: Mapping[str, int]) -> Trace:
    """The same trace with the times of each host moved; hosts without a shift stay. The origin moves with the first."""
    hosts = [plane.host for plane in trace.planes]
    first = min([shift_ps.get(host, 0) for host in hosts], default=0)
    first_ns = -(-max(-first, 0) // 1000)
    moved = np.array([shift_ps.get(host, 0) for host in hosts], np.int64) + 1000 * first_ns
    sessions = tuple(
        replace(
            one,
            start_ps=one.start_ps + shift_ps.get(one.host, 0) + 1000 * first_ns,
            stop_ps=one.stop_ps + shift_ps.get(one.host, 0) + 1000 * first_ns,
        )
        for one in trace.sessions
    )
    origin_ns = trace.origin_ns - first_ns if trace.origin_ns else 0
    return replace(trace, start_ps=trace.start_ps + moved[trace.plane_id], sessions=sessions, origin_ns=origin_ns)
