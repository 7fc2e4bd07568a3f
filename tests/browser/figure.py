"""One figure as a place on the screen says it: what it is of, in which range, and which values its rounded text may stand for."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, replace

SCALES = {"ps": 1e-9, "ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
BYTES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
NUMBER = r"<?\d[\d,]*(?:\.\d+)?"
TIME = rf"{NUMBER} (?:ps|ns|µs|ms|s)"
SHARE = rf"{NUMBER} %"
STEADY, WHOLE = "averaged steps", "whole capture"


@dataclass(frozen=True)
class Figure:
    """One figure as one place says it."""

    what: tuple[str, ...]
    """Kind of thing, name, side, and which figure of it in which unit."""
    scope: str
    least: float
    most: float
    """What the rounded text may stand for."""
    text: str
    place: str

    def agrees(self, other: Figure) -> bool:
        """Whether both may stand for one value."""
        return self.least <= other.most and other.least <= self.most


def figure(what: tuple[str, ...], scope: str, text: str, place: str) -> Figure:
    """Read a number, a time (in ms then) or a share."""
    match = re.match(rf"\s*({NUMBER})\s*(ps|ns|µs|ms|s|[KMG]?i?B)?", text)
    assert match, (text, place)
    digits, unit = match.groups()
    scale = (SCALES | BYTES)[unit or "ms"]
    value = float(digits.lstrip("<").replace(",", ""))
    _, _, decimals = digits.partition(".")
    slack = 0.5 * 10 ** -len(decimals) if not digits.startswith("<") else value
    if not decimals and value >= 1000:  # three digits count in "61,204" too, where that is a time
        slack = max(slack, 0.5)
    # A step is rounded and then divided, and a share of what is rounded: a hair more than half a digit.
    return Figure(what, scope, (value - slack * 1.02) * scale, (value + slack * 1.02) * scale, text, place)


def roughly(one: Figure, room: float) -> Figure:
    """The same where other places say it of about the same: half and twice as much agree with it, and what differs by `room`."""
    return replace(one, least=one.least / 2 - room, most=one.most * 2 + room)


def named(what: tuple[str, ...], scope: str, name: str, place: str) -> Figure:
    """A name instead of a number: two places agree where they say the same one."""
    value = float(zlib.crc32(name.encode()))
    return Figure(what, scope, value, value, name, place)
