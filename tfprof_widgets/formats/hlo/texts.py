"""A column of texts of which few are distinct -> each once, and for every row which: `texts[row]` is a string."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from ...trace.trace import Bool, Int64


@dataclass(frozen=True, eq=False, repr=False)
class Texts(Sequence[str]):
    """Texts by row. As a sequence of strings it costs an object a row: analyses of many rows use `code`."""

    code: Int64
    """For each row which of the distinct ones."""
    distinct: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Those of a sequence."""
        return cls.coded(np.arange(len(texts)), texts)

    @classmethod
    def coded(cls, code: Int64, texts: Iterable[str]) -> Texts:
        """Those of a table that may hold a text several times."""
        texts = tuple(texts)
        number = dict.fromkeys(texts)
        if len(number) == len(texts):
            return cls(code, texts)
        place = dict(zip(number, range(len(number)), strict=True))
        distinct = np.fromiter(map(place.__getitem__, texts), np.int64, len(texts))
        return cls(distinct[code], tuple(place))

    def __post_init__(self) -> None:
        """Make the column read-only."""
        self.code.flags.writeable = False

    def __len__(self) -> int:
        return len(self.code)

    def __iter__(self) -> Iterator[str]:
        return map(self.distinct.__getitem__, self.code.tolist())

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        return tuple(self.at(self.code[row])) if isinstance(row, slice) else self.distinct[int(self.code[row])]

    def at(self, code: Int64) -> list[str]:
        """The texts of some codes."""
        return list(map(self.distinct.__getitem__, code.tolist()))

    def is_in(self, texts: Collection[str]) -> Bool:
        """For each row whether its text is one of some."""
        found: Bool = np.array([one in texts for one in self.distinct], np.bool_)[self.code]
        return found

    def code_of(self, text: str) -> int:
        """The code of a text, -1 where no row has it."""
        return self._codes.get(text, -1)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.distinct)}
