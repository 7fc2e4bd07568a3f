"""A time range or a step of a trace -> `Selection`: the tables of that part alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import pandas as pd

from .layers.layers import compute_layers
from .layers.scopes import compute_scopes
from .ops.op_totals import OpTotals, op_totals
from .ops.ops import aggregate_ops, by_type
from .results import Results
from .source.source_lines import compute_source_lines
from .units import PS_PER_MS, PS_PER_NS
from .xla.hlo_ops import compute_hlo_ops

OpRows = Literal["op", "type"]
"""What a row of the op statistics stands for."""


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
        return self.op_statistics()

    def op_statistics(self, *, by: OpRows = "op", idle: bool = False) -> pd.DataFrame:
        """Ops within the range, or their types; see `Profile.op_statistics`."""
        ops = aggregate_ops(
            self.results.occurrences,
            shares=self.results.op_shares,
            time_range_ps=self.time_range_ps,
            idle=idle,
        )
        if by not in get_args(OpRows):
            raise ValueError(f"by={by!r} is no way to group ops; give one of {', '.join(get_args(OpRows))}")
        return by_type(ops) if by == "type" else ops

    @cached_property
    def _op_totals(self) -> OpTotals:
        return op_totals(self.ops, self.results.op_shares)

    @cached_property
    def layers(self) -> pd.DataFrame:
        """Op time within the range by Keras layer. The two columns of bytes are of the whole capture."""
        return compute_layers(
            self.results.op_scopes,
            self._op_totals,
            shares=self.results.op_shares,
            source_map=self.results.source_map,
            memory=self.results.memory,
        ).frame

    @cached_property
    def source_lines(self) -> pd.DataFrame:
        """Op time within the range by line of source code."""
        whole = self.results
        return compute_source_lines(
            whole.trace, whole.occurrences, whole.op_shares, whole.source_map, ops=self.ops
        ).frame

    @cached_property
    def scopes(self) -> pd.DataFrame:
        """Op time within the range by name scope."""
        return compute_scopes(self.results.op_scopes, self._op_totals).frame

    @cached_property
    def hlo_ops(self) -> pd.DataFrame:
        """HLO ops within the range: times are the overlap with it; what did not run has a row with zeros."""
        return compute_hlo_ops(self.results.occurrences, self.results.op_shares, time_range_ps=self.time_range_ps).frame

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """Kernels that ran in the range: times are the overlap with it."""
        kernels = self.results.kernels
        if self.time_range_ps is None:
            return kernels.frame
        return kernels.within(self.results.trace, self.time_range_ps)

    def memory(self, allocator: str) -> pd.DataFrame:
        """Allocations and deallocations of an allocator within the range, in the columns of `MemoryProfile.timeline`.

        Raises:
            KeyError: there is no such allocator.
        """
        timeline = self.results.memory.timeline(allocator)
        if self.time_range_ps is None:
            return timeline
        low, high = (time / PS_PER_MS for time in self.time_range_ps)
        return timeline[(timeline["time_ms"] >= low) & (timeline["time_ms"] < high)]

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
