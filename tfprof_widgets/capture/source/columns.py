"""`Columns`: a table of the sidecar in the making, a list for each column."""

from __future__ import annotations

from typing import Any


class Columns(dict[str, list[Any]]):
    """A table that grows by rows."""

    def __init__(self, *names: str) -> None:
        super().__init__((name, []) for name in names)

    def add(self, *values: Any) -> int:
        """Add a row, a value for each column in their order; return its number."""
        for column, value in zip(self.values(), values, strict=True):
            column.append(value)
        return self.n_rows - 1

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(next(iter(self.values())))
