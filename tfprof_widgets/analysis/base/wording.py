"""Numbers -> the words a sentence shows: three significant digits, thousands apart, a unit.

number(13.06) == "13.1";  percent(0.005) == "<1 %";  tail("model/block/dense", 8) == "…k/dense"
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def number(value: float) -> str:
    """Three significant digits, never an exponent: `0.612`, `13.1`, `1,502`; `0` for what rounds to nothing below 0.001."""
    if not math.isfinite(value) or abs(value) < 0.0005:
        return "0" if math.isfinite(value) else "unknown"
    digits = max(0, min(3, 2 - math.floor(math.log10(abs(value)))))
    rounded = f"{value:,.{digits}f}"
    # 9.996 rounds up to a digit more than it needs.
    return f"{value:,.{digits - 1}f}" if digits and len(rounded.replace(".", "").lstrip("-0")) > 3 else rounded


def amount(count: float) -> str:
    """How many, which is not whole where it is a mean: `18`, `0.333`, `1,280`."""
    return f"{count:,.0f}" if abs(count - round(count)) < 1e-6 else number(count)


def milliseconds(ms: float) -> str:
    """A time in the unit that suits it: `12.3 µs`, `21.3 ms`, `1.03 s`."""
    scale, unit = (1e-3, "s") if ms >= 999.5 else (1, "ms") if ms >= 0.9995 or ms == 0 else (1e3, "µs")
    return f"{number(ms * scale)} {unit}"


def percent(ratio: float) -> str:
    """A share as whole percent; `<1 %` for a small one that is not nothing."""
    if 0 < ratio < 0.01:
        return "<1 %"
    return f"{ratio * 100:.0f} %"


def plural(count: int, noun: str) -> str:
    """`1 step`, `40 steps`, `1,200 steps`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more of 5`: so many of some names."""
    more = f" and {len(names) - most:,} more of {len(names):,}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def head(text: str, most: int) -> str:
    """The begin of a text, at most so many characters with the `…` that stands for the rest."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def tail(text: str, most: int) -> str:
    """The end of a text likewise: of a path or the name of an op it tells more."""
    return text if len(text) <= most else f"…{text[1 - most :]}"


def size(n_bytes: float) -> str:
    """Bytes with a binary unit: `512 bytes`, `5.88 MiB`, `64.0 GiB`, `1.00 EiB`."""
    for unit, power in (("EiB", 60), ("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if abs(n_bytes) >= 2**power:
            return f"{number(n_bytes / 2**power)} {unit}"
    return plural(round(n_bytes), "byte")


def ends(text: str, most: int) -> str:
    """At most so many characters, without the middle of a longer text; more of its end than of its beginning is kept."""
    if len(text) <= most:
        return text
    n_head = (most - 1) // 3
    return f"{text[:n_head]}…{text[len(text) - (most - 1 - n_head) :]}"
