"""Times of a Chrome trace (decimal microseconds of any size) -> integer picoseconds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...errors import TraceError
from .json_reader import Real

_PS_PER_US = 1_000_000
_EXACT_US = 2_000.0 * _PS_PER_US
"""Half an hour: below it the double nearest to a decimal is less than half a picosecond off."""
_MOST_US = 2.0**62
"""Beyond any clock, and what 64 bits hold."""


def picoseconds(event: dict[str, Any], name: str) -> int:
    """A time of an event, exact to the picosecond.

    Raises:
        TraceError: it is missing, no number, or absurd.
    """
    value = event.get(name)
    if type(value) is Real:
        real = float(value)
        if -_EXACT_US < real < _EXACT_US:
            return round(real * _PS_PER_US)
        if -_MOST_US < real < _MOST_US:
            return int(Decimal(value).scaleb(6).to_integral_value())
    elif type(value) is int and -_MOST_US < value < _MOST_US:
        return value * _PS_PER_US
    shown = repr(value)
    raise TraceError(f"its {name} is {shown[:40]}{'…' if len(shown) > 40 else ''}, not a time in microseconds")
