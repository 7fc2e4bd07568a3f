"""Strings of a trace and of its analyses -> the names of a payload: cut, numbered, those needed first in front, in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.ops.op_families import FAMILIES, families
from ...trace.trace import Int32, Int64, Trace
from .wire import Block, Table, json_text, pack

MAX_CHARACTERS = 1000
"""Of one string; nobody reads more, and one of 100 MB would keep everything else waiting."""


_FIRST_BYTES = 96 * 2**10
"""Of compressed names in the first pack."""
_CHUNK = 2048
_PART_CHARACTERS = 2**19
"""Up to 4 bytes each, and some 8,000 names whose families are found with regular expressions."""


class Names:
    """The strings of a payload by id: those of the trace as there, then others. Without `put_first` ids are the numbers, too.

    With each travel its slice family and how many events have it; see `tell`.
    """

    row_bytes = 100
    """About."""

    def __init__(self, trace: Trace) -> None:
        self.cut = Cutter()
        """Cuts other strings of the same payload as it cuts these."""
        self._strings = self.cut.all(trace.strings)
        self._ids, self._added = trace.string_ids, dict[str, int]()
        self._of_column = dict[int, tuple[tuple[str, ...], Int64]]()
        """With the column itself, whose identity would else be another's one day."""
        self._number: Int32 | None = None
        self._order: Int64 | None = None

    @property
    def n_rows(self) -> int:
        """How many names there are."""
        return len(self._strings)

    @property
    def n_characters(self) -> int:
        """Of all names together."""
        return sum(map(len, self._strings))

    def ids(self, texts: Iterable[str]) -> Int64:
        """The trace's id of each text, or a new one behind those."""
        texts = list(texts)
        found = np.fromiter(map(self._ids.get, texts, repeat(-1)), np.int64, len(texts))
        left = np.flatnonzero(found < 0)
        missing = [texts[row] for row in left.tolist()]
        new = [text for text in dict.fromkeys(missing) if text not in self._added]
        self._added.update(zip(new, range(self.n_rows, self.n_rows + len(new)), strict=True))
        self._strings += self.cut.all(new)
        found[left] = np.fromiter(map(self._added.__getitem__, missing), np.int64, len(missing))
        return found

    def ids_of(self, column: tuple[str, ...]) -> Int64:
        """`ids` of a column that is asked for again, found once."""
        known = self._of_column.get(id(column))
        if known is None:
            known = self._of_column[id(column)] = column, self.ids(column)
        return known[1]

    def put_first(self, wanted: Int64) -> None:
        """Number the names anew, those `wanted` (ids in order, repeated or not) first; nothing can be added from then on."""
        _, first = np.unique(wanted, return_index=True)
        head = wanted[np.sort(first)]
        is_left = np.ones(self.n_rows, np.bool_)
        is_left[head] = False
        self._order = np.concatenate([head, np.flatnonzero(is_left)])
        self._number = np.empty(self.n_rows, np.int32)
        self._number[self._order] = np.arange(self.n_rows, dtype=np.int32)

    def numbers(self, ids: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """The numbers that names have in the payload, from ids; -1 for none stays."""
        return ids if self._number is None else np.where(ids < 0, -1, self._number[ids])

    def tell(self, count: Int64, used: Int64, told: Mapping[int, int]) -> None:
        """Say of numbered names what travels with them.

        Args:
            count: for each id of the trace how many events have that name.
            used: ids of names of ops and types, which have a colour too; the family of other strings is not worked out.
            told: slice families by id that are known better than the name tells.
        """
        self._count, self._told = count, told
        self._is_drawn = np.zeros(self.n_rows, np.bool_)
        self._is_drawn[: len(count)] = count > 0
        self._is_drawn[used] = True

    def texts(self, begin: int, end: int) -> list[str]:
        """The names from one number to before another."""
        if self._order is None:
            return self._strings[begin:end]
        return [self._strings[i] for i in self._order[begin:end].tolist()]

    def table(self, begin: int, end: int) -> Table:
        """Slice family and number of events of the names from one number to before another."""
        ids, count = np.arange(begin, end) if self._order is None else self._order[begin:end], self._count
        family = np.full(len(ids), FAMILIES.index("runtime"), np.uint8)
        chosen = np.flatnonzero(self._is_drawn[ids])
        family[chosen] = families([self._strings[i] for i in ids[chosen].tolist()])
        for i in np.flatnonzero(np.isin(ids, list(self._told))).tolist():
            family[i] = self._told[int(ids[i])]
        n_events = np.where(ids < len(count), count[np.minimum(ids, len(count) - 1)] if len(count) else 0, 0)
        return Table({"family": (family, "u1"), "count": (n_events, "u4")})

    @property
    def n_first(self) -> int:
        """How many names the first pack has: those from the number 0 on."""
        return self._first[0]

    @property
    def member(self) -> Block:
        """Those as a member of the meta object."""
        return self._first[1]

    @cached_property
    def _first(self) -> tuple[int, Block]:
        blocks = [Block.of(b',"names":[')]
        n_names, n_bytes = 0, 0
        while n_names < self.n_rows:
            texts = self.texts(n_names, n_names + _CHUNK)
            more = Block.of(f"{',' if n_names else ''}{json_text(texts)[1:-1]}".encode())
            n_bytes += len(more.data)
            if n_bytes > _FIRST_BYTES:
                break
            blocks.append(more)
            n_names += len(texts)
        return n_names, Block.joined([*blocks, Block.of(b"]")])

    @cached_property
    def _edges(self) -> list[int]:
        """The numbers at which parts begin, and the end."""
        if self.n_first == self.n_rows:
            return [self.n_rows]
        lengths = np.fromiter(map(len, self.texts(self.n_first, self.n_rows)), np.int64)
        part = np.cumsum(lengths + 8) // _PART_CHARACTERS
        return [*(self.n_first + np.flatnonzero(np.diff(part, prepend=-1))).tolist(), self.n_rows]

    @property
    def n_parts(self) -> int:
        """How many parts the others travel in."""
        return len(self._edges) - 1

    def part(self, index: int) -> bytes:
        """One part: a pack with `first` and `names` in its meta object and the rows of the table `names` for those."""
        begin, end = self._edges[index : index + 2]
        return pack({"first": begin, "names": self.texts(begin, end)}, {"names": self.table(begin, end)})


class Cutter:
    """Cuts long strings, equal ones equally and different ones differently."""

    def __init__(self) -> None:
        self._cut: dict[str, str] = {}
        self._whole: dict[str, str] = {}
        self._n_alike: dict[str, int] = {}

    def __call__(self, text: str) -> str:
        """The text, or its beginning and how long it is."""
        if len(text) <= MAX_CHARACTERS:
            return text
        known = self._cut.get(text)
        if known is None:
            end = f"… ({len(text):,} characters)"
            first = text[:MAX_CHARACTERS] + end
            known, n = first, self._n_alike.get(first, 1)
            while known in self._whole:
                n += 1
                known = f"{text[:MAX_CHARACTERS]} #{n}{end}"
            self._cut[text], self._n_alike[first] = known, n
            self._whole[known] = text
        return known

    def whole(self, text: str) -> str:
        """The text that was cut to this one, or the same."""
        return self._whole.get(text, text)

    def all(self, texts: Iterable[str]) -> list[str]:
        """Each text, cut."""
        found = [*texts]
        if max(map(len, found), default=0) > MAX_CHARACTERS:
            found = [self(text) for text in found]
        return found


def cut_texts(value: Any, cut: Callable[[str], str]) -> Any:
    """A JSON-safe value with every string in it cut; the keys of objects are our own."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, dict):
        return {key: cut_texts(item, cut) for key, item in value.items()}
    if isinstance(value, list):
        return [cut_texts(item, cut) for item in value]
    return value
