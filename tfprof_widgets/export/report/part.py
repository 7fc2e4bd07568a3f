"""A DataFrame -> one table of a report: its first rows, of how many, and what gives all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import Any

import pandas as pd

from ...analysis.base.wording import number, size
from ...analysis.columns.column import unit_of
from .markdown import code, table
from .subject import Room

Row = dict[str, Any]
"""A row of the DataFrame."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One table with its heading."""

    heading: str
    source: str
    """What gives all rows."""
    columns: Sequence[str]
    rows: list[list[str]]
    n_rows: int
    note: str = ""

    def without(self, columns: Collection[str]) -> Part:
        """The same with fewer columns."""
        kept = [i for i, name in enumerate(self.columns) if name not in columns]
        rows = [[row[i] for i in kept] for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in kept], rows=rows)

    def markdown(self) -> str:
        """The heading, how much of it is here, and the table."""
        counted = f"{len(self.rows):,} of {self.n_rows:,} row{'' if self.n_rows == 1 else 's'}; all: `{self.source}`."
        return f"### {self.heading}\n\n{f'{counted} {self.note}'.strip()}\n\n{table(self.columns, self.rows)}"


def part_of(
    heading: str,
    source: str,
    frame: pd.DataFrame,
    cells: Mapping[str, str | Callable[[Row], str]],
    *,
    room: Room,
    note: str = "",
    n_rows: int | None = None,
) -> Iterator[Part]:
    """The first rows of a frame; `cells` gives for each heading its column, or what writes it."""
    writers = [
        partial(_written, column=cell, heading=title, room=room) if isinstance(cell, str) else cell
        for title, cell in cells.items()
    ]
    shown: list[Row] = [
        {str(name): value for name, value in row.items()} for row in frame.head(room.rows).to_dict("records")
    ]
    rows = [[write(row) for write in writers] for row in shown]
    n_all = len(frame) if n_rows is None else n_rows
    yield Part(heading=heading, source=source, columns=[*cells], rows=rows, n_rows=n_all, note=note)


def _written(row: Row, *, column: str, heading: str, room: Room) -> str:
    """A cell: a name of the trace, bytes with their unit, times and shares in the unit that the heading tells, counts."""
    value, unit = row[column], unit_of(column)
    if isinstance(value, str):
        return code(value, room.name) if value else ""
    if unit == "bytes":
        return size(value)
    if unit == "microseconds" and heading.endswith("(ms)"):
        return number(value / 1e3)
    if unit.startswith("ratio"):
        return number(value * 100)
    return number(value) if unit else f"{value:,}"


def file_name(path: object) -> str:
    """The last part of a path; `Cell [5]` stays what it is."""
    return PurePath(str(path)).name or str(path)
