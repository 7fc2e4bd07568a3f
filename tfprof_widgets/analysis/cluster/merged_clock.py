"""Origins of hosts -> one origin, and by how much each host's times move to be after it.

common_clock(summaries) -> Clock
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import TraceError
from ...trace.one_time import MAX_DAYS
from ...trace.times import MAX_PS
from .host_summary import HostSummary


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
        if shift_ps > MAX_PS:
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
