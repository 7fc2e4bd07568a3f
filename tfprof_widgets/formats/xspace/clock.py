"""The timestamps of an XSpace -> the trace origin, the session's window and how each line's clock relates to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...trace.times import MAX_PS
from ...trace.trace import StatValue
from .parts import PlanePart

_LOOKS_ABSOLUTE_NS = 10**15
"""Eleven days. A line timestamp beyond it counts from 1970, not from the start of a capture."""


@dataclass(frozen=True)
class Clock:
    """What times are relative to."""

    origin_ns: int
    """Unix time of the trace origin; 0 where the file does not say."""
    stop_ps: int | None
    """End of the session after the origin; None where the file does not say."""

    def line_start_ps(self, timestamp_ns: int) -> int:
        """A line's timestamp as picoseconds after the origin.

        Saved files mix both kinds: the producer makes relative only those that lie after the session's start.
        """
        is_absolute = self.origin_ns > _LOOKS_ABSOLUTE_NS and timestamp_ns > _LOOKS_ABSOLUTE_NS
        return (timestamp_ns - self.origin_ns if is_absolute else timestamp_ns) * 1000


def read_clock(planes: Sequence[PlanePart], environment: dict[str, StatValue]) -> Clock:
    """The clock of a space.

    Args:
        planes: the planes of the file.
        environment: stats of the plane `Task Environment`, where the profiler notes its start and stop.

    Source: semantics 1.3.
    """
    start, stop = environment.get("profile_start_time"), environment.get("profile_stop_time")
    if isinstance(start, int) and 0 < start < 2**63:  # a start that no clock can show is not one
        duration_ps = (stop - start) * 1000 if isinstance(stop, int) and stop >= start else None
        return Clock(start, None if duration_ps is None else min(duration_ps, MAX_PS))
    timestamps = [line.timestamp_ns for plane in planes for line in plane.lines if line.n_events]
    absolute = [timestamp for timestamp in timestamps if timestamp > _LOOKS_ABSOLUTE_NS]
    return Clock(min(absolute), None) if absolute else Clock(0, None)
