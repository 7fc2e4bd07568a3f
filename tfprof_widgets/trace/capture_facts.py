"""Facts of a capture, as it leaves them and as a saved profile holds them: how it ended, what it cost, what went wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

DISTORTED_RATIO = 0.10
"""A capture whose steps took longer by more than this, by the whole interval, tells about itself as much as about the program."""
UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An allocation that failed and so ended the profiled code, as its exception told it."""

    kind: str
    """The exception's class."""
    text: str
    """The lines of its message that tell of the allocation, the first line where none does; `parse_failure` reads them."""
    at_ns: int
    """Unix time at which the exception arrived, some time after the allocation had failed."""
    file: str = ""
    """What to call the file of the innermost line of the user's that was being executed, `Cell [5]` for a cell; "" for none."""
    line: int = 0
    code: str = ""
    batch_size: int = 0
    """What the program trains with, where the call told it; 0 where it is not known."""
    selection: str = ""
    """Which steps the capture was to take, `steps=range(10, 20)`; "" for all, and where it is not known."""


@dataclass(frozen=True, kw_only=True)
class CaptureCost:
    """What the capture itself cost the program: what `Profile.cost` gives. Sums over the windows of the profiler."""

    start_s: float
    """Seconds that starting the profiler took. The program waited for it, between steps."""
    stop_s: float
    """Seconds that stopping it and writing its files took, likewise."""
    n_bytes: int
    """Size of its files."""
    n_events: int | None = None
    """Events in its files; None as long as they were not read."""


@dataclass(frozen=True)
class Interference:
    """Steps inside windows of the profiler against steps outside."""

    overhead_ratio: float = math.nan
    """By how much steps took longer while they were captured: median step inside a window over median step outside, minus
    1, so 0.05 is 5 % longer. NaN where it is not known.
    """
    overhead_interval: tuple[float, float] = UNKNOWN
    """Lower and upper end of its 95 % interval; both NaN with fewer than 5 steps inside or outside."""
    n_steps_inside: int = 0
    """How many steps inside of windows were compared."""
    n_steps_outside: int = 0
    """How many steps outside of windows they were compared with."""

    @property
    def is_distorting(self) -> bool:
        """Whether steps surely took over a tenth longer while they were captured: the whole interval is above that."""
        return self.overhead_interval[0] > DISTORTED_RATIO


@dataclass(frozen=True, kw_only=True)
class CaptureFacts(Interference):
    """How a program was captured. What it cost the steps is unknown until someone has measured it."""

    outcome: str
    """How it ended: `complete`, `bounded`, `exception` or `interrupted`."""
    n_steps: int
    """How many steps the program marked from start to stop, captured or not."""
    detail: str = "normal"
    """How much it recorded of each step: `low`, `normal` or `high`."""
    pauses_ns: tuple[tuple[int, int], ...] = ()
    """Unix times between which the program waited for files of the profiler; in time order."""
    failure: Failure | None = None
    """The allocation whose failure ended the user's code; None where that ended otherwise."""
