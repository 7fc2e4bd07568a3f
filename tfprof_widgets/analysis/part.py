"""A time range, a step or a host of a run -> `Selection`: the tables of that part alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd

from ..errors import TfProfError
from ..trace.arrays import Bool
from .analysis import Analysis
from .common import PS_PER_MS, PS_PER_NS, hosts_of, listed
from .facts import Facts
from .ops.executions import Occurrences
from .ops.kernels import Kernels
from .ops.ops import OpSums, by_type, sums_of_units

OpRows = Literal["op", "type"]
_MOST_NAMED = 10
_FOREVER_PS = 2**62


def _of_whole(name: str) -> Any:
    return property(lambda part: getattr(part.whole, name))


@dataclass(frozen=True, eq=False, repr=False)
class Part(Facts):
    """What ran in a part of a run: executions are cut to it, steps keep numbers and whole times, ops their units and places.

    Sums of executions are of the part; tables made of events, such as `copies`, `idle` and those of tf.data, are not.
    """

    whole: Facts = field(kw_only=True)
    low_ps: int = -_FOREVER_PS
    high_ps: int = _FOREVER_PS
    host: str = ""
    """The only host that counts; empty for all."""

    @classmethod
    def of(cls, whole: Facts, *range_ps: int, host: str = "") -> Part:
        low_ps, high_ps = range_ps or (-_FOREVER_PS, _FOREVER_PS)
        of_run = {one.name: getattr(whole, one.name) for one in fields(Facts)}
        return cls(**of_run, whole=whole, low_ps=low_ps, high_ps=high_ps, host=host)

    source_map = _of_whole("source_map")
    op_shares = _of_whole("op_shares")
    input_ops = _of_whole("input_ops")
    memory = _of_whole("memory")
    memory_by_op = _of_whole("memory_by_op")
    named_scopes = _of_whole("named_scopes")
    op_match = _of_whole("op_match")
    op_scopes = _of_whole("op_scopes")

    @cached_property
    def _on_host(self) -> Bool:
        planes = self.trace.planes
        return np.array([self.host in ("", planes[line.plane].host) for line in self.trace.lines], np.bool_)

    @cached_property
    def occurrences(self) -> Occurrences:
        found = self.whole.occurrences
        return (found.on_lines(self._on_host) if self.host else found).within(self.low_ps, self.high_ps)

    @cached_property
    def op_sums(self) -> OpSums:
        """What each framework op sums up to; of a summed host without its kernels."""
        if self.has_events:
            return super().op_sums
        sums = self.whole.host_sums.of_host(hosts_of(self.trace).index(self.host))
        return sums_of_units(sums.of_units(self.whole.units.is_device), self.op_shares)

    kernels: ClassVar[cached_property[Kernels]] = cached_property(
        lambda part: part.whole.kernels.within(part.trace, part.low_ps, part.high_ps, part._on_host)
    )

    @cached_property
    def step_frame(self) -> pd.DataFrame:
        steps, frame = self.whole.steps.frame, self.whole.step_frame
        start, end = steps["start_ps"], steps["start_ps"] + steps["duration_ps"]
        is_inside = ((start < self.high_ps) & (end > self.low_ps)).to_numpy()
        if self.host:
            is_inside = is_inside & (steps["host"] == self.host).to_numpy()
        return frame if is_inside.all() else frame[is_inside]

    @cached_property
    def events(self) -> pd.DataFrame:
        trace = self.trace
        is_point = (trace.duration_ps == 0) & (trace.start_ps >= self.low_ps)
        is_inside = (trace.start_ps < self.high_ps) & ((trace.end_ps > self.low_ps) | is_point)
        is_inside = is_inside & self._on_host[trace.line_id]
        return self.whole.events if is_inside.all() else self.whole.events[is_inside]


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """A part of a profile: what `Profile.select` gives. Its tables have the columns of the profile's own, and times are
    the overlap with the part.
    """

    results: Analysis
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
    def _part(self) -> Facts:
        if self.host == "" and self.time_range_ps is None:
            return self.results
        return Part.of(self.results, *(self.time_range_ps or ()), host=self.host)

    def _needs_events(self, asked: str) -> Facts:
        """The part, where it is the whole or there are single executions."""
        if self._part is not self.results and not self.results.has_events:
            name = self.host or hosts_of(self.results.trace)[0]
            raise TfProfError(
                f"a reduced profile has no single executions, so not {asked}: open a host in full, prof.host({name!r})"
            )
        return self._part

    @property
    def _sums(self) -> Facts:
        """The part, where what ran in it is known: of a reduced profile that is so of hosts, but of no time range."""
        return self._part if self.time_range_ps is None else self._needs_events("a time range")

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
        ops = self._needs_events("idle time host by host").ops_and_idle if idle else self._sums.ops
        return by_type(ops) if by == "type" else ops

    @property
    def layers(self) -> pd.DataFrame:
        """The time of the part by Keras layer. The two columns of bytes are of the whole capture."""
        return self._sums.layers.frame

    @property
    def source_lines(self) -> pd.DataFrame:
        """The time of the part by line of your code."""
        return self._sums.source_lines.frame

    @property
    def scopes(self) -> pd.DataFrame:
        """The time of the part by name scope."""
        return self._sums.scopes.frame

    @property
    def hlo_ops(self) -> pd.DataFrame:
        """The ops of compiled programs: times are the overlap with the part; what did not run in it has a row with zeros."""
        return self._needs_events("the executions of a part").hlo_ops.frame

    @property
    def kernels(self) -> pd.DataFrame:
        """The kernels that ran in the part: times are the overlap with it."""
        return self._needs_events("the kernels of a part").kernels.frame

    @property
    def steps(self) -> pd.DataFrame:
        """The steps that overlap the part, with their whole times."""
        return self._part.step_frame

    @property
    def events(self) -> pd.DataFrame:
        """The events that overlap the part, with their whole times; an event without duration counts where it lies inside."""
        return self._part.events

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
        if not self.results.has_events:
            return False
        trace, events = self.results.trace, self.results.memory.snapshots.event
        return len(events) > 0 and trace.planes[trace.plane_id[events[0]]].host == self.host


def select(
    results: Analysis,
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


def step_row(results: Analysis, step: int | str, host: str | None = None) -> int:
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
