"""Strings of a trace and of its analyses -> the names of a payload: cut, numbered, and those needed first in front."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.ops.op_families import FAMILIES, families
from ...trace.trace import Int32, Int64
from .wire import Table

MAX_CHARACTERS = 1000
"""Of one string; nobody reads more, and one of 100 MB would keep everything else waiting."""


class Names:
    """The strings of a payload by id. Until `put_first` is called the trace's own have the ids that they have there."""

    def __init__(self, strings: Iterable[str]) -> None:
        self.cut = Cutter()
        """Cuts other strings of the same payload as it cuts these."""
        given = list(strings)
        self._strings = self.cut.all(given)
        self._ids: dict[str, int] = {}
        for i, text in enumerate(given):
            self._ids.setdefault(text, i)
        self._number: Int32 | None = None
        self._order: Int64 | None = None

    def __len__(self) -> int:
        return len(self._strings)

    @property
    def n_characters(self) -> int:
        """Of all names together."""
        return sum(map(len, self._strings))

    def ids(self, texts: Iterable[str]) -> Int64:
        """The trace's id of each text, or a new one behind those."""
        found = []
        for text in texts:  # bounded by the number of ops, dtypes and iterators
            known = self._ids.get(text)
            if known is None:
                known = self._ids[text] = len(self._strings)
                self._strings.append(self.cut(text))
            found.append(known)
        return np.array(found, np.int64)

    def put_first(self, wanted: Int64) -> None:
        """Number the names anew, those `wanted` (ids in order, repeated or not) first; nothing can be added from then on."""
        _, first = np.unique(wanted, return_index=True)
        head = wanted[np.sort(first)]
        is_left = np.ones(len(self), np.bool_)
        is_left[head] = False
        self._order = np.concatenate([head, np.flatnonzero(is_left)])
        self._number = np.empty(len(self), np.int32)
        self._number[self._order] = np.arange(len(self), dtype=np.int32)

    def numbers(self, ids: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """The numbers that names have in the payload, from ids; -1 for none stays."""
        return ids if self._number is None else np.where(ids < 0, -1, self._number[ids])

    def texts(self, begin: int, end: int) -> list[str]:
        """The names from one number to before another."""
        if self._order is None:
            return self._strings[begin:end]
        return [self._strings[i] for i in self._order[begin:end].tolist()]

    def table(
        self, begin: int, end: int, count: Int64, *, drawn: npt.NDArray[np.bool_], told: Mapping[int, int]
    ) -> Table:
        """Slice family and number of events of the names from one number to before another.

        Args:
            begin: number of the first name.
            end: number after the last one.
            count: by id of the trace how many events have that name.
            drawn: by id whether anything of that name has a colour; the family of other strings is not worked out.
            told: families by id that are known better than the string tells.
        """
        ids = np.arange(begin, end) if self._order is None else self._order[begin:end]
        family = np.full(len(ids), FAMILIES.index("runtime"), np.uint8)
        chosen = np.flatnonzero(drawn[ids])
        family[chosen] = families([self._strings[i] for i in ids[chosen].tolist()])
        for i in np.flatnonzero(np.isin(ids, list(told))).tolist():
            family[i] = told[int(ids[i])]
        n_events = np.where(ids < len(count), count[np.minimum(ids, len(count) - 1)] if len(count) else 0, 0)
        return Table({"family": (family, "u1"), "count": (n_events, "u4")})


class Cutter:
    """Cuts long strings, equal ones equally and different ones differently."""

    def __init__(self) -> None:
        self._cut: dict[str, str] = {}
        self._whole: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The text, or its beginning and how long it is."""
        if len(text) <= MAX_CHARACTERS:
            return text
        known = self._cut.get(text)
        if known is None:
            end = f"… ({len(text):,} characters)"
            known, n = text[:MAX_CHARACTERS] + end, 1
            while known in self._whole:
                n += 1
                known = f"{text[:MAX_CHARACTERS]} #{n}{end}"
            self._cut[text] = known
            self._whole[known] = text
        return known

    def whole(self, text: str) -> str:
        """The text that was cut to this one, or the same."""
        return self._whole.get(text, text)

    def all(self, texts: Iterable[str]) -> list[str]:
        """Each text, cut."""
        return [text if len(text) <= MAX_CHARACTERS else self(text) for text in texts]


def cut_texts(value: Any, cut: Callable[[str], str]) -> Any:
    """A JSON-safe value with every string in it cut; the keys of objects are our own."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, dict):
        return {key: cut_texts(item, cut) for key, item in value.items()}
    if isinstance(value, list):
        return [cut_texts(item, cut) for item in value]
    return value
