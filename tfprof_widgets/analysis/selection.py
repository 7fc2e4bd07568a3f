"""A time range or a step of a trace -> `Selection`: the tables of that part alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from .ops import aggregate_ops
from .results import Results
from .units import PS_PER_NS


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """A part of a profile. Its tables have the columns of the profile's own."""

    results: Results
    time_range_ps: tuple[int, int] | None
    """After the trace origin, exact; None for the whole capture."""
    op_names: tuple[str, ...]
    """The highlighted ops; they restrict nothing."""

    def __repr__(self) -> str:
        part = "the whole capture" if self.time_range_ns is None else "{:,} to {:,} ns".format(*self.time_range_ns)
        return f"Selection({part})"

    @property
    def time_range_ns(self) -> tuple[int, int] | None:
        """The whole nanoseconds around the range, as the link holds it."""
        if self.time_range_ps is None:
            return None
        low, high = self.time_range_ps
        return low // PS_PER_NS, -(-high // PS_PER_NS)

    @cached_property
    def ops(self) -> pd.DataFrame:
        """Ops within the range: times are the overlap with it (see `aggregate_ops`), shares are of the range."""
        return aggregate_ops(self.results.occurrences, shares=self.results.op_shares, time_range_ps=self.time_range_ps)

    @cached_property
    def steps(self) -> pd.DataFrame:
        """Steps that overlap the range, with their whole times."""
        steps = self.results.steps.frame
        if self.time_range_ps is None:
            return self.results.step_frame
        low, high = self.time_range_ps
        inside = (steps["start_ps"] < high) & (steps["start_ps"] + steps["duration_ps"] > low)
        return self.results.step_frame[inside]

    @cached_property
    def events(self) -> pd.DataFrame:
        """Events that overlap the range, with their whole times; one without duration when it lies inside."""
        if self.time_range_ps is None:
            return self.results.events
        trace, (low, high) = self.results.trace, self.time_range_ps
        is_inside = (trace.duration_ps == 0) & (trace.start_ps >= low)
        inside = (trace.start_ps < high) & ((trace.end_ps > low) | is_inside)
        part: pd.DataFrame = self.results.events[inside]
        return part


def select(
    results: Results, *, time_range_ns: tuple[int, int] | None, step: int | None, ops: tuple[str, ...] | None
) -> Selection:
    """Make a selection; see `Profile.select`. Of a step the range is exact, so that no op of a neighbour counts in it.

    Raises:
        ValueError: both a range and a step, a range that ends before it begins, or a step that is not there.
    """
    if time_range_ns is not None and step is not None:
        raise ValueError("give either time_range or step, not both: a step has its own time range")
    time_range_ps = None
    if step is not None:
        frame = results.steps.frame
        if not 0 <= step < len(frame):
            raise ValueError(f"step {step} is not a row of `steps`, which has {len(frame)}")
        start, duration = int(frame["start_ps"].iloc[step]), int(frame["duration_ps"].iloc[step])
        time_range_ps = start, start + duration
    if time_range_ns is not None:
        low, high = (round(t) * PS_PER_NS for t in time_range_ns)
        if low > high:
            raise ValueError(f"time_range {time_range_ns} ends before it begins; give (t0_ns, t1_ns)")
        time_range_ps = low, high
    return Selection(results, time_range_ps, tuple(ops or ()))
