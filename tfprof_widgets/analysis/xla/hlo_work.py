"""Instructions that ran -> the names of framework ops inside each, with the work that is done for each name.

A name is that of a framework op together with its type, as instructions carry them. A fusion or call does what the
instructions of its computations do, these and theirs; an instruction that is none, or of which no part has a name, does its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...formats.hlo.modules import HloModules
from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Float64, Int64
from ..base.matching import dense_codes, first_of

INLINE = ("fusion", "call", "async-start")


@dataclass(frozen=True, eq=False, repr=False)
class NamedWork:
    """Work by owner and name, each pair once; ordered by owner, and within one as its instructions are met."""

    owner: Int64
    name: Int64
    work: Float64
    row: Int64
    """The first instruction of that name that is met."""


class WorkByName:
    """The names inside instructions of modules."""

    def __init__(self, modules: HloModules, work: Float64) -> None:
        """Add up `work`, that of each instruction, for every computation."""
        self._modules, self._work = modules, work
        code, self.n_names = dense_codes(modules.op_name.code, modules.op_type.code)
        self.name = np.where(modules.op_name.is_in(("",)), -1, code)
        """For each instruction its name, -1 for none."""
        self._is_made: Bool = modules.opcode.is_in(INLINE) & (np.diff(modules.called_offsets) > 0)
        n = len(modules.root)
        self._first, self._n = np.zeros(n, np.int64), np.zeros(n, np.int64)
        e = np.empty(0, np.int64)
        self._known = NamedWork(e, e, np.empty(0), e)
        for computations in modules.levels:
            rows = modules.rows_of(computations)
            owner = np.repeat(np.arange(len(computations)), np.diff(modules.instruction_offsets)[computations])
            self._take_up(computations, self.of(owner, rows))

    def _take_up(self, computations: Int64, found: NamedWork) -> None:
        n = np.bincount(found.owner, minlength=len(computations))
        self._first[computations], self._n[computations] = len(self._known.name) + np.cumsum(n) - n, n
        parts = ((getattr(one, part) for one in (self._known, found)) for part in ("owner", "name", "work", "row"))
        self._known = NamedWork(*(np.concatenate(list(part)) for part in parts))

    def of(self, owner: Int64, rows: Int64) -> NamedWork:
        """The names inside some instructions, added up by owner; owners ascend."""
        known, modules = self._known, self._modules
        made = np.flatnonzero(self._is_made[rows])
        n_called = np.diff(modules.called_offsets)[rows[made]]
        called = modules.called[ranges(modules.called_offsets[rows[made]], n_called)]
        inside = ranges(self._first[called], self._n[called])
        place = np.repeat(np.repeat(made, n_called), self._n[called])
        is_own = np.bincount(place, minlength=len(rows)) == 0
        own = np.flatnonzero(is_own & (self.name[rows] >= 0))
        place = np.concatenate([own, place])
        order = np.argsort(place, kind="stable")
        owner = owner[place][order]
        name = np.concatenate([self.name[rows[own]], known.name[inside]])[order]
        work = np.concatenate([self._work[rows[own]], known.work[inside]])[order]
        row = np.concatenate([rows[own], known.row[inside]])[order]
        pair, n_pairs = dense_codes(owner, name)
        first = first_of(pair, n_pairs)
        total = np.bincount(pair, work, n_pairs).astype(np.float64)
        order = np.argsort(first)
        first = first[order]
        return NamedWork(owner[first], name[first], total[order], row[first])
