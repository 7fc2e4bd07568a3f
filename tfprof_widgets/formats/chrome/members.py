"""Members of an event of a Chrome trace -> values of their types: times, numbers of processes, texts, args."""

from __future__ import annotations

import re
from collections.abc import Hashable
from decimal import Decimal
from typing import Any

from .json_reader import Real
from .left_out import OddEventError

_PS_PER_US = 1_000_000
_EXACT_US = 2_000.0 * _PS_PER_US
"""Half an hour: below it the double nearest to a decimal is less than half a picosecond off."""
_MOST_US = 2.0**62
"""Beyond any clock, and what 64 bits hold."""
_TIME = re.compile(r"[-+]?[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,3})?")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"-?[0-9]{1,20}\.[0-9]{1,20}(?:e[-+]?[0-9]{1,3})?")
"""Texts that are numbers: Chrome and Perfetto take them as such, and XProf's converter writes all numbers in `args` so."""


def picoseconds(event: dict[str, Any], name: str) -> int:
    """A time of an event, also one written as a text, exact to the picosecond.

    Raises:
        OddEventError: it is missing, no number, or absurd.
    """
    value = event.get(name)
    if type(value) is Real or (type(value) is str and _TIME.fullmatch(value)):
        real = float(value)
        if -_EXACT_US < real < _EXACT_US:
            return round(real * _PS_PER_US)
        if -_MOST_US < real < _MOST_US:
            return int(Decimal(value).scaleb(6).to_integral_value())
    elif type(value) is int and -_MOST_US < value < _MOST_US:
        return value * _PS_PER_US
    if value is None:
        raise OddEventError(f"it has no {name}", f"no {name}")
    shown = repr(value)
    shown = f"{shown[:40]}{'…' if len(shown) > 40 else ''}"
    raise OddEventError(f"its {name} is {shown}, not a time in microseconds", f"bad {name}")


def id_of(event: dict[str, Any], name: str) -> Hashable:
    """What a process or a thread is told by, the same as a number and as its digits; 0 for none.

    Raises:
        OddEventError: it is neither a number nor a text.
    """
    value = event.get(name)
    if type(value) is int:
        return value
    if value is None:
        return 0
    if type(value) is str:
        return int(value) if _WHOLE.fullmatch(value) else value
    if type(value) is Real:
        real = float(value)
        return int(real) if real.is_integer() else value
    raise OddEventError(f"its {name} is a {type(value).__name__}, neither a number nor a text", f"bad {name}")


def link_id_of(event: dict[str, Any]) -> Hashable:
    """What an arrow or an asynchronous span is told by: 16 and "0x10" are one.

    Raises:
        OddEventError: it is neither a number nor a text.
    """
    value = id_of(event, "id")
    return int(value, 16) if type(value) is str and _HEX.fullmatch(value) else value


def number_or_text(text: str) -> int | float | str:
    """The number that a text spells, if that reads the same; else the text."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and repr(number := float(text)) == text:
        return number
    return text


def text_of(event: dict[str, Any], name: str) -> str:
    """A text, "" for none.

    Raises:
        OddEventError: it is neither a text nor a number.
    """
    value = event.get(name)
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, (int, float, str)):
        return str(value)
    raise OddEventError(f"its {name} is a {type(value).__name__}, not a text", f"bad {name}")


def args_of(event: dict[str, Any]) -> dict[str, Any]:
    """The args; empty for none.

    Raises:
        OddEventError: they are no object.
    """
    args = event.get("args")
    if args is None:
        return {}
    if not isinstance(args, dict):
        raise OddEventError(f"its args are a {type(args).__name__}, not an object", "bad args")
    return args


def phase_of(event: Any) -> str:
    """The letter that says what an event is; of several the first, as in Perfetto.

    Raises:
        OddEventError: there is none, or it is no event at all.
    """
    if type(event) is not dict:
        raise OddEventError(f"it is a {type(event).__name__}, not an object", "no object")
    phase = event.get("ph")
    if type(phase) is not str or not phase:
        raise OddEventError("it has no ph" if not phase else f"its ph is {str(phase)[:40]!r}, not a letter", "no ph")
    return phase[:1]
