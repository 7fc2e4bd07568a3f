"""Origins of hosts -> one origin, and by how much each host's times move to be after it.

common_clock(summaries) -> Clock
days_from_most(origins) -> which hosts are too far from the others for that
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import TraceError
from .host_summary import HostSummary

_MAX_PS = 2**60
"""As far as times reach, 13 days."""
MAX_DAYS = _MAX_PS / 86400e12
"""The same in days."""


@dataclass(frozen=True)
class Clock:
    """The clock of all hosts."""

    origin_ns: int
    shift_ps: tuple[int, ...]
    """For each host."""
    warnings: tuple[str, ...]


def common_clock(summaries: Sequence[HostSummary]) -> Clock:
    """The earliest origin is that of all; a host that tells none begins there, with a warning, as `merge_traces` has it.

    Raises:
        TraceError: two hosts lie more than 13 days apart.
    """
    origin_ns = min((one.origin_ns for one in summaries if one.origin_ns), default=0)
    shifts, warnings = [], []
    for one in summaries:
        shift_ps = (one.origin_ns - origin_ns) * 1000 if one.origin_ns else 0
        if shift_ps > _MAX_PS:
            raise TraceError(
                f"Two traces start {shift_ps / 86400e12:.1f} days apart, more than {MAX_DAYS:.1f}: "
                "they are not of one run. Load them one by one."
            )
        if origin_ns and not one.origin_ns:
            warnings.append(
                f"A trace of host {one.host!r} does not say when it started; it is shown from the origin on."
            )
        shifts.append(shift_ps)
    return Clock(origin_ns, tuple(shifts), tuple(warnings))


def days_from_most(origins_ns: Sequence[int]) -> tuple[float, ...]:
    """By how many days each origin is before (less than 0) or after the most of them that have a common clock.

    Args:
        origins_ns: Unix times, 0 where a host tells none.

    Returns:
        0 for those that have it, and for those that tell no time. Of groups of one size the latest has it: what is left over
        in a directory is old.
    """
    told = sorted(origin for origin in origins_ns if origin)
    if not told:
        return (0.0,) * len(origins_ns)
    ends = [bisect_right(told, origin + _MAX_PS // 1000) for origin in told]
    first = max(range(len(told)), key=lambda i: (ends[i] - i, i))
    low, high = told[first], told[ends[first] - 1]
    return tuple((origin - min(max(origin, low), high)) / 86400e9 if origin else 0.0 for origin in origins_ns)
