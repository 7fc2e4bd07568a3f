"""Memory of each host -> the memory of all.

merge_memory(hosts, summaries, shift_ps, trace) -> ReducedMemory
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...trace.packed_column import packed_column
from ...trace.trace import Int64, Trace
from ..base.matching import sum_by
from ..base.units import PS_PER_MS
from ..base.wording import plural
from ..layers.layer_memory import OpMemory
from ..memory.memory import MemoryProfile
from ..memory.memory_growth import MemoryGrowth
from ..memory.memory_snapshots import PackedColumns, Snapshots
from ..memory.memory_steps import StepSpans
from .columns import PackedFrame, joined, owners, stacked
from .memory_summary import MemorySummary, no_events


@dataclass(frozen=True, eq=False, repr=False)
class ReducedMemory(MemoryProfile):
    """The memory of all hosts of a reduced profile: `summary`, `peak`, `held_at_peak` and `growth`, of the whole capture.

    What needs every allocation (`timeline`, `live`, `lifetimes`, `steps`, `unfreed`) raises an error that says which host to
    open. `snapshots` is empty, and `remedy` tells the views why.
    """

    peaks: Mapping[str, PackedFrame]
    held: Mapping[str, PackedFrame]
    growths: Mapping[str, MemoryGrowth]
    place: Mapping[str, tuple[str, str]]
    """For each allocator its host, and its name there."""
    by_op: OpMemory

    def __repr__(self) -> str:
        n_hosts = len({host for host, _ in self.place.values()})
        return f"ReducedMemory({plural(len(self.allocators), 'allocator')} of {plural(n_hosts, 'host')})"

    def peak(self, allocator: str) -> pd.DataFrame:
        """Who holds the memory at the peak, see `MemoryProfile.peak`; of many rows the largest, and one of the others.

        Raises:
            KeyError: no such allocator.
        """
        self.snapshots.rows_of(allocator)
        return self.peaks[allocator].frame

    def held_at_peak(self, allocator: str) -> pd.DataFrame:
        """Who really holds the memory at the peak, see `MemoryProfile.held_at_peak`; of many rows the largest, as in `peak`.

        Raises:
            KeyError: no such allocator.
        """
        self.snapshots.rows_of(allocator)
        return self.held[allocator].frame

    def growth(self, allocator: str) -> MemoryGrowth:
        """Whether the memory in use at the end of steps keeps growing, see `MemoryProfile.growth`.

        Raises:
            KeyError: no such allocator.
        """
        self.snapshots.rows_of(allocator)
        return self.growths[allocator]

    def timeline(self, allocator: str) -> pd.DataFrame:
        """Not there.

        Raises:
            KeyError: no such allocator.
            TfProfError: always: one host has to be opened.
        """
        raise self._missing("memory timeline", allocator, "timeline({0!r})")

    def live(self, allocator: str, at_ms: float) -> pd.DataFrame:  # noqa: ARG002 - as of any profile
        """Not there.

        Raises:
            KeyError: no such allocator.
            TfProfError: always: one host has to be opened.
        """
        raise self._missing("single allocations", allocator, "live({0!r}, at_ms)")

    def lifetimes(self, allocator: str) -> pd.DataFrame:
        """Not there.

        Raises:
            KeyError: no such allocator.
            TfProfError: always: one host has to be opened.
        """
        raise self._missing("single allocations", allocator, "lifetimes({0!r})")

    def steps(self, allocator: str) -> pd.DataFrame:
        """Not there.

        Raises:
            KeyError: no such allocator.
            TfProfError: always: one host has to be opened.
        """
        raise self._missing("memory of each step", allocator, "steps({0!r})")

    def unfreed(self, allocator: str, after_steps: int = 2) -> pd.DataFrame:  # noqa: ARG002 - as of any profile
        """Not there.

        Raises:
            KeyError: no such allocator.
            TfProfError: always: one host has to be opened.
        """
        raise self._missing("single allocations", allocator, "unfreed({0!r})")

    def _missing(self, what: str, allocator: str, call: str) -> Exception:
        self.snapshots.rows_of(allocator)
        host, name = self.place[allocator]
        return no_events(what, host, f".memory.{call.format(name)}")


def merge_memory(
    hosts: Sequence[str], summaries: Sequence[MemorySummary], shift_ps: Sequence[int], trace: Trace
) -> ReducedMemory:
    """Put the allocators of all hosts side by side, under the names that one trace of all would give them.

    Args:
        hosts: the name of each.
        summaries: of each.
        shift_ps: by how much the times of each move.
        trace: of the reduced profile.
    """
    frames = [one.summary for one in summaries]
    several = sum(len(frame) > 0 for frame in frames) > 1
    summary, owner = stacked(frames), owners(frames)
    own = summary["allocator"].tolist()
    names = [f"{hosts[i]}: {name}" if several else name for i, name in zip(owner.tolist(), own, strict=True)]
    place = {name: (hosts[i], known) for name, i, known in zip(names, owner.tolist(), own, strict=True)}
    parts = {name: (summaries[i], known) for name, i, known in zip(names, owner.tolist(), own, strict=True)}
    summary["allocator"] = pd.Series(names, dtype=summary["allocator"].dtype)
    summary["peak_at_ms"] += np.array(shift_ps, np.int64)[owner] / PS_PER_MS
    summary = summary.sort_values("allocator", kind="stable", ignore_index=True)
    allocators = tuple(summary["allocator"].tolist())
    nothing = np.empty(0, np.int64)
    return ReducedMemory(
        allocators=allocators,
        summary=summary,
        snapshots=_no_snapshots(allocators),
        strings=trace.strings,
        event_step=None,
        step_spans=StepSpans(nothing, nothing, nothing),
        remedy=_remedy(summaries, place, allocators),
        peaks={name: one.peaks[known] for name, (one, known) in parts.items()},
        held={name: one.held[known] for name, (one, known) in parts.items()},
        growths={name: one.growth[known] for name, (one, known) in parts.items()},
        place=place,
        by_op=_by_op(hosts, summaries, several=several),
    )


def _remedy(
    summaries: Sequence[MemorySummary], place: Mapping[str, tuple[str, str]], allocators: Sequence[str]
) -> str | None:
    if not allocators:
        return summaries[0].remedy
    host, name = place[allocators[0]]
    return (
        "A reduced profile has the peak of each allocator, but not its allocations over time. Open one host in full:\n"
        f"prof.host({host!r}).memory_timeline()  # or .memory.timeline({name!r})"
    )


def _no_snapshots(allocators: tuple[str, ...]) -> Snapshots:
    e, i = np.empty(0, np.int64), np.empty(0, np.int32)
    none = packed_column(e)
    return Snapshots(
        allocators=allocators,
        allocator_offsets=np.zeros(len(allocators) + 1, np.int64),
        event=i,
        allocator_id=i,
        session_id=i,
        time_ps=e,
        is_free=np.empty(0, np.bool_),
        fragmentation_ratio=np.empty(0),
        packed=PackedColumns(none, none, none, none, none, none, none, none, none),
        op=i,
        region=i,
        dtype=i,
        shape=i,
    )


def _by_op(hosts: Sequence[str], summaries: Sequence[MemorySummary], *, several: bool) -> OpMemory:
    """Bytes by op of all hosts; those at the peak are of the allocator with the largest one."""
    parts = [one.by_op for one in summaries]
    number: dict[str, int] = {}
    types: list[str] = []
    places = []
    for part in parts:
        for name, kind in zip(part.name, part.type, strict=True):
            place = number.setdefault(name, len(number))
            if place == len(types):
                types.append(kind)
            places.append(place)
    row = np.array(places, np.int64)
    top = _top(hosts, summaries)
    allocated = sum_by(row, joined([part.allocated_bytes for part in parts], np.int64), len(types))
    at_peak: Int64 = np.zeros(len(types), np.int64)
    if top < 0:
        return OpMemory(tuple(number), tuple(types), allocated, at_peak, "", 0, 0)
    edges = np.cumsum([0, *(len(part.name) for part in parts)])
    np.add.at(at_peak, row[edges[top] : edges[top + 1]], parts[top].peak_bytes)
    allocator = f"{hosts[top]}: {parts[top].allocator}" if several else parts[top].allocator
    return replace(
        parts[top],
        name=tuple(number),
        type=tuple(types),
        allocated_bytes=allocated,
        peak_bytes=at_peak,
        allocator=allocator,
    )


def _top(hosts: Sequence[str], summaries: Sequence[MemorySummary]) -> int:
    """The host of the allocator with the largest peak, of equal ones the first by name; -1 where nothing was recorded."""
    found = [
        (-int(one.summary["peak_bytes"].max()), f"{host}: {one.by_op.allocator}", i)
        for i, (host, one) in enumerate(zip(hosts, summaries, strict=True))
        if len(one.summary)
    ]
    return min(found)[2] if found else -1
