"""A time range, a step or a host of a trace -> `Selection`: the tables of that part alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import pandas as pd

from ..errors import TfProfError
from .common import PS_PER_MS, PS_PER_NS, hosts_of, listed
from .layers.layers import compute_layers
from .layers.scopes import compute_scopes
from .ops.executions import Occurrences
from .ops.ops import OpTotals, aggregate_ops, by_type, host_sums, lines_of, occurrences_of, op_totals, ops_table
from .ops.other import compute_hlo_ops
from .results import AnyResults, Results
from .source import compute_source_lines

OpRows = Literal["op", "type"]
"""What a row of the op statistics stands for."""
_MOST_NAMED = 10
_FOREVER_PS = 2**62


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """A part of a profile: what `Profile.select` gives. Its tables have the columns of the profile's own, and times are
    the overlap with the part.
    """

    results: AnyResults
    """The analyses of the whole profile."""
    time_range_ps: tuple[int, int] | None
    """Picoseconds after the trace origin, exact; None for the whole capture."""
    op_names: tuple[str, ...]
    """The highlighted ops; they restrict nothing."""
    host: str = ""
    """The only host that counts; empty for all."""

    def __repr__(self) -> str:
        part = "the whole capture" if self.time_range_ns is None else "{:,} to {:,} ns".format(*self.time_range_ns)
        return f"Selection({self.host}: {part})" if self.host else f"Selection({part})"

    @property
    def time_range_ns(self) -> tuple[int, int] | None:
        """The whole nanoseconds around the range, as `Profile.link` holds it; None for the whole capture."""
        if self.time_range_ps is None:
            return None
        low, high = self.time_range_ps
        return low // PS_PER_NS, -(-high // PS_PER_NS)

    @cached_property
    def ops(self) -> pd.DataFrame:
        """The ops that ran in the part: times are the overlap with it, ratios are of the part."""
        return self.op_statistics()

    def op_statistics(self, *, by: OpRows = "op", idle: bool = False) -> pd.DataFrame:
        """The table `ops` of the part, for op types instead of ops, or with idle time.

        Args:
            by: `"op"` has the columns of `ops`; `"type"` has one row for each op type, such as `MatMul`, with `n_ops` in place
                of `name`.
            idle: add rows of type `IDLE`, the time in which threads or devices ran no op. All ratios then include it.

        Raises:
            ValueError: `by` is neither.
            TfProfError: a range of a reduced profile, or the idle time of one of its hosts: it has no single
                executions.
        """
        if by not in get_args(OpRows):
            raise ValueError(f"by={by!r} is no way to group ops; give one of {', '.join(get_args(OpRows))}")
        ops = self._ops_of_a_reduced_host(idle) if self.results.is_reduced and self._is_part else self._aggregate(idle)
        return by_type(ops) if by == "type" else ops

    def _aggregate(self, idle: bool) -> pd.DataFrame:
        if not self._is_part:
            return self.results.ops_and_idle if idle else self.results.ops
        shares = self.results.op_shares
        return aggregate_ops(self._occurrences, shares=shares, time_range_ps=self.time_range_ps, idle=idle)

    @property
    def _is_part(self) -> bool:
        """Whether a host or a range is selected."""
        return self.host != "" or self.time_range_ps is not None

    def _ops_of_a_reduced_host(self, idle: bool) -> pd.DataFrame:
        if self.time_range_ps is not None or idle:
            asked = "a time range" if self.time_range_ps is not None else "idle time host by host"
            self._whole(asked)
        shares = self.results.op_shares
        return ops_table(shares, host_sums(self.results.host_totals, self.host, shares))

    def _whole(self, asked: str) -> Results:
        """The results with single executions."""
        if isinstance(self.results, Results):
            return self.results
        name = self.host or hosts_of(self.results.trace)[0]
        raise TfProfError(
            f"a reduced profile has no single executions, so not {asked}: open a host in full, prof.host({name!r})"
        )

    @cached_property
    def _occurrences(self) -> Occurrences:
        """Executions of the host, within the range and outside."""
        results = self._whole("the executions of a part")
        whole = results.occurrences
        return occurrences_of(whole, results.trace, self.host) if self.host else whole

    @cached_property
    def _op_totals(self) -> OpTotals:
        return op_totals(self.ops, self.results.op_shares) if self._is_part else self.results.op_totals

    @cached_property
    def layers(self) -> pd.DataFrame:
        """The time of the part by Keras layer. The two columns of bytes are of the whole capture."""
        return compute_layers(
            self.results.op_scopes,
            self._op_totals,
            shares=self.results.op_shares,
            source_map=self.results.source_map,
            memory=self.results.memory_by_op,
        ).frame

    @cached_property
    def source_lines(self) -> pd.DataFrame:
        """The time of the part by line of your code."""
        whole = self.results
        return compute_source_lines(
            whole.trace,
            whole.op_shares,
            whole.source_map,
            totals=self._op_totals,
            scopes=whole.named_scopes,
            match=whole.op_match,
        ).frame

    @cached_property
    def scopes(self) -> pd.DataFrame:
        """The time of the part by name scope."""
        return compute_scopes(self.results.op_scopes, self._op_totals).frame

    @cached_property
    def hlo_ops(self) -> pd.DataFrame:
        """The ops of compiled programs: times are the overlap with the part; what did not run in it has a row with zeros."""
        if not self._is_part:
            return self.results.hlo_ops.frame
        return compute_hlo_ops(self._occurrences, self.results.op_shares, time_range_ps=self.time_range_ps).frame

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """The kernels that ran in the part: times are the overlap with it."""
        if not self._is_part:
            return self.results.kernels.frame
        kernels, trace = self._whole("the kernels of a part").kernels, self.results.trace
        if self.host:
            own = np.flatnonzero(lines_of(trace, self.host)[trace.line_id[kernels.run_event]])
            kernels = replace(kernels, run_event=kernels.run_event[own], run_kernel=kernels.run_kernel[own])
        return kernels.within(trace, self.time_range_ps or (-_FOREVER_PS, _FOREVER_PS))

    def memory(self, allocator: str) -> pd.DataFrame:
        """The allocations and deallocations of an allocator within the part, in the columns of `MemoryProfile.timeline`.

        Args:
            allocator: its name; with a host selected also without the host in front.

        Raises:
            KeyError: there is no such allocator, or not on the selected host.
            TfProfError: the profile is reduced: it has no single allocations.
        """
        timeline: pd.DataFrame = self.results.memory.timeline(self._allocator(allocator))
        if self.time_range_ps is None:
            return timeline
        low, high = (time / PS_PER_MS for time in self.time_range_ps)
        return timeline[(timeline["time_ms"] >= low) & (timeline["time_ms"] < high)]

    def _allocator(self, name: str) -> str:
        """What the profile calls it."""
        prefix, known = f"{self.host}: ", self.results.memory.allocators
        if not self.host or name.startswith(prefix):
            return name
        if prefix + name in known:
            return prefix + name
        hosts = hosts_of(self.results.trace)
        if name in known and not any(name.startswith(f"{host}: ") for host in hosts) and self._recorded_memory:
            return name
        raise KeyError(f"no allocator {name!r} on {self.host}; the profile has: {', '.join(known) or 'none'}")

    @property
    def _recorded_memory(self) -> bool:
        """Whether it was this host alone whose allocators were recorded: they then bear no host's name."""
        if not isinstance(self.results, Results):
            return False
        trace, events = self.results.trace, self.results.memory.snapshots.event
        return len(events) > 0 and bool(lines_of(trace, self.host)[trace.line_id[events[0]]])

    @cached_property
    def steps(self) -> pd.DataFrame:
        """The steps that overlap the part, with their whole times."""
        steps, frame = self.results.steps.frame, self.results.step_frame
        inside = np.ones(len(steps), np.bool_)
        if self.time_range_ps is not None:
            low, high = self.time_range_ps
            inside = ((steps["start_ps"] < high) & (steps["start_ps"] + steps["duration_ps"] > low)).to_numpy()
        if self.host:
            inside = inside & (frame["host"] == self.host).to_numpy()
        return frame if inside.all() else frame[inside]

    @cached_property
    def events(self) -> pd.DataFrame:
        """The events that overlap the part, with their whole times; an event without duration counts where it lies inside."""
        trace = self.results.trace
        inside = np.ones(trace.n_events, np.bool_)
        if self.time_range_ps is not None:
            low, high = self.time_range_ps
            is_inside = (trace.duration_ps == 0) & (trace.start_ps >= low)
            inside = (trace.start_ps < high) & ((trace.end_ps > low) | is_inside)
        if self.host:
            inside = inside & lines_of(trace, self.host)[trace.line_id]
        return self.results.events if inside.all() else self.results.events[inside]


