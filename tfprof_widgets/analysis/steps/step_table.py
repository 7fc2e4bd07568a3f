"""StepTable: when steps ran and which events are theirs, before their time is broken down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Int32, Int64, SmallInt, small_int
from ..base.grouping import Grouping

_ARRAYS = ("session", "start_ps", "end_ps", "is_inferred", "is_complete", "is_tiling")
"""The columns of a `StepTable` that are arrays with an entry per step."""


@dataclass(frozen=True)
class StepTable:
    """Steps as columns, one entry per step except for `member`."""

    session: Int64
    start_ps: Int64
    end_ps: Int64
    name: tuple[str, ...]
    is_inferred: Bool
    is_complete: Bool
    is_tiling: Bool
    """Whether the device work that counts for a step is what runs during it, whoever launched it."""
    member: SmallInt
    """For each event of the trace the index of the step whose work it is, -1 for none."""

    @classmethod
    def empty(cls, n_events: int) -> StepTable:
        """No steps, for a trace of `n_events` events."""
        none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
        return cls(none, none, none, (), no, no, no, np.broadcast_to(np.int32(-1), n_events))

    @classmethod
    def of_groups(
        cls,
        grouping: Grouping,
        chosen: Int64,
        start_ps: Int64,
        end_ps: Int64,
        *,
        is_complete: Bool | None = None,
        is_inferred: bool = False,
        name: tuple[str, ...] | None = None,
    ) -> StepTable:
        """The steps that some groups are, called as these, by default complete; all else is of the chosen ones."""
        session, texts, numbers = (grouping.groups[key].to_numpy()[chosen] for key in ("session", "name", "number"))
        own = zip(texts.tolist(), numbers.tolist(), strict=True)
        return cls(
            session=session.astype(np.int64),
            start_ps=start_ps,
            end_ps=end_ps,
            name=tuple(name or str(number) for name, number in own) if name is None else name,
            is_inferred=np.full(len(chosen), is_inferred),
            is_complete=np.ones(len(chosen), np.bool_) if is_complete is None else is_complete,
            is_tiling=np.zeros(len(chosen), np.bool_),
            member=members(grouping, chosen),
        )

    def is_tiling_of(self, step: SmallInt) -> Bool:
        """`is_tiling` of each of the given steps, False for -1."""
        flags: Bool = np.append(self.is_tiling, False)[step]
        return flags

    def joined(self, other: StepTable) -> StepTable:
        """The steps of both; an event of both stays with the first."""
        if not len(other.start_ps):
            return self
        if not len(self.start_ps):
            return other
        shifted = np.where(other.member >= 0, other.member + np.int32(len(self.start_ps)), np.int32(-1))
        columns = {key: np.concatenate([getattr(self, key), getattr(other, key)]) for key in _ARRAYS}
        member = np.where(self.member >= 0, self.member, shifted)
        return StepTable(name=self.name + other.name, member=member, **columns)

    def sorted(self) -> StepTable:
        """By start, then session; steps of no duration are left out."""
        order = np.lexsort((self.session, self.start_ps))
        return self.at(order[self.end_ps[order] > self.start_ps[order]])

    def at(self, order: Int64) -> StepTable:
        """Only these steps, in this order."""
        place = np.full(len(self.start_ps) + 1, -1, small_int(len(order)))
        place[order] = np.arange(len(order))
        columns = {key: getattr(self, key)[order] for key in _ARRAYS}
        return StepTable(name=tuple(self.name[i] for i in order.tolist()), member=place[self.member], **columns)

    def during(self, steps: Int64, start_ps: Int64, end_ps: Int64) -> tuple[Int64, Int64]:
        """Every pair of a span and one of `steps` (disjoint, by start) that it overlaps: rows of the spans, and the steps."""
        first = np.searchsorted(self.end_ps[steps], start_ps, side="right")
        count = np.maximum(np.searchsorted(self.start_ps[steps], end_ps, side="left") - first, 0)
        place = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        return np.repeat(np.arange(len(start_ps)), count), steps[place]


def members(grouping: Grouping, chosen: Int64) -> Int32:
    """For each event of the trace which of the chosen groups it belongs to, -1 for none."""
    row = np.full(len(grouping.groups) + 1, -1, np.int32)
    row[chosen] = np.arange(len(chosen))
    return row[grouping.group_id]
