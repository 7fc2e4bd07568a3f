"""Memory of each host -> the memory of all.

merge_memory(hosts, summaries, shift_ps) -> ReducedMemory
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

import numpy as np
import pandas as pd

from ...trace.trace import Int64
from ..base.matching import sum_by
from ..base.units import PS_PER_MS
from ..base.wording import plural
from ..layers.layer_memory import OpMemory
from ..memory.memory import MemoryTables
from ..memory.memory_growth import MemoryGrowth
from ..memory.memory_snapshots import no_allocator
from .columns import PackedFrame, joined, numbered, owners, stacked
from .memory_summary import MemorySummary, no_events

_T = TypeVar("_T")
_ON_HOSTS = {
    "timeline": ("memory timeline", "timeline({0!r})"),
    "live": ("single allocations", "live({0!r}, at_ms)"),
    "lifetimes": ("single allocations", "lifetimes({0!r})"),
    "steps": ("memory of each step", "steps({0!r})"),
    "unfreed": ("single allocations", "unfreed({0!r})"),
}
"""Methods of `MemoryProfile` that need every allocation: what they tell, and how they are called."""


@dataclass(frozen=True, eq=False, repr=False)
class ReducedMemory(MemoryTables):
    """The memory of all hosts of a reduced profile, of the whole capture; `remedy` tells the views what is not here.

    Calling what needs every allocation (`timeline`, `live`, `lifetimes`, `steps`, `unfreed`) raises an error that says which
    host to open.
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
        """See `MemoryProfile.peak`; of many rows the largest, and one of the others."""
        return self._known(self.peaks, allocator).frame

    def held_at_peak(self, allocator: str) -> pd.DataFrame:
        """See `MemoryProfile.held_at_peak`; of many rows the largest, as in `peak`."""
        return self._known(self.held, allocator).frame

    def growth(self, allocator: str) -> MemoryGrowth:
        """See `MemoryProfile.growth`."""
        return self._known(self.growths, allocator)

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """A call of `MemoryProfile` that raises what this profile lacks.

        Raises:
            AttributeError: there is no such call. Calling it raises KeyError where no such allocator is, else TfProfError.
        """
        if name not in _ON_HOSTS:
            raise AttributeError(f"the memory of a reduced profile has no {name!r}")
        what, call = _ON_HOSTS[name]

        def refuse(allocator: str, *_args: object, **_options: object) -> NoReturn:
            host, own = self._known(self.place, allocator)
            raise no_events(what, host, f".memory.{call.format(own)}")

        return refuse

    def _known(self, found: Mapping[str, _T], allocator: str) -> _T:
        """What is known of an allocator.

        Raises:
            KeyError: no such allocator.
        """
        if allocator not in self.allocators:
            raise no_allocator(allocator, self.allocators)
        return found[allocator]


def merge_memory(hosts: Sequence[str], summaries: Sequence[MemorySummary], shift_ps: Sequence[int]) -> ReducedMemory:
    """Put the allocators of all hosts side by side, under the names that one trace of all would give them.

    Args:
        hosts: the name of each.
        summaries: of each.
        shift_ps: by how much the times of each move.
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
    return ReducedMemory(
        allocators=allocators,
        summary=summary,
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


def _by_op(hosts: Sequence[str], summaries: Sequence[MemorySummary], *, several: bool) -> OpMemory:
    """Bytes by op of all hosts; those at the peak are of the allocator with the largest one."""
    parts = [one.by_op for one in summaries]
    row, names = numbered(name for part in parts for name in part.name)
    kinds = [kind for part in parts for kind in part.type]
    types = tuple(kinds[i] for i in np.unique(row, return_index=True)[1].tolist())
    top = _top(hosts, summaries)
    allocated = sum_by(row, joined([part.allocated_bytes for part in parts], np.int64), len(types))
    at_peak: Int64 = np.zeros(len(types), np.int64)
    if top < 0:
        return OpMemory(names, types, allocated, at_peak, "", 0, 0)
    edges = np.cumsum([0, *(len(part.name) for part in parts)])
    np.add.at(at_peak, row[edges[top] : edges[top + 1]], parts[top].peak_bytes)
    allocator = f"{hosts[top]}: {parts[top].allocator}" if several else parts[top].allocator
    return replace(
        parts[top],
        name=names,
        type=types,
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
