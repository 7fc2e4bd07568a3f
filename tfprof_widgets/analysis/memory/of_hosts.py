"""Memory of one host -> what travels without every allocation; that of all hosts -> the memory of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ..common import Types, plural, typed_table
from ..summaries import MOST, OTHER_OPS, OWNER, PackedFrame, no_events, united, with_rest
from ..tables import TABLES
from .growth import MemoryGrowth
from .memory import OF_DEVICE, MemoryProfile, MemoryTables, OpMemory
from .moments import no_allocator

OP_COLUMNS = ["name", "type", "allocated_bytes", "peak_bytes"]
PEAK_TYPES: Types = TABLES["memory.peak"].types


def summarize_memory(memory: MemoryProfile, by_op: OpMemory) -> dict[str, PackedFrame]:
    """Keep what does not need every allocation."""
    growths = [memory.growth(name) for name in memory.allocators]
    order = np.argsort(-by_op.allocated_bytes, kind="stable")
    ops = pd.DataFrame({name: getattr(by_op, name) for name in OP_COLUMNS}, columns=OP_COLUMNS)
    ops = with_rest(ops.iloc[np.append(np.sort(order[: MOST.ops]), order[MOST.ops :])], MOST.ops, _other_ops)
    top = {name: [getattr(by_op, name)] for name in ("allocator", "before_capture_bytes", "stack_bytes")}
    tables = {
        "memory": memory.summary.assign(**pd.DataFrame(growths, columns=[one.name for one in fields(MemoryGrowth)])),
        "peaks": _of_allocators(memory, memory.peak),
        "held": _of_allocators(memory, memory.held_at_peak),
        "memory_ops": ops,
        "memory_peak": pd.DataFrame(top).assign(peak_bytes=_peak_of(memory, by_op.allocator))[: len(memory.allocators)],
    }
    return {name: PackedFrame.of(frame) for name, frame in tables.items()}


def _peak_of(memory: MemoryProfile, allocator: str) -> int:
    own = memory.summary["allocator"] == allocator
    return int(memory.summary.loc[own, "peak_bytes"].sum())


def _of_allocators(memory: MemoryProfile, table: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """The first rows of a table of each allocator, and one of the others."""
    frames = [
        with_rest(table(name), MOST.peak_rows, partial(_other_rows, n_all=len(table(name)))).assign(allocator=row)
        for row, name in enumerate(memory.allocators)
    ]
    return pd.concat(frames, ignore_index=True) if frames else typed_table((), {**PEAK_TYPES, "allocator": int})


def _other_rows(rest: pd.DataFrame, *, n_all: int) -> dict[str, object]:
    total = int(rest["total_bytes"].sum())
    return dict.fromkeys(rest.columns, "") | {
        "op": f"{OTHER_OPS} ({len(rest):,} of {n_all:,} rows)",
        "allocation_bytes": total,
        "requested_bytes": int((rest["requested_bytes"] * rest["occurrences"]).sum()),
        "occurrences": 1,
        "total_bytes": total,
    }


def _other_ops(rest: pd.DataFrame) -> dict[str, object]:
    return {"name": OTHER_OPS, "type": OTHER_OPS, **rest[["allocated_bytes", "peak_bytes"]].sum()}


_ON_HOSTS = {
    "timeline": ("memory timeline", "timeline({0!r})"),
    "live": ("single allocations", "live({0!r}, at_ms)"),
    "lifetimes": ("single allocations", "lifetimes({0!r})"),
    "steps": ("memory of each step", "steps({0!r})"),
    "unfreed": ("single allocations", "unfreed({0!r})"),
}
"""Methods of `MemoryProfile` that need every allocation: what they tell, and how they are called."""
_GROWTH = [one.name for one in fields(MemoryGrowth)]
_NOTHING = {"allocator": "", "before_capture_bytes": 0, "stack_bytes": 0}
"""Of the allocator with the largest peak where there is none."""


@dataclass(frozen=True, eq=False, repr=False)
class ReducedMemory(MemoryTables):
    """The memory of all hosts of a reduced profile (not `Profile.has_events`): what `Profile.memory` gives there.

    It has `summary`, `peak`, `held_at_peak` and `growth` of a `MemoryProfile`. What needs every allocation (`timeline`,
    `live`, `lifetimes`, `steps`, `unfreed`) raises a `TfProfError` that says which host to open in full.
    """

    place: pd.DataFrame
    """For each row of `summary` the host, and the name of the allocator there."""
    peaks: pd.DataFrame
    held: pd.DataFrame
    by_op: OpMemory

    def __repr__(self) -> str:
        n_hosts = self.place["host"].nunique()
        return f"ReducedMemory({plural(len(self.allocators), 'allocator')} of {plural(n_hosts, 'host')})"

    def peak(self, allocator: str | None = None) -> pd.DataFrame:
        """Who held the memory at the peak, in the columns of `MemoryProfile.peak`; of many rows the largest, and one of
        the others.

        Args:
            allocator: one of `allocators`; without one `main_allocator`.

        Raises:
            KeyError: there is no such allocator.
        """
        return self._rows(self.peaks, allocator)

    def held_at_peak(self, allocator: str | None = None) -> pd.DataFrame:
        """Who really held the memory at the peak, in the columns of `peak`; of many rows the largest, and one of the
        others.

        Args:
            allocator: one of `allocators`; without one `main_allocator`.

        Raises:
            KeyError: there is no such allocator.
        """
        return self._rows(self.held, allocator)

    def growth(self, allocator: str) -> MemoryGrowth:
        """Whether the memory in use at the end of steps keeps growing, as a `MemoryGrowth`.

        Args:
            allocator: one of `allocators`.

        Raises:
            KeyError: there is no such allocator.
        """
        return MemoryGrowth(*self._place(allocator)[_GROWTH].to_dict().values())

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """A call of `MemoryProfile` that raises what this profile lacks."""
        if name not in _ON_HOSTS:
            raise AttributeError(f"the memory of a reduced profile has no {name!r}")
        what, call = _ON_HOSTS[name]

        def refuse(allocator: str, *_args: object, **_options: object) -> NoReturn:
            place = self._place(allocator)
            raise no_events(what, place["host"], f".memory.{call.format(place['own'])}")

        return refuse

    def _rows(self, frame: pd.DataFrame, allocator: str | None) -> pd.DataFrame:
        own = frame[:0]
        if allocator is not None or self.allocators:
            own = frame[frame["allocator"] == self._place(allocator or self.main_allocator)["stack"]]
        return own[list(PEAK_TYPES)].reset_index(drop=True)

    def _place(self, allocator: str) -> pd.Series[Any]:
        if allocator not in self.allocators:
            raise no_allocator(allocator, self.allocators)
        return self.place.iloc[self.allocators.index(allocator)]


def merge_memory(hosts: Sequence[str], every: Mapping[str, pd.DataFrame], remedy: str | None) -> ReducedMemory:
    """Put the allocators of all hosts side by side, under the names that one trace of all would give them."""
    stack = every["memory"]
    host = np.array(hosts, np.object_)[stack[OWNER]]
    several = stack[OWNER].nunique() > 1
    names = host + ": " + stack["allocator"] if several else stack["allocator"]
    place = stack[_GROWTH].assign(host=host, own=stack["allocator"], stack=stack.index)
    order = np.argsort(names.to_numpy(np.object_), kind="stable")  # np.str_ is as wide as the longest
    summary = stack.drop(columns=[OWNER, *_GROWTH]).assign(allocator=names).iloc[order].reset_index(drop=True)
    if len(stack):
        first = place.iloc[order[0]]
        remedy = (
            "A reduced profile has the peak of each allocator, but not its allocations over time. Open one host in full:\n"
            f"prof.host({first['host']!r}).memory_timeline()  # or .memory.timeline({first['own']!r})"
        )
    return ReducedMemory(
        allocators=tuple(summary["allocator"]),
        summary=summary,
        remedy=remedy,
        place=place.iloc[order],
        peaks=every["peaks"],
        held=every["held"],
        by_op=_by_op(hosts, every["memory_ops"], every["memory_peak"], several=several),
    )


def _by_op(hosts: Sequence[str], every: pd.DataFrame, peaks: pd.DataFrame, *, several: bool) -> OpMemory:
    """Bytes by op of all hosts; those at the peak are of the allocator with the largest one, of a device if there is any."""
    name = np.array(hosts, np.object_)[peaks[OWNER]] + ": " + peaks["allocator"]
    of_host = ~peaks["allocator"].str.contains(OF_DEVICE, regex=False)
    ranked = zip(of_host, -peaks["peak_bytes"], name, range(len(peaks)), strict=True)
    row = min(ranked, default=(True, 0, "", -1))[-1]
    top = peaks.iloc[row] if len(peaks) else pd.Series({OWNER: -1, **_NOTHING})
    every = every.assign(peak_bytes=every["peak_bytes"].where(every[OWNER] == top[OWNER], 0))
    rules = {"type": "first", "allocated_bytes": "sum", "peak_bytes": "sum"}
    ops, _ = united(every, ["name"], rules)
    return OpMemory(
        name=tuple(ops["name"]),
        type=tuple(ops["type"]),
        allocated_bytes=ops["allocated_bytes"].to_numpy(np.int64),
        peak_bytes=ops["peak_bytes"].to_numpy(np.int64),
        allocator=name.iloc[row] if several else top["allocator"],
        before_capture_bytes=int(top["before_capture_bytes"]),
        stack_bytes=int(top["stack_bytes"]),
    )
