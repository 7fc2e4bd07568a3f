"""Named tables and lists of a payload -> sections: each fits the first pack, or travels in parts of at most 4 MiB."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from ...trace.trace import Int64
from .wire import Block, Rows, Segment, Table, json_text, pack

PART_BYTES = 4 * 2**20
"""The most that one message carries: beyond, a browser holds several times as much while it decodes."""
_LIST_ROW_BYTES = 100
"""Of JSON, more or less."""
_PROBE_ROWS = 4096
"""From the middle of a long table: how well they compress tells whether it is worth while to compress it all."""
_PROBE_SLACK = 1.1

Interval = tuple[Int64, Int64]


class Section(Protocol):
    """What travels in the first pack or in parts."""

    @property
    def n_rows(self) -> int:
        """How many rows it has; of a late one 0 until they are found."""
        ...

    @property
    def row_bytes(self) -> int:
        """Of one row before compression, about."""
        ...

    @property
    def n_parts(self) -> int:
        """How many parts it travels in, if not at once."""
        ...

    def part(self, index: int) -> bytes:
        """One part, a pack."""
        ...


@dataclass(frozen=True)
class TileSection:
    """What travels tile by tile."""

    n_rows: int
    row_bytes: int
    n_parts: int
    part: Callable[[int], bytes]


@dataclass(frozen=True, eq=False)
class TableSection:
    """A table of which any rows can be built, so that a long one is never whole in memory."""

    name: str
    n_rows: int
    build: Callable[[Rows], Table]
    interval: Callable[[], Interval] | None = None
    """When each row begins and ends, in ps; None for a table that cannot be cut to a window of time."""
    refers: str = ""
    """The column that names other rows of the table."""

    @cached_property
    def row_bytes(self) -> int:
        """Of one row before compression."""
        whole: Segment | None = vars(self).get("whole")
        return (whole or Segment(self.build(slice(0, 0)))).row_bytes

    @cached_property
    def _rows_per_part(self) -> int:
        # A column is padded to 8 bytes, and what does not compress grows a little.
        return max(1, (PART_BYTES - 2**16) // max(1, self.row_bytes))

    @property
    def n_parts(self) -> int:
        """How many parts it travels in, if not at once."""
        return max(1, -(-self.n_rows // self._rows_per_part))

    @cached_property
    def whole(self) -> Segment:
        """All rows, compressed."""
        return Segment(self.build(slice(0, self.n_rows)))

    def fits(self, n_bytes: float) -> bool:
        """Whether all rows take at most so many bytes."""
        return self.may_fit(n_bytes) and len(self.whole.block.data) <= n_bytes

    def may_fit(self, n_bytes: float) -> bool:
        """Whether it is worth while to find out; of a long table some rows tell."""
        if "whole" in self.__dict__ or self.n_rows <= 4 * _PROBE_ROWS:
            return True
        return self._probed * self.n_rows <= _PROBE_SLACK * n_bytes

    @cached_property
    def _probed(self) -> float:
        """How many bytes a row takes, compressed, as some tell."""
        middle = self.n_rows // 2
        return len(Segment(self.build(slice(middle, middle + _PROBE_ROWS))).block.data) / _PROBE_ROWS

    def part(self, index: int) -> bytes:
        """One part, a pack."""
        if self.n_parts == 1:
            return pack({}, {self.name: self.whole})
        begin = index * self._rows_per_part
        return pack({}, {self.name: self.build(slice(begin, min(begin + self._rows_per_part, self.n_rows)))})


class ListSection:
    """A list of the meta object, cut the same way; of JSON, so rows differ in size."""

    row_bytes = _LIST_ROW_BYTES

    def __init__(
        self, name: str, n_rows: int, build: Callable[[int, int], list[Any]], rows_per_part: int = 1000
    ) -> None:
        """`build` gives the rows from one to before another."""
        self.name, self.n_rows, self._build, self._rows_per_part = name, n_rows, build, rows_per_part
        self._packed: dict[int, bytes] = {}

    @property
    def n_parts(self) -> int:
        """How many parts it travels in, if not at once."""
        return max(1, -(-self.n_rows // self._rows_per_part))

    @cached_property
    def whole(self) -> list[Any]:
        """All rows."""
        rows = self._build(0, self.n_rows)
        self.n_rows = len(rows)
        return rows

    @cached_property
    def member(self) -> Block:
        """All rows as a member of the meta object."""
        return Block.of(f',"{self.name}":{json_text(self.whole)}'.encode())

    def fits(self, n_bytes: float) -> bool:
        """Whether all rows travel at once and take at most so many bytes."""
        return self.n_parts == 1 and len(self.member.data) <= n_bytes

    def may_fit(self, n_bytes: float) -> bool:
        """Whether it is worth while to find out whether all parts take at most so many bytes."""
        return self.n_parts > 1 or len(self.member.data) <= n_bytes

    def part(self, index: int) -> bytes:
        """One part, a pack; kept, because rows of a list take long to make and little when they are packed."""
        if index not in self._packed:
            begin, end = index * self._rows_per_part, min((index + 1) * self._rows_per_part, self.n_rows)
            known = self.whole if self.n_parts == 1 or "whole" in self.__dict__ else None
            rows = self._build(begin, end) if known is None else known[begin : begin + self._rows_per_part]
            self._packed[index] = pack({self.name: rows}, {})
        return self._packed[index]


class LateSection(ListSection):
    """A short list that takes long to find: it is found when it is asked for, and a capture is shown without it first."""

    def __init__(self, name: str, find: Callable[[], list[Any]]) -> None:
        """`find` gives all rows."""
        super().__init__(name, 0, lambda _begin, _end: find(), sys.maxsize)


class LateList(ListSection):
    """A list that takes long to find and may be a long one; its length is known before."""


@dataclass(frozen=True, eq=False)
class LateTable(TableSection):
    """A table that takes long to find; its width is told, so that nothing is built to know it."""

    row_bytes: int = 1


LATE = (LateSection, LateList, LateTable)
