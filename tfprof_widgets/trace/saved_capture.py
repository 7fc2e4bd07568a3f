"""The part of a saved profile about its capture <-> how it ended, how much it recorded, what it did to the steps."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

_UNKNOWN = (math.nan, math.nan)
_MAX_TEXT = 20_000


@dataclass(frozen=True, kw_only=True)
class SavedFailure:
    """The allocation whose failure ended the profiled code, as its exception told it."""

    kind: str
    """The exception's class."""
    text: str
    """The lines of its message that tell of the allocation; `failure_text.parse_failure` reads them."""
    at_ns: int
    """Unix time at which it arrived."""
    file: str = ""
    """What to call the file of the innermost line of the user's that was being executed; "" for none."""
    line: int = 0
    code: str = ""
    batch_size: int = 0
    """Of the call of Keras; 0 where it is not known."""


@dataclass(frozen=True, kw_only=True)
class SavedCapture:
    """How a profile was captured, beside the seconds and bytes in `SavedProfile.cost`."""

    outcome: str
    detail: str
    n_steps: int
    """How many steps the program marked, captured or not."""
    overhead_ratio: float = math.nan
    overhead_interval: tuple[float, float] = _UNKNOWN
    n_steps_inside: int = 0
    n_steps_outside: int = 0
    pauses_ns: tuple[tuple[int, int], ...] = ()
    """Unix times between which the program waited for files of the profiler; in time order."""
    failure: SavedFailure | None = None
    """The allocation whose failure ended the program; None where it ended otherwise."""

    def document(self) -> dict[str, Any]:
        """The same as a document of JSON; what is not known becomes null."""
        numbers: dict[str, Any] = {"overhead_ratio": self.overhead_ratio, "overhead_interval": self.overhead_interval}
        return asdict(self) | {name: _nulls(value) for name, value in numbers.items()}


def parse_capture(document: object) -> SavedCapture | None:
    """Check a document and take it up; None for null, which profiles without a capture have.

    Raises:
        TypeError, ValueError: it is none.
    """
    if document is None:
        return None
    if not isinstance(document, dict):
        raise TypeError("capture is no object")
    low, high = document["overhead_interval"]
    return SavedCapture(
        outcome=_word(document["outcome"]),
        detail=_word(document["detail"]),
        n_steps=_count(document["n_steps"]),
        overhead_ratio=_ratio(document["overhead_ratio"]),
        overhead_interval=(_ratio(low), _ratio(high)),
        n_steps_inside=_count(document["n_steps_inside"]),
        n_steps_outside=_count(document["n_steps_outside"]),
        pauses_ns=tuple((_count(begin), _count(end)) for begin, end in document["pauses_ns"]),
        failure=_failure(document.get("failure")),  # earlier versions saved none
    )


def _failure(document: object) -> SavedFailure | None:
    if document is None:
        return None
    if not isinstance(document, dict):
        raise TypeError("failure is no object")
    return SavedFailure(
        kind=_text(document["kind"]),
        text=_text(document["text"]),
        at_ns=_count(document["at_ns"]),
        file=_text(document["file"]),
        line=_count(document["line"]),
        code=_text(document["code"]),
        batch_size=_count(document["batch_size"]),
    )


def _nulls(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_nulls(one) for one in value]
    return value if math.isfinite(value) else None


def _word(value: object) -> str:
    if not isinstance(value, str) or not value.isidentifier():
        raise TypeError("capture has no word where there must be one")
    return value


def _text(value: object) -> str:
    """A text that every encoder takes."""
    if not isinstance(value, str):
        raise TypeError("failure has no text where there must be one")
    return value[:_MAX_TEXT].encode("utf-8", "replace").decode("utf-8")


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("capture has no count where there must be one")
    return value


def _ratio(value: object) -> float:
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not math.isfinite(float(value)):  # type: ignore[arg-type]
        raise TypeError("capture has no number where there must be one")
    return float(value)  # type: ignore[arg-type]
