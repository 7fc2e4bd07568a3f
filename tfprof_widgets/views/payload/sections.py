"""Named tables and lists of a payload -> sections: each fits the first pack, or travels in parts of at most 4 MiB."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ...trace.trace import Int64
from .wire import Rows, Segment, Table, pack

PART_BYTES = 4 * 2**20
"""The most that one message carries: beyond, a browser holds several times as much while it decodes."""
_PROBE_ROWS = 4096
"""From the middle of a long table: how well they compress tells whether it is worth while to compress it all."""
_PROBE_SLACK = 1.5

Interval = tuple[Int64, Int64]


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
        return sum(values.dtype.itemsize for values, _ in self.build(slice(0, 0)).columns.values())

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

    def fits(self, n_bytes: int) -> bool:
        """Whether all rows take at most so many bytes."""
        return self.may_fit(n_bytes) and len(self.whole.data) <= n_bytes

    def may_fit(self, n_bytes: float) -> bool:
        """Whether it is worth while to find out whether all rows take at most so many bytes."""
        if "whole" in self.__dict__ or self.n_rows <= 4 * _PROBE_ROWS:
            return True
        return self._probed_row_bytes * self.n_rows <= _PROBE_SLACK * n_bytes

    @cached_property
    def _probed_row_bytes(self) -> float:
        middle = self.n_rows // 2
        return len(Segment(self.build(slice(middle, middle + _PROBE_ROWS))).data) / _PROBE_ROWS

    @property
    def n_bytes(self) -> int:
        """Of all rows, compressed."""
        return len(self.whole.data)

    def part(self, index: int) -> bytes:
        """One part, a pack."""
        if self.n_parts == 1:
            return pack({}, {self.name: self.whole})
        begin = index * self._rows_per_part
        return pack({}, {self.name: self.build(slice(begin, min(begin + self._rows_per_part, self.n_rows)))})


@dataclass(frozen=True, eq=False)
class ListSection:
    """A list of the meta object, cut the same way; of JSON, so rows differ in size."""

    name: str
    n_rows: int
    build: Callable[[int, int], list[Any]]
    """The rows from one to before another."""
    rows_per_part: int = 1000

    @property
    def n_parts(self) -> int:
        """How many parts it travels in, if not at once."""
        return max(1, -(-self.n_rows // self.rows_per_part))

    @cached_property
    def whole(self) -> list[Any]:
        """All rows."""
        return self.build(0, self.n_rows)

    @cached_property
    def n_bytes(self) -> int:
        """Of all rows, compressed."""
        return json_bytes(self.whole)

    def fits(self, n_bytes: int) -> bool:
        """Whether all rows take at most so many bytes."""
        return self.n_rows <= self.rows_per_part and self.n_bytes <= n_bytes

    def may_fit(self, n_bytes: float) -> bool:
        """Whether it is worth while to find out whether all rows take at most so many bytes."""
        return self.n_parts > 1 or self.n_bytes <= n_bytes

    def part(self, index: int) -> bytes:
        """One part, a pack; kept, because rows of a list take long to make and little when they are packed."""
        if index not in self._packed:
            begin = index * self.rows_per_part
            end = min(begin + self.rows_per_part, self.n_rows)
            rows = self.whole[begin:end] if "whole" in self.__dict__ else self.build(begin, end)
            self._packed[index] = pack({self.name: rows}, {})
        return self._packed[index]

    @cached_property
    def _packed(self) -> dict[int, bytes]:
        return {}


@dataclass(frozen=True, eq=False)
class LateSection:
    """A short list that takes long to find: it is found when it is asked for, and a long capture is shown without it first."""

    name: str
    find: Callable[[], list[Any]]
    most_events: int | None = None
    """Of a capture of more it is not in the first pack, though there may be room: None for of any."""
    n_parts: ClassVar[int] = 1
    """It travels at once."""

    @cached_property
    def whole(self) -> list[Any]:
        """All rows."""
        return self.find()

    @property
    def n_rows(self) -> int:
        """How many rows there are; 0 until they are found."""
        return len(self.whole) if "whole" in self.__dict__ else 0

    @cached_property
    def n_bytes(self) -> int:
        """Of all rows, compressed."""
        return json_bytes(self.whole)

    def fits(self, n_bytes: int) -> bool:
        """Whether all rows take at most so many bytes."""
        return self.n_bytes <= n_bytes

    def may_fit(self, n_bytes: float) -> bool:
        """Whether it is worth while to find out whether all rows take at most so many bytes."""
        return self.n_bytes <= n_bytes

    @cached_property
    def _packed(self) -> bytes:
        return pack({self.name: self.whole}, {})

    def part(self, _index: int) -> bytes:
        """The only part, a pack."""
        return self._packed


def json_bytes(rows: object) -> int:
    """How many bytes a value takes as JSON, compressed."""
    return len(zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), 1))
