"""Names -> what of them is in the first pack, and their parts."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from ...trace.trace import Int64
from .names import Cutter, Names
from .wire import Table, pack

_FIRST_BYTES = 160 * 2**10
"""Of compressed names in the first pack."""
_CHUNK = 2048
_PART_CHARACTERS = 2**19
"""Up to 4 bytes each, and some 8,000 names whose families are found with regular expressions."""


class NameSection:
    """Names by number, with the slice family of each and how many events have it."""

    row_bytes = 100
    """About."""

    def __init__(self, names: Names, count: Int64, used: Int64, told: Mapping[int, int]) -> None:
        """Of numbered names.

        Args:
            names: numbered.
            count: for each id of the trace how many events have that name.
            used: ids of names of ops and types, which have a colour too.
            told: families by id that are known better than the name tells.
        """
        self._names, self._count, self._told = names, count, told
        self._is_drawn = np.zeros(len(names), np.bool_)
        self._is_drawn[: len(count)] = count > 0
        self._is_drawn[used] = True

    @property
    def cut(self) -> Cutter:
        """Cuts other strings as the names are cut."""
        return self._names.cut

    def texts(self) -> list[str]:
        """The names of the first pack."""
        return self._names.texts(0, self.n_first)

    @property
    def n_rows(self) -> int:
        """How many names there are."""
        return len(self._names)

    @cached_property
    def n_first(self) -> int:
        """How many names the first pack has: those from the number 0 on."""
        compressor = zlib.compressobj(1)
        n_bytes = 0
        for begin in range(0, self.n_rows, _CHUNK):
            text = json.dumps(self._names.texts(begin, begin + _CHUNK), separators=(",", ":"))
            n_bytes += len(compressor.compress(text.encode())) + len(compressor.flush(zlib.Z_SYNC_FLUSH))
            if n_bytes > _FIRST_BYTES:
                return begin
        return self.n_rows

    @cached_property
    def _edges(self) -> list[int]:
        """The numbers at which parts begin, and the end."""
        if self.n_first == self.n_rows:
            return [self.n_rows]
        lengths = np.array([len(text) for text in self._names.texts(self.n_first, self.n_rows)])
        part = np.cumsum(lengths + 8) // _PART_CHARACTERS
        return [*(self.n_first + np.flatnonzero(np.diff(part, prepend=-1))).tolist(), self.n_rows]

    @property
    def n_parts(self) -> int:
        """How many parts the others travel in."""
        return len(self._edges) - 1

    def part(self, index: int) -> bytes:
        """One part: a pack with `first` and `names` in its meta object and the rows of the table `names` for those."""
        begin, end = self._edges[index : index + 2]
        return pack({"first": begin, "names": self._names.texts(begin, end)}, {"names": self.table(begin, end)})

    def table(self, begin: int, end: int) -> Table:
        """The rows of the table `names` from one number to before another."""
        return self._names.table(begin, end, self._count, drawn=self._is_drawn, told=self._told)