def select(
    results: AnyResults,
    *,
    time_range_ns: tuple[int, int] | None,
    step: int | None,
    ops: Iterable[str] | None,
    host: str | None = None,
) -> Selection:
    """Make a selection; see `Profile.select`. Of a step the range is exact, so that no op of a neighbour counts in it."""
    if host and host not in (known := hosts_of(results.trace)):
        raise ValueError(f"no host {host!r}; the profile has {listed([*map(repr, known)], _MOST_NAMED) or 'none'}")
    if time_range_ns is not None and step is not None:
        raise ValueError("give either time_range or step, not both: a step has its own time range")
    time_range_ps = None
    if step is not None:
        frame = results.steps.frame
        start, duration = int(frame["start_ps"].iloc[step]), int(frame["duration_ps"].iloc[step])
        time_range_ps = start, start + duration
    if time_range_ns is not None:
        low, high = (round(t) * PS_PER_NS for t in time_range_ns)
        if low > high:
            raise ValueError(f"time_range {time_range_ns} ends before it begins; give (t0_ns, t1_ns)")
        time_range_ps = low, high
    return Selection(results, time_range_ps, tuple(ops or ()), host or "")


def step_row(results: AnyResults, step: int | str, host: str | None = None) -> int:
    """The row of `steps` that a user means: by its place, or by its name, of one host where several have it."""
    frame = results.step_frame
    if not isinstance(step, str):
        if 0 <= step < len(frame):
            return int(step)
        names = f", or give a name, such as {frame['name'].iloc[-1]!r}" if len(frame) else ""
        raise ValueError(f"step {step} is not a row of `steps`, which has {len(frame)}{names}")
    rows = np.flatnonzero((frame["name"] == step) & ((frame["host"] == host) if host else True))
    if len(rows) == 1:
        return int(rows[0])
    if len(rows):
        raise ValueError(f"several hosts have a step {step!r}: give host= as well, or the row of `steps`")
    known = listed([*map(repr, frame["name"].unique())], _MOST_NAMED) or "none"
    raise ValueError(f"no step is called {step!r}; the profile has {known}")
