"""Members of an event of a Chrome trace -> values of their types: times, numbers of processes, texts, args."""

from __future__ import annotations

from collections.abc import Hashable
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


def id_of(event: dict[str, Any], name: str) -> Hashable:
    """What a process, a thread or an arrow is told by; 0 for none.

    Raises:
        TraceError: it is neither a number nor a text.
    """
    value = event.get(name)
    if value is None:
        return 0
    if type(value) in (int, str, Real):
        return value  # type: ignore[no-any-return]  # hashable, as its type says
    raise TraceError(f"its {name} is a {type(value).__name__}, neither a number nor a text")


def text_of(event: dict[str, Any], name: str) -> str:
    """A text, "" for none.

    Raises:
        TraceError: it is neither a text nor a number.
    """
    value = event.get(name)
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, (int, float, str)):
        return str(value)
    raise TraceError(f"its {name} is a {type(value).__name__}, not a text")


def args_of(event: dict[str, Any]) -> dict[str, Any]:
    """The args; empty for none.

    Raises:
        TraceError: they are no object.
    """
    args = event.get("args")
    if args is None:
        return {}
    if not isinstance(args, dict):
        raise TraceError(f"its args are a {type(args).__name__}, not an object")
    return args


def phase_of(event: dict[str, Any]) -> str:
    """The letter that says what an event is.

    Raises:
        TraceError: there is none.
    """
    phase = event.get("ph")
    if type(phase) is not str:
        raise TraceError(f"its ph is {str(phase)[:40]!r}, not a letter")
    return phase
