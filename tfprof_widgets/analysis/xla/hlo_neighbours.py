"""An HLO instruction that names no framework op -> the nearest one in the flow of data that does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cached_property

import numpy as np

from ...formats.hlo.modules import HloModules
from ...trace.stat_shapes import ranges

_INLINE = ("fusion", "call", "async-start")
_MAX_VISITED = 500
"""A copy has few readers; beyond so many the nearest name says nothing any more."""


class Neighbours:
    """Walks the flow of data of modules, into fusions too."""

    def __init__(self, modules: HloModules) -> None:
        self._modules = modules

    def named(self, row: int) -> int:
        """The nearest reader of its result that has a name, in the order of the file; else the nearest it reads from."""
        found = self._search(row, self._readers)
        return found if found >= 0 else self._search(row, self._sources)

    def _search(self, row: int, step: Callable[[int], list[int]]) -> int:
        seen, waiting = {row}, deque([row])
        while waiting and len(seen) <= _MAX_VISITED:
            for near in step(waiting.popleft()):
                if near in seen:
                    continue
                if self._modules.op_name[near] and self._modules.opcode[near] not in ("parameter", *_INLINE):
                    return near
                seen.add(near)
                waiting.append(near)
        return -1

    @cached_property
    def _caller(self) -> dict[int, int]:
        """For each computation the last instruction that inlines it."""
        modules = self._modules
        n_called = np.where(modules.opcode.is_in(_INLINE), np.diff(modules.called_offsets), 0)
        rows = np.repeat(np.arange(len(n_called)), n_called)
        called = modules.called[ranges(modules.called_offsets[:-1], n_called)]
        return dict(zip(called.tolist(), rows.tolist(), strict=True))

    def _readers(self, row: int) -> list[int]:
        """Instructions that read a result; of a fusion the ones inside it that do, and behind its root those after it."""
        modules = self._modules
        found = []
        for reader, number in modules.readers(row):
            found += self._parameters(reader, number) or [reader]
        computation = int(modules.computation[row])
        if row == modules.root[computation] and computation in self._caller:
            found.append(self._caller[computation])
        return found

    def _parameters(self, row: int, number: int) -> list[int]:
        """The parameters of the computations which an instruction inlines that hold its operand `number`."""
        modules = self._modules
        if modules.opcode[row] not in _INLINE:
            return []
        found = []
        for computation in modules.callees(row):
            low, high = modules.instruction_offsets[computation : computation + 2].tolist()
            found += [inner for inner in range(low, high) if modules.parameter[inner] == number]
        return found

    def _sources(self, row: int) -> list[int]:
        """Instructions whose result one reads; of a fusion its root."""
        modules = self._modules
        found = []
        for one in modules.operands(row):
            if one < 0:
                continue
            called = modules.callees(one) if modules.opcode[one] in _INLINE else []
            inner = [int(modules.root[computation]) for computation in called]
            found += [root for root in inner if root >= 0] or [one]
        return found
