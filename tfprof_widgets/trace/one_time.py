"""Origins of traces -> which are too far from most of them for one clock.

days_from_most(origins) -> by how much
other_times(origins) -> a sentence for each of those
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from .times import MAX_PS

MAX_DAYS = MAX_PS / 86400e12
"""As far as times of one trace reach, in days."""


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
    ends = [bisect_right(told, origin + MAX_PS // 1000) for origin in told]
    first = max(range(len(told)), key=lambda i: (ends[i] - i, i))
    low, high = told[first], told[ends[first] - 1]
    return tuple((origin - min(max(origin, low), high)) / 86400e9 if origin else 0.0 for origin in origins_ns)


def other_times(origins_ns: Sequence[int]) -> dict[int, str]:
    """Why some cannot be shown beside the others, by their number; empty where all have a common clock.

    Args:
        origins_ns: as of `days_from_most`.
    """
    far = {number: days for number, days in enumerate(days_from_most(origins_ns)) if days}
    n_told = sum(1 for origin in origins_ns if origin)
    chosen = "" if 2 * len(far) < n_told else "; as no time is that of most, the latest are shown"
    return {
        number: (
            f"it starts {abs(days):.1f} days {'before' if days < 0 else 'after'} the others, more than {MAX_DAYS:.1f}: "
            f"it is of another run, or its clock is wrong{chosen}"
        )
        for number, days in far.items()
    }
